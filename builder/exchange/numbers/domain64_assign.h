/* SPDX-License-Identifier: Apache-2.0
 * domain64_assign.h - which number each name gets, names coming in order.
 *
 *   struct dx_domain64_assign a = { .numbers = n, .add = add, .ctx = ctx };
 *   rc = dx_domain64_assign_url(&a, domain, &names, &err);     URLs of a domain, of a subdomain together
 *   a.added, a.full, a.urls_out
 *   dx_domain64_assign_release(&a);
 *
 * add is called for each new (number, name). Names that the registry has keep their number.
 * One thread at a time.
 */
#ifndef DX_BUILDER_EXCHANGE_NUMBERS_DOMAIN64_ASSIGN_H
#define DX_BUILDER_EXCHANGE_NUMBERS_DOMAIN64_ASSIGN_H

#include "base/buf.h"
#include "loader/followed/domain64_registry.h"

struct dx_domain64_node {
    uint64_t number; /* 0: it has none */
    uint32_t next;   /* of its next child: subdomain of a domain, else as the part says; 0: ask */
    bool fresh;      /* the registry does not know it */
};

struct dx_domain64_assign {
    const struct dx_domain64_registry *numbers;
    int (*add)(void *ctx, uint64_t number, struct dx_span name, struct dx_error *err);
    void *ctx;
    uint64_t added[DX_DOMAIN64_PARTS];
    uint64_t full[DX_DOMAIN64_PARTS];
    uint64_t urls;
    uint64_t urls_out;

    /* private */
    struct dx_domain64_node top;
    struct dx_domain64_tld {
        char *name;
        struct dx_domain64_node node;
    } * tld;
    size_t tld_count, tld_room;
    struct dx_buf domain; /* the current one, whole */
    struct dx_buf sub;
    struct dx_domain64_node at_domain; /* next: of subdomains */
    struct dx_domain64_node at_sub;    /* next: of paths; of none: those of the domain itself */
    bool any;
};

int dx_domain64_assign_url(struct dx_domain64_assign *a, struct dx_span domain,
                           const struct dx_domain64_names *names, struct dx_error *err);
void dx_domain64_assign_release(struct dx_domain64_assign *a);

#endif
