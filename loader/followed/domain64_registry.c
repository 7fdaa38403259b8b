/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/followed/domain64_registry.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "fetch/download.h"
#include "loader/guard/guard.h"

#define TRIES 5 /* a merge took away what the list named: others are not merging all the time */
#define PART_SHIFT 8

/* ---- opening ---- */

/* To a file without a name, for as long as it is mapped. */
static int fetch_object(struct dx_source *source, const char *dir, const char *object,
                        uint64_t size, struct dx_map *map, struct dx_error *err)
{
    struct dx_download d = {
        .source = source, .object = object, .size = size, .pin = { size, NULL }
    };
    char path[PATH_MAX];
    int fd;
    int rc;

    if (dir == NULL)
        dir = getenv("TMPDIR");
    rc = dx_path_format(path, sizeof path, err, "%s/domaindex-numbers-XXXXXX",
                        dir == NULL || dir[0] == '\0' ? "/tmp" : dir);
    if (rc < 0)
        return rc;
    fd = mkstemp(path);
    if (fd < 0)
        return dx_fail(err, DX_E_IO, "%s: no temporary file can be made", path);
    (void)close(fd);
    rc = dx_download_run(&d, path, err);
    if (rc == DX_OK)
        rc = dx_map_open(map, path, DX_MAP_RANDOM, err);
    (void)unlink(path);
    return rc;
}

/* Where a registry is and how it is to be opened. */
struct opening {
    const char *root;
    struct dx_source *source;
    const struct dx_domain64_registry_options *options;
};

static int open_book(struct dx_domain64_registry *n, const struct opening *o, size_t i,
                     struct dx_error *err)
{
    const struct dx_number_file *f = &n->list.file[i];
    const struct dx_build_id build = dx_number_build(&n->list, f->first, f->last);
    struct dx_domain64_segment *b = &n->book[i];
    char object[DX_NUMBER_OBJECT];
    char path[PATH_MAX];
    int rc;

    dx_number_object(f, object);
    if (dx_source_remote(o->root)) {
        rc = fetch_object(o->source, o->options->dir, object, f->size, &n->map[i], err);
    } else {
        rc = dx_path_format(path, sizeof path, err, "%s/%s", o->root, object);
        if (rc == DX_OK)
            rc = dx_guard_map(n->guard, &n->map[i], path, DX_MAP_RANDOM, err);
    }
    if (rc < 0)
        return rc;
    if (n->map[i].bytes.size != f->size)
        return dx_fail(err, DX_E_CORRUPT, "%s: %zu bytes, the registry says %llu", object,
                       n->map[i].bytes.size, (unsigned long long)f->size);
    rc = dx_domain64_segment_open(b, n->map[i].bytes, o->options->whole ? DX_OPEN_VERIFY_ALL : 0,
                                  object, err);
    if (rc < 0)
        return rc;
    n->count = i + 1;
    if (memcmp(b->envelope.build.bytes, build.bytes, sizeof build.bytes) != 0 ||
        b->info.layout != n->list.layout || b->info.first != f->first || b->info.last != f->last ||
        b->count != f->names)
        return dx_fail(err, DX_E_CORRUPT, "%s: of another registry, or other fillings", object);
    return DX_OK;
}

static void close_books(struct dx_domain64_registry *n)
{
    dx_guard_free(&n->guard);
    for (size_t i = 0; i < DX_DOMAIN64_SEGMENTS_MAX; i++) {
        dx_domain64_segment_close(&n->book[i]);
        dx_map_close(&n->map[i]);
    }
    n->count = 0;
}

/* 1, 0: no registry. DX_E_NOT_FOUND: a book went. */
static int open_once(struct dx_domain64_registry *n, const struct opening *o, struct dx_error *err)
{
    const struct dx_get get = { .object = DX_DOMAIN64_MANIFEST_FILE,
                                .cap = DX_DOMAIN64_MANIFEST_MAX };
    struct dx_buf text = DX_BUF_INIT(DX_DOMAIN64_MANIFEST_MAX);
    int rc = dx_source_get(o->source, &get, &text, n->etag, err);

    if (rc >= 0)
        rc = dx_domain64_manifest_parse(&n->list, dx_span_of(text.data, text.size),
                                        DX_DOMAIN64_MANIFEST_FILE, err);
    else if (rc == DX_E_NOT_FOUND)
        rc = 1;
    dx_buf_release(&text);
    if (rc != DX_OK)
        return rc == 1 ? 0 : rc;
    n->layout = (enum dx_domain64_layout)n->list.layout;
    if (!dx_source_remote(o->root))
        rc = dx_guard_new(&n->guard, "domain64", err);
    for (size_t i = 0; rc == DX_OK && i < n->list.count; i++)
        rc = open_book(n, o, i, err);
    return rc < 0 ? rc : 1;
}

int dx_domain64_registry_open_as(struct dx_domain64_registry **n, const char *root,
                                 struct dx_source *source,
                                 const struct dx_domain64_registry_options *options,
                                 struct dx_error *err)
{
    const struct opening o = { root, source, options };
    int rc = DX_E_NOT_FOUND;

    *n = calloc(1, sizeof **n);
    if (*n == NULL)
        return dx_no_memory(err, "domain64");
    atomic_init(&(*n)->holds, 1);
    for (unsigned i = 0; rc == DX_E_NOT_FOUND && i < TRIES; i++) {
        close_books(*n);
        rc = open_once(*n, &o, err);
    }
    if (rc < 0)
        (void)dx_fail_in(err, "%s", root);
    if (rc != 1)
        dx_domain64_registry_close(n);
    return rc;
}

int dx_domain64_registry_open(struct dx_domain64_registry **n, const char *root,
                              struct dx_source *source, struct dx_error *err)
{
    const struct dx_domain64_registry_options usual = { NULL, false };

    return dx_domain64_registry_open_as(n, root, source, &usual, err);
}

struct dx_domain64_registry *dx_domain64_registry_hold(struct dx_domain64_registry *n)
{
    (void)atomic_fetch_add(&n->holds, 1);
    return n;
}

void dx_domain64_registry_close(struct dx_domain64_registry **n)
{
    if (*n != NULL && atomic_fetch_sub(&(*n)->holds, 1) == 1) {
        close_books(*n);
        free(*n);
    }
    *n = NULL;
}

int dx_domain64_registry_intact(const struct dx_domain64_registry *n, struct dx_error *err)
{
    return n->guard == NULL || dx_guard_intact(n->guard) ? DX_OK : dx_guard_why(n->guard, err);
}

/* Not of fillings alone: one that was restored from a copy counts on from there, with other
 * names. */
struct dx_build_id dx_domain64_registry_state(const struct dx_domain64_registry *n)
{
    uint8_t bytes[sizeof n->list.id + DX_DOMAIN64_SEGMENTS_MAX * sizeof(struct dx_hash128)];
    size_t size = sizeof n->list.id;
    struct dx_build_id state;
    struct dx_hash128 hash;

    memcpy(bytes, n->list.id, size);
    for (size_t i = 0; i < n->list.count; i++) {
        memcpy(bytes + size, n->list.file[i].hash.bytes, sizeof hash.bytes);
        size += sizeof hash.bytes;
    }
    hash = dx_hash128_of(dx_span_of(bytes, size));
    memcpy(state.bytes, hash.bytes, sizeof state.bytes);
    return state;
}

/* ---- names to numbers ---- */

int dx_domain64_registry_part(enum dx_domain64_layout layout, uint64_t number,
                              enum dx_domain64_part *part, struct dx_error *err)
{
    struct dx_domain64 d;
    int rc = dx_domain64_unpack(number, layout, &d, NULL);

    *part = d.path != 0        ? DX_PART_PATH
            : d.subdomain != 0 ? DX_PART_SUBDOMAIN
            : d.domain != 0    ? DX_PART_DOMAIN
                               : DX_PART_TLD;
    if (rc == DX_OK || (*part == DX_PART_TLD && d.tld != 0 && number << PART_SHIFT == 0))
        return DX_OK;
    return dx_fail(err, DX_E_CORRUPT, "domain64: 0x%016llx is the number of no name",
                   (unsigned long long)number);
}

uint64_t dx_domain64_registry_parent(enum dx_domain64_layout layout, uint64_t number,
                                     enum dx_domain64_part part)
{
    struct dx_domain64_range range = { 0, 0 };
    struct dx_domain64 d;

    if (part == DX_PART_TLD)
        return 0;
    (void)dx_domain64_unpack(number, layout, &d, NULL);
    (void)dx_domain64_range(&d, (enum dx_domain64_part)(part - 1), layout, &range, NULL);
    return range.from;
}

int dx_domain64_registry_child(const struct dx_domain64_registry *n, enum dx_domain64_part part,
                               uint64_t parent, struct dx_span name, uint64_t *number,
                               struct dx_error *err)
{
    uint64_t hash = dx_number_hash((uint8_t)part, parent, name);
    struct dx_number_hits h;
    int rc = DX_OK;

    for (size_t i = 0; rc >= 0 && i < n->count; i++) {
        rc = dx_number_hits_open(&h, &n->book[i], hash, err);
        while (rc >= 0 && (rc = dx_number_hits_next(&h, err)) == 1) {
            enum dx_domain64_part its;

            rc = dx_domain64_registry_part(n->layout, h.at.number, &its, err);
            if (rc == DX_OK && its == part && dx_span_equal(h.at.name, name) &&
                dx_domain64_registry_parent(n->layout, h.at.number, part) == parent) {
                *number = h.at.number;
                return 1;
            }
        }
    }
    return rc;
}

int dx_domain64_registry_key(const struct dx_domain64_registry *n,
                             const struct dx_domain64_names *names, uint64_t *key,
                             enum dx_domain64_part *missing, struct dx_error *err)
{
    *key = 0;
    for (unsigned i = 0; i < DX_DOMAIN64_PARTS; i++) {
        enum dx_domain64_part part = (enum dx_domain64_part)i;
        int rc = names->part[i].size == 0 && i > DX_PART_DOMAIN
                     ? 1
                     : dx_domain64_registry_child(n, part, *key, names->part[i], key, err);

        *missing = part;
        if (rc != 1)
            return rc;
    }
    return 1;
}

int dx_domain64_registry_before(const struct dx_domain64_registry *n, uint64_t number,
                                uint64_t *found, struct dx_error *err)
{
    bool any = false;

    for (size_t i = 0; i < n->count; i++) {
        uint64_t its;
        int rc = dx_domain64_segment_before(&n->book[i], number, &its, err);

        if (rc < 0)
            return rc;
        if (rc == 1 && (!any || its > *found))
            *found = its;
        any = any || rc == 1;
    }
    return any;
}

/* From the first one on that is not below. */
static int at_or_after(const struct dx_domain64_registry *n, uint64_t from, uint64_t *found,
                       struct dx_error *err)
{
    struct dx_number_cursor c;
    bool any = false;

    for (size_t i = 0; i < n->count; i++) {
        int rc = dx_number_cursor_seek(&c, &n->book[i], from, err);

        if (rc == DX_OK)
            rc = dx_number_cursor_next(&c, err);
        if (rc < 0)
            return rc;
        if (rc == 1 && (!any || c.number < *found))
            *found = c.number;
        any = any || rc == 1;
    }
    return any;
}

int dx_domain64_registry_domain(const struct dx_domain64_registry *n, uint64_t from,
                                uint64_t *number, struct dx_error *err)
{
    enum dx_domain64_part part = DX_PART_TLD;
    struct dx_domain64_range range;
    struct dx_domain64 d;
    uint64_t at;
    int rc;

    for (;;) {
        rc = at_or_after(n, from, &at, err);
        if (rc == 1)
            rc = dx_domain64_registry_part(n->layout, at, &part, err) < 0 ? (int)DX_E_CORRUPT : 1;
        if (rc != 1)
            return rc;
        if (part == DX_PART_TLD) { /* no domain is before its TLD's number and one */
            from = at + 1;
            continue;
        }
        (void)dx_domain64_unpack(at, n->layout, &d, NULL);
        rc = dx_domain64_range(&d, DX_PART_DOMAIN, n->layout, &range, err);
        *number = range.from;
        if (rc < 0 || range.from >= from || part == DX_PART_DOMAIN)
            return rc < 0 ? rc : 1;
        from = range.to; /* it began within a domain: that one is before */
        if (from == 0)
            return 0;
    }
}

int dx_domain64_registry_full(const struct dx_domain64_registry *n, enum dx_domain64_part part,
                              uint64_t parent, struct dx_error *err)
{
    uint32_t most = dx_domain64_most(n->layout, part);
    struct dx_domain64_range last;
    struct dx_domain64 d = { .tld = 0 };
    uint64_t found = 0;
    int rc;

    if (part != DX_PART_TLD) /* a TLD's number has its fields, too, though it is not a URL's */
        (void)dx_domain64_unpack(parent, n->layout, &d, NULL);
    *(part == DX_PART_TLD         ? &d.tld
      : part == DX_PART_DOMAIN    ? &d.domain
      : part == DX_PART_SUBDOMAIN ? &d.subdomain
                                  : &d.path) = most;
    rc = dx_domain64_range(&d, part, n->layout, &last, err);
    if (rc == DX_OK)
        rc = at_or_after(n, last.from, &found, err);
    return rc == 1 ? found == last.from : rc;
}

/* ---- numbers to names ---- */

int dx_domain64_registry_name(const struct dx_domain64_registry *n, uint64_t number,
                              struct dx_buf *out, struct dx_error *err)
{
    struct dx_number_cursor c;
    int rc = 0;

    for (size_t i = 0; i < n->count; i++) {
        rc = dx_number_cursor_seek(&c, &n->book[i], number, err);
        if (rc == DX_OK)
            rc = dx_number_cursor_next(&c, err);
        if (rc < 0)
            return rc;
        if (rc == 1 && c.number == number) {
            dx_buf_append(out, c.name.data, c.name.size);
            return out->failed ? dx_buf_fail(out, err, "a name") : 1;
        }
    }
    return 0;
}

int dx_domain64_registry_names(const struct dx_domain64_registry *n, uint64_t key,
                               struct dx_buf *out, struct dx_error *err)
{
    struct dx_domain64 d;
    struct dx_domain64_range r;
    size_t tld;
    size_t domain;
    int rc = dx_domain64_unpack(key, n->layout, &d, err);

    if (rc == DX_OK)
        rc = 1;
    if (rc == 1 && d.subdomain != 0) {
        (void)dx_domain64_range(&d, DX_PART_SUBDOMAIN, n->layout, &r, NULL);
        rc = dx_domain64_registry_name(n, r.from, out, err);
        dx_buf_u8(out, '.');
    }
    domain = out->size;
    if (rc == 1) {
        (void)dx_domain64_range(&d, DX_PART_DOMAIN, n->layout, &r, NULL);
        rc = dx_domain64_registry_name(n, r.from, out, err);
        dx_buf_u8(out, '.');
    }
    tld = out->size;
    if (rc == 1) {
        (void)dx_domain64_range(&d, DX_PART_TLD, n->layout, &r, NULL);
        rc = dx_domain64_registry_name(n, r.from, out, err);
    }
    if (rc == 1 && tld > domain && out->size > tld &&
        out->data[tld] == '[') /* an address is its own name */
        out->size = tld - 1;
    dx_buf_u8(out, '/');
    if (rc == 1 && d.path != 0)
        rc = dx_domain64_registry_name(n, key, out, err);
    return rc < 0 || !out->failed ? rc : dx_buf_fail(out, err, "a name");
}

/* ---- all of them ---- */

int dx_domain64_registry_walk_open(struct dx_domain64_registry_walk *w,
                                   const struct dx_domain64_registry *n, uint64_t from,
                                   struct dx_error *err)
{
    int rc = DX_OK;

    *w = (struct dx_domain64_registry_walk){ .numbers = n, .taken = SIZE_MAX };
    w->cursor = calloc(n->count + 1, sizeof *w->cursor);
    w->there = calloc(n->count + 1, sizeof *w->there);
    if (w->cursor == NULL || w->there == NULL)
        return dx_no_memory(err, "domain64");
    for (size_t i = 0; rc >= 0 && i < n->count; i++) {
        rc = dx_number_cursor_seek(&w->cursor[i], &n->book[i], from, err);
        if (rc == DX_OK)
            rc = dx_number_cursor_next(&w->cursor[i], err);
        w->there[i] = rc == 1;
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_domain64_registry_walk_next(struct dx_domain64_registry_walk *w, struct dx_error *err)
{
    size_t best = SIZE_MAX;
    int rc;

    if (w->taken != SIZE_MAX) {
        rc = dx_number_cursor_next(&w->cursor[w->taken], err);
        if (rc < 0)
            return rc;
        w->there[w->taken] = rc == 1;
    }
    for (size_t i = 0; i < w->numbers->count; i++)
        if (w->there[i] && (best == SIZE_MAX || w->cursor[i].number < w->cursor[best].number))
            best = i;
    w->taken = best;
    if (best == SIZE_MAX)
        return 0;
    if (w->number != 0 && w->cursor[best].number == w->number)
        return dx_fail(err, DX_E_CORRUPT, "domain64: two names have the number 0x%016llx",
                       (unsigned long long)w->number);
    w->number = w->cursor[best].number;
    w->name = w->cursor[best].name;
    rc = dx_domain64_registry_part(w->numbers->layout, w->number, &w->part, err);
    return rc < 0 ? rc : 1;
}

void dx_domain64_registry_walk_close(struct dx_domain64_registry_walk *w)
{
    free(w->cursor);
    free(w->there);
    *w = (struct dx_domain64_registry_walk){ .cursor = NULL };
}
