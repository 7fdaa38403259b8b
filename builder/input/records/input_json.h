/* SPDX-License-Identifier: Apache-2.0
 * input_json.h - a few values out of one JSON object, without building a tree.
 *
 *   rc = dx_json_path_parse(&path, "metadata.\"WARC-Target-URI\"", &err);
 *   if (!dx_json_pick(line, paths, n, value, &scratch))     no JSON object: malformed
 *       ...
 *   value[i].kind, value[i].text
 *
 * The whole line is checked (RFC 8259 grammar, UTF-8, escapes, depth) although only the
 * named values are kept: bad JSON is never half taken. Why not a JSON library: a tree of
 * a 16 MiB line of "[[],[]..." takes many times its size, and records of text are 99 %
 * unused values. Memory here is the decoded strings asked for that have escapes, in scratch.
 *
 *   n = dx_json_row(line, field, max, &scratch, &ok);     the values of one flat JSON array
 *
 * Of a row null and the string "-" have data NULL, as in CDX; arrays and objects in it are not ok.
 *
 * Paths: parts split by '.', a part in double quotes is literal. Of equal keys the last
 * counts. text: strings decoded, numbers and booleans as written, arrays and objects as
 * written (raw bytes of the line); NULL data for kinds ABSENT and NULL. An array on the way of a path,
 * before its end, is LIST, and one that leads on in a string whose text is a JSON object leads on in that: once, as its
 * strings are not looked into. Of an array on the way of a path: json_list.h has what lies in its elements.
 * No state; any thread, each with a scratch of its own.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_INPUT_JSON_H
#define DX_BUILDER_INPUT_RECORDS_INPUT_JSON_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>

#define DX_JSON_PATH_PARTS 16
#define DX_JSON_PATHS_MAX 128    /* one bit each */
#define DX_JSON_NESTING_MAX 2048 /* as the JSON library we compare with */

enum dx_json_kind {
    DX_JSON_ABSENT,
    DX_JSON_NULL,
    DX_JSON_STRING,
    DX_JSON_NUMBER,
    DX_JSON_BOOL,
    DX_JSON_NESTED,
    DX_JSON_LIST,
    DX_JSON_INSIDE /* not given out */
};

struct dx_json_path {
    struct dx_span part[DX_JSON_PATH_PARTS]; /* borrowed from the text parsed */
    size_t count;
    bool any_case; /* ASCII letters of keys match in either case; set after parsing */
};

struct dx_json_value {
    enum dx_json_kind kind;
    struct dx_span text;
    size_t used; /* NESTED, LIST: parts of the path that lead to it */
};

static inline bool dx_json_has_text(const struct dx_json_value *v)
{
    return v->kind != DX_JSON_ABSENT && v->kind != DX_JSON_NULL && v->kind != DX_JSON_LIST;
}

int dx_json_path_parse(struct dx_json_path *path, const char *text, struct dx_error *err);
bool dx_json_pick(struct dx_span line, const struct dx_json_path *paths, size_t count,
                  struct dx_json_value *value, struct dx_buf *scratch);
/* One value: a scalar with its text decoded, an array or object as written. text must be well-formed JSON. */
bool dx_json_value_of(struct dx_span text, struct dx_json_value *value, struct dx_buf *scratch);
size_t dx_json_row(struct dx_span line, struct dx_span *field, size_t max, struct dx_buf *scratch,
                   bool *ok);

#endif
