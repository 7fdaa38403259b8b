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

bool dx_domain64_layout_parse(struct dx_span text, enum dx_domain64_layout *layout)
{
    for (unsigned i = 0; i < DX_DOMAIN64_LAYOUTS; i++)
        if (dx_span_equal(text, dx_span_str(layouts[i].name))) {
            *layout = (enum dx_domain64_layout)i;
            return true;
        }
    return false;
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

static uint32_t value_of(const struct dx_domain64 *d, enum dx_domain64_part part)
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
        uint32_t value = value_of(d, part);

        if (value > dx_domain64_most(layout, part))
            return dx_fail(err, DX_E_LIMIT, "domain64 %s: %s %u, the field holds %u",
                           layouts[layout].name, dx_domain64_part_name(part), (unsigned)value,
                           (unsigned)dx_domain64_most(layout, part));
        if (value == 0 && part <= DX_PART_DOMAIN)
            return dx_fail(err, DX_E_INVALID, "domain64: %s 0 is none",
                           dx_domain64_part_name(part));
        *key |= (uint64_t)value << layouts[layout].shift[i];
    }
    return DX_OK;
}

int dx_domain64_pack(const struct dx_domain64 *d, enum dx_domain64_layout layout, uint64_t *key,
                     struct dx_error *err)
{
    return pack(d, DX_PART_PATH, layout, key, err);
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
        return dx_fail(err, DX_E_INVALID, "domain64 0x%016llx: %s 0 is none",
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
