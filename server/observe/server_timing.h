/* SPDX-License-Identifier: Apache-2.0
 * server_timing.h - the stages of an answer as the value of a Server-Timing field (W3C Server
 * Timing).
 *
 *   char text[DX_SERVER_TIMING_TEXT];
 *   dx_server_timing(&record, text);       "head;dur=0.000, queue;dur=0.120, answer;dur=0.341, storage;dur=8.250"
 *
 * Milliseconds. What sending takes is not known yet. Any thread.
 */
#ifndef DX_SERVER_OBSERVE_SERVER_TIMING_H
#define DX_SERVER_OBSERVE_SERVER_TIMING_H

#include "server/observe/request_record.h"

#define DX_SERVER_TIMING_TEXT 160

void dx_server_timing(const struct dx_request_record *r, char text[DX_SERVER_TIMING_TEXT]);

#endif
