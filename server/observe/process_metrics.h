/* SPDX-License-Identifier: Apache-2.0
 * process_metrics.h - what the process takes of the machine, by the names that Prometheus has for
 * it.
 *
 *   dx_process_metrics_write(&buf);      process_resident_memory_bytes, process_open_fds, …
 *
 * Read from the system at each call. What cannot be read is left out, not said to be 0. Any
 * thread.
 */
#ifndef DX_SERVER_OBSERVE_PROCESS_METRICS_H
#define DX_SERVER_OBSERVE_PROCESS_METRICS_H

#include "base/buf.h"

void dx_process_metrics_write(struct dx_buf *out);

#endif
