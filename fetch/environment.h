/* SPDX-License-Identifier: Apache-2.0
 * environment.h - the environment variables that remote roots and queues are reached with, for
 * manuals.
 *
 *   dx_environment_mdoc(&buf);        a section of a manual page
 *   dx_environment_queues_mdoc(&buf); goes on with it, in a program that knows queues
 *   dx_environment_help(&buf);        lines for --help
 *
 * Who reads them: source_env.c, s3.c, credentials.c, amqp_url.c and amqp_link.c. One list, so that
 * no page forgets one. No state; any thread.
 */
#ifndef DX_FETCH_ENVIRONMENT_H
#define DX_FETCH_ENVIRONMENT_H

#include "base/buf.h"

void dx_environment_mdoc(struct dx_buf *out);
void dx_environment_queues_mdoc(struct dx_buf *out);
void dx_environment_help(struct dx_buf *out);

#endif
