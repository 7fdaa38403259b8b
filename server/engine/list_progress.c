/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/list_progress.h"

void dx_list_progress_begin(struct dx_list_progress *p, int64_t now_us)
{
    *p = (struct dx_list_progress){ .good_until_us = now_us + DX_LIST_CREDIT_US };
}

void dx_list_progress_note(struct dx_list_progress *p, uint64_t bytes, int64_t now_us)
{
    const int64_t least = now_us - DX_LIST_CREDIT_US, most = now_us + DX_LIST_CREDIT_US;
    uint64_t more = bytes - p->bytes;
    int64_t good_us = p->good_until_us > least ? p->good_until_us : least;

    /* So many are worth all the credit there may be, and the product below cannot overflow. */
    if (more > 2 * DX_LIST_BYTES_PER_S)
        more = 2 * DX_LIST_BYTES_PER_S;
    good_us += (int64_t)more * 1000000 / DX_LIST_BYTES_PER_S;
    p->good_until_us = good_us < most ? good_us : most;
    p->bytes = bytes;
}

bool dx_list_progress_is_slow(const struct dx_list_progress *p, int64_t now_us)
{
    return now_us >= p->good_until_us;
}
