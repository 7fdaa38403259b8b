/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request_done.h"

void dx_request_begun(struct dx_loop *loop)
{
    dx_request_counts_begin(&loop->requests);
}

void dx_request_done(struct dx_loop *loop, const struct dx_request_record *record)
{
    dx_request_counts_end(&loop->requests, record);
}
