/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/json_out.h"
#include "builder/check/inspect.h"
#include "parquet/chunk.h"

#define SHOWN_BYTES 64 /* of a minimum or maximum */

static void write_bound(const struct dx_inspect *in, const char *key, const struct dx_pq_node *node,
                        struct dx_span value)
{
    if (value.data == NULL)
        return;
    if (node->type == DX_PQ_INT32 && value.size == 4) {
        dx_json_key(in->json, key);
        dx_json_i64(in->json, (int32_t)dx_load_u32(value.data));
    } else if (node->type == DX_PQ_INT64 && value.size == 8 && node->is_unsigned) {
        dx_json_key(in->json, key);
        dx_json_hex64(in->json, dx_load_u64(value.data));
    } else if (node->type == DX_PQ_INT64 && value.size == 8) {
        dx_json_key(in->json, key);
        dx_json_i64(in->json, (int64_t)dx_load_u64(value.data));
    } else if (node->type == DX_PQ_BYTE_ARRAY) {
        dx_inspect_str(in, key,
                       dx_span_of(value.data, value.size > SHOWN_BYTES ? SHOWN_BYTES : value.size));
    }
}

static void write_encodings(const struct dx_inspect *in, uint32_t encodings)
{
    dx_json_key(in->json, "encodings");
    dx_json_array(in->json);
    for (unsigned e = 0; e < 32; e++)
        if (encodings >> e & 1)
            dx_json_str(in->json, dx_pq_encoding_name(e));
    dx_json_end(in->json);
}

/* All pages of one chunk are decoded; what cannot be is said by its reason. */
static int read_chunk(const struct dx_inspect *in, const struct dx_pq_footer *footer,
                      uint32_t group, uint32_t leaf, struct dx_error *err)
{
    static const struct dx_pq_limits limits = DX_PQ_LIMITS_DEFAULT;
    struct dx_pq_reader reader = DX_PQ_READER_INIT;
    struct dx_pq_values values = DX_PQ_VALUES_INIT;
    struct dx_error why = DX_ERROR_INIT;
    uint64_t pages = 0;
    uint64_t rows = 0;
    uint64_t nulls = 0;
    int rc = dx_pq_reader_open(&reader, in->bytes, footer, group, leaf, &limits, &why);

    while (rc >= 0 && (rc = dx_pq_reader_next(&reader, &values, &why)) == 1) {
        pages++;
        rows += values.row_count;
        nulls += values.null_count;
    }
    dx_pq_values_release(&values);
    dx_pq_reader_release(&reader);
    if (rc == DX_E_UNSUPPORTED) {
        dx_inspect_str(in, "refused", dx_span_str(why.text));
        return DX_OK;
    }
    if (rc < 0) {
        char name[128];

        return dx_fail(err, why.code, "%s: row group %u, column %s: %s", in->path, (unsigned)group,
                       dx_pq_footer_path(footer, leaf, name, sizeof name), why.text);
    }
    dx_inspect_u64(in, "pages", pages);
    dx_inspect_u64(in, "values_read", rows);
    dx_inspect_u64(in, "nulls_read", nulls);
    return DX_OK;
}

static int write_chunk(const struct dx_inspect *in, const struct dx_pq_footer *footer,
                       uint32_t group, uint32_t leaf, struct dx_error *err)
{
    const struct dx_pq_chunk *c = &footer->group[group].chunk[leaf];
    const struct dx_pq_node *node = &footer->node[footer->leaf[leaf]];
    char name[256];
    int rc = DX_OK;

    assert(group < footer->group_count && leaf < footer->leaf_count);
    if (c->is_encrypted)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: row group %u, column %s is encrypted; `domaindex ingest --detect` "
                       "lists the columns that are not",
                       in->path, (unsigned)group,
                       dx_pq_footer_path(footer, leaf, name, sizeof name));
    dx_json_object(in->json);
    dx_inspect_str(in, "column", dx_span_str(dx_pq_footer_path(footer, leaf, name, sizeof name)));
    dx_inspect_str(in, "codec", dx_span_str(dx_pq_codec_name(c->codec)));
    write_encodings(in, c->encodings);
    dx_inspect_u64(in, "values", c->value_count);
    dx_inspect_u64(in, "bytes", c->compressed_size);
    dx_inspect_u64(in, "plain_bytes", c->uncompressed_size);
    if (c->statistics.has_null_count)
        dx_inspect_u64(in, "nulls", c->statistics.null_count);
    write_bound(in, "min", node, c->statistics.min);
    write_bound(in, "max", node, c->statistics.max);
    if (in->deep)
        rc = read_chunk(in, footer, group, leaf, err);
    dx_json_end(in->json);
    return rc;
}

static void write_schema(const struct dx_inspect *in, const struct dx_pq_footer *footer)
{
    static const char *const repetitions[] = { "required", "optional", "repeated" };
    char name[256];

    dx_json_key(in->json, "columns");
    dx_json_array(in->json);
    for (uint32_t i = 0; i < footer->leaf_count; i++) {
        const struct dx_pq_node *node = &footer->node[footer->leaf[i]];

        dx_json_object(in->json);
        dx_inspect_str(in, "name", dx_span_str(dx_pq_footer_path(footer, i, name, sizeof name)));
        dx_inspect_str(in, "type", dx_span_str(dx_pq_type_name((unsigned)node->type)));
        if (node->logical != DX_PQ_LOGICAL_NONE)
            dx_inspect_str(in, "logical", dx_span_str(dx_pq_logical_name(node->logical)));
        dx_inspect_str(in, "repetition", dx_span_str(repetitions[node->repetition % 3]));
        dx_json_end(in->json);
    }
    dx_json_end(in->json);
}

int dx_inspect_parquet(const struct dx_inspect *in, struct dx_error *err)
{
    struct dx_pq_footer footer;
    int rc = dx_pq_footer_open(&footer, in->bytes, err);

    if (rc < 0)
        return dx_fail_in(err, "%s", in->path);
    dx_inspect_str(in, "kind", dx_span_str("Parquet"));
    dx_inspect_u64(in, "rows", footer.row_count);
    if (footer.created_by.data != NULL)
        dx_inspect_str(in, "created_by", footer.created_by);
    dx_json_key(in->json, "metadata");
    dx_json_array(in->json); /* no object: keys may stand twice, and hold any bytes */
    for (uint32_t i = 0; i < footer.key_value_count; i++) {
        dx_json_object(in->json);
        dx_inspect_str(in, "key", footer.key_value[i].key);
        dx_inspect_str(in, "value", footer.key_value[i].value);
        dx_json_end(in->json);
    }
    dx_json_end(in->json);
    write_schema(in, &footer);
    dx_json_key(in->json, "row_groups");
    dx_json_array(in->json);
    for (uint32_t g = 0; g < footer.group_count && rc == DX_OK; g++) {
        dx_json_object(in->json);
        dx_inspect_u64(in, "rows", footer.group[g].row_count);
        dx_json_key(in->json, "chunks");
        dx_json_array(in->json);
        for (uint32_t leaf = 0; leaf < footer.leaf_count && rc == DX_OK; leaf++)
            rc = write_chunk(in, &footer, g, leaf, err);
        dx_json_end(in->json);
        dx_json_end(in->json);
    }
    dx_json_end(in->json);
    dx_pq_footer_release(&footer);
    return rc;
}
