/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/web_page.h"

#include "server/engine/charge.h"
#include "server/engine/delivery.h"
#include "server/http/web_file.h"

#include <stdio.h>

#define COST 1 /* bytes that are there already */

static const struct dx_web_file *find_file(const struct dx_connection *c, struct dx_span target)
{
    if (!c->stream.loop->serving->options.web || c->stream.admin || target.size == 0 ||
        (target.size > 1 && target.data[1] != 'a'))
        return NULL;
    return dx_web_file_find(target);
}

bool dx_web_page_has(const struct dx_connection *c, struct dx_span target)
{
    return find_file(c, target) != NULL;
}

bool dx_web_page_answer(struct dx_connection *c, struct dx_span accepted, struct dx_span target,
                        struct dx_span match)
{
    const struct dx_web_file *file = find_file(c, target);
    struct dx_buf *body = &c->stream.loop->body;
    char etag[DX_ETAG_TEXT];
    struct dx_delivery d = { .status = 200, .etag = etag, .policy = dx_web_policy };
    bool gzip;

    if (file == NULL)
        return false;
    c->record.from = DX_FROM_LOOP;
    c->record.route = DX_ROUTE_COUNT;
    c->negotiates = true;
    gzip = dx_coding_takes_gzip(accepted);
    (void)snprintf(etag, sizeof etag, "%s", file->etag);
    if (gzip)
        dx_coding_tag(DX_CODING_GZIP, etag);
    d.caching = file->fixed ? "public, max-age=31536000, immutable" : "no-cache";
    if (!dx_charge_take(c, COST))
        return true;
    if (match.size > 0 && dx_reply_etag_matches(match, etag)) {
        d.status = 304;
        dx_deliver(c, &d);
        return true;
    }
    dx_buf_clear(body);
    dx_buf_append(body, gzip ? file->gzip : file->plain, gzip ? file->gzip_size : file->plain_size);
    if (dx_delivery_is_overloaded(c, body->size))
        return true;
    d.coding = gzip ? DX_CODING_GZIP : DX_CODING_NONE;
    d.content_type = file->content_type;
    d.payload = dx_span_of(body->data, body->size);
    d.body = body;
    dx_deliver(c, &d);
    return true;
}
