/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_merge.h"

#include "builder/lake/lake_files.h"
#include "builder/scan/index_base.h"
#include "builder/sort/spill_ahead.h"
#include "builder/sort/spill_sort.h"
#include "loader/version.h"

void dx_index_merge_release(struct dx_index_merge *m)
{
    dx_spill_ahead_free(&m->ahead);
    dx_version_walk_end(&m->base);
    *m = (struct dx_index_merge)DX_INDEX_MERGE_INIT;
}

/* ---- the two streams ---- */

static int next_scanned(struct dx_index_merge *m, struct dx_error *err)
{
    struct dx_span key;
    struct dx_span value;
    int rc = dx_spill_ahead_next(m->ahead, &key, &value, err);

    m->has_scanned = rc == 1;
    return rc == 1 ? dx_index_pair_decode(key, value, &m->scanned, err) : rc;
}

/* The next domain of the base with its pairs; without any behind the last one. */
static int next_domain(struct dx_index_merge *m, struct dx_error *err)
{
    int rc = dx_version_walk_next(&m->base, err);

    m->at = 0;
    if (rc != 1)
        return rc;
    rc = dx_version_walk_pairs(&m->base, err);
    if (rc == DX_OK && m->base.pairs.count == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "version %s: domain %llu is in no dataset",
                     dx_version_name(m->base.version), (unsigned long long)m->base.ordinal);
    return rc;
}

static int skip_known(struct dx_index_merge *m, struct dx_error *err)
{
    m->at++;
    return m->at < m->base.pairs.count ? DX_OK : next_domain(m, err);
}

int dx_index_merge_begin(struct dx_index_merge *m, struct dx_index_lake *lake, struct dx_error *err)
{
    int rc;

    dx_spill_ahead_free(&m->ahead);
    rc = m->begun ? dx_spill_sort_rewind(lake->pairs, err) : DX_OK;
    if (rc == DX_OK)
        rc = dx_spill_ahead_new(&m->ahead, lake->pairs, err);
    m->lake = lake;
    m->begun = true;
    m->given_scanned = m->given_known = false;
    m->at = 0;
    dx_version_walk_end(&m->base);
    if (rc == DX_OK)
        rc = next_scanned(m, err);
    if (rc != DX_OK || lake->base == NULL)
        return rc;
    dx_version_walk_begin(&m->base, lake->base, 0);
    return next_domain(m, err);
}

/* ---- together ---- */

/* Below 0: the base's next pair comes first; 0: both have it; above: the scan's. */
static int compare(const struct dx_index_merge *m)
{
    int c;

    if (m->at == m->base.pairs.count || !m->has_scanned)
        return m->at == m->base.pairs.count ? 1 : -1;
    c = dx_span_compare(m->base.key, m->scanned.surt);
    if (c != 0)
        return c;
    if (m->base.pairs.ids[m->at] == m->scanned.dataset_id)
        return 0;
    return m->base.pairs.ids[m->at] < m->scanned.dataset_id ? -1 : 1;
}

static int take_known(struct dx_index_merge *m, enum dx_index_origin *origin, struct dx_error *err)
{
    struct dx_index_pair *pair = &m->known;
    enum dx_index_change change = dx_index_change_of(m->lake, m->base.pairs.ids[m->at]);

    *origin = change == DX_INDEX_SAME || change == DX_INDEX_GROWN ? DX_INDEX_KEPT
                                                                  : DX_INDEX_DROPPED;
    pair->dataset_id = m->base.pairs.ids[m->at];
    pair->count = m->base.pairs.counts[m->at];
    pair->surt = m->base.key;
    pair->runs = dx_span_of(NULL, 0);
    pair->domain_size = dx_surt_domain(m->base.key, pair->domain_text);
    if (pair->domain_size == 0)
        return dx_fail(err, DX_E_CORRUPT, "version %s: domain %llu has a key of no domain",
                       dx_version_name(m->lake->base), (unsigned long long)m->base.ordinal);
    return DX_OK;
}

int dx_index_merge_next(struct dx_index_merge *m, const struct dx_index_pair **pair,
                        enum dx_index_origin *origin, struct dx_error *err)
{
    int order;
    int rc = DX_OK;

    /* What was given last is borrowed, so the streams move on only now. */
    if (m->given_known)
        rc = skip_known(m, err);
    if (rc == DX_OK && m->given_scanned)
        rc = next_scanned(m, err);
    m->given_known = m->given_scanned = false;
    if (rc != DX_OK)
        return rc;
    if (m->at == m->base.pairs.count && !m->has_scanned)
        return 0;
    order = compare(m);
    m->given_known = order <= 0;
    m->given_scanned = order >= 0;
    if (order >= 0) {
        *pair = &m->scanned;
        *origin = DX_INDEX_SCANNED;
        return 1;
    }
    rc = take_known(m, origin, err);
    *pair = &m->known;
    return rc == DX_OK ? 1 : rc;
}
