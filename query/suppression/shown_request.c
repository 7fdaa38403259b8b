/* SPDX-License-Identifier: Apache-2.0 */
#include "query/suppression/shown_request.h"

#include "canon/url.h"
#include "format/version/url_ids.h"
#include "loader/version.h"
#include "query/rows/listing.h"
#include "query/view/suppressed.h"

void dx_shown_request_init(struct dx_shown_request *s, struct dx_version *v)
{
    s->version = v;
    s->canon = NULL;
}

void dx_shown_request_release(struct dx_shown_request *s)
{
    dx_canon_free(&s->canon);
}

int dx_shown_request_text(struct dx_shown_request *s, struct dx_span text, struct dx_error *err)
{
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_url url;

    if (s->version == NULL || dx_suppressed_line(s->version) == 0)
        return 1;
    if (s->canon == NULL && dx_version_canon_new(s->version, &s->canon, err) < 0)
        return (int)err->code;
    return dx_canon_url(s->canon, text, &url, &reject) != 1 ||
           dx_suppressed_url(s->version, url.domain, url.scheme, url.host, url.path_query) ==
               DX_EFFECT_NONE;
}

int dx_shown_request_locator(struct dx_shown_request *s, const struct dx_listing_row *row,
                             struct dx_error *err)
{
    struct dx_span requested = dx_listing_extra(row, dx_span_str(DX_REQUESTED_URL));
    int rc = 1;

    if (requested.data != NULL)
        rc = dx_shown_request_text(s, requested, err);
    return rc != 1 || row->raw_url.data == NULL ? rc : dx_shown_request_text(s, row->raw_url, err);
}
