/* SPDX-License-Identifier: Apache-2.0
 * rejects.h - the rows that were not taken: counted by reason and written to a file.
 *
 *   dx_rejects_init(&r, folder, "given/path.tsv" or NULL);
 *   r.max_bytes = ...;                                 DX_REJECTS_BYTES if it is not set
 *   dx_rejects_line(&buf, input, line, why, raw);      a worker formats into its own buffer
 *   rc = dx_rejects_write(&r, buf, &err);              and the lines are written in order
 *   rc = dx_rejects_close(&r, &err);                   flushed and checked; r.unlisted: lines left out
 *   dx_rejects_discard(&r);                            instead: the run failed
 *
 * TSV: input name, line number, reason, the raw record (first 4 KiB; tab, line ends, backslash,
 * control characters and bytes that are not UTF-8 as \t \n \r \\ \xNN). An empty name: that of the
 * line above. The first max_bytes of lines are in the file; if there are more, a last line of
 * reason not_listed says how many, with the line number 0. Without a path the file is
 * FOLDER/NNNNN.tsv with the next free number, made only when the first line comes; r.path says
 * which, and discard removes it. What a file has already counts for max_bytes, too. A private folder (is_private) is refused if it is a link or
 * another user's: it may stand in /tmp. One thread at a time, but for dx_rejects_line.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_REJECTS_H
#define DX_BUILDER_INPUT_RECORDS_REJECTS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "canon/reject.h"

#include <stdbool.h>
#include <stdio.h>

/* Reasons beside those of canon/reject.h, numbered behind them. */
enum dx_row_reject {
    DX_ROW_LINE_TOO_LONG = DX_REJECT_COUNT,
    DX_ROW_RECORD_MALFORMED,
    DX_ROW_COLUMN_MISSING,
    DX_ROW_DATASET_MISSING,
    DX_ROW_DATASET_INVALID,
    DX_ROW_TS_INVALID,
    DX_ROW_TS_MISSING,
    DX_ROW_EXTRA_TOO_LONG,
    DX_ROW_COUNT_INVALID,
    DX_ROW_NO_PAGES, /* the count of a host is 0 or null: nothing is wrong with it */
    DX_ROW_NOT_ONE_URL, /* columns in a line of a list (list_line.h), a control character in a URL of TSV or CSV */
    DX_ROW_REJECT_COUNT
};

/* "line_too_long", "record_malformed"...; those of dx_reject_name for the rest. */
const char *dx_row_reject_name(int why);

#define DX_REJECT_RAW_MAX 4096
#define DX_REJECTS_BYTES (64u << 20) /* a hundred thousand lines and more; the counts are of all */

struct dx_rejects {
    const char *folder;
    const char *given;
    bool is_private; /* may be set after init: only this user reads the folder and its files */
    bool append;     /* may be set after init: the given file keeps what it has */
    char *path;      /* NULL: no line yet */
    FILE *file;
    uint64_t max_bytes; /* may be set after init */
    uint64_t bytes;     /* in the file */
    uint64_t unlisted;  /* lines that max_bytes leaves out */
};

void dx_rejects_init(struct dx_rejects *r, const char *folder, const char *given);
/* Appends s so that a terminal or a TSV field can hold it. */
void dx_rejects_text(struct dx_buf *out, struct dx_span s);
/* out: lines of this input alone. */
void dx_rejects_line(struct dx_buf *out, const char *input, uint64_t line, int why,
                     struct dx_span raw);
int dx_rejects_write(struct dx_rejects *r, struct dx_span lines, struct dx_error *err);
int dx_rejects_close(struct dx_rejects *r, struct dx_error *err);
void dx_rejects_discard(struct dx_rejects *r);
void dx_rejects_release(struct dx_rejects *r);

#endif
