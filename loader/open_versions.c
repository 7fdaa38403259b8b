/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/open_versions.h"

#include "loader/version.h"

#include <assert.h>
#include <string.h>

struct dx_open_version *dx_open_versions_find(struct dx_open_versions *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(dx_version_name(r->items[i].version), name) == 0)
            return &r->items[i];
    return NULL;
}

struct dx_version *dx_open_versions_remove(struct dx_open_versions *r, struct dx_open_version *item)
{
    struct dx_version *v = item->version;
    size_t at = (size_t)(item - r->items);

    assert(at > 0 && at < r->count);
    memmove(item, item + 1, (r->count - at - 1) * sizeof *item);
    r->count--;
    return v;
}

struct dx_version *dx_open_versions_promote(struct dx_open_versions *r, struct dx_version *v,
                                            uint64_t now_ms)
{
    struct dx_version *spare = NULL;

    for (size_t i = 0; i < r->count; i++)
        if (r->items[i].version == v) {
            spare = v;
            if (i == 0)
                return spare;
            (void)dx_open_versions_remove(r, &r->items[i]);
            break;
        }
    assert(r->count <= DX_RESIDENT_MAX);
    memmove(r->items + 1, r->items, r->count * sizeof r->items[0]);
    r->items[0] = (struct dx_open_version){ v, false, now_ms };
    if (r->count > 0)
        r->items[1].since_ms = now_ms;
    r->count++;
    return spare;
}

void dx_open_versions_fetch(struct dx_open_versions *r, struct dx_version *v, uint64_t now_ms)
{
    assert(r->count > 0 && r->count <= DX_RESIDENT_MAX);
    r->items[r->count++] = (struct dx_open_version){ v, true, now_ms };
}

/* The one that goes first of the fetched, or of the superseded; NULL: none. Within one millisecond: the one that came first, and
 * superseded ones stand in the list with the latest first. */
static struct dx_open_version *first_to_go(struct dx_open_versions *r, bool fetched)
{
    struct dx_open_version *first = NULL;

    for (size_t i = 1; i < r->count; i++) {
        struct dx_open_version *item = &r->items[i];

        if (item->fetched == fetched &&
            (first == NULL || item->since_ms < first->since_ms + (fetched ? 0 : 1)))
            first = item;
    }
    return first;
}

struct dx_version *dx_open_versions_evict(struct dx_open_versions *r, bool fetched_only)
{
    struct dx_open_version *item = first_to_go(r, true);

    if (item == NULL && !fetched_only)
        item = first_to_go(r, false);
    return item == NULL ? NULL : dx_open_versions_remove(r, item);
}

struct dx_version *dx_open_versions_over(struct dx_open_versions *r, uint64_t life_ms,
                                         uint64_t now_ms)
{
    for (size_t i = 1; i < r->count; i++)
        if (now_ms - r->items[i].since_ms >= life_ms)
            return dx_open_versions_remove(r, &r->items[i]);
    return NULL;
}

struct dx_version *dx_open_versions_excess(struct dx_open_versions *r)
{
    struct dx_open_version *item;
    size_t fetched = 0;

    for (size_t i = 0; i < r->count; i++)
        fetched += r->items[i].fetched;
    if (r->count - fetched > r->limit - 1)
        item = first_to_go(r, false);
    else if (r->count > r->limit)
        item = first_to_go(r, true);
    else
        return NULL;
    return item == NULL ? NULL : dx_open_versions_remove(r, item);
}

uint64_t dx_open_versions_next_ms(const struct dx_open_versions *r, uint64_t life_ms)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = 1; i < r->count; i++) {
        uint64_t end;

        if (__builtin_add_overflow(r->items[i].since_ms, life_ms, &end))
            end = UINT64_MAX;
        if (end < next)
            next = end;
    }
    return next;
}
