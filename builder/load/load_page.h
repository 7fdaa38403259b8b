/* SPDX-License-Identifier: Apache-2.0
 * load_page.h - what came of a load as one HTML page with its latency curves.
 *
 *   struct dx_load_about about = { "http://127.0.0.1:8080/v1/domain/{}", "10000 names, Zipf 0.99", … };
 *   dx_load_page(&out, &about, &plan, &result, &part);
 *
 * The page has its picture (SVG) and style in itself, no script, and asks for nothing. The horizontal axis is the
 * percentile, each step ten times rarer; both axes are logarithmic. Errors are those of the buffer.
 */
#ifndef DX_BUILDER_LOAD_LOAD_PAGE_H
#define DX_BUILDER_LOAD_LOAD_PAGE_H

#include "base/buf.h"
#include "builder/load/load.h"

struct dx_load_about {
    const char *url;   /* any text: it is escaped */
    const char *names; /* what was asked: how many, by which law */
    const char *when;
};

void dx_load_page(struct dx_buf *out, const struct dx_load_about *about,
                  const struct dx_load_plan *plan, const struct dx_load_result *r,
                  const struct dx_mix_part *part);

#endif
