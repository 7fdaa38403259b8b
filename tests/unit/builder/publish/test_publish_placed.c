/* SPDX-License-Identifier: Apache-2.0
 * Files of a rewrite in the lake: named before they are there, under free names only, and gone
 * again without a trace, but for what cannot be taken away, or may still come, which stays named.
 */
#include "builder/publish/publish_placed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/publish/publish_rewrite.h"
#include "fetch/store/store.h"
#include "tests/support/damage.h"

#define VERSION "000007-20261121T103000Z"
#define LIST "index/claims/" VERSION ".lake"
#define A "dataset_id=1/domain_prefix=00-ff/part-00003.parquet"
#define B "dataset_id=2/domain_prefix=9b/part-00000.parquet"

static unsigned failures;
static char base[] = "/tmp/domaindex-test-placed-XXXXXX";

static const char *path_of(const char *below)
{
    static char path[300];

    (void)snprintf(path, sizeof path, "%s/%s", base, below);
    return path;
}

static bool is_there(const char *below)
{
    return access(path_of(below), F_OK) == 0;
}

static void write_file(const char *below, const char *text)
{
    char folder[300];
    struct dx_error err = DX_ERROR_INIT;

    (void)snprintf(folder, sizeof folder, "%s", path_of(below));
    *strrchr(folder, '/') = '\0';
    if (dx_dir_make(folder, &err) < 0 ||
        dx_file_replace(path_of(below), dx_span_str(text), &err) < 0)
        abort();
}

static int put(struct dx_publish_placed *p, struct dx_store *store, struct dx_error *err)
{
    static char a[] = A;
    static char b[] = B;
    static char *const paths[] = { a, b };

    return dx_publish_placed_put(p, store, VERSION, path_of("made"), paths, 2, 1, err);
}

static void expect_list(const char *words)
{
    struct dx_buf text = DX_BUF_INIT(1000);
    struct dx_error err = DX_ERROR_INIT;
    const char *want = "urls/" A "\nurls/" B "\n";
    int rc = dx_file_read(path_of(LIST), 1000, &text, &err);

    EXPECT(rc == DX_OK && dx_span_equal(dx_span_of(text.data, text.size), dx_span_str(want)),
           "%s: the list: %s", words, err.text);
    dx_buf_release(&text);
}

static void test_there_and_back(struct dx_store *store)
{
    struct dx_publish_placed p = { 0 };
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(put(&p, store, &err) == DX_OK, "put: %s", err.text);
    expect_list("put");
    EXPECT(is_there("urls/" A) && is_there("urls/" B), "the files are there");
    EXPECT(p.count == 2 && p.file[0].size == 5 && strcmp(p.file[0].path, "urls/" A) == 0,
           "%zu files, the first of %llu bytes", p.count, (unsigned long long)p.file[0].size);
    dx_publish_placed_undo(&p);
    EXPECT(!is_there("urls/" A) && !is_there("urls/" B) && !is_there(LIST), "nothing stays");
    dx_publish_placed_release(&p);
}

/* Another writer's file is neither overwritten nor removed; the name of a version that has a
 * list already is not ours. */
static void test_taken(struct dx_store *store)
{
    struct dx_publish_placed p = { 0 };
    struct dx_error err = DX_ERROR_INIT;

    write_file("urls/" B, "other");
    EXPECT(put(&p, store, &err) == DX_E_CONFLICT && strstr(err.text, B) != NULL, "%s", err.text);
    dx_publish_placed_undo(&p);
    dx_publish_placed_release(&p);
    EXPECT(!is_there("urls/" A) && is_there("urls/" B) && !is_there(LIST), "theirs alone stays");
    write_file(LIST, "urls/x\n");
    EXPECT(put(&p, store, &err) == DX_E_EXISTS, "a list that is there: %s", err.text);
    dx_publish_placed_undo(&p);
    dx_publish_placed_release(&p);
    EXPECT(is_there(LIST) && !is_there("urls/" A), "their list stays");
    if (unlink(path_of(LIST)) < 0 || unlink(path_of("urls/" B)) < 0)
        abort();
}

/* A file that cannot be removed stays on the list. */
static void test_stuck(struct dx_store *store)
{
    struct dx_publish_placed p = { 0 };
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(put(&p, store, &err) == DX_OK, "put: %s", err.text);
    if (unlink(path_of("urls/" B)) < 0 || mkdir(path_of("urls/" B), 0755) < 0)
        abort();
    dx_publish_placed_undo(&p);
    EXPECT(!is_there("urls/" A), "the other file goes");
    expect_list("stuck");
    dx_publish_placed_release(&p);
}

/* A store that has lost the reply to a put, which may be on its way still. */
struct late_store {
    struct dx_store store;
    struct dx_store *below;
};

static int put_late(struct dx_store *store, const struct dx_put *put, char etag[DX_SOURCE_ETAG],
                    struct dx_error *err)
{
    if (strcmp(put->object, "urls/" B) == 0)
        return dx_fail(err, DX_E_UNKNOWN, "%s: no reply", put->object);
    return dx_store_put(((struct late_store *)store)->below, put, etag, err);
}

static int remove_late(struct dx_store *store, const char *object, struct dx_error *err)
{
    return dx_store_remove(((struct late_store *)store)->below, object, err);
}

static void test_late(struct dx_store *below)
{
    static const struct dx_store_ops ops = { .put = put_late, .remove = remove_late };
    struct late_store late = { { .ops = &ops }, below };
    struct dx_publish_placed p = { 0 };
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(put(&p, &late.store, &err) == DX_E_UNKNOWN, "%s", err.text);
    dx_publish_placed_undo(&p);
    EXPECT(!is_there("urls/" A), "the file that is there goes");
    expect_list("late");
    dx_publish_placed_release(&p);
    if (unlink(path_of(LIST)) < 0)
        abort();
}

static void test_paths(void)
{
    static const struct {
        const char *path;
        bool ok;
    } rows[] = {
        { A, true },
        { B, true },
        { "urls/" A, false },
        { "../" A, false },
        { "dataset_id=1/part-00001.parquet", false },
        { "", false },
    };
    struct dx_rewrite_out out = { 0 };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        EXPECT((dx_rewrite_out_add(&out, rows[i].path, NULL) == DX_OK) == rows[i].ok, "%s",
               rows[i].path);
    EXPECT(out.path_count == 2, "%zu paths", out.path_count);
    for (size_t i = 0; i < out.path_count; i++)
        free(out.paths[i]);
    free(out.paths);
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_store *store = NULL;

    if (mkdtemp(base) == NULL || dx_store_open_local(&store, base, &err) < 0)
        abort();
    write_file("made/" A, "12345");
    write_file("made/" B, "678");
    test_there_and_back(store);
    test_taken(store);
    test_late(store);
    test_stuck(store);
    test_paths();
    dx_store_close(&store);
    (void)dx_dir_remove(base, NULL);
    return failures == 0 ? 0 : 1;
}
