/* SPDX-License-Identifier: Apache-2.0
 * quiet_thread.h - a thread that no signal is delivered to, but those of its own faults.
 *
 *   e = dx_quiet_thread(&thread, work, ctx);       0, or what pthread_create says
 *
 * A signal that asks for the end goes to the thread that started the others, and wakes what that
 * one waits for. A mapped file that was cut is the fault of the thread that reads it (SIGBUS).
 */
#ifndef DX_BASE_QUIET_THREAD_H
#define DX_BASE_QUIET_THREAD_H

#include <pthread.h>

int dx_quiet_thread(pthread_t *thread, void *(*work)(void *ctx), void *ctx);

#endif
