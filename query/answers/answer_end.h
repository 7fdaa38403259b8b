/* SPDX-License-Identifier: Apache-2.0
 * answer_end.h - what an answer ends in: the version it is of, and that nothing was left out.
 *
 *   dx_answer_end(&j, v);            the last members, and the end of the object
 */
#ifndef DX_QUERY_ANSWERS_ANSWER_END_H
#define DX_QUERY_ANSWERS_ANSWER_END_H

struct dx_json;
struct dx_version;

void dx_answer_end(struct dx_json *j, const struct dx_version *v);

#endif
