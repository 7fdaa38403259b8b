/* SPDX-License-Identifier: Apache-2.0 */
#include "format/core/envelope.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/few_bytes.h"

#define BLOCK ((size_t)DX_ENVELOPE_BLOCK_SIZE)
#define SECTION_ENTRY 24
#define KEY_TABLES (UINT64_MAX - 1)
#define KEY_TRAILER UINT64_MAX
#define TRAILER_VERSION 20 /* place of the version in the trailer */
#define HEADER_MIN 8       /* magic and version */

static const uint8_t end_mark[8] = { 'D', 'X', 'T', 'A', 'I', 'L', '0', '1' };
static const uint8_t draft_mark[8] = { 'D', 'X', 'F', 'O', 'O', 'T', '0', '1' };

/* Four characters as text; what is not printable as '?', for the bytes may be hostile. */
static const char *tag_text(uint32_t tag, char out[5])
{
    for (int i = 0; i < 4; i++) {
        uint8_t c = (uint8_t)(tag >> (8 * i));

        out[i] = c > 0x20 && c < 0x7f ? (char)c : '?';
    }
    out[4] = '\0';
    return out;
}

static uint64_t align_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) & ~(align - 1);
}

static uint64_t sum_of(const struct dx_build_id *build, uint32_t magic, uint64_t key,
                       struct dx_span bytes)
{
    struct dx_identity id = { *build, magic, key };

    return dx_checksum(&id, bytes);
}

/* A section as its table entry says it; bounds are checked by open. */
static struct dx_envelope_section_entry entry_at(const struct dx_envelope *e, uint32_t i)
{
    const uint8_t *p = e->section_table + (size_t)i * SECTION_ENTRY;

    return (struct dx_envelope_section_entry){ dx_load_u32(p), dx_load_u64(p + 8),
                                               dx_load_u64(p + 16) };
}

int dx_envelope_corrupt(const struct dx_envelope *e, uint32_t tag, const uint8_t *at,
                        struct dx_error *err, const char *fmt, ...)
{
    char what[256];
    char name[5];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return dx_fail(err, DX_E_CORRUPT, "%s: %s at %zu: %s", e->name, tag_text(tag, name),
                   (size_t)(at - e->body.data), what);
}

/* The trailer's fields that need nothing else; fills build, counts and the table pointers. */
static int read_trailer(struct dx_envelope *e, unsigned flags, struct dx_error *err)
{
    const size_t size = e->file.size;
    const uint8_t *t;
    uint64_t body_size;
    uint64_t tables_size;
    uint64_t found;
    char name[5];
    char want[5];

    if (size < DX_ENVELOPE_TRAILER_SIZE + HEADER_MIN)
        return dx_fail(err, DX_E_TRUNCATED, "%s: %zu bytes, trailer and header need %d", e->name,
                       size, DX_ENVELOPE_TRAILER_SIZE + HEADER_MIN);
    t = e->file.data + (size - DX_ENVELOPE_TRAILER_SIZE);
    /* Layouts before release 1.0 had numbers of their own, up to 3: the mark tells them apart. */
    if (memcmp(t + 64, draft_mark, sizeof draft_mark) == 0)
        return dx_fail(
            err, DX_E_UNSUPPORTED,
            "%s: trailer at %zu: ends in DXFOOT01: a layout of before release 1.0, which no "
            "release reads; ingest the data into a new root: 'domaindex ingest --root NEW'",
            e->name, size - DX_ENVELOPE_TRAILER_SIZE);
    if (memcmp(t + 64, end_mark, sizeof end_mark) != 0)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: trailer at %zu: does not end in DXTAIL01: cut short or no index file",
                       e->name, size - DX_ENVELOPE_TRAILER_SIZE);
    memcpy(e->build.bytes, t, sizeof e->build.bytes);
    if (dx_load_u32(t + 16) != e->magic)
        return dx_fail(err, DX_E_CORRUPT, "%s: trailer: magic is %s, not %s", e->name,
                       tag_text(dx_load_u32(t + 16), name), tag_text(e->magic, want));
    found = sum_of(&e->build, e->magic, KEY_TRAILER, dx_span_of(t, 56));
    if (!(flags & DX_OPEN_UNCHECKED) && dx_load_u64(t + 56) != found)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: trailer: checksum is %016llx, its bytes give %016llx", e->name,
                       (unsigned long long)dx_load_u64(t + 56), (unsigned long long)found);
    if (dx_load_u32(t + TRAILER_VERSION) != e->version)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: trailer: layout version %u, this program reads %u%s", e->name,
                       dx_load_u32(t + TRAILER_VERSION), e->version,
                       dx_load_u32(t + TRAILER_VERSION) < e->version
                           ? ": rebuild it with 'domaindex publish --root ROOT'"
                           : ": a newer one wrote it");
    e->section_count = dx_load_u32(t + 24);
    if (e->section_count > DX_ENVELOPE_SECTIONS_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: trailer: %u sections, at most %d", e->name,
                       e->section_count, DX_ENVELOPE_SECTIONS_MAX);
    if (dx_load_u32(t + 28) != DX_ENVELOPE_BLOCK_LOG2)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: trailer: block size 2^%u, this program reads 2^%d", e->name,
                       dx_load_u32(t + 28), DX_ENVELOPE_BLOCK_LOG2);
    if (dx_load_u64(t + 40) != size)
        return dx_fail(err, DX_E_TRUNCATED, "%s: trailer: file size %llu, but there are %zu bytes",
                       e->name, (unsigned long long)dx_load_u64(t + 40), size);
    body_size = dx_load_u64(t + 32);
    if (body_size < HEADER_MIN || body_size % 8 != 0 || body_size > size)
        return dx_fail(err, DX_E_CORRUPT, "%s: trailer: body size %llu of %zu bytes", e->name,
                       (unsigned long long)body_size, size);
    e->block_count = (size_t)((body_size + BLOCK - 1) / BLOCK);
    tables_size = 8 * (uint64_t)e->block_count + SECTION_ENTRY * (uint64_t)e->section_count;
    if (size - body_size != tables_size + DX_ENVELOPE_TRAILER_SIZE)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: trailer: %llu bytes behind the body, tables and trailer need %llu",
                       e->name, (unsigned long long)(size - body_size),
                       (unsigned long long)(tables_size + DX_ENVELOPE_TRAILER_SIZE));
    e->body = dx_span_of(e->file.data, (size_t)body_size);
    e->block_table = e->file.data + body_size;
    e->section_table = e->block_table + 8 * e->block_count;
    found = sum_of(&e->build, e->magic, KEY_TABLES,
                   dx_span_of(e->block_table, (size_t)tables_size));
    if (!(flags & DX_OPEN_UNCHECKED) && dx_load_u64(t + 48) != found)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: tables at %llu: checksum is %016llx, their bytes "
                       "give %016llx",
                       e->name, (unsigned long long)body_size,
                       (unsigned long long)dx_load_u64(t + 48), (unsigned long long)found);
    return DX_OK;
}

/* Sections follow each other with nothing but alignment between them, to the end of the body. */
static int check_sections(const struct dx_envelope *e, struct dx_error *err)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < e->section_count; i++) {
        struct dx_envelope_section_entry s = entry_at(e, i);
        char name[5];

        (void)tag_text(s.tag, name);
        if (dx_load_u32(e->section_table + (size_t)i * SECTION_ENTRY + 4) != 0)
            return dx_fail(err, DX_E_CORRUPT, "%s: section table: %s: reserved field is not zero",
                           e->name, name);
        for (uint32_t k = 0; k < i; k++) {
            if (entry_at(e, k).tag == s.tag)
                return dx_fail(err, DX_E_CORRUPT, "%s: section table: %s is there twice", e->name,
                               name);
        }
        if (s.offset > e->body.size || s.size > e->body.size - s.offset)
            return dx_fail(err, DX_E_CORRUPT,
                           "%s: section table: %s: %llu bytes at %llu, the body has %zu", e->name,
                           name, (unsigned long long)s.size, (unsigned long long)s.offset,
                           e->body.size);
        if (i == 0 ? s.offset % DX_ENVELOPE_ALIGN != 0 || s.offset < HEADER_MIN
                   : s.offset != align_up(end, DX_ENVELOPE_ALIGN))
            return dx_fail(err, DX_E_CORRUPT,
                           "%s: section table: %s begins at %llu, the part before ends at %llu",
                           e->name, name, (unsigned long long)s.offset, (unsigned long long)end);
        end = s.offset + s.size;
    }
    if (e->section_count > 0 && align_up(end, 8) != e->body.size)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: section table: sections end at %llu, the body at %zu", e->name,
                       (unsigned long long)end, e->body.size);
    return DX_OK;
}

static int make_bitmap(struct dx_envelope *e, unsigned flags, struct dx_error *err)
{
    const bool believed = (flags & DX_OPEN_UNCHECKED) != 0;
    size_t words = e->block_count / 64 + 1;

    e->hashed = malloc((1 + words) * sizeof *e->hashed);
    if (e->hashed == NULL)
        return dx_no_memory(err, "%s: %zu blocks", e->name, e->block_count);
    atomic_init(&e->hashed[0], believed ? 0 : e->block_count);
    for (size_t i = 1; i <= words; i++)
        atomic_init(&e->hashed[i], believed ? UINT64_MAX : 0);
    return DX_OK;
}

uint32_t dx_envelope_version(struct dx_span file, uint32_t older, uint32_t now)
{
    uint32_t version = now;

    if (file.size >= DX_ENVELOPE_TRAILER_SIZE)
        version = dx_load_u32(file.data + file.size - DX_ENVELOPE_TRAILER_SIZE + TRAILER_VERSION);
    return version == older ? older : now;
}

int dx_envelope_open(struct dx_envelope *e, struct dx_span file, uint32_t magic, uint32_t version,
                     unsigned flags, const char *name, struct dx_error *err)
{
    char want[5];
    int rc;

    memset(e, 0, sizeof *e);
    e->file = file;
    e->magic = magic;
    e->version = version;
    e->name = strdup(name);
    if (e->name == NULL)
        return dx_no_memory(err, "%s", name);
    rc = read_trailer(e, flags, err);
    if (rc == DX_OK)
        rc = check_sections(e, err);
    if (rc == DX_OK)
        rc = make_bitmap(e, flags, err);
    if (rc == DX_OK)
        rc = dx_envelope_check(e, e->body.data, HEADER_MIN, err);
    if (rc == DX_OK && dx_load_u32(e->body.data) != magic)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: header: does not begin with %s", e->name,
                     tag_text(magic, want));
    if (rc == DX_OK && dx_load_u32(e->body.data + 4) != version)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: header: version %u, the trailer has %u", e->name,
                     dx_load_u32(e->body.data + 4), version);
    if (rc == DX_OK && flags & DX_OPEN_VERIFY_ALL)
        rc = dx_envelope_verify(e, err);
    if (rc != DX_OK)
        dx_envelope_close(e);
    return rc;
}

void dx_envelope_close(struct dx_envelope *e)
{
    if (e == NULL)
        return;
    free(e->hashed);
    free(e->name);
    memset(e, 0, sizeof *e);
}

int dx_envelope_header(const struct dx_envelope *e, size_t size, struct dx_span *header,
                       struct dx_error *err)
{
    uint64_t end = e->section_count > 0 ? entry_at(e, 0).offset : e->body.size;
    uint64_t want = align_up(size, e->section_count > 0 ? DX_ENVELOPE_ALIGN : 8);

    if (end != want)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: %llu bytes, %llu expected", e->name,
                       (unsigned long long)end, (unsigned long long)want);
    *header = dx_span_of(e->body.data, size);
    return dx_envelope_check(e, e->body.data, size, err);
}

int dx_envelope_reserved(const struct dx_envelope *e, const struct dx_bytes *rest,
                         struct dx_error *err)
{
    for (const uint8_t *p = rest->at; p < rest->end; p++)
        if (*p != 0)
            return dx_fail(err, DX_E_CORRUPT, "%s: header: reserved byte is not zero", e->name);
    return DX_OK;
}

int dx_envelope_section(const struct dx_envelope *e, uint32_t tag, struct dx_span *section,
                        struct dx_error *err)
{
    char name[5];

    for (uint32_t i = 0; i < e->section_count; i++) {
        struct dx_envelope_section_entry s = entry_at(e, i);

        if (s.tag == tag) {
            *section = dx_span_of(e->body.data + s.offset, (size_t)s.size);
            return DX_OK;
        }
    }
    return dx_fail(err, DX_E_CORRUPT, "%s: section table: no section %s", e->name,
                   tag_text(tag, name));
}

int dx_envelope_array(const struct dx_envelope *e, uint32_t tag, size_t element_size,
                      uint64_t count, struct dx_span *section, struct dx_error *err)
{
    char name[5];
    int rc = dx_envelope_section(e, tag, section, err);

    if (rc < 0)
        return rc;
    if (count > UINT64_MAX / element_size || section->size != count * element_size)
        return dx_fail(err, DX_E_CORRUPT, "%s: section %s: %zu bytes, expected %llu of %zu bytes",
                       e->name, tag_text(tag, name), section->size, (unsigned long long)count,
                       element_size);
    return DX_OK;
}

static struct dx_span block_bytes(const struct dx_envelope *e, size_t block)
{
    size_t offset = block * BLOCK;
    size_t left = e->body.size - offset;

    return dx_span_of(e->body.data + offset, left < BLOCK ? left : BLOCK);
}

static int check_block(const struct dx_envelope *e, size_t block, struct dx_error *err)
{
    uint64_t want = dx_load_u64(e->block_table + 8 * block);
    uint64_t found = sum_of(&e->build, e->magic, block, block_bytes(e, block));
    const uint64_t bit = UINT64_C(1) << (block & 63);

    if (found != want)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: block %zu at %zu: checksum is %016llx, its bytes give %016llx", e->name,
                       block, block * BLOCK, (unsigned long long)want, (unsigned long long)found);
    if ((atomic_fetch_or_explicit(&e->hashed[1 + (block >> 6)], bit, memory_order_relaxed) & bit) ==
        0)
        atomic_fetch_sub_explicit(&e->hashed[0], 1, memory_order_relaxed);
    return DX_OK;
}

int dx_envelope_check_blocks(const struct dx_envelope *e, size_t offset, size_t size,
                             struct dx_error *err)
{
    size_t first = offset / BLOCK;
    size_t last;

    if (size == 0)
        return DX_OK;
    if (offset >= e->body.size || size > e->body.size - offset)
        return dx_fail(err, DX_E_CORRUPT, "%s: %zu bytes at %zu are not within its %zu", e->name,
                       size, offset, e->body.size);
    last = (offset + size - 1) / BLOCK;
    for (size_t block = first; block <= last; block++) {
        int rc;

        if (dx_envelope_hashed(e, e->body.data + block * BLOCK))
            continue;
        rc = check_block(e, block, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int check_gap(const struct dx_envelope *e, uint64_t from, uint64_t to, struct dx_error *err)
{
    for (uint64_t i = from; i < to; i++) {
        if (e->body.data[i] != 0)
            return dx_fail(err, DX_E_CORRUPT, "%s: gap at %llu: not zero", e->name,
                           (unsigned long long)i);
    }
    return DX_OK;
}

int dx_envelope_verify(const struct dx_envelope *e, struct dx_error *err)
{
    int rc = dx_envelope_check_blocks(e, 0, e->body.size, err);

    for (uint32_t i = 0; i < e->section_count && rc == DX_OK; i++) {
        struct dx_envelope_section_entry s = entry_at(e, i);
        uint64_t next = i + 1 < e->section_count ? entry_at(e, i + 1).offset : e->body.size;

        rc = check_gap(e, s.offset + s.size, next, err);
    }
    return rc;
}

void dx_envelope_writer_init(struct dx_envelope_writer *w, uint32_t magic, uint32_t version,
                             const struct dx_build_id *build,
                             int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                             void *sink_ctx)
{
    memset(w, 0, sizeof *w);
    w->sink = sink;
    w->sink_ctx = sink_ctx;
    w->build = *build;
    w->magic = magic;
    w->version = version;
    dx_buf_init(&w->block_table, SIZE_MAX / 2);
}

/* Hashes and passes on the block that was collected. */
static int flush_block(struct dx_envelope_writer *w, struct dx_error *err)
{
    struct dx_span block = dx_span_of(w->pending, w->pending_size);
    uint64_t number = w->block_table.size / 8;

    if (block.size == 0)
        return DX_OK;
    dx_buf_u64(&w->block_table, sum_of(&w->build, w->magic, number, block));
    if (w->block_table.failed)
        return dx_buf_fail(&w->block_table, err, "block table");
    w->pending_size = 0;
    return w->sink(w->sink_ctx, block, err);
}

static int put_bytes(struct dx_envelope_writer *w, struct dx_span bytes, struct dx_error *err)
{
    while (bytes.size > 0) {
        size_t room = BLOCK - w->pending_size;
        size_t n = bytes.size < room ? bytes.size : room;
        int rc;

        dx_few_copy(w->pending + w->pending_size, bytes.data, n);
        w->pending_size += n;
        w->offset += n;
        bytes = dx_span_from(bytes, n);
        if (w->pending_size < BLOCK)
            continue;
        rc = flush_block(w, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int put_zeros_to(struct dx_envelope_writer *w, uint64_t align, struct dx_error *err)
{
    static const uint8_t zeros[DX_ENVELOPE_ALIGN];

    return put_bytes(w, dx_span_of(zeros, (size_t)(align_up(w->offset, align) - w->offset)), err);
}

int dx_envelope_writer_header(struct dx_envelope_writer *w, struct dx_span header,
                              struct dx_error *err)
{
    assert(w->offset == 0 && header.size >= HEADER_MIN);
    assert(dx_load_u32(header.data) == w->magic && dx_load_u32(header.data + 4) == w->version);
    return put_bytes(w, header, err);
}

static void end_section(struct dx_envelope_writer *w)
{
    if (w->section_count > 0) {
        struct dx_envelope_section_entry *s = &w->sections[w->section_count - 1];

        s->size = w->offset - s->offset;
    }
}

int dx_envelope_writer_section(struct dx_envelope_writer *w, uint32_t tag, struct dx_error *err)
{
    int rc;

    assert(w->section_count < DX_ENVELOPE_SECTIONS_MAX);
    end_section(w);
    rc = put_zeros_to(w, DX_ENVELOPE_ALIGN, err);
    w->sections[w->section_count++] = (struct dx_envelope_section_entry){ tag, w->offset, 0 };
    return rc;
}

int dx_envelope_writer_append(struct dx_envelope_writer *w, struct dx_span bytes,
                              struct dx_error *err)
{
    assert(w->section_count > 0);
    return put_bytes(w, bytes, err);
}

static void append_trailer(struct dx_envelope_writer *w, struct dx_buf *tables, uint64_t body_size)
{
    size_t tables_size = tables->size;
    uint64_t file_size = body_size + tables_size + DX_ENVELOPE_TRAILER_SIZE;
    uint64_t sum = sum_of(&w->build, w->magic, KEY_TABLES, dx_span_of(tables->data, tables_size));

    dx_buf_append(tables, w->build.bytes, sizeof w->build.bytes);
    dx_buf_u32(tables, w->magic);
    dx_buf_u32(tables, w->version);
    dx_buf_u32(tables, w->section_count);
    dx_buf_u32(tables, DX_ENVELOPE_BLOCK_LOG2);
    dx_buf_u64(tables, body_size);
    dx_buf_u64(tables, file_size);
    dx_buf_u64(tables, sum);
    if (tables->failed)
        return;
    dx_buf_u64(tables, sum_of(&w->build, w->magic, KEY_TRAILER,
                              dx_span_of(tables->data + tables_size, 56)));
    dx_buf_append(tables, end_mark, sizeof end_mark);
}

int dx_envelope_writer_finish(struct dx_envelope_writer *w, struct dx_error *err)
{
    int rc;

    assert(w->offset > 0);
    end_section(w);
    rc = put_zeros_to(w, 8, err);
    if (rc == DX_OK)
        rc = flush_block(w, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < w->section_count; i++) {
        dx_buf_u32(&w->block_table, w->sections[i].tag);
        dx_buf_u32(&w->block_table, 0);
        dx_buf_u64(&w->block_table, w->sections[i].offset);
        dx_buf_u64(&w->block_table, w->sections[i].size);
    }
    append_trailer(w, &w->block_table, w->offset);
    if (w->block_table.failed)
        return dx_buf_fail(&w->block_table, err, "block table");
    return w->sink(w->sink_ctx, dx_span_of(w->block_table.data, w->block_table.size), err);
}

void dx_envelope_writer_release(struct dx_envelope_writer *w)
{
    if (w != NULL)
        dx_buf_release(&w->block_table);
}

int dx_envelope_sink_buf(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    struct dx_buf *b = ctx;

    dx_buf_append(b, bytes.data, bytes.size);
    return b->failed ? dx_buf_fail(b, err, "file in memory") : DX_OK;
}
