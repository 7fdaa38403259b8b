/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/input/bytes/container.h"
#include "builder/input/bytes/foreign_format.h"
#include "builder/input/bytes/input_remote.h"
#include "builder/input/bytes/wacz.h"
#include "builder/input/bytes/zip_directory.h"
#include "fetch/source.h"

#define READ_SIZE DX_CONTAINER_AHEAD_MAX
#define HISTORY (64 * 1024) /* consumed bytes that are kept: where damage may have begun */
#define RAW_SIZE (READ_SIZE + HISTORY)
#define MAGIC_MAX 8 /* enough to tell compressed from plain; input_format.h looks further */
#define PEEK_MAX 16 /* enough to tell a WARC */
#define FRONT_MAX \
    (1u           \
     << 20) /* what a member yields at least before its front is called sound: a block of bzip2 */
#define REWINDS_FREE (16u << 20)

struct dx_input {
    int fd;
    struct dx_input_remote *remote; /* instead of fd */
    char *name;
    bool is_file; /* fd can be positioned */
    uint64_t file_size;

    uint8_t *raw; /* bytes read from fd: [0, at) consumed, [at, end) not yet */
    size_t at;
    size_t end;
    bool raw_eof;
    uint64_t consumed; /* offset of raw[at] in the file */

    struct dx_byte_range *range; /* of a WACZ: all that is read; NULL: the whole file */
    size_t range_count;
    size_t range_next;
    uint64_t read_end; /* of the file nothing is read from there on */

    struct dx_container container; /* kind NONE: plain */
    uint64_t window_max;
    bool in_member; /* one has begun and has not ended; a plain file is one */
    bool is_over;   /* plain: the one member has ended */
    uint64_t member_at;
    uint64_t rewound;         /* bytes gone back over, so that damage costs its share at most */
    uint8_t peeked[PEEK_MAX]; /* yielded, not yet given: [peek_at, peek_end) */
    size_t peek_at;
    size_t peek_end;
};

/* What the store said was wrong, not what the file has: a reader may not go on behind it as behind damage. */
static int unread(int rc, struct dx_error *err)
{
    if (rc != DX_E_CORRUPT && rc != DX_E_TRUNCATED)
        return rc;
    if (err != NULL)
        err->code = DX_E_IO;
    return DX_E_IO;
}

/* A file that was truncated meanwhile would else be shorter without a word. */
static int check_end(const struct dx_input *in, struct dx_error *err)
{
    uint64_t end = in->consumed + (in->end - in->at);

    if (!in->is_file || end >= in->file_size || end >= in->read_end)
        return DX_OK;
    return dx_fail(err, DX_E_IO,
                   "%s: became shorter while it was read: %llu of %llu bytes; ingest it again",
                   in->name, (unsigned long long)end, (unsigned long long)in->file_size);
}

/* Reads once behind raw[end); sets raw_eof at the end. */
static int read_raw(struct dx_input *in, struct dx_error *err)
{
    uint64_t left = in->read_end - in->consumed - (in->end - in->at);
    size_t room;
    ssize_t n = -1;

    if (RAW_SIZE - in->end < READ_SIZE / 4) {
        size_t keep = in->at < HISTORY ? in->at : HISTORY;
        size_t drop = in->at - keep;

        memmove(in->raw, in->raw + drop, in->end - drop);
        in->at = keep;
        in->end -= drop;
    }
    room = RAW_SIZE - in->end < left ? RAW_SIZE - in->end : (size_t)left;
    in->raw_eof = room == 0;
    if (in->raw_eof)
        return DX_OK;
    if (in->remote != NULL) {
        n = dx_input_remote_read(in->remote, in->raw + in->end, room, err);
        if (n < 0)
            return unread((int)n, err);
    }
    while (n < 0 && (n = read(in->fd, in->raw + in->end, room)) < 0 && errno == EINTR)
        ;
    if (n < 0)
        return dx_fail_errno(err, errno, "%s: read at offset %llu", in->name,
                             (unsigned long long)in->consumed);
    in->raw_eof = n == 0;
    in->end += (size_t)n;
    return in->raw_eof ? check_end(in, err) : DX_OK;
}

static void consume(struct dx_input *in, size_t n)
{
    in->at += n;
    __atomic_store_n(&in->consumed, in->consumed + n, __ATOMIC_RELAXED);
}

static struct dx_span rest(const struct dx_input *in)
{
    return dx_span_of(in->raw + in->at, in->end - in->at);
}

/* Until that many bytes wait, or the file ends. */
static int look_ahead(struct dx_input *in, size_t n, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && in->end - in->at < n && !in->raw_eof)
        rc = read_raw(in, err);
    return rc;
}

/* Of what the first bytes at hand begin. */
static int open_container(struct dx_input *in, struct dx_error *err)
{
    int rc = dx_container_open(&in->container, dx_container_find(rest(in)), in->window_max, err);

    return rc < 0 ? dx_fail_in(err, "%s", in->name) : DX_OK;
}

static bool can_position(const struct dx_input *in)
{
    return in->is_file || in->remote != NULL;
}

/* What is read next; what waits in raw is the caller's. */
static int position(struct dx_input *in, uint64_t offset, struct dx_error *err)
{
    if (in->remote != NULL)
        dx_input_remote_seek(in->remote, offset);
    else if (lseek(in->fd, (off_t)offset, SEEK_SET) < 0)
        return dx_fail_errno(err, errno, "%s: seek to offset %llu", in->name,
                             (unsigned long long)offset);
    return DX_OK;
}

/* The next WARC file of a WACZ; 0: the last one was before. */
static int open_range(struct dx_input *in, struct dx_error *err)
{
    const struct dx_byte_range *r = &in->range[in->range_next];
    int rc;

    if (in->range_next == in->range_count)
        return 0;
    rc = position(in, r->offset, err);
    if (rc < 0)
        return rc;
    in->range_next++;
    in->at = in->end = 0;
    in->raw_eof = false;
    in->in_member = in->is_over = false;
    in->peek_at = in->peek_end = 0;
    in->read_end = r->offset + r->size;
    __atomic_store_n(&in->consumed, r->offset, __ATOMIC_RELAXED);
    rc = look_ahead(in, MAGIC_MAX, err);
    dx_container_close(&in->container);
    if (rc == DX_OK)
        rc = open_container(in, err);
    return rc < 0 ? rc : 1;
}

/* A zip archive that can be read from its end may be a WACZ. */
static int detect_wacz(struct dx_input *in, const char *path, struct dx_error *err)
{
    int rc;

    if (!dx_zip_begins(rest(in)) || !can_position(in))
        return 0;
    rc = dx_wacz_find(path, &in->range, &in->range_count, err);
    return rc < 0 || in->range_count == 0 ? rc : open_range(in, err);
}

static int detect(struct dx_input *in, const char *path, struct dx_error *err)
{
    int rc = look_ahead(in, MAGIC_MAX, err);

    in->raw_eof = false; /* found again by the next read; a terminal may go on */
    if (rc == DX_OK)
        rc = detect_wacz(in, path, err);
    if (rc != DX_OK)
        return rc < 0 ? rc : DX_OK;
    rc = in->at == in->end && can_position(in) ? dx_foreign_empty_check(in->name, err)
                                               : dx_foreign_format_check(rest(in), in->name, err);
    return rc < 0 ? rc : open_container(in, err);
}

static int dup_stdin(struct stat *st, struct dx_error *err)
{
    int fd = dup(STDIN_FILENO);

    if (fd >= 0 && fstat(fd, st) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return dx_fail_errno(err, errno, "standard input: cannot open");
}

/* A file or standard input. */
static int open_file(struct dx_input *in, const char *path, struct dx_error *err)
{
    struct stat st;

    in->fd = strcmp(path, "-") == 0 ? dup_stdin(&st, err) : dx_file_open_input(path, &st, err);
    if (in->fd < 0)
        return in->fd;
    in->is_file = S_ISREG(st.st_mode) && strcmp(path, "-") != 0;
    in->file_size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    (void)posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return DX_OK;
}

int dx_input_open(struct dx_input **out, const char *path, uint64_t window_max,
                  struct dx_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct dx_input *in = calloc(1, sizeof *in);
    int rc;

    *out = NULL;
    if (in == NULL)
        return dx_no_memory(err, "input");
    in->fd = -1;
    in->read_end = UINT64_MAX;
    in->window_max = window_max;
    in->name = strdup(is_stdin ? "standard input" : path);
    in->raw = malloc(RAW_SIZE);
    if (in->name == NULL || in->raw == NULL) {
        rc = dx_no_memory(err, "input");
        goto fail;
    }
    rc = dx_source_remote(path) ? dx_input_remote_open(&in->remote, path, err)
                                : open_file(in, path, err);
    if (rc == DX_OK)
        rc = detect(in, path, err);
    if (rc < 0)
        goto fail;
    if (in->remote != NULL)
        in->file_size = dx_input_remote_total(in->remote);
    *out = in;
    return DX_OK;
fail:
    dx_input_close(&in);
    return rc;
}

void dx_input_close(struct dx_input **handle)
{
    struct dx_input *in = *handle;

    if (in == NULL)
        return;
    dx_container_close(&in->container);
    if (in->fd >= 0)
        (void)close(in->fd);
    dx_input_remote_close(&in->remote);
    free(in->range);
    free(in->name);
    free(in->raw);
    free(in);
    *handle = NULL;
}

static int corrupt(const struct dx_input *in, const char *what, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "%s: damaged at offset %llu: %s", in->name,
                   (unsigned long long)in->consumed, what);
}

static int cut_short(const struct dx_input *in, struct dx_error *err)
{
    return dx_fail(err, DX_E_TRUNCATED, "%s: ends at offset %llu inside %s; fetch it again",
                   in->name, (unsigned long long)in->consumed,
                   dx_container_member(in->container.kind));
}

static bool member_begins(const struct dx_input *in)
{
    return dx_container_begins(in->container.kind, rest(in));
}

static int begin_member(struct dx_input *in, struct dx_error *err)
{
    int rc = dx_container_reset(&in->container, err);

    if (rc < 0)
        return dx_fail_in(err, "%s", in->name);
    in->in_member = true;
    in->member_at = in->consumed;
    return 1;
}

static int skip_zeros(struct dx_input *in, uint64_t *zeros, struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && in->at < in->end && in->raw[in->at] == 0) {
        ++*zeros;
        consume(in, 1);
        if (in->at == in->end)
            rc = look_ahead(in, 1, err);
    }
    return rc;
}

/* The next member of the file, or of the WARC file at hand. */
static int next_member(struct dx_input *in, struct dx_error *err)
{
    enum dx_container_kind kind = in->container.kind;
    uint64_t zeros = 0;
    int rc;

    if (in->in_member) /* begun by a peek */
        return 1;
    if (kind == DX_CONTAINER_NONE) {
        in->in_member = !in->is_over;
        if (in->in_member)
            in->member_at = in->consumed;
        return in->in_member;
    }
    in->raw_eof = false;
    rc = look_ahead(in, DX_CONTAINER_MAGIC, err);
    if (rc == DX_OK)
        rc = skip_zeros(in, &zeros, err);
    if (rc == DX_OK && zeros > 0)
        rc = look_ahead(in, DX_CONTAINER_MAGIC, err);
    if (rc < 0)
        return rc;
    if (in->at == in->end && zeros == 0)
        return 0;
    if (zeros > 0 && !dx_container_may_pad(kind, zeros, in->at == in->end)) {
        char what[64];

        (void)snprintf(what, sizeof what, "%llu zero bytes after %s", (unsigned long long)zeros,
                       dx_container_member(kind));
        return corrupt(in, what, err);
    }
    if (in->at == in->end)
        return 0;
    if (!member_begins(in)) {
        char what[64];

        if (dx_container_cut(kind, rest(in)))
            return cut_short(in, err);
        (void)snprintf(what, sizeof what, "bytes after %s", dx_container_member(kind));
        return corrupt(in, what, err);
    }
    return begin_member(in, err);
}

int dx_input_member_next(struct dx_input *in, struct dx_error *err)
{
    int rc;

    while ((rc = next_member(in, err)) == 0 && in->range != NULL)
        if ((rc = open_range(in, err)) <= 0)
            break;
    return rc;
}

static ssize_t read_plain(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err)
{
    size_t have;

    if (in->at == in->end) {
        int rc = read_raw(in, err);

        if (rc < 0)
            return rc;
    }
    have = in->end - in->at;
    if (have > size)
        have = size;
    if (have > 0)
        memcpy(to, in->raw + in->at, have);
    consume(in, have);
    if (have == 0) {
        in->in_member = false;
        in->is_over = true;
    }
    return (ssize_t)have;
}

static ssize_t read_member(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err)
{
    struct dx_container_room room = { to, size };

    while (in->in_member && room.size == size) {
        struct dx_span from;
        bool starved;
        int rc = can_position(in) ? look_ahead(in, dx_container_ahead(&in->container), err) : DX_OK;

        starved = in->at == in->end && !dx_container_holds(&in->container);
        if (rc == DX_OK && starved) {
            rc = read_raw(in, err);
            starved = in->at == in->end;
        }
        if (rc < 0)
            return rc;
        /* At the end of the file one more step without input: output may still wait inside. */
        from = rest(in);
        rc = dx_container_step(&in->container, &from, &room, err);
        consume(in, in->end - in->at - from.size);
        if (rc < 0)
            return rc == DX_E_NOMEM   ? dx_fail_in(err, "%s", in->name)
                   : rc == DX_E_LIMIT ? dx_fail_in(err, "%s: %s at offset %llu", in->name,
                                                   dx_container_member(in->container.kind),
                                                   (unsigned long long)in->member_at)
                                      : dx_fail_in(err, "%s: damaged at offset %llu", in->name,
                                                   (unsigned long long)in->consumed);
        if (rc == 1)
            in->in_member = false;
        else if (starved && room.size == size)
            return cut_short(in, err);
    }
    return (ssize_t)(size - room.size);
}

ssize_t dx_input_member_read(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err)
{
    size_t n = in->peek_end - in->peek_at;

    if (n > 0) {
        n = n < size ? n : size;
        memcpy(to, in->peeked + in->peek_at, n);
        in->peek_at += n;
        return (ssize_t)n;
    }
    return in->container.kind == DX_CONTAINER_NONE ? read_plain(in, to, size, err)
                                                   : read_member(in, to, size, err);
}

ssize_t dx_input_read(struct dx_input *in, uint8_t *to, size_t size, struct dx_error *err)
{
    for (;;) {
        ssize_t n = 0;

        if (in->in_member || in->peek_at < in->peek_end)
            n = dx_input_member_read(in, to, size, err);
        if (n != 0)
            return n;
        in->is_over = false; /* a terminal may go on */
        if (in->container.kind == DX_CONTAINER_NONE)
            return read_plain(in, to, size, err);
        n = dx_input_member_next(in, err);
        if (n <= 0)
            return n;
    }
}

int dx_input_peek(struct dx_input *in, struct dx_span *head, struct dx_error *err)
{
    int rc = 1;

    while (in->peek_end == 0 && in->container.kind != DX_CONTAINER_NONE &&
           (rc = dx_input_member_next(in, err)) > 0)
        while (in->in_member && in->container.kind != DX_CONTAINER_NONE &&
               in->peek_end < PEEK_MAX) {
            ssize_t n = read_member(in, in->peeked + in->peek_end, PEEK_MAX - in->peek_end, err);

            if (n < 0)
                return (int)n;
            in->peek_end += (size_t)n;
        }
    *head = in->container.kind == DX_CONTAINER_NONE
                ? rest(in) /* enough was read to find the kind */
                : dx_span_of(in->peeked, in->peek_end);
    return rc < 0 ? rc : DX_OK;
}

/* ---- damage ---- */

bool dx_input_restart(struct dx_input *in)
{
    if (in->range != NULL) {
        in->range_next = 0;
        return open_range(in, NULL) > 0;
    }
    if (in->consumed == in->at)
        in->at = 0;
    else if (in->is_file && lseek(in->fd, 0, SEEK_SET) == 0)
        in->at = in->end = 0;
    else
        return false;
    in->raw_eof = false;
    in->peek_at = in->peek_end = 0;
    in->in_member = in->is_over = false;
    __atomic_store_n(&in->consumed, 0, __ATOMIC_RELAXED);
    return true;
}

bool dx_input_front_is_damaged(struct dx_input *in)
{
    struct dx_error unsaid = DX_ERROR_INIT;
    uint8_t to[16 << 10];
    size_t left = FRONT_MAX;
    ssize_t n = 1;

    if (!in->is_file || in->container.kind == DX_CONTAINER_NONE)
        return false;
    while (n > 0 && left > 0) {
        n = read_member(in, to, sizeof to, &unsaid);
        left -= n > 0 && (size_t)n < left ? (size_t)n : left;
    }
    return n == DX_E_CORRUPT || n == DX_E_TRUNCATED || !dx_input_restart(in);
}

/* Going back is paid for: of hostile files every byte may begin a member that ends nowhere. */
static bool may_rewind(struct dx_input *in, uint64_t bytes)
{
    if (in->rewound + bytes > REWINDS_FREE + in->consumed)
        return false;
    in->rewound += bytes;
    return true;
}

/* What is damaged may have read over the beginnings of the members behind it. */
static void rewind_into_member(struct dx_input *in)
{
    uint64_t back = in->consumed > in->member_at ? in->consumed - in->member_at - 1 : 0;

    if (back > in->at)
        back = in->at;
    if (back == 0 || !may_rewind(in, back))
        return;
    in->at -= (size_t)back;
    __atomic_store_n(&in->consumed, in->consumed - back, __ATOMIC_RELAXED);
}

/* Whether the bytes that wait begin a member of which `begins` accepts what it yields first. */
static bool yields(struct dx_input *in, bool (*begins)(struct dx_span first))
{
    uint8_t first[PEEK_MAX];
    struct dx_container_room room = { first, sizeof first };
    struct dx_span from = rest(in);

    if (in->container.kind == DX_CONTAINER_BZIP2) /* a block of 900 kB yields all or nothing */
        return dx_container_surely_begins(DX_CONTAINER_BZIP2, from);
    return member_begins(in) && dx_container_reset(&in->container, NULL) >= 0 &&
           dx_container_step(&in->container, &from, &room, NULL) >= 0 &&
           begins(dx_span_of(first, sizeof first - room.size));
}

int dx_input_recover(struct dx_input *in, bool (*begins)(struct dx_span first),
                     struct dx_error *err)
{
    size_t look = dx_container_first_bytes(in->container.kind);

    in->peek_at = in->peek_end = 0;
    in->in_member = false;
    if (look == 0) /* plain, or of a kind whose members cannot be found */
        return 0;
    rewind_into_member(in);
    for (;;) {
        int rc = look_ahead(in, look, err);

        if (rc < 0)
            return rc;
        if (in->at == in->end) /* of a WACZ the next WARC file is whole again */
            return in->range == NULL ? 0 : open_range(in, err);
        if (in->consumed != in->member_at && yields(in, begins))
            return 1;
        consume(in, 1);
    }
}

int dx_input_seek(struct dx_input *in, uint64_t offset, struct dx_error *err)
{
    int rc;

    if (in->container.kind != DX_CONTAINER_NONE || !can_position(in) || offset > in->consumed ||
        !may_rewind(in, in->consumed - offset))
        return 0;
    rc = position(in, offset, err);
    if (rc < 0)
        return rc;
    in->at = in->end = 0;
    in->raw_eof = false;
    in->in_member = true;
    in->is_over = false;
    __atomic_store_n(&in->consumed, offset, __ATOMIC_RELAXED);
    return 1;
}

/* A file may have grown since it was opened. */
bool dx_input_ends_before(const struct dx_input *in, uint64_t offset)
{
    struct stat st;

    if (in->container.kind != DX_CONTAINER_NONE || !can_position(in))
        return false;
    if (in->range != NULL)
        return offset > in->read_end;
    if (offset <= in->file_size)
        return false;
    return in->remote != NULL || (fstat(in->fd, &st) == 0 && offset > (uint64_t)st.st_size);
}

bool dx_input_has_grown(const struct dx_input *in)
{
    struct stat st;

    return in->is_file && fstat(in->fd, &st) == 0 && (uint64_t)st.st_size > in->file_size;
}

bool dx_input_is_plain(const struct dx_input *in)
{
    return in->container.kind == DX_CONTAINER_NONE;
}

const char *dx_input_container(const struct dx_input *in)
{
    return in->range != NULL ? "WACZ" : dx_container_name(in->container.kind);
}

uint64_t dx_input_member_at(const struct dx_input *in)
{
    return in->member_at;
}

uint64_t dx_input_consumed(const struct dx_input *in)
{
    return __atomic_load_n(&in->consumed, __ATOMIC_RELAXED);
}

uint64_t dx_input_file_size(const struct dx_input *in)
{
    return in->file_size;
}

const char *dx_input_name(const struct dx_input *in)
{
    return in->name;
}
