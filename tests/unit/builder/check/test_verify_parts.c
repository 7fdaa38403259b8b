/* SPDX-License-Identifier: Apache-2.0
 * What `domaindex verify` finds in a version of several parts: files of older parts that are damaged or missing, and
 * a dead.dxb that is sound in itself but does not name the domains that its part has taken over, and tags of the
 * newest part that are not those of the lake.
 */
#include "builder/check/verify.h"
#include "builder/lake/lake_file.h"
#include "builder/publish/publish.h"
#include "canon/ids.h"
#include "format/version/dead.h"
#include "format/version/tags.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include <fcntl.h>
#include <roaring/roaring.h>
#include <unistd.h>

#define DOMAINS 60
#define DATASETS 3
#define PARTS 3
#define FILE_MAX (1u << 20)

static unsigned failures;

struct reported {
    uint64_t count;
    char text[4000];
};

static void tell(void *ctx, const char *text)
{
    struct reported *t = ctx;
    size_t n = strlen(t->text);

    t->count++;
    (void)snprintf(t->text + n, sizeof t->text - n, "%s\n", text);
}

static void note_nothing(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

/* Damages; -1 if the check could not be made. */
static long verify(const struct dx_test_root *r, bool deep, struct reported *t)
{
    struct dx_verify_options o = { .root = r->path,
                                   .deep = deep,
                                   .tmp_dir = "/tmp",
                                   .memory = DX_PUBLISH_MEMORY_MIN,
                                   .threads = 1,
                                   .found = tell,
                                   .note = note_nothing,
                                   .ctx = t };
    struct dx_verify_result result;
    struct dx_error err = DX_ERROR_INIT;

    *t = (struct reported){ 0, "" };
    if (dx_verify(&o, &result, &err) < 0) {
        tell(t, err.text);
        return -1;
    }
    return (long)result.damages;
}

static void check_sound(const struct dx_test_root *r, const char *when)
{
    struct reported t;

    EXPECT(verify(r, false, &t) == 0, "%s: %s", when, t.text);
    EXPECT(verify(r, true, &t) == 0, "%s, deep: %s", when, t.text);
}

/* ---- the version ---- */

static void must(int rc, const struct dx_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

static const char *tags_of(unsigned i, unsigned dataset, unsigned row)
{
    static const char *const tags[] = { "[\"news\"]", "[\"a\",\"news\",\"a\"]", "no list",
                                        "[\"\"]" };

    return dataset == 2 ? NULL : tags[(i + row) % 4];
}

static int by_name(const void *a, const void *b)
{
    char x[64];
    char y[64];

    dx_test_root_domain(*(const unsigned *)a, x);
    dx_test_root_domain(*(const unsigned *)b, y);
    return strcmp(x, y);
}

/* A second file of dataset 1, or a third: domains that are there already, one of them in each file, and
 * one that is new. The third is so much smaller than the second that their parts are not merged. */
static void add_file(const struct dx_test_root *r, unsigned number)
{
    static const char *const extras[] = { "tags" };
    const struct dx_lake_schema schema = {
        .dataset_name = "test", .extra_names = extras, .extra_count = 1, .url_id = true
    };
    struct dx_span tags = dx_span_str(number == 1 ? "[\"news\",\"late\"]" : "[\"news\",7]");
    unsigned domains[] = { 3, DOMAINS + number, 0, 5, 7, 9, 11, 13, 15, 17, 19, 21 };
    unsigned count = number == 1 ? 12 : 4;
    struct dx_lake_file w = DX_LAKE_FILE_INIT;
    struct dx_lake_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    char path[256];

    domains[2] = number == 1 ? 23 : 6; /* these are not in the part between */
    domains[3] = number == 1 ? 5 : 8;
    qsort(domains, count, sizeof *domains, by_name);
    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=1/domain_prefix=00-ff/part-%05u.parquet",
                   r->path, number);
    must(dx_lake_file_open(&w, path, &schema, NULL, &err), &err);
    for (unsigned k = 0; k < count; k++) {
        char domain[64];
        char page[32];
        char url[160];
        struct dx_lake_row row;

        dx_test_root_domain(domains[k], domain);
        (void)snprintf(page, sizeof page, "/new/%u", number);
        (void)snprintf(url, sizeof url, "https://%s%s", domain, page);
        row = (struct dx_lake_row){ .dataset_id = 1,
                                    .domain_id = dx_domain_id(dx_span_str(domain)),
                                    .domain = dx_span_str(domain),
                                    .scheme = dx_span_str("https"),
                                    .host = dx_span_str(domain),
                                    .path_query = dx_span_str(page),
                                    .url_id = dx_url_id(dx_span_str(url)),
                                    .extra = &tags };
        must(dx_lake_file_add(&w, &row, &err), &err);
    }
    must(dx_lake_file_close(&w, DX_SYNC_NOW, &stats, &err), &err);
}

static void publish(const struct dx_test_root *r)
{
    const struct dx_publish_options options = { .root = r->path,
                                                .memory = DX_PUBLISH_MEMORY_MIN,
                                                .threads = 1,
                                                .parts_max = DX_PARTS_MAX,
                                                .now_us = 1763719200000000 };
    struct dx_publish_result result;
    struct dx_error err = DX_ERROR_INIT;

    must(dx_publish(&options, &result, &err), &err);
    dx_publish_result_release(&result);
}

/* ---- files ---- */

static void read_all(const char *path, struct dx_buf *bytes)
{
    struct dx_error err = DX_ERROR_INIT;

    dx_buf_clear(bytes);
    must(dx_file_read(path, FILE_MAX, bytes, &err), &err);
}

static void write_all(const char *path, struct dx_span bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, bytes.data, bytes.size) != (ssize_t)bytes.size || close(fd) != 0)
        abort();
}

/* Of each file of each part one bit is turned; then it is not there. */
static void check_files(const struct dx_test_root *r, const struct dx_manifest *m,
                        const struct dx_manifest_version *v)
{
    struct dx_buf bytes = DX_BUF_INIT(FILE_MAX);
    char path[400];
    struct reported t;

    for (size_t i = 0; i < v->part_count; i++) {
        const struct dx_manifest_version *part = dx_manifest_find(m, v->parts[i]);

        for (size_t k = 0; k < part->file_count; k++) {
            (void)snprintf(path, sizeof path, "%s/index/%s/%s", r->path, part->version,
                           part->files[k].name);
            read_all(path, &bytes);
            bytes.data[bytes.size / 2] ^= 4;
            write_all(path, dx_span_of(bytes.data, bytes.size));
            EXPECT(verify(r, false, &t) > 0, "%s: a bit is turned", path);
            (void)unlink(path);
            EXPECT(verify(r, false, &t) > 0 && strstr(t.text, part->files[k].name) != NULL,
                   "%s is missing: %s", path, t.text);
            bytes.data[bytes.size / 2] ^= 4;
            write_all(path, dx_span_of(bytes.data, bytes.size));
        }
    }
    dx_buf_release(&bytes);
}

/* ---- dead.dxb ---- */

enum wrong { NOTHING, OTHER_ORDINAL, OTHER_RANK, RANK_TWICE };

static void write_part(struct dx_dead_writer *w, const struct dx_dead *d, uint64_t i,
                       enum wrong wrong)
{
    struct dx_error err = DX_ERROR_INIT;
    roaring_bitmap_t *set = NULL;
    struct dx_dataset_set stored;
    struct dx_dead_part p;
    struct dx_dead_rank rank;

    must(dx_dead_part(d, i, &p, &err), &err);
    if (p.domains > 0) {
        must(dx_dead_ordinals(d, &p, &stored, &err), &err);
        set = dx_dataset_set_bitmap(&stored);
    } else {
        set = roaring_bitmap_create();
    }
    if (wrong == OTHER_ORDINAL) {
        uint32_t free_one = 0;

        roaring_bitmap_remove(set, roaring_bitmap_minimum(set));
        while (roaring_bitmap_contains(set, free_one) || free_one == stored.first)
            free_one++;
        roaring_bitmap_add(set, free_one);
    }
    must(dx_dead_writer_part(w, &p.build, p.of, set, &err), &err);
    for (uint64_t k = 0; k < p.ranks; k++) {
        must(dx_dead_rank(d, &p, k, &rank, &err), &err);
        rank.dataset_id += wrong == OTHER_RANK && k + 1 == p.ranks ? 1000 : 0;
        rank.domains += wrong == RANK_TWICE && k == 0 ? 1 : 0;
        must(dx_dead_writer_rank(w, &rank, &err), &err);
    }
    roaring_bitmap_free(set);
}

/* Of the current version, another file of that name; the manifest has its size and hash. */
static void put_file(const struct dx_test_root *r, const char *name, struct dx_span bytes)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_manifest_file *listed;
    char path[400];

    must(dx_version_manifest(r->path, &m, &err), &err);
    listed = (struct dx_manifest_file *)(uintptr_t)dx_manifest_file(dx_manifest_current(&m), name);
    listed->size = bytes.size;
    listed->hash = dx_hash128_of(bytes);
    (void)snprintf(path, sizeof path, "%s/index/%s/%s", r->path, m.current, name);
    write_all(path, bytes);
    must(dx_manifest_write(&m, &text, &err), &err);
    (void)snprintf(path, sizeof path, "%s/" DX_MANIFEST_FILE, r->path);
    write_all(path, dx_span_of(text.data, text.size));
    dx_buf_release(&text);
    dx_manifest_release(&m);
}

/* The file of v, which is wrong in what it says of its first part. */
static void write_dead(const struct dx_test_root *r, struct dx_span sound, enum wrong wrong)
{
    struct dx_buf file = DX_BUF_INIT(FILE_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dead_writer w;
    struct dx_dead d;

    must(dx_dead_open(&d, sound, 0, DX_FILE_DEAD, &err), &err);
    dx_dead_writer_init(&w);
    for (uint64_t i = 0; i < d.parts; i++)
        write_part(&w, &d, i, i == 0 ? wrong : NOTHING);
    must(dx_dead_writer_end(&w, &d.envelope.build, dx_envelope_sink_buf, &file, &err), &err);
    dx_dead_writer_release(&w);
    dx_dead_close(&d);
    put_file(r, DX_FILE_DEAD, dx_span_of(file.data, file.size));
    dx_buf_release(&file);
}

static void check_dead(const struct dx_test_root *r, const struct dx_manifest_version *v)
{
    static const struct {
        enum wrong wrong;
        const char *words;
    } rows[] = {
        { OTHER_ORDINAL, "and not dead there" },
        { OTHER_RANK, "no rank of" },
        { OTHER_RANK, "places that none of its dead domains has" },
        { RANK_TWICE, "its parts have 141 pairs, the manifest says 142" },
    };
    struct dx_buf sound = DX_BUF_INIT(FILE_MAX);
    char path[400];
    struct reported t;

    (void)snprintf(path, sizeof path, "%s/index/%s/" DX_FILE_DEAD, r->path, v->version);
    read_all(path, &sound);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_dead(r, dx_span_of(sound.data, sound.size), rows[i].wrong);
        EXPECT(verify(r, false, &t) > 0 && strstr(t.text, rows[i].words) != NULL &&
                   strstr(t.text, "part") != NULL,
               "row %zu: %s", i, t.text);
    }
    write_dead(r, dx_span_of(sound.data, sound.size), NOTHING);
    check_sound(r, "dead.dxb is put back");
    dx_buf_release(&sound);
}

/* ---- tags.dxt ---- */

/* The tags of the newest part do not say how many rows have none that can be read; those of the older ones do. */
static void check_tags(const struct dx_test_root *r, const struct dx_manifest_version *v)
{
    struct dx_buf sound = DX_BUF_INIT(FILE_MAX);
    struct damaged d;
    struct reported t;
    char path[400];
    uint8_t *left;
    uint64_t size = 0;

    (void)snprintf(path, sizeof path, "%s/index/%s/" DX_FILE_TAGS, r->path, v->version);
    read_all(path, &sound);
    d = damaged_copy(dx_span_of(sound.data, sound.size));
    left = envelope_find(d.bytes, d.size, "LEFT", &size);
    EXPECT(left != NULL && size == 24, "%llu bytes of files whose tags are not all there",
           (unsigned long long)size);
    if (left != NULL && size == 24) {
        dx_store_u64(left + 8, dx_load_u64(left + 8) + 1);
        envelope_resum(d.bytes, d.size);
        put_file(r, DX_FILE_TAGS, dx_span_of(d.bytes, d.size));
        EXPECT(verify(r, true, &t) == 1 && strstr(t.text, "it does not say so") != NULL, "%s",
               t.text);
    }
    put_file(r, DX_FILE_TAGS, dx_span_of(sound.data, sound.size));
    damaged_free(&d);
    dx_buf_release(&sound);
}

struct tags_parts {
    struct dx_buf bytes[DX_TAGS_PARTS];
};

static int put_part(void *ctx, enum dx_tags_part part, struct dx_span bytes, struct dx_error *err)
{
    struct tags_parts *p = ctx;

    (void)err;
    dx_buf_append(&p->bytes[part], bytes.data, bytes.size);
    return DX_OK;
}

static void write_tags(const struct dx_test_root *r, const struct dx_tags *like, uint32_t file_id,
                       uint32_t row, uint32_t domain)
{
    struct dx_buf file = DX_BUF_INIT(FILE_MAX);
    struct dx_error err = DX_ERROR_INIT;
    roaring_bitmap_t *rows = roaring_bitmap_of(1, row);
    roaring_bitmap_t *domains = roaring_bitmap_of(1, domain);
    struct dx_tags_encoder e;
    struct dx_tags_writer w;
    struct tags_parts p;

    for (size_t i = 0; i < DX_TAGS_PARTS; i++)
        dx_buf_init(&p.bytes[i], FILE_MAX);
    dx_tags_encoder_init(&e, like->domains, like->files, put_part, &p);
    must(dx_tags_encode_tag(&e, dx_span_str("x"), &err), &err);
    must(dx_tags_encode_file(&e, file_id, rows, domains, &err), &err);
    must(dx_tags_writer_begin(&w, &e, &like->envelope.build, dx_envelope_sink_buf, &file, &err),
         &err);
    for (size_t i = 0; i < DX_TAGS_PARTS; i++) {
        must(dx_tags_writer_part(&w, (enum dx_tags_part)i, &err), &err);
        must(dx_tags_writer_append(&w, dx_span_of(p.bytes[i].data, p.bytes[i].size), &err), &err);
        dx_buf_release(&p.bytes[i]);
    }
    must(dx_tags_writer_end(&w, &err), &err);
    dx_tags_writer_release(&w);
    dx_tags_encoder_release(&e);
    put_file(r, DX_FILE_TAGS, dx_span_of(file.data, file.size));
    dx_buf_release(&file);
    roaring_bitmap_free(rows);
    roaring_bitmap_free(domains);
}

/* Tags that are sound in themselves and not those of the part's files, without a look at the lake. */
static void check_tags_of_files(const struct dx_test_root *r, const struct dx_manifest_version *v)
{
    struct dx_buf sound = DX_BUF_INIT(FILE_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_tags_left left;
    struct reported t;
    struct dx_tags tags;
    char path[400];

    (void)snprintf(path, sizeof path, "%s/index/%s/" DX_FILE_TAGS, r->path, v->version);
    read_all(path, &sound);
    must(dx_tags_open(&tags, dx_span_of(sound.data, sound.size), 0, DX_FILE_TAGS, &err), &err);
    EXPECT(dx_tags_left_at(&tags, 0, &left, &err) == 1, "a file of the part: %s", err.text);
    {
        const struct {
            uint32_t file_id, row, domain;
            const char *said; /* NULL: sound */
        } rows[] = {
            { left.file_id, 0, 0, NULL },
            { left.file_id, 1u << 20, 0, "a row that the file does not have" },
            { 0, 0, 0, "there is no such file" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            long damages;

            write_tags(r, &tags, rows[i].file_id, rows[i].row, rows[i].domain);
            damages = verify(r, false, &t);
            EXPECT(rows[i].said == NULL ? damages == 0
                                        : damages == 1 && strstr(t.text, rows[i].said) != NULL,
                   "row %zu: %ld damages: %s", i, damages, t.text);
        }
    }
    dx_tags_close(&tags);
    put_file(r, DX_FILE_TAGS, dx_span_of(sound.data, sound.size));
    dx_buf_release(&sound);
}

int main(void)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    const struct dx_manifest_version *v;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_shape shape;
    struct dx_test_root r;

    dx_test_root_usual(&shape);
    shape.tags = tags_of;
    dx_test_root_make_of(&r, DOMAINS, DATASETS, &shape);
    check_sound(&r, "one part");
    for (unsigned number = 1; number < PARTS; number++) {
        add_file(&r, number);
        publish(&r);
        check_sound(&r, "one part more");
    }
    must(dx_version_manifest(r.path, &m, &err), &err);
    v = dx_manifest_current(&m);
    EXPECT(v->part_count == PARTS - 1 && v->domains == DOMAINS + PARTS - 1 &&
               v->lake_files == DATASETS + 2,
           "%zu older parts, %llu domains, %llu files", v->part_count,
           (unsigned long long)v->domains, (unsigned long long)v->lake_files);
    if (v->part_count > 0) {
        check_dead(&r, v);
        check_tags(&r, v);
        check_tags_of_files(&r, v);
        check_files(&r, &m, v);
    }
    check_sound(&r, "all files put back");
    dx_manifest_release(&m);
    dx_test_root_remove(&r);
    return failures > 0;
}
