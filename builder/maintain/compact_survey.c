/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/maintain/compact_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "builder/lake/lake_layout.h"
#include "builder/lake/listed_files.h"
#include "loader/version.h"

struct dx_compact_row_count {
    struct dx_hash128 path;
    uint64_t rows;
};

static int by_path(const void *a, const void *b)
{
    const struct dx_compact_row_count *x = a;
    const struct dx_compact_row_count *y = b;

    return memcmp(x->path.bytes, y->path.bytes, sizeof x->path.bytes);
}

static int add(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct dx_compact_survey *s = ctx;
    struct dx_compact_row_count *grown = dx_array_room(s->known, s->count, &s->capacity,
                                                       sizeof *grown);

    if (grown == NULL)
        return dx_no_memory(err, "compact: files");
    s->known = grown;
    s->known[s->count++] = (struct dx_compact_row_count){ dx_hash128_of(row->path), row->rows };
    return DX_OK;
}

int dx_compact_survey_open(struct dx_compact_survey *s, const struct dx_root *root,
                           struct dx_error *err)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    const struct dx_manifest_version *current;
    char etag[DX_SOURCE_ETAG];
    int rc = dx_version_manifest_get(root->source, root->name, NULL, etag, &m, err);

    *s = (struct dx_compact_survey){ NULL, 0, 0, 0 };
    if (rc < 0)
        return rc;
    current = dx_manifest_current(&m);
    s->cleansed = current->cleansed;
    rc = dx_listed_files_all(root->source, NULL, &m, current, add, s, err);
    dx_manifest_release(&m);
    if (rc < 0) {
        dx_compact_survey_close(s);
        return rc;
    }
    if (s->count > 1)
        qsort(s->known, s->count, sizeof *s->known, by_path);
    return DX_OK;
}

void dx_compact_survey_file(const struct dx_compact_survey *s, const char *path,
                            uint32_t dataset_id, struct dx_compact_file *file)
{
    const struct dx_compact_row_count key = { dx_hash128_of(dx_span_str(path)), 0 };
    const struct dx_compact_row_count *known = s->count == 0 ? NULL
                                                             : bsearch(&key, s->known, s->count,
                                                                       sizeof *s->known, by_path);
    char whole[DX_LAKE_PATH_MAX];
    struct dx_lake_path at = { .last = 255 };
    int n = snprintf(whole, sizeof whole, DX_LAKE_DIR "/%s", path);
    bool ours = n > 0 && (size_t)n < sizeof whole && dx_lake_path_parse(dx_span_str(whole), &at);

    *file = (struct dx_compact_file){ .dataset_id = dataset_id,
                                      .first = ours ? at.first : 0,
                                      .last = ours ? at.last : 255,
                                      .ours = ours,
                                      .fixed = known == NULL,
                                      .rows = known == NULL ? 0 : known->rows };
}

void dx_compact_survey_close(struct dx_compact_survey *s)
{
    free(s->known);
    *s = (struct dx_compact_survey){ NULL, 0, 0, 0 };
}
