/* SPDX-License-Identifier: Apache-2.0
 * envelope.h - the outer layout of index files: sections, block checksums, build id.
 * docs/FORMAT.md section 2.
 *
 *   version = dx_envelope_version(file, older, now);         of a layout that is read in two versions
 *   rc = dx_envelope_open(&e, file, DX_KIND('D','X','D','D'), 1, flags, path, &err);
 *   rc = dx_envelope_header(&e, 64, &header, &err);            checked bytes at offset 0
 *   rc = dx_envelope_array(&e, DX_KIND('O','F','F','S'), 2, n, &span, &err);
 *   rc = dx_envelope_check(&e, span.data + 2 * i, 2, &err);    before these bytes are believed
 *   rc = dx_envelope_verify(&e, &err);                         every byte of the file
 *   dx_envelope_close(&e);
 *
 * All spans are borrowed from `file`, which must outlive e. Open checks trailer, tables
 * and section bounds and hashes only the tables; each 4096-byte block of the body is
 * hashed once, on its first check. After open, threads may share e without a lock (the
 * bits of hashed blocks are atomic; two threads may hash one block, to the same end).
 * `name` is the path for messages and is copied. A failed open leaves e closed; closing
 * is safe on a zeroed or closed one.
 *
 * Writing, in one pass and with 8 bytes of memory a block:
 *
 *   dx_envelope_writer_init(&w, magic, version, &build, sink, sink_ctx);
 *   rc = dx_envelope_writer_header(&w, bytes, &err);     begins with magic and version
 *   rc = dx_envelope_writer_section(&w, tag, &err);      aligned; ends the one before
 *   rc = dx_envelope_writer_append(&w, bytes, &err);     any number of times
 *   rc = dx_envelope_writer_finish(&w, &err);
 *   dx_envelope_writer_release(&w);                      also after errors
 *
 * A sink takes all of `bytes` or fails.
 */
#ifndef DX_FORMAT_CORE_ENVELOPE_H
#define DX_FORMAT_CORE_ENVELOPE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"

#include <stdatomic.h>

#define DX_OPEN_UNCHECKED 1u  /* tests only: believe all checksums, so that bounds can be fuzzed */
#define DX_OPEN_VERIFY_ALL 2u /* hash all blocks at open */

#define DX_ENVELOPE_BLOCK_LOG2 12
#define DX_ENVELOPE_BLOCK_SIZE (1u << DX_ENVELOPE_BLOCK_LOG2)
#define DX_ENVELOPE_TRAILER_SIZE 72
#define DX_ENVELOPE_SECTIONS_MAX 64
#define DX_ENVELOPE_ALIGN 64 /* of sections: a cache line */

struct dx_envelope {
    struct dx_span file;
    struct dx_span body;
    struct dx_build_id build;
    uint32_t magic;
    uint32_t version;
    uint32_t section_count;
    const uint8_t *block_table;
    const uint8_t *section_table;
    size_t block_count;
    _Atomic uint64_t *hashed; /* how many blocks were not yet; then a bit a block */
    char *name;
};

/* The version that the trailer names, unchecked, if it is `older`; else `now`, and open refuses others. */
uint32_t dx_envelope_version(struct dx_span file, uint32_t older, uint32_t now);
int dx_envelope_open(struct dx_envelope *e, struct dx_span file, uint32_t magic, uint32_t version,
                     unsigned flags, const char *name, struct dx_error *err);
void dx_envelope_close(struct dx_envelope *e);

/* The file's own header, hashed. The first section begins right behind it (aligned). */
int dx_envelope_header(const struct dx_envelope *e, size_t size, struct dx_span *header,
                       struct dx_error *err);

/* What is left of a header must be zero. */
int dx_envelope_reserved(const struct dx_envelope *e, const struct dx_bytes *rest,
                         struct dx_error *err);

/* A section's bounds; its bytes are not hashed yet. Missing is DX_E_CORRUPT. */
int dx_envelope_section(const struct dx_envelope *e, uint32_t tag, struct dx_span *section,
                        struct dx_error *err);

/* As dx_envelope_section, and its size is exactly count elements. */
int dx_envelope_array(const struct dx_envelope *e, uint32_t tag, size_t element_size,
                      uint64_t count, struct dx_span *section, struct dx_error *err);

/* All blocks, and zeros in the gaps between sections. */
int dx_envelope_verify(const struct dx_envelope *e, struct dx_error *err);

/* DX_E_CORRUPT with the file's name: "NAME: TAG at OFFSET: what". For readers of sections;
 * `at` points into the body. */
int dx_envelope_corrupt(const struct dx_envelope *e, uint32_t tag, const uint8_t *at,
                        struct dx_error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

int dx_envelope_check_blocks(const struct dx_envelope *e, size_t offset, size_t size,
                             struct dx_error *err);

/* Relaxed is enough for both: the bytes never change, the bits only say that they were hashed. */
static inline bool dx_envelope_all_hashed(const struct dx_envelope *e)
{
    return atomic_load_explicit(&e->hashed[0], memory_order_relaxed) == 0;
}

/* Whether the block of this byte, which lies inside the body, was hashed. */
static inline bool dx_envelope_hashed(const struct dx_envelope *e, const uint8_t *at)
{
    size_t block = (size_t)(at - e->body.data) >> DX_ENVELOPE_BLOCK_LOG2;

    return atomic_load_explicit(&e->hashed[1 + (block >> 6)], memory_order_relaxed) >>
               (block & 63) &
           1;
}

/* Makes sure that [at, at + size) lies inside the body and that the blocks under it have their
 * checksums. A few ns when the block was hashed before. Readers call it for all that they touch,
 * also where `at` comes from what was checked at open: a file that is overwritten while it is
 * mapped must not lead them out of it (the answer is thrown away: loader/guard/guard.h). */
static inline int dx_envelope_check(const struct dx_envelope *e, const uint8_t *at, size_t size,
                                    struct dx_error *err)
{
    size_t offset = (size_t)(at - e->body.data);
    size_t last = offset + size - 1;

    if (size - 1 < DX_ENVELOPE_BLOCK_SIZE && last < e->body.size &&
        (offset ^ last) < DX_ENVELOPE_BLOCK_SIZE && dx_envelope_hashed(e, at))
        return DX_OK;
    return dx_envelope_check_blocks(e, offset, size, err);
}

struct dx_envelope_writer {
    int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err);
    void *sink_ctx;
    struct dx_build_id build;
    uint32_t magic;
    uint32_t version;
    uint64_t offset; /* of the next byte in the body */
    uint32_t section_count;
    struct dx_envelope_section_entry {
        uint32_t tag;
        uint64_t offset;
        uint64_t size;
    } sections[DX_ENVELOPE_SECTIONS_MAX];
    struct dx_buf block_table;
    size_t pending_size;
    uint8_t pending[DX_ENVELOPE_BLOCK_SIZE];
};

void dx_envelope_writer_init(struct dx_envelope_writer *w, uint32_t magic, uint32_t version,
                             const struct dx_build_id *build,
                             int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                             void *sink_ctx);
int dx_envelope_writer_header(struct dx_envelope_writer *w, struct dx_span header,
                              struct dx_error *err);
int dx_envelope_writer_section(struct dx_envelope_writer *w, uint32_t tag, struct dx_error *err);
int dx_envelope_writer_append(struct dx_envelope_writer *w, struct dx_span bytes,
                              struct dx_error *err);
int dx_envelope_writer_finish(struct dx_envelope_writer *w, struct dx_error *err);
void dx_envelope_writer_release(struct dx_envelope_writer *w);

/* A sink that appends to the struct dx_buf which is its ctx: for tests. */
int dx_envelope_sink_buf(void *ctx, struct dx_span bytes, struct dx_error *err);

#endif
