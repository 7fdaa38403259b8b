/* SPDX-License-Identifier: Apache-2.0
 * The phase of counts: steps of which two run beside the third.
 */
#include "builder/index/index_state.h"

#include "base/quiet_thread.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_urls.h"
#include "builder/sort/spill_sort.h"
#include "format/core/mphf.h"

/* The pass over the pairs is mostly one thread's work, and needs neither hashes nor places of URLs.
 * What these are made into needs no pairs, unless the first seed of the perfect hash does not do. */
struct beside {
    struct dx_index_state *b;
    pthread_t thread;
    bool runs;
    int mphf; /* what dx_index_mphf_try returned */
    int urls;
    struct dx_error mphf_err, urls_err;
};

static void *work_beside(void *ctx)
{
    struct beside *s = ctx;

    s->mphf = dx_index_mphf_try(s->b, &s->mphf_err);
    if (s->mphf >= 0)
        s->urls = dx_index_urls_step(s->b, &s->urls_err);
    return NULL;
}

static int result(int rc, const struct dx_error *why, struct dx_error *err)
{
    if (rc < 0 && err != NULL)
        *err = *why;
    return rc;
}

/* What was done beside the pass, and here what could not be. */
static int join(struct beside *s, struct dx_error *err)
{
    int rc;

    if (!s->runs) {
        rc = dx_index_mphf_step(s->b, err);
        return rc == DX_OK ? dx_index_urls_step(s->b, err) : rc;
    }
    rc = result(s->mphf, &s->mphf_err, err);
    if (rc == DX_OK || rc == DX_MPHF_RESEED)
        rc = result(s->urls, &s->urls_err, err);
    return rc == DX_OK && s->mphf == DX_MPHF_RESEED ? dx_index_mphf_step(s->b, err) : rc;
}

static void drop_pairs(struct dx_index_state *b)
{
    dx_index_state_count_spilled(b, b->lake->pairs);
    dx_index_merge_release(&b->merge); /* its thread reads them */
    dx_spill_sort_free(&b->lake->pairs);
}

int dx_index_counts_phase(struct dx_index_state *b, struct dx_error *err)
{
    struct beside s = { .b = b, .mphf_err = DX_ERROR_INIT, .urls_err = DX_ERROR_INIT };
    int rc;

    s.runs = b->options->threads > 1 && dx_quiet_thread(&s.thread, work_beside, &s) == 0;
    rc = dx_index_pairs_step(b, err);
    if (s.runs)
        (void)pthread_join(s.thread, NULL);
    if (rc == DX_OK)
        rc = join(&s, err);
    if (rc == DX_OK)
        rc = dx_index_cold_directory(&b->cold, err);
    b->stats->spilled_bytes += b->lake->url_places->spilled_bytes;
    drop_pairs(b);
    return rc;
}
