/* SPDX-License-Identifier: Apache-2.0
 * record_names.h - the words for methods, sources of answers and stages in logs and metrics.
 *
 *   dx_method_name(DX_METHOD_GET)       "GET"; all else: "none". Of routes: server/routes/routes.h
 *
 * Static text of lower-case letters and '_': fit for a label and for JSON as it is. Any thread.
 */
#ifndef DX_SERVER_OBSERVE_RECORD_NAMES_H
#define DX_SERVER_OBSERVE_RECORD_NAMES_H

#include "server/observe/request_record.h"

const char *dx_method_name(enum dx_method method);
const char *dx_answer_from_name(enum dx_answer_from from);
const char *dx_stage_name(enum dx_stage stage);

#endif
