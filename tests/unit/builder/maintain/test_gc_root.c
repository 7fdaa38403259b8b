/* SPDX-License-Identifier: Apache-2.0
 * What gc removes from the folders of a root: files on their way into the lake and empty folders of a version, and nothing else.
 */
#include "builder/maintain/gc_root.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/root/root_lock.h"
#include "format/version/names.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define NONCE "0123456789abcdef0123456789abcdef"

static unsigned failures;
static struct dx_test_root root;

enum kind { EMPTY_FILE, FOLDER, LINK };

struct made {
    const char *path; /* in the root; folders above it are made */
    enum kind kind;
    bool stays;
};

static const struct made lake[] = {
    { "urls/.tmp-" NONCE, EMPTY_FILE, false },
    { "urls/dataset_id=9/.tmp-" NONCE, EMPTY_FILE, false },
    { "urls/dataset_id=9/domain_prefix=00/.tmp-" NONCE, EMPTY_FILE, false },
    { "urls/dataset_id=9/domain_prefix=00/deeper/.tmp-" NONCE, EMPTY_FILE, true },
    { "urls/.hidden/.tmp-" NONCE, EMPTY_FILE, true },
    { "urls/dataset_id=9/part-00000.parquet", EMPTY_FILE, true },
    { "urls/dataset_id=9/tmp-" NONCE, EMPTY_FILE, true },
    { "urls/dataset_id=9/.tmp-" NONCE "0", EMPTY_FILE, true },
    { "urls/dataset_id=9/.tmp-0123456789abcdef0123456789abcde", EMPTY_FILE, true },
    { "urls/dataset_id=9/.tmp-0123456789abcdef0123456789abcdeg", EMPTY_FILE, true },
    { "urls/dataset_id=9/.tmp-0123456789ABCDEF0123456789abcdef", EMPTY_FILE, true },
    { "urls/dataset_id=9/.tmp-" NONCE ".parquet", EMPTY_FILE, true },
    { "urls/.tmp-1123456789abcdef0123456789abcdef", FOLDER, true },
    { "urls/.tmp-2123456789abcdef0123456789abcdef", LINK, true },
    { ".tmp-" NONCE, EMPTY_FILE, true }, /* not of the lake */
};

static const struct made version[] = {
    { "index/none/postings/000", FOLDER, false },
    { "index/none/postings/001", FOLDER, false },
    { "index/some/postings/000", FOLDER, false },
    { "index/some/postings/001/file", EMPTY_FILE, true },
    { "index/deep/a/b/c", FOLDER, true },
    { "index/other/postings/000", FOLDER, true },
};

static void path_of(const char *name, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/%s", root.path, name);
}

static bool is_there(const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    path_of(name, path);
    return lstat(path, &st) == 0;
}

static void make(const struct made *m)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[PATH_MAX];
    char *slash;
    FILE *file;

    path_of(m->path, path);
    slash = strrchr(path, '/');
    *slash = '\0';
    if (dx_dir_make(path, &err) < 0)
        exit(1);
    *slash = '/';
    if (m->kind == FOLDER && dx_dir_make(path, &err) == DX_OK)
        return;
    if (m->kind == LINK && symlink("dataset_id=9/part-00000.parquet", path) == 0)
        return;
    file = m->kind == EMPTY_FILE ? fopen(path, "w") : NULL;
    if (file == NULL || fclose(file) != 0)
        exit(1);
}

static size_t files;

static int count_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)path;
    (void)st;
    (void)at;
    files += type == FTW_F;
    return 0;
}

static size_t files_below(const char *name)
{
    char path[PATH_MAX];

    path_of(name, path);
    files = 0;
    if (nftw(path, count_file, 16, FTW_PHYS) != 0)
        exit(1);
    return files;
}

static void check_sweep(const struct dx_gc_root *g)
{
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    struct dx_error err = DX_ERROR_INIT;
    size_t before = files_below(DX_LAKE_DIR);

    EXPECT(before > 0, "the lake has no files");
    for (size_t i = 0; i < sizeof lake / sizeof *lake; i++)
        make(&lake[i]);
    EXPECT(dx_root_lock_take(&lock, root.path, &err) == DX_OK && dx_gc_root_sweep(g, &err) == DX_OK,
           "%s", err.text);
    for (size_t i = 0; i < sizeof lake / sizeof *lake; i++)
        EXPECT(is_there(lake[i].path), "beside a writer: %s", lake[i].path);
    dx_root_lock_drop(&lock);
    EXPECT(dx_gc_root_sweep(g, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; i < sizeof lake / sizeof *lake; i++) {
        char path[PATH_MAX];

        EXPECT(is_there(lake[i].path) == lake[i].stays, "%s", lake[i].path);
        path_of(lake[i].path, path);
        if (lake[i].kind == EMPTY_FILE && lake[i].stays && strncmp(lake[i].path, "urls/", 5) == 0)
            (void)unlink(path);
    }
    EXPECT(files_below(DX_LAKE_DIR) == before, "%zu of %zu files of the lake", files, before);
}

static void check_tidy(const struct dx_gc_root *g)
{
    static const char *const tidied[] = { "none", "some", "deep", "absent" };
    struct dx_error err = DX_ERROR_INIT;
    size_t before = files_below(DX_INDEX_DIR);

    for (size_t i = 0; i < sizeof version / sizeof *version; i++)
        make(&version[i]);
    for (size_t i = 0; i < sizeof tidied / sizeof *tidied; i++)
        EXPECT(dx_gc_root_tidy(g, tidied[i], &err) == DX_OK, "%s: %s", tidied[i], err.text);
    for (size_t i = 0; i < sizeof version / sizeof *version; i++)
        EXPECT(is_there(version[i].path) == version[i].stays, "%s", version[i].path);
    EXPECT(!is_there("index/none") && is_there("index/some"), "folders of versions");
    EXPECT(files_below(DX_INDEX_DIR) == before + 1, "%zu files, and one more", before);
}

/* A folder that is not a root stays as it is. */
static void check_open(void)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[PATH_MAX];
    struct dx_gc_root g;

    path_of("urls", path);
    EXPECT(dx_gc_root_open(&g, path, true, 0, &err) == DX_E_NOT_FOUND, "%s", err.text);
    EXPECT(!is_there("urls/.lock"), "it became one");
    path_of("absent", path);
    EXPECT(dx_gc_root_open(&g, path, true, 0, &err) == DX_E_NOT_FOUND && !is_there("absent"), "%s",
           err.text);
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_gc_root g;

    dx_test_root_make(&root, 4, 2);
    check_open();
    if (dx_gc_root_open(&g, root.path, true, 0, &err) == DX_OK) {
        check_sweep(&g);
        check_tidy(&g);
        dx_gc_root_close(&g);
    } else {
        EXPECT(false, "%s", err.text);
    }
    dx_test_root_remove(&root);
    return failures > 0;
}
