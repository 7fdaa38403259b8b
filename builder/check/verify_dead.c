/* SPDX-License-Identifier: Apache-2.0
 * dead.dxb of each part: a domain that several parts have is named once in each of them but the newest, by the next
 * newer part that has it, or by one between them or behind the newest, of which lake files left, if it went there. No
 * other domain is named. All dictionaries are read side by side, in order of keys.
 */
#include "builder/check/verify.h"

#include "loader/domain_pairs.h"
#include "loader/version.h"

#include <assert.h>
#include <roaring/roaring.h>
#include <stdlib.h>

/* What a part says of an older one. */
struct names {
    struct dx_dead_part part;
    roaring_bitmap_t *ordinals; /* NULL: none */
    uint64_t found;             /* of them, that it has */
    uint64_t *left;             /* domains of each rank that were not found yet */
};

struct dead_check {
    struct dx_verify *w;
    const struct dx_version *v;
    struct names names[DX_PARTS_MAX][DX_PARTS_MAX]; /* by a part of an older one */
    struct dx_domain_pairs pairs;
    struct {
        bool has;
        struct dx_span key;
        uint64_t ordinal;
        struct dx_dictionary_cursor keys;
    } at[DX_PARTS_MAX];
};

static int read_names(struct dead_check *c, size_t of, size_t i, struct dx_error *why)
{
    const struct dx_dead *d = c->v->parts[of].part->dead;
    struct names *n = &c->names[of][i];
    struct dx_dataset_set set;
    struct dx_dead_rank rank;
    int rc;

    assert(i < of); /* a part names domains of older ones */
    rc = dx_dead_part(d, i, &n->part, why);
    if (rc == DX_OK && n->part.domains > 0) {
        rc = dx_dead_ordinals(d, &n->part, &set, why);
        n->ordinals = rc == DX_OK ? dx_dataset_set_bitmap(&set) : NULL;
        if (rc == DX_OK && n->ordinals == NULL)
            rc = dx_no_memory(why, "verify");
    }
    if (rc == DX_OK && (n->left = calloc(n->part.ranks + 1, sizeof *n->left)) == NULL)
        rc = dx_no_memory(why, "verify: %llu ranks", (unsigned long long)n->part.ranks);
    for (uint64_t k = 0; rc == DX_OK && k < n->part.ranks; k++) {
        rc = dx_dead_rank(d, &n->part, k, &rank, why);
        if (rc == DX_OK)
            n->left[k] = rank.domains;
    }
    return rc;
}

/* 1: a domain with so many URLs in the dataset is still to come; it was found now. */
static int take_rank(struct dead_check *c, size_t of, size_t i, uint32_t dataset_id,
                     uint64_t url_count, struct dx_error *why)
{
    struct names *n = &c->names[of][i];
    uint64_t low = 0;
    uint64_t high = n->part.ranks;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct dx_dead_rank r;
        int rc = dx_dead_rank(c->v->parts[of].part->dead, &n->part, middle, &r, why);

        if (rc < 0)
            return rc;
        if (r.dataset_id == dataset_id && r.url_count == url_count) {
            if (n->left[middle] == 0)
                return 0;
            n->left[middle]--;
            return 1;
        }
        if (r.dataset_id < dataset_id || (r.dataset_id == dataset_id && r.url_count < url_count))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static bool is_named(const struct dead_check *c, size_t of, size_t i)
{
    const struct names *n = &c->names[of][i];

    return n->ordinals != NULL && roaring_bitmap_contains(n->ordinals, (uint32_t)c->at[i].ordinal);
}

/* The part up to `newer` that names the domain at hand of parts[i]; `newer`, if none does: that should. */
static size_t naming_part(const struct dead_check *c, size_t newer, size_t i)
{
    for (size_t of = i + 1; of < newer; of++)
        if (is_named(c, of, i) && c->v->parts[of].part->dead->gone > 0)
            return of;
    return newer;
}

/* The domain at hand is dead in parts[i] because of parts[of]. */
static int check_domain(struct dead_check *c, size_t of, size_t i, struct dx_error *why)
{
    struct names *n = &c->names[of][i];
    uint64_t ordinal = c->at[i].ordinal;
    uint8_t domain[DX_SURT_MAX];
    int size = (int)dx_surt_domain(c->at[i].key, domain);
    int rc;

    assert(i < of && c->at[i].has);
    if (!is_named(c, of, i)) {
        dx_verify_found(c->w, DX_FILE_DEAD ": %.*s is in part %s too, and not dead there", size,
                        (const char *)domain, c->v->parts[i].part->entry.version);
        return DX_OK;
    }
    n->found++;
    rc = dx_domain_pairs_read(&c->pairs, c->v->parts[i].part, ordinal, why);
    for (size_t k = 0; rc >= 0 && k < c->pairs.count; k++) {
        rc = take_rank(c, of, i, c->pairs.ids[k], c->pairs.counts[k].url_count, why);
        if (rc == 0)
            dx_verify_found(c->w,
                            DX_FILE_DEAD ": no rank of %.*s, which has %llu URLs of dataset %u in "
                                         "part %s",
                            size, (const char *)domain,
                            (unsigned long long)c->pairs.counts[k].url_count,
                            (unsigned)c->pairs.ids[k], c->v->parts[i].part->entry.version);
    }
    return rc < 0 ? rc : DX_OK;
}

static int next_key(struct dead_check *c, size_t i, struct dx_error *why)
{
    int rc;

    c->at[i].ordinal = c->at[i].keys.ordinal;
    rc = dx_dictionary_next(&c->at[i].keys, &c->at[i].key, why);
    c->at[i].has = rc == 1;
    return rc < 0 ? rc : DX_OK;
}

/* The parts that have the least key, newest first: each names it in the next older one, if it did not go before. */
static int check_key(struct dead_check *c, size_t least, struct dx_error *why)
{
    uint8_t bytes[DX_SURT_MAX];
    struct dx_span key = dx_span_of(bytes, c->at[least].key.size);
    size_t newer = c->v->part_count;
    size_t of;
    int rc = DX_OK;

    memcpy(bytes, c->at[least].key.data, key.size);
    for (size_t i = c->v->part_count; rc == DX_OK && i-- > 0;) {
        if (!c->at[i].has || !dx_span_equal(c->at[i].key, key))
            continue;
        of = naming_part(c, newer, i);
        if (of < c->v->part_count) {
            dx_verify_enter(c->w, of);
            rc = check_domain(c, of, i, why);
            dx_verify_leave(c->w);
        }
        newer = i;
        if (rc == DX_OK)
            rc = next_key(c, i, why);
    }
    return rc;
}

static int check_keys(struct dead_check *c, struct dx_error *why)
{
    size_t count = c->v->part_count;
    size_t least;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < count; i++) {
        dx_dictionary_seek(&c->at[i].keys, &c->v->parts[i].part->dictionary, 0);
        rc = next_key(c, i, why);
    }
    do {
        least = count;
        for (size_t i = 0; i < count; i++)
            if (c->at[i].has &&
                (least == count || dx_span_compare(c->at[i].key, c->at[least].key) < 0))
                least = i;
        if (rc == DX_OK && least < count)
            rc = check_key(c, least, why);
    } while (rc == DX_OK && least < count);
    return rc;
}

/* What is named beyond what was found. */
static void check_rest(struct dead_check *c, size_t of, size_t i)
{
    const struct names *n = &c->names[of][i];
    const char *version = c->v->parts[i].part->entry.version;
    uint64_t count = n->ordinals == NULL ? 0 : roaring_bitmap_get_cardinality(n->ordinals);
    uint64_t left = 0;

    for (uint64_t k = 0; k < n->part.ranks; k++)
        left += n->left[k];
    if (n->found != count || n->part.domains != count)
        dx_verify_found(
            c->w, DX_FILE_DEAD ": %llu domains are dead in part %s, it took %llu over from there",
            (unsigned long long)count, version, (unsigned long long)n->found);
    else if (left > 0)
        dx_verify_found(c->w,
                        DX_FILE_DEAD
                        ": its ranks of part %s have %llu places that none of its dead "
                        "domains has",
                        version, (unsigned long long)left);
}

static int read_all(struct dead_check *c, struct dx_error *why)
{
    int rc = DX_OK;

    for (size_t of = 1; rc == DX_OK && of < c->v->part_count; of++)
        for (size_t i = 0; rc == DX_OK && i < of; i++)
            rc = read_names(c, of, i, why);
    return rc;
}

static void release(struct dead_check *c)
{
    for (size_t of = 0; of < DX_PARTS_MAX; of++)
        for (size_t i = 0; i < DX_PARTS_MAX; i++) {
            free(c->names[of][i].left);
            if (c->names[of][i].ordinals != NULL)
                roaring_bitmap_free(c->names[of][i].ordinals);
        }
    dx_domain_pairs_release(&c->pairs);
    free(c);
}

int dx_verify_dead(struct dx_verify *w, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    struct dead_check *c;
    int rc;

    if (w->version->part_count == 1)
        return DX_OK;
    dx_verify_phase(w, "comparing the domains of all parts");
    c = calloc(1, sizeof *c); /* too large for a small stack */
    if (c == NULL)
        return dx_no_memory(err, "verify");
    c->w = w;
    c->v = w->version;
    rc = read_all(c, &why);
    if (rc == DX_OK)
        rc = check_keys(c, &why);
    for (size_t of = 1; rc == DX_OK && of < c->v->part_count; of++) {
        dx_verify_enter(w, of);
        for (size_t i = 0; i < of; i++)
            check_rest(c, of, i);
        dx_verify_leave(w);
    }
    release(c);
    return rc < 0 ? dx_verify_damage(w, &why, err) : DX_OK;
}
