/* SPDX-License-Identifier: Apache-2.0
 * located_path.h - the file or object that the name in a locator means, below a base.
 *
 *   rc = dx_located_path(base, name, &path, &err);         an input (input_ranges.h), to be freed
 *
 * A locator comes from a lake that anybody may have written, so a name never leads out of the base: a
 * folder ("." is usual), or an address that begins http://, https:// or s3://. A relative name is taken
 * from the base on. An address must lie below a base that is one, by its text; any path below a base that
 * is a folder, after links. Names with "." or ".." or empty parts are refused. Below http:// a relative name is percent-encoded. DX_E_INVALID: refused, with what to
 * give. Looks at the file system where the base is a folder. Any thread.
 */
#ifndef DX_BUILDER_INPUT_LOCATED_LOCATED_PATH_H
#define DX_BUILDER_INPUT_LOCATED_LOCATED_PATH_H

#include "base/bytes.h"
#include "base/error.h"

int dx_located_path(const char *base, struct dx_span name, char **path, struct dx_error *err);

#endif
