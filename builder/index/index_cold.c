/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_cold.h"

#include "builder/index/index_identity.h"
#include "builder/index/index_state.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/index_urls.h"

#define URL_IDS_LEVEL 1 /* of zstd: ids do not become smaller, places little */

int dx_index_cold_begin(struct dx_index_state *b, enum dx_cold_file file, int level,
                        struct dx_cold_writer **writer, struct dx_error *err)
{
    struct dx_index_out *out = &b->cold.outs[file];
    int rc;

    *out = (struct dx_index_out)DX_INDEX_OUT_INIT;
    *writer = &b->cold.writers[file];
    rc = dx_index_out_open(out, b->options->dir, dx_cold_file_name(file), b->options->sync, err);
    return rc == DX_OK ? dx_cold_writer_begin(*writer, file, &b->id->build, level,
                                              dx_index_out_sink, out, err)
                       : rc;
}

int dx_index_cold_end(struct dx_index_state *b, enum dx_cold_file file, struct dx_error *err)
{
    int rc = dx_cold_writer_end(&b->cold.writers[file], err);

    return rc == DX_OK ? dx_index_out_commit(&b->cold.outs[file], b->entry, err) : rc;
}

int dx_index_cold_directory(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    int rc = dx_index_out_open(&out, b->options->dir, DX_FILE_COLD, b->options->sync, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_cold_directory_write(b->cold.writers, &b->id->build, dx_index_out_sink, &out, err);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, b->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

int dx_index_urls_phase(struct dx_index_state *b, struct dx_error *err)
{
    struct dx_cold_writer *writer;
    int rc = dx_index_cold_begin(b, DX_COLD_URL_IDS, URL_IDS_LEVEL, &writer, err);

    if (rc == DX_OK)
        rc = dx_index_urls_write(b->lake->url_places, b->lake, writer, b->options->memory / 4, err);
    if (rc == DX_OK)
        rc = dx_index_cold_end(b, DX_COLD_URL_IDS, err);
    if (rc == DX_OK) {
        b->stats->spilled_bytes += b->lake->url_places->spilled_bytes;
        b->stats->url_places = b->lake->url_places->places;
    }
    return rc == DX_OK ? dx_index_cold_directory(b, err) : rc;
}

void dx_index_cold_release(struct dx_index_state *b)
{
    for (unsigned i = 0; i < DX_COLD_FILES; i++) {
        dx_cold_writer_release(&b->cold.writers[i]);
        if (b->cold.outs[i].is_open)
            dx_index_out_abort(&b->cold.outs[i]);
    }
}
