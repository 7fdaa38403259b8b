/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "builder/input/records/rejects.h"

#define MAGIC "domaindex-journal 1 "
#define HASH_DIGITS 32
#define HEAD_SIZE (sizeof MAGIC - 1 + HASH_DIGITS + 1)

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct dx_hash128));
}

static int add_key(struct dx_ingest_journal *j, const struct dx_hash128 *key, struct dx_error *err)
{
    struct dx_hash128 *more = dx_array_room(j->key, j->count, &j->room, sizeof *more);

    if (more == NULL)
        return dx_no_memory(err, "journal");
    j->key = more;
    j->key[j->count++] = *key;
    return DX_OK;
}

static int check_head(struct dx_span text, struct dx_span about, struct dx_error *err)
{
    struct dx_hash128 want = dx_hash128_of(about), have;

    if (text.size < HEAD_SIZE || memcmp(text.data, MAGIC, sizeof MAGIC - 1) != 0 ||
        text.data[HEAD_SIZE - 1] != '\n' ||
        !dx_hash128_parse(dx_span_of(text.data + sizeof MAGIC - 1, HASH_DIGITS), &have))
        return dx_fail(err, DX_E_CORRUPT,
                       "is not a journal of an ingest (it begins with '" MAGIC "')");
    if (!dx_hash128_equal(&want, &have))
        return dx_fail(err, DX_E_INVALID,
                       "is the journal of an ingest with other options (root, dataset, columns, "
                       "formats...); give these again, or another file");
    return DX_OK;
}

int dx_ingest_journal_parse(struct dx_span text, struct dx_span about, struct dx_ingest_journal *j,
                            size_t *whole, struct dx_error *err)
{
    size_t line = 2;
    int rc = check_head(text, about, err);

    *whole = HEAD_SIZE;
    while (rc == DX_OK && *whole < text.size) {
        struct dx_span rest = dx_span_of(text.data + *whole, text.size - *whole);
        const uint8_t *end = memchr(rest.data, '\n', rest.size);
        struct dx_hash128 key;

        if (end == NULL) /* cut by a crash */
            break;
        if (rest.size <= HASH_DIGITS || rest.data[HASH_DIGITS] != ' ' ||
            !dx_hash128_parse(dx_span_of(rest.data, HASH_DIGITS), &key))
            rc = dx_fail(err, DX_E_CORRUPT, "line %zu is not of a journal", line);
        else
            rc = add_key(j, &key, err);
        *whole += (size_t)(end - rest.data) + 1;
        line++;
    }
    if (rc == DX_OK && j->count > 0)
        qsort(j->key, j->count, sizeof *j->key, by_bytes);
    return rc;
}

static int read_all(struct dx_ingest_journal *j, uint64_t size, struct dx_buf *text,
                    struct dx_error *err)
{
    uint8_t *to = size > DX_INGEST_JOURNAL_MAX ? NULL : dx_buf_reserve(text, (size_t)size + 1);

    if (to == NULL)
        return dx_fail(err, DX_E_LIMIT, "%s: is larger than a journal can be", j->path);
    text->size = (size_t)size;
    return dx_file_pread(j->fd, j->path, 0, (size_t)size, to, err);
}

/* A new one, durable with its name. */
static int begin(struct dx_ingest_journal *j, struct dx_span about, struct dx_error *err)
{
    struct dx_hash128 hash = dx_hash128_of(about);
    char text[DX_HASH128_TEXT], folder[PATH_MAX];
    int rc;

    dx_hash128_text(&hash, text);
    dx_buf_fmt(&j->noted, MAGIC "%s\n", text);
    rc = dx_ingest_journal_write(j, err);
    if (rc == DX_OK)
        rc = dx_path_format(folder, sizeof folder, err, "%s", j->path);
    return rc < 0 ? rc : dx_dir_sync(dirname(folder), err);
}

/* Of a crash in its first write nothing is there, or a part of the first line. */
static bool is_unbegun(struct dx_span text)
{
    size_t n = text.size < sizeof MAGIC - 1 ? text.size : sizeof MAGIC - 1;

    return text.size < HEAD_SIZE && memcmp(text.data, MAGIC, n) == 0;
}

static int go_on(struct dx_ingest_journal *j, uint64_t size, struct dx_span about,
                 struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_INGEST_JOURNAL_MAX + 1);
    size_t whole = 0;
    int rc = read_all(j, size, &text, err);

    if (rc == DX_OK && !is_unbegun(dx_span_of(text.data, text.size))) {
        rc = dx_ingest_journal_parse(dx_span_of(text.data, text.size), about, j, &whole, err);
        if (rc < 0)
            (void)dx_fail_in(err, "%s", j->path);
    }
    if (rc == DX_OK && whole < size && ftruncate(j->fd, (off_t)whole) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot cut its last line", j->path);
    dx_buf_release(&text);
    return rc < 0 || whole > 0 ? rc : begin(j, about, err);
}

int dx_ingest_journal_open(struct dx_ingest_journal *j, const char *path, struct dx_span about,
                           struct dx_error *err)
{
    struct stat st;
    int rc = DX_OK;

    *j = (struct dx_ingest_journal)DX_INGEST_JOURNAL_INIT;
    j->path = strdup(path);
    if (j->path == NULL)
        return dx_no_memory(err, "journal");
    j->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (j->fd < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot open the journal", path);
    else if (flock(j->fd, LOCK_EX | LOCK_NB) < 0)
        rc = errno == EWOULDBLOCK
                 ? dx_fail(err, DX_E_BUSY, "%s: another ingest has this journal open", path)
                 : dx_fail_errno(err, errno, "%s: cannot lock the journal", path);
    else if (fstat(j->fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = dx_fail(err, DX_E_INVALID, "%s: a journal is a regular file", path);
    else
        rc = st.st_size > 0 ? go_on(j, (uint64_t)st.st_size, about, err) : begin(j, about, err);
    if (rc < 0)
        dx_ingest_journal_close(j);
    return rc;
}

void dx_ingest_journal_close(struct dx_ingest_journal *j)
{
    if (j->fd >= 0)
        (void)close(j->fd);
    free(j->path);
    free(j->key);
    dx_buf_release(&j->noted);
    *j = (struct dx_ingest_journal)DX_INGEST_JOURNAL_INIT;
}

struct dx_hash128 dx_ingest_journal_key(const char *input, uint64_t must_be)
{
    struct dx_hash128 name = dx_hash128_of(dx_span_str(input));
    uint8_t of[sizeof name + 4 * 8] = { 0 };
    struct stat st;

    memcpy(of, name.bytes, sizeof name);
    dx_store_u64(of + sizeof name, must_be);
    if (stat(input, &st) == 0) {
        dx_store_u64(of + sizeof name + 8, (uint64_t)st.st_size);
        dx_store_u64(of + sizeof name + 16, (uint64_t)st.st_mtim.tv_sec);
        dx_store_u64(of + sizeof name + 24, (uint64_t)st.st_mtim.tv_nsec);
    }
    return dx_hash128_of(dx_span_of(of, sizeof of));
}

bool dx_ingest_journal_has(const struct dx_ingest_journal *j, const struct dx_hash128 *key)
{
    return j->count > 0 && bsearch(key, j->key, j->count, sizeof *key, by_bytes) != NULL;
}

void dx_ingest_journal_note(struct dx_ingest_journal *j, const struct dx_hash128 *key,
                            const char *input)
{
    char text[DX_HASH128_TEXT];

    dx_hash128_text(key, text);
    dx_buf_fmt(&j->noted, "%s ", text);
    dx_rejects_text(&j->noted, dx_span_str(input));
    dx_buf_u8(&j->noted, '\n');
}

int dx_ingest_journal_write(struct dx_ingest_journal *j, struct dx_error *err)
{
    int rc;

    assert(j->fd >= 0); /* dx_ingest_journal_open */
    rc = j->noted.failed
             ? dx_buf_fail(&j->noted, err, "journal")
             : dx_file_write(j->fd, j->path, dx_span_of(j->noted.data, j->noted.size), err);
    if (rc == DX_OK && fdatasync(j->fd) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot sync", j->path);
    dx_buf_clear(&j->noted);
    return rc;
}

void dx_ingest_journal_forget(struct dx_ingest_journal *j)
{
    dx_buf_clear(&j->noted);
}
