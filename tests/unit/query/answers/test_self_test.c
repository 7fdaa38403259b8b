/* SPDX-License-Identifier: Apache-2.0
 * What a version is asked before it serves: sound ones pass, parts of two versions do not, and a
 * file that was cut is found by warming and does not kill the process. And the sample of recently
 * requested domains.
 */
#include "query/answers/self_test.h"

#include "base/file.h"
#include "loader/hot_keys.h"
#include "loader/version.h"
#include "loader/warm.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOMAINS 300
#define DOMAINS_MANY 3000 /* of more than a block of the dictionary */
#define DATASETS 5

static unsigned failures;
static struct dx_self_test_rows rows;

static const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;

static struct dx_version *open_named(const struct dx_test_root *r, const char *name,
                                     struct dx_caches *caches)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v;

    if (dx_version_open_named(&v, r->path, name, caches, &options, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return v;
}

static int self_test(struct dx_version *v, struct dx_error *err)
{
    const struct dx_self_test_options o = DX_SELF_TEST_OPTIONS_INIT;

    *err = (struct dx_error)DX_ERROR_INIT;
    return dx_self_test(v, &o, &rows, err);
}

#define SWAP(a, b)                 \
    do {                           \
        __typeof__(a) swap_ = (a); \
        (a) = (b);                 \
        (b) = swap_;               \
    } while (0)

#define EXPECT_FOUND(file)                                                              \
    do {                                                                                \
        SWAP(dx_version_own(a)->file, dx_version_own(b)->file);                         \
        EXPECT(self_test(a, &err) < 0, "the other version's " #file " is not noticed"); \
        EXPECT(err.text[0] != '\0', #file ": no words");                                \
        SWAP(dx_version_own(a)->file, dx_version_own(b)->file);                         \
        EXPECT(self_test(a, &err) == DX_OK, "after " #file ": %s", err.text);           \
    } while (0)

/* Each part alone is sound: only asking all of them shows it. */
static void check_mixed(struct dx_version *a, struct dx_version *b)
{
    const struct dx_registry none = { 0 };
    struct dx_registry registry = a->registry;
    struct dx_error err;

    EXPECT(self_test(a, &err) == DX_OK, "%s", err.text);
    EXPECT(self_test(b, &err) == DX_OK, "%s", err.text);
    EXPECT_FOUND(mphf);
    EXPECT_FOUND(dictionary);
    EXPECT_FOUND(membership);
    EXPECT_FOUND(counts);
    a->registry = none;
    EXPECT(self_test(a, &err) < 0 && strstr(err.text, "datasets.json") != NULL, "%s", err.text);
    a->registry = registry;
    /* Postings of nothing: the posting of a pair that the counts know is missing. */
    SWAP(dx_version_own(a)->postings, dx_version_own(b)->postings);
    SWAP(dx_version_own(a)->entry, dx_version_own(b)->entry);
    EXPECT(self_test(a, &err) < 0, "postings of another version");
    SWAP(dx_version_own(a)->entry, dx_version_own(b)->entry);
    SWAP(dx_version_own(a)->postings, dx_version_own(b)->postings);
    EXPECT(self_test(a, &err) == DX_OK, "%s", err.text);
}

/* Opening reads little of the dictionary; asking for its domains reads all of it. */
static void check_dictionary(void)
{
    struct dx_test_root r;
    struct dx_buf bytes = DX_BUF_INIT(1 << 20);
    struct dx_caches *caches = NULL;
    struct dx_version *v;
    struct dx_error err = DX_ERROR_INIT;
    char path[300];

    dx_test_root_make(&r, DOMAINS_MANY, 1);
    (void)snprintf(path, sizeof path, "%s/index/%s/" DX_FILE_DOMAINS_DICT, r.path, r.version);
    EXPECT(dx_file_read(path, bytes.max, &bytes, &err) >= 0, "%s", err.text);
    bytes.data[bytes.size / 2] ^= 1;
    EXPECT(dx_file_replace(path, dx_span_of(bytes.data, bytes.size), &err) == DX_OK, "%s",
           err.text);
    EXPECT(dx_caches_new(&caches, &options, &err) == DX_OK, "%s", err.text);
    v = open_named(&r, NULL, caches);
    EXPECT(self_test(v, &err) == DX_E_CORRUPT && strstr(err.text, DX_FILE_DOMAINS_DICT) != NULL,
           "%s", err.text);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    dx_test_root_remove(&r);
    dx_buf_release(&bytes);
}

static void move_file(const struct dx_test_root *r, unsigned dataset, bool back)
{
    char path[256];
    char away[256];

    (void)snprintf(path, sizeof path,
                   "%s/urls/dataset_id=%u/domain_prefix=00-ff/part-00000.parquet", r->path,
                   dataset);
    (void)snprintf(away, sizeof away, "%s/away-%u", r->path, dataset);
    EXPECT(rename(back ? away : path, back ? path : away) == 0, "%s", path);
}

/* Rows of the lake that are not there: in one dataset that is its own matter, in all it is not. */
static void check_lake(const struct dx_test_root *r)
{
    struct dx_caches *caches = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v;

    EXPECT(dx_caches_new(&caches, &options, &err) == DX_OK, "%s", err.text);
    v = open_named(r, NULL, caches);
    EXPECT(self_test(v, &err) == DX_OK && rows.tried == DATASETS && rows.failed == 0,
           "%u of %u: %s", rows.failed, rows.tried, err.text);
    for (unsigned gone = 1; gone <= DATASETS; gone++) {
        struct dx_caches *fresh = NULL;
        struct dx_version *again;

        move_file(r, gone, false);
        EXPECT(dx_caches_new(&fresh, &options, &err) == DX_OK, "%s", err.text);
        again = open_named(r, NULL, fresh);
        EXPECT((self_test(again, &err) == DX_OK) == (gone < DATASETS), "%u gone: %s", gone,
               err.text);
        EXPECT(rows.failed == gone && strstr(rows.first.text, "dataset_id=1/") != NULL, "%u: %s",
               rows.failed, rows.first.text);
        dx_version_unpin(again);
        dx_caches_free(&fresh);
    }
    for (unsigned gone = 1; gone <= DATASETS; gone++)
        move_file(r, gone, true);
    EXPECT(self_test(v, &err) == DX_OK, "%s", err.text);
    dx_version_unpin(v);
    dx_caches_free(&caches);
}

static void check_warm(const struct dx_test_root *r)
{
    struct dx_caches *caches = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v;
    char domain[64];
    char path[256];

    EXPECT(dx_caches_new(&caches, &options, &err) == DX_OK, "%s", err.text);
    v = open_named(r, NULL, caches);
    EXPECT(dx_warm_maps(v, false, &err) == DX_OK, "%s", err.text);
    for (unsigned i = 0; i < 10 * DX_HOT_KEYS_EACH; i++) {
        dx_test_root_domain(i % DOMAINS, domain);
        dx_hot_keys_note(caches->hot, dx_span_str(domain));
    }
    dx_hot_keys_note(caches->hot, dx_span_str("gone.example"));
    EXPECT(dx_warm_keys(v, caches->hot, &err) == DX_OK, "%s", err.text);
    (void)snprintf(path, sizeof path, "%s/index/%s/domain_counts.dxc", r->path, r->version);
    dx_version_unpin(v); /* what is warm already is not read again */
    dx_caches_free(&caches);
    EXPECT(dx_caches_new(&caches, &options, &err) == DX_OK, "%s", err.text);
    v = open_named(r, NULL, caches);
    EXPECT(chmod(path, 0644) == 0 && truncate(path, 0) == 0, "%s", path);
    EXPECT(dx_warm_maps(v, false, &err) == DX_E_IO && strstr(err.text, "domain_counts.dxc") != NULL,
           "%s", err.text);
    dx_version_unpin(v);
    dx_caches_free(&caches);
}

/* What was read to be verified is not read a second time. */
static void check_verified_is_warm(const struct dx_test_root *r)
{
    struct dx_version_options verified = options;
    struct dx_caches *caches = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v;
    char path[256];

    verified.verify = true;
    EXPECT(dx_caches_new(&caches, &verified, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_version_open_named(&v, r->path, NULL, caches, &verified, &err) == DX_OK, "%s",
           err.text);
    (void)snprintf(path, sizeof path, "%s/index/%s/domain_counts.dxc", r->path, r->version);
    EXPECT(chmod(path, 0644) == 0 && truncate(path, 0) == 0, "%s", path);
    EXPECT(dx_warm_maps(v, true, &err) == DX_OK, "%s", err.text);
    dx_version_unpin(v);
    dx_caches_free(&caches);
}

/* ---- hot keys ---- */

static struct dx_hot_keys *hot;

static void *note_many(void *letter)
{
    char domain[DX_HOT_KEY_MAX];
    const char c = *(const char *)letter;
    const size_t times = dx_sample(200000, DX_ROUNDS(50000, 20000));

    for (unsigned i = 0; i < times; i++) {
        size_t size = 1 + i * 7 % DX_HOT_KEY_MAX;

        memset(domain, c, size);
        dx_hot_keys_note(hot, dx_span_of(domain, size));
    }
    return NULL;
}

static size_t count_keys(void)
{
    uint8_t domain[DX_HOT_KEY_MAX];
    size_t found = 0;
    size_t size;

    for (size_t i = 0; i < DX_HOT_KEYS; i++) {
        if (!dx_hot_keys_get(hot, i, domain, &size))
            continue;
        found++;
        EXPECT(size >= 1 && size <= DX_HOT_KEY_MAX, "%zu bytes", size);
        for (size_t k = 1; k < size; k++)
            if (domain[k] != domain[0]) {
                EXPECT(false, "a key of two writers: %c %c", domain[0], domain[k]);
                break;
            }
    }
    return found;
}

static void check_hot_keys(void)
{
    static const char letters[] = "abcd";
    struct dx_error err = DX_ERROR_INIT;
    pthread_t threads[4];

    dx_hot_keys_note(NULL, dx_span_str("nobody.example"));
    EXPECT(dx_hot_keys_new(&hot, &err) == DX_OK, "%s", err.text);
    EXPECT(count_keys() == 0, "none yet");
    for (size_t i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, note_many, (void *)(uintptr_t)&letters[i]) != 0)
            exit(1);
    for (size_t i = 0; i < DX_ROUNDS(200, 20); i++)
        (void)count_keys();
    for (size_t i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
    EXPECT(count_keys() > DX_HOT_KEYS * 9 / 10, "%zu keys", count_keys());
    dx_hot_keys_free(&hot);
}

int main(void)
{
    struct dx_caches *caches = NULL;
    struct dx_caches *others =
        NULL; /* blocks of the other root are not to be found in the first's */
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root other;
    struct dx_test_root r;
    struct dx_version *a;
    struct dx_version *b;

    check_hot_keys();
    check_dictionary();
    dx_test_root_make(&r, DOMAINS, DATASETS);
    EXPECT(dx_caches_new(&caches, &options, &err) == DX_OK, "%s", err.text);
    a = open_named(&r, NULL, caches);
    check_lake(&r);
    dx_test_root_make(&other, DOMAINS + 1, DATASETS - 1);
    EXPECT(dx_caches_new(&others, &options, &err) == DX_OK, "%s", err.text);
    b = open_named(&other, NULL, others);
    check_mixed(a, b);
    dx_version_unpin(a);
    dx_version_unpin(b);
    dx_caches_free(&caches);
    dx_caches_free(&others);
    check_warm(&r);
    check_verified_is_warm(&other);
    dx_test_root_remove(&other);
    dx_test_root_remove(&r);
    return failures > 0;
}
