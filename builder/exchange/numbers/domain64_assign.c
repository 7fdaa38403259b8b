/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/numbers/domain64_assign.h"

#include <assert.h>
#include <stdlib.h>

/* The number of a child with this field. */
static uint64_t number_of(const struct dx_domain64_assign *a, uint64_t parent,
                          enum dx_domain64_part part, uint32_t field)
{
    struct dx_domain64_range r = { 0, 0 };
    struct dx_domain64 d = { .tld = 0 };

    assert(field >= 1 && field <= dx_domain64_most(a->numbers->layout, part));
    (void)dx_domain64_unpack(parent, a->numbers->layout, &d, NULL);
    *(part == DX_PART_TLD         ? &d.tld
      : part == DX_PART_DOMAIN    ? &d.domain
      : part == DX_PART_SUBDOMAIN ? &d.subdomain
                                  : &d.path) = field;
    (void)dx_domain64_range(&d, part, a->numbers->layout, &r, NULL);
    return r.from;
}

/* One above the highest that a child has. What shares the parent's fields lies below `to`, and the
 * highest of it is the highest child, or below it. */
static int first_free(const struct dx_domain64_assign *a, uint64_t parent,
                      enum dx_domain64_part part, uint32_t *next, struct dx_error *err)
{
    enum dx_domain64_layout layout = a->numbers->layout;
    struct dx_domain64_range r = { 0, 0 };
    struct dx_domain64 d;
    uint64_t found = 0;
    int rc;

    assert(part == DX_PART_TLD || parent != 0); /* what has no number has no children */
    (void)dx_domain64_unpack(parent, layout, &d, NULL);
    if (part != DX_PART_TLD)
        (void)dx_domain64_range(&d, (enum dx_domain64_part)(part - 1), layout, &r, NULL);
    if (r.to == 0) { /* the highest number of all has none above it to ask with */
        struct dx_buf name = DX_BUF_INIT(DX_NUMBER_NAME_MAX);

        rc = dx_domain64_registry_name(a->numbers, UINT64_MAX, &name, err);
        dx_buf_release(&name);
        found = UINT64_MAX;
        if (rc == 0)
            rc = dx_domain64_registry_before(a->numbers, UINT64_MAX, &found, err);
    } else {
        rc = dx_domain64_registry_before(a->numbers, r.to, &found, err);
    }
    if (rc < 0)
        return rc;
    *next = 1;
    if (rc == 1 && found >= r.from) {
        (void)dx_domain64_unpack(found, layout, &d, NULL);
        *next = dx_domain64_field(&d, part) + 1;
    }
    return DX_OK;
}

/* *child: what `name` has below parent; 0 if its field is full, or the parent has no number. */
static int find_child(struct dx_domain64_assign *a, struct dx_domain64_node *parent,
                      enum dx_domain64_part part, struct dx_span name,
                      struct dx_domain64_node *child, struct dx_error *err)
{
    int rc = 0;

    *child = (struct dx_domain64_node){ .number = 0 };
    if (part != DX_PART_TLD && parent->number == 0)
        return DX_OK;
    if (!parent->fresh)
        rc = dx_domain64_registry_child(a->numbers, part, parent->number, name, &child->number,
                                        err);
    if (rc != 0)
        return rc < 0 ? rc : DX_OK;
    if (parent->next == 0 && parent->fresh)
        parent->next = 1;
    if (parent->next == 0)
        rc = first_free(a, parent->number, part, &parent->next, err);
    if (rc < 0)
        return rc;
    if (parent->next > dx_domain64_most(a->numbers->layout, part)) {
        a->full[part]++;
        return DX_OK;
    }
    child->fresh = true;
    child->number = number_of(a, parent->number, part, parent->next++);
    a->added[part]++;
    return a->add(a->ctx, child->number, name, err);
}

/* TLDs come again and again between others: those of two labels stand among those of one. */
static int find_tld(struct dx_domain64_assign *a, struct dx_span name, size_t *at,
                    struct dx_error *err)
{
    struct dx_domain64_tld *t;
    int rc;

    for (*at = 0; *at < a->tld_count; ++*at)
        if (dx_span_equal(dx_span_str(a->tld[*at].name), name))
            return DX_OK;
    if (a->tld_count == a->tld_room) {
        size_t room = a->tld_room == 0 ? 64 : 2 * a->tld_room;

        t = reallocarray(a->tld, room, sizeof *t);
        if (t == NULL)
            return dx_no_memory(err, "domain64");
        a->tld = t;
        a->tld_room = room;
    }
    t = &a->tld[a->tld_count];
    rc = find_child(a, &a->top, DX_PART_TLD, name, &t->node, err);
    if (rc < 0)
        return rc;
    t->name = strndup((const char *)name.data, name.size);
    if (t->name == NULL)
        return dx_no_memory(err, "domain64");
    a->tld_count++;
    return DX_OK;
}

static bool moved(struct dx_buf *last, struct dx_span now)
{
    if (last->data != NULL && dx_span_equal(dx_span_of(last->data, last->size), now))
        return false;
    dx_buf_clear(last);
    dx_buf_append(last, now.data, now.size);
    return true;
}

static int to_sub(struct dx_domain64_assign *a, struct dx_span name, struct dx_error *err)
{
    if (name.size > 0)
        return find_child(a, &a->at_domain, DX_PART_SUBDOMAIN, name, &a->at_sub, err);
    a->at_sub = a->at_domain;
    a->at_sub.next = 0; /* of its paths, which are numbered apart from its subdomains */
    return DX_OK;
}

int dx_domain64_assign_url(struct dx_domain64_assign *a, struct dx_span domain,
                           const struct dx_domain64_names *names, struct dx_error *err)
{
    struct dx_domain64_node node = { .number = 0 };
    struct dx_span sub = names->part[DX_PART_SUBDOMAIN];
    struct dx_span path = names->part[DX_PART_PATH];
    bool other;
    size_t tld;
    int rc = DX_OK;

    if (!a->any) {
        dx_buf_init(&a->domain, 2 * DX_NUMBER_NAME_MAX);
        dx_buf_init(&a->sub, 2 * DX_NUMBER_NAME_MAX);
        a->any = true;
    }
    other = moved(&a->domain, domain);
    if (other) {
        rc = find_tld(a, names->part[DX_PART_TLD], &tld, err);
        if (rc == DX_OK)
            rc = find_child(a, &a->tld[tld].node, DX_PART_DOMAIN, names->part[DX_PART_DOMAIN],
                            &a->at_domain, err);
    }
    if (rc == DX_OK && (moved(&a->sub, sub) || other))
        rc = to_sub(a, sub, err);
    if (rc == DX_OK && (a->domain.no_memory || a->sub.no_memory))
        rc = dx_no_memory(err, "domain64");
    if (rc == DX_OK && (a->domain.failed || a->sub.failed))
        rc = dx_fail(err, DX_E_LIMIT, "domain64: a name of over %d bytes", DX_NUMBER_NAME_MAX);
    node = a->at_sub;
    if (rc == DX_OK && path.size > 0)
        rc = find_child(a, &a->at_sub, DX_PART_PATH, path, &node, err);
    a->urls++;
    a->urls_out += node.number == 0;
    return rc;
}

void dx_domain64_assign_release(struct dx_domain64_assign *a)
{
    for (size_t i = 0; i < a->tld_count; i++)
        free(a->tld[i].name);
    free(a->tld);
    dx_buf_release(&a->domain);
    dx_buf_release(&a->sub);
    *a = (struct dx_domain64_assign){ .numbers = NULL };
}
