/* SPDX-License-Identifier: Apache-2.0
 * url_mention.h - whether a text is of one of some URLs: the record that a locator leads to says so, or its file has changed.
 *
 *   struct dx_url_mention m = { .canon = canon, .url = &url, .count = 1 };
 *   yes = dx_url_mention_is(&m, text);            the text is one of them, as it stands or in canonical form
 *   yes = dx_url_mention_row(&m, text);           one of the texts in a string of a row is (canon/url_texts.h),
 *   yes = dx_url_mention_line(&m, line);          or in a line,
 *   yes = dx_url_mention_path(&m, path);          or in a file's path
 *
 * A longer URL that begins as one of them, and prose that speaks of it, are not it. The URLs are canonical ones mostly; with canon NULL
 * they must be equal as they stand. A canon belongs to one thread.
 */
#ifndef DX_CANON_URL_MENTION_H
#define DX_CANON_URL_MENTION_H

#include "base/bytes.h"

struct dx_canon;

struct dx_url_mention {
    struct dx_canon *canon;
    const struct dx_span *url;
    size_t count;
};

bool dx_url_mention_is(const struct dx_url_mention *m, struct dx_span text);
bool dx_url_mention_row(const struct dx_url_mention *m, struct dx_span text);
bool dx_url_mention_line(const struct dx_url_mention *m, struct dx_span line);
bool dx_url_mention_path(const struct dx_url_mention *m, struct dx_span path);

#endif
