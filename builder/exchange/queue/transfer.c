/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/queue/transfer.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/sha256.h"
#include "base/file.h"
#include "base/path.h"

#define RECORD DX_SEGMENT_JOURNAL_RECORD
#define RECORDS_MAX ((size_t)1 << 20) /* waiting for a sync */
#define READ_RECORDS 2048             /* of a journal, at a time */
#define PIECE (256 * 1024)

static int set_paths(struct dx_transfer *t, const char *spool, const char *key,
                     struct dx_error *err)
{
    int rc = dx_path_format(t->folder, sizeof t->folder, err, "%s/%s", spool, key);

    dx_buf_init(&t->records, RECORDS_MAX);
    (void)snprintf(t->key, sizeof t->key, "%s", key);
    if (rc == DX_OK)
        rc = dx_path_format(t->bytes_path, sizeof t->bytes_path, err, "%s/bytes", t->folder);
    if (rc == DX_OK)
        rc = dx_path_format(t->journal_path, sizeof t->journal_path, err, "%s/journal", t->folder);
    return rc;
}

static int open_journal(struct dx_transfer *t, struct dx_error *err)
{
    t->journal_fd = open(t->journal_path, O_RDWR | O_CLOEXEC);
    if (t->journal_fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", t->journal_path);
    return DX_OK;
}

static int open_bytes(struct dx_transfer *t, struct dx_error *err)
{
    t->bytes_fd = open(t->bytes_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (t->bytes_fd < 0)
        return dx_fail_errno(err, errno, "%s: cannot open", t->bytes_path);
    return DX_OK;
}

static uint64_t record_at(const struct dx_transfer *t, uint64_t sequence)
{
    return t->head_size + sequence * RECORD;
}

static bool has_again(const struct dx_transfer *t, uint64_t sequence)
{
    return t->again != NULL && (t->again[sequence / 8] >> sequence % 8 & 1) != 0;
}

static int note_again(struct dx_transfer *t, uint32_t sequence, struct dx_error *err)
{
    assert(sequence < t->head.count && !has_again(t, sequence));
    if (t->again == NULL)
        t->again = calloc((size_t)t->head.count / 8 + 1, 1);
    if (t->again == NULL)
        return dx_no_memory(err, "%s", t->journal_path);
    t->again[sequence / 8] |= (uint8_t)(1u << sequence % 8);
    t->again_count++;
    return DX_OK;
}

/* Takes one record of the journal in: 1, or 0 where the journal ends. */
static int replay_record(struct dx_transfer *t, uint64_t sequence, const uint8_t *bytes,
                         struct dx_error *err)
{
    struct dx_segment_journal_record r;
    bool is_again = sequence > (uint64_t)t->head.count + 1;

    if (!dx_segment_journal_record_read(&r, sequence, bytes) ||
        (is_again ? r.end >= t->head.count || has_again(t, r.end) : r.end < t->join.size))
        return 0;
    if (is_again) {
        int rc = note_again(t, (uint32_t)r.end, err);

        return rc < 0 ? rc : 1;
    }
    if (sequence < t->head.count) {
        t->join.count = t->head.count;
        t->join.expected = (uint32_t)sequence + 1;
        t->join.size = r.end;
    } else {
        t->state = sequence == t->head.count ? DX_TRANSFER_STORED : DX_TRANSFER_SETTLED;
    }
    return 1;
}

static int replay_all(struct dx_transfer *t, struct dx_error *err)
{
    uint8_t *page = malloc((size_t)READ_RECORDS * RECORD);
    uint64_t sequence = 0;
    int rc = 1;
    ssize_t n = 0;

    if (page == NULL)
        return dx_no_memory(err, "%s", t->journal_path);
    while (rc > 0) {
        size_t have = 0;

        while (have < (size_t)READ_RECORDS * RECORD &&
               ((n = pread(t->journal_fd, page + have, (size_t)READ_RECORDS * RECORD - have,
                           (off_t)(record_at(t, sequence) + have))) > 0 ||
                (n < 0 && errno == EINTR)))
            have += n > 0 ? (size_t)n : 0;
        if (n < 0)
            break;
        for (size_t at = 0; rc > 0 && at + RECORD <= have; at += RECORD) {
            rc = replay_record(t, sequence, page + at, err);
            sequence += rc > 0;
        }
        if (have < (size_t)READ_RECORDS * RECORD)
            break;
    }
    free(page);
    if (rc < 0)
        return rc;
    if (n < 0 || ftruncate(t->journal_fd, (off_t)record_at(t, sequence)) < 0)
        return dx_fail_errno(err, errno, "%s: cannot be read", t->journal_path);
    t->synced = sequence;
    return DX_OK;
}

/* A record that is read may never have reached the disk: its writer died before the sync, or at a
 * step of begin. What is known from here on is acknowledged without another sync. */
static int make_durable(const struct dx_transfer *t, const char *spool, struct dx_error *err)
{
    int rc;

    if (fdatasync(t->journal_fd) < 0)
        return dx_fail_errno(err, errno, "%s: cannot sync", t->journal_path);
    rc = dx_dir_sync(t->folder, err);
    return rc < 0 ? rc : dx_dir_sync(spool, err);
}

/* Behind the last good record lies what was not acknowledged. */
static int recover_bytes(struct dx_transfer *t, struct dx_error *err)
{
    struct stat st;
    int rc = DX_OK;

    if (t->state != DX_TRANSFER_OPEN && t->again_count == 0) {
        (void)unlink(t->bytes_path); /* the process that marked it may have died before this */
        return DX_OK;
    }
    rc = open_bytes(t, err);
    if (rc < 0)
        return rc;
    if (fstat(t->bytes_fd, &st) < 0)
        return dx_fail_errno(err, errno, "%s: cannot stat", t->bytes_path);
    if ((uint64_t)st.st_size < t->join.size)
        return dx_fail(
            err, DX_E_TRUNCATED,
            "%s: %lld bytes, its journal says %llu; remove the folder %s and send it again",
            t->bytes_path, (long long)st.st_size, (unsigned long long)t->join.size, t->folder);
    if (ftruncate(t->bytes_fd, (off_t)t->join.size) < 0)
        return dx_fail_errno(err, errno, "%s: cannot cut", t->bytes_path);
    return DX_OK;
}

static int read_head(struct dx_transfer *t, struct dx_error *err)
{
    uint8_t bytes[DX_SEGMENT_JOURNAL_HEAD_MAX];
    ssize_t n = pread(t->journal_fd, bytes, sizeof bytes, 0);

    if (n < 0)
        return dx_fail_errno(err, errno, "%s: cannot read", t->journal_path);
    if (dx_segment_journal_head_read(&t->head, &t->head_size, dx_span_of(bytes, (size_t)n), err) <
        0)
        return dx_fail_in(err, "%s", t->journal_path);
    return DX_OK;
}

int dx_transfer_open(struct dx_transfer *t, const char *spool, const char *key,
                     struct dx_error *err)
{
    int rc;

    *t = (struct dx_transfer)DX_TRANSFER_INIT;
    rc = set_paths(t, spool, key, err);
    if (rc == DX_OK && access(t->journal_path, F_OK) < 0) {
        dx_transfer_close(t);
        return 0;
    }
    if (rc == DX_OK)
        rc = open_journal(t, err);
    if (rc == DX_OK)
        rc = read_head(t, err);
    if (rc == DX_OK)
        rc = replay_all(t, err);
    if (rc == DX_OK)
        rc = recover_bytes(t, err);
    if (rc == DX_OK)
        rc = make_durable(t, spool, err);
    if (rc < 0)
        dx_transfer_close(t);
    return rc < 0 ? rc : 1;
}

int dx_transfer_begin(struct dx_transfer *t, const char *spool, const char *key,
                      const struct dx_segment_journal_head *head, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_SEGMENT_JOURNAL_HEAD_MAX);
    int rc;

    *t = (struct dx_transfer)DX_TRANSFER_INIT;
    rc = set_paths(t, spool, key, err);
    if (rc == DX_OK)
        rc = dx_segment_journal_head_write(head, &text, err);
    if (rc == DX_OK)
        rc = dx_dir_make(t->folder, err);
    /* A folder without a journal is not a transfer, so other bytes may lie there. */
    if (rc == DX_OK && unlink(t->bytes_path) < 0 && errno != ENOENT)
        rc = dx_fail_errno(err, errno, "%s: cannot remove", t->bytes_path);
    if (rc == DX_OK)
        rc = dx_file_replace(t->journal_path, dx_span_of(text.data, text.size), err);
    if (rc == DX_OK)
        rc = open_journal(t, err);
    if (rc == DX_OK)
        rc = open_bytes(t, err);
    if (rc == DX_OK)
        rc = dx_dir_sync(t->folder, err); /* the name of `bytes` */
    if (rc == DX_OK)
        rc = dx_dir_sync(spool, err);
    t->head = *head;
    t->head_size = text.size;
    dx_buf_release(&text);
    if (rc < 0)
        dx_transfer_close(t);
    return rc;
}

void dx_transfer_close(struct dx_transfer *t)
{
    if (t->bytes_fd >= 0)
        (void)close(t->bytes_fd);
    if (t->journal_fd >= 0)
        (void)close(t->journal_fd);
    dx_buf_release(&t->records);
    free(t->again);
    t->again = NULL;
    t->bytes_fd = t->journal_fd = -1;
    t->key[0] = '\0';
}

static int write_at(int fd, const char *path, uint64_t at, struct dx_span bytes,
                    struct dx_error *err)
{
    while (bytes.size > 0) {
        ssize_t n = pwrite(fd, bytes.data, bytes.size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return dx_fail_errno(err, n < 0 ? errno : EIO, "%s: write at offset %llu", path,
                                 (unsigned long long)at);
        bytes = dx_span_of(bytes.data + n, bytes.size - (size_t)n);
        at += (uint64_t)n;
    }
    return DX_OK;
}

int dx_transfer_add(struct dx_transfer *t, const struct dx_segment *s, struct dx_error *err)
{
    struct dx_segment_journal_record r = { .hash = dx_hash128_of(s->payload) };
    uint8_t record[RECORD];
    int rc;

    assert(t->head.count == s->count);
    rc = write_at(t->bytes_fd, t->bytes_path, t->join.size, s->payload, err);
    if (rc < 0)
        return rc;
    dx_segment_join_add(&t->join, s);
    r.end = t->join.size;
    dx_segment_journal_record_write(&r, s->sequence, record);
    dx_buf_append(&t->records, record, sizeof record);
    return t->records.failed ? dx_buf_fail(&t->records, err, "journal of a transfer") : DX_OK;
}

/* Records that are durable, or gone: after a failed sync the kernel still shows the unwritten bytes
 * to readers, and does not report the failure again. */
static int write_records(struct dx_transfer *t, uint64_t at, struct dx_span records,
                         struct dx_error *err)
{
    int rc = write_at(t->journal_fd, t->journal_path, at, records, err);

    if (rc == DX_OK && fdatasync(t->journal_fd) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot sync", t->journal_path);
    if (rc < 0 && ftruncate(t->journal_fd, (off_t)at) < 0)
        (void)dx_fail_in(err, "%s: cannot be cut again", t->journal_path);
    return rc;
}

/* The bytes first: a record in the journal says that they are there. */
int dx_transfer_sync(struct dx_transfer *t, struct dx_error *err)
{
    int rc;

    if (t->records.size == 0)
        return DX_OK;
    if (fdatasync(t->bytes_fd) < 0)
        return dx_fail_errno(err, errno, "%s: cannot sync", t->bytes_path);
    rc = write_records(t, record_at(t, t->synced), dx_span_of(t->records.data, t->records.size),
                       err);
    if (rc == DX_OK) {
        t->synced += t->records.size / RECORD;
        dx_buf_clear(&t->records);
    }
    return rc;
}

static int record_of(const struct dx_transfer *t, uint32_t sequence,
                     struct dx_segment_journal_record *r, struct dx_error *err)
{
    uint8_t bytes[RECORD];
    int rc = DX_OK;

    assert(sequence < t->synced + t->records.size / RECORD);
    if (sequence >= t->synced)
        memcpy(bytes, t->records.data + (size_t)(sequence - t->synced) * RECORD, RECORD);
    else
        rc = dx_file_pread(t->journal_fd, t->journal_path, record_at(t, sequence), RECORD, bytes,
                           err);
    if (rc == DX_OK && !dx_segment_journal_record_read(r, sequence, bytes))
        rc = dx_fail(err, DX_E_CORRUPT, "%s: the record at offset %llu is damaged", t->journal_path,
                     (unsigned long long)record_at(t, sequence));
    return rc;
}

int dx_transfer_same(const struct dx_transfer *t, const struct dx_segment *s, struct dx_error *err)
{
    struct dx_segment_journal_record r;
    struct dx_hash128 hash = dx_hash128_of(s->payload);
    int rc;

    if (s->count != t->head.count || s->sequence >= t->join.expected)
        return 0;
    rc = record_of(t, s->sequence, &r, err);
    return rc < 0 ? rc : dx_hash128_equal(&hash, &r.hash);
}

/* One segment's bytes on the disk, by pieces, into both sums. */
static int check_one(const struct dx_transfer *t, uint64_t at, uint64_t end, uint8_t *piece,
                     struct dx_sha256_state *sum, struct dx_hash128 *hash, struct dx_error *err)
{
    struct dx_hash_state *state = dx_hash_state_new();
    int rc = DX_OK;

    if (state == NULL)
        return dx_no_memory(err, "%s", t->bytes_path);
    while (rc == DX_OK && at < end) {
        size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;

        rc = dx_file_pread(t->bytes_fd, t->bytes_path, at, n, piece, err);
        if (rc == DX_OK) {
            dx_hash_state_update(state, dx_span_of(piece, n));
            (void)dx_sha256_update(sum, dx_span_of(piece, n));
        }
        at += n;
    }
    *hash = dx_hash_state_digest(state);
    dx_hash_state_free(&state);
    return rc;
}

int dx_transfer_check(const struct dx_transfer *t, struct dx_error *err)
{
    struct dx_sha256_state *state = dx_sha256_new();
    uint8_t *piece = malloc(PIECE);
    uint8_t sum[DX_SHA256_SIZE];
    uint64_t at = 0;
    int rc = DX_OK;

    if (state == NULL || piece == NULL)
        rc = dx_no_memory(err, "%s", t->bytes_path);
    for (uint32_t i = 0; rc == DX_OK && i < t->join.expected; i++) {
        struct dx_segment_journal_record r;
        struct dx_hash128 hash;

        rc = record_of(t, i, &r, err);
        if (rc == DX_OK)
            rc = check_one(t, at, r.end, piece, state, &hash, err);
        if (rc < 0)
            break;
        if (!dx_hash128_equal(&hash, &r.hash))
            rc = dx_fail(err, DX_E_CORRUPT,
                         "%s: segment %u, from offset %llu, is not what came; remove the folder %s "
                         "and have it sent again",
                         t->bytes_path, i, (unsigned long long)at, t->folder);
        at = r.end;
    }
    if (state != NULL && !dx_sha256_end(&state, sum) && rc == DX_OK)
        rc = dx_no_memory(err, "%s", t->bytes_path);
    if (rc == DX_OK && t->head.has_sum && memcmp(sum, t->head.sum, sizeof sum) != 0)
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: %llu bytes of %u segments are not what the sender has summed; remove the "
                     "folder %s and have it sent again",
                     t->bytes_path, (unsigned long long)at, t->head.count, t->folder);
    free(piece);
    return rc;
}

bool dx_transfer_waits(const struct dx_transfer *t)
{
    return t->state == DX_TRANSFER_OPEN ? dx_segment_join_whole(&t->join)
                                        : t->again_count == t->head.count;
}

/* The journal stays, to know what comes twice. */
static void drop_bytes(struct dx_transfer *t)
{
    (void)unlink(t->bytes_path);
    if (t->bytes_fd >= 0)
        (void)close(t->bytes_fd);
    t->bytes_fd = -1;
}

/* What came again is in the lake, again. */
static int end_again(struct dx_transfer *t, struct dx_error *err)
{
    uint64_t records = (uint64_t)t->head.count + 2;

    if (ftruncate(t->journal_fd, (off_t)record_at(t, records)) < 0 || fdatasync(t->journal_fd) < 0)
        return dx_fail_errno(err, errno, "%s: cannot cut", t->journal_path);
    t->synced = records;
    free(t->again);
    t->again = NULL;
    t->again_count = 0;
    drop_bytes(t);
    return DX_OK;
}

int dx_transfer_mark(struct dx_transfer *t, enum dx_transfer_state state, struct dx_error *err)
{
    struct dx_segment_journal_record r = { .end = t->join.size };
    uint64_t sequence = (uint64_t)t->head.count + (state == DX_TRANSFER_SETTLED);
    uint8_t record[RECORD];
    int rc;

    if (t->state >= state)
        return state == DX_TRANSFER_STORED && dx_transfer_waits(t) ? end_again(t, err) : DX_OK;
    assert(dx_segment_join_whole(&t->join) && t->synced == sequence);
    dx_segment_journal_record_write(&r, sequence, record);
    rc = write_records(t, record_at(t, sequence), dx_span_of(record, sizeof record), err);
    if (rc < 0)
        return rc;
    t->synced++;
    t->state = state;
    if (state == DX_TRANSFER_STORED)
        drop_bytes(t);
    return DX_OK;
}

/* As long as all are, so that each segment has its place and what is short was lost. */
static int begin_again(struct dx_transfer *t, struct dx_error *err)
{
    int rc = dx_transfer_mark(t, DX_TRANSFER_SETTLED, err);

    if (rc == DX_OK && t->bytes_fd < 0)
        rc = open_bytes(t, err);
    if (rc == DX_OK && ftruncate(t->bytes_fd, (off_t)t->join.size) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot be made %llu bytes long", t->bytes_path,
                           (unsigned long long)t->join.size);
    return rc < 0 ? rc : dx_dir_sync(t->folder, err);
}

int dx_transfer_again(struct dx_transfer *t, const struct dx_segment *s, struct dx_error *err)
{
    struct dx_segment_journal_record r = { .end = 0 };
    uint8_t record[RECORD];
    int rc = DX_OK;

    assert(t->state != DX_TRANSFER_OPEN); /* else dx_transfer_add has it */
    if (has_again(t, s->sequence))
        return DX_OK;
    if (t->again_count == 0)
        rc = begin_again(t, err);
    if (rc == DX_OK && s->sequence > 0)
        rc = record_of(t, s->sequence - 1, &r, err);
    if (rc == DX_OK)
        rc = write_at(t->bytes_fd, t->bytes_path, r.end, s->payload, err);
    if (rc == DX_OK)
        rc = note_again(t, s->sequence, err);
    if (rc < 0)
        return rc;
    r = (struct dx_segment_journal_record){ .end = s->sequence };
    dx_segment_journal_record_write(&r, t->synced + t->records.size / RECORD, record);
    dx_buf_append(&t->records, record, sizeof record);
    return t->records.failed ? dx_buf_fail(&t->records, err, "journal of a transfer") : DX_OK;
}

int dx_transfer_remove(struct dx_transfer *t, struct dx_error *err)
{
    char folder[PATH_MAX];
    int rc = DX_OK;

    memcpy(folder, t->folder, sizeof folder);
    /* The journal first, and durably: without it the folder is not a transfer. */
    if (unlink(t->journal_path) < 0 && errno != ENOENT)
        rc = dx_fail_errno(err, errno, "%s: cannot remove", t->journal_path);
    if (rc == DX_OK)
        rc = dx_dir_sync(folder, err);
    dx_transfer_close(t);
    return rc < 0 ? rc : dx_dir_remove(folder, err);
}

int dx_transfer_each(const char *spool,
                     int (*take)(void *ctx, const char *key, struct dx_error *err), void *ctx,
                     struct dx_error *err)
{
    struct dirent *entry;
    DIR *dir = opendir(spool);
    int rc = DX_OK;

    if (dir == NULL)
        return dx_fail_errno(err, errno, "%s: cannot open directory", spool);
    while (rc == DX_OK && (entry = readdir(dir)) != NULL)
        if ((strncmp(entry->d_name, "id-", 3) == 0 || strncmp(entry->d_name, "plain-", 6) == 0) &&
            strlen(entry->d_name) < DX_TRANSFER_KEY)
            rc = take(ctx, entry->d_name, err);
    (void)closedir(dir);
    return rc;
}
