/* SPDX-License-Identifier: Apache-2.0
 * gc_leases.h - the leases of a root, and which of them hold, by the store's clock.
 *
 *   rc = dx_gc_leases_read(&l, &root, &err);
 *   l.lease[i].text, .modified_us, .now_us
 *   if (dx_gc_lease_holds(&l.lease[i], &options)) ...
 *   dx_gc_leases_release(&l);
 *
 * A lease that a listing of this run had is asked for by its name even if a later listing lacks it: a listing alone does not say
 * that something is gone.
 *
 * A lease that cannot be read, or is malformed, is an error that names it: what it would have held
 * cannot be known. Names below leases/ that do not end in .json are not of leases.
 * One thread at a time.
 */
#ifndef DX_BUILDER_MAINTAIN_GC_LEASES_H
#define DX_BUILDER_MAINTAIN_GC_LEASES_H

#include "builder/maintain/gc_options.h"
#include "builder/maintain/gc_root.h"
#include "format/root/lease_json.h"

#define DX_GC_LEASES_MAX 10000

struct dx_gc_lease {
    struct dx_lease_text text;
    int64_t modified_us;
    int64_t now_us; /* when it was read */
    bool coarse;    /* these are whole seconds */
};

struct dx_gc_leases {
    struct dx_gc_lease *lease;
    size_t count;
};

#define DX_GC_LEASES_INIT \
    {                     \
        NULL, 0           \
    }

int dx_gc_leases_read(struct dx_gc_leases *l, struct dx_gc_root *g, struct dx_error *err);
void dx_gc_leases_release(struct dx_gc_leases *l);

/* Until when the server may count on it, with its own TTL; for dx_gc_lease_holds with the skew. */
int64_t dx_gc_lease_until_us(const struct dx_gc_lease *lease, const struct dx_gc_options *o);
bool dx_gc_lease_holds(const struct dx_gc_lease *lease, const struct dx_gc_options *o);

/* DX_E_UNSUPPORTED: one that holds reckons with longer times than o. */
int dx_gc_leases_agree(const struct dx_gc_leases *l, const struct dx_gc_options *o,
                       struct dx_error *err);

/* One that holds and names the version; NULL: none. */
const struct dx_gc_lease *dx_gc_leases_holder(const struct dx_gc_leases *l,
                                              const struct dx_gc_options *o, const char *version);

#endif
