/* SPDX-License-Identifier: Apache-2.0
 * chunked_reply.h - a reply whose size is not known when it begins: lists of names
 * (server/engine/bulk_answer.h), rows as a stream (server/engine/row_reply.h).
 *
 *   place = dx_chunked_take_place(c, bytes);
 *   if (place != DX_PLACE_TAKEN) dx_chunked_refuse(c, place);      nothing has begun; 429 or 503
 *   ... append a part to c->stream.out_body ...
 *   dx_chunked_frame(c, &head, last);              out_head: what goes before it
 *   if (dx_chunked_push(c)) ...                    the client has it all: the next part may be made
 *   if (dx_chunked_break_off(c, &head, &problem, 0, NULL)) ...     it ends here; true: also sent
 *   dx_chunked_give_place(c);                      the end of it; again is fine
 *
 * Only a reply that ends with its last chunk is whole. To a client of HTTP/1.0, which knows no
 * chunks, the end of the connection is the end of the reply; one that is broken off is reset.
 * Of the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_CHUNKED_REPLY_H
#define DX_SERVER_ENGINE_CHUNKED_REPLY_H

#include "server/engine/exchange.h"

struct dx_chunked_head {
    const char *content_type;
    const char *disposition; /* NULL: none */
    const char *coding;      /* NULL: none */
    bool has_lines;          /* a problem can be one of them; not where there is a coding */
};

enum dx_place {
    DX_PLACE_TAKEN,
    DX_PLACE_NONE,    /* as many bytes are counted as may be */
    DX_PLACE_NONE_OWN /* the client has as many such replies as it may (--address-streams) */
};

enum dx_place dx_chunked_take_place(struct dx_connection *c, size_t bytes);
void dx_chunked_refuse(struct dx_connection *c, enum dx_place place); /* one that was not taken */
void dx_chunked_give_place(struct dx_connection *c);

void dx_chunked_frame(struct dx_connection *c, const struct dx_chunked_head *h, bool last);

/* False: it waits, or the client is gone. */
bool dx_chunked_push(struct dx_connection *c);

/* A reply that has begun cannot become another one: it ends without its last chunk, so that no
 * client takes it for whole, and where there are lines the last of them says why. problem NULL:
 * status and words. */
bool dx_chunked_break_off(struct dx_connection *c, const struct dx_chunked_head *h,
                          const struct dx_problem *problem, int status, const char *words);

#endif
