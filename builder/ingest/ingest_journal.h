/* SPDX-License-Identifier: Apache-2.0
 * ingest_journal.h - which inputs of a long ingest are in the lake, so that the next run goes on behind them.
 *
 *   struct dx_ingest_journal j = DX_INGEST_JOURNAL_INIT;
 *   rc = dx_ingest_journal_open(&j, path, about, &err);        makes it, if it is not there; locks it
 *   key = dx_ingest_journal_key(input, must_be);               before the input is read
 *   if (!dx_ingest_journal_has(&j, &key)) ...
 *   dx_ingest_journal_note(&j, &key, input);                   its rows are about to be added
 *   rc = dx_ingest_journal_write(&j, &err);                    they are in the lake: durable on return
 *   dx_ingest_journal_forget(&j);                              or they are not: what was noted since the last write
 *   dx_ingest_journal_close(&j);                               what was noted and not written is forgotten
 *
 * A file of text: "domaindex-journal 1 ABOUT", then "KEY INPUT" for each finished input. ABOUT is a hash of what
 * decides what a row is (`about`): a journal of a run with other options is refused. KEY is a hash of the input's
 * name, and of a file its size and time of change: a file that was changed is another input. Objects
 * go by their address, and by the size that a cluster index says. A last line that a crash cut is cut off.
 *
 * A journal that lags behind costs time only: rows that the lake has are not stored again. One thread.
 *
 *   rc = dx_ingest_journal_parse(text, about, &j, &whole, &err);      the same without I/O: `whole` bytes are lines
 */
#ifndef DX_BUILDER_INGEST_INGEST_JOURNAL_H
#define DX_BUILDER_INGEST_INGEST_JOURNAL_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

#include <stddef.h>

#define DX_INGEST_JOURNAL_MAX (512u << 20) /* bytes: a million inputs of usual names */

struct dx_ingest_journal {
    char *path;
    int fd;
    struct dx_hash128 *key; /* in order */
    size_t count, room;
    struct dx_buf noted; /* lines */
};

#define DX_INGEST_JOURNAL_INIT                                   \
    {                                                            \
        NULL, -1, NULL, 0, 0, DX_BUF_INIT(DX_INGEST_JOURNAL_MAX) \
    }

int dx_ingest_journal_open(struct dx_ingest_journal *j, const char *path, struct dx_span about,
                           struct dx_error *err);
void dx_ingest_journal_close(struct dx_ingest_journal *j);
struct dx_hash128 dx_ingest_journal_key(const char *input, uint64_t must_be);
bool dx_ingest_journal_has(const struct dx_ingest_journal *j, const struct dx_hash128 *key);
void dx_ingest_journal_note(struct dx_ingest_journal *j, const struct dx_hash128 *key,
                            const char *input);
int dx_ingest_journal_write(struct dx_ingest_journal *j, struct dx_error *err);
void dx_ingest_journal_forget(struct dx_ingest_journal *j);

int dx_ingest_journal_parse(struct dx_span text, struct dx_span about, struct dx_ingest_journal *j,
                            size_t *whole, struct dx_error *err);

#endif
