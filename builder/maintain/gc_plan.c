/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/gc_plan.h"

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

static struct dx_gc_planned plan_condemned(const struct dx_manifest_version *v,
                                           const struct dx_gc_options *o, int64_t now_us)
{
    uint64_t wait_s = dx_gc_wait_s(o);
    struct dx_gc_planned p = { DX_GC_WAIT, v->condemned_us, NULL };

    /* The mark was cut to a whole second; so was the time now, of a store. */
    p.due_us += (int64_t)(wait_s + (wait_s > 0)) * SECOND_US;
    if (now_us >= p.due_us)
        p.step = DX_GC_DROP;
    return p;
}

void dx_gc_plan(const struct dx_manifest *m, const struct dx_gc_options *o, int64_t now_us,
                struct dx_gc_planned *planned)
{
    for (size_t i = 0; i < m->version_count; i++) {
        const struct dx_manifest_version *v = &m->versions[i];
        const char *why = reason(m, o, now_us, i);

        /* What is dropped stays so: it is not opened any more, and some of it may be gone. */
        if (v->state == DX_VERSION_DROPPED)
            planned[i] = (struct dx_gc_planned){ DX_GC_REMOVE, 0, NULL };
        else if (why != NULL)
            planned[i] = (struct dx_gc_planned){ DX_GC_KEEP, 0, why };
        else if (v->state == DX_VERSION_LISTED)
            planned[i] = (struct dx_gc_planned){ DX_GC_CONDEMN, 0, NULL };
        else
            planned[i] = plan_condemned(v, o, now_us);
    }
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
