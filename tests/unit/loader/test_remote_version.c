/* SPDX-License-Identifier: Apache-2.0
 * Versions of a remote root: the same answers as from the directory, ETags that the version fetches
 * or that replies tell, reloads by conditional GET, and what its health says.
 */
#include "base/file.h"
#include "format/version/etags_tsv.h"
#include "loader/current.h"
#include "loader/objects.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/view/view.h"
#include "tests/support/damage.h"
#include "tests/support/file_origin.h"
#include "tests/support/small_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOMAINS 200
#define DATASETS 3

static unsigned failures;
static char cache_dir[64];

static struct dx_version_options options_of(struct dx_source_options *source)
{
    struct dx_version_options o = DX_VERSION_OPTIONS_DEFAULT;

    *source = (struct dx_source_options)DX_SOURCE_OPTIONS_INIT;
    o.source = source;
    o.mirror_dir = cache_dir;
    return o;
}

/* What a version says of every seventh domain, also of a part of its datasets, so that sketches are
 * read, and the front of its listings; problems by name. */
static void answers_of(struct dx_version *v, struct dx_buf *out)
{
    const uint32_t some[] = { 1, 3 };
    struct dx_scope *scope = NULL;
    struct dx_buf body = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_canon *canon = NULL;
    struct dx_problem problem;

    EXPECT(dx_version_canon_new(v, &canon, &err) == DX_OK &&
               dx_scope_more(&scope, NULL, some, 2, &err) == DX_OK,
           "%s", err.text);
    for (unsigned i = 0; i < DOMAINS; i += 7) {
        char name[64];

        dx_test_root_domain(i, name);
        for (uint32_t dataset = 0; dataset <= DATASETS + 1; dataset++) {
            const struct dx_view view = { v, dataset > DATASETS ? scope : NULL, false };
            const struct dx_page_of page = { .offset = 1, .limit = 5 };
            struct dx_span asked = dx_span_str(name);
            int rc;

            dx_buf_clear(&body);
            rc = dataset == 0 || dataset > DATASETS
                     ? dx_answer_domain(&view, canon, asked, DX_DOMAIN_FIELDS_ALL, &body, &problem)
                     : dx_answer_urls(&view, canon, asked, dataset, page, DX_FIELDS_DEFAULT, &body,
                                      &problem);
            if (rc == 1)
                dx_buf_append(out, body.data, body.size);
            else
                dx_buf_str(out, problem.slug);
            dx_buf_u8(out, '\n');
        }
    }
    EXPECT(!out->failed, "answers");
    dx_canon_free(&canon);
    dx_scope_drop((const struct dx_scope **)&scope);
    dx_buf_release(&body);
}

static bool contains(const struct dx_buf *b, const char *words)
{
    return memmem(b->data, b->size, words, strlen(words)) != NULL;
}

static struct dx_version *open_at(const char *root, struct dx_caches *caches,
                                  const struct dx_version_options *options)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v = NULL;

    EXPECT(dx_version_open_named(&v, root, NULL, caches, options, &err) == DX_OK, "%s: %s", root,
           err.text);
    return v;
}

static void expect_same(const char *root, const char *local, const struct dx_version_options *o,
                        const char *words)
{
    struct dx_buf got = DX_BUF_INIT(1 << 24);
    struct dx_buf want = DX_BUF_INIT(1 << 24);
    struct dx_caches *caches[2] = { NULL, NULL };
    struct dx_version *v;
    struct dx_version *w;

    EXPECT(dx_caches_new(&caches[0], o, NULL) == DX_OK &&
               dx_caches_new(&caches[1], o, NULL) == DX_OK,
           "caches");
    v = open_at(root, caches[0], o);
    w = open_at(local, caches[1], o);
    if (v != NULL && w != NULL) {
        answers_of(v, &got);
        answers_of(w, &want);
        EXPECT(got.size == want.size && memcmp(got.data, want.data, got.size) == 0,
               "%s: %zu and %zu bytes", words, got.size, want.size);
        EXPECT((dx_version_own(v)->paged == v->source) == !o->mirror_postings &&
                   dx_version_own(v)->objects != NULL,
               "%s: sources", words);
        EXPECT(dx_version_own(w)->paged == w->source && dx_version_own(w)->objects != NULL &&
                   dx_version_own(w)->tree == NULL,
               "%s: local", words);
        EXPECT(dx_objects_broken(dx_version_own(v)->objects) == 0, "%s: sound", words);
    }
    dx_version_unpin(v);
    dx_version_unpin(w);
    dx_caches_free(&caches[0]);
    dx_caches_free(&caches[1]);
    dx_buf_release(&got);
    dx_buf_release(&want);
}

static void check_answers(const struct dx_file_origin *o, const struct dx_test_root *r)
{
    struct dx_source_options source;
    struct dx_version_options options = options_of(&source);

    expect_same(o->url, r->path, &options, "cold");
    expect_same(o->url, r->path, &options, "warm");
    options.mirror_postings = true;
    expect_same(o->url, r->path, &options, "postings too");
    options.verify = true;
    expect_same(o->url, r->path, &options, "verified");
}

/* ---- ETags ---- */

static int to_buf(void *ctx, struct dx_span bytes, struct dx_error *err)
{
    struct dx_buf *b = ctx;

    dx_buf_append(b, bytes.data, bytes.size);
    return b->failed ? dx_buf_fail(b, err, "etags") : DX_OK;
}

static void etag_of_lake(const struct dx_file_origin *o, unsigned dataset, char etag[64])
{
    char name[128];

    (void)snprintf(name, sizeof name, "urls/dataset_id=%u/domain_prefix=00-ff/part-00000.parquet",
                   dataset);
    EXPECT(dx_file_origin_etag(o, name, etag), "%s", name);
}

/* Puts etags.tsv.zst of all lake files into the current version and its manifest. */
static void put_etags(const struct dx_file_origin *o, const struct dx_test_root *r, const char *url,
                      unsigned wrong, uint32_t more)
{
    struct dx_buf file = DX_BUF_INIT(1 << 20);
    struct dx_buf text = DX_BUF_INIT(1 << 24);
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest_version *v;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_etags_writer w;
    struct dx_hash128 hash;
    char path[256];
    char etag[64];
    int rc = dx_etags_writer_begin(&w, url, to_buf, &file, &err);

    for (unsigned d = 1; d <= DATASETS && rc == DX_OK; d++) {
        etag_of_lake(o, d, etag);
        rc = dx_etags_writer_add(&w, DX_ETAG_LAKE, d - 1, d == wrong ? "\"wrong\"" : etag, &err);
    }
    if (rc == DX_OK && more != 0)
        rc = dx_etags_writer_add(&w, DX_ETAG_LAKE, more, "\"x\"", &err);
    if (rc == DX_OK)
        rc = dx_etags_writer_finish(&w, &err);
    dx_etags_writer_release(&w);
    if (rc == DX_OK)
        rc = dx_version_manifest(r->path, &m, &err);
    EXPECT(rc == DX_OK, "%s", err.text);
    v = &m.versions[m.version_count - 1];
    for (size_t i = 0; i < v->file_count; i++)
        if (strcmp(v->files[i].name, DX_FILE_ETAGS) == 0)
            memmove(&v->files[i], &v->files[i + 1], (--v->file_count - i) * sizeof v->files[0]);
    hash = dx_hash128_of(dx_span_of(file.data, file.size));
    EXPECT(dx_manifest_file_add(v, DX_FILE_ETAGS, file.size, &hash, &err) == DX_OK, "%s", err.text);
    m.sequence++;
    (void)snprintf(path, sizeof path, "%s/index/%s/%s", r->path, v->version, DX_FILE_ETAGS);
    EXPECT(dx_file_replace(path, dx_span_of(file.data, file.size), &err) == DX_OK, "%s", err.text);
    (void)snprintf(path, sizeof path, "%s/index/manifest.json", r->path);
    EXPECT(dx_manifest_write(&m, &text, &err) == DX_OK &&
               dx_file_replace(path, dx_span_of(text.data, text.size), &err) == DX_OK,
           "%s", err.text);
    dx_manifest_release(&m);
    dx_buf_release(&file);
    dx_buf_release(&text);
}

static void check_etags(const struct dx_file_origin *o, const struct dx_test_root *r)
{
    const struct dx_object lake = { DX_OBJECT_LAKE, 1 };
    const struct dx_object idx = { DX_OBJECT_IDX, 0 };
    struct dx_source_options source;
    struct dx_version_options options = options_of(&source);
    struct dx_caches *caches = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v;
    char etag[64];

    EXPECT(dx_caches_new(&caches, &options, &err) == DX_OK, "%s", err.text);
    etag_of_lake(o, 2, etag);
    put_etags(o, r, o->url, 0, 0);
    v = open_at(o->url, caches, &options);
    if (v != NULL) {
        const char *known = dx_objects_pin(dx_version_own(v)->objects, lake, 9).etag;

        EXPECT(known != NULL && strcmp(known, etag) == 0, "ETag of the version");
        EXPECT(dx_objects_pin(dx_version_own(v)->objects, idx, 9).etag == NULL,
               "not listed, not known");
    }
    dx_version_unpin(v);
    v = open_at(r->path, caches, &options);
    EXPECT(v != NULL && dx_objects_pin(dx_version_own(v)->objects, lake, 9).etag == NULL,
           "of no use to a folder");
    dx_version_unpin(v);
    expect_same(o->url, r->path, &options, "with ETags");
    put_etags(o, r, "https://elsewhere.example/root", 2, 0);
    v = open_at(o->url, caches, &options);
    EXPECT(v != NULL && dx_objects_pin(dx_version_own(v)->objects, lake, 9).etag == NULL,
           "of another store");
    dx_version_unpin(v);
    expect_same(o->url, r->path, &options, "with another store's ETags");
    put_etags(o, r, o->url, 0, DATASETS);
    EXPECT(dx_version_open_named(&v, o->url, NULL, caches, &options, &err) == DX_E_CORRUPT &&
               strstr(err.text, "lake file 3 of 3") != NULL,
           "%s", err.text);
    dx_caches_free(&caches);
}

/* ---- copies that were damaged here ---- */

static void put_manifest(const struct dx_test_root *r, uint32_t canon_version)
{
    struct dx_buf text = DX_BUF_INIT(1 << 24);
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char path[256];

    EXPECT(dx_version_manifest(r->path, &m, &err) == DX_OK, "%s", err.text);
    m.versions[m.version_count - 1].canon_version = canon_version;
    m.sequence++;
    (void)snprintf(path, sizeof path, "%s/index/manifest.json", r->path);
    EXPECT(dx_manifest_write(&m, &text, &err) == DX_OK &&
               dx_file_replace(path, dx_span_of(text.data, text.size), &err) == DX_OK,
           "%s", err.text);
    dx_manifest_release(&m);
    dx_buf_release(&text);
}

/* Opens the copy of a file of the version, turns a bit in its middle, and returns it; -1. */
static int damage_copy(const struct dx_test_root *r, const char *name, uint64_t *at)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    const struct dx_manifest_file *f;
    char hex[DX_HASH128_TEXT];
    uint8_t byte = 0;
    char path[256];
    int fd;

    EXPECT(dx_version_manifest(r->path, &m, NULL) == DX_OK, "manifest");
    f = dx_manifest_file(&m.versions[m.version_count - 1], name);
    dx_hash128_text(&f->hash, hex);
    *at = f->size / 2;
    (void)snprintf(path, sizeof path, "%s/objects/%.2s/%s-%llu", cache_dir, hex, hex,
                   (unsigned long long)f->size);
    dx_manifest_release(&m);
    (void)chmod(path, 0600);
    fd = open(path, O_RDWR | O_CLOEXEC);
    EXPECT(fd >= 0 && pread(fd, &byte, 1, (off_t)*at) == 1, "%s", path);
    byte ^= 1;
    EXPECT(pwrite(fd, &byte, 1, (off_t)*at) == 1, "%s", path);
    return fd;
}

static bool still_there(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Copies are hashed after failures that they can be to blame for, and only then. */
static void check_heal(const struct dx_file_origin *o, const struct dx_test_root *r)
{
    struct dx_source_options source;
    struct dx_version_options options = options_of(&source);
    struct dx_caches *caches = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v = NULL;
    uint64_t at;
    int fd;

    EXPECT(dx_caches_new(&caches, &options, &err) == DX_OK, "%s", err.text);
    fd = damage_copy(r, DX_FILE_DATASETS, &at);
    v = open_at(o->url, caches, &options);
    EXPECT(v != NULL && !still_there(fd), "a wrong hash: fetched again");
    dx_version_unpin(v);
    (void)close(fd);
    put_manifest(r, DX_CANON_VERSION + 1);
    options.open_flags = DX_OPEN_UNCHECKED; /* else the damage is to blame */
    fd = damage_copy(r, DX_FILE_PAGES, &at);
    EXPECT(dx_version_open_named(&v, o->url, NULL, caches, &options, &err) == DX_E_UNSUPPORTED,
           "%s", err.text);
    EXPECT(still_there(fd), "a failure that no copy can be to blame for");
    put_manifest(r, DX_CANON_VERSION);
    options.open_flags = 0;
    options.verify = true;
    v = open_at(o->url, caches, &options);
    EXPECT(v != NULL && !still_there(fd), "verified: fetched again");
    dx_version_unpin(v);
    (void)close(fd);
    dx_caches_free(&caches);
}

/* A copy of the postings that is damaged in place: an open with verify repairs it for all. */
static void check_heal_postings(const struct dx_file_origin *o, const struct dx_test_root *r)
{
    struct dx_source_options source;
    struct dx_version_options options = options_of(&source);
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_caches *caches = NULL;
    struct dx_version *v;
    struct dx_version *w;
    const char *name = DX_FILE_POSTINGS_IDX;
    uint8_t byte = 0;
    uint64_t at = 0;
    uint8_t damaged = 0;
    struct dx_read read = { .size = 1, .to = &byte };
    int fd;

    EXPECT(dx_caches_new(&caches, &options, NULL) == DX_OK &&
               dx_version_manifest(r->path, &m, NULL) == DX_OK,
           "caches, manifest");
    options.mirror_postings = true;
    v = open_at(o->url, caches, &options);
    fd = damage_copy(r, name, &at);
    EXPECT(pread(fd, &damaged, 1, (off_t)at) == 1, "%s", name);
    if (v != NULL) {
        char object[256];

        (void)snprintf(object, sizeof object, "%s/%s", dx_version_own(v)->directory, name);
        read.object = object;
        read.offset = at;
        EXPECT(dx_source_read(dx_version_own(v)->paged, &read, 1, NULL) == DX_OK && byte == damaged,
               "damaged");
        options.verify = true;
        w = open_at(o->url, caches, &options);
        EXPECT(dx_source_read(dx_version_own(v)->paged, &read, 1, NULL) == DX_OK &&
                   byte == (damaged ^ 1),
               "the version that was open has not got it");
        dx_version_unpin(w);
    }
    dx_version_unpin(v);
    (void)close(fd);
    dx_manifest_release(&m);
    dx_caches_free(&caches);
}

/* ---- the current version ---- */

static int open_current(struct dx_current **cur, const char *root,
                        const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_current_options o = DX_CURRENT_OPTIONS_INIT;

    o.version = options;
    return dx_current_open(cur, root, &o, err);
}

static void expect_health(struct dx_current *cur, bool sound, const char *words)
{
    struct dx_current_health health;

    dx_current_health(cur, &health);
    EXPECT(health.sound == sound && strstr(health.text, words) != NULL, "health: %d '%s'",
           health.sound, health.text);
}

/* An object that is not the one of the version: those that need it get an error, others do not. */
static void check_broken(const struct dx_file_origin *o, const struct dx_test_root *r)
{
    struct dx_source_options source;
    struct dx_version_options options = options_of(&source);
    struct dx_buf got = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current *cur = NULL;
    struct dx_version *v;

    put_etags(o, r, o->url, 2, 0);
    EXPECT(open_current(&cur, o->url, &options, &err) == DX_OK, "%s", err.text);
    if (cur == NULL)
        return;
    expect_health(cur, true, "sound");
    v = dx_current_pin(cur);
    answers_of(v, &got);
    EXPECT(contains(&got, "data-replaced\n") && contains(&got, "\"url\""), "some of both");
    EXPECT(o->refused > 0, "If-Match was asked");
    expect_health(cur, false, "replaced, cut or gone");
    /* A new manifest whose version is sound again. */
    put_etags(o, r, o->url, 0, 0);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    expect_health(cur, true, "sound");
    dx_version_unpin(v);
    dx_current_close(&cur);
    dx_buf_release(&got);
}

/* What a version of long ago left in the mirror. */
static void put_old_object(char path[256])
{
    const struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };
    struct dx_error err = DX_ERROR_INIT;

    (void)snprintf(path, 256, "%s/objects/00", cache_dir);
    EXPECT(dx_dir_make(path, &err) == DX_OK, "%s", err.text);
    (void)snprintf(path, 256, "%s/objects/00/00000000000000000000000000000000-1", cache_dir);
    EXPECT(dx_file_replace(path, dx_span_str("x"), &err) == DX_OK, "%s", err.text);
    EXPECT(utimensat(AT_FDCWD, path, times, 0) == 0, "%s", path);
}

static void check_reload(struct dx_file_origin *o, struct dx_test_root *r)
{
    struct dx_source_options source;
    struct dx_version_options options = options_of(&source);
    struct dx_buf manifest = DX_BUF_INIT(1 << 24);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_current *cur = NULL;
    struct dx_version *old;
    struct dx_version *now;
    char forgotten[256];
    char path[256];
    unsigned requests;

    (void)snprintf(path, sizeof path, "%s/index/manifest.json", r->path);
    EXPECT(open_current(&cur, o->url, &options, &err) == DX_OK, "%s", err.text);
    if (cur == NULL)
        return;
    memset(&source, 0, sizeof source); /* options are copied */
    o->not_modified = 0;
    requests = o->requests;
    EXPECT(dx_current_reload(cur, &err) == 0 && dx_current_reload(cur, &err) == 0, "%s", err.text);
    EXPECT(o->not_modified == 2 && o->requests == requests + 2, "304: %u of %u", o->not_modified,
           o->requests - requests);
    EXPECT(dx_file_read(path, manifest.max, &manifest, &err) == DX_OK, "%s", err.text);
    old = dx_current_pin(cur);
    (void)usleep(1100000); /* a version is named by the second */
    (void)snprintf(path, sizeof path,
                   "%s/urls/dataset_id=%u/domain_prefix=00-ff/part-00000.parquet", r->path,
                   DATASETS);
    EXPECT(remove(path) == 0, "%s", path);
    dx_test_root_publish(r);
    put_old_object(forgotten);
    EXPECT(dx_current_reload(cur, &err) == 1, "%s", err.text);
    EXPECT(access(forgotten, F_OK) < 0, "a copy that nobody uses");
    EXPECT(dx_current_reload(cur, &err) == 0 && o->not_modified == 3, "the new one's ETag: %u",
           o->not_modified);
    now = dx_current_pin(cur);
    EXPECT(now != old && strcmp(dx_version_name(now), r->version) == 0, "%s", dx_version_name(now));
    dx_version_unpin(old);
    (void)snprintf(path, sizeof path, "%s/index/manifest.json", r->path);
    EXPECT(dx_file_replace(path, dx_span_of(manifest.data, manifest.size), &err) == DX_OK, "%s",
           err.text);
    for (int i = 0; i < 2; i++) /* refused again, not taken for what is known */
        EXPECT(dx_current_reload(cur, &err) == DX_E_INVALID && strstr(err.text, "went back"), "%s",
               err.text);
    expect_health(cur, false, "went back");
    o->down = true;
    EXPECT(dx_current_reload(cur, &err) < 0, "the store is down");
    expect_health(cur, false, "the last reload failed: ");
    old = dx_current_pin(cur);
    EXPECT(old == now, "the version stays");
    dx_version_unpin(old);
    o->down = false;
    dx_version_unpin(now);
    dx_current_close(&cur);
    dx_buf_release(&manifest);
}

static void check_nothing_there(const struct dx_file_origin *o)
{
    struct dx_source_options source;
    struct dx_version_options options = options_of(&source);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_current *cur = NULL;
    char root[96];

    (void)snprintf(root, sizeof root, "%s/nowhere", o->url);
    EXPECT(open_current(&cur, root, &options, &err) == DX_E_NOT_FOUND && cur == NULL &&
               strstr(err.text, "no index here yet") != NULL,
           "%s", err.text);
    EXPECT(dx_version_manifest(root, &m, &err) == DX_E_NOT_FOUND, "%s", err.text);
    EXPECT(dx_version_manifest(o->url, &m, &err) == DX_OK && m.version_count > 0, "%s", err.text);
    dx_manifest_release(&m);
}

int main(void)
{
    struct dx_test_root r;
    struct dx_file_origin *o;

    (void)setenv("NO_PROXY", "127.0.0.1", 1);
    dx_test_root_make(&r, DOMAINS, DATASETS);
    (void)snprintf(cache_dir, sizeof cache_dir, "/tmp/domaindex-test-XXXXXX");
    if (mkdtemp(cache_dir) == NULL)
        return 1;
    o = dx_file_origin_new(r.path);
    check_answers(o, &r);
    check_heal(o, &r);
    check_heal_postings(o, &r);
    check_etags(o, &r);
    check_broken(o, &r);
    check_nothing_there(o);
    check_reload(o, &r);
    dx_file_origin_free(&o);
    (void)dx_dir_remove(cache_dir, NULL);
    dx_test_root_remove(&r);
    return failures > 0;
}
