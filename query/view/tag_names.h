/* SPDX-License-Identifier: Apache-2.0
 * tag_names.h - the tags of a version in order of their bytes, over all its parts.
 *
 *   rc = dx_tag_names_begin(&n, v, prefix, &err);            all that begin with it
 *   while ((rc = dx_tag_names_next(&n, &tag, &number, &err)) == 1)      1, 0 behind the last, <0
 *       ...                                                  tag: borrowed from the version
 *   rc = dx_tag_names_place(&n, &number, &end, &err);        for a cursor: the next one, the end
 *   rc = dx_tag_names_resume(&n, v, number, end, &err);      1; 0: the version has no such numbers
 *
 * A tag that several parts have comes once. Its number is that of one of them: those of a part
 * follow those of older parts. The end is the number of the first tag behind, or how many there are.
 * A walk is for one thread at a time.
 */
#ifndef DX_QUERY_VIEW_TAG_NAMES_H
#define DX_QUERY_VIEW_TAG_NAMES_H

#include "base/bytes.h"
#include "base/error.h"
#include "format/version/manifest.h"

struct dx_version;

struct dx_tag_names {
    const struct dx_version *version;
    uint64_t at[DX_PARTS_MAX], end[DX_PARTS_MAX]; /* in each part */
};

int dx_tag_names_begin(struct dx_tag_names *n, const struct dx_version *v, struct dx_span prefix,
                       struct dx_error *err);
int dx_tag_names_next(struct dx_tag_names *n, struct dx_span *tag, uint64_t *number,
                      struct dx_error *err);
/* Back to a tag that was given: it comes next again. */
int dx_tag_names_seek(struct dx_tag_names *n, struct dx_span tag, struct dx_error *err);
int dx_tag_names_place(const struct dx_tag_names *n, uint64_t *number, uint64_t *end,
                       struct dx_error *err);
int dx_tag_names_resume(struct dx_tag_names *n, const struct dx_version *v, uint64_t number,
                        uint64_t end, struct dx_error *err);

#endif
