/* SPDX-License-Identifier: Apache-2.0
 * Pages of the cold files as blocks of an answer and one after the other: the same bytes, from the
 * cache the second time; each flipped bit of a page and each cut is an error that names the file.
 */
#include "base/file.h"
#include "format/version/pair_pages.h"
#include "loader/cold_walk.h"
#include "loader/version.h"
#include "query/rows/cold_page.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include <fcntl.h>
#include <unistd.h>

#define DOMAINS 9
#define DATASETS 3
#define PLAIN_MAX (1u << 20)

static unsigned failures;

struct opened {
    struct dx_caches *caches;
    struct dx_version *v;
    struct dx_zstd_decoder *decoder;
};

static void open_root(struct opened *o, const struct dx_test_root *r)
{
    const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;

    if (dx_caches_new(&o->caches, &options, &err) < 0 ||
        dx_version_open_named(&o->v, r->path, NULL, o->caches, &options, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    o->decoder = dx_zstd_decoder_new();
}

static void close_root(struct opened *o)
{
    dx_zstd_decoder_free(&o->decoder);
    dx_version_unpin(o->v);
    dx_caches_free(&o->caches);
}

/* The bytes of one pair: 1, 0, <0. */
static int find_pair(const struct dx_cold_page *page, struct dx_span plain, uint64_t ordinal,
                     uint32_t sub, struct dx_span *bytes, struct dx_error *err)
{
    struct dx_pair_page p = dx_pair_page_of(page, DX_COLD_VERSION, plain);
    uint64_t o;
    uint32_t s;
    int rc = dx_pair_page_seek(&p, ordinal, sub, &o, &s, bytes, err);

    return rc == 1 ? o == ordinal && s == sub : rc;
}

/* The page as an answer gets it; how many batches that took, or a negative code. */
static int take(struct opened *o, enum dx_cold_file file, uint32_t number, struct dx_buf *plain,
                struct dx_error *err)
{
    struct dx_cold_page_wanted p = { 0 };
    struct dx_read_batch r = { 0 };
    int batches = 0;
    int rc = dx_cold_page_at(&p, dx_version_own(o->v), o->v->caches, file, number, err);

    while (rc >= 0 && p.wanted.block == NULL) {
        dx_read_batch_begin(&r, o->v, dx_part_cold_source(dx_version_own(o->v), file), 0);
        rc = dx_cold_page_advance(&p, &r, o->decoder, err);
        if (rc < 0 || dx_read_batch_state(&r) == DX_READ_BATCH_DONE)
            continue;
        rc = dx_read_batch_fetched(&r, dx_read_batch_perform(&r, err), err);
        if (rc < 0)
            dx_block_request_failed(&r, err);
        batches++;
    }
    dx_buf_clear(plain);
    if (rc >= 0)
        dx_buf_append(plain, dx_cold_page_bytes(&p).data, dx_cold_page_bytes(&p).size);
    dx_cold_page_release(&p);
    dx_read_batch_release(&r);
    return rc < 0 ? rc : batches;
}

static void test_same(const struct dx_test_root *root)
{
    struct dx_buf plain = DX_BUF_INIT(PLAIN_MAX);
    struct dx_cold_page_wanted none = { 0 };
    struct dx_error err = DX_ERROR_INIT;
    struct opened o = { 0 };

    open_root(&o, root);
    for (unsigned i = 0; i < DX_COLD_FILES; i++) {
        enum dx_cold_file file = (enum dx_cold_file)i;
        struct dx_cold_walk w;
        uint64_t entries = 0;
        uint32_t pages = 0;
        int rc = dx_cold_walk_begin(&w, dx_version_own(o.v), file, &err);

        while (rc >= 0 && (rc = dx_cold_walk_next(&w, &err)) == 1) {
            EXPECT(w.page.file == file && w.page.number == pages, "%u", w.page.number);
            EXPECT(take(&o, file, pages, &plain, &err) == 1, "%s", err.text);
            EXPECT(dx_span_equal(w.plain, dx_span_of(plain.data, plain.size)), "page %u of %s",
                   pages, dx_cold_file_name(file));
            EXPECT(take(&o, file, pages, &plain, &err) == 0, "not from the cache: %s", err.text);
            entries += w.page.entries;
            pages++;
        }
        EXPECT(rc == 0 && pages > 0 &&
                   pages == dx_cold_page_count(&dx_version_own(o.v)->cold, file) &&
                   entries == dx_version_own(o.v)->cold.entries[i],
               "%s: %d, %u pages, %s", dx_cold_file_name(file), rc, pages, err.text);
        EXPECT(dx_cold_walk_next(&w, &err) == 0, "behind the last one");
        EXPECT(dx_cold_page_at(&none, dx_version_own(o.v), o.v->caches, file, pages, &err) == 0,
               "no such page");
        dx_cold_page_release(&none);
        dx_cold_walk_close(&w);
    }
    dx_buf_release(&plain);
    close_root(&o);
}

/* Each entry is found through the page that its key leads to. */
static void test_find(const struct dx_test_root *root)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold_page_wanted p = { 0 };
    struct opened o = { 0 };

    open_root(&o, root);
    for (uint64_t ordinal = 0; ordinal < o.v->entry.domains; ordinal++) {
        int rc = dx_cold_page_find(&p, dx_version_own(o.v), o.v->caches, DX_COLD_FACTS, ordinal, 0,
                                   &err);
        struct dx_buf plain = DX_BUF_INIT(PLAIN_MAX);
        struct dx_span bytes;

        EXPECT(rc == 1 && take(&o, DX_COLD_FACTS, p.page.number, &plain, &err) >= 0, "%s",
               err.text);
        EXPECT(find_pair(&p.page, dx_span_of(plain.data, plain.size), ordinal, 0, &bytes, &err) ==
                   1,
               "domain %llu: %s", (unsigned long long)ordinal, err.text);
        dx_cold_page_release(&p);
        dx_buf_release(&plain);
    }
    close_root(&o);
}

/* Two versions with one build id, of which the second says that the page is larger than the first one's, which is cached: what is
 * behind that in memory is not of the page. */
static void test_same_build(const struct dx_test_root *root)
{
    struct dx_buf plain = DX_BUF_INIT(PLAIN_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold_page_wanted p = { 0 };
    struct dx_read_batch r = { 0 };
    struct opened o = { 0 };

    open_root(&o, root);
    EXPECT(take(&o, DX_COLD_FACTS, 0, &plain, &err) == 1, "%s", err.text);
    EXPECT(dx_cold_page_at(&p, dx_version_own(o.v), o.v->caches, DX_COLD_FACTS, 0, &err) == 1, "%s",
           err.text);
    p.page.plain_size += 4096;
    dx_read_batch_begin(&r, o.v, dx_part_cold_source(dx_version_own(o.v), DX_COLD_FACTS), 0);
    EXPECT(dx_cold_page_advance(&p, &r, o.decoder, &err) == DX_E_CORRUPT &&
               strstr(err.text, "one build id") != NULL,
           "%s", err.text);
    dx_cold_page_release(&p);
    dx_read_batch_release(&r);
    dx_buf_release(&plain);
    close_root(&o);
}

/* Both readers, with caches of their own: nothing good is left from before. */
static void expect_refused(const struct dx_test_root *root, enum dx_cold_file file,
                           const char *what, size_t at)
{
    struct dx_buf plain = DX_BUF_INIT(PLAIN_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold_walk w;
    struct opened o = { 0 };
    int rc;

    open_root(&o, root);
    rc = take(&o, file, 0, &plain, &err);
    EXPECT(rc < 0 && strstr(err.text, dx_cold_file_name(file)) != NULL, "%s %zu: %d, %s", what, at,
           rc, err.text);
    err.text[0] = '\0';
    rc = dx_cold_walk_begin(&w, dx_version_own(o.v), file, &err);
    if (rc >= 0)
        rc = dx_cold_walk_next(&w, &err);
    EXPECT(rc < 0 && strstr(err.text, dx_cold_file_name(file)) != NULL, "%s %zu: walk: %d, %s",
           what, at, rc, err.text);
    dx_cold_walk_close(&w);
    dx_buf_release(&plain);
    close_root(&o);
}

static void test_damage(const struct dx_test_root *root, enum dx_cold_file file)
{
    struct dx_buf bytes = DX_BUF_INIT(PLAIN_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold_page page;
    struct opened o = { 0 };
    char path[300];
    int fd;

    open_root(&o, root);
    EXPECT(dx_cold_page(&dx_version_own(o.v)->cold, file, 0, &page, &err) == 1, "%s", err.text);
    close_root(&o);
    (void)snprintf(path, sizeof path, "%s/index/%s/%s", root->path, root->version,
                   dx_cold_file_name(file));
    if (dx_file_read(path, bytes.max, &bytes, &err) < 0)
        abort();
    fd = open(path, O_WRONLY | O_CLOEXEC);
    for (size_t bit = 0; bit < page.stored_size * 8ul; bit += 7) {
        uint8_t damaged = (uint8_t)(bytes.data[bit / 8] ^ 1u << (bit & 7));

        if (pwrite(fd, &damaged, 1, (off_t)(bit / 8)) != 1)
            abort();
        expect_refused(root, file, "bit", bit);
        if (pwrite(fd, &bytes.data[bit / 8], 1, (off_t)(bit / 8)) != 1)
            abort();
    }
    for (size_t size = 0; size < bytes.size; size += 1 + bytes.size / 20) {
        if (ftruncate(fd, (off_t)size) != 0)
            abort();
        expect_refused(root, file, "cut to", size);
        if (pwrite(fd, bytes.data, bytes.size, 0) != (ssize_t)bytes.size)
            abort();
    }
    (void)close(fd);
    dx_buf_release(&bytes);
}

int main(void)
{
    struct dx_test_root root;

    dx_test_root_make(&root, DOMAINS, DATASETS);
    test_same(&root);
    test_same_build(&root);
    test_find(&root);
    for (unsigned i = 0; i < DX_COLD_FILES; i++)
        test_damage(&root, (enum dx_cold_file)i);
    test_same(&root);
    dx_test_root_remove(&root);
    return failures == 0 ? 0 : 1;
}
