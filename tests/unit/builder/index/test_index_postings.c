/* SPDX-License-Identifier: Apache-2.0
 * The files' bytes do not depend on threads, nor on how many pages may wait in memory; and what the
 * directory says of the files fits them. */
#include "builder/index/index_postings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "builder/lake/lake_files.h"
#include "format/root/registry_json.h"
#include "format/version/manifest.h"

#define PAIRS 6000
#define DATASETS 5

/* Domains of one to five pairs. */
static struct dx_pair_place next_place(struct dx_pair_place place)
{
    return place.dataset < place.domain * 7 % 5
               ? (struct dx_pair_place){ place.domain, place.dataset + 1 }
               : (struct dx_pair_place){ place.domain + 1, 0 };
}

/* File i is all that a lake has of its dataset i + 1, which is that of the pairs of number i. */
static struct dx_index_file files[DATASETS];

static int make_registry(struct dx_registry *r, struct dx_error *err)
{
    int rc = 1;

    for (uint32_t i = 0; rc == 1 && i < DATASETS; i++) {
        char name[] = { (char)('a' + i), 0 };
        struct dx_dataset *d;

        rc = dx_registry_add(r, dx_span_str(name), &d, err);
        files[i] = (struct dx_index_file){ .path = "x", .dataset_id = i + 1 };
    }
    return rc < 0 ? rc : DX_OK;
}

static int write_variant(const char *dir, size_t memory, unsigned threads, struct dx_manifest *m,
                         struct dx_error *err)
{
    struct dx_manifest_version *entry = NULL;
    struct dx_index_postings *postings = NULL;
    struct dx_registry registry = DX_REGISTRY_INIT;
    const struct dx_index_lake lake = { .files = files,
                                        .file_count = DATASETS,
                                        .registry = &registry };
    struct dx_index_postings_job job = { .dir = dir,
                                         .lake = &lake,
                                         .tmp_dir = dir,
                                         .pairs = PAIRS,
                                         .build = { { 1, 2, 3 } },
                                         .memory_bytes = memory,
                                         .threads = threads };
    struct dx_pair_place place = { 0, 0 };
    struct dx_buf runs = DX_BUF_INIT(1 << 16);
    int rc = dx_dir_make(dir, err);

    if (rc == DX_OK)
        rc = make_registry(&registry, err);
    if (rc == DX_OK)
        rc = dx_manifest_add(m, "000001-20241121T102000Z", &entry, err);
    job.entry = entry;
    if (rc == DX_OK)
        rc = dx_index_postings_new(&postings, &job, err);
    for (uint32_t i = 0; rc == DX_OK && i < PAIRS; i++, place = next_place(place)) {
        dx_buf_clear(&runs);
        for (uint32_t k = 0; k <= i % 5; k++) {
            dx_buf_varint(&runs, k == 0 ? i : 1); /* file_id, as a distance */
            dx_buf_varint(&runs, i % 7);
            dx_buf_varint(&runs, i * 3);
            dx_buf_varint(&runs, 1 + i % 100);
        }
        rc = dx_index_postings_add(postings, place, place.dataset + 1,
                                   dx_span_of(runs.data, runs.size), err);
    }
    if (rc == DX_OK)
        rc = dx_index_postings_end(postings, err);
    dx_index_postings_free(&postings);
    dx_buf_release(&runs);
    dx_registry_release(&registry);
    return rc;
}

static int check_directory(const char *dir, const struct dx_manifest_version *entry)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_postings p;
    struct dx_error err = DX_ERROR_INIT;
    char path[PATH_MAX];
    int bad = 0;
    int rc;

    (void)snprintf(path, sizeof path, "%s/" DX_FILE_POSTINGS_DIR, dir);
    rc = dx_map_open(&map, path, DX_MAP_RANDOM, &err);
    if (rc == DX_OK)
        rc = dx_postings_open(&p, map.bytes, DX_OPEN_VERIFY_ALL, path, &err);
    if (rc != DX_OK) {
        fprintf(stderr, "%s\n", err.text);
        dx_map_close(&map);
        return 1;
    }
    if (p.totals.pages < PAIRS / DX_POSTINGS_PAGE_ENTRIES || p.totals.datasets != DATASETS ||
        p.totals.idx_size != dx_manifest_file(entry, DX_FILE_POSTINGS_IDX)->size ||
        p.totals.dat_size != dx_manifest_file(entry, DX_FILE_POSTINGS_DAT)->size) {
        fprintf(stderr, "directory and manifest differ\n");
        bad++;
    }
    for (uint64_t i = 0; i < p.totals.pages; i++) {
        struct dx_postings_page page;

        if (dx_postings_page_at(&p, i, &page, &err) != 1) {
            fprintf(stderr, "page %llu: %s\n", (unsigned long long)i, err.text);
            bad++;
        }
    }
    for (uint32_t i = 0; i < DATASETS; i++) {
        uint32_t file = UINT32_MAX;

        if (dx_postings_first_file(&p, i + 1, &file, &err) != 1 || file != i) {
            fprintf(stderr, "dataset %u: first file %u %s\n", i + 1, file, err.text);
            bad++;
        }
    }
    dx_postings_close(&p);
    dx_map_close(&map);
    return bad;
}

int main(void)
{
    static const struct {
        size_t memory;
        unsigned threads;
    } rows[] = { { 64 << 20, 1 }, { 64 << 20, 4 }, { 4096, 1 }, { 4096, 3 }, { 1, 2 } };
    struct dx_manifest first = DX_MANIFEST_INIT;
    /* Memory if there is a disk of it: files are synced here. */
    char on_disk[] = "/tmp/dx-test-postings-XXXXXX";
    char in_memory[] = "/dev/shm/dx-test-postings-XXXXXX";
    char *base = access("/dev/shm", W_OK) == 0 ? in_memory : on_disk;
    int bad = 0;

    if (mkdtemp(base) == NULL)
        return 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_manifest m = DX_MANIFEST_INIT;
        struct dx_manifest *to = i == 0 ? &first : &m;
        struct dx_error err = DX_ERROR_INIT;
        char dir[PATH_MAX];

        (void)snprintf(dir, sizeof dir, "%s/%zu", base, i);
        if (write_variant(dir, rows[i].memory, rows[i].threads, to, &err) != DX_OK) {
            fprintf(stderr, "row %zu: %s\n", i, err.text);
            bad++;
        }
        bad += check_directory(dir, &to->versions[0]);
        for (size_t k = 0; k < first.versions[0].file_count; k++) {
            const struct dx_manifest_file *a = &first.versions[0].files[k];
            const struct dx_manifest_file *b = dx_manifest_file(&to->versions[0], a->name);

            if (b == NULL || b->size != a->size || !dx_hash128_equal(&a->hash, &b->hash)) {
                fprintf(stderr, "row %zu: %s differs\n", i, a->name);
                bad++;
            }
        }
        dx_manifest_release(&m);
    }
    dx_manifest_release(&first);
    (void)dx_dir_remove(base, NULL);
    return bad != 0;
}
