/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/gc_plan.h"

#include <assert.h>
#include <string.h>

#define SECOND_US 1000000

uint64_t dx_gc_wait_s(const struct dx_gc_options *o)
{
    return (uint64_t)o->ttl_s + o->cursor_life_s + o->request_s + o->skew_s;
}

/* Those of a higher sequence that can be kept as well. */
static size_t newer_than(const struct dx_manifest *m, size_t i)
{
    size_t count = 0;

    for (size_t k = i + 1; k < m->version_count; k++)
        count += m->versions[k].state != DX_VERSION_DROPPED;
    return count;
}

/* Why it is kept, or NULL. */
static const char *reason(const struct dx_manifest *m, const struct dx_gc_options *o,
                          int64_t now_us, size_t i)
{
    const struct dx_manifest_version *v = &m->versions[i];
    /* Manifests of format version 1 do not say when. */
    int64_t since = v->superseded_us != DX_MANIFEST_NEVER ? v->superseded_us : v->published_us;

    if (strcmp(v->version, m->current) == 0)
        return "current";
    if (newer_than(m, i) < o->keep)
        return "one of the newest (--keep)";
    if (now_us < since || (uint64_t)(now_us - since) / SECOND_US < o->keep_for_s)
        return "was current not long ago (--keep-for)";
    return NULL;
}

/* The mark was cut to a whole second; so was the time now, of a store. */
static int64_t due(int64_t condemned_us, const struct dx_gc_options *o)
{
    uint64_t wait_s = dx_gc_wait_s(o);

    return condemned_us + (int64_t)(wait_s + (wait_s > 0)) * SECOND_US;
}

static struct dx_gc_planned plan_condemned(const struct dx_manifest_version *v,
                                           const struct dx_gc_options *o, int64_t now_us)
{
    struct dx_gc_planned p = { DX_GC_WAIT, due(v->condemned_us, o), NULL, NULL };

    assert(v->state == DX_VERSION_CONDEMNED);
    if (now_us >= p.due_us)
        p.step = DX_GC_DROP;
    return p;
}

/* Version `user` needs the files of version i. */
static void keep_part(struct dx_gc_planned *i, const struct dx_gc_planned *user, const char *name)
{
    switch (user->step) {
    case DX_GC_KEEP:
        if (i->step != DX_GC_KEEP)
            *i = (struct dx_gc_planned){ DX_GC_KEEP, 0, "a part of a version that is kept", name };
        break;
    case DX_GC_CONDEMN:
    case DX_GC_WAIT:
        /* Not dropped before it, as then it could not be opened, or become current again. */
        if (i->step == DX_GC_DROP || (i->step == DX_GC_WAIT && i->due_us < user->due_us))
            *i = (struct dx_gc_planned){ DX_GC_WAIT, user->due_us,
                                         "a part of a version that is condemned too", name };
        break;
    default:
        break;
    }
}

/* Parts are older than what they are parts of: from the newest down one pass is enough. */
static void keep_parts(const struct dx_manifest *m, struct dx_gc_planned *planned)
{
    for (size_t k = m->version_count; k-- > 0;)
        for (size_t i = 0; i < k; i++)
            if (m->versions[i].state != DX_VERSION_DROPPED &&
                dx_manifest_has_part(&m->versions[k], m->versions[i].version))
                keep_part(&planned[i], &planned[k], m->versions[k].version);
}

void dx_gc_plan(const struct dx_manifest *m, const struct dx_gc_options *o, int64_t now_us,
                struct dx_gc_planned *planned)
{
    for (size_t i = 0; i < m->version_count; i++) {
        const struct dx_manifest_version *v = &m->versions[i];
        const char *why = reason(m, o, now_us, i);

        /* What is dropped stays so: it is not opened any more, and some of it may be gone. */
        if (v->state == DX_VERSION_DROPPED)
            planned[i] = (struct dx_gc_planned){ DX_GC_REMOVE, 0, NULL, NULL };
        else if (why != NULL)
            planned[i] = (struct dx_gc_planned){ DX_GC_KEEP, 0, why, NULL };
        else if (v->state == DX_VERSION_LISTED)
            planned[i] = (struct dx_gc_planned){ DX_GC_CONDEMN, due(now_us - now_us % SECOND_US, o),
                                                 NULL, NULL };
        else
            planned[i] = plan_condemned(v, o, now_us);
    }
    keep_parts(m, planned);
}

size_t dx_gc_plan_mark(struct dx_manifest *m, const struct dx_gc_planned *planned, int64_t now_us)
{
    size_t changed = 0;

    for (size_t i = 0; i < m->version_count; i++) {
        struct dx_manifest_version *v = &m->versions[i];

        if (planned[i].step == DX_GC_CONDEMN) {
            v->state = DX_VERSION_CONDEMNED;
            v->condemned_us = now_us - now_us % SECOND_US;
            changed++;
        } else if (planned[i].step == DX_GC_DROP) {
            v->state = DX_VERSION_DROPPED;
            changed++;
        }
    }
    return changed;
}
