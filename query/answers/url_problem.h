/* SPDX-License-Identifier: Apache-2.0
 * url_problem.h - why nothing is said of a URL.
 *
 *   return dx_url_not_found(&view, url, &problem);                 0: no dataset has it
 *   return dx_url_withheld(url, &problem);                     0
 *   rc = dx_url_may_show(&view, &url, &problem);                   1, or 0: what the rules that hold now
 *                                                              say of it, before anything is looked up
 *
 * A URL that is to be absent has the words of one that is not there. No state; any thread.
 */
#ifndef DX_QUERY_ANSWERS_URL_PROBLEM_H
#define DX_QUERY_ANSWERS_URL_PROBLEM_H

#include "base/bytes.h"
#include "query/view/problem.h"

struct dx_url;
struct dx_version;
struct dx_view;

int dx_url_not_found(const struct dx_view *view, struct dx_span url, struct dx_problem *problem);
int dx_url_withheld(struct dx_span url, struct dx_problem *problem);
int dx_url_may_show(const struct dx_view *view, const struct dx_url *url,
                    struct dx_problem *problem);

#endif
