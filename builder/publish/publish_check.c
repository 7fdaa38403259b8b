/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish/publish_check.h"

#include <stdio.h>

#include "builder/root/version_files.h"
#include "loader/version_parts.h"
#include "query/answers/answer.h"
#include "query/answers/self_test.h"
#include "query/view/view.h"

#define ANSWER_MAX (64u << 20)
#define CACHE_BYTES (1u << 20)
#define SAMPLE 32 /* domains that are asked for */
#define ROWS_MERGED \
    4 /* datasets with a row read, of a version made from another: each is a request */
#define ABSENT "no-such-domain-0123456789abcdef.invalid"

/* The version as the store has it, or as it was made. Both have the same build id, by which a cache
 * knows its blocks: with caches in common each would be compared with itself. */
struct side {
    struct dx_caches *caches;
    struct dx_version *version;
    struct dx_canon *canon;
    struct dx_buf body;
};

static int fetch_files(const struct dx_publish_check *c, struct dx_error *err)
{
    struct dx_version_files files = { .source = c->source,
                                      .entry = c->entry,
                                      .threads = c->threads,
                                      .bytes = c->bytes,
                                      .items = c->items };
    int rc = dx_mirror_open(&files.mirror, c->mirror_dir, err);

    if (rc == DX_OK)
        rc = dx_version_files_fetch(&files, NULL, err);
    for (size_t i = 0; rc >= 0 && i < dx_manifest_object_count(c->entry); i++) {
        const struct dx_manifest_file *f = dx_manifest_object(c->entry, i);
        const struct dx_mirror_want want = { f->name, f->size, f->hash, NULL };

        rc = dx_mirror_adopt(c->cache, files.mirror, &want, err);
    }
    dx_mirror_close(&files.mirror);
    return rc < 0 ? rc : DX_OK;
}

static int open_side(struct side *s, const char *root, const struct dx_publish_check *c,
                     const struct dx_version_options *options, struct dx_error *err)
{
    int rc = dx_caches_new(&s->caches, options, err);

    dx_buf_init(&s->body, ANSWER_MAX);
    if (rc == DX_OK)
        rc = dx_version_open(&s->version, root, c->manifest, c->entry, s->caches, options, err);
    return rc == DX_OK ? dx_version_canon_new(s->version, &s->canon, err) : rc;
}

static void close_side(struct side *s)
{
    dx_canon_free(&s->canon);
    dx_version_unpin(s->version);
    dx_caches_free(&s->caches);
    dx_buf_release(&s->body);
}

/* 1 an answer, 0 there is none, <0 failed. */
static int ask(struct side *s, struct dx_span domain, struct dx_error *err)
{
    struct dx_problem problem;
    int rc;

    dx_buf_clear(&s->body);
    rc = dx_answer_domain(DX_VIEW_ALL(s->version), s->canon, domain, DX_DOMAIN_FIELDS_ALL, &s->body,
                          &problem);
    return rc >= 0 ? rc
                   : dx_fail(err, (enum dx_code)rc, "%.*s: %s", (int)domain.size,
                             (const char *)domain.data, problem.detail);
}

/* 1 and 0 as above: the files that were made decide. */
static int same_answer(struct side *remote, struct side *local, struct dx_span domain,
                       struct dx_error *err)
{
    int made = ask(local, domain, err);
    int read = made < 0 ? made : ask(remote, domain, err);

    if (read < 0)
        return read;
    if (made == read && dx_span_equal(dx_span_of(local->body.data, local->body.size),
                                      dx_span_of(remote->body.data, remote->body.size)))
        return made;
    return dx_fail(err, DX_E_CORRUPT,
                   "%.*s: is answered otherwise from the store than by the files that were "
                   "uploaded",
                   (int)domain.size, (const char *)domain.data);
}

static int compare_one(struct side *remote, struct side *local, uint64_t ordinal,
                       struct dx_error *err)
{
    uint8_t text[DX_SURT_MAX];
    size_t size = 0;
    int rc = dx_dictionary_get(&dx_version_own(local->version)->dictionary, ordinal, text, &size,
                               err);

    if (rc >= 0)
        rc = same_answer(remote, local, dx_span_of(text, size), err);
    return rc < 0 ? rc : DX_OK;
}

static int compare(struct side *remote, struct side *local, struct dx_error *err)
{
    uint64_t n = local->version->entry.domains;
    uint64_t count = n < SAMPLE ? n : SAMPLE;
    int rc = same_answer(remote, local, dx_span_str(ABSENT), err);

    for (uint64_t i = 0; rc >= 0 && i < count; i++) {
        uint64_t ordinal = count < 2
                               ? 0
                               : (uint64_t)((double)(n - 1) * (double)i / (double)(count - 1));

        rc = compare_one(remote, local, ordinal, err);
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_publish_check_run(const struct dx_publish_check *c, struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_self_test_options self_test = DX_SELF_TEST_OPTIONS_INIT;
    struct dx_self_test_rows rows; /* what fails of some datasets only, servers say */
    struct side remote = { 0 };
    struct side local = { 0 };
    int rc = fetch_files(c, err);

    options.cache_bytes_idx = options.cache_bytes_payload = options.cache_bytes_pages = CACHE_BYTES;
    options.source = c->options;
    options.mirror_dir = dx_mirror_dir_of(c->cache);
    options.mirror_postings = true;
    if (rc == DX_OK && c->entry->part_count == 0)
        rc = open_side(&local, c->local_root, c, &options, err);
    if (c->entry->base[0] != '\0')
        self_test.rows = ROWS_MERGED;
    options.verify = true;
    options.own_only = true; /* older parts were checked when they were published */
    if (rc == DX_OK)
        rc = open_side(&remote, c->remote_root, c, &options, err);
    if (rc == DX_OK)
        rc = dx_mphf_verify(&dx_version_own(remote.version)->mphf,
                            &dx_version_own(remote.version)->dictionary, c->threads, err);
    if (rc == DX_OK && c->entry->part_count == 0)
        rc = compare(&remote, &local, err);
    if (rc == DX_OK)
        rc = dx_self_test(remote.version, &self_test, &rows, err);
    close_side(&remote);
    close_side(&local);
    return rc == DX_OK ? rc
                       : dx_fail_in(err, "the new version does not read back from the store as it "
                                         "was made, and is not published");
}
