/* SPDX-License-Identifier: Apache-2.0
 * encoding.h - the body of a 200 in the content coding that its client wants.
 *
 *   dx_encoding_make(&e, ask, kept, &body);   body: as it is sent; e: its tag, and, if it may be kept, what it was about
 *
 * Where an answer is made: on its loop, or by a worker before the loop has it. Any thread.
 */
#ifndef DX_SERVER_ENGINE_ENCODING_H
#define DX_SERVER_ENGINE_ENCODING_H

#include "server/http/coding.h"
#include "server/http/reply.h"
#include "server/routes/ask.h"

#define DX_SUBJECT_MAX 256 /* no domain is longer */

struct dx_encoding {
    bool made;
    bool lasts;            /* dx_route_answer_lasts */
    enum dx_coding coding; /* of the body now */
    char etag[DX_ETAG_TEXT];
    size_t subject_size;
    uint8_t subject[DX_SUBJECT_MAX];
};

void dx_encoding_make(struct dx_encoding *e, const struct dx_ask *ask, bool kept,
                      struct dx_buf *body);

static inline struct dx_span dx_encoding_subject(const struct dx_encoding *e)
{
    return dx_span_of(e->subject, e->subject_size);
}

#endif
