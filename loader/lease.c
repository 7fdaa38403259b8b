/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/lease.h"

#include "base/nonce.h"
#include "base/path.h"
#include "fetch/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS_MAX 5 /* of one hold: each reads what is there by then */
#define REQUEST_MIN_MS 500
#define OBJECT_MAX (sizeof DX_LEASE_FOLDER + DX_LEASE_SERVER + sizeof ".json")

struct dx_lease {
    struct dx_store *store;
    char *root;
    /* of a directory: locked while it is read and put; NULL: a store's conditions do */
    char *folder;
    uint32_t ttl_s, cursor_life_s, request_s;
    char server[DX_LEASE_SERVER];
    char instance[DX_LEASE_INSTANCE];
    uint64_t serial;
    char etag[DX_SOURCE_ETAG]; /* of our last one; "": there was none */
    bool sure;                 /* that etag is */
    bool owned;                /* a lease under this name has been ours */
    /* what the one before us held, who may live after all */
    struct dx_lease_text left;
    uint64_t left_until_ms;
    char rival[256];
    bool rival_news;
    pthread_mutex_t lock; /* a leaf: of what follows */
    struct dx_lease_text held;
    uint64_t until_ms;
};

/* ---- what is held ---- */

static bool named(const char *const *names, size_t count, const char *version)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], version) == 0)
            return true;
    return false;
}

/* Before the put: the lease that it makes must not hold less than we do. */
static void let_go(struct dx_lease *l, const char *const *names, size_t count)
{
    size_t kept = 0;

    (void)pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->held.count; i++)
        if (named(names, count, l->held.versions[i]))
            memmove(l->held.versions[kept++], l->held.versions[i], DX_VERSION_NAME);
    l->held.count = kept;
    (void)pthread_mutex_unlock(&l->lock);
}

static bool there(const struct dx_manifest *m, const char *version)
{
    const struct dx_manifest_version *v = dx_manifest_find(m, version);

    return v != NULL && v->state != DX_VERSION_DROPPED;
}

/* After the put, with the manifest that was read after it. */
static int take_names(struct dx_lease *l, const char *const *names, size_t count,
                      const struct dx_manifest *m, uint64_t until_ms, struct dx_error *err)
{
    struct dx_lease_text next = DX_LEASE_TEXT_INIT;
    uint64_t now = dx_clock_ms();
    int rc = DX_OK;

    (void)pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < count && rc == DX_OK; i++)
        if (there(m, names[i]) || (l->until_ms > now && dx_lease_text_names(&l->held, names[i])))
            rc = dx_lease_text_add(&next, names[i], err);
    if (rc == DX_OK && now >= until_ms)
        rc = dx_fail(err, DX_E_TIMEOUT,
                     "%s: the lease of %u s had run out before the manifest was read after it",
                     l->root, (unsigned)l->ttl_s);
    if (rc == DX_OK) {
        dx_lease_text_release(&l->held);
        l->held = next;
        l->until_ms = until_ms;
        next = (struct dx_lease_text)DX_LEASE_TEXT_INIT;
    }
    (void)pthread_mutex_unlock(&l->lock);
    dx_lease_text_release(&next);
    return rc;
}

uint64_t dx_lease_until(struct dx_lease *l, const char *version)
{
    uint64_t until;

    (void)pthread_mutex_lock(&l->lock);
    until = dx_lease_text_names(&l->held, version) ? l->until_ms : 0;
    (void)pthread_mutex_unlock(&l->lock);
    return until;
}

/* ---- the object ---- */

static void object_of(const struct dx_lease *l, char object[OBJECT_MAX])
{
    (void)snprintf(object, OBJECT_MAX, DX_LEASE_FOLDER "%s.json", l->server);
}

static uint64_t request_deadline(const struct dx_lease *l)
{
    uint64_t third = (uint64_t)l->ttl_s * 1000 / 3;

    return dx_clock_ms() + (third > REQUEST_MIN_MS ? third : REQUEST_MIN_MS);
}

/* What a process of our name had before we came. Added to what was left before: that one may have
 * taken over from yet another. */
static int inherit(struct dx_lease *l, const struct dx_lease_text *other, struct dx_error *err)
{
    uint64_t until = dx_clock_ms() + (uint64_t)other->ttl_s * 1000;
    int rc = DX_OK;

    for (size_t i = 0; i < other->count && rc == DX_OK; i++)
        rc = dx_lease_text_add(&l->left, other->versions[i], err);
    if (other->ttl_s > l->left.ttl_s)
        l->left.ttl_s = other->ttl_s;
    if (other->cursor_life_s > l->left.cursor_life_s)
        l->left.cursor_life_s = other->cursor_life_s;
    if (other->request_s > l->left.request_s)
        l->left.request_s = other->request_s;
    if (until > l->left_until_ms)
        l->left_until_ms = until;
    return rc;
}

/* Another process took our name while we live: it keeps what we held (inherit), and we take another
 * name. */
static int give_way(struct dx_lease *l)
{
    char old[DX_LEASE_SERVER];

    memcpy(old, l->server, sizeof old);
    (void)snprintf(l->server, sizeof l->server, "%.55s-%.8s", old, l->instance);
    (void)snprintf(l->rival, sizeof l->rival,
                   "another process has leases under the name %s too, so this one goes on as %s: "
                   "give each server a name of its own",
                   old, l->server);
    l->rival_news = true;
    l->owned = false;
    return 1;
}

/* Looks what is there: l->etag. 1: not under this name any more, look again. */
static int look_at_lease(struct dx_lease *l, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_LEASE_TEXT_MAX);
    struct dx_lease_text other = DX_LEASE_TEXT_INIT;
    struct dx_store_stamp stamp;
    char object[OBJECT_MAX];
    int rc;

    object_of(l, object);
    l->etag[0] = '\0';
    rc = dx_store_read(l->store, object, request_deadline(l), &text, &stamp, err);
    if (rc == 1) {
        rc = dx_lease_text_parse(&other, dx_span_of(text.data, text.size), object, err);
        if (rc < 0)
            rc = dx_fail_in(err, "%s: this is not a lease of a server; look at it, and remove it",
                            l->root);
        else if (strcmp(other.instance, l->instance) == 0)
            rc = 0;
        else if (l->owned)
            rc = give_way(l);
        else
            rc = inherit(l, &other, err);
        if (rc == 0)
            memcpy(l->etag, stamp.etag, sizeof l->etag);
    }
    dx_lease_text_release(&other);
    dx_buf_release(&text);
    return rc;
}

static int write_text(struct dx_lease *l, const char *const *names, size_t count,
                      struct dx_buf *out, struct dx_error *err)
{
    struct dx_lease_text t = { .serial = ++l->serial,
                               .ttl_s = l->ttl_s,
                               .cursor_life_s = l->cursor_life_s,
                               .request_s = l->request_s };
    int rc = DX_OK;

    memcpy(t.server, l->server, sizeof t.server);
    memcpy(t.instance, l->instance, sizeof t.instance);
    for (size_t i = 0; i < count && rc == DX_OK; i++)
        rc = dx_lease_text_add(&t, names[i], err);
    if (l->left.count > 0 && dx_clock_ms() < l->left_until_ms) {
        for (size_t i = 0; i < l->left.count && rc == DX_OK; i++)
            rc = dx_lease_text_add(&t, l->left.versions[i], err);
        t.ttl_s = l->left.ttl_s > t.ttl_s ? l->left.ttl_s : t.ttl_s;
        t.cursor_life_s = l->left.cursor_life_s > t.cursor_life_s ? l->left.cursor_life_s
                                                                  : t.cursor_life_s;
        t.request_s = l->left.request_s > t.request_s ? l->left.request_s : t.request_s;
    }
    if (rc == DX_OK)
        rc = dx_lease_text_write(&t, out, err);
    dx_lease_text_release(&t);
    return rc;
}

/* 1 written; 0 what is there is not what we took it for: look again. */
static int put_lease(struct dx_lease *l, const char *const *names, size_t count,
                     struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_LEASE_TEXT_MAX);
    char object[OBJECT_MAX];
    struct dx_put put = { .object = object, .deadline_ms = request_deadline(l) };
    char etag[DX_SOURCE_ETAG];
    int rc = write_text(l, names, count, &text, err);

    object_of(l, object);
    put.if_absent = l->etag[0] == '\0';
    put.if_match = put.if_absent ? NULL : l->etag;
    put.bytes = dx_span_of(text.data, text.size);
    l->sure = false;
    if (rc == DX_OK)
        rc = dx_store_put(l->store, &put, etag, err);
    if (rc == DX_OK) {
        memcpy(l->etag, etag, sizeof l->etag);
        l->sure = l->owned = true;
        rc = 1;
    } else if (rc == DX_E_EXISTS || rc == DX_E_CONFLICT) {
        rc = 0;
    }
    dx_buf_release(&text);
    return rc;
}

static int write_rounds(struct dx_lease *l, const char *const *names, size_t count,
                        uint64_t *sent_ms, struct dx_error *err)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        int rc = l->sure ? DX_OK : look_at_lease(l, err);

        if (rc > 0)
            continue;
        *sent_ms = dx_clock_ms();
        if (rc == DX_OK)
            rc = put_lease(l, names, count, err);
        if (rc != 0)
            return rc < 0 ? rc : DX_OK;
    }
    return dx_fail(err, DX_E_CONFLICT,
                   "%s/" DX_LEASE_FOLDER "%s.json: others write it all the time; give each server "
                   "a name of its own",
                   l->root, l->server);
}

/* In a directory a condition is a look and a rename: one process at a time, then. */
static int write_lease(struct dx_lease *l, const char *const *names, size_t count,
                       uint64_t *sent_ms, struct dx_error *err)
{
    int fd = l->folder == NULL ? -1 : open(l->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc;

    while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
        ;
    rc = write_rounds(l, names, count, sent_ms, err);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static int read_manifest(struct dx_lease *l, struct dx_manifest *m, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_store_stamp stamp;
    int rc = dx_store_read(l->store, DX_MANIFEST_FILE, request_deadline(l), &text, &stamp, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s/" DX_MANIFEST_FILE ": it is gone", l->root);
    if (rc == 1)
        rc = dx_manifest_parse(dx_span_of(text.data, text.size), DX_MANIFEST_FILE, m, err);
    dx_buf_release(&text);
    return rc < 0 ? rc : DX_OK;
}

int dx_lease_hold(struct dx_lease *l, const char *const *names, size_t count,
                  struct dx_manifest *manifest, struct dx_error *err)
{
    uint64_t sent_ms = 0;
    int rc;

    *manifest = (struct dx_manifest)DX_MANIFEST_INIT;
    let_go(l, names, count);
    rc = write_lease(l, names, count, &sent_ms, err);
    if (rc == DX_OK)
        rc = read_manifest(l, manifest, err);
    if (rc == DX_OK)
        rc = take_names(l, names, count, manifest, sent_ms + (uint64_t)l->ttl_s * 1000, err);
    if (rc < 0)
        dx_manifest_release(manifest);
    return rc;
}

const char *dx_lease_rival(struct dx_lease *l)
{
    bool news = l->rival_news;

    l->rival_news = false;
    return news ? l->rival : NULL;
}

const char *dx_lease_server(const struct dx_lease *l)
{
    return l->server;
}

/* ---- open, close ---- */

static int name_server(struct dx_lease *l, const char *server, struct dx_error *err)
{
    char host[256] = "";

    if (server == NULL) {
        if (gethostname(host, sizeof host - 1) < 0)
            host[0] = '\0';
        server = host;
    }
    if (!dx_lease_server_ok(dx_span_str(server)))
        return dx_fail(err, DX_E_INVALID,
                       "the server's name for leases, '%.80s', is not 1 to 64 letters, digits, "
                       "'.', '_' and '-', or begins with '.' or '-'",
                       server);
    return dx_path_format(l->server, sizeof l->server, err, "%s", server);
}

static int open_folder(struct dx_lease *l, struct dx_error *err)
{
    bool there_is;

    if (asprintf(&l->folder, "%s/" DX_LEASE_DIR, l->root) < 0) {
        l->folder = NULL;
        return dx_no_memory(err, "%s", l->root);
    }
    there_is = mkdir(l->folder, 0755) == 0 || errno == EEXIST;
    if (there_is && access(l->folder, W_OK | X_OK) == 0)
        return DX_OK;
    if (errno == EACCES || errno == EPERM || errno == EROFS)
        return dx_fail(err, DX_E_UNSUPPORTED, "%s: no lease can be written there: %s", l->folder,
                       strerror(errno));
    return dx_fail_errno(err, errno, "%s: cannot make the folder", l->folder);
}

static int open_store(struct dx_lease *l, const struct dx_source_options *source,
                      struct dx_error *err)
{
    struct dx_source_options own = DX_SOURCE_OPTIONS_INIT;
    const char *wrong = source == NULL ? dx_source_options_env(&own) : NULL;
    int rc = DX_OK;

    if (wrong != NULL)
        return dx_fail(err, DX_E_INVALID, "%s", wrong);
    if (!dx_source_remote(l->root) && strstr(l->root, "://") == NULL)
        rc = open_folder(l, err);
    return rc < 0 ? rc : dx_store_open(&l->store, l->root, source != NULL ? source : &own, err);
}

int dx_lease_open(struct dx_lease **lease, const char *root, const struct dx_lease_options *options,
                  struct dx_error *err)
{
    struct dx_lease *l = calloc(1, sizeof *l);
    uint64_t sent_ms = 0;
    int rc;

    *lease = l;
    if (l == NULL)
        return dx_no_memory(err, "%s", root);
    (void)pthread_mutex_init(&l->lock, NULL);
    l->ttl_s = options->ttl_s;
    l->cursor_life_s = options->cursor_life_s;
    l->request_s = options->request_s;
    dx_nonce(l->instance);
    l->root = strdup(root);
    rc = l->root == NULL ? dx_no_memory(err, "%s", root) : name_server(l, options->server, err);
    if (rc == DX_OK)
        rc = open_store(l, options->source, err);
    if (rc == DX_OK)
        rc = write_lease(l, NULL, 0, &sent_ms, err);
    if (rc < 0)
        dx_lease_close(lease);
    return rc;
}

/* A lease of nothing stays in a store: a removal there knows no condition, and could take away what
 * the next process of our name has just written. */
static void take_back(struct dx_lease *l)
{
    struct dx_error ignored = DX_ERROR_INIT; /* it runs out */
    char object[OBJECT_MAX];
    int fd = l->folder == NULL ? -1 : open(l->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    l->left_until_ms = 0;
    object_of(l, object);
    while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
        ;
    if (put_lease(l, NULL, 0, &ignored) == 1 && fd >= 0)
        (void)dx_store_remove(l->store, object, &ignored);
    if (fd >= 0)
        (void)close(fd);
}

void dx_lease_close(struct dx_lease **lease)
{
    struct dx_lease *l = *lease;

    *lease = NULL;
    if (l == NULL)
        return;
    if (l->store != NULL && l->sure)
        take_back(l);
    dx_store_close(&l->store);
    dx_lease_text_release(&l->held);
    dx_lease_text_release(&l->left);
    (void)pthread_mutex_destroy(&l->lock);
    free(l->folder);
    free(l->root);
    free(l);
}
