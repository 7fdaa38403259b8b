/* SPDX-License-Identifier: Apache-2.0
 * tags.dxt of each part: against the files and pairs of the part, and with `deep` against the rows
 * of the lake.
 */
#include <assert.h>

#include "builder/check/verify.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_tags.h"
#include "builder/scan/index_tags_record.h"
#include "builder/sort/spill_sort.h"
#include "format/version/tag_list.h"
#include "loader/version_parts.h"

#define IDS 1024 /* of a set at a time */

struct tags_check {
    struct dx_verify *w;
    const struct dx_part *part;
    struct dx_span tag; /* at hand */
};

static void wrong_file(struct tags_check *c, uint32_t file_id, const char *what)
{
    dx_verify_found(c->w, DX_FILE_TAGS ": \"%.*s\" in file %u: %s", (int)c->tag.size,
                    (const char *)c->tag.data, (unsigned)file_id, what);
}

/* Each of the domains has rows in the dataset, by the set that says so. */
static int check_domains(struct tags_check *c, const struct dx_pages_file *file,
                         const struct dx_dataset_set *domains, struct dx_error *why)
{
    uint32_t ids[IDS];
    uint64_t from = 0;
    size_t n;

    while (from <= UINT32_MAX &&
           (n = dx_dataset_set_ids_from(domains, (uint32_t)from, ids, IDS)) > 0) {
        for (size_t i = 0; i < n; i++) {
            struct dx_dataset_set set;
            uint32_t rank;
            int rc = dx_membership_get(&c->part->membership, ids[i], &set, why);

            if (rc < 0)
                return rc;
            if (dx_dataset_set_rank(&set, file->dataset_id, &rank) != 1) {
                wrong_file(c, file->file_id, "a domain that its dataset does not have");
                return DX_OK;
            }
        }
        from = (uint64_t)ids[n - 1] + 1;
    }
    return DX_OK;
}

static int check_entry(struct tags_check *c, const struct dx_tag_file *f, struct dx_error *why)
{
    struct dx_dataset_set rows;
    struct dx_dataset_set domains;
    struct dx_pages_file file;
    int rc = dx_pages_file(&c->part->pages, f->file_id, &file, why);

    if (rc < 0)
        return rc;
    if (rc == 0 || dx_pages_has_column(&c->part->pages, &file, DX_TAGS_COLUMN, why) != 1) {
        wrong_file(c, f->file_id, "there is no such file, or it has no column " DX_TAGS_COLUMN);
        return DX_OK;
    }
    rc = dx_tag_file_sets(c->part->tags, f, &rows, &domains, why);
    if (rc == DX_OK && dx_dataset_set_last(&rows) >= file.rows)
        wrong_file(c, f->file_id, "a row that the file does not have");
    return rc == DX_OK ? check_domains(c, &file, &domains, why) : rc;
}

static int check_tags(struct tags_check *c, struct dx_error *why)
{
    struct dx_tag_cursor files;
    struct dx_tag_file f;
    int rc = dx_tags_verify(c->part->tags, why);

    for (uint64_t i = 0; rc == DX_OK && i < c->part->tags->count; i++) {
        rc = dx_tags_name(c->part->tags, i, &c->tag, why);
        if (rc == DX_OK)
            rc = dx_tags_files(c->part->tags, i, &files, why);
        while (rc == DX_OK && (rc = dx_tag_cursor_next(&files, &f, why)) == 1)
            rc = check_entry(c, &f, why);
    }
    return rc;
}

/* Whether one of the files has the column. */
static int any_tagged(const struct dx_pages *pages, bool *tagged, struct dx_error *why)
{
    int rc = DX_OK;

    *tagged = false;
    for (uint64_t i = 0; rc >= 0 && !*tagged && i < pages->files; i++) {
        struct dx_pages_file file;

        rc = dx_pages_file(pages, pages->first_file + i, &file, why);
        if (rc == 1)
            rc = dx_pages_has_column(pages, &file, DX_TAGS_COLUMN, why);
        *tagged = rc == 1;
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_verify_tags(struct dx_verify *w, struct dx_error *err)
{
    struct tags_check c = { .w = w, .part = w->part };
    struct dx_error why = DX_ERROR_INIT;
    bool tagged;
    int rc = any_tagged(&c.part->pages, &tagged, &why);

    if (rc == DX_OK && c.part->tags != NULL) {
        dx_verify_phase(w, "reading the tags");
        if (!tagged)
            dx_verify_found(w, DX_FILE_TAGS ": no file has the column " DX_TAGS_COLUMN);
        rc = check_tags(&c, &why);
    }
    return rc < 0 ? dx_verify_damage(w, &why, err) : DX_OK;
}

/* ---- against the lake ---- */

/* No sort: the same facts in any order have the same sum. */
struct tag_sums {
    uint64_t rows, domains;
};

static void add_row(struct tag_sums *s, struct dx_span tag, uint32_t file_id, uint32_t row)
{
    s->rows += dx_hash64_seeded(tag, (uint64_t)file_id << 32 | row);
}

static void add_domain(struct tag_sums *s, struct dx_span tag, uint32_t file_id,
                       struct dx_span domain)
{
    s->domains += dx_hash64_seeded(domain, dx_hash64_seeded(tag, file_id));
}

static int sum_domains(const struct tags_check *c, const struct dx_tag_file *f,
                       const struct dx_dataset_set *domains, struct tag_sums *sums,
                       struct dx_error *why)
{
    uint32_t ids[IDS];
    uint64_t from = 0;
    size_t n;

    while (from <= UINT32_MAX &&
           (n = dx_dataset_set_ids_from(domains, (uint32_t)from, ids, IDS)) > 0) {
        for (size_t i = 0; i < n; i++) {
            uint8_t domain[DX_SURT_MAX];
            size_t size;
            int rc = dx_dictionary_get(&c->part->dictionary, ids[i], domain, &size, why);

            if (rc < 0)
                return rc;
            add_domain(sums, c->tag, f->file_id, dx_span_of(domain, rc == 1 ? size : 0));
        }
        from = (uint64_t)ids[n - 1] + 1;
    }
    return DX_OK;
}

static int sum_entry(const struct tags_check *c, const struct dx_tag_file *f, struct tag_sums *sums,
                     struct dx_error *why)
{
    struct dx_dataset_set rows;
    struct dx_dataset_set domains;
    uint32_t ids[IDS];
    uint64_t from = 0;
    size_t n;
    int rc;

    if (dx_version_is_gone(c->w->version, f->file_id))
        return DX_OK; /* a new scan does not find it */
    rc = dx_tag_file_sets(c->part->tags, f, &rows, &domains, why);
    while (rc == DX_OK && from <= UINT32_MAX &&
           (n = dx_dataset_set_ids_from(&rows, (uint32_t)from, ids, IDS)) > 0) {
        for (size_t i = 0; i < n; i++)
            add_row(sums, c->tag, f->file_id, ids[i]);
        from = (uint64_t)ids[n - 1] + 1;
    }
    return rc == DX_OK ? sum_domains(c, f, &domains, sums, why) : rc;
}

/* What a part's file says. */
static int sum_part(struct tags_check *c, struct tag_sums *sums, struct dx_error *why)
{
    struct dx_tag_cursor files;
    struct dx_tag_file f;
    int rc = DX_OK;

    for (uint64_t i = 0; rc == DX_OK && i < c->part->tags->count; i++) {
        rc = dx_tags_name(c->part->tags, i, &c->tag, why);
        if (rc == DX_OK)
            rc = dx_tags_files(c->part->tags, i, &files, why);
        while (rc == DX_OK && (rc = dx_tag_cursor_next(&files, &f, why)) == 1)
            rc = sum_entry(c, &f, sums, why);
    }
    return rc;
}

/* A record of the scan: rows of one domain. Those of one tag, file and domain follow each other, as
 * the rows of a file are sorted by domain, and the first row of one may be the last of the one before. */
struct scanned {
    struct dx_span tag;
    uint32_t file_id;
    struct dx_span domain;
    struct dx_buf before; /* key of the domain that was added last: tag, file_id, domain */
    struct dx_buf now;
    uint64_t next_row; /* of that one: rows below it were added */
};

static int take_domain(struct scanned *s, struct tag_sums *sums, struct dx_error *why)
{
    struct dx_buf swap = s->before;

    dx_buf_clear(&s->now);
    dx_buf_append(&s->now, s->tag.data, s->tag.size);
    dx_buf_append(&s->now, &s->file_id, sizeof s->file_id);
    dx_buf_append(&s->now, s->domain.data, s->domain.size);
    if (s->now.failed)
        return dx_buf_fail(&s->now, why, "verify");
    if (dx_span_equal(dx_span_of(s->now.data, s->now.size),
                      dx_span_of(s->before.data, s->before.size)))
        return DX_OK;
    add_domain(sums, s->tag, s->file_id, s->domain);
    s->before = s->now;
    s->now = swap;
    s->next_row = 0;
    return DX_OK;
}

static void take_row(struct scanned *s, struct tag_sums *sums, uint64_t row)
{
    if (row >= s->next_row)
        add_row(sums, s->tag, s->file_id, (uint32_t)row);
    s->next_row = row + 1;
}

static int take_record(struct dx_verify *w, struct scanned *s, struct dx_span key,
                       struct dx_span value, struct tag_sums *sums, struct dx_error *why)
{
    struct dx_bytes r = dx_bytes_of(value);
    uint32_t first;
    uint64_t row;
    size_t part;
    int rc;

    s->domain = dx_bytes_take(&r, dx_bytes_varint(&r));
    if (r.failed || !dx_tags_key_parse(key, &s->tag, &s->file_id, &first))
        return dx_fail(why, DX_E_CORRUPT, "verify: a record without a tag");
    part = dx_verify_part_of_file(w, s->file_id);
    if (part == w->version->part_count)
        return dx_fail(why, DX_E_CORRUPT, "verify: a tag in a file that was not read");
    rc = take_domain(s, &sums[part], why);
    if (rc < 0)
        return rc;
    row = first;
    take_row(s, &sums[part], row);
    while (dx_bytes_left(&r) > 0 && !r.failed) {
        row += dx_bytes_varint(&r) + 1;
        take_row(s, &sums[part], row);
    }
    return DX_OK;
}

static int sum_scanned(struct dx_verify *w, const struct dx_index_tags *tags,
                       struct tag_sums sums[DX_PARTS_MAX], struct dx_error *why)
{
    struct scanned s = { .before = DX_BUF_INIT(2 * DX_TAGS_KEY_MAX),
                         .now = DX_BUF_INIT(2 * DX_TAGS_KEY_MAX) };
    struct dx_span key;
    struct dx_span value;
    int rc = tags->sort == NULL ? DX_OK : dx_spill_sort_finish(tags->sort, why);

    while (rc == DX_OK && tags->sort != NULL &&
           (rc = dx_spill_sort_next(tags->sort, &key, &value, why)) == 1)
        rc = take_record(w, &s, key, value, sums, why);
    dx_buf_release(&s.before);
    dx_buf_release(&s.now);
    return rc < 0 ? rc : DX_OK;
}

/* The files of the part that are not in its tags.dxt with all of their tags. */
static int check_left(struct dx_verify *w, const struct dx_index_lake *lake, struct dx_error *why)
{
    const struct dx_pages *pages = &w->part->pages;
    uint64_t next = 0;

    assert(pages->first_file + pages->files <= lake->file_count); /* all files were scanned */
    for (uint64_t id = pages->first_file; id < pages->first_file + pages->files; id++) {
        const struct dx_index_file *file = &lake->files[id];
        struct dx_tags_left left;
        int rc;

        rc = dx_tags_left_at(w->part->tags, next, &left, why);
        if (rc == 1 && left.file_id == id && dx_version_is_gone(w->version, id)) {
            next++;
            continue;
        }
        if (rc < 0)
            return rc;
        if ((file->tags_unread | file->tags_unfit) == 0)
            continue;
        next++;
        if (rc == 0 || left.file_id != id || left.rows != file->tags_unread ||
            left.tags != file->tags_unfit)
            dx_verify_found(w,
                            DX_FILE_TAGS
                            ": file %llu has %llu rows whose tags cannot be read as a list, "
                            "and %llu members that do not fit as tags: it does not say so",
                            (unsigned long long)id, (unsigned long long)file->tags_unread,
                            (unsigned long long)file->tags_unfit);
    }
    if (next != w->part->tags->left_count)
        dx_verify_found(w,
                        DX_FILE_TAGS ": %llu files are not indexed whole, by the lake %llu are not",
                        (unsigned long long)w->part->tags->left_count, (unsigned long long)next);
    return DX_OK;
}

static int check_part_lake(struct dx_verify *w, const struct dx_index_lake *lake,
                           const struct tag_sums *found, struct dx_error *why)
{
    struct tags_check c = { .w = w, .part = w->part };
    struct tag_sums sums = { 0, 0 };
    int rc = sum_part(&c, &sums, why);

    if (rc == DX_OK && (sums.rows != found->rows || sums.domains != found->domains))
        dx_verify_found(w, DX_FILE_TAGS ": %s are not those that the rows of the lake have",
                        sums.rows != found->rows ? "the rows of its tags"
                                                 : "the domains of its tags");
    return rc == DX_OK ? check_left(w, lake, why) : rc;
}

/* A part that an older program made may have none; that no file has the column was said by
 * dx_verify_tags. */
int dx_verify_tags_lake(struct dx_verify *w, const struct dx_index_lake *lake, struct dx_error *why)
{
    struct tag_sums sums[DX_PARTS_MAX] = { { 0, 0 } };
    int rc = lake->tags == NULL ? DX_OK : sum_scanned(w, lake->tags, sums, why);

    for (size_t i = 0; rc == DX_OK && i < w->version->part_count; i++) {
        dx_verify_enter(w, i);
        if (w->part->tags != NULL)
            rc = check_part_lake(w, lake, &sums[i], why);
        dx_verify_leave(w);
    }
    return rc;
}
