/* SPDX-License-Identifier: Apache-2.0
 * test_lake_layout.c - paths of lake files, the walk, the lock, rejects and progress lines.
 */
#include "builder/lake/lake_layout.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/input/records/rejects.h"
#include "builder/root/progress.h"
#include "builder/root/root_lock.h"
#include "tests/support/fail.h"

static int failures;
static char root[] = "/tmp/dx-test-layout-XXXXXX";

static void test_paths(void)
{
    static const struct {
        const char *text;
        bool ok;
        struct dx_lake_path path;
    } rows[] = {
        { "urls/dataset_id=7/domain_prefix=00-ff/part-00000.parquet", true, { 7, 0, 255, 0 } },
        { "urls/dataset_id=2147483647/domain_prefix=9b/part-123456.parquet",
          true,
          { 0x7fffffff, 0x9b, 0x9b, 123456 } },
        { "urls/dataset_id=0/domain_prefix=f0-ff/part-00012.parquet", true, { 0, 0xf0, 0xff, 12 } },
        { "urls/dataset_id=2147483648/domain_prefix=9b/part-00000.parquet", false, { 0 } },
        { "urls/dataset_id=07/domain_prefix=9b/part-00000.parquet", false, { 0 } },
        { "urls/dataset_id=/domain_prefix=9b/part-00000.parquet", false, { 0 } },
        { "urls/dataset_id=7/domain_prefix=9B/part-00000.parquet", false, { 0 } },
        { "urls/dataset_id=7/domain_prefix=9b-9b/part-00000.parquet", false, { 0 } },
        { "urls/dataset_id=7/domain_prefix=9b-00/part-00000.parquet", false, { 0 } },
        { "urls/dataset_id=7/domain_prefix=9b/part-0000.parquet", false, { 0 } },
        { "urls/dataset_id=7/domain_prefix=9b/part-000000.parquet", false, { 0 } },
        { "urls/dataset_id=7/domain_prefix=9b/part-00000.parquet.tmp", false, { 0 } },
        { "urls/dataset_id=7/part-00000.parquet", false, { 0 } },
        { "urls/dataset_id=7/domain_prefix=9b/part-999999999.parquet", false, { 0 } },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t size = strlen(rows[i].text);
        char *exact = malloc(size);
        struct dx_lake_path p;
        char text[DX_LAKE_PATH_MAX];
        bool ok;

        memcpy(exact, rows[i].text, size);
        ok = dx_lake_path_parse(dx_span_of(exact, size), &p);
        free(exact);
        if (ok != rows[i].ok)
            FAIL("%s: %d", rows[i].text, ok);
        if (!ok)
            continue;
        (void)dx_lake_path_format(&p, text);
        if (strcmp(text, rows[i].text) != 0 || p.dataset_id != rows[i].path.dataset_id ||
            p.first != rows[i].path.first || p.last != rows[i].path.last ||
            p.part != rows[i].path.part)
            FAIL("%s: %s", rows[i].text, text);
    }
}

static void put(const char *below)
{
    char path[300];
    struct dx_error err = DX_ERROR_INIT;
    char *slash;

    (void)snprintf(path, sizeof path, "%s/%s", root, below);
    slash = strrchr(path, '/');
    *slash = '\0';
    if (dx_dir_make(path, &err) < 0)
        FAIL("%s", err.text);
    *slash = '/';
    if (dx_file_replace(path, dx_span_str("xyz"), &err) < 0)
        FAIL("%s", err.text);
}

static void test_list(void)
{
    static const char *const there[] = {
        "urls/dataset_id=2/domain_prefix=00-ff/part-00001.parquet",
        "urls/dataset_id=2/domain_prefix=00-ff/part-00000.parquet",
        "urls/dataset_id=10/sub/year=2024/x.parquet",
        "urls/dataset_id=10/domain_prefix=9b/.hidden.parquet",
        "urls/dataset_id=10/_temporary/a.parquet",
        "urls/dataset_id=10/notes.txt",
        "registry.json",
    };
    static const char *const want[] = {
        "urls/dataset_id=2/domain_prefix=00-ff/part-00000.parquet",
        "urls/dataset_id=2/domain_prefix=00-ff/part-00001.parquet",
        "urls/dataset_id=10/sub/year=2024/x.parquet",
    };
    static const char *const words[] = {
        "urls/dataset_id=2/link: is a symbolic link",       "urls/loose.parquet: this Parquet",
        "urls/dataset_id=2/a b.parquet: the path of this",  "a??[31mb.parquet",
        "urls/dataset_id=2/pipe.parquet: is not a regular",
    };
    struct dx_left_out left = DX_LEFT_OUT_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_lake_list list;
    char path[300];

    if (dx_lake_list(&list, &left, root, &err) < 0 || list.count != 0)
        FAIL("no lake yet: %s", err.text);
    dx_lake_list_release(&list);
    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++)
        put(there[i]);
    if (dx_lake_list(&list, &left, root, &err) < 0 || list.count != 3)
        FAIL("%zu files, %s", list.count, err.text);
    for (size_t i = 0; i < list.count && i < 3; i++)
        if (strcmp(list.file[i].path, want[i]) != 0 || list.file[i].size != 3 ||
            list.file[i].dataset_id != (i < 2 ? 2u : 10u))
            FAIL("%zu: %s", i, list.file[i].path);
    dx_lake_list_release(&list);

    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=2/link", root);
    if (symlink("/tmp", path) < 0)
        FAIL("%s", path);
    put("urls/loose.parquet");
    put("urls/dataset_id=2/a b.parquet");
    put("urls/dataset_id=2/a\n\033[31mb.parquet");
    (void)snprintf(path, sizeof path, "%s/urls/dataset_id=2/pipe.parquet", root);
    if (mkfifo(path, 0600) < 0 || left.count != 0 || dx_lake_list(&list, &left, root, &err) < 0 ||
        list.count != 3 || left.count != 5)
        FAIL("%zu files, %llu left out: %s", list.count, (unsigned long long)left.count, err.text);
    dx_buf_u8(&left.text, '\0');
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr((const char *)left.text.data, words[i]) == NULL)
            FAIL("%s is not in: %s", words[i], (const char *)left.text.data);
    dx_lake_list_release(&list);
    dx_left_out_release(&left);
}

/* Names of objects: the same rules as those of the walk. */
static atomic_bool over;

/* A collector at work on a file. */
static void *come_and_go(void *ctx)
{
    const char *path = ctx;

    while (!atomic_load(&over)) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        if (fd < 0)
            abort();
        (void)close(fd);
        (void)unlink(path);
    }
    return NULL;
}

static void test_beside(void)
{
    char path[PATH_MAX];
    pthread_t thread;
    struct dx_error err = DX_ERROR_INIT;
    int rc = DX_OK;

    put("beside/urls/dataset_id=1/domain_prefix=00-ff/part-00000.parquet");
    (void)snprintf(path, sizeof path,
                   "%s/beside/urls/dataset_id=1/domain_prefix=00-ff/part-00001.parquet", root);
    if (pthread_create(&thread, NULL, come_and_go, path) != 0)
        abort();
    for (int i = 0; rc == DX_OK && i < 5000; i++) {
        char folder[PATH_MAX];
        struct dx_left_out left = DX_LEFT_OUT_INIT;
        struct dx_lake_list list;

        (void)snprintf(folder, sizeof folder, "%s/beside", root);
        rc = dx_lake_list(&list, &left, folder, &err);
        if (rc == DX_OK)
            dx_lake_list_release(&list);
    }
    if (rc != DX_OK)
        FAIL("a file goes while the lake is listed: %s", err.text);
    atomic_store(&over, true);
    (void)pthread_join(thread, NULL);
}

static void test_names(void)
{
    static const struct {
        const char *object;
        int want; /* 1 taken, 0 left out */
    } rows[] = {
        { "urls/dataset_id=2/domain_prefix=00-ff/part-00000.parquet", 1 },
        { "urls/dataset_id=10/sub/year=2024/x.parquet", 1 },
        { "urls/dataset_id=10/x.parquet/y.parquet", 1 },
        { "urls/dataset_id=10/x.parquet/", 0 },
        { "urls/dataset_id=10/", 0 },
        { "urls/dataset_id=10/x.parquet/y.txt", 0 },
        { "urls/dataset_id=10/.hidden.parquet", 0 },
        { "urls/_temporary/dataset_id=10/x.parquet", 0 },
        { "urls/.x/dataset_id=10/x.parquet", 0 },
        { "registry.json", 0 },
        { "psl.dat", 0 },
        { "urls/dataset_id=10/.parquet", 0 },
        { "other/dataset_id=1/x.parquet", 0 },
        { "x.parquet", 0 },
        { "urls", 0 },
        { "urls/loose.parquet", 0 },
        { "urls/dataset_id=x/a.parquet", 0 },
        { "urls/dataset_id=2/a b.parquet", 0 },
        { "urls/dataset_id=2//a.parquet", 0 },
        { "urls/dataset_id=2/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/x.parquet", 1 },
        { "urls/dataset_id=2/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/x.parquet", 0 },
    };
    struct dx_lake_list list = { NULL, 0, 0 };
    struct dx_left_out left = DX_LEFT_OUT_INIT;
    struct dx_error err = DX_ERROR_INIT;
    size_t taken = 0;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int rc = dx_lake_list_add(&list, &left, rows[i].object, i, "\"e\"", &err);

        if (rc != rows[i].want)
            FAIL("%s: %d, want %d", rows[i].object, rc, rows[i].want);
        taken += rc == 1;
    }
    if (list.count != taken || list.file[1].size != 1 || strcmp(list.file[1].etag, "\"e\"") != 0)
        FAIL("%zu of %zu", list.count, taken);
    if (left.count != 5) /* names of others are not worth a word */
        FAIL("%llu left out", (unsigned long long)left.count);
    dx_left_out_release(&left);
    dx_lake_list_release(&list);
}

static void *drop_soon(void *lock)
{
    (void)usleep(DX_ROOT_LOCK_MOMENT_MS / 10 * 1000);
    dx_root_lock_drop(lock);
    return NULL;
}

static void test_lock(void)
{
    struct dx_root_lock a = DX_ROOT_LOCK_INIT;
    struct dx_root_lock b = DX_ROOT_LOCK_INIT;
    struct dx_error err = DX_ERROR_INIT;
    pthread_t thread;

    if (dx_root_lock_take(&a, root, &err) < 0)
        FAIL("%s", err.text);
    if (dx_root_lock_take(&b, root, &err) != DX_E_BUSY || b.fd != -1)
        FAIL("two locks");
    if (pthread_create(&thread, NULL, drop_soon, &a) != 0 || dx_root_lock_take(&b, root, &err) < 0)
        FAIL("one that is held for a moment: %s", err.text);
    (void)pthread_join(thread, NULL);
    dx_root_lock_drop(&b);
    dx_root_lock_drop(&b);
}

static void test_rejects(void)
{
    struct dx_buf line = DX_BUF_INIT(1 << 16);
    struct dx_buf got = DX_BUF_INIT(1 << 16);
    struct dx_error err = DX_ERROR_INIT;
    char path[400];
    char dir[300];

    dx_rejects_line(&line, "in\t1", 7, DX_ROW_TS_INVALID,
                    dx_span_of("a\tb\\c\n\r\0\xff\xc3\xa9", 11));
    dx_buf_u8(&line, 0);
    if (strcmp((char *)line.data, "in\\t1\t7\tts_invalid\ta\\tb\\\\c\\n\\r\\x00\\xff\xc3\xa9\n") !=
        0)
        FAIL("%s", (char *)line.data);
    for (int why = 1; why < DX_ROW_REJECT_COUNT; why++)
        if (dx_row_reject_name(why) == NULL || dx_row_reject_name(why)[0] == '\0')
            FAIL("reason %d has no name", why);
    for (int round = 1; round <= 2; round++) {
        struct dx_rejects r;

        (void)snprintf(dir, sizeof dir, "%s/rejects", root);
        dx_rejects_init(&r, dir, NULL);
        if (dx_rejects_write(&r, dx_span_of("", 0), &err) < 0 || r.path != NULL)
            FAIL("a file for nothing");
        if (dx_rejects_write(&r, dx_span_str("x\n"), &err) < 0 || dx_rejects_close(&r, &err) < 0)
            FAIL("%s", err.text);
        (void)snprintf(path, sizeof path, "%s/rejects/%05d.tsv", root, round);
        if (r.path == NULL || strcmp(r.path, path) != 0)
            FAIL("round %d: %s", round, r.path);
        dx_rejects_release(&r);
        dx_buf_clear(&got);
        if (dx_file_read(path, 100, &got, &err) < 0 || got.size != 2)
            FAIL("%s: %zu bytes", path, got.size);
    }
    dx_buf_release(&line);
    dx_buf_release(&got);
}

static void test_progress(void)
{
    static const struct {
        uint64_t bytes, total, items, rejected;
        bool is_estimate;
        int64_t ms;
        const char *want;
    } rows[] = {
        { 1 << 20, 4 << 20, 1000, 0, false, 2000,
          "reading: 1.0 MiB of 4.0 MiB, 25 %, 1,000 rows, 500 rows/s, 512 KiB/s, 0:00:06 left" },
        { 1 << 20, 4 << 20, 1000, 12, true, 2000,
          "reading: 1.0 MiB of about 4.0 MiB, 25 %, 1,000 rows, 500 rows/s, 512 KiB/s, "
          "12 rejected, 0:00:06 left" },
        { 2048, 0, 1234567, 0, false, 1000,
          "reading: 2.0 KiB, 1,234,567 rows, 1,234,567 rows/s, 2.0 KiB/s" },
        { 0, 0, 0, 0, false, 0, "reading: 0 rows, 0 rows/s" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct dx_progress p = { .phase = "reading",
                                       .unit = "rows",
                                       .total_bytes = rows[i].total,
                                       .is_estimate = rows[i].is_estimate,
                                       .rejected = rows[i].rejected };
        char line[DX_PROGRESS_LINE];
        size_t n = dx_progress_line(&p, rows[i].bytes, rows[i].items, rows[i].ms, line);

        if (n != strlen(rows[i].want) || memcmp(line, rows[i].want, n) != 0)
            FAIL("%.*s", (int)n, line);
    }
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;

    if (mkdtemp(root) == NULL)
        return 1;
    test_paths();
    test_list();
    test_beside();
    test_names();
    test_lock();
    test_rejects();
    test_progress();
    (void)dx_dir_remove(root, &err);
    return failures == 0 ? 0 : 1;
}
