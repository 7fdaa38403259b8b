/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/url_mention.h"

#include "canon/url.h"
#include "canon/url_texts.h"

static bool is_equal_to_one(const struct dx_url_mention *m, struct dx_span text)
{
    for (size_t i = 0; i < m->count; i++)
        if (dx_span_equal(m->url[i], text))
            return true;
    return false;
}

bool dx_url_mention_is(const struct dx_url_mention *m, struct dx_span text)
{
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_url canonical;

    return is_equal_to_one(m, text) ||
           (m->canon != NULL && dx_canon_url(m->canon, text, &canonical, &reject) == 1 &&
            is_equal_to_one(m, canonical.url));
}

static int take(void *ctx, struct dx_span text)
{
    const struct dx_url_mention *m = ctx;

    return dx_url_mention_is(m, text);
}

bool dx_url_mention_row(const struct dx_url_mention *m, struct dx_span text)
{
    struct dx_url_mention copy = *m;

    return dx_url_texts_row(text, take, &copy) != 0;
}

bool dx_url_mention_line(const struct dx_url_mention *m, struct dx_span line)
{
    struct dx_url_mention copy = *m;

    return dx_url_texts_line(line, take, &copy) != 0;
}

bool dx_url_mention_path(const struct dx_url_mention *m, struct dx_span path)
{
    struct dx_url_mention copy = *m;

    return dx_url_texts_path(path, take, &copy) != 0;
}
