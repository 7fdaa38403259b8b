/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/tag_list.h"

#include "format/version/store_index.h"

void dx_tag_list_begin(struct dx_tag_list *l, struct dx_span text)
{
    if (!dx_store_strings_begin(&l->rest, text)) /* else what begins with a comma would do */
        l->rest = dx_bytes_of(dx_span_of(NULL, 0));
    l->empty = text.size == 0;
}

int dx_tag_list_next(struct dx_tag_list *l, struct dx_buf *tag)
{
    return l->empty ? 0 : dx_store_tag_next(&l->rest, tag);
}
