/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/rejects.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"

#define NUMBER_MAX 99999999u

const char *dx_row_reject_name(int why)
{
    switch (why) {
    case DX_ROW_LINE_TOO_LONG:
        return "line_too_long";
    case DX_ROW_RECORD_MALFORMED:
        return "record_malformed";
    case DX_ROW_COLUMN_MISSING:
        return "column_missing";
    case DX_ROW_DATASET_MISSING:
        return "dataset_missing";
    case DX_ROW_DATASET_INVALID:
        return "dataset_invalid";
    case DX_ROW_TS_INVALID:
        return "ts_invalid";
    case DX_ROW_TS_MISSING:
        return "ts_missing";
    case DX_ROW_EXTRA_TOO_LONG:
        return "extra_too_long";
    case DX_ROW_COUNT_INVALID:
        return "count_invalid";
    case DX_ROW_NO_PAGES:
        return "no_pages";
    case DX_ROW_NOT_ONE_URL:
        return "not_one_url";
    default:
        return dx_reject_name((enum dx_reject)why);
    }
}

void dx_rejects_init(struct dx_rejects *r, const char *folder, const char *given)
{
    *r = (struct dx_rejects){ .folder = folder, .given = given, .max_bytes = DX_REJECTS_BYTES };
}

void dx_rejects_text(struct dx_buf *out, struct dx_span s)
{
    for (size_t i = 0; i < s.size;) {
        uint8_t c = s.data[i];
        size_t n = dx_utf8_printable_size(s.data + i, s.size - i);

        if (c == '\\')
            dx_buf_str(out, "\\\\");
        else if (n > 0)
            dx_buf_append(out, s.data + i, n);
        else if (c == '\t')
            dx_buf_str(out, "\\t");
        else if (c == '\n')
            dx_buf_str(out, "\\n");
        else if (c == '\r')
            dx_buf_str(out, "\\r");
        else
            dx_buf_fmt(out, "\\x%02x", c);
        i += n > 0 ? n : 1;
    }
}

void dx_rejects_line(struct dx_buf *out, const char *input, uint64_t line, int why,
                     struct dx_span raw)
{
    if (raw.size > DX_REJECT_RAW_MAX)
        raw.size = DX_REJECT_RAW_MAX;
    if (out->size == 0)
        dx_rejects_text(out, dx_span_str(input));
    dx_buf_fmt(out, "\t%llu\t%s\t", (unsigned long long)line, dx_row_reject_name(why));
    dx_rejects_text(out, raw);
    dx_buf_u8(out, '\n');
}

/* The folder, open. A private one stands among those of others, who may have been there first: it
 * must be ours and no link. */
static int open_folder(const struct dx_rejects *r, int *dir, struct dx_error *err)
{
    struct stat st;
    int rc = DX_OK;

    *dir = -1;
    if (!r->is_private)
        rc = dx_dir_make(r->folder, err);
    else if (mkdir(r->folder, 0700) < 0 && errno != EEXIST)
        rc = dx_fail_errno(err, errno, "%s: cannot make directory", r->folder);
    if (rc < 0)
        return rc;
    *dir = open(r->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (r->is_private ? O_NOFOLLOW : 0));
    if (*dir >= 0 && (!r->is_private || (fstat(*dir, &st) == 0 && st.st_uid == geteuid())))
        return DX_OK;
    if (*dir < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot open the folder for rejects", r->folder);
    else
        rc = dx_fail(err, DX_E_IO,
                     "%s: is the folder of another user, who could read or change the rejects; "
                     "give --work-dir or --rejects",
                     r->folder);
    if (*dir >= 0)
        (void)close(*dir);
    *dir = -1;
    return rc;
}

/* The next free number: the open file, and its path. */
static int create_numbered(const struct dx_rejects *r, char path[PATH_MAX], struct dx_error *err)
{
    unsigned number = 0;
    char name[32];
    int dir;
    int fd;
    int rc = open_folder(r, &dir, err);

    if (rc < 0)
        return rc;
    do {
        (void)snprintf(name, sizeof name, "%05u.tsv", ++number);
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY,
                    r->is_private ? 0600 : 0644);
    } while (fd < 0 && errno == EEXIST && number < NUMBER_MAX);
    if (fd < 0)
        fd = dx_fail_errno(err, errno, "%s/%s: cannot create the rejects file", r->folder, name);
    (void)close(dir);
    rc = fd < 0 ? DX_OK : dx_path_format(path, PATH_MAX, err, "%s/%s", r->folder, name);
    if (rc < 0)
        (void)close(fd);
    return rc < 0 ? rc : fd;
}

/* The file that was named: open, and its path. */
static int open_given(struct dx_rejects *r, char path[PATH_MAX], struct dx_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (r->append ? O_APPEND : O_TRUNC);
    struct stat st;
    int rc = dx_path_format(path, PATH_MAX, err, "%s", r->given);
    int fd = rc < 0 ? rc : open(path, flags, 0644);

    if (rc < 0)
        return rc;
    if (fd < 0 || fstat(fd, &st) < 0) {
        rc = dx_fail_errno(err, errno, "%s: cannot create the rejects file", path);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    r->bytes = (uint64_t)st.st_size < r->max_bytes ? (uint64_t)st.st_size : r->max_bytes;
    return fd;
}

static int create(struct dx_rejects *r, struct dx_error *err)
{
    char path[PATH_MAX];
    int fd = r->given == NULL ? create_numbered(r, path, err) : open_given(r, path, err);

    if (fd < 0)
        return fd;
    r->path = strdup(path);
    r->file = fdopen(fd, "w");
    if (r->path == NULL || r->file == NULL) {
        (void)close(fd);
        return dx_no_memory(err, "%s", path);
    }
    return DX_OK;
}

/* Of the lines the first whole ones that fit in room bytes. */
static size_t fitting(struct dx_span lines, uint64_t room)
{
    const uint8_t *end;

    if (lines.size <= room)
        return lines.size;
    end = memrchr(lines.data, '\n', (size_t)room);
    return end == NULL ? 0 : (size_t)(end + 1 - lines.data);
}

/* Once a line is left out all later ones are: what is listed is the beginning. */
int dx_rejects_write(struct dx_rejects *r, struct dx_span lines, struct dx_error *err)
{
    size_t n;

    if (lines.size == 0)
        return DX_OK;
    if (r->file == NULL) {
        int rc = create(r, err);

        if (rc < 0)
            return rc;
    }
    n = r->unlisted > 0 ? 0 : fitting(lines, r->max_bytes - r->bytes);
    for (size_t i = n; i < lines.size; i++)
        r->unlisted += lines.data[i] == '\n';
    if (fwrite(lines.data, 1, n, r->file) != n)
        return dx_fail_errno(err, errno, "%s: cannot write", r->path);
    r->bytes += n;
    return DX_OK;
}

int dx_rejects_close(struct dx_rejects *r, struct dx_error *err)
{
    int rc = DX_OK;

    if (r->file != NULL && r->unlisted > 0 &&
        fprintf(r->file, "\t0\tnot_listed\t%llu more rejected records are not listed\n",
                (unsigned long long)r->unlisted) < 0)
        rc = dx_fail_errno(err, errno, "%s: cannot write", r->path);
    if (r->file != NULL && fclose(r->file) != 0 && rc == DX_OK)
        rc = dx_fail_errno(err, errno, "%s: cannot write", r->path);
    r->file = NULL;
    return rc;
}

/* A file whose name was given stays: the next run with that name replaces it or goes on in it. */
void dx_rejects_discard(struct dx_rejects *r)
{
    if (r->path != NULL && r->given == NULL) {
        (void)unlink(r->path);
        free(r->path);
        r->path = NULL;
    }
}

void dx_rejects_release(struct dx_rejects *r)
{
    if (r->file != NULL)
        (void)fclose(r->file);
    r->file = NULL;
    free(r->path);
    r->path = NULL;
}
