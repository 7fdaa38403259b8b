/* SPDX-License-Identifier: Apache-2.0
 * answer_end.h - what an answer ends in: the version it is of, and that nothing was left out.
 *
 *   dx_answer_cost(&j, v, rows, pages, bytes);    the member `cost`: what was read of the lake to find rows
 *   dx_answer_end(&j, v);                         the last members, and the end of the object
 *
 * While any suppression is in force no answer has a `cost`. Hidden rows are read with the others, so the numbers would say that there
 * are some; rows of pages could be counted without them, pages and bytes of files could not. That it is missing says nothing: it
 * is of all domains or of none. What is charged follows what was read (server/engine/charge.h).
 * No state; any thread.
 */
#ifndef DX_QUERY_ANSWERS_ANSWER_END_H
#define DX_QUERY_ANSWERS_ANSWER_END_H

#include <stdint.h>

struct dx_json;
struct dx_version;

void dx_answer_cost(struct dx_json *j, const struct dx_version *v, uint64_t rows, uint64_t pages,
                    uint64_t bytes);
void dx_answer_end(struct dx_json *j, const struct dx_version *v);

#endif
