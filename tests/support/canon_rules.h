/* SPDX-License-Identifier: Apache-2.0
 * canon_rules.h - what tests of the canonical form share.
 *
 *   if (!dx_test_shared(path, "oracle/x"))  the file of the shared data, or false
 *       ... say SKIPPED and why ...
 *   dx_test_path_rules(pathname, &out);     docs/CANON.md rules 6 to 8 upon WHATWG's pathname
 *   dx_test_query_rules(search, &out);      rules 7 to 9 upon WHATWG's search
 *
 * The rules are stated here a second time, slowly and on their own: text in, text out, one
 * small pass a rule. `out` is replaced. Helpers end the program with a message on any error.
 */
#ifndef DX_TESTS_CANON_RULES_H
#define DX_TESTS_CANON_RULES_H

#include "base/buf.h"
#include "base/bytes.h"
#include "canon/psl.h"

#define DX_TEST_PATH 4096

/* $DX_SHARED_DATA/name, else ../shared/data/name: tests run in the source folder. */
bool dx_test_shared(char path[DX_TEST_PATH], const char *name);

void dx_test_read(const char *path, struct dx_buf *out);
void dx_test_read_zst(const char *path, struct dx_buf *out); /* decompressed */
struct dx_psl *dx_test_psl(const char *text);
struct dx_psl *dx_test_psl_file(const char *path);

void dx_test_path_rules(struct dx_span pathname, struct dx_buf *out);
void dx_test_query_rules(struct dx_span search, struct dx_buf *out);

/* The next line of *text without its '\n', taken off; false at the end. */
bool dx_test_line(struct dx_span *text, struct dx_span *line);
/* The field up to the next `by`, taken off *line; empty at the end. */
struct dx_span dx_test_field(struct dx_span *line, char by);

#endif
