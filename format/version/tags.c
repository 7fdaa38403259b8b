/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/tags.h"

#include <inttypes.h>

#include "base/utf8.h"

#define HEADER_SIZE 64
#define TABLE_RECORD 16 /* u64 where the name begins in NAME, u64 its first record of FILE */
#define FILE_RECORD 20  /* u64 where its sets begin in SETS, u32 file_id, u32 rows, u32 domains */
#define LEFT_RECORD 24  /* u32 file_id, u32 zero, u64 rows, u64 tags */
#define TAGS_MAX (UINT64_C(1) << 40) /* so that sizes of sections do not overflow */
#define SETS_MAX (1u << 30)          /* bytes of the sets of a (tag, file): 2^32 bits and more */

static const uint32_t part_tags[DX_TAGS_PARTS] = {
    [DX_TAGS_SETS] = DX_KIND('S', 'E', 'T', 'S'),  [DX_TAGS_OF_FILE] = DX_KIND('F', 'I', 'L', 'E'),
    [DX_TAGS_NAMES] = DX_KIND('N', 'A', 'M', 'E'), [DX_TAGS_TABLE] = DX_KIND('T', 'A', 'G', 'S'),
    [DX_TAGS_LEFT] = DX_KIND('L', 'E', 'F', 'T'),
};

bool dx_tag_fits(struct dx_span tag)
{
    if (tag.size == 0 || tag.size > DX_TAG_MAX)
        return false;
    for (size_t i = 0; i < tag.size; i++)
        if (tag.data[i] < 0x20 || tag.data[i] == 0x7f)
            return false;
    return dx_utf8_is_valid(tag);
}

/* ---- opening ---- */

static int parse_header(struct dx_tags *t, struct dx_error *err)
{
    const char *name = t->envelope.name;
    struct dx_span header;
    struct dx_bytes r;
    int rc = dx_envelope_header(&t->envelope, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(header);
    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    t->count = dx_bytes_u64(&r);
    t->entries = dx_bytes_u64(&r);
    t->rows = dx_bytes_u64(&r);
    t->domains = dx_bytes_u64(&r);
    t->files = dx_bytes_u64(&r);
    t->left_count = dx_bytes_u64(&r);
    if (t->count > t->entries || t->entries > t->rows || t->entries > TAGS_MAX ||
        (t->count == 0) != (t->entries == 0))
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: header: %" PRIu64 " tags in %" PRIu64 " files with %" PRIu64 " rows",
                       name, t->count, t->entries, t->rows);
    if (t->files > UINT32_MAX || t->left_count > t->files || t->domains > UINT32_MAX)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: header: %" PRIu64 " domains, %" PRIu64 " files, %" PRIu64
                       " of them not whole",
                       name, t->domains, t->files, t->left_count);
    return dx_envelope_reserved(&t->envelope, &r, err);
}

static int open_sections(struct dx_tags *t, struct dx_error *err)
{
    const struct dx_envelope *e = &t->envelope;
    int rc = dx_envelope_array(e, part_tags[DX_TAGS_TABLE], TABLE_RECORD, t->count, &t->table, err);

    if (rc == DX_OK)
        rc = dx_envelope_array(e, part_tags[DX_TAGS_OF_FILE], FILE_RECORD, t->entries, &t->of_file,
                               err);
    if (rc == DX_OK)
        rc = dx_envelope_array(e, part_tags[DX_TAGS_LEFT], LEFT_RECORD, t->left_count, &t->left,
                               err);
    if (rc == DX_OK)
        rc = dx_envelope_section(e, part_tags[DX_TAGS_NAMES], &t->names, err);
    return rc == DX_OK ? dx_envelope_section(e, part_tags[DX_TAGS_SETS], &t->sets, err) : rc;
}

int dx_tags_open(struct dx_tags *t, struct dx_span file, unsigned flags, const char *name,
                 struct dx_error *err)
{
    int rc;

    *t = (struct dx_tags){ .count = 0 };
    rc = dx_envelope_open(&t->envelope, file, DX_TAGS_MAGIC, DX_TAGS_VERSION, flags, name, err);
    if (rc == DX_OK)
        rc = parse_header(t, err);
    if (rc == DX_OK)
        rc = open_sections(t, err);
    if (rc < 0)
        dx_tags_close(t);
    return rc;
}

void dx_tags_close(struct dx_tags *t)
{
    dx_envelope_close(&t->envelope);
    *t = (struct dx_tags){ .count = 0 };
}

/* ---- tags ---- */

static int corrupt(const struct dx_tags *t, enum dx_tags_part part, const uint8_t *at,
                   uint64_t number, const char *what, struct dx_error *err)
{
    return dx_envelope_corrupt(&t->envelope, part_tags[part], at, err, "record %" PRIu64 ": %s",
                               number, what);
}

/* Where the name and the files of tag i begin; those of tag t->count are where all of them end. */
static int table_at(const struct dx_tags *t, uint64_t i, uint64_t *name, uint64_t *entry,
                    struct dx_error *err)
{
    const uint8_t *p = t->table.data + i * TABLE_RECORD;
    int rc;

    *name = t->names.size;
    *entry = t->entries;
    if (i >= t->count)
        return DX_OK;
    rc = dx_envelope_check(&t->envelope, p, TABLE_RECORD, err);
    if (rc < 0)
        return rc;
    *name = dx_load_u64(p);
    *entry = dx_load_u64(p + 8);
    return DX_OK;
}

struct bounds {
    uint64_t name, name_end;
    uint64_t entry, entry_end;
};

static int bounds_of(const struct dx_tags *t, uint64_t i, struct bounds *b, struct dx_error *err)
{
    const uint8_t *at = t->table.data + i * TABLE_RECORD;
    int rc;

    if (i >= t->count)
        return dx_fail(err, DX_E_INVALID, "%s: no tag %" PRIu64 ", there are %" PRIu64,
                       t->envelope.name, i, t->count);
    rc = table_at(t, i, &b->name, &b->entry, err);
    if (rc == DX_OK)
        rc = table_at(t, i + 1, &b->name_end, &b->entry_end, err);
    if (rc < 0)
        return rc;
    if (b->name >= b->name_end || b->name_end > t->names.size || b->name_end - b->name > DX_TAG_MAX)
        return corrupt(t, DX_TAGS_TABLE, at, i, "its name is empty, too long, or not in NAME", err);
    if (b->entry >= b->entry_end || b->entry_end > t->entries)
        return corrupt(t, DX_TAGS_TABLE, at, i, "it has no files, or such that are not in FILE",
                       err);
    return DX_OK;
}

int dx_tags_name(const struct dx_tags *t, uint64_t i, struct dx_span *tag, struct dx_error *err)
{
    struct bounds b;
    int rc = bounds_of(t, i, &b, err);

    if (rc < 0)
        return rc;
    *tag = dx_span_of(t->names.data + b.name, (size_t)(b.name_end - b.name));
    rc = dx_envelope_check(&t->envelope, tag->data, tag->size, err);
    if (rc < 0)
        return rc;
    return dx_tag_fits(*tag) ? DX_OK : corrupt(t, DX_TAGS_NAMES, tag->data, i, "no tag", err);
}

int dx_tags_find(const struct dx_tags *t, struct dx_span tag, uint64_t *i, struct dx_error *err)
{
    uint64_t low = 0;
    uint64_t high = t->count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct dx_span name;
        int rc = dx_tags_name(t, middle, &name, err);
        int c;

        if (rc < 0)
            return rc;
        c = dx_span_compare(name, tag);
        if (c == 0) {
            *i = middle;
            return 1;
        }
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *i = low;
    return 0;
}

/* ---- files of a tag ---- */

int dx_tags_files(const struct dx_tags *t, uint64_t i, struct dx_tag_cursor *c,
                  struct dx_error *err)
{
    struct bounds b;
    int rc = bounds_of(t, i, &b, err);

    *c = (struct dx_tag_cursor){ .t = t };
    if (rc < 0)
        return rc;
    c->at = b.entry;
    c->end = b.entry_end;
    return DX_OK;
}

/* Bytes of record k of FILE. */
static int record_at(const struct dx_tags *t, uint64_t k, const uint8_t **p, struct dx_error *err)
{
    *p = t->of_file.data + k * FILE_RECORD;
    return dx_envelope_check(&t->envelope, *p, FILE_RECORD, err);
}

static int read_record(const struct dx_tags *t, uint64_t k, struct dx_tag_file *f,
                       struct dx_error *err)
{
    const uint8_t *p;
    int rc = record_at(t, k, &p, err);

    if (rc < 0)
        return rc;
    f->sets_at = dx_load_u64(p);
    f->file_id = dx_load_u32(p + 8);
    f->row_count = dx_load_u32(p + 12);
    f->domain_count = dx_load_u32(p + 16);
    f->sets_end = t->sets.size;
    if (k + 1 < t->entries) {
        rc = record_at(t, k + 1, &p, err);
        if (rc < 0)
            return rc;
        f->sets_end = dx_load_u64(p);
    }
    p = t->of_file.data + k * FILE_RECORD;
    if (f->file_id >= t->files)
        return corrupt(t, DX_TAGS_OF_FILE, p, k, "the version has no such file", err);
    if (f->domain_count == 0 || f->domain_count > f->row_count || f->row_count > t->rows)
        return corrupt(t, DX_TAGS_OF_FILE, p, k, "fewer rows than domains, or none", err);
    if (f->sets_at >= f->sets_end || f->sets_end > t->sets.size)
        return corrupt(t, DX_TAGS_OF_FILE, p, k, "its sets are not in SETS", err);
    return DX_OK;
}

int dx_tag_cursor_next(struct dx_tag_cursor *c, struct dx_tag_file *f, struct dx_error *err)
{
    int rc;

    if (c->at >= c->end)
        return 0;
    rc = read_record(c->t, c->at, f, err);
    if (rc < 0)
        return rc;
    if (f->file_id < c->least)
        return corrupt(c->t, DX_TAGS_OF_FILE, c->t->of_file.data + c->at * FILE_RECORD, c->at,
                       "files do not ascend", err);
    c->least = (uint64_t)f->file_id + 1;
    c->at++;
    return 1;
}

int dx_tag_cursor_seek(struct dx_tag_cursor *c, uint32_t file_id, struct dx_error *err)
{
    uint64_t low = c->at;
    uint64_t high = c->end;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const uint8_t *p;
        int rc = record_at(c->t, middle, &p, err);

        if (rc < 0)
            return rc;
        if (dx_load_u32(p + 8) < file_id)
            low = middle + 1;
        else
            high = middle;
    }
    c->at = low;
    return DX_OK;
}

/* The set that `bytes` begin with; what is behind it in *rest. */
static int take_set(const struct dx_tags *t, struct dx_span bytes, uint32_t count,
                    struct dx_dataset_set *set, struct dx_span *rest, struct dx_error *err)
{
    uint64_t size = dx_dataset_set_size(bytes);
    int rc;

    if (size == 0)
        return corrupt(t, DX_TAGS_SETS, bytes.data, 0, "a set does not fit its bytes", err);
    rc = dx_dataset_set_open(set, dx_span_of(bytes.data, (size_t)size), t->envelope.name, err);
    if (rc < 0)
        return rc;
    if (set->count != count)
        return corrupt(t, DX_TAGS_SETS, bytes.data, 0, "a set has another size than FILE says",
                       err);
    *rest = dx_span_of(bytes.data + size, bytes.size - (size_t)size);
    return DX_OK;
}

int dx_tag_file_sets(const struct dx_tags *t, const struct dx_tag_file *f,
                     struct dx_dataset_set *rows, struct dx_dataset_set *domains,
                     struct dx_error *err)
{
    struct dx_span bytes;
    struct dx_span rest;
    int rc;

    if (f->sets_end < f->sets_at ||
        !dx_span_slice(t->sets, f->sets_at, f->sets_end - f->sets_at, &bytes))
        return dx_fail(err, DX_E_INVALID, "%s: no sets at %" PRIu64, t->envelope.name, f->sets_at);
    rc = dx_envelope_check(&t->envelope, bytes.data, bytes.size, err);
    if (rc == DX_OK)
        rc = take_set(t, bytes, f->row_count, rows, &rest, err);
    if (rc == DX_OK)
        rc = take_set(t, rest, f->domain_count, domains, &rest, err);
    if (rc < 0)
        return rc;
    if (rest.size > 0)
        return corrupt(t, DX_TAGS_SETS, rest.data, 0, "bytes behind the sets of a file", err);
    if (dx_dataset_set_last(domains) >= t->domains)
        return corrupt(t, DX_TAGS_SETS, bytes.data, 0, "a domain that the version does not have",
                       err);
    return DX_OK;
}

int dx_tags_left_at(const struct dx_tags *t, uint64_t k, struct dx_tags_left *left,
                    struct dx_error *err)
{
    const uint8_t *p = t->left.data + k * LEFT_RECORD;
    int rc;

    if (k >= t->left_count)
        return 0;
    rc = dx_envelope_check(&t->envelope, p, LEFT_RECORD, err);
    if (rc < 0)
        return rc;
    left->file_id = dx_load_u32(p);
    left->rows = dx_load_u64(p + 8);
    left->tags = dx_load_u64(p + 16);
    if (dx_load_u32(p + 4) != 0 || left->file_id >= t->files || (left->rows | left->tags) == 0)
        return corrupt(t, DX_TAGS_LEFT, p, k, "no such file, or nothing is left", err);
    return 1;
}

/* ---- all of it ---- */

static int verify_tag(const struct dx_tags *t, uint64_t i, uint64_t *rows, struct dx_error *err)
{
    struct dx_tag_cursor c;
    struct dx_tag_file f;
    struct dx_dataset_set of_rows;
    struct dx_dataset_set domains;
    int rc = dx_tags_files(t, i, &c, err);

    while (rc == DX_OK && (rc = dx_tag_cursor_next(&c, &f, err)) == 1) {
        rc = dx_tag_file_sets(t, &f, &of_rows, &domains, err);
        *rows += f.row_count;
    }
    return rc;
}

static int verify_left(const struct dx_tags *t, struct dx_error *err)
{
    struct dx_tags_left left;
    uint64_t least = 0;
    int rc;

    for (uint64_t k = 0; (rc = dx_tags_left_at(t, k, &left, err)) == 1; k++) {
        if (left.file_id < least)
            return corrupt(t, DX_TAGS_LEFT, t->left.data + k * LEFT_RECORD, k,
                           "files do not ascend", err);
        least = (uint64_t)left.file_id + 1;
    }
    return rc;
}

/* Each begins where the one before it ends, by what is looked at; the first must begin at 0. */
static int verify_fronts(const struct dx_tags *t, struct dx_error *err)
{
    struct dx_tag_file f;
    uint64_t name;
    uint64_t entry;
    int rc = table_at(t, 0, &name, &entry, err);

    if (rc == DX_OK && t->count > 0 && (name | entry) != 0)
        return corrupt(t, DX_TAGS_TABLE, t->table.data, 0, "it does not begin at the front", err);
    if (rc == DX_OK && t->entries > 0)
        rc = read_record(t, 0, &f, err);
    if (rc == DX_OK && t->entries > 0 && f.sets_at != 0)
        return corrupt(t, DX_TAGS_OF_FILE, t->of_file.data, 0, "its sets do not begin at the front",
                       err);
    if (rc == DX_OK && t->count == 0 && (t->names.size | t->sets.size) != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: names or sets without tags", t->envelope.name);
    return rc;
}

int dx_tags_verify(const struct dx_tags *t, struct dx_error *err)
{
    struct dx_span last = { NULL, 0 };
    uint64_t rows = 0;
    int rc = verify_fronts(t, err);

    for (uint64_t i = 0; rc == DX_OK && i < t->count; i++) {
        struct dx_span name;

        rc = dx_tags_name(t, i, &name, err);
        if (rc == DX_OK && i > 0 && dx_span_compare(last, name) >= 0)
            return corrupt(t, DX_TAGS_NAMES, name.data, i, "tags do not ascend", err);
        last = name;
        if (rc == DX_OK)
            rc = verify_tag(t, i, &rows, err);
    }
    if (rc == DX_OK && rows != t->rows)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: %" PRIu64 " rows, the files have %" PRIu64,
                       t->envelope.name, t->rows, rows);
    return rc == DX_OK ? verify_left(t, err) : rc;
}

/* ---- encoding ---- */

void dx_tags_encoder_init(struct dx_tags_encoder *e, uint64_t domains, uint64_t files,
                          int (*put)(void *ctx, enum dx_tags_part part, struct dx_span bytes,
                                     struct dx_error *err),
                          void *ctx)
{
    *e = (struct dx_tags_encoder){ .put = put, .ctx = ctx, .domains = domains, .files = files };
    dx_buf_init(&e->tag, DX_TAG_MAX);
    dx_buf_init(&e->bytes, SETS_MAX);
}

void dx_tags_encoder_release(struct dx_tags_encoder *e)
{
    dx_buf_release(&e->tag);
    dx_buf_release(&e->bytes);
}

int dx_tags_encode_tag(struct dx_tags_encoder *e, struct dx_span tag, struct dx_error *err)
{
    struct dx_span last = dx_span_of(e->tag.data, e->tag.size);

    if (!dx_tag_fits(tag) || dx_span_compare(last, tag) >= 0)
        return dx_fail(err, DX_E_INVALID, "tags: \"%.*s\" is not a tag, or not behind \"%.*s\"",
                       (int)(tag.size > DX_TAG_MAX ? DX_TAG_MAX : tag.size), (const char *)tag.data,
                       (int)last.size, (const char *)last.data);
    dx_buf_clear(&e->tag);
    dx_buf_append(&e->tag, tag.data, tag.size);
    e->named = false;
    e->next_file = 0;
    return e->tag.failed ? dx_buf_fail(&e->tag, err, "tag") : DX_OK;
}

/* The tag's own record, when the first of its files comes. */
static int name_tag(struct dx_tags_encoder *e, struct dx_error *err)
{
    uint8_t record[TABLE_RECORD];
    int rc;

    if (e->named)
        return DX_OK;
    dx_store_u64(record, e->names_size);
    dx_store_u64(record + 8, e->entries);
    rc = e->put(e->ctx, DX_TAGS_TABLE, dx_span_of(record, sizeof record), err);
    if (rc == DX_OK)
        rc = e->put(e->ctx, DX_TAGS_NAMES, dx_span_of(e->tag.data, e->tag.size), err);
    e->names_size += e->tag.size;
    e->count++;
    e->named = true;
    return rc;
}

int dx_tags_encode_file(struct dx_tags_encoder *e, uint32_t file_id, struct roaring_bitmap_s *rows,
                        struct roaring_bitmap_s *domains, struct dx_error *err)
{
    struct dx_dataset_set of_rows;
    struct dx_dataset_set of_domains;
    uint8_t record[FILE_RECORD];
    size_t first;
    int rc;

    if (e->tag.size == 0 || file_id < e->next_file || file_id >= e->files || e->entries == TAGS_MAX)
        return dx_fail(err, DX_E_INVALID, "tags: file %lu is not the next of a tag",
                       (unsigned long)file_id);
    dx_buf_clear(&e->bytes);
    rc = dx_dataset_set_encode_bitmap(rows, &e->bytes, err);
    first = e->bytes.size;
    if (rc == DX_OK)
        rc = dx_dataset_set_encode_bitmap(domains, &e->bytes, err);
    if (rc == DX_OK)
        rc = dx_dataset_set_open(&of_rows, dx_span_of(e->bytes.data, first), "tags", err);
    if (rc == DX_OK)
        rc = dx_dataset_set_open(&of_domains, dx_buf_from(&e->bytes, first), "tags", err);
    if (rc == DX_OK &&
        (of_domains.count > of_rows.count || dx_dataset_set_last(&of_domains) >= e->domains))
        rc = dx_fail(err, DX_E_INVALID, "tags: file %lu: more domains than rows, or unknown ones",
                     (unsigned long)file_id);
    if (rc == DX_OK)
        rc = name_tag(e, err);
    if (rc != DX_OK)
        return rc;
    dx_store_u64(record, e->sets_size);
    dx_store_u32(record + 8, file_id);
    dx_store_u32(record + 12, of_rows.count);
    dx_store_u32(record + 16, of_domains.count);
    rc = e->put(e->ctx, DX_TAGS_OF_FILE, dx_span_of(record, sizeof record), err);
    if (rc == DX_OK)
        rc = e->put(e->ctx, DX_TAGS_SETS, dx_span_of(e->bytes.data, e->bytes.size), err);
    e->sets_size += e->bytes.size;
    e->entries++;
    e->rows += of_rows.count;
    e->next_file = (uint64_t)file_id + 1;
    return rc;
}

int dx_tags_encode_left(struct dx_tags_encoder *e, const struct dx_tags_left *left,
                        struct dx_error *err)
{
    uint8_t record[LEFT_RECORD] = { 0 };

    if (left->file_id < e->next_left || left->file_id >= e->files || (left->rows | left->tags) == 0)
        return dx_fail(err, DX_E_INVALID, "tags: file %lu is not the next that is not whole",
                       (unsigned long)left->file_id);
    dx_store_u32(record, left->file_id);
    dx_store_u64(record + 8, left->rows);
    dx_store_u64(record + 16, left->tags);
    e->next_left = (uint64_t)left->file_id + 1;
    e->left_count++;
    return e->put(e->ctx, DX_TAGS_LEFT, dx_span_of(record, sizeof record), err);
}

/* ---- writing ---- */

int dx_tags_writer_begin(struct dx_tags_writer *w, const struct dx_tags_encoder *e,
                         const struct dx_build_id *build,
                         int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                         void *ctx, struct dx_error *err)
{
    struct dx_buf header = DX_BUF_INIT(HEADER_SIZE);
    int rc;

    dx_envelope_writer_init(&w->envelope, DX_TAGS_MAGIC, DX_TAGS_VERSION, build, sink, ctx);
    dx_buf_u32(&header, DX_TAGS_MAGIC);
    dx_buf_u32(&header, DX_TAGS_VERSION);
    dx_buf_u64(&header, e->count);
    dx_buf_u64(&header, e->entries);
    dx_buf_u64(&header, e->rows);
    dx_buf_u64(&header, e->domains);
    dx_buf_u64(&header, e->files);
    dx_buf_u64(&header, e->left_count);
    dx_buf_zero(&header, 8);
    rc = header.failed
             ? dx_buf_fail(&header, err, "header")
             : dx_envelope_writer_header(&w->envelope, dx_span_of(header.data, header.size), err);
    dx_buf_release(&header);
    return rc;
}

int dx_tags_writer_part(struct dx_tags_writer *w, enum dx_tags_part part, struct dx_error *err)
{
    return dx_envelope_writer_section(&w->envelope, part_tags[part], err);
}

int dx_tags_writer_append(struct dx_tags_writer *w, struct dx_span bytes, struct dx_error *err)
{
    return dx_envelope_writer_append(&w->envelope, bytes, err);
}

int dx_tags_writer_end(struct dx_tags_writer *w, struct dx_error *err)
{
    return dx_envelope_writer_finish(&w->envelope, err);
}

void dx_tags_writer_release(struct dx_tags_writer *w)
{
    dx_envelope_writer_release(&w->envelope);
}
