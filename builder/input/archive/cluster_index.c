/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/archive/cluster_index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/decimal.h"
#include "builder/input/bytes/cdx_line.h"
#include "builder/input/bytes/input.h"
#include "builder/input/records/input_records.h"
#include "fetch/source.h"

#define WINDOW_MAX (8u << 20)
#define LINE_MAX_BYTES (64u << 10)

void dx_cluster_index_release(struct dx_cluster_index *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->shard[i].name);
    free(c->shard);
    *c = (struct dx_cluster_index)DX_CLUSTER_INDEX_INIT;
}

bool dx_cluster_index_named(const char *path)
{
    size_t n = dx_source_remote(path) ? strcspn(path, "?#") : strlen(path);

    return n > 4 && strncasecmp(path + n - 4, ".idx", 4) == 0;
}

bool dx_cluster_name_valid(struct dx_span name)
{
    struct dx_span rest = name;

    if (name.size == 0 || name.size > DX_CLUSTER_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] < 0x20 || name.data[i] == 0x7f || name.data[i] == '\\' ||
            name.data[i] == ':' || name.data[i] == '?' || name.data[i] == '#' ||
            name.data[i] == '%')
            return false;
    for (;;) { /* no part is empty, "." or ".." */
        const uint8_t *slash = memchr(rest.data, '/', rest.size);
        size_t n = slash == NULL ? rest.size : (size_t)(slash - rest.data);

        if (n == 0 || (n <= 2 && memcmp(rest.data, "..", n) == 0))
            return false;
        if (slash == NULL)
            return true;
        rest = dx_span_of(rest.data + n + 1, rest.size - n - 1);
    }
}

static struct dx_span field(struct dx_span *rest)
{
    const uint8_t *tab = memchr(rest->data, '\t', rest->size);
    size_t n = tab == NULL ? rest->size : (size_t)(tab - rest->data);
    struct dx_span s = dx_span_of(rest->data, n);

    n += tab != NULL;
    *rest = dx_span_from(*rest, n);
    return s;
}

static int corrupt(const struct dx_cluster_index *c, const char *what, struct dx_error *err)
{
    return dx_fail(err, DX_E_CORRUPT, "line %" PRIu64 ": %s", c->line, what);
}

static int add_shard(struct dx_cluster_index *c, struct dx_span name, struct dx_error *err)
{
    struct dx_cluster_shard *more;

    if (!dx_cluster_name_valid(name))
        return corrupt(c, "the shard's name is not a relative path below the index", err);
    if (c->count == DX_CLUSTER_SHARDS_MAX)
        return dx_fail(err, DX_E_LIMIT, "more than %d shards", DX_CLUSTER_SHARDS_MAX);
    more = dx_array_room(c->shard, c->count, &c->room, sizeof *more);
    if (more == NULL)
        return dx_no_memory(err, "cluster index");
    c->shard = more;
    c->shard[c->count] = (struct dx_cluster_shard){ strndup((const char *)name.data, name.size),
                                                    0 };
    if (c->shard[c->count].name == NULL)
        return dx_no_memory(err, "cluster index");
    c->count++;
    return DX_OK;
}

int dx_cluster_index_line(struct dx_cluster_index *c, struct dx_span line, struct dx_error *err)
{
    struct dx_span rest = line, name;
    struct dx_cluster_shard *last;
    uint64_t offset, length;
    int rc = DX_OK;

    c->line++;
    if (dx_cdx_kind(line) != DX_CDX_CLUSTER)
        return corrupt(c, "\"key time\", a tab and the shard are expected", err);
    (void)field(&rest);
    name = field(&rest);
    if (!dx_decimal(field(&rest), INT64_MAX, &offset) ||
        !dx_decimal(field(&rest), INT64_MAX, &length) || length == 0)
        return corrupt(c, "offset or length of the block is not a number", err);
    if (c->count == 0 || !dx_span_equal(dx_span_str(c->shard[c->count - 1].name), name))
        rc = add_shard(c, name, err);
    if (rc < 0)
        return rc;
    last = &c->shard[c->count - 1];
    if (offset != last->size)
        return dx_fail(err, DX_E_CORRUPT,
                       "line %" PRIu64 ": a block of %s begins at offset %" PRIu64
                       ", the one before it ends at %" PRIu64,
                       c->line, last->name, offset, last->size);
    if (length > INT64_MAX - offset)
        return corrupt(c, "the block ends behind any file", err);
    last->size += length;
    return DX_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int dx_cluster_index_end(struct dx_cluster_index *c, struct dx_error *err)
{
    const char **name = calloc(c->count + 1, sizeof *name);
    int rc = name == NULL ? dx_no_memory(err, "cluster index") : DX_OK;

    for (size_t i = 0; rc == DX_OK && i < c->count; i++)
        name[i] = c->shard[i].name;
    if (rc == DX_OK && c->count > 0)
        qsort(name, c->count, sizeof *name, by_name);
    for (size_t i = 1; rc == DX_OK && i < c->count; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            rc = dx_fail(err, DX_E_CORRUPT, "the blocks of %s do not stand together", name[i]);
    free(name);
    return rc;
}

/* 1: all lines were taken; 0: the first one is of something else. */
static int read_lines(struct dx_cluster_index *c, struct dx_records *r, struct dx_error *err)
{
    struct dx_batch batch = { 0 };
    int rc = 1;

    dx_records_set_format(r, DX_RECORD_TSV);
    while (rc > 0 && (rc = dx_records_fill(r, &batch, err)) > 0) {
        for (size_t i = 0; rc > 0 && rc != DX_RECORDS_GROW && i < batch.count; i++) {
            struct dx_span line = dx_batch_record(&batch, i);

            if (c->line == 0 && dx_cdx_kind(line) != DX_CDX_CLUSTER) {
                dx_batch_release(&batch);
                return 0;
            }
            if (batch.records[i].flaw != DX_FLAW_NONE)
                rc = corrupt(c, "the next line is longer than 64 KiB", err);
            else if (dx_cluster_index_line(c, line, err) < 0)
                rc = (int)err->code;
        }
    }
    dx_batch_release(&batch);
    return rc < 0 ? rc : c->line > 0;
}

int dx_cluster_index_read(struct dx_cluster_index *c, const char *path, struct dx_error *err)
{
    struct dx_error unsaid = DX_ERROR_INIT;
    struct dx_records *records = NULL;
    struct dx_input *in = NULL;
    int rc;

    if (err == NULL)
        err = &unsaid;
    rc = dx_input_open(&in, path, WINDOW_MAX, err);
    if (rc == DX_OK)
        rc = dx_records_new(&records, in, LINE_MAX_BYTES, err);
    if (rc == DX_OK) {
        rc = read_lines(c, records, err);
        if (rc > 0 && (rc = dx_cluster_index_end(c, err)) == DX_OK)
            rc = 1;
        if (rc < 0)
            (void)dx_fail_in(err, "%s", dx_input_name(in));
    }
    dx_records_free(&records);
    dx_input_close(&in);
    return rc;
}
