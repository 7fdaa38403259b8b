/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_merge.h"

#include <assert.h>

#include "base/few_bytes.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_base.h"
#include "builder/sort/spill_ahead.h"
#include "builder/sort/spill_sort.h"
#include "loader/version_parts.h"

void dx_index_merge_release(struct dx_index_merge *m)
{
    dx_spill_ahead_free(&m->ahead);
    dx_version_walk_end(&m->base);
    dx_domain_pairs_release(&m->looked_up);
    dx_index_known_release(&m->known_domains);
    *m = (struct dx_index_merge)DX_INDEX_MERGE_INIT;
}

/* ---- the two streams ---- */

static int next_scanned(struct dx_index_merge *m, struct dx_error *err)
{
    struct dx_span key;
    struct dx_span value;
    int rc = dx_spill_ahead_next(m->ahead, &key, &value, err);

    m->has_scanned = rc == 1;
    if (rc != 1)
        return rc;
    return m->heads ? dx_index_pair_head(key, value, &m->scanned, err)
                    : dx_index_pair_decode(key, value, &m->scanned, err);
}

static int next_walked(struct dx_index_merge *m, struct dx_error *err)
{
    m->walked = m->lake->base == NULL ? 0 : dx_version_walk_next(&m->base, err);
    return m->walked < 0 ? m->walked : DX_OK;
}

/* What all passes need to know: once. */
static int find_known(struct dx_index_merge *m, size_t memory, struct dx_error *err)
{
    if (m->begun || m->lake->kept_parts == 0)
        return DX_OK;
    m->drop_every = dx_index_known_lookups(m->lake, memory);
    m->begun = true; /* the sorter is read */
    return dx_index_known_find(&m->known_domains, m->lake, memory, err);
}

int dx_index_merge_begin(struct dx_index_merge *m, struct dx_index_lake *lake, size_t memory,
                         struct dx_error *err)
{
    int rc;

    dx_spill_ahead_free(&m->ahead);
    m->lake = lake;
    rc = find_known(m, memory, err);
    if (rc == DX_OK && m->begun)
        rc = dx_spill_sort_rewind(lake->pairs, err);
    if (rc == DX_OK)
        rc = dx_spill_ahead_new(&m->ahead, lake->pairs, err);
    m->begun = true;
    m->given_scanned = m->given_known = false;
    m->domains = m->scanned_domains = 0;
    m->has_domain = m->is_walked = m->is_scanned = m->is_known = false;
    m->pairs = NULL;
    m->at = 0;
    dx_version_walk_end(&m->base);
    if (rc == DX_OK)
        rc = next_scanned(m, err);
    if (lake->base != NULL)
        dx_version_walk_parts(&m->base, lake->base, lake->kept_parts, lake->leaving);
    return rc == DX_OK ? next_walked(m, err) : rc;
}

/* ---- the domain at hand ---- */

static struct dx_span key_of(const struct dx_index_merge *m)
{
    return dx_span_of(m->key, m->key_size);
}

static bool scanned_here(const struct dx_index_merge *m)
{
    return m->has_scanned && dx_few_equal(m->scanned.surt, key_of(m));
}

static int take_pairs(struct dx_index_merge *m, const struct dx_part *part, uint64_t ordinal,
                      struct dx_error *err)
{
    const struct dx_version *base = m->lake->base;

    m->is_known = true;
    m->known_ordinal = ordinal;
    m->known_part = dx_version_part_at(base, dx_version_number(base, part, ordinal));
    return m->pairs->count > 0 ? DX_OK
                               : dx_fail(err, DX_E_CORRUPT, "%s: domain %llu is in no dataset",
                                         part->directory, (unsigned long long)ordinal);
}

/* What a part that stays has of a domain of the scan. */
static int look_up(struct dx_index_merge *m, struct dx_error *err)
{
    struct dx_version *base = m->lake->base;
    uint32_t number = dx_index_known_at(&m->known_domains, m->scanned_domains - 1);
    const struct dx_version_part *in;
    int rc;

    assert(m->is_scanned && !m->is_walked);
    if (m->lake->kept_parts == 0)
        return DX_OK;
    if (++m->lookups % m->drop_every ==
        0) /* new domains count: their ids are asked for (index_counts.c) */
        dx_index_known_drop(m->lake);
    if (number == DX_INDEX_UNKNOWN)
        return DX_OK;
    in = &base->parts[dx_version_part_at(base, number)];
    rc = dx_domain_pairs_read(&m->looked_up, in->part, number - in->first, err);
    m->pairs = &m->looked_up;
    return rc < 0 ? rc : take_pairs(m, in->part, number - in->first, err);
}

/* The least of both streams: 1, 0 there is none. */
static int next_domain(struct dx_index_merge *m, struct dx_error *err)
{
    struct dx_span key;
    int rc = m->is_walked ? next_walked(m, err) : DX_OK;

    m->has_domain = m->is_walked = m->is_scanned = m->is_known = false;
    m->pairs = NULL;
    m->at = 0;
    if (rc < 0 || (m->walked == 0 && !m->has_scanned))
        return rc;
    m->is_walked = m->walked == 1 &&
                   (!m->has_scanned || dx_span_compare(m->base.key, m->scanned.surt) <= 0);
    key = m->is_walked ? m->base.key : m->scanned.surt;
    dx_few_copy(m->key, key.data, key.size);
    m->key_size = key.size;
    m->has_domain = true;
    m->domains++;
    m->is_scanned = scanned_here(m);
    m->scanned_domains += m->is_scanned;
    if (!m->is_walked) {
        rc = look_up(m, err);
    } else {
        rc = dx_version_walk_pairs(&m->base, err);
        m->pairs = &m->base.pairs;
        if (rc == DX_OK)
            rc = take_pairs(m, m->base.part, m->base.ordinal, err);
    }
    return rc < 0 ? rc : 1;
}

static bool has_known(const struct dx_index_merge *m)
{
    return m->is_known && m->at < m->pairs->count;
}

static void take_known(struct dx_index_merge *m, enum dx_index_origin *origin)
{
    struct dx_index_pair *pair = &m->known;
    enum dx_index_change change;

    assert(has_known(m));
    change = dx_index_change_of(m->lake, m->pairs->ids[m->at]);
    *origin = change == DX_INDEX_SAME || change == DX_INDEX_GROWN ? DX_INDEX_KEPT
                                                                  : DX_INDEX_DROPPED;
    pair->dataset_id = m->pairs->ids[m->at];
    pair->count = m->pairs->counts[m->at];
    pair->surt = key_of(m);
    pair->runs = dx_span_of(NULL, 0);
}

int dx_index_merge_next(struct dx_index_merge *m, const struct dx_index_pair **pair,
                        enum dx_index_origin *origin, struct dx_error *err)
{
    int rc = DX_OK;

    assert(m->begun);
    /* What was given last is borrowed, so the streams move on only now. */
    m->at += m->given_known;
    if (m->given_scanned) {
        rc = next_scanned(m, err);
        m->is_scanned = rc == DX_OK && scanned_here(m);
    }
    m->given_known = m->given_scanned = false;
    if (rc == DX_OK && (!m->has_domain || (!has_known(m) && !m->is_scanned))) {
        rc = next_domain(m, err);
        if (rc != 1)
            return rc;
        rc = DX_OK;
    }
    if (rc != DX_OK)
        return rc;
    m->given_scanned = m->is_scanned &&
                       (!has_known(m) || m->scanned.dataset_id <= m->pairs->ids[m->at]);
    m->given_known = has_known(m) &&
                     (!m->given_scanned || m->scanned.dataset_id == m->pairs->ids[m->at]);
    if (m->given_scanned) {
        *pair = &m->scanned;
        *origin = DX_INDEX_SCANNED;
        return 1;
    }
    take_known(m, origin);
    *pair = &m->known;
    return 1;
}
