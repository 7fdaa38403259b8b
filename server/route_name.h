/* SPDX-License-Identifier: Apache-2.0
 * route_name.h - the words for routes, methods and sources of answers in logs and metrics.
 *
 *   dx_route_name(DX_ROUTE_DOMAIN)      "domain"; DX_ROUTE_COUNT, and all else: "none"
 *
 * Static text of lower-case letters and '_': fit for a label and for JSON as it is. Any thread.
 */
#ifndef DX_SERVER_ROUTE_NAME_H
#define DX_SERVER_ROUTE_NAME_H

#include "server/request_record.h"

const char *dx_route_name(enum dx_route route);
const char *dx_method_name(enum dx_method method);
const char *dx_answer_from_name(enum dx_answer_from from);
const char *dx_stage_name(enum dx_stage stage);

#endif
