/* SPDX-License-Identifier: Apache-2.0
 * Ranges of files, mapped: each begins and ends where it should, and a file of another size is
 * refused. Files that are filled are in large pages where the system has those.
 */
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/damage.h"

#define SIZE 20000

#define LARGE_SIZE (8u << 20)
#define TRIES 5 /* the system may have no 2 MiB in one piece just then */

static unsigned failures;

/* kB of maps of files that are mapped by large pages. */
static long large_kb(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kb = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "FilePmdMapped:", 14) == 0)
            kb = strtol(line + 14, NULL, 10);
    if (f != NULL)
        (void)fclose(f);
    return kb;
}

static void write_out(const char *path, bool mapped)
{
    static uint8_t piece[12288];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_file_out out;
    int rc;

    (void)unlink(path);
    rc = dx_file_out_open(&out, path, &err);
    if (rc == DX_OK && mapped)
        rc = dx_file_out_mapped(&out, &err);
    for (size_t at = 0; rc == DX_OK && at < LARGE_SIZE; at += sizeof piece) {
        memset(piece, (int)(at >> 12), sizeof piece);
        rc = dx_file_out_write(&out, dx_span_of(piece, sizeof piece), &err);
    }
    if (rc == DX_OK)
        rc = dx_file_out_close(&out, DX_SYNC_NOW, &err);
    EXPECT(rc == DX_OK, "%s", err.text);
}

/* The page cache gives the file back, so that it is read. */
static void forget(const char *path)
{
    int fd = open(path, O_RDONLY);

    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)close(fd);
}

/* Maps the file, fills it with dx_map_fill or by hand: kB in large pages. */
static long fill(const char *path, bool by_hand)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_map m;
    long kb;

    EXPECT(dx_map_open(&m, path, DX_MAP_RANDOM, &err) == DX_OK, "%s", err.text);
    if (by_hand)
        (void)madvise(m.base, m.length, MADV_HUGEPAGE);
    else
        EXPECT(dx_map_fill(dx_map_pages(m.bytes)) == 0, "a fill that failed");
    for (size_t at = 0; at < m.bytes.size; at += 4096)
        EXPECT(m.bytes.data[at] == (uint8_t)(at / 12288 * 12288 >> 12), "byte %zu", at);
    kb = large_kb();
    dx_map_close(&m);
    return kb;
}

/* Where the kernel gives large pages at all, files that were written for mapping have them, and files that are filled. */
static void check_large(const char *path)
{
    long possible = 0;
    long filled = 0;
    long written = 0;

    for (int i = 0; i < TRIES && (filled == 0 || written == 0); i++) {
        write_out(path, false);
        forget(path);
        possible += fill(path, true);
        forget(path);
        filled += fill(path, false);
        write_out(path, true);
        written += fill(path, false);
    }
    if (possible == 0)
        (void)printf("not shown: this kernel or file system has no large pages for files\n");
    EXPECT(possible == 0 || filled > 0, "%ld kB by hand, none by a fill", possible);
    EXPECT(possible == 0 || written > 0, "%ld kB by hand, none as written", possible);
}

/* A file that was cut is an errno, and no signal. */
static void check_cut(const char *path)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_map m;

    EXPECT(dx_map_open(&m, path, DX_MAP_RANDOM, &err) == DX_OK, "%s", err.text);
    EXPECT(truncate(path, 4096) == 0, "cut");
    EXPECT(dx_map_fill(dx_map_pages(m.bytes)) == EFAULT, "a cut file is filled");
    dx_map_close(&m);
}

int main(void)
{
    static const struct {
        struct dx_map_range range;
        int rc;
    } rows[] = {
        { { 0, SIZE, SIZE }, DX_OK },
        { { 0, 0, SIZE }, DX_OK },
        { { SIZE, 0, SIZE }, DX_OK },
        { { 64, 100, SIZE }, DX_OK },
        { { 4096, 4096, SIZE }, DX_OK },
        { { 8191, 2, SIZE }, DX_OK },
        { { SIZE - 1, 1, SIZE }, DX_OK },
        { { SIZE - 1, 2, SIZE }, DX_E_TRUNCATED },
        { { SIZE + 1, 0, SIZE }, DX_E_TRUNCATED },
        { { UINT64_MAX, 1, SIZE }, DX_E_TRUNCATED },
        { { 1, UINT64_MAX, SIZE }, DX_E_TRUNCATED },
        { { 0, 1, SIZE + 1 }, DX_E_TRUNCATED },
        { { 0, 1, SIZE - 1 }, DX_E_CORRUPT },
    };
    static uint8_t bytes[SIZE];
    struct dx_error err = DX_ERROR_INIT;
    char path[] = "/tmp/domaindex-test-map-XXXXXX";
    int fd = mkstemp(path);

    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    EXPECT(fd >= 0 && dx_file_replace(path, dx_span_of(bytes, SIZE), &err) == DX_OK, "%s",
           err.text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct dx_map_range *r = &rows[i].range;
        struct dx_map m;
        struct dx_span pages;

        EXPECT(dx_map_open_range(&m, path, r, DX_MAP_RANDOM, &err) == rows[i].rc, "row %zu: %s", i,
               err.text);
        if (rows[i].rc == DX_OK && r->size > 0) {
            pages = dx_map_pages(m.bytes);
            EXPECT(dx_span_equal(m.bytes, dx_span_of(bytes + r->at, (size_t)r->size)), "row %zu",
                   i);
            EXPECT(pages.data == m.base && pages.size == m.length, "row %zu: its pages", i);
        } else {
            EXPECT(m.base == NULL && m.bytes.size == 0, "row %zu: nothing is mapped", i);
        }
        dx_map_close(&m);
    }
    check_large(path);
    check_cut(path);
    (void)close(fd);
    (void)unlink(path);
    return failures > 0;
}
