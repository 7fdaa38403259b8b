/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/suppress.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "builder/publish_probe.h"
#include "builder/remote_root.h"
#include "builder/root_lock.h"
#include "fetch/store.h"
#include "format/manifest.h"

/* Others hold the lock for a read, a write and two syncs. */
#define LOCK_WAIT_MS 30000
#define LOCK_STEP_MS 20

/* On object storage somebody wins each time, so this many lose to as many others. */
#define TRIES 50
#define TRY_STEP_MS 50

static void rest(unsigned ms)
{
    const struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

    (void)nanosleep(&t, NULL);
}

/* Of a log that was read, or none. */
static int parse(struct dx_span text, const char *root, struct dx_suppressions *log,
                 struct dx_error *err)
{
    int rc = dx_suppressions_parse(text, DX_SUPPRESSIONS_FILE, log, err);

    return rc < 0 ? dx_fail_in(err, "%s", root) : rc;
}

/* What versions are said to be cleansed by. Read before the log, which has no fewer lines by then. A
 * manifest that cannot be read is in nobody's way. */
struct cleansed {
    uint64_t number; /* the highest */
    char version[DX_VERSION_NAME];
};

static struct cleansed cleansed_of(const char *root)
{
    struct cleansed c = { 0, "" };
    struct dx_manifest m = DX_MANIFEST_INIT;

    if (dx_remote_root_manifest(root, &m, NULL) < 0)
        return c;
    for (size_t i = 0; i < m.version_count; i++)
        if (m.versions[i].cleansed > c.number) {
            c.number = m.versions[i].cleansed;
            memcpy(c.version, m.versions[i].version, sizeof c.version);
        }
    dx_manifest_release(&m);
    return c;
}

/* A log that was lost, or is an older copy: what is added to it would get numbers that a version is
 * said to be cleansed by, and readers would leave those rules out. */
static int check_whole(const struct dx_suppressions *log, const struct cleansed *c,
                       const char *root, struct dx_error *err)
{
    return log->count >= c->number
               ? DX_OK
               : dx_fail(err, DX_E_CORRUPT,
                         "%s: " DX_SUPPRESSIONS_FILE " has %zu lines, but version %s was cleansed "
                         "by %llu: the log was lost, and new rules would be taken for old ones. "
                         "Bring it back; or 'domaindex publish --full --force', and then "
                         "'domaindex gc' until no such version is left",
                         root, log->count, c->version, (unsigned long long)c->number);
}

/* ---- a directory ---- */

static int path_of(const char *root, const char *name, char path[PATH_MAX], struct dx_error *err)
{
    int n = snprintf(path, PATH_MAX, "%s/%s", root, name);

    return n >= 0 && n < PATH_MAX ? DX_OK : dx_fail(err, DX_E_INVALID, "%s: path too long", root);
}

static int read_local(const char *root, struct dx_suppressions *log, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_MAX);
    struct dx_error why = DX_ERROR_INIT;
    char path[PATH_MAX];
    int rc = path_of(root, DX_SUPPRESSIONS_FILE, path, err);

    if (rc < 0)
        return rc;
    rc = dx_file_read(path, DX_SUPPRESSIONS_MAX, &text, &why);
    if (rc == DX_OK)
        rc = parse(dx_span_of(text.data, text.size), root, log, err);
    else if (rc == DX_E_NOT_FOUND)
        rc = DX_OK;
    else if (err != NULL)
        *err = why;
    dx_buf_release(&text);
    return rc;
}

/* A mistyped root is not made into one. */
static int check_root(const char *root, struct dx_error *err)
{
    char lake[PATH_MAX];
    char index[PATH_MAX];
    int rc = path_of(root, "urls", lake, err);

    if (rc == DX_OK)
        rc = path_of(root, "index", index, err);
    if (rc == DX_OK && access(lake, F_OK) < 0 && access(index, F_OK) < 0)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: neither a lake nor an index is there", root);
    return rc;
}

static int take_lock(struct dx_root_lock *lock, const char *directory, struct dx_error *err)
{
    uint64_t until_ms = dx_clock_ms() + LOCK_WAIT_MS;
    int rc;

    while ((rc = dx_root_lock_take(lock, directory, err)) == DX_E_BUSY && dx_clock_ms() < until_ms)
        rest(LOCK_STEP_MS);
    return rc;
}

/* What somebody left who was killed while he wrote: under the lock nobody else writes. */
static void sweep(const char *directory)
{
    const char *name = strrchr(DX_SUPPRESSIONS_FILE, '/') + 1;
    size_t n = strlen(name);
    DIR *d = opendir(directory);
    struct dirent *entry;

    while (d != NULL && (entry = readdir(d)) != NULL)
        if (strncmp(entry->d_name, name, n) == 0 && strncmp(entry->d_name + n, ".tmp-", 5) == 0)
            (void)unlinkat(dirfd(d), entry->d_name, 0);
    if (d != NULL)
        (void)closedir(d);
}

static int write_local(const char *root, const struct dx_suppressions *log, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_MAX);
    char path[PATH_MAX];
    int rc = path_of(root, DX_SUPPRESSIONS_FILE, path, err);

    if (rc == DX_OK)
        rc = dx_suppressions_write(log, &text, err);
    if (rc == DX_OK)
        rc = dx_file_replace(path, dx_span_of(text.data, text.size), err);
    dx_buf_release(&text);
    return rc < 0 ? rc : 1;
}

static int change_local(const char *root, dx_suppress_edit *edit, void *ctx, struct dx_error *err)
{
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    struct cleansed cleansed = { 0, "" };
    char directory[PATH_MAX];
    int rc = check_root(root, err);

    if (rc == DX_OK)
        rc = path_of(root, "index", directory, err);
    if (rc == DX_OK)
        rc = take_lock(&lock, directory, err);
    if (rc == DX_OK) {
        sweep(directory);
        cleansed = cleansed_of(root);
        rc = read_local(root, &log, err);
    }
    if (rc == DX_OK)
        rc = check_whole(&log, &cleansed, root, err);
    if (rc == DX_OK)
        rc = edit(ctx, &log, err);
    if (rc == 1)
        rc = write_local(root, &log, err);
    dx_root_lock_drop(&lock);
    dx_suppressions_release(&log);
    return rc;
}

/* ---- object storage ---- */

static int read_remote(const struct dx_remote_root *remote, const char *root,
                       struct dx_suppressions *log, char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_MAX);
    int rc;

    *log = (struct dx_suppressions)DX_SUPPRESSIONS_INIT;
    rc = dx_remote_root_get(remote, DX_SUPPRESSIONS_FILE, DX_SUPPRESSIONS_MAX, &text, etag, err);
    if (rc == 0)
        etag[0] = '\0';
    else if (rc > 0)
        rc = parse(dx_span_of(text.data, text.size), root, log, err);
    dx_buf_release(&text);
    return rc < 0 ? rc : DX_OK;
}

static int put(const struct dx_remote_root *remote, const struct dx_suppressions *log,
               const char *etag, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_MAX);
    struct dx_put put = { .object = DX_SUPPRESSIONS_FILE,
                          .if_absent = etag[0] == '\0',
                          .if_match = etag[0] == '\0' ? NULL : etag };
    char written[DX_SOURCE_ETAG];
    int rc = dx_suppressions_write(log, &text, err);

    put.bytes = dx_span_of(text.data, text.size);
    if (rc == DX_OK)
        rc = dx_store_put(remote->store, &put, written, err);
    dx_buf_release(&text);
    return rc;
}

/* One look and one put. 1 and 0 as change; DX_E_EXISTS, DX_E_CONFLICT, DX_E_UNKNOWN: look again. tried:
 * what an earlier put may have written. */
static int try_remote(const struct dx_remote_root *remote, const char *root, dx_suppress_edit *edit,
                      void *ctx, struct dx_suppressions *tried, struct dx_error *err)
{
    struct cleansed cleansed = cleansed_of(root);
    struct dx_suppressions log;
    char etag[DX_SOURCE_ETAG];
    int rc = read_remote(remote, root, &log, etag, err);

    if (rc == DX_OK && tried->count > 0 && dx_suppressions_continues(&log, tried)) {
        dx_suppressions_release(&log);
        return 1;
    }
    if (rc == DX_OK && log.count > 0 && etag[0] == '\0')
        rc = dx_fail(err, DX_E_UNSUPPORTED,
                     "%s: the store tells no ETag, without which two writers cannot be kept apart",
                     root);
    if (rc == DX_OK)
        rc = check_whole(&log, &cleansed, root, err);
    if (rc == DX_OK)
        rc = edit(ctx, &log, err);
    if (rc == 1) {
        rc = put(remote, &log, etag, err);
        rc = rc == DX_OK ? 1 : rc;
    }
    dx_suppressions_release(tried);
    if (rc == DX_E_UNKNOWN)
        *tried = log;
    else
        dx_suppressions_release(&log);
    return rc;
}

static int probe(const struct dx_remote_root *remote, const char *root, struct dx_error *err)
{
    struct timespec now;
    char *url;
    int rc = dx_remote_root_url(root, &url, err);

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (rc == DX_OK)
        rc = dx_publish_probe(remote, url, now.tv_sec * INT64_C(1000000), err);
    free(url);
    return rc;
}

static int change_remote(const char *root, dx_suppress_edit *edit, void *ctx, struct dx_error *err)
{
    struct dx_suppressions tried = DX_SUPPRESSIONS_INIT;
    struct dx_remote_root remote;
    int rc = dx_remote_root_open(&remote, root, DX_REMOTE_WRITE, err);

    if (rc == DX_OK)
        rc = probe(&remote, root, err);
    for (unsigned i = 0; rc >= 0 && i < TRIES; i++) {
        if (i > 0)
            rest(TRY_STEP_MS + (unsigned)getpid() % TRY_STEP_MS);
        rc = try_remote(&remote, root, edit, ctx, &tried, err);
        if (rc != DX_E_EXISTS && rc != DX_E_CONFLICT && rc != DX_E_UNKNOWN)
            break;
        if (i + 1 < TRIES)
            rc = DX_OK;
    }
    dx_suppressions_release(&tried);
    dx_remote_root_close(&remote);
    return rc < 0 ? dx_fail_in(err, "%s", root) : rc;
}

/* ---- either ---- */

int dx_suppress_read(const char *root, struct dx_suppressions *log, struct dx_error *err)
{
    struct dx_remote_root remote;
    char etag[DX_SOURCE_ETAG];
    int rc;

    *log = (struct dx_suppressions)DX_SUPPRESSIONS_INIT;
    if (!dx_source_remote(root))
        return read_local(root, log, err);
    rc = dx_remote_root_open(&remote, root, DX_REMOTE_READ, err);
    if (rc == DX_OK)
        rc = read_remote(&remote, root, log, etag, err);
    dx_remote_root_close(&remote);
    return rc;
}

int dx_suppress_change(const char *root, dx_suppress_edit *edit, void *ctx, struct dx_error *err)
{
    return dx_source_remote(root) ? change_remote(root, edit, ctx, err)
                                  : change_local(root, edit, ctx, err);
}
