/* SPDX-License-Identifier: Apache-2.0
 * lookup_names.h - lists of names answered from the files, as POST /v1/domains answers them.
 *
 *   struct dx_lookup_names l = { .version = v, .ask = { ... }, .input = DX_NAME_LIST_TEXT, .out = stdout };
 *   rc = dx_lookup_names_begin(&l, &err);
 *   rc = dx_lookup_names_file(&l, "names.csv.gz", &err);     "-": standard input; any number of times
 *   rc = dx_lookup_names_one(&l, name, &err);                or single ones
 *   rc = dx_lookup_names_end(&l, &err);
 *   dx_lookup_names_release(&l);
 *
 * Memory does not grow with the list. After an error out is cut: DX_E_IO when it is out itself. One
 * thread.
 */
#ifndef DX_BUILDER_CLI_LOOKUP_NAMES_H
#define DX_BUILDER_CLI_LOOKUP_NAMES_H

#include "query/answers/answer_names.h"

#include <stdio.h>

struct dx_progress;
struct dx_version;

struct dx_lookup_names {
    struct dx_version *version; /* pinned */
    struct dx_names_ask ask;
    enum dx_name_list_format input;
    FILE *out;
    struct dx_progress *progress; /* NULL: none is shown */

    struct dx_names_counts counts; /* so far */

    /* private */
    struct dx_names *names;
    struct dx_buf text;
    uint64_t lines;
    uint64_t bytes; /* consumed of the file at hand */
};

int dx_lookup_names_begin(struct dx_lookup_names *l, struct dx_error *err);
int dx_lookup_names_file(struct dx_lookup_names *l, const char *path, struct dx_error *err);
int dx_lookup_names_one(struct dx_lookup_names *l, struct dx_span name, struct dx_error *err);
int dx_lookup_names_end(struct dx_lookup_names *l, struct dx_error *err);
void dx_lookup_names_release(struct dx_lookup_names *l);

#endif
