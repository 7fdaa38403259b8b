/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/gc_spool.h"

#include <string.h>

#include "fetch/store/store.h"
#include "format/root/registry_json.h"

#define SPOOL "spool/"

struct spool {
    struct dx_gc_objects *old;
    const struct dx_gc_root *g;
    uint64_t keep_s;
    struct dx_gc_objects attempt; /* the objects of one */
    size_t name_size;             /* of spool/JOB/ATTEMPT/ */
    size_t dated;                 /* the last of them that tells its age; attempt.count: none */
};

/* The bytes of spool/JOB/ATTEMPT/ in the name of an object; 0: it is not so deep. */
static size_t attempt_of(const char *object)
{
    const char *job = object + strlen(SPOOL);
    const char *end = strchr(job, '/');

    end = end != NULL ? strchr(end + 1, '/') : NULL;
    return end != NULL ? (size_t)(end + 1 - object) : 0;
}

static bool tells_age(const char *object)
{
    const char *name = strrchr(object, '/') + 1;

    return strcmp(name, "registry.json") == 0 || strcmp(name, "psl.dat") == 0;
}

/* 1: it is older than keep_s; 0: it is not, or gone by now. */
static int is_old(const struct spool *s, const char *object, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    struct dx_store_stamp stamp;
    int rc = dx_store_read(s->g->root.store, object, 0, &text, &stamp, err);

    dx_buf_release(&text);
    return rc <= 0 ? rc : stamp.now_us - stamp.modified_us > (int64_t)s->keep_s * 1000000;
}

static int end_attempt(struct spool *s, struct dx_error *err)
{
    int rc = s->dated < s->attempt.count ? is_old(s, s->attempt.name[s->dated], err) : 0;

    for (size_t i = 0; rc > 0 && i < s->attempt.count; i++)
        if (dx_gc_objects_add(s->old, s->attempt.name[i], 0, err) < 0)
            rc = DX_E_NOMEM;
    if (rc > 0)
        s->old->bytes += s->attempt.bytes;
    dx_gc_objects_release(&s->attempt);
    s->dated = SIZE_MAX;
    return rc < 0 ? rc : DX_OK;
}

static int see(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct spool *s = ctx;
    size_t size = attempt_of(listed->object);
    int rc = DX_OK;

    if (s->attempt.count > 0 &&
        (size != s->name_size || strncmp(s->attempt.name[0], listed->object, size) != 0))
        rc = end_attempt(s, err);
    if (rc < 0 || size == 0)
        return rc;
    s->name_size = size;
    if (tells_age(listed->object))
        s->dated = s->attempt.count;
    return dx_gc_objects_add(&s->attempt, listed->object, listed->size, err);
}

int dx_gc_spool_find(struct dx_gc_objects *old, const struct dx_gc_root *g, uint64_t keep_s,
                     struct dx_error *err)
{
    struct spool s = { .old = old, .g = g, .keep_s = keep_s, .dated = SIZE_MAX };
    int rc = dx_store_list(g->root.store, SPOOL, see, &s, err);

    if (rc == DX_OK)
        rc = end_attempt(&s, err);
    dx_gc_objects_release(&s.attempt);
    return rc;
}
