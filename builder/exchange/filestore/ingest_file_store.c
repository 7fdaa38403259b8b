/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/filestore/ingest_file_store.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "builder/root/work_folder.h"

#define PAYLOAD "payload."
#define DEAD "dead"
#define LIVE "live"

static const char *const ours[] = { "content_type", "title", "tags" };

#define OURS (sizeof ours / sizeof ours[0])

static bool is_of_payload(const char *column)
{
    return column != NULL && strncmp(column, PAYLOAD, sizeof PAYLOAD - 1) == 0;
}

static int want_columns(struct dx_columns_want *want, bool *payload, struct dx_error *err)
{
    *payload = is_of_payload(want->ts) || is_of_payload(want->dataset);
    for (size_t i = 0; i < want->extra_count; i++)
        *payload = *payload || is_of_payload(want->extra[i]);
    if (want->extra_count + OURS > DX_EXTRA_COLUMNS_MAX)
        return dx_fail(err, DX_E_INVALID, "at most %d extra columns beside those of a file store",
                       DX_EXTRA_COLUMNS_MAX - (int)OURS);
    for (size_t i = 0; i < OURS; i++)
        want->extra[want->extra_count++] = ours[i];
    want->url = "url";
    want->no_ts = want->ts == NULL;
    want->header = DX_HEADER_AUTO;
    return dx_columns_want_check(want, err);
}

static int apply(const struct dx_ingest_options *o, const char *folder,
                 struct dx_tombstone_rules *rules, struct dx_error *err)
{
    int rc;

    rules->root = o->root;
    rules->dataset = o->dataset;
    rules->folder = folder;
    rules->dead = DEAD;
    rules->live = LIVE;
    rc = dx_tombstone_rules_apply(rules, err);
    return rc < 0 ? dx_fail_in(err, "the rows are stored, the rules of the tombstone are not")
                  : DX_OK;
}

int dx_ingest_file_store(struct dx_ingest_options *o, struct dx_file_store_options *store,
                         struct dx_file_store_counts *counts, struct dx_ingest_stats *stats,
                         struct dx_tombstone_rules *rules, struct dx_error *err)
{
    struct dx_work_folder work = DX_WORK_FOLDER_INIT;
    char path[PATH_MAX];
    char dead[PATH_MAX];
    char live[PATH_MAX];
    const char *input = path;
    int rc = want_columns(&o->want, &store->payload, err);

    *stats = (struct dx_ingest_stats){ 0 };
    *counts = (struct dx_file_store_counts){ 0 };
    if (rc == DX_OK)
        rc = dx_work_folder_make(&work, o->work_dir, "store", err);
    if (rc == DX_OK)
        rc = dx_path_format(path, sizeof path, err, "%s/pages.jsonl", work.path);
    if (rc == DX_OK)
        rc = dx_path_format(dead, sizeof dead, err, "%s/" DEAD, work.path);
    if (rc == DX_OK)
        rc = dx_path_format(live, sizeof live, err, "%s/" LIVE, work.path);
    if (rc == DX_OK) {
        store->dead = rules != NULL ? dead : NULL;
        store->live = live;
        store->tmp = work.path;
        store->to = path;
        store->memory_bytes = o->memory_bytes / 2;
        store->stopped = o->stopped;
        store->say = o->say;
        rc = dx_file_store_read(store, counts, err);
    }
    if (rc == DX_OK) {
        o->format = DX_RECORD_JSONL;
        o->input = &input;
        o->input_count = 1;
        if (counts->pages == 0 && counts->tombstoned > 0)
            o->accept_min_ppm = 0; /* all its pages are deleted: no rows, but rules */
        rc = dx_ingest_run(o, stats, err);
        for (size_t i = 1; i <= OURS; i++) /* not asked for: without a value they say nothing */
            stats->extra[o->want.extra_count - i] = (struct dx_ingest_lacking){ .has_value = true };
    }
    if (rc == DX_OK && rules != NULL &&
        stats->datasets_total > 0) /* else nothing was ever stored */
        rc = apply(o, work.path, rules, err);
    dx_work_folder_remove(&work);
    return rc;
}
