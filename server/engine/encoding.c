/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/encoding.h"

#include "query/answers/domain_text.h"

#include <string.h>

void dx_encoding_make(struct dx_encoding *e, enum dx_coding wanted, struct dx_buf *body)
{
    struct dx_span raw = { body->data, body->size };
    struct dx_buf small = DX_BUF_INIT(raw.size);
    struct dx_span subject = dx_domain_text_subject(raw);

    e->made = true;
    e->coding = DX_CODING_NONE;
    dx_reply_etag(raw, e->etag);
    e->subject_size = subject.size <= sizeof e->subject ? subject.size : 0;
    if (e->subject_size > 0)
        memcpy(e->subject, subject.data, e->subject_size);
    if (dx_coding_encode(wanted, raw, &small)) {
        e->coding = wanted;
        dx_coding_tag(wanted, e->etag);
        small.max = body->max;
        dx_buf_release(body);
        *body = small;
    } else {
        dx_buf_release(&small);
    }
}
