/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_cold.h"

#include <assert.h>

#include "format/version/manifest.h"

int dx_index_cold_begin(struct dx_index_cold *cold, enum dx_cold_file file, int level,
                        struct dx_cold_writer **writer, struct dx_error *err)
{
    struct dx_index_out *out = &cold->outs[file];
    int rc;

    assert(!out->is_open); /* each file is begun once */
    *out = (struct dx_index_out)DX_INDEX_OUT_INIT;
    *writer = &cold->writers[file];
    rc = dx_index_out_open(out, cold->dir, dx_cold_file_name(file), cold->sync, err);
    return rc == DX_OK ? dx_cold_writer_begin(*writer, file, cold->build, level, dx_index_out_sink,
                                              out, err)
                       : rc;
}

int dx_index_cold_end(struct dx_index_cold *cold, enum dx_cold_file file, struct dx_error *err)
{
    int rc;

    assert(cold->outs[file].is_open);
    rc = dx_cold_writer_end(&cold->writers[file], err);
    return rc == DX_OK ? dx_index_out_commit(&cold->outs[file], cold->entry, err) : rc;
}

int dx_index_cold_directory(struct dx_index_cold *cold, struct dx_error *err)
{
    struct dx_index_out out = DX_INDEX_OUT_INIT;
    int rc = dx_index_out_open(&out, cold->dir, DX_FILE_COLD, cold->sync, err);

    if (rc != DX_OK)
        return rc;
    rc = dx_cold_directory_write(cold->writers, cold->build, dx_index_out_sink, &out, err);
    if (rc == DX_OK)
        rc = dx_index_out_commit(&out, cold->entry, err);
    dx_index_out_abort(&out);
    return rc;
}

void dx_index_cold_release(struct dx_index_cold *cold)
{
    for (unsigned i = 0; i < DX_COLD_FILES; i++) {
        dx_cold_writer_release(&cold->writers[i]);
        if (cold->outs[i].is_open)
            dx_index_out_abort(&cold->outs[i]);
    }
}
