/* SPDX-License-Identifier: Apache-2.0
 * json_list.h - the elements of the JSON arrays that lie on a path: "images.url" where images is an array of objects.
 *
 *   if (dx_json_is_list(&value[i]))                               of dx_json_pick, for path[i]
 *       dx_json_list_begin(&list, &path[i], &value[i]);
 *   while ((rc = dx_json_list_next(&list, &element, &used, &scratch)) > 0)
 *       ... element is JSON as written; path[i].part[used] and so on lead on in it ...
 *
 *   ok = dx_json_list_text(&path[i], &value[i], &out, &scratch);   or all of it as JSON: ["a",["b",null]]; false: too deep, no memory
 *
 * Arrays in arrays are taken apart, in the order in which they are written; an empty one has no
 * element. 0: the end; DX_JSON_LIST_DEEP: over DX_JSON_LIST_DEPTH arrays in each other. Elements lie in the line, which must be
 * one that dx_json_pick found well-formed. Takes the same memory whatever the number of elements.
 * One thread at a time.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_JSON_LIST_H
#define DX_BUILDER_INPUT_RECORDS_JSON_LIST_H

#include "builder/input/records/input_json.h"

#define DX_JSON_LIST_DEPTH 16
#define DX_JSON_LIST_DEEP (-1)

struct dx_json_list {
    const struct dx_json_path *path;
    struct {
        struct dx_span rest; /* behind the bracket, or behind an element */
        size_t used;
    } level[DX_JSON_LIST_DEPTH];
    size_t depth;
};

/* An array, on the way of the path or at its end. */
static inline bool dx_json_is_list(const struct dx_json_value *value)
{
    return value->kind == DX_JSON_LIST ||
           (value->kind == DX_JSON_NESTED && value->text.data[0] == '[');
}

void dx_json_list_begin(struct dx_json_list *l, const struct dx_json_path *path,
                        const struct dx_json_value *array);
int dx_json_list_next(struct dx_json_list *l, struct dx_span *element, size_t *used,
                      struct dx_buf *scratch);
/* What lies at the end of the path in each element, in arrays as they are in each other: numbers, arrays and objects as
 * written, nothing as null. */
bool dx_json_list_text(const struct dx_json_path *path, const struct dx_json_value *array,
                       struct dx_buf *out, struct dx_buf *scratch);
/* What a path leads to behind its first `used` parts. The text is in the element or in scratch. */
bool dx_json_list_value(struct dx_span element, const struct dx_json_path *path, size_t used,
                        struct dx_json_value *value, struct dx_buf *scratch);
/* A path without its first parts; of all of them is left a path of none, which is the element itself. */
struct dx_json_path dx_json_path_behind(const struct dx_json_path *path, size_t used);

#endif
