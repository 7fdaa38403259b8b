/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/followed/domain64_live.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fetch/source_open.h"
#include "loader/followed/followed.h"

struct kept {
    struct dx_domain64_registry *numbers;
    uint64_t until_ms;
};

struct dx_domain64_live {
    /* of the thread that looks */
    struct dx_domain64_registry_where where;
    struct dx_followed followed;
    struct dx_source *source;
    uint64_t again_ms; /* when a look that failed is repeated; 0: it did not */

    pthread_mutex_t lock;                        /* of what follows */
    struct dx_domain64_registry *numbers;        /* NULL: none */
    struct kept kept[DX_DOMAIN64_REGISTRY_KEPT]; /* those before it, the latest first */
    struct dx_error failure;                     /* of the last look */
    bool there;                                  /* the root has one, as far as is known */
    bool known;                                  /* whether it has was seen at some time */
};

/* ---- looking ---- */

static void exchange(struct dx_domain64_live *n, struct dx_domain64_registry *numbers,
                     uint64_t now_ms)
{
    struct dx_domain64_registry *out;

    (void)pthread_mutex_lock(&n->lock);
    out = n->kept[DX_DOMAIN64_REGISTRY_KEPT - 1].numbers;
    if (n->numbers != NULL) {
        memmove(n->kept + 1, n->kept, sizeof n->kept[0] * (DX_DOMAIN64_REGISTRY_KEPT - 1));
        n->kept[0] = (struct kept){ n->numbers, now_ms + n->where.keep_ms };
    } else {
        out = NULL;
    }
    n->numbers = numbers;
    (void)pthread_mutex_unlock(&n->lock);
    dx_domain64_registry_close(&out);
}

/* Those that no listing continues any more. */
static void let_go(struct dx_domain64_live *n, uint64_t now_ms)
{
    for (size_t i = 0; i < DX_DOMAIN64_REGISTRY_KEPT; i++) {
        struct dx_domain64_registry *out = NULL;

        (void)pthread_mutex_lock(&n->lock);
        if (n->kept[i].numbers != NULL && n->kept[i].until_ms <= now_ms) {
            out = n->kept[i].numbers;
            n->kept[i].numbers = NULL;
        }
        (void)pthread_mutex_unlock(&n->lock);
        dx_domain64_registry_close(&out);
    }
}

/* A registry whose files were changed while they are mapped is of no use, nor is one before it to
 * be given instead. */
static bool is_changed(const struct dx_domain64_live *n)
{
    return n->numbers != NULL && dx_domain64_registry_intact(n->numbers, NULL) < 0;
}

/* 1 another one, 0 none, or <0. */
static int open_again(struct dx_domain64_live *n, uint64_t now_ms, struct dx_error *err)
{
    struct dx_domain64_registry *numbers = NULL;
    int rc = DX_OK;

    if (n->source == NULL)
        rc = dx_source_remote(n->where.root)
                 ? dx_source_open(&n->source, n->where.root, n->where.source, err)
                 : dx_source_open_local(&n->source, n->where.root, err);
    if (rc == DX_OK)
        rc = dx_domain64_registry_open_as(&numbers, n->where.root, n->source, &n->where.options,
                                          err);
    if (rc < 0)
        return rc;
    exchange(n, numbers, now_ms);
    return rc;
}

/* *seen: whether there is a list. */
static int look_at_list(struct dx_domain64_live *n, bool asked, uint64_t now_ms, bool *seen,
                        struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_DOMAIN64_MANIFEST_MAX);
    char etag[DX_SOURCE_ETAG];
    bool had = n->numbers != NULL;
    bool again = n->again_ms != 0 && (asked || now_ms >= n->again_ms);
    int rc = dx_followed_read(&n->followed, &text, etag, err);

    dx_buf_release(&text);
    *seen = rc >= 0 || rc == DX_E_NOT_FOUND;
    if (rc == DX_E_NOT_FOUND) {
        if (err != NULL)
            *err = (struct dx_error)DX_ERROR_INIT;
        exchange(n, NULL, now_ms);
        n->followed.etag[0] = '\0';
        return had;
    }
    if (rc < 0 || (rc == 0 && !again && !is_changed(n)))
        return rc < 0 || n->again_ms == 0 ? rc : (int)n->failure.code;
    /* Also of one that cannot be opened: it is not tried at every look. */
    if (rc == 1)
        dx_followed_take(&n->followed, etag);
    rc = open_again(n, now_ms, err);
    return rc < 0 ? rc : rc == 1 || had;
}

int dx_domain64_live_poll(struct dx_domain64_live *n, bool asked, uint64_t now_ms,
                          struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    bool seen = false;
    int rc = look_at_list(n, asked, now_ms, &seen, &why);

    let_go(n, now_ms);
    if (rc < 0 && why.code == DX_OK) { /* as the look before this one */
        if (err != NULL)
            *err = n->failure;
        return rc;
    }
    n->again_ms = rc < 0 ? now_ms + DX_DOMAIN64_REGISTRY_AGAIN_MS : 0;
    (void)pthread_mutex_lock(&n->lock);
    n->failure = why;
    /* A store that does not answer tells nothing of a root that had none; and one that denies a
     * list says the same of what is not there to clients that may not list names. */
    n->there = n->numbers != NULL ||
               (rc < 0 && (seen || n->there || (!n->known && rc != DX_E_DENIED)));
    n->known = n->known || seen;
    (void)pthread_mutex_unlock(&n->lock);
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

/* ---- asking ---- */

static struct dx_domain64_registry *find(const struct dx_domain64_live *n,
                                         const struct dx_build_id *state)
{
    for (size_t i = 0; i <= DX_DOMAIN64_REGISTRY_KEPT; i++) {
        struct dx_domain64_registry *one = i == 0 ? n->numbers : n->kept[i - 1].numbers;
        struct dx_build_id its;

        if (one == NULL)
            continue;
        its = dx_domain64_registry_state(one);
        if (memcmp(&its, state, sizeof its) == 0)
            return one;
    }
    return NULL;
}

int dx_domain64_live_pin(struct dx_domain64_live *n, const struct dx_build_id *state,
                         struct dx_domain64_registry **numbers, struct dx_error *err)
{
    struct dx_domain64_registry *found;
    int rc = 0;

    *numbers = NULL;
    if (n == NULL)
        return 0;
    (void)pthread_mutex_lock(&n->lock);
    found = state == NULL ? n->numbers : find(n, state);
    if (found != NULL)
        *numbers = dx_domain64_registry_hold(found);
    else if (state == NULL && n->there)
        rc = dx_fail(err, DX_E_CORRUPT, "%s", n->failure.text);
    (void)pthread_mutex_unlock(&n->lock);
    return *numbers != NULL ? 1 : rc;
}

void dx_domain64_live_health(struct dx_domain64_live *n, struct dx_domain64_registry_health *health)
{
    struct dx_error why = DX_ERROR_INIT;
    bool hangs;

    *health = (struct dx_domain64_registry_health){ .sound = true, .text = "sound" };
    if (n == NULL)
        return;
    health->look_age_ms = dx_followed_age_ms(&n->followed);
    hangs = dx_followed_hangs(&n->followed, &why) < 0;
    (void)pthread_mutex_lock(&n->lock);
    if (!hangs && n->there)
        why = n->failure;
    health->sound = why.code == DX_OK;
    if (n->numbers != NULL) {
        health->present = true;
        health->fillings = dx_domain64_manifest_last(&n->numbers->list);
        for (size_t i = 0; i < DX_NUMBER_PARTS; i++)
            health->names += n->numbers->list.names[i];
    }
    if (!health->sound)
        (void)snprintf(health->text, sizeof health->text, "%s", why.text);
    (void)pthread_mutex_unlock(&n->lock);
}

/* ---- open, close ---- */

int dx_domain64_live_open(struct dx_domain64_live **out,
                          const struct dx_domain64_registry_where *where, uint64_t now_ms,
                          struct dx_error *err)
{
    struct dx_domain64_live *n = calloc(1, sizeof *n);
    int rc;

    *out = NULL;
    if (n == NULL)
        return dx_no_memory(err, "domain64");
    (void)pthread_mutex_init(&n->lock, NULL);
    n->where = *where;
    n->followed = (struct dx_followed){ .object = DX_DOMAIN64_MANIFEST_FILE,
                                        .cap = DX_DOMAIN64_MANIFEST_MAX };
    rc = dx_followed_open(&n->followed, where->root, NULL, where->source, err);
    *out = n;
    if (rc < 0) {
        dx_domain64_live_close(out);
        return rc;
    }
    (void)dx_domain64_live_poll(n, false, now_ms, NULL);
    return DX_OK;
}

void dx_domain64_live_close(struct dx_domain64_live **out)
{
    struct dx_domain64_live *n = *out;

    *out = NULL;
    if (n == NULL)
        return;
    dx_domain64_registry_close(&n->numbers);
    for (size_t i = 0; i < DX_DOMAIN64_REGISTRY_KEPT; i++)
        dx_domain64_registry_close(&n->kept[i].numbers);
    dx_followed_close(&n->followed);
    dx_source_close(&n->source);
    (void)pthread_mutex_destroy(&n->lock);
    free(n);
}
