/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_build.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "builder/index/index_dead.h"
#include "builder/index/index_identity.h"
#include "builder/index/index_state.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_lake.h"
#include "builder/scan/index_urls.h"
#include "builder/sort/spill_file.h"
#include "builder/sort/spill_sort.h"
#include "canon/url.h"
#include "format/version/manifest.h"
#include "loader/version.h"

#define URL_IDS_LEVEL 1             /* of zstd: ids do not become smaller, places little */
#define DOMAIN_BYTES_MAX (1u << 30) /* pairs of one domain: millions of datasets */

const char *dx_index_phase_name(enum dx_index_phase phase)
{
    static const char *const names[DX_INDEX_PHASES] = { "names", "counts", "tags", "pages" };

    return (unsigned)phase < DX_INDEX_PHASES ? names[phase] : "unknown";
}

void dx_index_state_drop_hashes(struct dx_index_state *b)
{
    if (b->hashes != NULL)
        (void)munmap(b->hashes, b->hashes_size);
    b->hashes = NULL;
}

void dx_index_state_count_spilled(struct dx_index_state *b, const struct dx_spill_sort *sort)
{
    struct dx_spill_sort_stats stats;

    dx_spill_sort_get_stats(sort, &stats);
    b->stats->spilled_bytes += stats.spilled_bytes;
}

int dx_index_urls_step(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_cold_writer *writer;
    int rc = dx_index_cold_begin(&b->cold, DX_COLD_URL_IDS, URL_IDS_LEVEL, &writer, err);

    if (rc == DX_OK)
        rc = dx_index_urls_write(b->lake->url_places, b->lake, writer, b->options->memory / 4, err);
    b->stats->url_places = b->lake->url_places->places;
    return rc == DX_OK ? dx_index_cold_end(&b->cold, DX_COLD_URL_IDS, err) : rc;
}

static int build_init(struct dx_index_state *b, struct dx_error *err)
{
    size_t memory = b->options->memory;
    uint64_t pairs = dx_spill_sort_count(b->lake->pairs) +
                     (b->lake->base == NULL ? 0 : b->lake->base->numbers);

    dx_buf_init(&b->ids, DOMAIN_BYTES_MAX);
    dx_buf_init(&b->counts, DOMAIN_BYTES_MAX);
    dx_counts_totals_init(&b->totals);
    dx_set_store_init(&b->sets, memory / 8);
    b->sets_live = true;
    /* Address space for the case that no domain is in two datasets; touched as used. */
    b->hashes_size = (size_t)pairs * 8 + 8;
    b->hashes = mmap(NULL, b->hashes_size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b->hashes == MAP_FAILED) {
        b->hashes = NULL;
        return dx_fail(err, DX_E_NOMEM, "no address space for %llu hashes",
                       (unsigned long long)pairs);
    }
    return dx_spill_file_new(&b->set_entries, b->options->tmp_dir, err);
}

static void build_release(struct dx_index_state *b)
{
    dx_buf_release(&b->ids);
    dx_buf_release(&b->counts);
    dx_index_merge_release(&b->merge);
    dx_index_state_drop_hashes(b);
    if (b->sets_live)
        dx_set_store_release(&b->sets);
    dx_spill_file_free(&b->set_entries);
    dx_index_ids_release(&b->domain_ids);
    dx_index_cold_release(&b->cold);
    dx_index_dead_free(&b->dead);
}

/* Those of the whole version: what the base has, with the new part in place of what it knows. */
static void fill_totals(const struct dx_index_state *b)
{
    struct dx_manifest_version *e = b->entry;
    const struct dx_version *base = b->lake->base;

    e->part = (struct dx_manifest_part){ b->n, b->totals.pairs, b->totals.row_count,
                                         b->totals.url_count, b->lake->first_file };
    e->domains = e->part.domains;
    e->pairs = e->part.pairs;
    e->rows = e->part.rows;
    e->urls = e->part.urls;
    e->part_count = b->lake->kept_parts;
    for (size_t i = 0; i < e->part_count; i++)
        memcpy(e->parts[i], base->parts[i].part->entry.version, sizeof e->parts[i]);
    if (e->part_count == 0)
        return;
    e->domains += base->entry.domains - b->known.domains;
    e->pairs += base->entry.pairs - b->known.pairs;
    e->rows += base->entry.rows - b->known.rows;
    e->urls += base->entry.urls - b->known.urls;
}

static void fill_entry(const struct dx_index_state *b)
{
    struct dx_manifest_version *e = b->entry;

    e->build = b->id->build;
    e->canon_version = DX_CANON_VERSION;
    e->rows_left_out = dx_index_lake_rows_left_out(b->lake);
    e->pages = 0;
    for (size_t i = 0; i < b->lake->registry->count; i++)
        if (b->lake->registry->datasets[i].kind == DX_DATASET_COUNTS)
            e->pages += b->lake->registry->datasets[i].rows;
    e->lake_files = 0;
    for (size_t i = 0; i < b->lake->file_count; i++)
        e->lake_files += b->lake->files[i].path != NULL;
    e->file_ids = b->lake->file_count;
    e->psl_hash = b->id->psl_hash;
}

int dx_index_build(struct dx_index_lake *lake, const struct dx_index_identity *id,
                   const struct dx_index_options *options, struct dx_manifest_version *entry,
                   struct dx_index_stats *stats, struct dx_error *err)
{
    static int (*const phases[DX_INDEX_PHASES])(struct dx_index_state *, struct dx_error *) = {
        [DX_INDEX_NAMES] = dx_index_names_phase,
        [DX_INDEX_COUNTS] = dx_index_counts_phase,
        [DX_INDEX_TAGS] = dx_index_tags_phase,
        [DX_INDEX_PAGES] = dx_index_lake_phase,
    };
    struct dx_index_state *b = calloc(1, sizeof *b);
    int rc;

    *stats = (struct dx_index_stats){ 0 };
    if (b == NULL)
        return dx_no_memory(err, "index");
    b->lake = lake;
    b->id = id;
    b->options = options;
    b->entry = entry;
    b->stats = stats;
    b->cold = (struct dx_index_cold){
        .dir = options->dir, .sync = options->sync, .build = &id->build, .entry = entry
    };
    rc = build_init(b, err);
    for (int i = 0; rc == DX_OK && i < DX_INDEX_PHASES; i++) {
        double begin = dx_clock_s();
        double cpu = dx_clock_cpu_s();

        rc = dx_index_state_stopped(b) ? dx_fail(err, DX_E_BUSY, "interrupted") : phases[i](b, err);
        stats->seconds[i] = dx_clock_s() - begin;
        stats->cpu_s[i] = dx_clock_cpu_s() - cpu;
    }
    if (rc == DX_OK)
        fill_totals(b);
    if (rc == DX_OK && (entry->rows != lake->rows || entry->urls != lake->urls))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%llu rows and %llu URLs were scanned, %llu and %llu were indexed",
                     (unsigned long long)lake->rows, (unsigned long long)lake->urls,
                     (unsigned long long)entry->rows, (unsigned long long)entry->urls);
    if (rc == DX_OK)
        fill_entry(b);
    build_release(b);
    free(b);
    return rc;
}
