/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/pages.h"

#include "format/version/files_tsv.h"

#include <inttypes.h>

#define HEADER_SIZE 64
#define FILE_RECORD 64
#define TAG_FILE DX_KIND('F', 'I', 'L', 'E')
#define TAG_PATH DX_KIND('P', 'A', 'T', 'H')
#define TAG_GRPX DX_KIND('G', 'R', 'P', 'X')
#define TAG_GRPD DX_KIND('G', 'R', 'P', 'D')
#define TAG_STRY DX_KIND('S', 'T', 'R', 'Y')
#define STRAY_RECORD 16
#define HAS_STRAYS 1 /* in the header */
#define KIND_PAGE DX_KIND('P', 'A', 'G', 'E')
#define PAGE_MIN 7 /* bytes of a page in a record: gap, length, rows, sum */

uint32_t dx_page_sum(const struct dx_hash128 *file_hash, uint64_t offset, struct dx_span bytes)
{
    struct dx_identity id = { .kind = KIND_PAGE, .key = offset };

    memcpy(id.build.bytes, file_hash->bytes, sizeof id.build.bytes);
    return (uint32_t)dx_checksum(&id, bytes);
}

int dx_page_sum_check(const struct dx_pages_file *file, const struct dx_page_location *page,
                      struct dx_span bytes, struct dx_error *err)
{
    if (bytes.size != page->size)
        return dx_fail(err, DX_E_TRUNCATED,
                       "%.*s: page at %" PRIu64 " has %" PRIu32 " bytes, %zu came",
                       (int)file->path.size, (const char *)file->path.data, page->offset,
                       page->size, bytes.size);
    if (dx_page_sum(&file->hash, page->offset, bytes) != page->sum)
        return dx_fail(err, DX_E_CORRUPT, "%.*s: page at %" PRIu64 ": checksum does not fit",
                       (int)file->path.size, (const char *)file->path.data, page->offset);
    return DX_OK;
}

/* ---- records of row groups ---- */

static void read_column(struct dx_bytes *r, struct dx_page_column *c, uint64_t *type_length,
                        uint64_t *dictionary_size)
{
    *c = (struct dx_page_column){ .role = dx_bytes_u8(r) };
    c->name = dx_bytes_take(r, dx_bytes_varint(r));
    c->physical_type = dx_bytes_u8(r);
    c->codec = dx_bytes_u8(r);
    c->max_def = dx_bytes_u8(r);
    c->time_unit = dx_bytes_u8(r);
    *type_length = dx_bytes_varint(r);
    c->type_length = (uint32_t)*type_length;
    *dictionary_size = dx_bytes_varint(r);
    c->dictionary.size = (uint32_t)*dictionary_size;
    if (*dictionary_size > 0) {
        c->dictionary.offset = dx_bytes_varint(r);
        c->dictionary.sum = dx_bytes_u32(r);
    }
    c->end = dx_bytes_varint(r);
    c->page_count = dx_bytes_varint(r);
    c->at = *r;
}

/* A page as it stands in a record; the size over 32 bits and the sums are the caller's to check. */
static void read_page(struct dx_page_column *c, struct dx_page_location *page, uint64_t *gap,
                      uint64_t *size)
{
    *gap = dx_bytes_varint(&c->at);
    *size = dx_bytes_varint(&c->at);
    page->rows = dx_bytes_varint(&c->at);
    page->sum = dx_bytes_u32(&c->at);
    page->size = (uint32_t)*size;
    page->offset = c->end + *gap;
    page->first_row = c->row;
    c->end = page->offset + *size;
    c->row += page->rows;
    c->taken++;
}

static bool inside(uint64_t offset, uint64_t size, uint64_t file_size)
{
    return size > 0 && size <= UINT32_MAX && offset <= file_size && size <= file_size - offset;
}

static const char *column_fault(const struct dx_page_column *c, uint64_t dictionary_offset,
                                uint64_t dictionary_size, uint64_t file_size)
{
    if (c->role < DX_ROLE_SCHEME || c->role > DX_ROLE_EXTRA)
        return "has an unknown role";
    if (c->name.size == 0 || c->name.size > DX_PAGE_NAME_MAX)
        return "has a name of no or over 255 bytes";
    if (c->max_def > 1)
        return "has a definition level over 1";
    if (c->time_unit > DX_PAGE_TIME_INT96)
        return "has an unknown time unit";
    if (dictionary_size > 0 && !inside(dictionary_offset, dictionary_size, file_size))
        return "has a dictionary that is not within its file";
    return NULL;
}

static const char *check_pages(struct dx_page_column *c, uint64_t rows, uint64_t file_size)
{
    struct dx_page_location page;
    uint64_t gap;
    uint64_t size;

    if (c->page_count > dx_bytes_left(&c->at) / PAGE_MIN)
        return "has more pages than bytes are left for";
    if (c->end > file_size)
        return "has pages that are not within its file";
    while (c->taken < c->page_count) {
        uint64_t before = c->end;
        bool first = c->taken == 0;

        read_page(c, &page, &gap, &size);
        if (c->at.failed)
            return "is cut";
        if (first && gap != 0)
            return "has a gap before its first page";
        if (gap > file_size - before || !inside(page.offset, size, file_size))
            return "has pages that are not within its file";
        if (page.rows > rows - page.first_row)
            return "has more rows than the row group";
    }
    return c->row == rows ? NULL : "has fewer rows than the row group";
}

int dx_page_group_open(struct dx_page_group *group, struct dx_span record, uint64_t file_size,
                       const char *name, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(record);
    uint64_t columns;

    *group = (struct dx_page_group){ .rows = dx_bytes_varint(&r), .record = record };
    columns = dx_bytes_varint(&r);
    if (r.failed || columns > DX_PAGE_COLUMNS_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: row group of %" PRIu64 " columns in %zu bytes", name,
                       columns, record.size);
    group->columns = (uint32_t)columns;
    group->at = r;
    for (uint64_t i = 0; i < columns; i++) {
        size_t at = dx_bytes_at(&r);
        struct dx_page_column c;
        uint64_t type_length;
        uint64_t dictionary_size;
        const char *why;

        read_column(&r, &c, &type_length, &dictionary_size);
        why = r.failed ? "is cut"
                       : column_fault(&c, c.dictionary.offset, dictionary_size, file_size);
        if (why == NULL && type_length > INT32_MAX)
            why = "has a type length over 31 bits";
        if (why == NULL)
            why = check_pages(&c, group->rows, file_size);
        if (why != NULL)
            return dx_fail(err, DX_E_CORRUPT,
                           "%s: row group: column %" PRIu64 " at offset %zu of the record %s", name,
                           i, at, why);
        r = c.at;
    }
    if (dx_bytes_left(&r) != 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: row group: %zu bytes behind its last column", name,
                       dx_bytes_left(&r));
    return DX_OK;
}

int dx_page_column_next(struct dx_page_column *c, struct dx_page_location *page)
{
    uint64_t gap;
    uint64_t size;

    /* A record that was right at its open may be overwritten meanwhile: it ends with its bytes. */
    if (c->taken >= c->page_count || c->at.failed)
        return 0;
    read_page(c, page, &gap, &size);
    return 1;
}

int dx_page_group_next(struct dx_page_group *group, struct dx_page_column *column)
{
    struct dx_page_column rest;
    struct dx_page_location page;
    uint64_t type_length;
    uint64_t dictionary_size;

    if (group->taken >= group->columns)
        return 0;
    read_column(&group->at, column, &type_length, &dictionary_size);
    rest = *column;
    while (dx_page_column_next(&rest, &page) == 1)
        ;
    group->at = rest.at;
    group->taken++;
    return 1;
}

static const char *pages_fault(const struct dx_page_column *c, uint64_t rows, uint64_t file_size)
{
    uint64_t end = c->page_count == 0 ? 0 : c->pages[0].offset;
    uint64_t seen = 0;

    for (uint64_t i = 0; i < c->page_count; i++) {
        const struct dx_page_location *p = &c->pages[i];

        if (p->offset < end)
            return "has pages that do not ascend";
        if (!inside(p->offset, p->size, file_size))
            return "has pages that are not within its file";
        if (p->rows > rows - seen)
            return "has more rows than the row group";
        end = p->offset + p->size;
        seen += p->rows;
    }
    return seen == rows ? NULL : "has fewer rows than the row group";
}

static void append_column(struct dx_buf *out, const struct dx_page_column *c)
{
    uint64_t end = c->page_count == 0 ? 0 : c->pages[0].offset;

    dx_buf_u8(out, c->role);
    dx_buf_varint(out, c->name.size);
    dx_buf_append(out, c->name.data, c->name.size);
    dx_buf_u8(out, c->physical_type);
    dx_buf_u8(out, c->codec);
    dx_buf_u8(out, c->max_def);
    dx_buf_u8(out, c->time_unit);
    dx_buf_varint(out, c->type_length);
    dx_buf_varint(out, c->dictionary.size);
    if (c->dictionary.size > 0) {
        dx_buf_varint(out, c->dictionary.offset);
        dx_buf_u32(out, c->dictionary.sum);
    }
    dx_buf_varint(out, end);
    dx_buf_varint(out, c->page_count);
    for (uint64_t i = 0; i < c->page_count; i++) {
        const struct dx_page_location *p = &c->pages[i];

        dx_buf_varint(out, p->offset - end);
        dx_buf_varint(out, p->size);
        dx_buf_varint(out, p->rows);
        dx_buf_u32(out, p->sum);
        end = p->offset + p->size;
    }
}

int dx_page_group_encode(struct dx_buf *out, uint64_t file_size, uint64_t rows,
                         const struct dx_page_column *columns, size_t count, struct dx_error *err)
{
    if (count > DX_PAGE_COLUMNS_MAX)
        return dx_fail(err, DX_E_LIMIT, "row group of %zu columns, at most %d are kept", count,
                       DX_PAGE_COLUMNS_MAX);
    dx_buf_varint(out, rows);
    dx_buf_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        const struct dx_page_column *c = &columns[i];
        const char *why = column_fault(c, c->dictionary.offset, c->dictionary.size, file_size);

        if (why == NULL && c->type_length > INT32_MAX)
            why = "has a type length over 31 bits";
        if (why == NULL)
            why = pages_fault(c, rows, file_size);
        if (why != NULL)
            return dx_fail(err, DX_E_INVALID, "row group: column %zu %s", i, why);
        append_column(out, c);
    }
    return out->failed ? dx_buf_fail(out, err, "record of a row group") : DX_OK;
}

/* ---- the file ---- */

static int open_sections(struct dx_pages *p, struct dx_error *err)
{
    const struct dx_envelope *e = &p->envelope;
    struct dx_span header;
    struct dx_bytes r;
    uint64_t strays;
    int rc = dx_envelope_header(e, HEADER_SIZE, &header, err);

    if (rc < 0)
        return rc;
    r = dx_bytes_of(header);
    (void)dx_bytes_u64(&r); /* magic and version: the envelope's */
    p->files = dx_bytes_u64(&r);
    p->groups = dx_bytes_u64(&r);
    p->rows = dx_bytes_u64(&r);
    strays = dx_bytes_u64(&r);
    p->has_strays = strays == HAS_STRAYS;
    rc = dx_envelope_reserved(e, &r, err);
    if (rc < 0)
        return rc;
    if (strays > HAS_STRAYS)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: header: %" PRIu64 " where this program knows 0 and 1", e->name, strays);
    if (p->files > UINT32_MAX || p->groups == UINT64_MAX)
        return dx_fail(err, DX_E_CORRUPT, "%s: header: %" PRIu64 " files, %" PRIu64 " row groups",
                       e->name, p->files, p->groups);
    rc = dx_envelope_array(e, TAG_FILE, FILE_RECORD, p->files, &p->file_records, err);
    if (rc >= 0)
        rc = dx_envelope_section(e, TAG_PATH, &p->paths, err);
    if (rc >= 0)
        rc = dx_envelope_array(e, TAG_GRPX, 8, p->groups + 1, &p->group_index, err);
    if (rc >= 0)
        rc = dx_envelope_section(e, TAG_GRPD, &p->group_records, err);
    if (rc >= 0 && p->has_strays)
        rc = dx_envelope_section(e, TAG_STRY, &p->strays, err);
    if (rc >= 0 && p->strays.size % STRAY_RECORD != 0)
        rc = dx_envelope_corrupt(e, TAG_STRY, p->strays.data, err, "%zu bytes in records of %d",
                                 p->strays.size, STRAY_RECORD);
    return rc;
}

int dx_pages_open(struct dx_pages *p, struct dx_span file, unsigned flags, const char *name,
                  struct dx_error *err)
{
    int rc;

    *p = (struct dx_pages){ .files = 0 };
    rc = dx_envelope_open(&p->envelope, file, DX_PAGES_MAGIC, DX_PAGES_VERSION, flags, name, err);
    if (rc >= 0)
        rc = open_sections(p, err);
    if (rc < 0)
        dx_pages_close(p);
    return rc;
}

/* ---- rows whose keys stray ---- */

int dx_pages_stray(const struct dx_pages *p, uint64_t i, struct dx_page_stray *out,
                   struct dx_error *err)
{
    const uint8_t *at = p->strays.data + i * STRAY_RECORD;
    int rc = dx_envelope_check(&p->envelope, at, STRAY_RECORD, err);

    if (rc < 0)
        return rc;
    *out = (struct dx_page_stray){ dx_load_u32(at), dx_load_u32(at + 4), dx_load_u64(at + 8) };
    if (out->file_id >= p->files)
        return dx_envelope_corrupt(&p->envelope, TAG_STRY, at, err, "file %" PRIu32 " of %" PRIu64,
                                   out->file_id, p->files);
    out->file_id += (uint32_t)p->first_file;
    return DX_OK;
}

/* The first record that is of a file from this one on. */
static int first_stray(const struct dx_pages *p, uint64_t file_id, uint64_t *first,
                       struct dx_error *err)
{
    uint64_t low = 0;
    uint64_t high = p->strays.size / STRAY_RECORD;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct dx_page_stray stray;
        int rc = dx_pages_stray(p, middle, &stray, err);

        if (rc < 0)
            return rc;
        if (stray.file_id < file_id)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    return DX_OK;
}

int dx_pages_strays(const struct dx_pages *p, uint64_t file_id, uint64_t *first, uint64_t *count,
                    struct dx_error *err)
{
    struct dx_page_stray last;
    uint64_t end = 0;
    int rc = first_stray(p, file_id, first, err);

    *count = 0;
    if (rc == DX_OK)
        rc = first_stray(p, file_id + 1, &end, err);
    if (rc < 0 || !p->has_strays)
        return rc < 0 ? rc : 0;
    if (end <= *first)
        return 1;
    *count = end - *first;
    rc = dx_pages_stray(p, end - 1, &last, err);
    if (rc < 0 || !dx_page_stray_is_unknown(&last))
        return rc < 0 ? rc : 1;
    --*count;
    return 0;
}

void dx_pages_close(struct dx_pages *p)
{
    dx_envelope_close(&p->envelope);
    *p = (struct dx_pages){ .files = 0 };
}

static bool all_zero(const uint8_t *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i] != 0)
            return false;
    return true;
}

/* All but the text of the path, which takes longer to check than a record. */
static int read_record(const struct dx_pages *p, uint64_t file_id, struct dx_pages_file *out,
                       struct dx_error *err)
{
    const struct dx_envelope *e = &p->envelope;
    const uint8_t *at;
    struct dx_bytes r;
    uint64_t path_offset;
    uint32_t path_size;
    uint32_t reserved;
    int rc;

    if (file_id < p->first_file || file_id - p->first_file >= p->files)
        return 0;
    at = p->file_records.data + (file_id - p->first_file) * FILE_RECORD;
    rc = dx_envelope_check(e, at, FILE_RECORD, err);
    if (rc < 0)
        return rc;
    r = dx_bytes_of(dx_span_of(at, FILE_RECORD));
    out->file_id = (uint32_t)file_id;
    out->dataset_id = dx_bytes_u32(&r);
    out->row_groups = dx_bytes_u32(&r);
    out->first_group = dx_bytes_u64(&r);
    out->rows = dx_bytes_u64(&r);
    out->size = dx_bytes_u64(&r);
    path_offset = dx_bytes_u64(&r);
    path_size = dx_bytes_u32(&r);
    reserved = dx_bytes_u32(&r);
    memcpy(out->hash.bytes, dx_bytes_take(&r, 16).data, 16);
    if (all_zero(at, FILE_RECORD))
        return 0;
    if (reserved != 0)
        return dx_envelope_corrupt(e, TAG_FILE, at, err, "file %" PRIu64 ": reserved bytes",
                                   file_id);
    if (out->first_group > p->groups || out->row_groups > p->groups - out->first_group)
        return dx_envelope_corrupt(e, TAG_FILE, at, err,
                                   "file %" PRIu64 ": row groups %" PRIu64 "+%" PRIu32
                                   " of %" PRIu64,
                                   file_id, out->first_group, out->row_groups, p->groups);
    if (!dx_span_slice(p->paths, path_offset, path_size, &out->path))
        return dx_envelope_corrupt(e, TAG_FILE, at, err, "file %" PRIu64 ": path is not in PATH",
                                   file_id);
    return 1;
}

int dx_pages_file(const struct dx_pages *p, uint64_t file_id, struct dx_pages_file *out,
                  struct dx_error *err)
{
    const struct dx_envelope *e = &p->envelope;
    int rc = read_record(p, file_id, out, err);

    if (rc == 1) {
        int checked = dx_envelope_check(e, out->path.data, out->path.size, err);

        rc = checked < 0 ? checked : 1;
    }
    if (rc != 1)
        return rc;
    if (!dx_lake_path_ok(out->path))
        return dx_envelope_corrupt(e, TAG_PATH, out->path.data, err,
                                   "file %" PRIu64 ": path is not a plain relative path", file_id);
    return 1;
}

/* The last file that is not a hole of those from low to before high, without its path: 1, 0 all are holes. */
static int file_below(const struct dx_pages *p, uint64_t low, uint64_t high,
                      struct dx_pages_file *out, struct dx_error *err)
{
    int rc = 0;

    while (rc == 0 && high > low)
        rc = read_record(p, --high, out, err);
    return rc;
}

int dx_pages_of_group(const struct dx_pages *p, uint64_t number, struct dx_pages_file *out,
                      uint32_t *row_group, struct dx_error *err)
{
    /* Files before low begin at or before it, those from high on behind it. */
    uint64_t low = p->first_file;
    uint64_t high = p->first_file + p->files;
    int rc;

    if (number >= p->groups)
        return 0;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        rc = file_below(p, low, middle + 1, out, err);
        if (rc < 0)
            return rc;
        if (rc == 1 && out->first_group > number)
            high = out->file_id;
        else
            low = middle + 1;
    }
    /* Of several that begin there all but the last one are without row groups. */
    rc = file_below(p, p->first_file, low, out, err);
    if (rc < 0)
        return rc;
    if (rc == 0 || number - out->first_group >= out->row_groups)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s: FILE: row group %" PRIu64 " of %" PRIu64 " is in no file",
                       p->envelope.name, number, p->groups);
    *row_group = (uint32_t)(number - out->first_group);
    return dx_pages_file(p, out->file_id, out, err);
}

int dx_pages_group(const struct dx_pages *p, const struct dx_pages_file *file, uint32_t row_group,
                   struct dx_page_group *out, struct dx_error *err)
{
    const struct dx_envelope *e = &p->envelope;
    struct dx_span record;
    const uint8_t *at;
    uint64_t begin;
    uint64_t end;
    int rc;

    if (row_group >= file->row_groups)
        return 0;
    at = p->group_index.data + 8 * (file->first_group + row_group);
    rc = dx_envelope_check(e, at, 16, err);
    if (rc < 0)
        return rc;
    begin = dx_load_u64(at);
    end = dx_load_u64(at + 8);
    if (begin > end || end > p->group_records.size)
        return dx_envelope_corrupt(e, TAG_GRPX, at, err,
                                   "record is [%" PRIu64 ", %" PRIu64 ") of %zu bytes", begin, end,
                                   p->group_records.size);
    record = dx_span_of(p->group_records.data + begin, (size_t)(end - begin));
    rc = dx_envelope_check(e, record.data, record.size, err);
    if (rc >= 0)
        rc = dx_page_group_open(out, record, file->size, e->name, err);
    if (rc < 0)
        return rc;
    if (out->rows > file->rows)
        return dx_envelope_corrupt(e, TAG_GRPD, record.data, err,
                                   "row group of %" PRIu64 " rows in a file of %" PRIu64, out->rows,
                                   file->rows);
    return 1;
}

int dx_pages_has_column(const struct dx_pages *p, const struct dx_pages_file *file,
                        const char *name, struct dx_error *err)
{
    struct dx_page_group group;
    struct dx_page_column column;
    int rc = file->row_groups == 0 ? 0 : dx_pages_group(p, file, 0, &group, err);

    if (rc != 1)
        return rc;
    while (dx_page_group_next(&group, &column) == 1)
        if (dx_span_equal(column.name, dx_span_str(name)))
            return 1;
    return 0;
}

/* ---- writing ---- */

int dx_pages_writer_begin(struct dx_pages_writer *w, uint64_t files, uint64_t groups, uint64_t rows,
                          const struct dx_build_id *build,
                          int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                          void *ctx, struct dx_error *err)
{
    struct dx_buf *b = &w->group_index; /* free for the header until the first record */
    int rc;

    w->files_want = files;
    w->groups_want = groups;
    w->rows_want = rows;
    w->files = w->groups = w->rows = 0;
    w->groups_left = w->rows_left = w->file_size = w->data_size = 0;
    w->in_strays = false;
    w->stray = (struct dx_page_stray){ 0, 0, 0 };
    dx_buf_init(&w->file_records, SIZE_MAX / 2);
    dx_buf_init(&w->paths, SIZE_MAX / 2);
    dx_buf_init(&w->group_index, SIZE_MAX / 2);
    dx_envelope_writer_init(&w->envelope, DX_PAGES_MAGIC, DX_PAGES_VERSION, build, sink, ctx);
    dx_buf_u32(b, DX_PAGES_MAGIC);
    dx_buf_u32(b, DX_PAGES_VERSION);
    dx_buf_u64(b, files);
    dx_buf_u64(b, groups);
    dx_buf_u64(b, rows);
    dx_buf_u64(b, HAS_STRAYS);
    dx_buf_zero(b, 24);
    rc = b->failed ? dx_buf_fail(b, err, "pages")
                   : dx_envelope_writer_header(&w->envelope, dx_span_of(b->data, b->size), err);
    dx_buf_clear(b);
    return rc < 0 ? rc : dx_envelope_writer_section(&w->envelope, TAG_GRPD, err);
}

static int file_is_whole(const struct dx_pages_writer *w, struct dx_error *err)
{
    if (w->groups_left == 0 && w->rows_left == 0)
        return DX_OK;
    return dx_fail(err, DX_E_INVALID,
                   "pages: file %" PRIu64 " lacks %" PRIu64 " row groups, %" PRIu64 " rows",
                   w->files - 1, w->groups_left, w->rows_left);
}

int dx_pages_writer_file(struct dx_pages_writer *w, const struct dx_pages_file *file,
                         struct dx_error *err)
{
    struct dx_buf *b = &w->file_records;
    int rc = file_is_whole(w, err);

    if (rc < 0)
        return rc;
    if (file->file_id == w->files && file->dataset_id == 0 && file->row_groups == 0 &&
        file->path.size == 0) {
        dx_buf_zero(b, FILE_RECORD);
        w->files++;
        return b->failed ? dx_buf_fail(b, err, "pages") : DX_OK;
    }
    if (file->file_id != w->files || file->dataset_id == 0 || !dx_lake_path_ok(file->path))
        return dx_fail(err, DX_E_INVALID,
                       "pages: file %" PRIu32 " at place %" PRIu64 ", path '%.*s'", file->file_id,
                       w->files, (int)(file->path.size > 100 ? 100 : file->path.size),
                       (const char *)file->path.data);
    dx_buf_u32(b, file->dataset_id);
    dx_buf_u32(b, file->row_groups);
    dx_buf_u64(b, w->groups);
    dx_buf_u64(b, file->rows);
    dx_buf_u64(b, file->size);
    dx_buf_u64(b, w->paths.size);
    dx_buf_u32(b, (uint32_t)file->path.size);
    dx_buf_u32(b, 0);
    dx_buf_append(b, file->hash.bytes, 16);
    dx_buf_append(&w->paths, file->path.data, file->path.size);
    if (b->failed || w->paths.failed)
        return dx_no_memory(err, "pages");
    w->files++;
    w->groups_left = file->row_groups;
    w->rows_left = file->rows;
    w->file_size = file->size;
    return DX_OK;
}

int dx_pages_writer_group(struct dx_pages_writer *w, struct dx_span record, struct dx_error *err)
{
    struct dx_page_group group;
    int rc;

    if (w->groups_left == 0)
        return dx_fail(err, DX_E_INVALID, "pages: a row group too many for file %" PRIu64,
                       w->files - 1);
    rc = dx_page_group_open(&group, record, w->file_size, "pages", err);
    if (rc < 0)
        return rc;
    if (group.rows > w->rows_left)
        return dx_fail(err, DX_E_INVALID,
                       "pages: row groups of file %" PRIu64 " have more rows than it",
                       w->files - 1);
    dx_buf_u64(&w->group_index, w->data_size);
    if (w->group_index.failed)
        return dx_buf_fail(&w->group_index, err, "pages");
    w->data_size += record.size;
    w->groups_left--;
    w->rows_left -= group.rows;
    w->groups++;
    w->rows += group.rows;
    return dx_envelope_writer_append(&w->envelope, record, err);
}

static int write_section(struct dx_pages_writer *w, uint32_t tag, const struct dx_buf *b,
                         struct dx_error *err)
{
    int rc = dx_envelope_writer_section(&w->envelope, tag, err);

    return rc < 0 ? rc : dx_envelope_writer_append(&w->envelope, dx_span_of(b->data, b->size), err);
}

/* Behind all groups. */
static int begin_strays(struct dx_pages_writer *w, struct dx_error *err)
{
    int rc = w->in_strays ? DX_OK : file_is_whole(w, err);

    if (rc >= 0 && !w->in_strays)
        rc = dx_envelope_writer_section(&w->envelope, TAG_STRY, err);
    w->in_strays = w->in_strays || rc >= 0;
    return rc;
}

static int compare_strays(const struct dx_page_stray *a, const struct dx_page_stray *b)
{
    if (a->file_id != b->file_id)
        return a->file_id < b->file_id ? -1 : 1;
    if (a->row_group != b->row_group)
        return a->row_group < b->row_group ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

int dx_pages_writer_stray(struct dx_pages_writer *w, const struct dx_page_stray *stray,
                          struct dx_error *err)
{
    uint8_t record[STRAY_RECORD];
    bool first = !w->in_strays;
    int rc = begin_strays(w, err);

    if (rc < 0)
        return rc;
    if (stray->file_id >= w->files || (!first && compare_strays(&w->stray, stray) >= 0))
        return dx_fail(err, DX_E_INVALID, "pages: rows whose keys stray do not ascend");
    w->stray = *stray;
    dx_store_u32(record, stray->file_id);
    dx_store_u32(record + 4, stray->row_group);
    dx_store_u64(record + 8, stray->row);
    return dx_envelope_writer_append(&w->envelope, dx_span_of(record, sizeof record), err);
}

int dx_pages_writer_end(struct dx_pages_writer *w, struct dx_error *err)
{
    int rc = begin_strays(w, err);

    if (rc < 0)
        return rc;
    if (w->files != w->files_want || w->groups != w->groups_want || w->rows != w->rows_want)
        return dx_fail(err, DX_E_INVALID,
                       "pages: %" PRIu64 " files, %" PRIu64 " row groups, %" PRIu64
                       " rows came; %" PRIu64 ", %" PRIu64 ", %" PRIu64 " were announced",
                       w->files, w->groups, w->rows, w->files_want, w->groups_want, w->rows_want);
    dx_buf_u64(&w->group_index, w->data_size);
    if (w->group_index.failed)
        return dx_buf_fail(&w->group_index, err, "pages");
    rc = write_section(w, TAG_GRPX, &w->group_index, err);
    if (rc >= 0)
        rc = write_section(w, TAG_FILE, &w->file_records, err);
    if (rc >= 0)
        rc = write_section(w, TAG_PATH, &w->paths, err);
    return rc < 0 ? rc : dx_envelope_writer_finish(&w->envelope, err);
}

void dx_pages_writer_release(struct dx_pages_writer *w)
{
    dx_envelope_writer_release(&w->envelope);
    dx_buf_release(&w->file_records);
    dx_buf_release(&w->paths);
    dx_buf_release(&w->group_index);
}
