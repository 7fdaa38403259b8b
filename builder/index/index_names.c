/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_state.h"

#include <assert.h>

#include "base/id_hash.h"
#include "builder/index/index_identity.h"
#include "builder/index/index_out.h"
#include "builder/index/index_pass.h"
#include "builder/sort/spill_file.h"
#include "format/version/manifest.h"

static int names_domain(struct dx_index_pass *p, uint64_t ordinal, struct dx_error *err)
{
    struct dx_index_state *b = p->b;
    uint32_t entry = 0;
    size_t count;
    const uint32_t *ids = dx_index_pass_ids(b, &count);
    uint8_t stored[4];
    int rc = dx_dictionary_census_add(p->ctx, dx_index_pass_domain(b), err);

    b->hashes[ordinal] = dx_id64(dx_index_pass_domain(b));
    b->n = ordinal + 1;
    if (rc == DX_OK)
        rc = dx_set_store_add(&b->sets, ids, count, &entry, err);
    dx_store_u32(stored, entry);
    if (rc == DX_OK)
        rc = dx_spill_file_append(b->set_entries, dx_span_of(stored, sizeof stored), err);
    if (rc == DX_OK)
        rc = dx_counts_totals_add(&b->totals, dx_index_pass_counts(b, &count), count, err);
    return rc;
}

static int count_names(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_dictionary_census census;
    struct dx_index_pass p = { .b = b, .domain = names_domain, .ctx = &census, .texts = true };
    int rc = dx_dictionary_census_init(&census, err);

    if (rc == DX_OK)
        rc = dx_index_pass_run(&p, err);
    if (rc == DX_OK) {
        dx_dictionary_census_end(&census);
        b->info = census.info;
    }
    dx_dictionary_census_release(&census);
    return rc;
}

static int add_set_entries(void *ctx, struct dx_span piece, struct dx_error *err)
{
    uint32_t entries[1024];
    int rc = DX_OK;

    assert(piece.size % 4 == 0); /* whole entries, as is the file */
    for (size_t at = 0; rc == DX_OK && at < piece.size;) {
        size_t n = (piece.size - at) / 4;

        n = n > 1024 ? 1024 : n;
        for (size_t i = 0; i < n; i++)
            entries[i] = dx_load_u32(piece.data + at + 4 * i);
        rc = dx_membership_writer_entries(ctx, entries, n, err);
        at += 4 * n;
    }
    return rc;
}

static int write_membership(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    struct dx_membership_writer w;
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_MEMBERSHIP, b->options->sync, err);

    assert(b->sets_live);
    if (rc != DX_OK)
        return rc;
    rc = dx_membership_writer_begin(&w, &b->sets, &b->id->build, dx_index_out_sink, &out, err);
    if (rc == DX_OK)
        rc = dx_spill_file_replay(b->set_entries, add_set_entries, &w, err);
    if (rc == DX_OK)
        rc = dx_membership_writer_end(&w, err);
    dx_membership_writer_release(&w);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    dx_set_store_release(&b->sets);
    b->sets_live = false;
    dx_spill_file_free(&b->set_entries);
    return rc;
}

int dx_index_names_phase(struct dx_index_state *b, struct dx_error *err)
{
    int rc = count_names(b, err);

    return rc == DX_OK ? write_membership(b, err) : rc;
}
