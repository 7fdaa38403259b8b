/* SPDX-License-Identifier: Apache-2.0
 * What is kept of a transfer when the disk fails or the writer dies: nothing is reported as stored
 * that is not synced, and what was synced is there.
 */
#include "builder/exchange/queue/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"

static int failures;

#define CHECK(what)                                        \
    do {                                                   \
        if (!(what)) {                                     \
            printf("FAIL line %d: %s\n", __LINE__, #what); \
            failures++;                                    \
        }                                                  \
    } while (0)

#define KEY "id-0123"
#define COUNT 3

static char spool[] = "/tmp/test_transfer.XXXXXX";
static unsigned syncs;      /* of a journal */
static int sync_fails_from; /* fdatasync number so many, from 1, and all behind it; 0: none */

static bool is_journal(int fd)
{
    char link[64];
    char path[PATH_MAX];
    ssize_t n;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path);
    return n > 8 && memcmp(path + n - 8, "/journal", 8) == 0;
}

/* In place of the system's. */
int fdatasync(int fd)
{
    if (sync_fails_from > 0 && --sync_fails_from == 0) {
        sync_fails_from = 1;
        errno = EIO;
        return -1;
    }
    syncs += is_journal(fd);
    return (int)syscall(SYS_fdatasync, fd);
}

static struct dx_segment segment(uint32_t sequence)
{
    static const char *const text[COUNT] = { "first", "second", "" };

    return (struct dx_segment){ sequence, COUNT, dx_span_str(text[sequence]) };
}

static uint64_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (uint64_t)st.st_size : UINT64_MAX;
}

static void begin(struct dx_transfer *t)
{
    const struct dx_segment_journal_head head = { .count = COUNT, .dataset = "d" };

    CHECK(dx_transfer_begin(t, spool, KEY, &head, NULL) == DX_OK);
}

static void add(struct dx_transfer *t, uint32_t sequence)
{
    struct dx_segment s = segment(sequence);

    CHECK(dx_transfer_add(t, &s, NULL) == DX_OK);
}

static bool has(const struct dx_transfer *t, uint32_t sequence)
{
    struct dx_segment s = segment(sequence);

    return dx_transfer_same(t, &s, NULL) == 1;
}

/* What was added and not synced is not there; what was is, and the journal is synced before it is
 * reported. */
static void check_synced_before_reply(void)
{
    struct dx_transfer t;

    begin(&t);
    add(&t, 0);
    CHECK(dx_transfer_sync(&t, NULL) == DX_OK);
    add(&t, 1);
    CHECK(has(&t, 0) && has(&t, 1) && !has(&t, 2));
    dx_transfer_close(&t);
    syncs = 0;
    CHECK(dx_transfer_open(&t, spool, KEY, NULL) == 1);
    CHECK(syncs == 1);
    CHECK(has(&t, 0) && !has(&t, 1) && t.join.expected == 1 && size_of(t.bytes_path) == 5);
    CHECK(dx_transfer_remove(&t, NULL) == DX_OK);
    CHECK(dx_transfer_open(&t, spool, KEY, NULL) == 0);
}

/* Of a sync that fails, at the bytes or at the journal, nothing is there afterwards. */
static void check_failed_syncs(void)
{
    for (int at = 1; at <= 2; at++) {
        struct dx_transfer t;

        begin(&t);
        add(&t, 0);
        CHECK(dx_transfer_sync(&t, NULL) == DX_OK);
        add(&t, 1);
        sync_fails_from = at;
        CHECK(dx_transfer_sync(&t, NULL) < 0);
        dx_transfer_close(&t);
        sync_fails_from = 1;
        CHECK(dx_transfer_open(&t, spool, KEY, NULL) < 0);
        sync_fails_from = 0;
        CHECK(dx_transfer_open(&t, spool, KEY, NULL) == 1);
        CHECK(has(&t, 0) && !has(&t, 1));
        add(&t, 1);
        CHECK(dx_transfer_sync(&t, NULL) == DX_OK);
        CHECK(has(&t, 1) && dx_transfer_remove(&t, NULL) == DX_OK);
    }
}

/* The rows are in the lake: reported when that is durable, and the bytes go, now or when it is read
 * again. */
static void check_marks(void)
{
    struct dx_transfer t;
    int fd;

    begin(&t);
    for (uint32_t i = 0; i < COUNT; i++)
        add(&t, i);
    CHECK(dx_transfer_sync(&t, NULL) == DX_OK && dx_transfer_check(&t, NULL) == DX_OK);
    sync_fails_from = 1;
    CHECK(dx_transfer_mark(&t, DX_TRANSFER_STORED, NULL) < 0);
    sync_fails_from = 0;
    CHECK(t.state == DX_TRANSFER_OPEN && size_of(t.bytes_path) == 11);
    dx_transfer_close(&t);
    CHECK(dx_transfer_open(&t, spool, KEY, NULL) == 1);
    CHECK(t.state == DX_TRANSFER_OPEN && dx_transfer_check(&t, NULL) == DX_OK);
    CHECK(dx_transfer_mark(&t, DX_TRANSFER_STORED, NULL) == DX_OK);
    CHECK(size_of(t.bytes_path) == UINT64_MAX);
    dx_transfer_close(&t);
    fd = open(t.bytes_path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    CHECK(dx_transfer_open(&t, spool, KEY, NULL) == 1);
    CHECK(t.state == DX_TRANSFER_STORED && has(&t, 1) && size_of(t.bytes_path) == UINT64_MAX);
    CHECK(dx_transfer_mark(&t, DX_TRANSFER_SETTLED, NULL) == DX_OK);
    dx_transfer_close(&t);
    CHECK(dx_transfer_open(&t, spool, KEY, NULL) == 1 && t.state == DX_TRANSFER_SETTLED);
    CHECK(dx_transfer_remove(&t, NULL) == DX_OK);
}

static void add_again(struct dx_transfer *t, uint32_t sequence)
{
    struct dx_segment s = segment(sequence);

    CHECK(dx_transfer_again(t, &s, NULL) == DX_OK);
}

/* Of a stored one copies of a part change nothing, and all of them make it wait for the lake. */
static void check_again(void)
{
    struct dx_transfer t;

    begin(&t);
    for (uint32_t i = 0; i < COUNT; i++)
        add(&t, i);
    CHECK(dx_transfer_sync(&t, NULL) == DX_OK && dx_transfer_waits(&t));
    CHECK(dx_transfer_mark(&t, DX_TRANSFER_STORED, NULL) == DX_OK && !dx_transfer_waits(&t));
    for (unsigned round = 0; round < 3; round++) {
        add_again(&t, 1);
        CHECK(dx_transfer_sync(&t, NULL) == DX_OK);
        add_again(&t, 0);
        dx_transfer_close(&t); /* without a sync */
        CHECK(dx_transfer_open(&t, spool, KEY, NULL) == 1 && t.state == DX_TRANSFER_SETTLED);
        CHECK(t.again_count == 1 && !dx_transfer_waits(&t) && has(&t, 0) && has(&t, 2));
        add_again(&t, 2);
        add_again(&t, 1);
        CHECK(!dx_transfer_waits(&t));
        add_again(&t, 0);
        CHECK(dx_transfer_waits(&t) && dx_transfer_sync(&t, NULL) == DX_OK);
        dx_transfer_close(&t);
        CHECK(dx_transfer_open(&t, spool, KEY, NULL) == 1);
        CHECK(dx_transfer_waits(&t) && dx_transfer_check(&t, NULL) == DX_OK);
        CHECK(dx_transfer_mark(&t, DX_TRANSFER_STORED, NULL) == DX_OK && !dx_transfer_waits(&t));
        CHECK(size_of(t.bytes_path) == UINT64_MAX && has(&t, 1));
        if (round == 1) {
            dx_transfer_close(&t);
            CHECK(dx_transfer_open(&t, spool, KEY, NULL) == 1 && t.again_count == 0);
        }
    }
    add_again(&t, 1);
    CHECK(dx_transfer_sync(&t, NULL) == DX_OK && truncate(t.bytes_path, 10) == 0);
    dx_transfer_close(&t);
    CHECK(dx_transfer_open(&t, spool, KEY, NULL) == DX_E_TRUNCATED);
    CHECK(dx_dir_remove(t.folder, NULL) == DX_OK);
}

/* Whatever byte of the journal is another, or wherever it ends: no record behind it, or words. */
static void check_damage(void)
{
    struct dx_transfer t;
    uint8_t all[512];
    uint64_t head;
    uint64_t size;
    int fd;

    begin(&t);
    for (uint32_t i = 0; i < COUNT; i++)
        add(&t, i);
    CHECK(dx_transfer_sync(&t, NULL) == DX_OK);
    head = t.head_size;
    size = size_of(t.journal_path);
    dx_transfer_close(&t);
    fd = open(t.journal_path, O_RDWR);
    CHECK(fd >= 0 && size < sizeof all && pread(fd, all, sizeof all, 0) == (ssize_t)size);
    for (uint64_t at = 0; at < 2 * size; at++) {
        bool cut = at >= size;
        uint64_t where = at % size;
        uint32_t whole = where < head ? 0 : (uint32_t)((where - head) / DX_SEGMENT_JOURNAL_RECORD);
        uint8_t other = all[where] ^ 0x40;
        int fd2 = open(t.bytes_path, O_WRONLY | O_TRUNC);
        int rc;

        CHECK(fd2 >= 0 && pwrite(fd2, "firstsecond", 11, 0) == 11 && close(fd2) == 0);
        CHECK(pwrite(fd, all, size, 0) == (ssize_t)size);
        CHECK(cut ? ftruncate(fd, (off_t)where) == 0 : pwrite(fd, &other, 1, (off_t)where) == 1);
        rc = dx_transfer_open(&t, spool, KEY, NULL);
        CHECK(where < head ? rc < 0 : rc == 1 && t.join.expected == whole);
        if (rc == 1)
            dx_transfer_close(&t);
        if (failures > 0)
            break;
    }
    CHECK(close(fd) == 0 && dx_dir_remove(t.folder, NULL) == DX_OK);
}

int main(void)
{
    CHECK(mkdtemp(spool) != NULL);
    check_synced_before_reply();
    check_failed_syncs();
    check_marks();
    check_again();
    check_damage();
    CHECK(rmdir(spool) == 0);
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
