/* SPDX-License-Identifier: Apache-2.0
 * The second half of builder/scan/index_tags.h: from the sorted records of the scan, and the base,
 * to tags.dxt.
 */
#include "builder/scan/index_tags.h"

#include <assert.h>
#include <limits.h>
#include <roaring/roaring.h>
#include <stdio.h>

#include "base/map.h"
#include "base/path.h"
#include "builder/index/index_identity.h"
#include "builder/index/index_out.h"
#include "builder/index/index_state.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_base.h"
#include "builder/scan/index_tags_record.h"
#include "builder/sort/spill_file.h"
#include "builder/sort/spill_sort.h"
#include "format/core/dictionary.h"
#include "loader/version_parts.h"

#define IDS 1024 /* of a set at a time */

/* A part of the base that is merged: the tag at hand, and its next file that stays. */
struct known {
    size_t part;
    const struct dx_tags *tags; /* NULL: it has none */
    uint64_t next;              /* tag behind that one */
    struct dx_span tag;
    struct dx_tag_cursor files;
    struct dx_tag_file file;
    bool has;
    uint64_t next_left;
    struct dx_tags_left left; /* the next one; without any file_id is UINT32_MAX */
};

struct write {
    struct dx_index_tags *t;
    const struct dx_index_lake *lake;
    const struct dx_dictionary *dictionary;
    struct dx_tags_encoder encoder;
    struct dx_spill_file *parts[DX_TAGS_PARTS];
    struct dx_buf name; /* of the tag at hand */
    roaring_bitmap_t *rows, *domains;

    /* the scan: the record at hand */
    bool has_scanned;
    struct dx_span tag, value;
    uint32_t file_id, row;

    struct known known[DX_PARTS_MAX]; /* of the base */
    size_t known_count;
};

static int put_part(void *ctx, enum dx_tags_part part, struct dx_span bytes, struct dx_error *err)
{
    struct write *w = ctx;

    return dx_spill_file_append(w->parts[part], bytes, err);
}

/* ---- the two streams ---- */

static int next_scanned(struct write *w, struct dx_error *err)
{
    struct dx_span key;
    int rc = w->t->sort == NULL ? 0 : dx_spill_sort_next(w->t->sort, &key, &w->value, err);

    w->has_scanned = rc == 1;
    if (rc == 1 && !dx_tags_key_parse(key, &w->tag, &w->file_id, &w->row))
        return dx_fail(err, DX_E_CORRUPT, "tags: a record without a tag");
    return rc < 0 ? rc : DX_OK;
}

static bool stays(const struct write *w, uint32_t file_id)
{
    return file_id < w->lake->file_count && dx_index_is_known(w->lake, file_id);
}

/* The next (tag, file) of a part whose file stays. */
static int next_known(const struct write *w, struct known *k, struct dx_error *err)
{
    int rc = 0;

    k->has = false;
    while (k->tags != NULL) {
        rc = k->next == 0 ? 0 : dx_tag_cursor_next(&k->files, &k->file, err);
        if (rc < 0)
            return rc;
        if (rc == 1 && !stays(w, k->file.file_id))
            continue;
        k->has = rc == 1;
        if (rc == 1 || k->next == k->tags->count)
            break;
        rc = dx_tags_name(k->tags, k->next, &k->tag, err);
        if (rc == DX_OK)
            rc = dx_tags_files(k->tags, k->next++, &k->files, err);
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

/* By tag, then file: a file is in one of the streams only. */
static int compare(struct dx_span tag_a, uint32_t file_a, struct dx_span tag_b, uint32_t file_b)
{
    int c = dx_span_compare(tag_a, tag_b);

    return c != 0 ? c : (file_a > file_b) - (file_a < file_b);
}

/* The part that comes first, if it comes before the scan; NULL: the scan does. */
static struct known *first_known(struct write *w)
{
    struct known *first = NULL;

    for (size_t i = 0; i < w->known_count; i++) {
        struct known *k = &w->known[i];

        if (k->has && (first == NULL ||
                       compare(k->tag, k->file.file_id, first->tag, first->file.file_id) < 0))
            first = k;
    }
    if (first != NULL && w->has_scanned &&
        compare(w->tag, w->file_id, first->tag, first->file.file_id) < 0)
        return NULL;
    return first;
}

/* ---- a file of a tag ---- */

/* The number of a domain of a part in the new one, where it may come from a newer part. */
static int find_ordinal(const struct write *w, const struct known *k, uint32_t then, uint32_t *now,
                        struct dx_error *err)
{
    const struct dx_part *part = w->lake->base->parts[k->part].part;
    const uint32_t *ordinals = w->t->ordinals[k->part];
    uint8_t domain[DX_SURT_MAX], key[DX_SURT_MAX];
    uint64_t ordinal = 0;
    size_t size;
    int rc;

    if (ordinals != NULL && ordinals[then] != 0) {
        *now = ordinals[then] - 1;
        return DX_OK;
    }
    rc = dx_dictionary_get(&part->dictionary, then, domain, &size, err);
    if (rc == 1)
        size = dx_surt_key(dx_span_of(domain, size), key);
    if (rc == 1)
        rc = dx_dictionary_find(w->dictionary, dx_span_of(key, size), &ordinal, err);
    *now = (uint32_t)ordinal;
    return rc < 0 ? rc
           : rc == 1
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT,
                         "%s/" DX_FILE_TAGS ": domain %lu has a row in a file that stays, and "
                         "no pair",
                         part->directory, (unsigned long)then);
}

static int add_set(const struct write *w, const struct known *domains_of,
                   const struct dx_dataset_set *set, roaring_bitmap_t *to, struct dx_error *err)
{
    uint32_t ids[IDS];
    uint64_t from = 0;
    int rc = DX_OK;
    size_t n;

    while (rc == DX_OK && from <= UINT32_MAX &&
           (n = dx_dataset_set_ids_from(set, (uint32_t)from, ids, IDS)) > 0) {
        from = (uint64_t)ids[n - 1] + 1;
        for (size_t i = 0; domains_of != NULL && rc == DX_OK && i < n; i++)
            rc = find_ordinal(w, domains_of, ids[i], &ids[i], err);
        roaring_bitmap_add_many(to, n, ids);
    }
    return rc;
}

static int take_known(struct write *w, const struct known *k, struct dx_error *err)
{
    struct dx_dataset_set rows;
    struct dx_dataset_set domains;
    int rc = dx_tag_file_sets(k->tags, &k->file, &rows, &domains, err);

    if (rc == DX_OK)
        rc = add_set(w, NULL, &rows, w->rows, err);
    return rc == DX_OK ? add_set(w, k, &domains, w->domains, err) : rc;
}

/* The record at hand: rows of one domain. */
static int take_record(struct write *w, struct dx_error *err)
{
    struct dx_bytes r = dx_bytes_of(w->value);
    struct dx_span domain = dx_bytes_take(&r, dx_bytes_varint(&r));
    uint64_t row = w->row;
    uint8_t key[DX_SURT_MAX];
    uint64_t ordinal = 0;
    size_t size = r.failed ? 0 : dx_surt_key(domain, key);
    int rc = size == 0 ? 0
                       : dx_dictionary_find(w->dictionary, dx_span_of(key, size), &ordinal, err);

    if (rc < 0)
        return rc;
    roaring_bitmap_add(w->rows, w->row);
    while (rc == 1 && dx_bytes_left(&r) > 0) {
        row += dx_bytes_varint(&r) + 1;
        if (r.failed || row >= UINT32_MAX)
            rc = 0;
        else
            roaring_bitmap_add(w->rows, (uint32_t)row);
    }
    if (rc == 0)
        return dx_fail(err, DX_E_CORRUPT, "tags: a record of no domain of the version");
    roaring_bitmap_add(w->domains, (uint32_t)ordinal);
    return DX_OK;
}

static int take_scanned(struct write *w, uint32_t file_id, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && w->has_scanned && w->file_id == file_id &&
           dx_span_equal(w->tag, dx_span_of(w->name.data, w->name.size))) {
        rc = take_record(w, err);
        if (rc == DX_OK)
            rc = next_scanned(w, err);
    }
    return rc;
}

static int encode_one(struct write *w, struct dx_error *err)
{
    struct known *known = first_known(w);
    struct dx_span tag = known != NULL ? known->tag : w->tag;
    uint32_t file_id = known != NULL ? known->file.file_id : w->file_id;
    int rc = DX_OK;

    assert(known != NULL || w->has_scanned);
    if (!dx_span_equal(tag, dx_span_of(w->name.data, w->name.size))) {
        dx_buf_clear(&w->name);
        dx_buf_append(&w->name, tag.data, tag.size);
        rc = w->name.failed ? dx_buf_fail(&w->name, err, "tag")
                            : dx_tags_encode_tag(&w->encoder, tag, err);
    }
    roaring_bitmap_clear(w->rows);
    roaring_bitmap_clear(w->domains);
    if (rc == DX_OK)
        rc = known != NULL ? take_known(w, known, err) : take_scanned(w, file_id, err);
    if (rc == DX_OK)
        rc = dx_tags_encode_file(&w->encoder, file_id, w->rows, w->domains, err);
    return rc == DX_OK && known != NULL ? next_known(w, known, err) : rc;
}

/* ---- what is not indexed ---- */

/* On to the first of a part that is not below a file. */
static int next_left(struct known *k, uint64_t file_id, struct dx_error *err)
{
    int rc = 1;

    while (k->tags != NULL && rc == 1 && (k->next_left == 0 || k->left.file_id < file_id))
        rc = dx_tags_left_at(k->tags, k->next_left++, &k->left, err);
    if (rc == 0 || k->tags == NULL)
        k->left.file_id = UINT32_MAX;
    return rc < 0 ? rc : DX_OK;
}

static int encode_left(struct write *w, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = w->lake->first_file; rc == DX_OK && i < w->lake->file_count; i++) {
        const struct dx_index_file *file = &w->lake->files[i];
        struct dx_tags_left left = { (uint32_t)i, file->tags_unread, file->tags_unfit };

        for (size_t k = 0; rc == DX_OK && k < w->known_count && stays(w, (uint32_t)i); k++) {
            rc = next_left(&w->known[k], i, err);
            if (rc == DX_OK && w->known[k].left.file_id == i)
                left = w->known[k].left;
        }
        if (rc != DX_OK || (left.rows | left.tags) == 0)
            continue;
        w->t->counts.rows_unread += left.rows;
        w->t->counts.tags_unfit += left.tags;
        rc = dx_tags_encode_left(&w->encoder, &left, err);
    }
    return rc;
}

/* ---- the file ---- */

static int append(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    return dx_tags_writer_append(ctx, bytes, err);
}

static int write_parts(struct write *w, const struct dx_build_id *build,
                       int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err),
                       void *ctx, struct dx_error *err)
{
    struct dx_tags_writer writer;
    int rc = dx_tags_writer_begin(&writer, &w->encoder, build, sink, ctx, err);

    for (int i = 0; rc == DX_OK && i < DX_TAGS_PARTS; i++) {
        rc = dx_tags_writer_part(&writer, (enum dx_tags_part)i, err);
        if (rc == DX_OK)
            rc = dx_spill_file_replay(w->parts[i], append, &writer, err);
    }
    if (rc == DX_OK)
        rc = dx_tags_writer_end(&writer, err);
    dx_tags_writer_release(&writer);
    return rc;
}

static int write_begin(struct write *w, struct dx_error *err)
{
    int rc = w->t->sort == NULL ? DX_OK : dx_spill_sort_finish(w->t->sort, err);

    dx_buf_init(&w->name, DX_TAG_MAX);
    dx_tags_encoder_init(&w->encoder, w->dictionary->info.n, w->lake->file_count, put_part, w);
    w->rows = roaring_bitmap_create();
    w->domains = roaring_bitmap_create();
    if (rc == DX_OK && (w->rows == NULL || w->domains == NULL))
        rc = dx_no_memory(err, "tags");
    for (int i = 0; rc == DX_OK && i < DX_TAGS_PARTS; i++)
        rc = dx_spill_file_new(&w->parts[i], w->t->tmp_dir, err);
    if (rc == DX_OK)
        rc = next_scanned(w, err);
    for (size_t i = 0; rc == DX_OK && i < w->known_count; i++)
        rc = next_known(w, &w->known[i], err);
    return rc;
}

static void write_end(struct write *w)
{
    struct dx_spill_sort_stats stats = { .runs = 0 };

    if (w->t->sort != NULL)
        dx_spill_sort_get_stats(w->t->sort, &stats);
    w->t->spilled_bytes = stats.spilled_bytes;
    dx_spill_sort_free(&w->t->sort);
    for (int i = 0; i < DX_TAGS_PARTS; i++)
        dx_spill_file_free(&w->parts[i]);
    dx_tags_encoder_release(&w->encoder);
    dx_buf_release(&w->name);
    if (w->rows != NULL)
        roaring_bitmap_free(w->rows);
    if (w->domains != NULL)
        roaring_bitmap_free(w->domains);
}

static int write_tags(struct dx_index_tags *t, const struct dx_index_lake *lake,
                      const struct dx_dictionary *dictionary, const struct dx_build_id *build,
                      int (*sink)(void *ctx, struct dx_span bytes, struct dx_error *err), void *ctx,
                      struct dx_error *err)
{
    const struct dx_version *base = lake->base;
    struct write w = { .t = t, .lake = lake, .dictionary = dictionary };
    int rc;

    for (size_t i = lake->kept_parts; base != NULL && i < base->part_count; i++)
        w.known[w.known_count++] = (struct known){ .part = i, .tags = base->parts[i].part->tags };
    rc = write_begin(&w, err);

    t->counts = (struct dx_tags_counts){ 0 };
    while (rc == DX_OK && (w.has_scanned || first_known(&w) != NULL))
        rc = encode_one(&w, err);
    if (rc == DX_OK)
        rc = encode_left(&w, err);
    if (rc == DX_OK)
        rc = write_parts(&w, build, sink, ctx, err);
    t->counts.tags = w.encoder.count;
    t->counts.entries = w.encoder.entries;
    t->counts.rows = w.encoder.rows;
    write_end(&w);
    return rc;
}

/* ---- the phase ---- */

static int write_file(struct dx_index_state *b, const struct dx_dictionary *dictionary,
                      struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_TAGS, b->options->sync, err);

    if (rc == DX_OK)
        rc = write_tags(b->lake->tags, b->lake, dictionary, &b->id->build, dx_index_out_sink, &out,
                        err);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    b->stats->tags = b->lake->tags->counts;
    b->stats->spilled_bytes += b->lake->tags->spilled_bytes;
    return rc;
}

/* The dictionary is that of the version in the making, as it stands on the disk. */
int dx_index_tags_phase(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_dictionary dictionary;
    char path[PATH_MAX];
    int rc;

    if (!dx_index_tagged(b->lake))
        return DX_OK;
    rc = dx_path_format(path, sizeof path, err, "%s/" DX_FILE_DOMAINS_DICT, b->options->dir);
    if (rc == DX_OK)
        rc = dx_map_open(&map, path, DX_MAP_RANDOM, err);
    if (rc == DX_OK)
        rc = dx_dictionary_open(&dictionary, map.bytes, 0, path, err);
    if (rc == DX_OK) {
        rc = write_file(b, &dictionary, err);
        dx_dictionary_close(&dictionary);
    }
    dx_map_close(&map);
    return rc;
}
