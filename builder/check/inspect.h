/* SPDX-License-Identifier: Apache-2.0
 * inspect.h - what stands in a file of the index or the lake, as JSON.
 *
 *   rc = dx_inspect_file(path, deep, &json, &err);     any file: recognised by its first bytes
 *   rc = dx_inspect_object(url, deep, &json, &err);    the same of an object: s3://, http(s)://
 *   rc = dx_inspect_root(root, &json, &err);           a directory or a remote root: its versions
 *   dx_inspect_text(json_text, &out, &err);            the same for people: indented lines
 *
 * A part.pack is cut apart by the manifest of the root whose ROOT/index/VERSION/part.pack it is: "files" has one object each.
 *
 * deep reads everything: all blocks, frames and pages; the first damage is the error. The
 * JSON is one object with "file", "kind" and what the kind has; sizes are bytes. An object is read
 * into memory whole, up to DX_INSPECT_OBJECT_MAX; larger ones are refused.
 * Calls have nothing in common: any thread, each with a json of its own.
 */
#ifndef DX_BUILDER_CHECK_INSPECT_H
#define DX_BUILDER_CHECK_INSPECT_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

struct dx_json;

int dx_inspect_file(const char *path, bool deep, struct dx_buf *json, struct dx_error *err);
int dx_inspect_object(const char *url, bool deep, struct dx_buf *json, struct dx_error *err);
int dx_inspect_root(const char *root, struct dx_buf *json, struct dx_error *err);
int dx_inspect_text(struct dx_span json, struct dx_buf *out, struct dx_error *err);

#define DX_INSPECT_OBJECT_MAX ((size_t)4 << 30)

/* Whether a URL names a file of an index or a lake, by the end of its last component; what does
 * not is a root. */
bool dx_inspect_is_object(const char *url);

int dx_inspect_span(const char *name, struct dx_span bytes, bool deep, struct dx_buf *json,
                    struct dx_error *err);

/* The kinds: each adds members to the open object. */
struct dx_inspect {
    const char *path;
    struct dx_span bytes;
    bool deep;
    struct dx_json *json;
};

int dx_inspect_parquet(const struct dx_inspect *in, struct dx_error *err);
int dx_inspect_zst(const struct dx_inspect *in, struct dx_error *err);
int dx_inspect_envelope(const struct dx_inspect *in, struct dx_error *err);

/* {"key": value} in one call. */
void dx_inspect_u64(const struct dx_inspect *in, const char *key, uint64_t value);
void dx_inspect_str(const struct dx_inspect *in, const char *key, struct dx_span value);

#endif
