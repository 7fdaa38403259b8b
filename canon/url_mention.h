/* SPDX-License-Identifier: Apache-2.0
 * url_mention.h - whether a text is of one of some URLs: the record that a locator leads to says so, or its file has changed.
 *
 *   struct dx_url_mention m = { .canon = canon, .url = &url, .count = 1 };
 *   yes = dx_url_mention_is(&m, text);            the text is one of them, as it stands or in canonical form
 *   yes = dx_url_mention_in(&m, text);            or has one in it, whole: no longer one that begins so
 *   rc = dx_url_mention_line(&m, line, &err);     or as JSON and CSV write it, or as a field, in whatever form
 *   rc = dx_url_mention_text(&m, text, &err);     of a string of a row: a line if it looks like JSON, else as `in`
 *
 * The last two return 1, 0 or DX_E_NOMEM. The URLs are canonical ones mostly; with canon NULL they must be equal as they stand.
 * A canon belongs to one thread.
 */
#ifndef DX_CANON_URL_MENTION_H
#define DX_CANON_URL_MENTION_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_canon;

struct dx_url_mention {
    struct dx_canon *canon;
    const struct dx_span *url;
    size_t count;
};

bool dx_url_mention_is(const struct dx_url_mention *m, struct dx_span text);
bool dx_url_mention_in(const struct dx_url_mention *m, struct dx_span text);
int dx_url_mention_line(const struct dx_url_mention *m, struct dx_span line, struct dx_error *err);
int dx_url_mention_text(const struct dx_url_mention *m, struct dx_span text, struct dx_error *err);

#endif
