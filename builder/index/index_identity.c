/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_identity.h"

#include <assert.h>

#include "builder/lake/lake_files.h"
#include "canon/url.h"
#include "format/core/mphf.h"
#include "format/root/registry_json.h"
#include "format/version/build_text.h"
#include "format/version/cold.h"
#include "format/version/files_tsv.h"
#include "format/version/postings.h"
#include "loader/version.h"

#define FILES_TSV_MAX (2u << 30) /* bytes of text: some ten million lake files */

static struct dx_span text_of(const char *text)
{
    return text == NULL ? dx_span_of(NULL, 0) : dx_span_str(text);
}

static int write_files(const struct dx_index_lake *lake, uint64_t first, struct dx_buf *out,
                       struct dx_error *err)
{
    struct dx_files_tsv_writer w;
    int rc = DX_OK;

    dx_files_tsv_writer_begin(&w, out);
    w.next_id = first;
    for (size_t i = first; rc == DX_OK && i < lake->file_count; i++) {
        const struct dx_index_file *from = &lake->files[i];
        char etag[DX_HASH128_TEXT];
        struct dx_files_row file = { .file_id = (uint32_t)i,
                                     .dataset_id = from->dataset_id,
                                     .domain_prefix = text_of(from->prefix),
                                     .path = text_of(from->path),
                                     .size = from->size,
                                     .rows = from->rows };

        if (from->path == NULL)
            file = (struct dx_files_row){ .file_id = (uint32_t)i };
        dx_hash128_text(&from->hash, etag);
        file.etag = dx_span_str(etag);
        rc = dx_files_tsv_write(&w, &file, err);
    }
    return rc;
}

static int hash_all(struct dx_index_identity *id, const struct dx_buf *files, struct dx_error *err)
{
    struct dx_hash_state *st = dx_hash_state_new();
    char head[DX_BUILD_TEXT];
    struct dx_hash128 hash;
    int rc = DX_OK;

    dx_build_text(head, DX_COLD_VERSION, DX_MPHF_VERSION, DX_POSTINGS_VERSION, DX_CANON_VERSION,
                  &id->psl_hash);
    if (st == NULL) {
        rc = dx_no_memory(err, "build id");
    } else {
        dx_hash_state_update(st, dx_span_str(head));
        dx_hash_state_update(st, dx_span_of(id->datasets.data, id->datasets.size));
        dx_hash_state_update(st, dx_span_str("\n"));
        dx_hash_state_update(st, dx_span_of(files->data, files->size));
        hash = dx_hash_state_digest(st);
        memcpy(id->build.bytes, hash.bytes, sizeof id->build.bytes);
    }
    dx_hash_state_free(&st);
    return rc;
}

/* The id of a version with older parts: the first so many of the base. */
static int hash_parts(const struct dx_index_lake *lake, size_t parts, uint64_t first_file,
                      struct dx_build_id *build, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(4096);
    struct dx_hash128 hash;
    int rc;

    assert(parts == 0 || parts <= lake->base->part_count);
    if (parts == 0)
        return DX_OK;
    dx_buf_str(&text, "domaindex-parts-1\n");
    dx_buf_append(&text, build->bytes, sizeof build->bytes);
    for (size_t i = 0; i < parts; i++)
        dx_buf_append(&text, lake->base->parts[i].part->entry.build.bytes, sizeof build->bytes);
    dx_buf_u64(&text, first_file);
    hash = dx_hash128_of(dx_span_of(text.data, text.size));
    memcpy(build->bytes, hash.bytes, sizeof build->bytes);
    rc = text.failed ? dx_buf_fail(&text, err, "build id") : DX_OK;
    dx_buf_release(&text);
    return rc;
}

static int hash_builds(const struct dx_index_lake *lake, struct dx_index_identity *id,
                       struct dx_error *err)
{
    const struct dx_version *base = lake->base;
    int rc = DX_OK;

    id->same = id->build;
    if (base != NULL)
        rc = hash_parts(lake, base->part_count - 1, base->entry.part.first_file, &id->same, err);
    return rc == DX_OK ? hash_parts(lake, lake->kept_parts, lake->first_file, &id->build, err) : rc;
}

int dx_index_identity(const struct dx_index_lake *lake, struct dx_span psl_text,
                      struct dx_index_identity *id, struct dx_error *err)
{
    struct dx_buf all = DX_BUF_INIT(FILES_TSV_MAX);
    int rc;

    dx_buf_init(&id->datasets, DX_REGISTRY_MAX);
    dx_buf_init(&id->files, FILES_TSV_MAX);
    id->psl_hash = dx_hash128_of(psl_text);
    rc = dx_registry_write(lake->registry, &id->datasets, err);
    if (rc == DX_OK)
        rc = write_files(lake, 0, &all, err);
    if (rc == DX_OK)
        rc = write_files(lake, lake->first_file, &id->files, err);
    if (rc == DX_OK)
        rc = hash_all(id, &all, err);
    if (rc == DX_OK)
        rc = hash_builds(lake, id, err);
    dx_buf_release(&all);
    if (rc != DX_OK)
        dx_index_identity_release(id);
    return rc;
}

void dx_index_identity_release(struct dx_index_identity *id)
{
    dx_buf_release(&id->datasets);
    dx_buf_release(&id->files);
}
