/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/cold.h"

#include <assert.h>
#include <inttypes.h>

#define HEADER_SIZE 64
#define RECORD 40
#define SEEK_TABLE_MIN 29 /* of a .zst file with one frame */
#define KEY_SIZE 12       /* of a record: key and sub */

static const struct {
    const char *name;
    uint32_t tag; /* of its section, and the kind of its sums */
} files[DX_COLD_FILES] = {
    [DX_COLD_FACTS] = { "facts.dat.zst", DX_KIND('F', 'A', 'C', 'T') },
    [DX_COLD_SKETCHES] = { "sketches.dat.zst", DX_KIND('S', 'K', 'T', 'C') },
    [DX_COLD_URL_IDS] = { "url_ids.dat.zst", DX_KIND('U', 'I', 'D', 'S') },
};

const char *dx_cold_file_name(enum dx_cold_file file)
{
    return files[file].name;
}

static int compare_key(uint64_t key_a, uint32_t sub_a, uint64_t key_b, uint32_t sub_b)
{
    if (key_a != key_b)
        return key_a < key_b ? -1 : 1;
    return sub_a == sub_b ? 0 : sub_a < sub_b ? -1 : 1;
}

/* ---- the directory ---- */

static void read_page(const uint8_t *record, struct dx_cold_page *p)
{
    struct dx_bytes r = dx_bytes_of(dx_span_of(record, RECORD));

    p->key = dx_bytes_u64(&r);
    p->sub = dx_bytes_u32(&r);
    p->entries = dx_bytes_u32(&r);
    p->offset = dx_bytes_u64(&r);
    p->stored_size = dx_bytes_u32(&r);
    p->plain_size = dx_bytes_u32(&r);
    p->sum = dx_bytes_u64(&r);
}

static void append_page(struct dx_buf *b, const struct dx_cold_page *p)
{
    dx_buf_u64(b, p->key);
    dx_buf_u32(b, p->sub);
    dx_buf_u32(b, p->entries);
    dx_buf_u64(b, p->offset);
    dx_buf_u32(b, p->stored_size);
    dx_buf_u32(b, p->plain_size);
    dx_buf_u64(b, p->sum);
}

static int open_section(struct dx_cold *c, enum dx_cold_file file, struct dx_error *err)
{
    struct dx_span *pages = &c->pages[file];
    int rc = dx_envelope_section(&c->envelope, files[file].tag, pages, err);

    if (rc < 0)
        return rc;
    if (pages->size % RECORD != 0 || pages->size / RECORD > UINT32_MAX)
        return dx_envelope_corrupt(&c->envelope, files[file].tag, pages->data, err,
                                   "%zu bytes are not a whole number of pages", pages->size);
    if (pages->size / RECORD > c->entries[file])
        return dx_envelope_corrupt(&c->envelope, files[file].tag, pages->data, err,
                                   "%zu pages of %" PRIu64 " entries", pages->size / RECORD,
                                   c->entries[file]);
    return DX_OK;
}

static int open_sections(struct dx_cold *c, struct dx_error *err)
{
    struct dx_span header;
    struct dx_bytes r;
    uint32_t count;
    uint32_t record;
    int rc = dx_envelope_header(&c->envelope, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(header);
    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    count = dx_bytes_u32(&r);
    record = dx_bytes_u32(&r);
    if (count != DX_COLD_FILES || record != RECORD)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: header: %" PRIu32 " files and records of %" PRIu32
                       " bytes, expected %d and %d",
                       c->envelope.name, count, record, DX_COLD_FILES, RECORD);
    for (unsigned i = 0; i < DX_COLD_FILES; i++) {
        c->size[i] = dx_bytes_u64(&r);
        c->entries[i] = dx_bytes_u64(&r);
    }
    for (unsigned i = 0; rc >= 0 && i < DX_COLD_FILES; i++)
        rc = open_section(c, (enum dx_cold_file)i, err);
    return rc < 0 || dx_cold_is_old(c)
               ? rc
               : dx_envelope_section(&c->envelope, DX_COLD_URL_ID_LISTS, &c->url_ids, err);
}

int dx_cold_open(struct dx_cold *c, struct dx_span file, unsigned flags, const char *name,
                 struct dx_error *err)
{
    int rc;

    *c = (struct dx_cold){ .size = { 0 } };
    rc = dx_envelope_open(&c->envelope, file, DX_COLD_MAGIC,
                          dx_envelope_version(file, DX_COLD_VERSION_OLD, DX_COLD_VERSION), flags,
                          name, err);
    if (rc >= 0)
        rc = open_sections(c, err);
    if (rc < 0)
        dx_cold_close(c);
    return rc;
}

void dx_cold_close(struct dx_cold *c)
{
    dx_envelope_close(&c->envelope);
    *c = (struct dx_cold){ .size = { 0 } };
}

uint64_t dx_cold_page_count(const struct dx_cold *c, enum dx_cold_file file)
{
    assert((unsigned)file < DX_COLD_FILES);
    return c->pages[file].size / RECORD;
}

static int record_at(const struct dx_cold *c, enum dx_cold_file file, uint64_t number,
                     struct dx_cold_page *page, struct dx_error *err)
{
    const uint8_t *at = c->pages[file].data + number * RECORD;
    int rc = dx_envelope_check(&c->envelope, at, RECORD, err);

    if (rc < 0)
        return rc;
    page->file = file;
    page->number = (uint32_t)number;
    read_page(at, page);
    return DX_OK;
}

static const char *page_fault(const struct dx_cold *c, const struct dx_cold_page *p)
{
    uint64_t size = c->size[p->file];

    if (p->entries == 0 || p->entries > c->entries[p->file])
        return "has no entries, or more than the file";
    if (p->plain_size == 0 || p->plain_size > DX_COLD_PAGE_PLAIN_MAX)
        return "has a plain size that is not in 1..64 MiB";
    if (p->file != DX_COLD_URL_IDS && p->entries > p->plain_size)
        return "has more entries than bytes";
    if (p->number == 0 && p->offset != 0)
        return "is the first and does not begin at 0";
    if (p->stored_size == 0 || p->offset > size || p->stored_size > size - p->offset ||
        size - p->offset - p->stored_size < SEEK_TABLE_MIN)
        return "is not within its file";
    if (!dx_zstd_stored_fits(p->stored_size, p->plain_size))
        return "takes more bytes than its plain size can";
    return NULL;
}

static const char *next_fault(const struct dx_cold_page *p, const struct dx_cold_page *next)
{
    if (next->offset != p->offset + p->stored_size)
        return "does not end where the next one begins";
    return compare_key(p->key, p->sub, next->key, next->sub) < 0
               ? NULL
               : "begins with a key that is not below that of the next one";
}

int dx_cold_page(const struct dx_cold *c, enum dx_cold_file file, uint32_t number,
                 struct dx_cold_page *page, struct dx_error *err)
{
    struct dx_cold_page next;
    const char *why;
    int rc;

    if (number >= dx_cold_page_count(c, file))
        return 0;
    rc = record_at(c, file, number, page, err);
    if (rc < 0)
        return rc;
    why = page_fault(c, page);
    if (why == NULL && number + UINT64_C(1) < dx_cold_page_count(c, file)) {
        rc = record_at(c, file, number + UINT64_C(1), &next, err);
        if (rc < 0)
            return rc;
        why = next_fault(page, &next);
    }
    if (why != NULL)
        return dx_envelope_corrupt(&c->envelope, files[file].tag,
                                   c->pages[file].data + (uint64_t)number * RECORD, err,
                                   "page %" PRIu32 " of %s %s", number, files[file].name, why);
    return 1;
}

int dx_cold_find(const struct dx_cold *c, enum dx_cold_file file, uint64_t key, uint32_t sub,
                 struct dx_cold_page *page, struct dx_error *err)
{
    uint64_t lo = 0; /* pages before lo begin at or before the key, those from hi on behind it */
    uint64_t hi = dx_cold_page_count(c, file);

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        const uint8_t *at = c->pages[file].data + mid * RECORD;
        int rc = dx_envelope_check(&c->envelope, at, KEY_SIZE, err);

        if (rc < 0)
            return rc;
        if (compare_key(dx_load_u64(at), dx_load_u32(at + 8), key, sub) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0 ? 0 : dx_cold_page(c, file, (uint32_t)(lo - 1), page, err);
}

static uint64_t seek_table_size(uint64_t frames)
{
    return 8 + 12 * frames + 9;
}

static uint64_t frames_of(const struct dx_cold_page *p)
{
    return (p->plain_size + UINT64_C(0) + DX_ZSEEK_PLAIN_MAX - 1) / DX_ZSEEK_PLAIN_MAX;
}

static int verify_file(const struct dx_cold *c, enum dx_cold_file file, struct dx_error *err)
{
    struct dx_cold_page page;
    uint64_t entries = 0;
    uint64_t frames = 0;
    uint64_t size = 0;
    uint32_t number = 0;
    int rc;

    while ((rc = dx_cold_page(c, file, number, &page, err)) == 1) {
        entries += page.entries;
        frames += frames_of(&page);
        size += page.stored_size;
        number++;
    }
    if (rc < 0)
        return rc;
    if (entries != c->entries[file] || size + seek_table_size(frames) != c->size[file])
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: pages of %s have %" PRIu64 " entries and a file of %" PRIu64
                       " bytes, the header says %" PRIu64 " and %" PRIu64,
                       c->envelope.name, files[file].name, entries, size + seek_table_size(frames),
                       c->entries[file], c->size[file]);
    return DX_OK;
}

int dx_cold_verify(const struct dx_cold *c, struct dx_error *err)
{
    int rc = DX_OK;

    for (unsigned i = 0; rc >= 0 && i < DX_COLD_FILES; i++)
        rc = verify_file(c, (enum dx_cold_file)i, err);
    return rc;
}

/* ---- a page ---- */

static uint64_t page_sum(const struct dx_build_id *build, const struct dx_cold_page *page,
                         struct dx_span stored)
{
    struct dx_identity id = { *build, files[page->file].tag, page->number };

    return dx_checksum(&id, stored);
}

static int page_corrupt(const struct dx_cold_page *page, struct dx_error *err, const char *what)
{
    return dx_fail(err, DX_E_CORRUPT, "%s, page %" PRIu32 " at %" PRIu64 ": %s",
                   files[page->file].name, page->number, page->offset, what);
}

int dx_cold_decode(const struct dx_cold *c, const struct dx_cold_page *page,
                   struct dx_zstd_decoder *decoder, unsigned flags, struct dx_span stored,
                   uint8_t *plain, struct dx_error *err)
{
    int rc;

    if (stored.size != page->stored_size)
        return page_corrupt(page, err, "has another size than the directory says");
    if ((flags & DX_OPEN_UNCHECKED) == 0 && page_sum(&c->envelope.build, page, stored) != page->sum)
        return page_corrupt(page, err, "checksum does not fit");
    rc = dx_zstd_frames_decode(decoder, stored, page->plain_size, plain, err);
    if (rc < 0 && err != NULL)
        (void)dx_fail_in(err, "%s, page %" PRIu32 " at %" PRIu64, files[page->file].name,
                         page->number, page->offset);
    return rc;
}

/* ---- writing a file ---- */

int dx_cold_writer_begin(struct dx_cold_writer *w, enum dx_cold_file file,
                         const struct dx_build_id *build, int level,
                         int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *ctx, struct dx_error *err)
{
    assert((unsigned)file < DX_COLD_FILES);
    *w = (struct dx_cold_writer){ .file = file, .build = *build };
    dx_buf_init(&w->pages, SIZE_MAX / 2);
    dx_buf_init(&w->stored, SIZE_MAX / 2);
    dx_buf_init(&w->url_ids, SIZE_MAX / 2);
    return dx_zseek_writer_init(&w->out, level, sink, ctx, err);
}

static int write_frames(struct dx_cold_writer *w, struct dx_span plain, struct dx_error *err)
{
    dx_buf_clear(&w->stored);
    while (plain.size > 0) {
        size_t n = plain.size < DX_ZSEEK_PLAIN_MAX ? plain.size : DX_ZSEEK_PLAIN_MAX;
        int rc = dx_zseek_writer_frame(&w->out, dx_span_of(plain.data, n), NULL, err);

        if (rc < 0)
            return rc;
        dx_buf_append(&w->stored, w->out.compressed.data, w->out.compressed.size);
        plain = dx_span_from(plain, n);
    }
    return w->stored.failed ? dx_buf_fail(&w->stored, err, files[w->file].name) : DX_OK;
}

static const char *add_fault(const struct dx_cold_writer *w, uint64_t key, uint32_t sub,
                             uint32_t entries, size_t plain_size)
{
    const uint8_t *before = w->pages.size == 0 ? NULL : w->pages.data + w->pages.size - RECORD;

    if (w->ended)
        return "comes behind the end";
    if (plain_size == 0 || plain_size > DX_COLD_PAGE_PLAIN_MAX)
        return "is empty or over 64 MiB";
    if (entries == 0 || (w->file != DX_COLD_URL_IDS && entries > plain_size))
        return "has no entries, or more than bytes";
    if (before != NULL && compare_key(dx_load_u64(before), dx_load_u32(before + 8), key, sub) >= 0)
        return "does not ascend";
    return w->pages.size / RECORD == UINT32_MAX ? "is one too many" : NULL;
}

int dx_cold_writer_page(struct dx_cold_writer *w, uint64_t key, uint32_t sub, uint32_t entries,
                        struct dx_span plain, struct dx_error *err)
{
    const char *why = add_fault(w, key, sub, entries, plain.size);
    struct dx_cold_page page = { .file = w->file,
                                 .number = (uint32_t)(w->pages.size / RECORD),
                                 .key = key,
                                 .sub = sub,
                                 .entries = entries,
                                 .offset = w->out.size,
                                 .plain_size = (uint32_t)plain.size };
    int rc;

    if (why != NULL)
        return dx_fail(err, DX_E_INVALID, "%s: page %" PRIu32 " (%" PRIu64 ", %" PRIu32 ") %s",
                       files[w->file].name, page.number, key, sub, why);
    rc = write_frames(w, plain, err);
    if (rc < 0)
        return rc;
    page.stored_size = (uint32_t)w->stored.size; /* zstd adds little to 64 MiB */
    page.sum = page_sum(&w->build, &page, dx_span_of(w->stored.data, w->stored.size));
    append_page(&w->pages, &page);
    if (w->pages.failed)
        return dx_buf_fail(&w->pages, err, "directory of pages");
    w->entries += entries;
    return DX_OK;
}

int dx_cold_writer_end(struct dx_cold_writer *w, struct dx_error *err)
{
    int rc = dx_zseek_writer_finish(&w->out, err);

    w->ended = rc >= 0;
    return rc;
}

void dx_cold_writer_release(struct dx_cold_writer *w)
{
    dx_zseek_writer_release(&w->out);
    dx_buf_release(&w->pages);
    dx_buf_release(&w->stored);
    dx_buf_release(&w->url_ids);
    *w = (struct dx_cold_writer){ .entries = 0 };
}

/* ---- writing the directory ---- */

static int write_header(struct dx_envelope_writer *out, const struct dx_cold_writer *writers,
                        struct dx_error *err)
{
    struct dx_buf b = DX_BUF_INIT(HEADER_SIZE);
    int rc;

    dx_buf_u32(&b, DX_COLD_MAGIC);
    dx_buf_u32(&b, DX_COLD_VERSION);
    dx_buf_u32(&b, DX_COLD_FILES);
    dx_buf_u32(&b, RECORD);
    for (unsigned i = 0; i < DX_COLD_FILES; i++) {
        dx_buf_u64(&b, writers[i].out.size);
        dx_buf_u64(&b, writers[i].entries);
    }
    rc = b.failed ? dx_buf_fail(&b, err, "directory of pages")
                  : dx_envelope_writer_header(out, dx_span_of(b.data, b.size), err);
    dx_buf_release(&b);
    return rc;
}

int dx_cold_directory_write(struct dx_cold_writer *writers, const struct dx_build_id *build,
                            int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                            void *ctx, struct dx_error *err)
{
    const struct dx_buf *ids = &writers[DX_COLD_URL_IDS].url_ids;
    struct dx_envelope_writer out;
    int rc;

    for (unsigned i = 0; i < DX_COLD_FILES; i++)
        if (!writers[i].ended || writers[i].file != i)
            return dx_fail(err, DX_E_INVALID, "directory of pages: %s is not written",
                           files[i].name);
    dx_envelope_writer_init(&out, DX_COLD_MAGIC, DX_COLD_VERSION, build, sink, ctx);
    rc = write_header(&out, writers, err);
    for (unsigned i = 0; rc >= 0 && i < DX_COLD_FILES; i++) {
        rc = dx_envelope_writer_section(&out, files[i].tag, err);
        if (rc >= 0)
            rc = dx_envelope_writer_append(
                &out, dx_span_of(writers[i].pages.data, writers[i].pages.size), err);
    }
    if (rc >= 0 && ids->failed)
        rc = dx_buf_fail(ids, err, "lists of url_ids");
    if (rc >= 0)
        rc = dx_envelope_writer_section(&out, DX_COLD_URL_ID_LISTS, err);
    if (rc >= 0)
        rc = dx_envelope_writer_append(&out, dx_span_of(ids->data, ids->size), err);
    if (rc >= 0)
        rc = dx_envelope_writer_finish(&out, err);
    dx_envelope_writer_release(&out);
    return rc;
}
