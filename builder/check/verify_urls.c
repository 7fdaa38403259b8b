/* SPDX-License-Identifier: Apache-2.0
 * url_ids.dat.zst of each part: that its places ascend and lie within the part's files, and that each dataset
 * has as many as it has URLs. Whose URL stands at a place, a new scan says (dx_verify_url_places).
 */
#include "builder/check/verify.h"

#include "builder/check/verify_pairs.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_urls.h"
#include "builder/scan/urls_record.h"
#include "builder/sort/stream_spill.h"
#include "format/version/url_ids.h"
#include "loader/version_parts.h"

#include <stdlib.h>

/* A row group of the part at hand. */
struct group {
    uint64_t begin; /* rows of all groups before */
    uint64_t end;   /* the same of the last group of its file: where the file's rows end */
    uint32_t file_id;
};

struct urls_check {
    struct dx_verify *w;
    struct group *groups;
    uint64_t group_count;
    uint64_t row_count;
    uint64_t *places; /* of each file of the version */
    size_t files;
};

static uint64_t sum_place(const struct dx_url_place *place)
{
    const uint64_t words[] = { dx_url_id_kept(place->id), place->group, place->row, place->rows };

    return dx_hash64_seeded(dx_span_of(words, sizeof words), 1);
}

static int read_file(struct urls_check *c, uint64_t id, const struct dx_pages_file *file,
                     struct dx_error *why)
{
    const struct dx_pages *pages = &c->w->part->pages;
    struct dx_page_group group;
    int rc = 1;

    for (uint32_t g = 0; rc == 1 && g < file->row_groups; g++) {
        rc = dx_pages_group(pages, file, g, &group, why);
        if (rc == 1 && c->group_count == pages->groups)
            return dx_fail(why, DX_E_CORRUPT, DX_FILE_PAGES ": more row groups than it has");
        if (rc != 1)
            break;
        c->groups[c->group_count++] = (struct group){ .begin = c->row_count,
                                                      .file_id = (uint32_t)id };
        c->row_count += group.rows;
    }
    for (uint64_t g = c->group_count; g > 0 && c->groups[g - 1].file_id == id; g--)
        c->groups[g - 1].end = c->row_count;
    return rc < 0 ? rc : DX_OK;
}

static int read_files(struct urls_check *c, struct dx_error *why)
{
    const struct dx_pages *pages = &c->w->part->pages;
    int rc = DX_OK;

    c->group_count = c->row_count = 0;
    for (uint64_t i = 0; rc >= 0 && i < pages->files; i++) {
        struct dx_pages_file file;

        rc = dx_pages_file(pages, pages->first_file + i, &file, why);
        if (rc == 1)
            rc = read_file(c, pages->first_file + i, &file, why);
    }
    return rc < 0 ? rc : DX_OK;
}

static int check_place(struct urls_check *c, const struct dx_url_place *place, struct dx_error *why)
{
    const struct group *g = place->group < c->group_count ? &c->groups[place->group] : NULL;
    uint64_t next = place->group + 1 < c->group_count ? g[1].begin : c->row_count;
    struct dx_url_place kept = *place;

    if (g == NULL || place->row >= next - g->begin || place->rows > g->end - g->begin - place->row)
        return dx_fail(why, DX_E_CORRUPT,
                       DX_FILE_URL_IDS ": url_id 0x%016llx: rows %llu+%llu of row group %llu are "
                                       "not there",
                       (unsigned long long)place->id, (unsigned long long)place->row,
                       (unsigned long long)place->rows, (unsigned long long)place->group);
    c->places[g->file_id]++;
    if (dx_version_is_gone(c->w->version, g->file_id))
        return DX_OK; /* a new scan does not find it */
    if (dx_cold_is_old(&c->w->part->cold))
        dx_url_place_widen(&kept, place->rows > next - g->begin - place->row);
    c->w->parts[c->w->at].url_places++;
    c->w->parts[c->w->at].url_sum += sum_place(&kept);
    return DX_OK;
}

/* Within a page the reader sees to it that places ascend; here, from page to page. */
static int check_pages(struct urls_check *c, struct dx_verify_pairs *file, struct dx_error *why)
{
    struct dx_url_place last = { 0 };
    struct dx_cold_page page;
    struct dx_span plain;
    int rc;

    while ((rc = dx_verify_pairs_page(file, &page, &plain, why)) == 1) {
        struct dx_url_page u;
        struct dx_url_place place;
        bool first = true;

        rc = dx_url_page_open(&u, &c->w->part->cold, &page, plain, DX_FILE_URL_IDS, why);
        while (rc >= 0 && (rc = dx_url_page_next(&u, &place, why)) == 1) {
            if (first && page.number > 0 && dx_url_place_compare(&last, &place) > 0)
                rc = dx_fail(why, DX_E_CORRUPT,
                             DX_FILE_URL_IDS ": page %u does not go on where the one before ends",
                             (unsigned)page.number);
            if (rc >= 0)
                rc = check_place(c, &place, why);
            if (rc < 0)
                return rc;
            first = false;
            last = place;
        }
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int check_part(struct urls_check *c, struct dx_error *why)
{
    struct dx_verify_pairs file = { .map = DX_MAP_INIT };
    int rc;

    c->groups = calloc(c->w->part->pages.groups + 1, sizeof *c->groups);
    rc = c->groups == NULL ? dx_no_memory(why, "verify") : read_files(c, why);
    if (rc == DX_OK)
        rc = dx_verify_pairs_open(&file, c->w, DX_COLD_URL_IDS, why);
    if (rc == DX_OK)
        rc = dx_url_id_list_check(&c->w->part->cold, why);
    if (rc == DX_OK)
        rc = check_pages(c, &file, why);
    dx_verify_pairs_close(&file);
    free(c->groups);
    c->groups = NULL;
    return rc;
}

/* A URL has a place in each file that has it: of a dataset with one file that is as many as URLs,
 * if none was led to by others. */
static int check_datasets(struct urls_check *c, struct dx_error *why)
{
    const struct dx_version *v = c->w->version;
    uint64_t *sums = calloc(v->registry.count + 1, sizeof *sums);
    bool *more = calloc(v->registry.count + 1, sizeof *more);
    int rc = sums == NULL || more == NULL ? dx_no_memory(why, "verify") : DX_OK;

    for (uint64_t i = 0; rc >= 0 && i < c->files; i++) {
        const struct dx_part *part;
        struct dx_pages_file file;
        const struct dx_dataset *d;

        rc = dx_version_file(v, i, &part, &file, why);
        d = rc == 1 ? dx_registry_by_id(&v->registry, file.dataset_id) : NULL;
        if (d != NULL)
            sums[d - v->registry.datasets] += c->places[i];
        if (d != NULL &&
            (rc = dx_pages_has_column(&part->pages, &file, DX_REQUESTED_URL, why)) == 1)
            more[d - v->registry.datasets] = true;
    }
    for (size_t i = 0; rc >= 0 && i < v->registry.count; i++) {
        const struct dx_dataset *d = &v->registry.datasets[i];

        uint64_t urls = d->kind == DX_DATASET_COUNTS ? 0 : d->urls;

        if (d->kind == DX_DATASET_COUNTS || (d->files == 1 && !more[i]) ? sums[i] != urls
                                                                        : sums[i] < urls)
            dx_verify_found(c->w,
                            DX_FILE_URL_IDS ": %llu places in the %llu files of dataset %u, "
                                            "which has %llu URLs",
                            (unsigned long long)sums[i], (unsigned long long)d->files,
                            (unsigned)d->dataset_id, (unsigned long long)urls);
    }
    free(sums);
    free(more);
    return rc < 0 ? rc : DX_OK;
}

/* The numbers of files go on from part to part: dx_verify_files. */
int dx_verify_urls(struct dx_verify *w, struct dx_error *err)
{
    const struct dx_pages *last = &dx_version_own(w->version)->pages;
    struct urls_check c = { .w = w, .files = (size_t)(last->first_file + last->files) };
    struct dx_error why = DX_ERROR_INIT;
    int rc = DX_OK;

    dx_verify_phase(w, "reading the places of all URLs");
    c.places = calloc(c.files + 1, sizeof *c.places);
    if (c.places == NULL)
        rc = dx_no_memory(&why, "verify");
    for (size_t i = 0; rc == DX_OK && i < w->version->part_count; i++) {
        dx_verify_enter(w, i);
        rc = check_part(&c, &why);
        if (rc < 0)
            rc = dx_verify_damage(w, &why, err) < 0 ? rc : 1;
        dx_verify_leave(w);
    }
    if (rc == DX_OK)
        rc = check_datasets(&c, &why);
    free(c.places);
    if (rc == 1) /* it was said */
        return DX_OK;
    return rc < 0 ? dx_verify_damage(w, &why, err) : DX_OK;
}

/* ---- against a new scan ---- */

struct places {
    const struct dx_verify *w;
    uint64_t *first; /* number of each file's first row group among all of its part */
    size_t files;
    uint8_t carry[DX_URLS_RECORD];
    size_t carried;
    struct dx_verify_part parts[DX_PARTS_MAX]; /* what was found */
};

static int add_record(struct places *p, const uint8_t *bytes, struct dx_error *why)
{
    struct dx_urls_record r;
    struct dx_url_place place;
    size_t part;

    dx_urls_record_read(bytes, &r);
    part = dx_verify_part_of_file(p->w, r.file_id);
    if (r.file_id >= p->files || part == p->w->version->part_count)
        return dx_fail(why, DX_E_CORRUPT, "verify: a place in a file that was not read");
    place = (struct dx_url_place){
        .id = r.id, .group = p->first[r.file_id] + r.row_group, .row = r.row, .rows = r.rows
    };
    p->parts[part].url_places++;
    p->parts[part].url_sum += sum_place(&place);
    return DX_OK;
}

/* Records come in pieces. */
static int take_piece(void *ctx, struct dx_span piece, struct dx_error *why)
{
    struct places *p = ctx;
    int rc = DX_OK;

    while (rc == DX_OK && piece.size > 0) {
        size_t n = DX_URLS_RECORD - p->carried;

        n = n < piece.size ? n : piece.size;
        memcpy(p->carry + p->carried, piece.data, n);
        p->carried += n;
        piece = dx_span_from(piece, n);
        if (p->carried < DX_URLS_RECORD)
            break;
        p->carried = 0;
        rc = add_record(p, p->carry, why);
    }
    return rc;
}

static void count_groups(struct places *p, const struct dx_index_lake *lake)
{
    uint64_t groups = 0;
    size_t part = 0;

    for (size_t i = 0; i < lake->file_count; i++) {
        size_t of = dx_verify_part_of_file(p->w, i);

        groups = of == part ? groups : 0;
        part = of;
        p->first[i] = groups;
        groups += lake->files[i].row_groups; /* also of one that left: pages.dxp counts it */
    }
}

static void compare_places(struct dx_verify *w, const struct places *p)
{
    for (size_t i = 0; i < w->version->part_count; i++) {
        const struct dx_verify_part *found = &p->parts[i];
        const struct dx_verify_part *part = &w->parts[i];

        dx_verify_enter(w, i);
        if (found->url_places != part->url_places || found->url_sum != part->url_sum)
            dx_verify_found(
                w, DX_FILE_URL_IDS ": its %llu places are not the %llu of the lake's URLs",
                (unsigned long long)part->url_places, (unsigned long long)found->url_places);
        dx_verify_leave(w);
    }
}

/* No sort: the same places in any order have the same sum. */
int dx_verify_url_places(struct dx_verify *w, const struct dx_index_lake *lake,
                         struct dx_error *why)
{
    struct places p = { .w = w,
                        .files = lake->file_count,
                        .first = calloc(lake->file_count + 1, sizeof *p.first) };
    int rc = p.first == NULL ? dx_no_memory(why, "verify") : DX_OK;

    if (rc == DX_OK) {
        count_groups(&p, lake);
        rc = dx_stream_spill_finish(lake->url_places->spool, why);
    }
    for (size_t s = 0; rc == DX_OK && s < DX_URLS_STREAMS; s++)
        rc = dx_stream_spill_replay(lake->url_places->spool, s, take_piece, &p, why);
    if (rc == DX_OK)
        compare_places(w, &p);
    free(p.first);
    return rc;
}
