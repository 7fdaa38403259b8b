/* SPDX-License-Identifier: Apache-2.0
 * version_model.h - a small published version as plain values, to change one and write it again
 * with every checksum, hash and size right.
 *
 *   struct dx_test_version *m = malloc(sizeof *m);
 *   dx_test_version_read(m, root_path);          the current version
 *   m->counts[3][0].url_count++;                 each member is written to its own file, so that
 *   dx_test_version_write(m, root_path);         any two of them can be made to disagree
 *
 * The struct holds no pointers: assign it to keep a sound copy. dx_test_version_retotal makes the
 * totals of datasets and manifest those of sets and counts. An error ends the program with a
 * message.
 */
#ifndef DX_TESTS_SUPPORT_VERSION_MODEL_H
#define DX_TESTS_SUPPORT_VERSION_MODEL_H

#include "base/hash.h"
#include "format/core/counts.h"
#include "format/core/mphf.h"
#include "format/version/dataset_domains.h"
#include "format/version/payload.h"
#include "format/version/url_ids.h"

#define MODEL_DOMAINS 16
#define MODEL_DATASETS 8
#define MODEL_FILES 8
#define MODEL_RUNS 4
#define MODEL_RECORD 4096
#define MODEL_NAME 80
#define MODEL_ENTRY 1024 /* bytes of facts, or a sketch */
#define MODEL_PLACES 1024

struct dx_test_names {
    unsigned count;
    char name[MODEL_DOMAINS][MODEL_NAME];
};

struct dx_test_posting {
    uint64_t domain_id;
    uint32_t dataset_id;
    unsigned run_count;
    struct dx_run runs[MODEL_RUNS];
};

/* A lake file as one of the two files has it that name it; one row group each. */
struct dx_test_lake_file {
    uint32_t dataset_id;
    char path[128];
    char prefix[8];
    char etag[40];
    uint64_t size, rows;
    struct dx_hash128 hash;
    size_t record_size;
    uint8_t record[MODEL_RECORD];
};

struct dx_test_dataset {
    char name[64];
    uint64_t files, rows, urls, domains;
    bool has_ts;
    int64_t first_us, last_us;
};

/* Of facts.dat.zst or sketches.dat.zst. */
struct dx_test_entries {
    unsigned count;
    struct {
        uint64_t ordinal;
        uint32_t dataset_id;
        size_t size;
        uint8_t bytes[MODEL_ENTRY];
    } entry[MODEL_DOMAINS * MODEL_DATASETS];
};

struct dx_test_version {
    struct dx_test_names text, dictionary, hashed; /* as they were, .dict, .mphf; by ordinal */
    size_t collision_count;
    struct dx_collision collisions[2];
    bool mphf_text_hash_wrong;
    unsigned ordinals; /* domains with a set and counts */
    unsigned set_size[MODEL_DOMAINS];
    uint32_t sets[MODEL_DOMAINS][MODEL_DATASETS];
    struct dx_pair_count counts[MODEL_DOMAINS][MODEL_DATASETS];
    struct {
        uint64_t less;
        bool dense;
    } distinct[MODEL_DOMAINS];
    unsigned list_size[MODEL_DATASETS];   /* dataset_domains.dxt, by dataset_id - 1 */
    uint32_t first_files[MODEL_DATASETS]; /* of postings.dxp; lists are written as if all were 0 */
    struct dx_domain_count lists[MODEL_DATASETS][MODEL_DOMAINS];
    struct dx_test_entries facts, sketches;
    unsigned place_count; /* url_ids.dat.zst, in one page */
    struct dx_url_place places[MODEL_PLACES];
    unsigned posting_count;
    struct dx_test_posting postings[MODEL_DOMAINS * MODEL_DATASETS];
    unsigned tsv_count, pages_count;
    struct dx_test_lake_file tsv[MODEL_FILES], pages[MODEL_FILES];
    unsigned dataset_count;
    struct dx_test_dataset datasets[MODEL_DATASETS];
    size_t psl_size;
    char psl[1024];
    uint64_t domains, dataset_number, pairs, rows, urls, lake_files; /* of the manifest */
    uint8_t build_flip; /* into the build id, everywhere */
    uint8_t psl_hash_flip;
    bool plain_texts;       /* registry and suffix list as older programs have them */
    bool idx_size_wrong;    /* in postings.dxp */
    bool idx_entries_wrong; /* in the front of postings.idx */
    bool sets_header_wrong; /* one stored set fewer than there are */
    /* one URL less than its pairs have; the manifest's number is `urls` */
    bool counts_header_wrong;
    bool list_hash_wrong;  /* of the domains, in the dictionary and the hash function */
    bool cold_size_wrong;  /* of the first file, in cold.dxp */
    bool cold_table_wrong; /* a frame in the seek table of the first file; cold.dxp is right */
};

void dx_test_version_read(struct dx_test_version *m, const char *root);
void dx_test_version_write(const struct dx_test_version *m, const char *root);
void dx_test_version_retotal(struct dx_test_version *m);

/* What pages.dxp says of the host column (of the time column, the last column, all columns) of a
 * file's row group. */
enum dx_test_edit {
    MODEL_SUM,
    MODEL_OFFSET,
    MODEL_ROLE, /* the host becomes a second path_query */
    MODEL_TIME_UNIT,
    MODEL_NAME_OF,
    MODEL_DROP,
    MODEL_MORE_ROWS /* MODEL_MORE more in each last page, and in the file */
};
#define MODEL_MORE 50

void dx_test_version_edit_record(struct dx_test_version *m, unsigned file, enum dx_test_edit edit);

#endif
