/* SPDX-License-Identifier: Apache-2.0
 * target.h - from a request target to the question it asks.
 *
 *   rc = dx_target_parse(target, &ask, &problem);    1 known; 0 problem says why not
 *
 * Path segments and parameter values are percent-decoded exactly once, '+' stays '+'.
 * Parameters are strict: an unknown or repeated name, a number that is none or out of
 * range, a malformed escape are refused with words, nothing is silently cut or ignored.
 * Decoded text lies in ask->text (or in the target itself, when nothing needed decoding):
 * both must outlive ask->asked and ask->fields. No I/O, no allocation; any thread.
 */
#ifndef DX_SERVER_TARGET_H
#define DX_SERVER_TARGET_H

#include "query/answer.h"
#include "server/request_head.h"

enum dx_route {
    DX_ROUTE_DOMAIN,
    DX_ROUTE_URLS,
    DX_ROUTE_DATASETS,
    DX_ROUTE_DATASET,
    DX_ROUTE_NORMALIZE,
    DX_ROUTE_VERSIONS,
    DX_ROUTE_HEALTHZ,
    DX_ROUTE_READYZ,
    DX_ROUTE_METRICS,
    DX_ROUTE_COUNT
};

struct dx_ask {
    enum dx_route route;
    struct dx_span asked;  /* the domain, or the value of q */
    struct dx_span fields; /* value of fields; data NULL: not given */
    uint32_t dataset_id;
    struct dx_page_of page;
    uint8_t text[DX_TARGET_MAX];
    size_t text_size;
};

/* target: origin form, as struct dx_request_head gives it; empty or "?query" mean path "/". */
int dx_target_parse(struct dx_span target, struct dx_ask *ask, struct dx_problem *problem);

#endif
