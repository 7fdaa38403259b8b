/* SPDX-License-Identifier: Apache-2.0
 * What `domaindex verify` finds: flipped, cut, missing and foreign files, and versions whose
 * checksums are all right but whose files contradict each other in one fact.
 *
 * DX_VERIFY_STEP=n flips every n-th bit (31 by default).
 */
#include "base/file.h"
#include "builder/check/verify.h"
#include "builder/lake/lake_layout.h"
#include "builder/publish/publish.h"
#include "format/version/url_sketch.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"
#include "tests/support/version_model.h"

#include <fcntl.h>
#include <unistd.h>

#define DOMAINS 7
#define FACT_DOMAINS 9 /* two of them have as many rows */
#define DATASETS 3
#define PATHS_MAX 64
#define LAKE_FLIPS_OF 5 /* a deep check costs more: so many times fewer bits of the lake */

static unsigned failures;

struct reported {
    uint64_t count;
    char text[4000]; /* all reported damages, a line each, as far as it fits */
};

static void tell(void *ctx, const char *text)
{
    struct reported *t = ctx;
    size_t n = strlen(t->text);

    t->count++;
    (void)snprintf(t->text + n, sizeof t->text - n, "%s\n", text);
}

/* Damages; -1 if the check could not be made, with the words in t. */
static long verify(const char *root, bool deep, struct reported *t)
{
    struct dx_verify_options o = { .root = root,
                                   .deep = deep,
                                   .tmp_dir = "/tmp",
                                   .memory = DX_PUBLISH_MEMORY_MIN,
                                   .threads = 1,
                                   .found = tell,
                                   .ctx = t };
    struct dx_verify_result result;
    struct dx_error err = DX_ERROR_INIT;

    *t = (struct reported){ 0, "" };
    if (dx_verify(&o, &result, &err) < 0) {
        tell(t, err.text);
        return -1;
    }
    EXPECT(result.damages == t->count, "%llu damages, %llu reported",
           (unsigned long long)result.damages, (unsigned long long)t->count);
    return (long)result.damages;
}

static void check_sound(const char *root, const char *when)
{
    struct reported t;

    EXPECT(verify(root, false, &t) == 0, "%s: %s", when, t.text);
    EXPECT(verify(root, true, &t) == 0, "%s, deep: %s", when, t.text);
}

/* ---- damaged files ---- */

struct paths {
    size_t count;
    char path[PATHS_MAX][300];
    bool lake[PATHS_MAX];
};

/* The manifest, all files that it lists, and those of the lake. */
static void list_paths(const struct dx_test_root *r, struct paths *p)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_left_out left = DX_LEFT_OUT_INIT;
    struct dx_lake_list lake = { NULL, 0, 0 };
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_manifest_version *v;

    memset(p, 0, sizeof *p);
    if (dx_version_manifest(r->path, &manifest, &err) < 0 ||
        dx_lake_list(&lake, &left, r->path, &err) < 0)
        abort();
    v = dx_manifest_current(&manifest);
    (void)snprintf(p->path[p->count++], sizeof p->path[0], "%s/index/manifest.json", r->path);
    for (size_t i = 0; i < v->file_count && p->count < PATHS_MAX; i++)
        (void)snprintf(p->path[p->count++], sizeof p->path[0], "%s/index/%s/%s", r->path,
                       v->version, v->files[i].name);
    for (size_t i = 0; i < lake.count && p->count < PATHS_MAX; i++) {
        p->lake[p->count] = true;
        (void)snprintf(p->path[p->count++], sizeof p->path[0], "%s/%s", r->path, lake.file[i].path);
    }
    EXPECT(p->count < PATHS_MAX, "more files than %d", PATHS_MAX);
    dx_lake_list_release(&lake);
    dx_manifest_release(&manifest);
}

static void read_all(const char *path, struct dx_buf *bytes)
{
    struct dx_error err = DX_ERROR_INIT;

    dx_buf_clear(bytes);
    if (dx_file_read(path, bytes->max, bytes, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

static void write_all(const char *path, struct dx_span bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, bytes.data, bytes.size) != (ssize_t)bytes.size || close(fd) != 0)
        abort();
}

static size_t flip_bits(const struct dx_test_root *r, const char *path, bool deep, size_t step)
{
    struct dx_buf bytes = DX_BUF_INIT(1u << 20);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t flips = 0;

    read_all(path, &bytes);
    if (fd < 0)
        abort();
    if (bytes.size < 100)
        step = dx_sample(1, 13);
    for (size_t bit = 0; bit < bytes.size * 8; bit += step) {
        uint8_t damaged = (uint8_t)(bytes.data[bit / 8] ^ 1u << (bit & 7));
        struct reported t;

        if (pwrite(fd, &damaged, 1, (off_t)(bit / 8)) != 1)
            abort();
        EXPECT(verify(r->path, deep, &t) > 0, "%s: byte %zu bit %zu: %s", path, bit / 8, bit & 7,
               t.text);
        if (pwrite(fd, &bytes.data[bit / 8], 1, (off_t)(bit / 8)) != 1)
            abort();
        flips++;
    }
    (void)close(fd);
    dx_buf_release(&bytes);
    return flips;
}

static void cut_and_lose(const struct dx_test_root *r, const char *path, bool manifest)
{
    struct dx_buf bytes = DX_BUF_INIT(1u << 20);
    struct reported t;
    long n;

    read_all(path, &bytes);
    for (size_t size = 0; size < bytes.size; size += bytes.size / 9 + 1) {
        write_all(path, dx_span_of(bytes.data, size));
        EXPECT(verify(r->path, false, &t) > 0, "%s cut to %zu bytes", path, size);
    }
    dx_buf_u8(&bytes, '\n');
    write_all(path, dx_span_of(bytes.data, bytes.size));
    EXPECT(verify(r->path, false, &t) > 0, "%s with a byte behind it", path);
    if (unlink(path) != 0)
        abort();
    n = verify(r->path, false, &t);
    /* Without a manifest there is no version to check. */
    EXPECT(manifest ? n == -1 : n > 0, "%s is missing: %ld", path, n);
    EXPECT(strstr(t.text, strrchr(path, '/') + 1) != NULL, "%s is missing: %s", path, t.text);
    write_all(path, dx_span_of(bytes.data, bytes.size - 1));
    dx_buf_release(&bytes);
}

/* A sound file of the same name from a version with other rows. */
static void swap_file(const struct dx_test_root *r, const struct dx_test_root *other,
                      const char *path, bool lake)
{
    struct dx_buf own = DX_BUF_INIT(1u << 20);
    struct dx_buf foreign = DX_BUF_INIT(1u << 20);
    char from[400];
    struct reported t;

    (void)snprintf(from, sizeof from, "%s%s", other->path, path + strlen(r->path));
    if (strstr(path, "psl.dat") != NULL || access(from, R_OK) != 0)
        goto out; /* the same list */
    read_all(path, &own);
    read_all(from, &foreign);
    if (dx_span_equal(dx_span_of(own.data, own.size), dx_span_of(foreign.data, foreign.size)))
        goto out; /* a domain that is the same in both */
    write_all(path, dx_span_of(foreign.data, foreign.size));
    EXPECT(verify(r->path, lake, &t) > 0, "%s of another build", path);
    write_all(path, dx_span_of(own.data, own.size));
out:
    dx_buf_release(&own);
    dx_buf_release(&foreign);
}

static void check_damaged_files(void)
{
    const char *text = getenv("DX_VERIFY_STEP");
    size_t step = text == NULL || atoi(text) < 1 ? 31 : (size_t)atoi(text);
    struct paths *p = malloc(sizeof *p);
    struct dx_test_root r;
    struct dx_test_root other;
    size_t flips = 0;

    dx_test_root_make(&r, DOMAINS, DATASETS);
    dx_test_root_make(&other, DOMAINS + 1, DATASETS);
    check_sound(r.path, "a new version");
    list_paths(&r, p);
    for (size_t i = 0; i < p->count; i++) {
        flips += flip_bits(&r, p->path[i], p->lake[i], p->lake[i] ? step * LAKE_FLIPS_OF : step);
        cut_and_lose(&r, p->path[i], i == 0);
        swap_file(&r, &other, p->path[i], p->lake[i]);
    }
    check_sound(r.path, "all files put back");
    printf("%zu files, %zu flips\n", p->count, flips);
    dx_test_root_remove(&r);
    dx_test_root_remove(&other);
    free(p);
}

/* ---- one contradiction, every checksum right ---- */

static struct dx_pair_count *pair_of(struct dx_test_version *m, unsigned ordinal, uint32_t dataset)
{
    for (unsigned k = 0; k < m->set_size[ordinal]; k++)
        if (m->sets[ordinal][k] == dataset)
            return &m->counts[ordinal][k];
    return NULL;
}

static struct dx_test_posting *posting_of(struct dx_test_version *m, unsigned ordinal,
                                          uint32_t dataset)
{
    uint64_t id = dx_hash64(dx_span_str(m->text.name[ordinal]));

    for (unsigned i = 0; i < m->posting_count; i++)
        if (m->postings[i].domain_id == id && m->postings[i].dataset_id == dataset)
            return &m->postings[i];
    abort();
}

/* Two domains of dataset 1, which has all of them, with this property. */
static void find_two(struct dx_test_version *m,
                     bool (*fits)(const struct dx_pair_count *a, const struct dx_pair_count *b),
                     unsigned *a, unsigned *b)
{
    for (*a = 0; *a < m->text.count; ++*a)
        for (*b = 0; *b < m->text.count; ++*b)
            if (*a != *b && fits(pair_of(m, *a, 1), pair_of(m, *b, 1)))
                return;
    abort();
}

static bool same_rows(const struct dx_pair_count *a, const struct dx_pair_count *b)
{
    return a->row_count == b->row_count;
}

static bool more_rows(const struct dx_pair_count *a, const struct dx_pair_count *b)
{
    return a->row_count == b->row_count + 1;
}

static void list_hash(struct dx_test_version *m)
{
    m->list_hash_wrong = true;
}

static void counts_header(struct dx_test_version *m)
{
    m->counts_header_wrong = true;
    m->urls--;
}

static void sets_header(struct dx_test_version *m)
{
    m->sets_header_wrong = true;
}

static void idx_entries(struct dx_test_version *m)
{
    m->idx_entries_wrong = true;
}

static void mphf_of_others(struct dx_test_version *m)
{
    (void)snprintf(m->hashed.name[3], MODEL_NAME, "somebody-else.com");
}

static void mphf_for_another_text(struct dx_test_version *m)
{
    m->mphf_text_hash_wrong = true;
}

/* The list forgets a suffix: the names under it are registered one level higher. */
static void psl_other(struct dx_test_version *m)
{
    char *at = strstr(m->psl, "co.uk\n");

    memcpy(at, "ac.uk\n", 6);
}

static void build_id(struct dx_test_version *m)
{
    m->build_flip = 1;
}

static void psl_hash(struct dx_test_version *m)
{
    m->psl_hash_flip = 1;
}

static void id_collides(struct dx_test_version *m)
{
    uint64_t id = dx_hash64_seeded(dx_span_str(m->text.name[1]), 1);

    m->collisions[m->collision_count++] = (struct dx_collision){ 1, id };
}

static unsigned two_sets(const struct dx_test_version *m)
{
    for (unsigned i = 0; i < m->text.count; i++)
        if (m->set_size[i] == 2)
            return i;
    abort();
}

static void set_unknown(struct dx_test_version *m)
{
    unsigned i = two_sets(m);

    m->sets[i][1] = 9;
}

static void set_other(struct dx_test_version *m)
{
    unsigned i = two_sets(m);

    m->sets[i][1] = m->sets[i][1] == 2 ? 3 : 2;
    dx_test_version_retotal(m);
}

/* The second of a domain's two postings counts for the next domain. */
static void posting_of_next(struct dx_test_version *m)
{
    unsigned i = 1;

    while (m->postings[i].domain_id != m->postings[i - 1].domain_id ||
           m->postings[i].domain_id == m->postings[i + 1].domain_id)
        i++;
    m->postings[i].domain_id = m->postings[i + 1].domain_id;
}

/* The posting follows: its rows stay those of the other dataset. */
static void set_and_posting(struct dx_test_version *m)
{
    unsigned i = two_sets(m);
    struct dx_test_posting *p = posting_of(m, i, m->sets[i][1]);

    set_other(m);
    p->dataset_id = m->sets[i][1];
}

static void count_urls(struct dx_test_version *m)
{
    unsigned a = 0;

    while (m->counts[a][0].row_count < 2)
        a++;
    m->counts[a][0].url_count--;
    m->urls--;
}

static void count_urls_and_totals(struct dx_test_version *m)
{
    count_urls(m);
    dx_test_version_retotal(m);
}

static void count_rows(struct dx_test_version *m)
{
    unsigned a;
    unsigned b;

    find_two(m, more_rows, &a, &b);
    pair_of(m, a, 1)->row_count--;
    pair_of(m, a, 1)->url_count--;
    pair_of(m, b, 1)->row_count++;
    pair_of(m, b, 1)->url_count++;
}

static void count_time(struct dx_test_version *m)
{
    unsigned a = 0;

    while (pair_of(m, a, 1)->first_us == m->datasets[0].first_us || pair_of(m, a, 1)->row_count < 2)
        a++;
    pair_of(m, a, 1)->first_us -= 1000000;
}

static void dataset_rows(struct dx_test_version *m)
{
    m->datasets[1].rows++;
}

static void dataset_time(struct dx_test_version *m)
{
    m->datasets[1].last_us += 1000000;
}

static void dataset_files(struct dx_test_version *m)
{
    m->datasets[2].files++;
}

static void run_one_up(struct dx_test_version *m)
{
    struct dx_test_posting *p = posting_of(m, m->text.count - 1, 1);

    /* Down for the last rows of the group, else up: it stays within. */
    p->runs[0].first_row += p->runs[0].first_row > 0 ? UINT64_MAX : 1;
}

static void run_beyond(struct dx_test_version *m)
{
    posting_of(m, 0, 1)->runs[0].first_row += 1000;
}

static void run_other_file(struct dx_test_version *m)
{
    posting_of(m, 0, 1)->runs[0].file_id = 1;
}

static void first_file(struct dx_test_version *m)
{
    m->first_files[0] = 1;
}

static void run_missing_group(struct dx_test_version *m)
{
    posting_of(m, 0, 1)->runs[0].row_group = 1;
}

static void runs_swapped(struct dx_test_version *m)
{
    struct dx_run run;
    unsigned a;
    unsigned b;

    find_two(m, same_rows, &a, &b);
    run = posting_of(m, a, 1)->runs[0];
    posting_of(m, a, 1)->runs[0] = posting_of(m, b, 1)->runs[0];
    posting_of(m, b, 1)->runs[0] = run;
}

static void runs_twice(struct dx_test_version *m)
{
    unsigned a;
    unsigned b;

    find_two(m, same_rows, &a, &b);
    posting_of(m, a, 1)->runs[0] = posting_of(m, b, 1)->runs[0];
}

static void posting_lost(struct dx_test_version *m)
{
    m->posting_count--;
}

/* All counts say so too: only the rows of the group are left to tell. */
static void row_lost(struct dx_test_version *m)
{
    unsigned a = 0;
    struct dx_test_posting *p;

    while (pair_of(m, a, 1)->row_count < 2)
        a++;
    p = posting_of(m, a, 1);
    p->runs[0].row_count--;
    pair_of(m, a, 1)->row_count--;
    pair_of(m, a, 1)->url_count--;
    dx_test_version_retotal(m);
    /* The manifest's rows are those of the counts and of pages.dxp; one of these must differ. */
    for (unsigned i = 0; i < m->pages_count; i++)
        if (m->pages[i].dataset_id == 1)
            m->tsv[i].rows = m->pages[i].rows;
}

/* One dataset loses a row to another, in postings, counts and totals. */
static void row_moved(struct dx_test_version *m)
{
    unsigned a = 0;
    unsigned b = 0;
    struct dx_test_posting *to;

    while (pair_of(m, a, 1)->row_count < 2)
        a++;
    while (pair_of(m, b, 2) == NULL || posting_of(m, b, 2)->runs[0].first_row > 0)
        b++;
    to = posting_of(m, b, 2);
    posting_of(m, a, 1)->runs[0].row_count--;
    pair_of(m, a, 1)->row_count--;
    pair_of(m, a, 1)->url_count--;
    to->runs[0].row_count++;
    pair_of(m, b, 2)->row_count++;
    pair_of(m, b, 2)->url_count++;
    dx_test_version_retotal(m);
}

static void idx_size(struct dx_test_version *m)
{
    m->idx_size_wrong = true;
}

static void tsv_rows(struct dx_test_version *m)
{
    m->tsv[1].rows++;
}

static void tsv_etag(struct dx_test_version *m)
{
    m->tsv[1].etag[4] = m->tsv[1].etag[4] == '0' ? '1' : '0';
}

static void tsv_short(struct dx_test_version *m)
{
    m->tsv_count--;
}

static void prefix(struct dx_test_version *m)
{
    (void)snprintf(m->tsv[1].prefix, sizeof m->tsv[1].prefix, "00-7f");
}

static void file_dataset(struct dx_test_version *m)
{
    m->tsv[1].dataset_id = m->pages[1].dataset_id = 3;
}

static void file_unknown_dataset(struct dx_test_version *m)
{
    m->tsv[1].dataset_id = m->pages[1].dataset_id = 77;
    (void)snprintf(m->tsv[1].path, sizeof m->tsv[1].path, "dataset_id=2/x.parquet");
    (void)snprintf(m->pages[1].path, sizeof m->pages[1].path, "dataset_id=2/x.parquet");
}

static void file_name(struct dx_test_version *m)
{
    char *digit = strstr(m->tsv[1].path, "part-00000") + 9;

    *digit = '1';
    strcpy(m->pages[1].path, m->tsv[1].path);
}

static void file_size(struct dx_test_version *m)
{
    m->tsv[1].size++;
    m->pages[1].size++;
}

static void file_hash(struct dx_test_version *m)
{
    m->pages[1].hash.bytes[7] ^= 1;
    dx_hash128_text(&m->pages[1].hash, m->tsv[1].etag);
}

static void page_sum(struct dx_test_version *m)
{
    dx_test_version_edit_record(m, 1, MODEL_SUM);
}

static void page_offset(struct dx_test_version *m)
{
    dx_test_version_edit_record(m, 1, MODEL_OFFSET);
}

static void page_role(struct dx_test_version *m)
{
    dx_test_version_edit_record(m, 1, MODEL_ROLE);
}

static void page_time_unit(struct dx_test_version *m)
{
    dx_test_version_edit_record(m, 1, MODEL_TIME_UNIT);
}

static void page_name(struct dx_test_version *m)
{
    dx_test_version_edit_record(m, 1, MODEL_NAME_OF);
}

static void page_column_lost(struct dx_test_version *m)
{
    dx_test_version_edit_record(m, 1, MODEL_DROP);
}

/* Two pairs of dataset 1, so that its sum stays. */
static void list_counts(struct dx_test_version *m)
{
    unsigned i = 0;

    while (m->lists[0][i].url_count < 2)
        i++;
    m->lists[0][i].url_count--;
    m->lists[0][i == 0 ? 1 : 0].url_count++;
}

static void list_other_domain(struct dx_test_version *m)
{
    for (unsigned d = 0; d < DATASETS; d++)
        for (unsigned i = 0; i < m->list_size[d]; i++) {
            uint64_t next = m->lists[d][i].ordinal + 1;

            if (next == m->ordinals ||
                (i + 1 < m->list_size[d] && m->lists[d][i + 1].ordinal == next))
                continue;
            m->lists[d][i].ordinal++;
            return;
        }
    abort();
}

static void list_lost(struct dx_test_version *m)
{
    m->list_size[1]--;
}

static void facts_pair(struct dx_test_version *m)
{
    m->facts.entry[m->facts.count - 1].ordinal++;
}

static void facts_lost(struct dx_test_version *m)
{
    m->facts.count--;
}

/* A first byte that no facts have. */
static void facts_shape(struct dx_test_version *m)
{
    m->facts.entry[4].bytes[0] = 0xff;
}

/* The rows of the domain were those of another host of it. */
static void facts_host(struct dx_test_version *m)
{
    for (unsigned i = 0; i < m->facts.count; i++)
        if (m->facts.entry[i].size == 1) {
            m->facts.entry[i].bytes[0] ^= 1;
            return;
        }
    abort();
}

/* Its hashes, and `more` that it has not; of as many fewer. */
static void change_sketch(struct dx_test_version *m, unsigned i, unsigned more, unsigned fewer)
{
    struct dx_buf bytes = DX_BUF_INIT(MODEL_ENTRY);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_url_sketch s;

    dx_url_sketch_init(&s);
    if (dx_url_sketch_decode(&s, dx_span_of(m->sketches.entry[i].bytes, m->sketches.entry[i].size),
                             &err) < 0)
        abort();
    s.hashes.size -= fewer * sizeof(uint64_t);
    for (unsigned k = 0; k < more; k++)
        if (dx_url_sketch_add(&s, 1 + k, &err) < 0)
            abort();
    if (dx_url_sketch_encode(&s, &bytes, &err) < 0)
        abort();
    memcpy(m->sketches.entry[i].bytes, bytes.data, bytes.size);
    m->sketches.entry[i].size = bytes.size;
    dx_url_sketch_release(&s);
    dx_buf_release(&bytes);
}

static void sketch_more(struct dx_test_version *m)
{
    change_sketch(m, 3, 1, 0);
}

/* No dataset has a URL of another one, so no sum tells. */
static void sketch_other(struct dx_test_version *m)
{
    change_sketch(m, 3, 1, 1);
}

static void sketch_cut(struct dx_test_version *m)
{
    m->sketches.entry[2].size--;
}

static void distinct_less(struct dx_test_version *m)
{
    m->distinct[two_sets(m)].less++;
}

static void distinct_dense(struct dx_test_version *m)
{
    m->distinct[two_sets(m)].dense = true;
}

static void place_row(struct dx_test_version *m)
{
    m->places[3].row += 400 * DX_URL_UNIT;
}

static void place_rows(struct dx_test_version *m)
{
    m->places[3].rows += 100000;
}

static void place_group(struct dx_test_version *m)
{
    m->places[m->place_count - 1].group += DATASETS;
}

static void place_lost(struct dx_test_version *m)
{
    m->place_count--;
}

static void place_id(struct dx_test_version *m)
{
    m->places[5].id += UINT64_C(1) << (64 - DX_URL_ID_KEPT);
}

static void cold_size(struct dx_test_version *m)
{
    m->cold_size_wrong = true;
}

static void cold_table(struct dx_test_version *m)
{
    m->cold_table_wrong = true;
}

static void manifest_domains(struct dx_test_version *m)
{
    m->domains++;
}

static void manifest_datasets(struct dx_test_version *m)
{
    m->dataset_number++;
}

static void manifest_pairs(struct dx_test_version *m)
{
    m->pairs++;
}

static void manifest_rows(struct dx_test_version *m)
{
    m->rows++;
}

static void manifest_urls(struct dx_test_version *m)
{
    m->urls++;
}

static void manifest_files(struct dx_test_version *m)
{
    m->lake_files++;
}

static const struct {
    void (*damage)(struct dx_test_version *m);
    bool deep; /* only the lake can tell */
    const char *words;
} facts[] = {
    { list_hash, false, "domains.dict: header: hash of the list is not that of the keys" },
    { counts_header, false, "domain_counts.dxc: its pairs have" },
    { sets_header, false, "stored sets in" },
    { idx_entries, false, "idx says another number of entries" },
    { mphf_of_others, false, "domains.dict is not found" },
    { mphf_for_another_text, false, "domains.mphf" },
    { psl_other, false, "is not a registered domain by the version's suffix list" },
    { build_id, false, "the build id is not the hash of" },
    { psl_hash, false, "psl_hash" },
    { id_collides, false, "is among the collisions" },
    { set_unknown, false, "is in dataset 9, which is not in datasets.json" },
    { set_other, false, "which are not there or not its own" },
    { posting_of_next, false, "where the sets have" },
    { set_and_posting, false, "which are not there or not its own" },
    { count_urls, false, "datasets.json.zst: totals of dataset 1" },
    { count_urls_and_totals, false, "dataset_domains.dxt: dataset 1 has 9 domains" },
    { count_rows, false, "rows, the counts say" },
    { count_time, true, "or other times" },
    { dataset_rows, false, "datasets.json.zst: totals of dataset 2" },
    { dataset_time, false, "datasets.json.zst: totals of dataset 2" },
    { dataset_files, false, "datasets.json.zst: dataset 3 has 2 files, files.tsv.zst lists 1" },
    { run_one_up, false, "name some rows twice" },
    { run_beyond, false, "which are not there" },
    { run_other_file, false, "not its own" },
    { first_file, false, "not its own" },
    { run_missing_group, false, "which are not there" },
    { runs_swapped, true, "do not name the rows that the lake has" },
    { runs_twice, false, "name some rows twice" },
    { posting_lost, false, "pairs in postings.dxp: 20, the manifest says 21" },
    { row_lost, false, "rows in pages.dxp" },
    { row_moved, false, "rows, postings name" },
    { idx_size, false, "bytes of postings.idx.zst in postings.dxp" },
    { tsv_rows, false, "files.tsv.zst: line 2 is not what pages.dxp says" },
    { tsv_etag, false, "files.tsv.zst: line 2 is not what pages.dxp says" },
    { tsv_short, false, "files.tsv.zst: 2 lines, pages.dxp has 3" },
    { prefix, false, "line 2: dataset or range of prefixes" },
    { file_dataset, false, "line 2: dataset or range of prefixes" },
    { file_unknown_dataset, false, "dataset 77 is not in datasets.json" },
    { file_name, false, "part-00001.parquet: cannot" },
    { file_size, false, "bytes, the index says" },
    { file_hash, true, "not the file that was indexed" },
    { page_sum, true, "row group 0: pages.dxp does not say where its pages are" },
    { page_offset, true, "row group 0: pages.dxp does not say where its pages are" },
    { page_role, false, "row group 0 has not one scheme, host and path_query" },
    { page_time_unit, true, "row group 0: pages.dxp does not say where its pages are" },
    { page_name, true, "row group 0: pages.dxp does not say where its pages are" },
    { page_column_lost, true, "row group 0: pages.dxp does not say where its pages are" },
    { list_counts, false, "the counts say" },
    { list_other_domain, false, "whose set has not the dataset" },
    { list_lost, false, "pairs in dataset_domains.dxt: 20, the manifest says 21" },
    { facts_pair, false, "facts.dat.zst: the entry of pair" },
    { facts_lost, false, "pairs of facts.dat.zst in cold.dxp: 20, the manifest says 21" },
    { facts_shape, false, "facts.dat.zst: " },
    { facts_host, true, "other hosts or paths than the lake has" },
    { sketch_more, false, "sketches.dat.zst: " },
    { sketch_other, true, "not the sketch of its URLs in the lake" },
    { sketch_cut, false, "sketch: " },
    { distinct_less, false, "distinct URLs are" },
    { distinct_dense, false, "distinct URLs are" },
    { place_row, false, "are not there" },
    { place_rows, false, "are not there" },
    { place_group, false, "are not there" },
    { place_lost, false, "url_ids.dat.zst: " },
    { place_id, true, "are not the" },
    { cold_size, false, "bytes of facts.dat.zst in cold.dxp" },
    { cold_table, false, "facts.dat.zst" },
    { manifest_domains, false, "domains in domains.dict: 9, the manifest says 10" },
    { manifest_datasets, false, "datasets in datasets.json.zst: 3, the manifest says 4" },
    { manifest_pairs, false, "pairs in domain_to_datasets.roar" },
    { manifest_rows, false, "rows in domain_counts.dxc" },
    { manifest_urls, false, "urls in domain_counts.dxc" },
    { manifest_files, false, "files in pages.dxp: 3, the manifest says 4" },
};

static void check_facts(void)
{
    struct dx_test_version *sound = malloc(sizeof *sound);
    struct dx_test_version *m = malloc(sizeof *m);
    struct dx_test_root r;
    struct reported t;

    if (sound == NULL || m == NULL)
        abort();
    dx_test_root_make(&r, FACT_DOMAINS, DATASETS);
    dx_test_version_read(sound, r.path);
    dx_test_version_write(sound, r.path);
    check_sound(r.path, "written again");
    sound->plain_texts = true;
    dx_test_version_write(sound, r.path);
    check_sound(r.path, "with the texts of older versions");
    sound->plain_texts = false;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        long plain;

        *m = *sound;
        facts[i].damage(m);
        dx_test_version_write(m, r.path);
        plain = verify(r.path, false, &t);
        if (facts[i].deep) {
            EXPECT(plain == 0, "fact %zu (%s) is found without the lake: %s", i, facts[i].words,
                   t.text);
            plain = verify(r.path, true, &t);
        }
        EXPECT(plain > 0 && strstr(t.text, facts[i].words) != NULL,
               "fact %zu: %ld damages, none says \"%s\": %s", i, plain, facts[i].words, t.text);
    }
    dx_test_version_write(sound, r.path);
    check_sound(r.path, "all facts put back");
    printf("%zu facts\n", sizeof facts / sizeof facts[0]);
    dx_test_root_remove(&r);
    free(sound);
    free(m);
}

int main(void)
{
    check_facts();
    check_damaged_files();
    return failures == 0 ? 0 : 1;
}
