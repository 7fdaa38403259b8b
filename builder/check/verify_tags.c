/* SPDX-License-Identifier: Apache-2.0
 * tags.dxt: against the files and pairs of the version, and with `deep` against the lake, from
 * whose rows it is rebuilt.
 */
#include "builder/check/verify.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_tags.h"
#include "format/version/tag_list.h"
#include "loader/version.h"

#define IDS 1024 /* of a set at a time */

struct tags_check {
    struct dx_verify *w;
    const struct dx_version *v;
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
            int rc = dx_membership_get(&c->v->part->membership, ids[i], &set, why);

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
    int rc = dx_pages_file(&c->v->part->pages, f->file_id, &file, why);

    if (rc < 0)
        return rc;
    if (rc == 0 || dx_pages_has_column(&c->v->part->pages, &file, DX_TAGS_COLUMN, why) != 1) {
        wrong_file(c, f->file_id, "there is no such file, or it has no column " DX_TAGS_COLUMN);
        return DX_OK;
    }
    rc = dx_tag_file_sets(c->v->part->tags, f, &rows, &domains, why);
    if (rc == DX_OK && dx_dataset_set_last(&rows) >= file.rows)
        wrong_file(c, f->file_id, "a row that the file does not have");
    return rc == DX_OK ? check_domains(c, &file, &domains, why) : rc;
}

static int check_tags(struct tags_check *c, struct dx_error *why)
{
    struct dx_tag_cursor files;
    struct dx_tag_file f;
    int rc = dx_tags_verify(c->v->part->tags, why);

    for (uint64_t i = 0; rc == DX_OK && i < c->v->part->tags->count; i++) {
        rc = dx_tags_name(c->v->part->tags, i, &c->tag, why);
        if (rc == DX_OK)
            rc = dx_tags_files(c->v->part->tags, i, &files, why);
        while (rc == DX_OK && (rc = dx_tag_cursor_next(&files, &f, why)) == 1)
            rc = check_entry(c, &f, why);
    }
    return rc;
}

/* Whether one of the files has the column. */
static int any_tagged(const struct dx_version *v, bool *tagged, struct dx_error *why)
{
    int rc = DX_OK;

    *tagged = false;
    for (uint64_t i = 0; rc >= 0 && !*tagged && i < v->part->pages.files; i++) {
        struct dx_pages_file file;

        rc = dx_pages_file(&v->part->pages, i, &file, why);
        if (rc == 1)
            rc = dx_pages_has_column(&v->part->pages, &file, DX_TAGS_COLUMN, why);
        *tagged = rc == 1;
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_verify_tags(struct dx_verify *w, struct dx_error *err)
{
    struct tags_check c = { .w = w, .v = w->version };
    struct dx_error why = DX_ERROR_INIT;
    bool tagged;
    int rc = any_tagged(c.v, &tagged, &why);

    if (rc == DX_OK && c.v->part->tags != NULL) {
        dx_verify_phase(w, "reading the tags");
        if (!tagged)
            dx_verify_found(w, DX_FILE_TAGS ": no file has the column " DX_TAGS_COLUMN);
        rc = check_tags(&c, &why);
    }
    return rc < 0 ? dx_verify_damage(w, &why, err) : DX_OK;
}

/* ---- against the lake ---- */

/* The file as it must be, piece by piece beside the one that is there. */
struct beside {
    struct dx_span left;
    uint64_t at;
    bool differs;
};

static int compare_piece(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    struct beside *b = ctx;

    (void)err;
    if (bytes.size > b->left.size || memcmp(bytes.data, b->left.data, bytes.size) != 0)
        b->differs = true;
    if (b->differs)
        return DX_OK;
    b->left = dx_span_of(b->left.data + bytes.size, b->left.size - bytes.size);
    b->at += bytes.size;
    return DX_OK;
}

int dx_verify_tags_lake(struct dx_verify *w, const struct dx_index_lake *lake, struct dx_error *why)
{
    const struct dx_version *v = w->version;
    struct beside b = { .left = v->part->map_tags.bytes };
    bool tagged = dx_index_tagged(lake);
    int rc;

    /* A version of before has none; that no file has the column was said by dx_verify_tags. */
    if (v->part->tags == NULL || !tagged)
        return DX_OK;
    rc = dx_index_tags_write(lake->tags, lake, &v->part->dictionary, &v->entry.build, compare_piece,
                             &b, why);
    if (rc == DX_OK && (b.differs || b.left.size > 0))
        dx_verify_found(w,
                        DX_FILE_TAGS ": from the piece at byte %llu on it is not what the rows "
                                     "of the lake say",
                        (unsigned long long)b.at);
    return rc;
}
