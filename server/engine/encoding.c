/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/encoding.h"

#include "query/answers/domain_text.h"
#include "server/routes/route.h"

#include <string.h>

static void note_subject(struct dx_encoding *e, struct dx_span raw)
{
    struct dx_span subject = dx_domain_text_subject(raw);

    e->subject_size = subject.size <= sizeof e->subject ? subject.size : 0;
    if (e->subject_size > 0)
        memcpy(e->subject, subject.data, e->subject_size);
}

static void encode(struct dx_encoding *e, enum dx_coding wanted, struct dx_buf *body)
{
    struct dx_buf small = DX_BUF_INIT(body->size);

    if (!dx_coding_encode(wanted, dx_span_of(body->data, body->size), &small)) {
        dx_buf_release(&small);
        return;
    }
    e->coding = wanted;
    dx_coding_tag(wanted, e->etag);
    small.max = body->max;
    dx_buf_release(body);
    *body = small;
}

void dx_encoding_make(struct dx_encoding *e, const struct dx_ask *ask, bool kept,
                      struct dx_buf *body)
{
    struct dx_span raw = { body->data, body->size };

    e->made = true;
    e->lasts = (ask->version.data != NULL || dx_routes[ask->route]->keeps_bodies) &&
               dx_route_answer_lasts(ask, raw);
    e->coding = DX_CODING_NONE;
    e->subject_size = 0;
    dx_reply_etag(raw, e->etag);
    if (kept)
        note_subject(e, raw);
    if (ask->coding != DX_CODING_NONE)
        encode(e, ask->coding, body);
}
