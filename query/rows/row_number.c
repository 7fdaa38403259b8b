/* SPDX-License-Identifier: Apache-2.0 */
#include "query/rows/row_number.h"

#include <assert.h>

#include "loader/followed/domain64_registry.h"
#include "query/rows/listing.h"

void dx_row_number_begin(struct dx_row_number *r, const struct dx_domain64_registry *numbers,
                         struct dx_span domain, uint64_t number)
{
    *r = (struct dx_row_number){ .numbers = numbers,
                                 .domain = domain,
                                 .number = number,
                                 .subdomain = DX_BUF_INIT(DX_NUMBER_NAME_MAX) };
}

void dx_row_number_end(struct dx_row_number *r)
{
    dx_buf_release(&r->subdomain);
}

/* 1: r->subdomain_number is that of the part before the domain, or the domain's where there is
 * none. */
static int find_subdomain(struct dx_row_number *r, struct dx_span name, struct dx_error *err)
{
    if (r->any && dx_span_equal(name, dx_span_of(r->subdomain.data, r->subdomain.size)))
        return r->subdomain_rc;
    r->any = true;
    dx_buf_clear(&r->subdomain);
    dx_buf_append(&r->subdomain, name.data, name.size);
    if (r->subdomain.failed) { /* longer than any name of a book */
        dx_buf_clear(&r->subdomain);
        r->any = false;
        return 0;
    }
    r->subdomain_number = r->number;
    r->subdomain_rc = name.size == 0
                          ? 1
                          : dx_domain64_registry_child(r->numbers, DX_PART_SUBDOMAIN, r->number,
                                                       name, &r->subdomain_number, err);
    return r->subdomain_rc;
}

static int find_number(struct dx_row_number *r, const struct dx_listing_row *row, uint64_t *key,
                       struct dx_error *err)
{
    struct dx_domain64_names names;
    int rc;

    if (!dx_domain64_names(r->domain, row->host, row->path_query, r->numbers->layout, &names))
        return 0;
    rc = find_subdomain(r, names.part[DX_PART_SUBDOMAIN], err);
    *key = r->subdomain_number;
    if (rc != 1 || names.part[DX_PART_PATH].size == 0)
        return rc;
    return dx_domain64_registry_child(r->numbers, DX_PART_PATH, r->subdomain_number,
                                      names.part[DX_PART_PATH], key, err);
}

int dx_row_number_within(struct dx_row_number *r, const struct dx_listing_row *row,
                         struct dx_error *err)
{
    int rc = find_number(r, row, &r->key, err);

    assert(r->within != NULL);
    return rc == 1 ? dx_domain64_in(r->within, r->key) : rc;
}
