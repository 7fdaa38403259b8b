/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/domain64.h"

static const struct {
    const char *name;
    unsigned bits[DX_DOMAIN64_PARTS];
    unsigned shift[DX_DOMAIN64_PARTS];
} layouts[DX_DOMAIN64_LAYOUTS] = {
    [DX_DOMAIN64_SUB8] = { "8-24-8-24", { 8, 24, 8, 24 }, { 56, 32, 24, 0 } },
    [DX_DOMAIN64_SUB24] = { "8-24-24-8", { 8, 24, 24, 0 }, { 56, 32, 8, 0 } },
};

const char *dx_domain64_layout_name(enum dx_domain64_layout layout)
{
    return layouts[layout].name;
}

const char *dx_domain64_part_name(enum dx_domain64_part part)
{
    static const char *const names[DX_DOMAIN64_PARTS] = { "TLD", "domain", "subdomain", "path" };

    return names[part];
}

uint32_t dx_domain64_most(enum dx_domain64_layout layout, enum dx_domain64_part part)
{
    return (UINT32_C(1) << layouts[layout].bits[part]) - 1;
}

uint32_t dx_domain64_field(const struct dx_domain64 *d, enum dx_domain64_part part)
{
    return part == DX_PART_TLD         ? d->tld
           : part == DX_PART_DOMAIN    ? d->domain
           : part == DX_PART_SUBDOMAIN ? d->subdomain
                                       : d->path;
}

/* Fields up to and with `last`. */
static int pack(const struct dx_domain64 *d, enum dx_domain64_part last,
                enum dx_domain64_layout layout, uint64_t *key, struct dx_error *err)
{
    *key = 0;
    for (unsigned i = 0; i <= last; i++) {
        enum dx_domain64_part part = (enum dx_domain64_part)i;
        uint32_t value = dx_domain64_field(d, part);

        if (value > dx_domain64_most(layout, part))
            return dx_fail(err, DX_E_LIMIT, "domain64 %s: %s %u, the field holds %u",
                           layouts[layout].name, dx_domain64_part_name(part), (unsigned)value,
                           (unsigned)dx_domain64_most(layout, part));
        if (value == 0 && part <= DX_PART_DOMAIN)
            return dx_fail(err, DX_E_INVALID, "domain64: %s 0 is reserved",
                           dx_domain64_part_name(part));
        *key |= (uint64_t)value << layouts[layout].shift[i];
    }
    return DX_OK;
}

int dx_domain64_unpack(uint64_t key, enum dx_domain64_layout layout, struct dx_domain64 *d,
                       struct dx_error *err)
{
    uint32_t v[DX_DOMAIN64_PARTS];
    uint64_t again = 0;

    for (unsigned i = 0; i < DX_DOMAIN64_PARTS; i++) {
        v[i] = (uint32_t)(key >> layouts[layout].shift[i]) &
               dx_domain64_most(layout, (enum dx_domain64_part)i);
        again |= (uint64_t)v[i] << layouts[layout].shift[i];
    }
    *d = (struct dx_domain64){ .tld = v[DX_PART_TLD],
                               .domain = v[DX_PART_DOMAIN],
                               .subdomain = v[DX_PART_SUBDOMAIN],
                               .path = v[DX_PART_PATH] };
    if (again != key)
        return dx_fail(err, DX_E_INVALID, "domain64 0x%016llx: the low byte is reserved in %s",
                       (unsigned long long)key, layouts[layout].name);
    if (d->tld == 0 || d->domain == 0)
        return dx_fail(err, DX_E_INVALID, "domain64 0x%016llx: %s 0 is reserved",
                       (unsigned long long)key, d->tld == 0 ? "TLD" : "domain");
    return DX_OK;
}

int dx_domain64_range(const struct dx_domain64 *d, enum dx_domain64_part part,
                      enum dx_domain64_layout layout, struct dx_domain64_range *range,
                      struct dx_error *err)
{
    /* Of a field of no bits the range is that of the field before. */
    enum dx_domain64_part last = dx_domain64_most(layout, part) == 0 ? DX_PART_SUBDOMAIN : part;
    int rc = pack(d, part, layout, &range->from, err);

    range->to = rc < 0 ? 0 : range->from + (UINT64_C(1) << layouts[layout].shift[last]);
    return rc;
}

static bool is_address(struct dx_span domain)
{
    size_t i = domain.size;

    while (i > 0 && domain.data[i - 1] >= '0' && domain.data[i - 1] <= '9')
        i--;
    return domain.size > 0 &&
           (domain.data[0] == '[' || (i < domain.size && (i == 0 || domain.data[i - 1] == '.')));
}

/* Without a port and a last dot. */
static struct dx_span bare_host(struct dx_span host)
{
    size_t i = host.size;

    while (i > 0 && host.data[i - 1] >= '0' && host.data[i - 1] <= '9')
        i--;
    if (i > 0 && host.data[i - 1] == ':') /* behind the bracket of an IPv6 address */
        host.size = i - 1;
    if (host.size > 0 && host.data[host.size - 1] == '.')
        host.size--;
    return host;
}

bool dx_domain64_names(struct dx_span domain, struct dx_span host, struct dx_span path_query,
                       enum dx_domain64_layout layout, struct dx_domain64_names *names)
{
    const uint8_t *dot = domain.size == 0 ? NULL : memchr(domain.data, '.', domain.size);
    struct dx_span bare = bare_host(host);
    size_t label = dot == NULL ? domain.size : (size_t)(dot - domain.data);
    size_t sub = bare.size > domain.size ? bare.size - domain.size - 1 : 0;
    bool path = path_query.size > 1 && dx_domain64_most(layout, DX_PART_PATH) > 0;

    *names = (struct dx_domain64_names){ { { NULL, 0 } } };
    if (is_address(domain)) {
        names->part[DX_PART_TLD] = dx_span_str("[ip]");
        names->part[DX_PART_DOMAIN] = domain;
        sub = 0;
    } else if (dot == NULL || label == 0 || label + 1 == domain.size) {
        return false;
    } else {
        names->part[DX_PART_TLD] = dx_span_of(dot + 1, domain.size - label - 1);
        names->part[DX_PART_DOMAIN] = dx_span_of(domain.data, label);
    }
    names->part[DX_PART_SUBDOMAIN] = dx_span_of(bare.data, sub);
    if (path)
        names->part[DX_PART_PATH] = dx_span_of(path_query.data + 1, path_query.size - 1);
    return true;
}
