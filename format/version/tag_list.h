/* SPDX-License-Identifier: Apache-2.0
 * tag_list.h - the tags of a row: the value of its column `tags`, a JSON array of strings.
 *
 *   struct dx_tag_list l;
 *   struct dx_buf tag = DX_BUF_INIT(text.size);       none is longer than the text
 *   dx_tag_list_begin(&l, text);
 *   while ((rc = dx_tag_list_next(&l, &tag)) == 1)    0 the end, -1 no JSON array of strings
 *       if (dx_tag_fits(tag)) ...                     (tags.h)
 *
 * Each member is a string with its escapes undone; half a surrogate pair is U+FFFD. Members may
 * come before it is seen that the text is not an array; a caller that needs all or none counts
 * first. null and the empty text are lists without members. No state, nothing allocated but the
 * tag. A list is for one thread at a time.
 */
#ifndef DX_FORMAT_VERSION_TAG_LIST_H
#define DX_FORMAT_VERSION_TAG_LIST_H

#include "base/buf.h"
#include "base/bytes.h"

#define DX_TAGS_COLUMN "tags" /* the extra column of the lake */

struct dx_tag_list {
    struct dx_bytes rest;
    bool empty;
};

void dx_tag_list_begin(struct dx_tag_list *l, struct dx_span text);
int dx_tag_list_next(struct dx_tag_list *l, struct dx_buf *tag);

#endif
