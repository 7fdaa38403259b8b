/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/index/index_identity.h"

#include "builder/lake/lake_files.h"
#include "canon/url.h"
#include "format/root/registry_json.h"
#include "format/version/files_tsv.h"

#define FILES_TSV_MAX (2u << 30) /* bytes of text: some ten million lake files */

static struct dx_span text_of(const char *text)
{
    return text == NULL ? dx_span_of(NULL, 0) : dx_span_str(text);
}

static int write_files(const struct dx_index_lake *lake, struct dx_buf *out, struct dx_error *err)
{
    struct dx_files_tsv_writer w;
    int rc = DX_OK;

    dx_files_tsv_writer_begin(&w, out);
    for (size_t i = 0; rc == DX_OK && i < lake->file_count; i++) {
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

static int hash_all(struct dx_index_identity *id, struct dx_error *err)
{
    struct dx_hash_state *st = dx_hash_state_new();
    struct dx_buf head = DX_BUF_INIT(256);
    char psl[DX_HASH128_TEXT];
    struct dx_hash128 hash;
    int rc = DX_OK;

    dx_hash128_text(&id->psl_hash, psl);
    /* The number goes up with the layouts: who publishes the same lake again gets new files. */
    dx_buf_fmt(&head, "domaindex-build-2\n%d\n%s\n", DX_CANON_VERSION, psl);
    if (st == NULL || head.failed) {
        rc = dx_no_memory(err, "build id");
    } else {
        dx_hash_state_update(st, dx_span_of(head.data, head.size));
        dx_hash_state_update(st, dx_span_of(id->datasets.data, id->datasets.size));
        dx_hash_state_update(st, dx_span_str("\n"));
        dx_hash_state_update(st, dx_span_of(id->files.data, id->files.size));
        hash = dx_hash_state_digest(st);
        memcpy(id->build.bytes, hash.bytes, sizeof id->build.bytes);
    }
    dx_hash_state_free(&st);
    dx_buf_release(&head);
    return rc;
}

int dx_index_identity(const struct dx_index_lake *lake, struct dx_span psl_text,
                      struct dx_index_identity *id, struct dx_error *err)
{
    int rc;

    dx_buf_init(&id->datasets, DX_REGISTRY_MAX);
    dx_buf_init(&id->files, FILES_TSV_MAX);
    id->psl_hash = dx_hash128_of(psl_text);
    rc = dx_registry_write(lake->registry, &id->datasets, err);
    if (rc == DX_OK)
        rc = write_files(lake, &id->files, err);
    if (rc == DX_OK)
        rc = hash_all(id, err);
    if (rc != DX_OK)
        dx_index_identity_release(id);
    return rc;
}

void dx_index_identity_release(struct dx_index_identity *id)
{
    dx_buf_release(&id->datasets);
    dx_buf_release(&id->files);
}
