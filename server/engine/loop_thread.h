/* SPDX-License-Identifier: Apache-2.0
 * loop_thread.h - an event loop that runs: it accepts, reads and writes, gives connections their turns, and
 * ends them when their time is over.
 *
 *   rc = dx_loop_new(&loop, &serving, listen_fd, &err);     owns listen_fd, also on failure; -1: does not accept
 *   rc = dx_loop_start(loop, &err);                         once serving names all loops
 *   dx_loop_tell(loop, DX_LOOP_DRAIN); ... dx_loop_tell(loop, DX_LOOP_QUIT);
 *   dx_loop_join(loop);
 *   dx_loop_free(&loop);             joined, and no worker left that may call dx_loop_job_done
 *
 * New, start, join and free are for the thread that owns the server; tell for any.
 */
#ifndef DX_SERVER_ENGINE_LOOP_THREAD_H
#define DX_SERVER_ENGINE_LOOP_THREAD_H

#include "server/engine/loop.h"

int dx_loop_new(struct dx_loop **loop, struct dx_serving *serving, int listen_fd,
                struct dx_error *err);
int dx_loop_start(struct dx_loop *loop, struct dx_error *err);
void dx_loop_join(struct dx_loop *loop);
void dx_loop_free(struct dx_loop **loop);

#endif
