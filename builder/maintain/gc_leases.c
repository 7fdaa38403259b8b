/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/gc_leases.h"

#include <stdlib.h>

#include "builder/maintain/gc_objects.h"
#include "fetch/store/store.h"
#include "loader/lease.h"

#define SECOND_US 1000000

static int see(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct dx_gc_objects *names = ctx;
    size_t n = strlen(listed->object);

    if (n < 5 || strcmp(listed->object + n - 5, ".json") != 0)
        return DX_OK;
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], listed->object) == 0)
            return DX_OK;
    if (names->count == DX_GC_LEASES_MAX)
        return dx_fail(err, DX_E_LIMIT,
                       "%s: more than %d leases; remove those of servers that are no more",
                       DX_LEASE_FOLDER, DX_GC_LEASES_MAX);
    return dx_gc_objects_add(names, listed->object, listed->size, err);
}

/* 1: added; 0: it is gone since it was listed. */
static int read_one(struct dx_gc_leases *l, const struct dx_gc_root *g, const char *object,
                    struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_LEASE_TEXT_MAX);
    struct dx_gc_lease *lease = &l->lease[l->count];
    struct dx_store_stamp stamp;
    int rc = dx_store_read(g->root.store, object, 0, &text, &stamp, err);

    *lease = (struct dx_gc_lease){ .modified_us = stamp.modified_us,
                                   .now_us = stamp.now_us,
                                   .coarse = !g->root.in_place };
    if (rc == 1) {
        rc = dx_lease_text_parse(&lease->text, dx_span_of(text.data, text.size), object, err);
        l->count += rc == DX_OK;
        if (rc < 0)
            rc = dx_fail_in(err,
                            "%s: which versions a server reads cannot be known; remove that object "
                            "if there is no such server",
                            g->root.name);
    }
    dx_buf_release(&text);
    return rc;
}

int dx_gc_leases_read(struct dx_gc_leases *l, struct dx_gc_root *g, struct dx_error *err)
{
    struct dx_gc_objects *names = &g->leases;
    int rc;

    *l = (struct dx_gc_leases)DX_GC_LEASES_INIT;
    rc = dx_store_list(g->root.store, DX_LEASE_FOLDER, see, names, err);
    if (rc == DX_OK) {
        l->lease = calloc(names->count + 1, sizeof *l->lease);
        if (l->lease == NULL)
            rc = dx_no_memory(err, "gc: %zu leases", names->count);
    }
    for (size_t i = 0; i < names->count && rc >= 0; i++)
        rc = read_one(l, g, names->name[i], err);
    if (rc < 0)
        dx_gc_leases_release(l);
    return rc < 0 ? rc : DX_OK;
}

void dx_gc_leases_release(struct dx_gc_leases *l)
{
    for (size_t i = 0; i < l->count; i++)
        dx_lease_text_release(&l->lease[i].text);
    free(l->lease);
    *l = (struct dx_gc_leases)DX_GC_LEASES_INIT;
}

/* The longer TTL of the two; and a second, by which the difference of two times as HTTP writes them
 * may be too large. */
int64_t dx_gc_lease_until_us(const struct dx_gc_lease *lease, const struct dx_gc_options *o)
{
    uint32_t ttl_s = lease->text.ttl_s > o->ttl_s ? lease->text.ttl_s : o->ttl_s;

    return lease->modified_us + ((int64_t)ttl_s + o->skew_s + lease->coarse) * SECOND_US;
}

bool dx_gc_lease_holds(const struct dx_gc_lease *lease, const struct dx_gc_options *o)
{
    return lease->now_us < dx_gc_lease_until_us(lease, o);
}

int dx_gc_leases_agree(const struct dx_gc_leases *l, const struct dx_gc_options *o,
                       struct dx_error *err)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct dx_lease_text *t = &l->lease[i].text;

        if (dx_gc_lease_holds(&l->lease[i], o) &&
            (t->ttl_s > o->ttl_s || t->cursor_life_s > o->cursor_life_s ||
             t->request_s > o->request_s))
            return dx_fail(err, DX_E_UNSUPPORTED,
                           "server %s reckons with leases of %u s, cursors of %u s and requests of "
                           "%u s, and this run with %u, %u and %u: what it relies on could be "
                           "removed; say --lease-ttl, --cursor-life and --longest-request as long",
                           t->server, (unsigned)t->ttl_s, (unsigned)t->cursor_life_s,
                           (unsigned)t->request_s, (unsigned)o->ttl_s, (unsigned)o->cursor_life_s,
                           (unsigned)o->request_s);
    }
    return DX_OK;
}

const struct dx_gc_lease *dx_gc_leases_holder(const struct dx_gc_leases *l,
                                              const struct dx_gc_options *o, const char *version)
{
    for (size_t i = 0; i < l->count; i++)
        if (dx_lease_text_names(&l->lease[i].text, version) && dx_gc_lease_holds(&l->lease[i], o))
            return &l->lease[i];
    return NULL;
}
