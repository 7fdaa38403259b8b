/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/version_model.h"

#include "base/file.h"
#include "canon/url.h"
#include "format/core/membership.h"
#include "format/core/zseek_whole.h"
#include "format/version/cold.h"
#include "format/version/files_tsv.h"
#include "format/version/pages.h"
#include "format/version/pair_pages.h"
#include "format/version/postings.h"
#include "loader/cold_walk.h"
#include "loader/version.h"
#include "tests/support/damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)64 << 20)

static struct dx_error err;

static void must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "version_model: %s: %s\n", what, err.text);
    exit(1);
}

/* ---- reading ---- */

static void read_names(struct dx_test_version *m, const struct dx_version *v)
{
    for (uint64_t i = 0; i < v->entry.domains; i++) {
        uint8_t domain[DX_SURT_MAX];
        size_t size;

        must(dx_dictionary_get(&dx_version_own(v)->dictionary, i, domain, &size, &err), "name");
        memcpy(m->text.name[i], domain, size);
        m->text.name[i][size] = '\0';
    }
    m->text.count = (unsigned)v->entry.domains;
    m->dictionary = m->hashed = m->text;
    m->ordinals = m->text.count;
}

static void read_pairs(struct dx_test_version *m, const struct dx_version *v)
{
    for (unsigned i = 0; i < m->ordinals; i++) {
        struct dx_dataset_set set;

        must(dx_membership_get(&dx_version_own(v)->membership, i, &set, &err), "set");
        m->set_size[i] = dx_dataset_set_count(&set);
        (void)dx_dataset_set_ids(&set, m->sets[i], MODEL_DATASETS);
        must(dx_counts_get(&dx_version_own(v)->counts, i, m->set_size[i], m->counts[i], &err),
             "counts");
        must(dx_counts_distinct(&dx_version_own(v)->counts, i, &m->distinct[i].less,
                                &m->distinct[i].dense, &err),
             "distinct");
    }
}

static void read_lists(struct dx_test_version *m, const struct dx_version *v)
{
    for (unsigned d = 0; d < MODEL_DATASETS; d++) {
        struct dx_domain_cursor c;
        struct dx_domain_list list;

        if (dx_dataset_domains_of(&dx_version_own(v)->dataset_domains, d + 1, &list, &err) != 1)
            continue;
        dx_domain_cursor_begin(&c, &dx_version_own(v)->dataset_domains, &list);
        while (dx_domain_cursor_next(&c, &err) == 1)
            m->lists[d][m->list_size[d]++] = (struct dx_domain_count){ c.ordinal, c.url_count };
    }
}

static void read_entries(struct dx_test_entries *to, struct dx_version *v, enum dx_cold_file file)
{
    struct dx_cold_walk w;

    must(dx_cold_walk_begin(&w, dx_version_own(v), file, &err), "walk");
    while (dx_cold_walk_next(&w, &err) == 1) {
        struct dx_pair_page page = dx_pair_page_of(&w.page, dx_cold_version(&w.part->cold),
                                                   w.plain);
        struct dx_span bytes;

        while (dx_pair_page_next(&page, &to->entry[to->count].ordinal,
                                 &to->entry[to->count].dataset_id, &bytes, &err) == 1) {
            if (bytes.size > MODEL_ENTRY)
                abort();
            memcpy(to->entry[to->count].bytes, bytes.data, bytes.size);
            to->entry[to->count++].size = bytes.size;
        }
    }
    dx_cold_walk_close(&w);
}

static void read_places(struct dx_test_version *m, struct dx_version *v)
{
    struct dx_cold_walk w;

    must(dx_cold_walk_begin(&w, dx_version_own(v), DX_COLD_URL_IDS, &err), "walk");
    while (dx_cold_walk_next(&w, &err) == 1) {
        struct dx_url_page page;
        struct dx_url_place place;

        must(dx_url_page_open(&page, &w.part->cold, &w.page, w.plain, DX_FILE_URL_IDS, &err),
             "places");
        while (dx_url_page_next(&page, &place, &err) == 1) {
            if (m->place_count == MODEL_PLACES)
                abort();
            m->places[m->place_count++] = place;
        }
    }
    dx_cold_walk_close(&w);
}

static void read_file_of(const struct dx_version *v, const char *name, struct dx_buf *out)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s/%s", v->root, dx_version_own(v)->directory, name);
    dx_buf_clear(out);
    must(dx_file_read(path, FILE_MAX, out, &err), path);
}

static void read_page(struct dx_test_version *m, const struct dx_version *v,
                      const struct dx_postings_page *page, struct dx_span idx, struct dx_span dat)
{
    struct dx_zstd_decoder *decoder = dx_zstd_decoder_new();
    uint8_t *plain = malloc(page->idx_plain + page->dat_plain + 1);
    uint8_t *payloads = plain + page->idx_plain;

    must(dx_postings_idx_decode(page, decoder, 0,
                                dx_span_of(idx.data + page->idx_offset, page->idx_size), plain,
                                &err),
         "idx");
    must(dx_postings_dat_decode(page, decoder, 0,
                                dx_span_of(dat.data + page->dat_offset, page->dat_size), payloads,
                                &err),
         "dat");
    for (uint32_t i = 0; i < page->entries; i++) {
        struct dx_test_posting *to = &m->postings[m->posting_count++];
        struct dx_posting posting;
        struct dx_payload payload;
        struct dx_span bytes;

        must(dx_postings_entry_at(page, dx_span_of(plain, page->idx_plain), i, &posting, &err),
             "entry");
        must(dx_postings_payload(page, dx_span_of(payloads, page->dat_plain), &posting, &bytes,
                                 &err),
             "payload");
        to->domain_id = dx_hash64(dx_span_str(m->text.name[posting.place.domain]));
        to->dataset_id = m->sets[posting.place.domain][posting.place.dataset];
        must(dx_postings_list(&dx_version_own(v)->postings, posting.place.domain, to->dataset_id,
                              bytes, "payload", &payload, &err),
             "payload");
        while (dx_payload_next(&payload, &to->runs[to->run_count]) == 1)
            to->run_count++;
    }
    free(plain);
    dx_zstd_decoder_free(&decoder);
}

static void read_postings(struct dx_test_version *m, const struct dx_version *v)
{
    struct dx_buf idx = DX_BUF_INIT(FILE_MAX);
    struct dx_buf dat = DX_BUF_INIT(FILE_MAX);

    read_file_of(v, DX_FILE_POSTINGS_IDX, &idx);
    read_file_of(v, DX_FILE_POSTINGS_DAT, &dat);
    for (uint64_t i = 0; i < dx_version_own(v)->postings.totals.pages; i++) {
        struct dx_postings_page page;

        must(dx_postings_page_at(&dx_version_own(v)->postings, i, &page, &err), "page");
        read_page(m, v, &page, dx_span_of(idx.data, idx.size), dx_span_of(dat.data, dat.size));
    }
    dx_buf_release(&idx);
    dx_buf_release(&dat);
}

static void read_lake_files(struct dx_test_version *m, const struct dx_version *v)
{
    for (uint64_t i = 0; i < dx_version_own(v)->pages.files; i++) {
        struct dx_test_lake_file *to = &m->pages[m->pages_count++];
        struct dx_pages_file file;
        uint64_t begin;
        uint64_t end;

        must(dx_pages_file(&dx_version_own(v)->pages, i, &file, &err), "file");
        if (file.row_groups != 1)
            abort(); /* small files have one */
        to->dataset_id = file.dataset_id;
        (void)snprintf(to->path, sizeof to->path, "%.*s", (int)file.path.size,
                       (const char *)file.path.data);
        (void)snprintf(to->prefix, sizeof to->prefix, "00-ff");
        to->size = file.size;
        to->rows = file.rows;
        to->hash = file.hash;
        dx_hash128_text(&file.hash, to->etag);
        begin = dx_load_u64(dx_version_own(v)->pages.group_index.data + 8 * file.first_group);
        end = dx_load_u64(dx_version_own(v)->pages.group_index.data + 8 * file.first_group + 8);
        to->record_size = (size_t)(end - begin);
        memcpy(to->record, dx_version_own(v)->pages.group_records.data + begin, to->record_size);
    }
    memcpy(m->tsv, m->pages, sizeof m->tsv);
    m->tsv_count = m->pages_count;
}

void dx_test_version_read(struct dx_test_version *m, const char *root)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_buf psl = DX_BUF_INIT(sizeof m->psl);
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;

    memset(m, 0, sizeof *m);
    must(dx_caches_new(&caches, &options, &err), "caches");
    must(dx_version_open_named(&v, root, NULL, caches, &options, &err), "open");
    read_names(m, v);
    read_pairs(m, v);
    read_lists(m, v);
    read_entries(&m->facts, v, DX_COLD_FACTS);
    read_entries(&m->sketches, v, DX_COLD_SKETCHES);
    read_places(m, v);
    read_postings(m, v);
    read_lake_files(m, v);
    for (size_t i = 0; i < v->registry.count; i++) {
        const struct dx_dataset *d = &v->registry.datasets[i];
        struct dx_test_dataset *to = &m->datasets[m->dataset_count++];

        *to = (struct dx_test_dataset){ .files = d->files,
                                        .rows = d->rows,
                                        .urls = d->urls,
                                        .domains = d->domains,
                                        .has_ts = d->has_ts,
                                        .first_us = d->first_us,
                                        .last_us = d->last_us };
        (void)snprintf(to->name, sizeof to->name, "%s", d->name);
    }
    read_file_of(v, DX_FILE_PSL, &psl);
    must(dx_zseek_expand(&psl, DX_FILE_PSL, sizeof m->psl, &err), "psl");
    memcpy(m->psl, psl.data, psl.size);
    m->psl_size = psl.size;
    m->domains = v->entry.domains;
    m->dataset_number = v->entry.datasets;
    m->pairs = v->entry.pairs;
    m->rows = v->entry.rows;
    m->urls = v->entry.urls;
    m->lake_files = v->entry.lake_files;
    dx_buf_release(&psl);
    dx_version_unpin(v);
    dx_caches_free(&caches);
}

void dx_test_version_retotal(struct dx_test_version *m)
{
    m->pairs = m->rows = m->urls = 0;
    for (unsigned d = 0; d < m->dataset_count; d++)
        m->datasets[d].rows = m->datasets[d].urls = m->datasets[d].domains = 0;
    for (unsigned i = 0; i < m->ordinals; i++)
        for (unsigned k = 0; k < m->set_size[i]; k++) {
            const struct dx_pair_count *pair = &m->counts[i][k];
            struct dx_test_dataset *d = &m->datasets[m->sets[i][k] - 1];

            m->pairs++;
            m->rows += pair->row_count;
            m->urls += pair->url_count;
            d->domains++;
            d->rows += pair->row_count;
            d->urls += pair->url_count;
        }
    for (unsigned d = 0; d < m->dataset_count; d++) {
        struct dx_test_dataset *to = &m->datasets[d];

        to->has_ts = false;
        to->first_us = INT64_MAX;
        to->last_us = INT64_MIN;
        for (unsigned i = 0; i < m->ordinals; i++)
            for (unsigned k = 0; k < m->set_size[i]; k++)
                if (m->sets[i][k] == d + 1 && m->counts[i][k].has_ts) {
                    to->has_ts = true;
                    if (m->counts[i][k].first_us < to->first_us)
                        to->first_us = m->counts[i][k].first_us;
                    if (m->counts[i][k].last_us > to->last_us)
                        to->last_us = m->counts[i][k].last_us;
                }
    }
}

void dx_test_version_edit_record(struct dx_test_version *m, unsigned file, enum dx_test_edit edit)
{
    struct dx_test_lake_file *f = &m->pages[file];
    struct dx_page_column columns[DX_PAGE_COLUMNS_MAX];
    struct dx_page_location pages[DX_PAGE_COLUMNS_MAX][8];
    struct dx_buf out = DX_BUF_INIT(MODEL_RECORD);
    struct dx_page_group group;
    size_t n = 0;

    if (dx_page_group_open(&group, dx_span_of(f->record, f->record_size), f->size, "record", &err) <
        0)
        abort();
    for (; dx_page_group_next(&group, &columns[n]) == 1; n++) {
        struct dx_page_column at = columns[n];
        unsigned k = 0;

        while (k < 8 && dx_page_column_next(&at, &pages[n][k]) == 1)
            k++;
        columns[n].pages = pages[n];
        if (edit == MODEL_MORE_ROWS)
            pages[n][k - 1].rows += MODEL_MORE;
        if (columns[n].role == DX_ROLE_HOST) {
            if (edit == MODEL_SUM)
                pages[n][0].sum ^= 1;
            if (edit == MODEL_OFFSET) {
                pages[n][0].offset++;
                pages[n][0].size--;
            }
            if (edit == MODEL_ROLE)
                columns[n].role = DX_ROLE_PATH_QUERY;
            if (edit == MODEL_NAME_OF)
                columns[n].name = dx_span_str("most");
        }
        if (columns[n].role == DX_ROLE_TS && edit == MODEL_TIME_UNIT)
            columns[n].time_unit = columns[n].time_unit == DX_PAGE_TIME_MS ? DX_PAGE_TIME_US
                                                                           : DX_PAGE_TIME_MS;
    }
    if (edit == MODEL_DROP)
        n--;
    if (edit == MODEL_MORE_ROWS)
        f->rows += MODEL_MORE;
    must(dx_page_group_encode(&out, f->size, f->rows, columns, n, &err), "record");
    memcpy(f->record, out.data, out.size);
    f->record_size = out.size;
    dx_buf_release(&out);
}

/* ---- writing ---- */

struct writing {
    const struct dx_test_version *m;
    char folder[512];
    struct dx_manifest manifest;
    struct dx_manifest_version *entry;
    struct dx_build_id build;
    struct dx_hash128 text_hash;
    struct dx_buf datasets, tsv; /* plain */
};

static void put(struct writing *w, const char *name, struct dx_span bytes)
{
    char path[600];
    struct dx_hash128 hash = dx_hash128_of(bytes);
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%s", w->folder, name);
    f = fopen(path, "wb");
    if (f == NULL || fwrite(bytes.data, 1, bytes.size, f) != bytes.size || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
    must(dx_manifest_file_add(w->entry, name, bytes.size, &hash, &err), name);
}

static void put_buf(struct writing *w, const char *name, struct dx_buf *b)
{
    if (b->failed)
        abort();
    put(w, name, dx_span_of(b->data, b->size));
    dx_buf_release(b);
}

static void make_texts(struct writing *w)
{
    const struct dx_test_version *m = w->m;
    struct dx_registry registry = DX_REGISTRY_INIT;
    struct dx_files_tsv_writer tsv;

    for (unsigned i = 0; i < m->dataset_count; i++) {
        const struct dx_test_dataset *from = &m->datasets[i];
        struct dx_dataset *d;

        must(dx_registry_add(&registry, dx_span_str(from->name), &d, &err), "dataset");
        d->files = from->files;
        d->rows = from->rows;
        d->urls = from->urls;
        d->domains = from->domains;
        d->has_ts = from->has_ts;
        d->first_us = from->has_ts ? from->first_us : 0;
        d->last_us = from->has_ts ? from->last_us : 0;
    }
    must(dx_registry_write(&registry, &w->datasets, &err), "datasets.json");
    dx_registry_release(&registry);
    dx_files_tsv_writer_begin(&tsv, &w->tsv);
    for (unsigned i = 0; i < m->tsv_count; i++) {
        const struct dx_test_lake_file *f = &m->tsv[i];
        struct dx_files_row row = { .file_id = i,
                                    .dataset_id = f->dataset_id,
                                    .domain_prefix = dx_span_str(f->prefix),
                                    .path = dx_span_str(f->path),
                                    .size = f->size,
                                    .etag = dx_span_str(f->etag),
                                    .rows = f->rows };

        must(dx_files_tsv_write(&tsv, &row, &err), "files.tsv");
    }
}

/* The rule of docs/FORMAT.md section 1, restated. */
static void make_build_id(struct writing *w)
{
    struct dx_hash128 psl = dx_hash128_of(dx_span_of(w->m->psl, w->m->psl_size));
    struct dx_buf all = DX_BUF_INIT(FILE_MAX);
    struct dx_hash128 hash;
    char hex[DX_HASH128_TEXT];

    dx_hash128_text(&psl, hex);
    dx_buf_fmt(&all, "domaindex-build-9\n%d\n%s\n", DX_CANON_VERSION, hex);
    dx_buf_append(&all, w->datasets.data, w->datasets.size);
    dx_buf_u8(&all, '\n');
    dx_buf_append(&all, w->tsv.data, w->tsv.size);
    hash = dx_hash128_of(dx_span_of(all.data, all.size));
    memcpy(w->build.bytes, hash.bytes, sizeof w->build.bytes);
    w->build.bytes[5] ^= w->m->build_flip;
    w->entry->build = w->build;
    w->entry->psl_hash = psl;
    w->entry->psl_hash.bytes[3] ^= w->m->psl_hash_flip;
    dx_buf_release(&all);
}

static void put_lines(struct writing *w, const char *name, struct dx_span plain)
{
    struct dx_buf zst = DX_BUF_INIT(FILE_MAX);
    struct dx_zseek_writer z;

    must(dx_zseek_writer_init(&z, 0, dx_envelope_sink_buf, &zst, &err), name);
    if (plain.size > 0)
        must(dx_zseek_writer_frame(&z, plain, NULL, &err), name);
    must(dx_zseek_writer_finish(&z, &err), name);
    dx_zseek_writer_release(&z);
    put_buf(w, name, &zst);
}

static void put_text(struct writing *w, const char *name, const char *plain_name,
                     struct dx_span text)
{
    if (w->m->plain_texts)
        put(w, plain_name, text);
    else
        put_lines(w, name, text);
}

static void write_names(struct writing *w)
{
    const struct dx_test_version *m = w->m;
    struct dx_dictionary_info info = { .n = m->dictionary.count };
    struct dx_dictionary_writer dictionary;
    struct dx_buf text = DX_BUF_INIT(FILE_MAX);
    struct dx_buf file = DX_BUF_INIT(FILE_MAX);
    struct dx_mphf_built built;
    uint64_t hashes[MODEL_DOMAINS];
    uint64_t seed = 0;
    int rc;

    for (unsigned i = 0; i < m->dictionary.count; i++) {
        if (strlen(m->dictionary.name[i]) > info.longest_key)
            info.longest_key = (uint32_t)strlen(m->dictionary.name[i]);
        dx_buf_fmt(&text, "%s\n", m->dictionary.name[i]);
    }
    w->text_hash = info.text_hash = dx_hash128_of(dx_span_of(text.data, text.size));
    dx_buf_release(&text);
    must(
        dx_dictionary_writer_init(&dictionary, &info, &w->build, dx_envelope_sink_buf, &file, &err),
        "dictionary");
    for (unsigned i = 0; i < m->dictionary.count; i++) {
        uint8_t key[DX_SURT_MAX];

        must(dx_dictionary_writer_add(
                 &dictionary, dx_span_of(key, dx_surt_key(dx_span_str(m->dictionary.name[i]), key)),
                 &err),
             "dictionary");
    }
    must(dx_dictionary_writer_finish(&dictionary, &err), "dictionary");
    dx_dictionary_writer_release(&dictionary);
    if (m->list_hash_wrong) {
        file.data[24] ^= 1;
        w->text_hash.bytes[0] ^= 1;
        envelope_resum(file.data, file.size);
    }
    put_buf(w, DX_FILE_DOMAINS_DICT, &file);
    if (m->mphf_text_hash_wrong)
        w->text_hash.bytes[0] ^= 1;
    do {
        for (unsigned i = 0; i < m->hashed.count; i++)
            hashes[i] = dx_mphf_hash(dx_span_str(m->hashed.name[i]), seed);
        rc = dx_mphf_build(&built, hashes, m->hashed.count, seed, 0, 1, &err);
    } while (rc == DX_MPHF_RESEED && ++seed < 16);
    must(rc, "mphf");
    dx_buf_init(&file, FILE_MAX);
    must(dx_mphf_write(&built, hashes, &w->text_hash, m->collisions, m->collision_count, &w->build,
                       dx_envelope_sink_buf, &file, &err),
         "mphf");
    dx_mphf_built_release(&built);
    put_buf(w, DX_FILE_DOMAINS_MPHF, &file);
}

static void write_pairs(struct writing *w)
{
    const struct dx_test_version *m = w->m;
    struct dx_buf file = DX_BUF_INIT(FILE_MAX);
    struct dx_counts_totals totals;
    struct dx_counts_writer counts;
    struct dx_set_store store;
    struct dx_membership_writer membership;
    uint32_t entries[MODEL_DOMAINS];

    dx_set_store_init(&store, FILE_MAX);
    dx_counts_totals_init(&totals);
    for (unsigned i = 0; i < m->ordinals; i++) {
        must(dx_set_store_add(&store, m->sets[i], m->set_size[i], &entries[i], &err), "set");
        must(dx_counts_totals_add(&totals, m->counts[i], m->set_size[i], &err), "totals");
    }
    must(dx_membership_writer_begin(&membership, &store, &w->build, dx_envelope_sink_buf, &file,
                                    &err),
         "membership");
    must(dx_membership_writer_entries(&membership, entries, m->ordinals, &err), "membership");
    must(dx_membership_writer_end(&membership, &err), "membership");
    dx_membership_writer_release(&membership);
    dx_set_store_release(&store);
    if (m->sets_header_wrong) {
        dx_store_u64(file.data + 24, dx_load_u64(file.data + 24) - 1);
        envelope_resum(file.data, file.size);
    }
    put_buf(w, DX_FILE_MEMBERSHIP, &file);
    dx_buf_init(&file, FILE_MAX);
    must(dx_counts_writer_begin(&counts, &totals, &w->build, dx_envelope_sink_buf, &file, &err),
         "counts");
    for (unsigned i = 0; i < m->ordinals; i++) {
        dx_counts_writer_distinct(&counts, m->distinct[i].less, m->distinct[i].dense);
        must(dx_counts_writer_add(&counts, m->counts[i], m->set_size[i], &err), "counts");
    }
    must(dx_counts_writer_end(&counts, &err), "counts");
    dx_counts_writer_release(&counts);
    if (m->counts_header_wrong) {
        dx_store_u64(file.data + 48, dx_load_u64(file.data + 48) - 1);
        envelope_resum(file.data, file.size);
    }
    put_buf(w, DX_FILE_COUNTS, &file);
}

static void write_lists(struct writing *w)
{
    const struct dx_test_version *m = w->m;
    struct dx_dataset_domains_writer lists;
    struct dx_buf file = DX_BUF_INIT(FILE_MAX);
    uint64_t pairs = 0;

    for (unsigned d = 0; d < MODEL_DATASETS; d++)
        pairs += m->list_size[d];
    must(dx_dataset_domains_writer_begin(&lists, m->ordinals, pairs, &w->build,
                                         dx_envelope_sink_buf, &file, &err),
         "lists");
    for (unsigned d = 0; d < MODEL_DATASETS; d++) {
        if (m->list_size[d] == 0)
            continue;
        must(dx_dataset_domains_writer_dataset(&lists, d + 1, &err), "lists");
        for (unsigned i = 0; i < m->list_size[d]; i++)
            must(dx_dataset_domains_writer_add(&lists, m->lists[d][i].ordinal,
                                               m->lists[d][i].url_count, &err),
                 "lists");
        if (dx_dataset_domains_writer_counted(&lists, &err) != 0)
            abort(); /* short lists have no head */
    }
    must(dx_dataset_domains_writer_end(&lists, &err), "lists");
    dx_dataset_domains_writer_release(&lists);
    put_buf(w, DX_FILE_DATASET_DOMAINS, &file);
}

static void write_entries(const struct dx_test_entries *from, struct dx_cold_writer *out)
{
    struct dx_pair_pages pages;

    dx_pair_pages_begin(&pages, out);
    for (unsigned i = 0; i < from->count; i++)
        must(dx_pair_pages_add(&pages, from->entry[i].ordinal, from->entry[i].dataset_id,
                               dx_span_of(from->entry[i].bytes, from->entry[i].size), &err),
             "entry");
    must(dx_pair_pages_end(&pages, &err), "entries");
    dx_pair_pages_release(&pages);
}

static void write_places(const struct dx_test_version *m, struct dx_cold_writer *out)
{
    struct dx_buf plain = DX_BUF_INIT(FILE_MAX);
    uint64_t key;

    if (m->place_count > 0) {
        must(dx_url_page_encode(&plain, &out->url_ids, &key, m->places, m->place_count, &err),
             "places");
        must(dx_cold_writer_page(out, key, 0, m->place_count, dx_span_of(plain.data, plain.size),
                                 &err),
             "places");
    }
    dx_buf_release(&plain);
}

static void write_cold(struct writing *w)
{
    struct dx_cold_writer writers[DX_COLD_FILES];
    struct dx_buf files[DX_COLD_FILES];
    struct dx_buf directory = DX_BUF_INIT(FILE_MAX);

    for (unsigned i = 0; i < DX_COLD_FILES; i++) {
        dx_buf_init(&files[i], FILE_MAX);
        must(dx_cold_writer_begin(&writers[i], (enum dx_cold_file)i, &w->build, 1,
                                  dx_envelope_sink_buf, &files[i], &err),
             "cold");
    }
    write_entries(&w->m->facts, &writers[DX_COLD_FACTS]);
    write_entries(&w->m->sketches, &writers[DX_COLD_SKETCHES]);
    write_places(w->m, &writers[DX_COLD_URL_IDS]);
    for (unsigned i = 0; i < DX_COLD_FILES; i++)
        must(dx_cold_writer_end(&writers[i], &err), "cold");
    must(dx_cold_directory_write(writers, &w->build, dx_envelope_sink_buf, &directory, &err),
         "cold.dxp");
    if (w->m->cold_size_wrong) {
        dx_store_u64(directory.data + 16, dx_load_u64(directory.data + 16) + 1);
        envelope_resum(directory.data, directory.size);
    }
    if (w->m->cold_table_wrong) /* the plain size of the last frame */
        files[0].data[files[0].size - 17] ^= 1;
    for (unsigned i = 0; i < DX_COLD_FILES; i++) {
        dx_cold_writer_release(&writers[i]);
        put_buf(w, dx_cold_file_name((enum dx_cold_file)i), &files[i]);
    }
    put_buf(w, DX_FILE_COLD, &directory);
}

/* Another number of entries in the first frame; what postings.dxp says of it follows. */
static void change_idx_front(const struct writing *w, struct dx_buf *idx,
                             struct dx_postings_files *files)
{
    struct dx_zstd_decoder *decoder = dx_zstd_decoder_new();
    struct dx_identity id = { w->build, DX_KIND('P', 'I', 'D', 'X'), 0 };
    struct dx_buf plain = DX_BUF_INIT(FILE_MAX);
    struct dx_buf zst = DX_BUF_INIT(FILE_MAX);
    struct dx_zseek_frame frame;
    struct dx_zseek_writer z;
    struct dx_zseek old;

    must(dx_zseek_open(&old, dx_span_of(idx->data, idx->size), "idx", &err), "idx");
    must(dx_zseek_decode(&old, decoder, 0, &plain, &err), "idx");
    dx_zseek_close(&old);
    dx_store_u64(plain.data + 8, dx_load_u64(plain.data + 8) + 1);
    must(dx_zseek_writer_init(&z, 0, dx_envelope_sink_buf, &zst, &err), "idx");
    must(dx_zseek_writer_frame(&z, dx_span_of(plain.data, plain.size), &frame, &err), "idx");
    must(dx_zseek_writer_finish(&z, &err), "idx");
    dx_zseek_writer_release(&z);
    files->totals.idx_size = zst.size;
    dx_store_u32(files->records.data + 32, frame.size);
    dx_store_u64(files->records.data + 48, dx_checksum(&id, dx_span_of(zst.data, frame.size)));
    dx_buf_release(&plain);
    dx_buf_release(idx);
    *idx = zst;
    dx_zstd_decoder_free(&decoder);
}

static void write_page(struct writing *w, struct dx_postings_draft *draft,
                       struct dx_zstd_encoder *encoder, struct dx_postings_files *files)
{
    must(dx_postings_draft_encode(draft, files->totals.pages, w->m->posting_count, &w->build,
                                  encoder, &err),
         "page");
    must(dx_postings_files_page(files, draft, &err), "page");
    dx_postings_draft_clear(draft);
}

static void write_paged(struct writing *w, struct dx_postings_files *files)
{
    const struct dx_test_version *m = w->m;
    struct dx_buf payload = DX_BUF_INIT(FILE_MAX);
    struct dx_zstd_encoder *encoder;
    struct dx_postings_draft draft;
    struct dx_pair_place place = { 0, 0 };

    must(dx_zstd_encoder_new(&encoder, 0, &err), "encoder");
    dx_postings_draft_init(&draft);
    for (unsigned i = 0; i < m->posting_count; i++) {
        const struct dx_test_posting *p = &m->postings[i];

        dx_buf_clear(&payload);
        must(dx_payload_encode(p->runs, p->run_count, 0, &payload, &err), "payload");
        if (dx_postings_draft_full(&draft, payload.size))
            write_page(w, &draft, encoder, files);
        if (i > 0 && p->domain_id == p[-1].domain_id)
            place.dataset++;
        else if (i > 0)
            place = (struct dx_pair_place){ place.domain + 1, 0 };
        must(dx_postings_draft_add(&draft, place, dx_span_of(payload.data, payload.size), &err),
             "pair");
    }
    if (draft.page.entries > 0)
        write_page(w, &draft, encoder, files);
    must(dx_postings_files_end(files, &err), "postings");
    dx_postings_draft_release(&draft);
    dx_zstd_encoder_free(&encoder);
    dx_buf_release(&payload);
}

static void write_postings(struct writing *w)
{
    const struct dx_test_version *m = w->m;
    struct dx_buf idx = DX_BUF_INIT(FILE_MAX);
    struct dx_buf dat = DX_BUF_INIT(FILE_MAX);
    struct dx_buf file = DX_BUF_INIT(FILE_MAX);
    struct dx_buf first_files = DX_BUF_INIT(FILE_MAX);
    struct dx_postings_writer directory;
    struct dx_postings_files files;

    must(dx_postings_files_begin(&files, m->posting_count, dx_envelope_sink_buf, &idx,
                                 dx_envelope_sink_buf, &dat, &err),
         "postings");
    write_paged(w, &files);
    if (m->idx_entries_wrong)
        change_idx_front(w, &idx, &files);
    files.totals.idx_size += m->idx_size_wrong;
    for (uint32_t d = 0; d < MODEL_DATASETS; d++) {
        if (m->list_size[d] == 0)
            continue;
        dx_buf_u32(&first_files, d + 1);
        dx_buf_u32(&first_files, m->first_files[d]);
        files.totals.datasets++;
    }
    must(dx_postings_writer_begin(&directory, &files.totals, &w->build, dx_envelope_sink_buf, &file,
                                  &err),
         "postings.dxp");
    must(dx_postings_writer_pages(&directory, dx_span_of(files.records.data, files.records.size),
                                  &err),
         "postings.dxp");
    must(dx_postings_writer_end(&directory, dx_span_of(first_files.data, first_files.size), &err),
         "postings.dxp");
    dx_postings_writer_release(&directory);
    dx_buf_release(&first_files);
    dx_postings_files_release(&files);
    put_buf(w, DX_FILE_POSTINGS_IDX, &idx);
    put_buf(w, DX_FILE_POSTINGS_DAT, &dat);
    put_buf(w, DX_FILE_POSTINGS_DIR, &file);
}

static void write_pages(struct writing *w)
{
    const struct dx_test_version *m = w->m;
    struct dx_buf file = DX_BUF_INIT(FILE_MAX);
    struct dx_pages_writer pages;
    uint64_t rows = 0;

    for (unsigned i = 0; i < m->pages_count; i++)
        rows += m->pages[i].rows;
    must(dx_pages_writer_begin(&pages, m->pages_count, m->pages_count, rows, &w->build,
                               dx_envelope_sink_buf, &file, &err),
         "pages.dxp");
    for (unsigned i = 0; i < m->pages_count; i++) {
        const struct dx_test_lake_file *from = &m->pages[i];
        struct dx_pages_file f = { .file_id = i,
                                   .dataset_id = from->dataset_id,
                                   .row_groups = 1,
                                   .rows = from->rows,
                                   .size = from->size,
                                   .path = dx_span_str(from->path),
                                   .hash = from->hash };

        must(dx_pages_writer_file(&pages, &f, &err), "pages.dxp");
        must(dx_pages_writer_group(&pages, dx_span_of(from->record, from->record_size), &err),
             "pages.dxp");
    }
    must(dx_pages_writer_end(&pages, &err), "pages.dxp");
    dx_pages_writer_release(&pages);
    put_buf(w, DX_FILE_PAGES, &file);
}

static void write_manifest(struct writing *w, const char *path)
{
    struct dx_buf text = DX_BUF_INIT(FILE_MAX);

    w->entry->domains = w->m->domains;
    w->entry->datasets = w->m->dataset_number;
    w->entry->pairs = w->m->pairs;
    w->entry->rows = w->m->rows;
    w->entry->urls = w->m->urls;
    w->entry->lake_files = w->m->lake_files;
    w->entry->file_ids = w->m->lake_files;
    must(dx_manifest_write(&w->manifest, &text, &err), "manifest");
    must(dx_file_replace(path, dx_span_of(text.data, text.size), &err), path);
    dx_buf_release(&text);
}

void dx_test_version_write(const struct dx_test_version *m, const char *root)
{
    struct writing w = { .m = m,
                         .manifest = DX_MANIFEST_INIT,
                         .datasets = DX_BUF_INIT(FILE_MAX),
                         .tsv = DX_BUF_INIT(FILE_MAX) };
    char path[512];

    must(dx_version_manifest(root, &w.manifest, &err), "manifest");
    for (size_t i = 0; i < w.manifest.version_count; i++)
        if (strcmp(w.manifest.versions[i].version, w.manifest.current) == 0)
            w.entry = &w.manifest.versions[i];
    w.entry->file_count = 0;
    (void)snprintf(w.folder, sizeof w.folder, "%s/index/%s", root, w.entry->version);
    make_texts(&w);
    make_build_id(&w);
    put_text(&w, DX_FILE_PSL, DX_FILE_PSL_PLAIN, dx_span_of(m->psl, m->psl_size));
    write_names(&w);
    write_pairs(&w);
    write_lists(&w);
    write_cold(&w);
    write_postings(&w);
    write_pages(&w);
    put_lines(&w, DX_FILE_FILES_TSV, dx_span_of(w.tsv.data, w.tsv.size));
    dx_buf_release(&w.tsv);
    put_text(&w, DX_FILE_DATASETS, DX_FILE_DATASETS_PLAIN,
             dx_span_of(w.datasets.data, w.datasets.size));
    dx_buf_release(&w.datasets);
    (void)snprintf(path, sizeof path, "%s/index/manifest.json", root);
    write_manifest(&w, path);
    dx_manifest_release(&w.manifest);
}
