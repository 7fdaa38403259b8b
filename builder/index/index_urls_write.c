/* SPDX-License-Identifier: Apache-2.0
 * The second half of builder/scan/index_urls.h: from the streams of the scan, and the base, to
 * pages.
 */
#include "builder/scan/index_urls.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_base.h"
#include "builder/scan/urls_record.h"
#include "builder/sort/spill_sort.h"
#include "builder/sort/stream_spill.h"
#include "loader/cold_walk.h"
#include "loader/version_parts.h"

#define BUCKET_QSORT 24 /* above this an insertion sort loses */
#define SORT_KEY 32

/* Numbers of row groups, by file. */
struct groups {
    uint64_t first_file; /* its file_id */
    uint64_t *first;     /* of each file, and behind the last one */
    size_t files;
};

/* A part of the base that is merged: the next place of a file that stays. */
struct known {
    const struct dx_part *part;
    struct groups then;
    struct dx_cold_walk walk;
    struct dx_url_page page;
    bool walks, in_page, has;
    struct dx_url_place place;
};

struct write {
    struct dx_index_urls *urls;
    const struct dx_index_lake *lake;
    struct dx_cold_writer *writer;
    size_t memory_bytes;
    struct groups now; /* of the new part */

    /* the stream at hand, sorted: in memory, or on the disk */
    struct dx_url_place *places, *scratch;
    size_t place_count, place_capacity;
    size_t next;
    struct dx_spill_sort *spilled;
    uint8_t carry[DX_URLS_RECORD]; /* of a record that came in two pieces */
    size_t carried;

    struct known known[DX_PARTS_MAX];
    size_t known_count;

    /* the page in the making */
    struct dx_url_place out[DX_URL_PAGE_PLACES];
    size_t out_count;
    struct dx_buf plain;
};

/* ---- row groups ---- */

static int groups_room(struct groups *g, size_t files, struct dx_error *err)
{
    g->files = files;
    g->first = malloc((files + 1) * sizeof *g->first);
    return g->first == NULL ? dx_no_memory(err, "places of URLs") : DX_OK;
}

static int groups_now(struct write *w, struct dx_error *err)
{
    const struct dx_index_lake *lake = w->lake;
    uint64_t n = 0;
    int rc = groups_room(&w->now, lake->file_count - lake->first_file, err);

    w->now.first_file = lake->first_file;
    for (size_t i = 0; rc == DX_OK && i < w->now.files; i++) {
        const struct dx_index_file *file = &lake->files[lake->first_file + i];

        w->now.first[i] = n;
        n += file->path == NULL ? 0 : file->row_groups;
    }
    if (rc == DX_OK)
        w->now.first[w->now.files] = n;
    return rc;
}

static int groups_then(struct known *k, struct dx_error *err)
{
    const struct dx_pages *pages = &k->part->pages;
    uint64_t n = 0;
    int rc = groups_room(&k->then, (size_t)pages->files, err);

    k->then.first_file = pages->first_file;
    for (size_t i = 0; rc >= 0 && i < k->then.files; i++) {
        struct dx_pages_file file;

        k->then.first[i] = n;
        rc = dx_pages_file(pages, pages->first_file + i, &file, err);
        n += rc == 1 ? file.row_groups : 0;
    }
    if (rc >= 0)
        k->then.first[k->then.files] = n;
    return rc < 0 ? rc : DX_OK;
}

/* The file that has this row group; g->files if none does. Of files without any, which begin where
 * the next one does, none is given. */
static size_t file_of(const struct groups *g, uint64_t group)
{
    size_t low = 0;
    size_t high = g->files;

    if (group >= g->first[g->files])
        return g->files;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (g->first[middle] <= group)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- a stream of the scan ---- */

static int compare_places(const void *a, const void *b)
{
    return dx_url_place_compare(a, b);
}

static void insertion_sort(struct dx_url_place *p, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct dx_url_place moved = p[i];
        size_t at = i;

        for (; at > 0 && dx_url_place_compare(&p[at - 1], &moved) > 0; at--)
            p[at] = p[at - 1];
        p[at] = moved;
    }
}

/* ids are hashes: spread evenly, so a bucket a place has one or two, which are put in order at
 * once. Those that are not, because many are equal, are left to qsort. */
static int sort_places(struct write *w, struct dx_error *err)
{
    size_t n = w->place_count;
    uint32_t *ends = calloc(n + 1, sizeof *ends);
    struct dx_url_place *from = w->places;
    uint32_t sum = 0;
    size_t begin = 0;

    if (ends == NULL)
        return dx_no_memory(err, "places of URLs");
#define BUCKET(place) (size_t)(((unsigned __int128)((place).id << DX_URLS_STREAM_BITS) * n) >> 64)
    for (size_t i = 0; i < n; i++)
        ends[BUCKET(from[i])]++;
    for (size_t i = 0; i < n; i++) {
        uint32_t count = ends[i];

        ends[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        w->scratch[ends[BUCKET(from[i])]++] = from[i];
#undef BUCKET
    for (size_t i = 0; i < n; begin = ends[i++]) {
        size_t count = ends[i] - begin;

        if (count > BUCKET_QSORT)
            qsort(w->scratch + begin, count, sizeof *w->scratch, compare_places);
        else
            insertion_sort(w->scratch + begin, count);
    }
    w->places = w->scratch;
    w->scratch = from;
    free(ends);
    return DX_OK;
}

static void store_be(uint8_t *to, uint64_t v)
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        to[i] = (uint8_t)v;
}

static uint64_t load_be(const uint8_t *from)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v = v << 8 | from[i];
    return v;
}

static int spill_place(struct write *w, const struct dx_url_place *place, struct dx_error *err)
{
    uint8_t key[SORT_KEY];

    store_be(key, place->id);
    store_be(key + 8, place->group);
    store_be(key + 16, place->row);
    store_be(key + 24, place->rows);
    return dx_spill_sort_add(w->spilled, 0, dx_span_of(key, sizeof key), dx_span_of(NULL, 0), err);
}

static int take_record(struct write *w, const uint8_t *bytes, struct dx_error *err)
{
    struct dx_urls_record r;
    struct dx_url_place place;
    uint64_t file;

    dx_urls_record_read(bytes, &r);
    place = (struct dx_url_place){ .id = r.id, .row = r.row, .rows = r.rows };
    file = r.file_id - w->now.first_file;
    if (r.file_id < w->now.first_file || file >= w->now.files ||
        r.row_group >= w->now.first[file + 1] - w->now.first[file])
        return dx_fail(err, DX_E_CORRUPT, "places of URLs: file %lu has no row group %lu",
                       (unsigned long)r.file_id, (unsigned long)r.row_group);
    place.group = w->now.first[file] + r.row_group;
    if (w->spilled != NULL)
        return spill_place(w, &place, err);
    w->places[w->place_count++] = place;
    return DX_OK;
}

static int take_piece(void *ctx, struct dx_span piece, struct dx_error *err)
{
    struct write *w = ctx;
    int rc = DX_OK;

    while (rc == DX_OK && piece.size > 0) {
        size_t n = DX_URLS_RECORD - w->carried < piece.size ? DX_URLS_RECORD - w->carried
                                                            : piece.size;
        const uint8_t *record = piece.data;

        if (n < DX_URLS_RECORD) {
            memcpy(w->carry + w->carried, piece.data, n);
            record = w->carry;
        }
        w->carried += n;
        piece = dx_span_from(piece, n);
        if (w->carried < DX_URLS_RECORD)
            break;
        w->carried = 0;
        rc = take_record(w, record, err);
    }
    return rc;
}

/* Places, those that are sorted, and the ends of buckets. */
static bool fits(const struct write *w, uint64_t count)
{
    return count < UINT32_MAX &&
           count <= w->memory_bytes / (2 * sizeof(struct dx_url_place) + sizeof(uint32_t));
}

static int room_for(struct write *w, size_t count, struct dx_error *err)
{
    size_t more = count + count / 8;

    assert(w->place_count == 0); /* places are not moved */
    if (count <= w->place_capacity)
        return DX_OK;
    free(w->places);
    free(w->scratch);
    w->place_capacity = 0;
    w->places = malloc(more * sizeof *w->places);
    w->scratch = malloc(more * sizeof *w->scratch);
    if (w->places == NULL || w->scratch == NULL)
        return dx_no_memory(err, "places of URLs");
    w->place_capacity = more;
    return DX_OK;
}

static int load_stream(struct write *w, size_t stream, struct dx_error *err)
{
    uint64_t count = dx_stream_spill_size(w->urls->spool, stream) / DX_URLS_RECORD;
    const struct dx_spill_sort_options options = { .dir = w->urls->tmp_dir,
                                                   .memory_bytes = w->memory_bytes,
                                                   .lanes = 1 };
    int rc;

    assert(w->spilled == NULL && w->next == w->place_count); /* the one before is at its end */
    w->place_count = w->next = w->carried = 0;
    rc = fits(w, count) ? room_for(w, (size_t)count, err)
                        : dx_spill_sort_new(&w->spilled, &options, err);
    if (rc == DX_OK)
        rc = dx_stream_spill_replay(w->urls->spool, stream, take_piece, w, err);
    if (rc != DX_OK)
        return rc;
    return w->spilled == NULL ? sort_places(w, err) : dx_spill_sort_finish(w->spilled, err);
}

/* 1, or 0 behind the last of the stream. */
static int next_scanned(struct write *w, struct dx_url_place *place, struct dx_error *err)
{
    struct dx_spill_sort_stats stats;
    struct dx_span key;
    struct dx_span value;
    int rc;

    if (w->spilled == NULL) {
        if (w->next == w->place_count)
            return 0;
        *place = w->places[w->next++];
        return 1;
    }
    rc = dx_spill_sort_next(w->spilled, &key, &value, err);
    if (rc == 1) {
        *place = (struct dx_url_place){ load_be(key.data), load_be(key.data + 8),
                                        load_be(key.data + 16), load_be(key.data + 24) };
    } else if (rc == 0) {
        dx_spill_sort_get_stats(w->spilled, &stats);
        w->urls->spilled_bytes += stats.spilled_bytes;
        dx_spill_sort_free(&w->spilled);
    }
    return rc;
}

/* ---- the base ---- */

/* 1 the file stays: the place has the row group's new number. 0: it does not. */
static int renumber(const struct write *w, struct known *k, struct dx_error *err)
{
    struct dx_url_place *place = &k->place;
    size_t file = file_of(&k->then, place->group);
    uint64_t id = k->then.first_file + file;

    if (file == k->then.files)
        return dx_fail(err, DX_E_CORRUPT, "%s: %s names row group %llu of %llu", k->part->directory,
                       dx_cold_file_name(DX_COLD_URL_IDS), (unsigned long long)place->group,
                       (unsigned long long)k->then.first[k->then.files]);
    if (id >= w->lake->file_count || !dx_index_is_known(w->lake, id))
        return 0;
    place->group = w->now.first[id - w->now.first_file] + (place->group - k->then.first[file]);
    return 1;
}

/* 1: the next place of a part, if its file stays. File_ids stay too, so their order does. */
static int read_known(const struct write *w, struct known *k, struct dx_error *err)
{
    int rc = 0;

    while (k->walks && rc == 0) {
        if (k->in_page) {
            rc = dx_url_page_next(&k->page, &k->place, err);
            k->in_page = rc == 1;
            if (rc == 1)
                rc = renumber(w, k, err);
            continue;
        }
        rc = dx_cold_walk_next(&k->walk, err);
        k->walks = k->in_page = rc == 1;
        if (rc == 1)
            rc = dx_url_page_open(&k->page, &k->part->cold, &k->walk.page, k->walk.plain,
                                  dx_cold_file_name(DX_COLD_URL_IDS), err);
    }
    return rc;
}

static int next_known(const struct write *w, struct known *k, struct dx_error *err)
{
    int rc = read_known(w, k, err);

    k->has = rc == 1;
    return rc < 0 ? rc : DX_OK;
}

static int begin_known(struct write *w, struct dx_error *err)
{
    const struct dx_version *base = w->lake->base;
    int rc = DX_OK;

    for (size_t i = w->lake->kept_parts; base != NULL && rc == DX_OK && i < base->part_count; i++) {
        struct known *k = &w->known[w->known_count++];

        k->part = base->parts[i].part;
        rc = groups_then(k, err);
        if (rc == DX_OK)
            rc = dx_cold_walk_begin(&k->walk, k->part, DX_COLD_URL_IDS, err);
        k->walks = rc == DX_OK;
        if (rc == DX_OK)
            rc = next_known(w, k, err);
    }
    return rc;
}

/* The part with the least place; NULL: none has one. */
static struct known *least_known(struct write *w)
{
    struct known *least = NULL;

    for (size_t i = 0; i < w->known_count; i++)
        if (w->known[i].has &&
            (least == NULL || dx_url_place_compare(&w->known[i].place, &least->place) < 0))
            least = &w->known[i];
    return least;
}

/* ---- pages ---- */

static int end_page(struct write *w, struct dx_error *err)
{
    uint64_t key;
    int rc;

    if (w->out_count == 0)
        return DX_OK;
    rc = dx_url_page_encode(&w->plain, &w->writer->url_ids, &key, w->out, w->out_count, err);
    if (rc == DX_OK)
        rc = dx_cold_writer_page(w->writer, key, 0, (uint32_t)w->out_count,
                                 dx_span_of(w->plain.data, w->plain.size), err);
    w->urls->places += w->out_count;
    w->out_count = 0;
    return rc;
}

static int put(struct write *w, const struct dx_url_place *place, struct dx_error *err)
{
    assert(w->out_count < DX_URL_PAGE_PLACES);
    w->out[w->out_count++] = *place;
    return w->out_count == DX_URL_PAGE_PLACES ? end_page(w, err) : DX_OK;
}

/* Those of the base that come before a place; NULL: all. */
static int put_known(struct write *w, const struct dx_url_place *before, struct dx_error *err)
{
    struct known *k;
    int rc = DX_OK;

    while (rc == DX_OK && (k = least_known(w)) != NULL &&
           (before == NULL || dx_url_place_compare(&k->place, before) < 0)) {
        rc = put(w, &k->place, err);
        if (rc == DX_OK)
            rc = next_known(w, k, err);
    }
    return rc;
}

/* The stream, and among it those of the base that come before its last one. */
static int merge_stream(struct write *w, struct dx_error *err)
{
    struct dx_url_place place;
    int rc;

    while ((rc = next_scanned(w, &place, err)) == 1) {
        rc = put_known(w, &place, err);
        if (rc == DX_OK)
            rc = put(w, &place, err);
        if (rc != DX_OK)
            return rc;
    }
    return rc;
}

static int write_all(struct write *w, struct dx_error *err)
{
    int rc = dx_stream_spill_finish(w->urls->spool, err);

    if (rc == DX_OK)
        rc = groups_now(w, err);
    if (rc == DX_OK)
        rc = begin_known(w, err);
    for (size_t i = 0; rc == DX_OK && i < DX_URLS_STREAMS; i++) {
        if (dx_stream_spill_size(w->urls->spool, i) == 0)
            continue;
        rc = load_stream(w, i, err);
        if (rc == DX_OK)
            rc = merge_stream(w, err);
    }
    if (rc == DX_OK)
        rc = put_known(w, NULL, err);
    return rc == DX_OK ? end_page(w, err) : rc;
}

int dx_index_urls_write(struct dx_index_urls *u, const struct dx_index_lake *lake,
                        struct dx_cold_writer *writer, size_t memory_bytes, struct dx_error *err)
{
    struct write *w = calloc(1, sizeof *w);
    int rc;

    if (w == NULL)
        return dx_no_memory(err, "places of URLs");
    w->urls = u;
    w->lake = lake;
    w->writer = writer;
    w->memory_bytes = memory_bytes;
    dx_buf_init(&w->plain, DX_COLD_PAGE_PLAIN_MAX);
    u->places = 0;
    rc = write_all(w, err);
    u->spilled_bytes += dx_stream_spill_written(u->spool);
    for (size_t i = 0; i < w->known_count; i++) {
        dx_cold_walk_close(&w->known[i].walk);
        free(w->known[i].then.first);
    }
    dx_spill_sort_free(&w->spilled);
    dx_buf_release(&w->plain);
    free(w->now.first);
    free(w->places);
    free(w->scratch);
    free(w);
    return rc;
}
