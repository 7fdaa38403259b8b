/* SPDX-License-Identifier: Apache-2.0
 * ingest_writers.h - who is adding to which datasets: the text of ROOT/writers.
 *
 *   struct dx_writers w = DX_WRITERS_INIT;
 *   rc = dx_writers_parse(&w, text, name, &err);      strict: what the writer writes; 0 bytes: none
 *   other = dx_writers_ahead(&w, &mine);              the first in line before mine that has a dataset
 *                                                     of mine, or NULL: it is my turn
 *   rc = dx_writers_add(&w, &mine, &err);
 *   found = dx_writers_find(&w, nonce);
 *   dx_writers_remove(&w, nonce);
 *   rc = dx_writers_write(&w, &buf, &err);
 *   dx_writers_release(&w);
 *
 *   domaindex-writers 1
 *   9f3c00d2a1b2c3d4 7 5b1d…-4026531836 farm3 4711 8812345 1-5,7
 *
 * A line a run, in the order in which they came; a run writes when no line above its own has one of
 * its datasets. In a line: its nonce, how often it has said that it lives, the kernel and process
 * namespace it runs in, its host's name, process, the process's start in clock ticks, and dataset
 * ids. The name begins with '_', so no reader of the lake takes it for data. Pure; one thread at a
 * time.
 */
#ifndef DX_BUILDER_LAKE_INGEST_WRITERS_H
#define DX_BUILDER_LAKE_INGEST_WRITERS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>

#define DX_WRITERS_FILE "writers"
#define DX_WRITERS_MAX 256             /* runs at once: far over what one registry bears */
#define DX_WRITERS_TEXT_MAX (4u << 20) /* all of them with all their ranges */
#define DX_WRITER_RANGES 256           /* more are taken together: a run then claims too much */
#define DX_WRITER_WORD 64

struct dx_id_range {
    uint32_t first; /* both included */
    uint32_t last;
};

struct dx_writer {
    uint64_t nonce;
    uint64_t beat;
    char place[DX_WRITER_WORD]; /* "-": not known */
    char host[DX_WRITER_WORD];
    uint32_t pid;
    uint64_t started;
    struct dx_id_range range[DX_WRITER_RANGES]; /* ascending, apart */
    size_t range_count;                         /* at least 1 */
};

struct dx_writers {
    struct dx_writer *writer;
    size_t count;
    size_t capacity;
};

#define DX_WRITERS_INIT \
    {                   \
        NULL, 0, 0      \
    }

int dx_writers_parse(struct dx_writers *w, struct dx_span text, const char *name,
                     struct dx_error *err);
int dx_writers_write(const struct dx_writers *w, struct dx_buf *out, struct dx_error *err);
void dx_writers_release(struct dx_writers *w);

int dx_writers_add(struct dx_writers *w, const struct dx_writer *writer, struct dx_error *err);
void dx_writers_remove(struct dx_writers *w, uint64_t nonce);
struct dx_writer *dx_writers_find(const struct dx_writers *w, uint64_t nonce);
struct dx_writer *dx_writers_ahead(const struct dx_writers *w, const struct dx_writer *mine);

bool dx_writer_overlap(const struct dx_writer *a, const struct dx_writer *b);

/* The ranges that cover ids, which it sorts; more than fit become one. count is at least 1. */
void dx_writer_claim(struct dx_writer *w, uint32_t *ids, size_t count);

/* Copies a word of printable ASCII without spaces; other bytes become '_', none "-". */
void dx_writer_word(char out[DX_WRITER_WORD], const char *text);

#endif
