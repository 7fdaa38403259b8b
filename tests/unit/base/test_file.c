/* SPDX-License-Identifier: Apache-2.0
 * Whole files: what is written is what is read, sizes and hashes; errors name the path.
 */
#include "base/file.h"
#include "base/map.h"
#include "tests/support/damage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned failures;
static char root[] = "/tmp/domaindex-file-XXXXXX";

static void in_root(char out[256], const char *name)
{
    (void)snprintf(out, 256, "%s/%s", root, name);
}

/* Pieces of all sizes around the buffer, against the map of the file. */
static void check_out(bool mapped)
{
    struct dx_file_out out;
    struct dx_map map = DX_MAP_INIT;
    struct dx_buf all = DX_BUF_INIT(32u << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_hash128 want;
    uint64_t seed = 1;
    char path[256];

    in_root(path, mapped ? "out-mapped" : "out");
    EXPECT(dx_file_out_open(&out, path, &err) == DX_OK, "%s", err.text);
    EXPECT(!mapped || dx_file_out_mapped(&out, &err) == DX_OK, "%s", err.text);
    for (int i = 0; i < 60; i++) {
        static uint8_t piece[5000000];
        size_t n = (size_t)random_below(&seed, i == 30 ? sizeof piece : i % 3 == 0 ? 300000 : 5000);

        memset(piece, i, n);
        EXPECT(dx_file_out_write(&out, dx_span_of(piece, n), &err) == DX_OK, "%s", err.text);
        dx_buf_append(&all, piece, n);
    }
    EXPECT(dx_file_out_close(&out, DX_SYNC_NOW, &err) == DX_OK, "%s", err.text);
    want = dx_hash128_of(dx_span_of(all.data, all.size));
    EXPECT(out.size == all.size && dx_hash128_equal(&out.hash, &want), "size and hash");
    EXPECT(dx_map_open(&map, path, DX_MAP_SEQUENTIAL, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_span_equal(map.bytes, dx_span_of(all.data, all.size)), "bytes");
    dx_map_close(&map);
    EXPECT(dx_file_out_open(&out, path, &err) < 0 && strstr(err.text, path) != NULL,
           "an existing file is not written over: %s", err.text);
    in_root(path, "aborted");
    EXPECT(dx_file_out_open(&out, path, &err) == DX_OK, "%s", err.text);
    dx_file_out_abort(&out);
    dx_file_out_abort(&out);
    EXPECT(access(path, F_OK) != 0, "abort removes");
    dx_buf_release(&all);
}

/* What a disk keeps cannot be seen here (tests/e2e/ingest_sync.py looks at the calls). */
static void check_sync_later(void)
{
    struct dx_sync_all all = DX_SYNC_ALL_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_file_out out;
    char path[256];
    uint64_t size = 0;

    EXPECT(dx_sync_all_open(&all, root, &err) == DX_OK, "%s", err.text);
    in_root(path, "later");
    EXPECT(dx_file_out_open(&out, path, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_file_out_write(&out, dx_span_str("some bytes"), &err) == DX_OK, "%s", err.text);
    EXPECT(dx_file_out_close(&out, DX_SYNC_LATER, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_file_size(path, &size, &err) == DX_OK && size == 10, "written without a sync");
    EXPECT(dx_sync_all_flush(&all, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_file_sync(path, &err) == DX_OK, "%s", err.text);
    dx_sync_all_close(&all);
    dx_sync_all_close(&all);
    in_root(path, "nowhere");
    EXPECT(dx_file_sync(path, &err) < 0 && strstr(err.text, path) != NULL, "%s", err.text);
    EXPECT(dx_sync_all_open(&all, path, &err) < 0 && strstr(err.text, path) != NULL, "%s",
           err.text);
    dx_sync_all_close(&all);
}

static void check_make(void)
{
    struct dx_error err = DX_ERROR_INIT;
    bool is_new = false;
    char path[256], file[256];

    in_root(path, "m/a//b/c");
    EXPECT(dx_dir_make_or_find(path, &is_new, &err) == DX_OK && is_new, "%s", err.text);
    EXPECT(dx_dir_make_or_find(path, &is_new, &err) == DX_OK && !is_new, "was there");
    EXPECT(access(path, F_OK) == 0, "%s is missing", path);
    in_root(file, "m/file");
    EXPECT(dx_file_replace(file, dx_span_str("x"), &err) == DX_OK, "%s", err.text);
    in_root(path, "m/file/b/c");
    in_root(file, "m/file/b:");
    EXPECT(dx_dir_make(path, &err) < 0 && strstr(err.text, file) != NULL,
           "the first that cannot be made is named: %s", err.text);
    EXPECT(chdir(root) == 0 && dx_dir_make("r/s/", &err) == DX_OK && access("r/s", F_OK) == 0, "%s",
           err.text);
    EXPECT(dx_dir_make("", &err) == DX_E_INVALID, "no path");
}

static void check_replace(void)
{
    struct dx_buf text = DX_BUF_INIT(100);
    struct dx_error err = DX_ERROR_INIT;
    uint64_t size = 0;
    char path[256];

    in_root(path, "a/b/c");
    EXPECT(dx_dir_make(path, &err) == DX_OK && dx_dir_make(path, &err) == DX_OK, "%s", err.text);
    in_root(path, "a/b/c/file");
    EXPECT(dx_file_replace(path, dx_span_str("old"), &err) == DX_OK, "%s", err.text);
    EXPECT(dx_file_replace(path, dx_span_str("newer"), &err) == DX_OK, "%s", err.text);
    EXPECT(dx_file_read(path, 100, &text, &err) == DX_OK && text.size == 5, "%s", err.text);
    EXPECT(dx_file_size(path, &size, &err) == DX_OK && size == 5, "%s", err.text);
    dx_buf_clear(&text);
    EXPECT(dx_file_read(path, 4, &text, &err) == DX_E_LIMIT, "over the cap: %s", err.text);
    in_root(path, "a");
    EXPECT(dx_file_read(path, 100, &text, &err) < 0, "a directory: %s", err.text);
    in_root(path, "a/none");
    EXPECT(dx_file_read(path, 100, &text, &err) == DX_E_NOT_FOUND && strstr(err.text, path) != NULL,
           "%s", err.text);
    in_root(path, "none/file");
    EXPECT(dx_file_replace(path, dx_span_str("x"), &err) < 0, "%s", err.text);
    in_root(path, "a");
    EXPECT(dx_dir_remove(path, &err) == DX_OK && access(path, F_OK) != 0, "%s", err.text);
    EXPECT(dx_dir_remove(path, &err) == DX_OK, "removing nothing: %s", err.text);
    dx_buf_release(&text);
}

static void check_mode(const char *path, mode_t mode)
{
    struct stat st;

    EXPECT(stat(path, &st) == 0 && (st.st_mode & 0777) == mode, "%s: mode %o, not %o", path,
           (unsigned)st.st_mode & 0777, (unsigned)mode);
}

/* What an operator's umask says may neither take a log of suppressions from a server nor show a table to others. */
static void check_rights(void)
{
    struct dx_error err = DX_ERROR_INIT;
    mode_t mask = umask(0027);
    char path[256];

    in_root(path, "rights");
    EXPECT(dx_file_replace(path, dx_span_str("a"), &err) == DX_OK, "%s", err.text);
    check_mode(path, 0640);
    EXPECT(chmod(path, 0664) == 0 && dx_file_replace(path, dx_span_str("b"), &err) == DX_OK, "%s",
           err.text);
    check_mode(path, 0664);
    (void)umask(0);
    EXPECT(chmod(path, 0600) == 0 && dx_file_replace(path, dx_span_str("c"), &err) == DX_OK, "%s",
           err.text);
    check_mode(path, 0600);
    (void)umask(mask);
    EXPECT(unlink(path) == 0, "unlink");
}

static void check_empty(void)
{
    struct dx_map map = DX_MAP_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char path[256];

    in_root(path, "empty");
    EXPECT(dx_file_replace(path, dx_span_str(""), &err) == DX_OK, "%s", err.text);
    EXPECT(dx_map_open(&map, path, DX_MAP_RANDOM, &err) == DX_OK && map.bytes.size == 0, "%s",
           err.text);
    dx_map_close(&map);
    EXPECT(dx_map_open(&map, root, DX_MAP_RANDOM, &err) < 0, "a directory is no file");
}

/* A name that cannot be looked up is not the name of another file: callers try again after 0. */
static void check_is_at(void)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[128], other[128], below[160];
    int fd;

    (void)snprintf(path, sizeof path, "%s/is-at", root);
    (void)snprintf(other, sizeof other, "%s/other", root);
    (void)snprintf(below, sizeof below, "%s/below", path);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT(dx_file_is_at(fd, path, &err) == 1, "%s", err.text);
    EXPECT(dx_file_is_at(fd, root, &err) == 0, "another one");
    EXPECT(dx_file_is_at(fd, below, &err) == DX_E_IO && strstr(err.text, "directory") != NULL, "%s",
           err.text);
    EXPECT(rename(path, other) == 0, "rename");
    EXPECT(dx_file_is_at(fd, path, &err) == 0, "none");
    EXPECT(dx_file_is_at(fd, other, &err) == 1, "%s", err.text);
    (void)close(fd);
    EXPECT(dx_file_is_at(-1, other, &err) == DX_E_IO, "no descriptor");
    EXPECT(unlink(other) == 0, "unlink");
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;

    if (mkdtemp(root) == NULL)
        return 1;
    check_out(false);
    check_out(true);
    check_is_at();
    check_sync_later();
    check_make();
    check_replace();
    check_rights();
    check_empty();
    EXPECT(dx_dir_remove(root, &err) == DX_OK, "%s", err.text);
    return failures > 0;
}
