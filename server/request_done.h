/* SPDX-License-Identifier: Apache-2.0
 * request_done.h - where the records of requests go.
 *
 *   dx_request_begun(loop);             the first byte of a head is there
 *   dx_request_done(loop, &record);     its reply is out, or its connection has ended: exactly once
 *
 * Of the loop's thread; never waits. What the record points to is the caller's and read during the call only.
 */
#ifndef DX_SERVER_REQUEST_DONE_H
#define DX_SERVER_REQUEST_DONE_H

#include "server/loop.h"
#include "server/request_record.h"

void dx_request_begun(struct dx_loop *loop);
void dx_request_done(struct dx_loop *loop, const struct dx_request_record *record);

#endif
