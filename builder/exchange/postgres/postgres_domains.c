/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/postgres/postgres_domains.h"

#include <assert.h>
#include <stdlib.h>

#include "format/core/surt.h"
#include "format/root/rules.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version.h"
#include "loader/version_walk.h"

#define LOOK_EVERY 4096
#define ROOM ((size_t)2 * DX_POSTGRES_DOMAINS_MAX)

static int by_rows(const void *a, const void *b)
{
    const struct dx_postgres_domain *x = a;
    const struct dx_postgres_domain *y = b;

    if (x->rows != y->rows)
        return x->rows > y->rows ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_number(const void *a, const void *b)
{
    const struct dx_postgres_domain *x = a;
    const struct dx_postgres_domain *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

static void keep_largest(struct dx_postgres_domains *d)
{
    qsort(d->at, d->count, sizeof *d->at, by_rows);
    if (d->count > DX_POSTGRES_DOMAINS_MAX)
        d->count = DX_POSTGRES_DOMAINS_MAX;
}

static uint64_t rows_of(const struct dx_postgres_domains *d, const struct dx_domain_pairs *pairs)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < pairs->count; i++)
        if (!dx_registry_of_counts(&d->version->registry, pairs->ids[i]) &&
            (d->dataset_id == 0 || pairs->ids[i] == d->dataset_id))
            rows += pairs->counts[i].row_count;
    return rows;
}

/* 1 it has a number, 0 none. */
static int number_of(const struct dx_domain64_registry *n, struct dx_span domain, uint64_t *number,
                     struct dx_error *err)
{
    struct dx_domain64_names names;
    int rc;

    if (!dx_domain64_names(domain, domain, dx_span_str("/"), n->layout, &names))
        return 0;
    rc = dx_domain64_registry_child(n, DX_PART_TLD, 0, names.part[DX_PART_TLD], number, err);
    return rc == 1 ? dx_domain64_registry_child(n, DX_PART_DOMAIN, *number,
                                                names.part[DX_PART_DOMAIN], number, err)
                   : rc;
}

static int look_at(struct dx_postgres_domains *d, struct dx_version_walk *w,
                   const struct dx_rules *rules, struct dx_error *err)
{
    uint8_t text[DX_SURT_MAX];
    struct dx_postgres_domain found;
    struct dx_span domain;
    int rc = dx_version_walk_pairs(w, err);

    found.rows = rc < 0 ? 0 : rows_of(d, &w->pairs);
    if (rc < 0 || found.rows < d->rows_min)
        return rc < 0 ? rc : DX_OK;
    domain = dx_span_of(text, dx_surt_domain(w->key, text));
    if (dx_rules_whole(rules, domain).effect != DX_EFFECT_NONE)
        return DX_OK;
    rc = number_of(d->numbers, domain, &found.number, err);
    if (rc != 1)
        return rc;
    d->found++;
    if (d->count == ROOM)
        keep_largest(d);
    d->at[d->count++] = found;
    return DX_OK;
}

int dx_postgres_domains_find(struct dx_postgres_domains *d, struct dx_error *err)
{
    const struct dx_rules *rules;
    struct dx_version_walk w;
    int rc = DX_OK;

    assert(d->at == NULL); /* released, if it was used before */
    d->count = 0;
    d->found = 0;
    if (d->rows_min == 0)
        return DX_OK;
    d->at = calloc(ROOM, sizeof *d->at);
    if (d->at == NULL)
        return dx_no_memory(err, "export");
    rules = dx_suppressions_live_pin(d->version->caches->suppressions);
    dx_version_walk_begin(&w, d->version, 0);
    while (rc >= 0 && (rc = dx_version_walk_next(&w, err)) == 1) {
        if (w.ordinal % LOOK_EVERY == 0 && d->stopped != NULL && d->stopped())
            rc = dx_fail(err, DX_E_IO, "interrupted");
        else
            rc = look_at(d, &w, rules, err);
    }
    dx_version_walk_end(&w);
    dx_suppressions_live_unpin(d->version->caches->suppressions, rules);
    keep_largest(d);
    qsort(d->at, d->count, sizeof *d->at, by_number);
    return rc < 0 ? rc : DX_OK;
}

void dx_postgres_domains_release(struct dx_postgres_domains *d)
{
    free(d->at);
    d->at = NULL;
    d->count = 0;
}
