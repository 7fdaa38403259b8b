/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request_done.h"

#include "server/request_log.h"

void dx_request_begun(struct dx_loop *loop)
{
    dx_request_counts_begin(&loop->requests);
}

void dx_request_done(struct dx_loop *loop, const struct dx_request_record *record)
{
    const struct dx_serving *serving = loop->serving;

    dx_request_counts_end(&loop->requests, record);
    if (serving->log != NULL) /* each loop's numbers are those of its ring */
        dx_request_log_put(serving->log, (unsigned)(record->number % serving->options.loops),
                           record);
}
