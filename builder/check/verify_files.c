/* SPDX-License-Identifier: Apache-2.0
 * What the version says of its files and of those of the lake: files.tsv, pages.dxp, datasets.json,
 * the manifest and the build id must tell the same.
 */
#include "builder/check/verify.h"

#include "builder/lake/lake_layout.h"
#include "format/core/zseek_whole.h"
#include "format/version/build_text.h"
#include "format/version/files_tsv.h"
#include "loader/version_parts.h"

#include <assert.h>
#include <roaring/roaring.h>

#include <stdio.h>
#include <stdlib.h>

#define TSV_MAX ((size_t)1 << 32) /* plain bytes of files.tsv */

struct files_check {
    struct dx_verify *w;
    struct dx_version *v;
    struct dx_buf tsv[DX_PARTS_MAX]; /* plain files.tsv of each part */
    struct dx_buf paths;     /* struct dx_span of each file that is there, borrowed from tsv */
    uint64_t *dataset_files; /* parallel to the registry */
};

/* The plain bytes of a file. */
static int read_text(const struct files_check *c, const char *name, struct dx_buf *text,
                     struct dx_error *why)
{
    const struct dx_manifest_file *file = dx_manifest_file(&c->w->part->entry, name);
    struct dx_map map = DX_MAP_INIT;
    int rc = dx_verify_map(c->w, name, &map, why);

    if (rc == DX_OK && dx_zseek_named(file->name))
        rc = dx_zseek_read(map.bytes, name, text, why);
    else if (rc == DX_OK)
        dx_buf_append(text, map.bytes.data, map.bytes.size);
    if (rc == DX_OK && text->failed)
        rc = dx_buf_fail(text, why, name);
    dx_map_close(&map);
    return rc;
}

/* The dataset and the range that a path of our own layout says. */
static bool path_agrees(const struct dx_files_row *row)
{
    char text[DX_LAKE_PATH_MAX];
    char range[8];
    struct dx_lake_path path;
    int n = snprintf(text, sizeof text, DX_LAKE_DIR "/%.*s", (int)row->path.size,
                     (const char *)row->path.data);

    if (n < 0 || (size_t)n >= sizeof text || !dx_lake_path_parse(dx_span_str(text), &path))
        return true; /* laid out by another program */
    (void)snprintf(range, sizeof range, path.first == path.last ? "%02x" : "%02x-%02x", path.first,
                   path.last);
    return row->dataset_id == path.dataset_id &&
           dx_span_equal(row->domain_prefix, dx_span_str(range));
}

/* Only a version that was merged from an older one has lost files. */
static int check_hole(const struct files_check *c, const struct dx_files_row *row, bool there,
                      struct dx_error *why)
{
    if (there || c->w->part->entry.base[0] == '\0')
        return dx_fail(why, DX_E_CORRUPT, DX_FILE_FILES_TSV ": line %u has no file, %s",
                       (unsigned)row->file_id + 1,
                       there ? "and " DX_FILE_PAGES " has one"
                             : "in a version that was made from the whole lake");
    return DX_OK;
}

static int check_row(struct files_check *c, const struct dx_files_row *row, struct dx_error *why)
{
    const struct dx_dataset *dataset = dx_registry_by_id(&c->v->registry, row->dataset_id);
    bool left = dx_version_is_gone(c->v, row->file_id);
    struct dx_pages_file file;
    char etag[DX_HASH128_TEXT];
    int rc = dx_pages_file(&c->w->part->pages, row->file_id, &file, why);

    if (rc < 0)
        return rc;
    if (dx_files_hole(row))
        return check_hole(c, row, rc == 1, why);
    if (!left) {
        c->w->result->lake_files++;
        dx_buf_append(&c->paths, &row->path, sizeof row->path);
    }
    if (c->paths.failed)
        return dx_buf_fail(&c->paths, why, DX_FILE_FILES_TSV);
    if (rc == 1)
        dx_hash128_text(&file.hash, etag);
    if (rc == 0 || !dx_span_equal(file.path, row->path) || file.size != row->size ||
        file.rows != row->rows || file.dataset_id != row->dataset_id ||
        !dx_span_equal(row->etag, dx_span_str(etag)))
        return dx_fail(why, DX_E_CORRUPT,
                       DX_FILE_FILES_TSV ": line %u is not what " DX_FILE_PAGES
                                         " says of that file",
                       (unsigned)row->file_id + 1);
    if (!path_agrees(row))
        return dx_fail(why, DX_E_CORRUPT,
                       DX_FILE_FILES_TSV ": line %u: dataset or range of prefixes is not that of "
                                         "its path",
                       (unsigned)row->file_id + 1);
    if (left)
        return DX_OK; /* its dataset may be none of the version's */
    if (dataset == NULL)
        return dx_fail(why, DX_E_CORRUPT,
                       DX_FILE_FILES_TSV ": line %u: dataset %u is not in " DX_FILE_DATASETS,
                       (unsigned)row->file_id + 1, (unsigned)row->dataset_id);
    c->dataset_files[dataset - c->v->registry.datasets]++;
    return DX_OK;
}

static int compare_paths(const void *a, const void *b)
{
    return dx_span_compare(*(const struct dx_span *)a, *(const struct dx_span *)b);
}

/* No path twice, of all parts; and in a version that was made from the whole lake they ascend. */
static int check_paths(struct files_check *c, struct dx_error *why)
{
    struct dx_span *paths = (struct dx_span *)(void *)c->paths.data;
    size_t count = c->paths.size / sizeof *paths;

    if (c->v->entry.base[0] != '\0' && count > 0)
        qsort(paths, count, sizeof *paths, compare_paths);
    for (size_t i = 1; i < count; i++)
        if (dx_span_compare(paths[i - 1], paths[i]) >= 0)
            return dx_fail(why, DX_E_CORRUPT, DX_FILE_FILES_TSV ": %.*s stands twice%s",
                           (int)paths[i].size, (const char *)paths[i].data,
                           c->v->entry.base[0] == '\0' ? ", or paths do not ascend" : "");
    return DX_OK;
}

/* The lines of the part at hand. */
static int check_lines(struct files_check *c, struct dx_error *why)
{
    const struct dx_pages *pages = &c->w->part->pages;
    struct dx_buf *text = &c->tsv[c->w->at];
    uint64_t lines = 0;
    struct dx_files_tsv tsv;
    struct dx_files_row row;
    int rc = read_text(c, DX_FILE_FILES_TSV, text, why);

    dx_files_tsv_begin(&tsv, dx_span_of(text->data, text->size), DX_FILE_FILES_TSV);
    tsv.next_id = pages->first_file;
    while (rc == DX_OK && (rc = dx_files_tsv_next(&tsv, &row, why)) == 1) {
        lines++;
        rc = check_row(c, &row, why);
    }
    if (rc == DX_OK && lines != pages->files)
        rc = dx_fail(why, DX_E_CORRUPT,
                     DX_FILE_FILES_TSV ": %llu lines, " DX_FILE_PAGES " has %llu",
                     (unsigned long long)lines, (unsigned long long)pages->files);
    return rc;
}

static int check_tsv(struct files_check *c, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc = DX_OK;

    if (c->w->result->lake_files != c->v->entry.lake_files)
        rc = dx_fail(&why, DX_E_CORRUPT, DX_FILE_FILES_TSV ": %llu files, the manifest says %llu",
                     (unsigned long long)c->w->result->lake_files,
                     (unsigned long long)c->v->entry.lake_files);
    if (rc == DX_OK)
        rc = check_paths(c, &why);
    for (size_t i = 0; rc == DX_OK && i < c->v->registry.count; i++) {
        const struct dx_dataset *d = &c->v->registry.datasets[i];

        if (d->files != c->dataset_files[i])
            dx_verify_found(c->w,
                            DX_FILE_DATASETS ": dataset %u has %llu files, " DX_FILE_FILES_TSV
                                             " lists %llu of it",
                            (unsigned)d->dataset_id, (unsigned long long)d->files,
                            (unsigned long long)c->dataset_files[i]);
    }
    return rc < 0 ? dx_verify_damage(c->w, &why, err) : DX_OK;
}

/* Numbers of files go on where those of the part before end; and all parts have the same form of
 * domains and URLs. */
static void check_order(struct dx_verify *w)
{
    const struct dx_manifest_version *v = &w->version->entry;
    const struct dx_part *part = w->part;
    uint64_t next = 0;

    if (w->at > 0) {
        const struct dx_pages *before = &w->version->parts[w->at - 1].part->pages;

        next = before->first_file + before->files;
    }
    if (part->pages.first_file != next)
        dx_verify_found(w, DX_FILE_PAGES ": its files are numbered from %llu on, not from %llu",
                        (unsigned long long)part->pages.first_file, (unsigned long long)next);
    if (part->entry.canon_version != v->canon_version ||
        !dx_hash128_equal(&part->entry.psl_hash, &v->psl_hash))
        dx_verify_found(w, "it was made with another suffix list or canon_version than %s",
                        v->version);
    if (strcmp(part->entry.parquet_root, v->parquet_root) != 0)
        dx_verify_found(w, "its lake is %s, that of %s is %s", part->entry.parquet_root, v->version,
                        v->parquet_root);
    for (size_t i = 0; i < part->entry.part_count; i++)
        if (part->entry.part_count != w->at || strcmp(part->entry.parts[i], v->parts[i]) != 0) {
            dx_verify_found(w, "it was made for other older parts than %s has", v->version);
            break;
        }
}

/* Of a part that has older ones: their build ids and its first file are hashed with its own. */
static int hash_parts(const struct files_check *c, struct dx_hash128 *hash, struct dx_error *why)
{
    struct dx_buf text = DX_BUF_INIT(4096);
    int rc = DX_OK;

    if (c->w->at == 0)
        return DX_OK;
    dx_buf_str(&text, "domaindex-parts-1\n");
    dx_buf_append(&text, hash->bytes, sizeof hash->bytes);
    for (size_t i = 0; i < c->w->at; i++) {
        const struct dx_build_id *build = &c->v->parts[i].part->entry.build;

        dx_buf_append(&text, build->bytes, sizeof build->bytes);
    }
    dx_buf_u64(&text, c->w->part->pages.first_file);
    if (text.failed)
        rc = dx_buf_fail(&text, why, "build id");
    else
        *hash = dx_hash128_of(dx_span_of(text.data, text.size));
    dx_buf_release(&text);
    return rc;
}

/* The lines of parts[i], with holes for files that the version of the part at hand does not have. */
static int hash_lines(const struct files_check *c, size_t i, const roaring_bitmap_t *gone,
                      struct dx_hash_state *st, struct dx_error *why)
{
    struct dx_span plain = dx_span_of(c->tsv[i].data, c->tsv[i].size);
    struct dx_buf text = DX_BUF_INIT(TSV_MAX);
    struct dx_files_tsv_writer w;
    struct dx_files_tsv tsv;
    struct dx_files_row row;
    int rc = DX_OK;

    assert(i <= c->w->at); /* lines of younger parts are not read yet */
    if (gone == NULL) {
        dx_hash_state_update(st, plain);
        return DX_OK;
    }
    dx_files_tsv_begin(&tsv, plain, DX_FILE_FILES_TSV);
    dx_files_tsv_writer_begin(&w, &text);
    tsv.next_id = w.next_id = c->v->parts[i].part->pages.first_file;
    while (rc == DX_OK && (rc = dx_files_tsv_next(&tsv, &row, why)) == 1) {
        if (roaring_bitmap_contains(gone, row.file_id))
            row = (struct dx_files_row){ .file_id = row.file_id };
        rc = dx_files_tsv_write(&w, &row, why);
    }
    dx_hash_state_update(st, dx_span_of(text.data, text.size));
    dx_buf_release(&text);
    return rc;
}

static int hash_files(const struct files_check *c, struct dx_hash_state *st, struct dx_error *why)
{
    const struct dx_dead *dead = c->w->part->dead;
    roaring_bitmap_t *gone = NULL;
    struct dx_dataset_set set;
    int rc = DX_OK;

    if (dead != NULL && dead->gone > 0) {
        rc = dx_dead_gone(dead, &set, why);
        gone = rc == DX_OK ? dx_dataset_set_bitmap(&set) : NULL;
        if (rc == DX_OK && gone == NULL)
            rc = dx_no_memory(why, "verify");
    }
    for (size_t i = 0; rc == DX_OK && i <= c->w->at; i++)
        rc = hash_lines(c, i, gone, st, why);
    if (gone != NULL)
        roaring_bitmap_free(gone);
    return rc;
}

/* docs/FORMAT.md section 1: what a version is made from, hashed again. Its files are those of its
 * part and of the older ones. */
static int check_build_id(struct files_check *c, struct dx_error *err)
{
    const struct dx_manifest_version *entry = &c->w->part->entry;
    struct dx_error why = DX_ERROR_INIT;
    struct dx_buf datasets = DX_BUF_INIT(DX_REGISTRY_MAX);
    struct dx_hash_state *st = dx_hash_state_new();
    char head[DX_BUILD_TEXT];
    struct dx_hash128 hash;
    int rc = st == NULL ? dx_no_memory(&why, "verify")
                        : read_text(c, DX_FILE_DATASETS, &datasets, &why);

    if (rc == DX_OK) {
        dx_build_text(head, dx_cold_version(&c->w->part->cold), c->w->part->mphf.version,
                      c->w->part->postings.envelope.version, entry->canon_version,
                      &entry->psl_hash);
        dx_hash_state_update(st, dx_span_str(head));
        dx_hash_state_update(st, dx_span_of(datasets.data, datasets.size));
        dx_hash_state_update(st, dx_span_str("\n"));
        rc = hash_files(c, st, &why);
    }
    if (rc == DX_OK) {
        hash = dx_hash_state_digest(st);
        rc = hash_parts(c, &hash, &why);
    }
    if (rc == DX_OK && memcmp(hash.bytes, entry->build.bytes, sizeof hash.bytes) != 0)
        dx_verify_found(c->w, "the build id is not the hash of suffix list, " DX_FILE_DATASETS
                              " and " DX_FILE_FILES_TSV " that it must be");
    dx_hash_state_free(&st);
    dx_buf_release(&datasets);
    return rc < 0 ? dx_verify_damage(c->w, &why, err) : DX_OK;
}

/* A URL is made of three columns; a time and a raw URL are one column each, if there are any. */
static bool roles_fit(struct dx_page_group *group)
{
    struct dx_page_column column;
    unsigned seen[DX_ROLE_EXTRA + 1] = { 0 };

    while (dx_page_group_next(group, &column) == 1)
        if (column.role <= DX_ROLE_EXTRA)
            seen[column.role]++;
    return seen[DX_ROLE_SCHEME] == 1 && seen[DX_ROLE_HOST] == 1 && seen[DX_ROLE_PATH_QUERY] == 1 &&
           seen[DX_ROLE_TS] <= 1 && seen[DX_ROLE_RAW_URL] <= 1;
}

/* Each record of a row group, and that they add up to what the files say. */
static int check_groups(struct files_check *c, struct dx_error *err)
{
    const struct dx_pages *pages = &c->w->part->pages;
    struct dx_error why = DX_ERROR_INIT;
    struct dx_pages_file file;
    struct dx_page_group group;
    int rc = DX_OK;

    for (uint64_t f = 0; rc >= 0 && f < pages->files; f++) {
        uint64_t rows = 0;

        rc = dx_pages_file(pages, pages->first_file + f, &file, &why);
        for (uint32_t g = 0; rc == 1 && g < file.row_groups; g++) {
            rc = dx_pages_group(pages, &file, g, &group, &why);
            if (rc != 1)
                break;
            rows += group.rows;
            if (!roles_fit(&group))
                dx_verify_found(c->w,
                                DX_FILE_PAGES
                                ": %.*s: row group %u has not one scheme, host and path_query "
                                "each, or too many times or raw URLs",
                                (int)file.path.size, (const char *)file.path.data, (unsigned)g);
        }
        if (rc == 1 && rows != file.rows)
            dx_verify_found(c->w, DX_FILE_PAGES ": %.*s: %llu rows, its row groups have %llu",
                            (int)file.path.size, (const char *)file.path.data,
                            (unsigned long long)file.rows, (unsigned long long)rows);
    }
    return rc < 0 ? dx_verify_damage(c->w, &why, err) : DX_OK;
}

/* lines: all were read; else what they say together is not known. */
static int check_part(struct files_check *c, bool *lines, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc = check_lines(c, &why);

    check_order(c->w);
    *lines = *lines && rc >= 0;
    if (rc < 0)
        rc = dx_verify_damage(c->w, &why, err);
    if (rc == DX_OK)
        rc = check_build_id(c, err);
    return rc == DX_OK ? check_groups(c, err) : rc;
}

int dx_verify_files(struct dx_verify *w, struct dx_error *err)
{
    struct files_check c = { .w = w, .v = w->version };
    bool lines = true;
    int rc = DX_OK;

    dx_buf_init(&c.paths, SIZE_MAX / 2);
    for (size_t i = 0; i < DX_PARTS_MAX; i++)
        dx_buf_init(&c.tsv[i], TSV_MAX);
    dx_verify_phase(w, "comparing what is said of the files");
    c.dataset_files = calloc(c.v->registry.count + 1, sizeof *c.dataset_files);
    if (c.dataset_files == NULL)
        rc = dx_no_memory(err, "verify");
    for (size_t i = 0; rc == DX_OK && i < c.v->part_count; i++) {
        dx_verify_enter(w, i);
        rc = check_part(&c, &lines, err);
        dx_verify_leave(w);
    }
    if (rc == DX_OK && lines)
        rc = check_tsv(&c, err);
    free(c.dataset_files);
    for (size_t i = 0; i < DX_PARTS_MAX; i++)
        dx_buf_release(&c.tsv[i]);
    dx_buf_release(&c.paths);
    return rc;
}
