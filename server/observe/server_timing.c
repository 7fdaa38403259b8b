/* SPDX-License-Identifier: Apache-2.0 */
#include "server/observe/server_timing.h"

#include "server/observe/record_names.h"

#include <stdio.h>

#define US_MAX INT64_C(999999999999) /* eleven days: more cannot be a time, and would not fit */

void dx_server_timing(const struct dx_request_record *r, char text[DX_SERVER_TIMING_TEXT])
{
    size_t size = 0;

    for (unsigned i = 0; i < DX_STAGE_SEND; i++) {
        int64_t us = r->stage_us[i] < 0 ? 0 : r->stage_us[i] > US_MAX ? US_MAX : r->stage_us[i];

        size += (size_t)snprintf(text + size, DX_SERVER_TIMING_TEXT - size, "%s%s;dur=%lld.%03lld",
                                 i == 0 ? "" : ", ", dx_stage_name((enum dx_stage)i),
                                 (long long)(us / 1000), (long long)(us % 1000));
    }
}
