/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/ingest/ingest_replaced.h"

#include <assert.h>
#include <stdlib.h>

#include "builder/input/bytes/input_ranges.h"
#include "builder/input/parquet/parquet_footer.h"
#include "builder/input/records/locator_name.h"
#include "format/text/locator.h"
#include "parquet/footer.h"

struct dx_replaced_input {
    char *name; /* in locators */
    const char *path;
};

static int by_name(const void *a, const void *b)
{
    const struct dx_replaced_input *x = a, *y = b;

    return strcmp(x->name, y->name);
}

int dx_ingest_replaced_init(struct dx_ingest_replaced *r, const struct dx_ingest_options *options,
                            struct dx_error *err)
{
    char name[DX_LOCATOR_NAME_MAX + 1];

    *r = (struct dx_ingest_replaced){ .count = 0 };
    dx_buf_init(&r->name, sizeof name);
    if (!options->in_place)
        return DX_OK;
    r->input = calloc(options->input_count + 1, sizeof *r->input);
    if (r->input == NULL)
        return dx_no_memory(err, "inputs");
    for (size_t i = 0; i < options->input_count; i++) {
        size_t n = dx_locator_name(options->input[i], name);

        r->input[r->count] = (struct dx_replaced_input){ strndup(name, n), options->input[i] };
        if (r->input[r->count++].name == NULL)
            return dx_no_memory(err, "inputs");
    }
    if (r->count > 0)
        qsort(r->input, r->count, sizeof *r->input, by_name);
    return DX_OK;
}

void dx_ingest_replaced_release(struct dx_ingest_replaced *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->input[i].name);
    free(r->input);
    dx_buf_release(&r->name);
    *r = (struct dx_ingest_replaced){ .count = 0 };
}

static const struct dx_replaced_input *find_input(const struct dx_ingest_replaced *r)
{
    struct dx_replaced_input key = { .name = (char *)r->name.data };

    assert(r->name.size > 0 && r->name.data[r->name.size - 1] == 0);
    return bsearch(&key, r->input, r->count, sizeof key, by_name);
}

static int look_at(const char *path, const struct dx_locator *was, struct dx_error *why)
{
    struct dx_buf metadata = DX_BUF_INIT(DX_PQ_FOOTER_MAX);
    struct dx_pq_footer footer = { .node = NULL };
    struct dx_input_ranges *ranges = NULL;
    int rc = dx_input_ranges_open(&ranges, path, why);

    if (rc == DX_OK && dx_input_ranges_size(ranges) == was->was_size)
        rc = dx_parquet_footer_read(&footer, ranges, &metadata, UINT64_MAX, why);
    if (rc == DX_OK)
        rc = dx_parquet_footer_same(ranges, &metadata, was, why);
    dx_pq_footer_release(&footer);
    dx_buf_release(&metadata);
    dx_input_ranges_close(&ranges);
    return rc;
}

static bool is_known(const struct dx_ingest_replaced *r, const struct dx_locator *l)
{
    return r->name.size == l->name.size + 1 && r->was_size == l->was_size &&
           r->was_hash == l->was_hash && memcmp(r->name.data, l->name.data, l->name.size) == 0;
}

int dx_ingest_replaced_check(struct dx_ingest_replaced *r, struct dx_span locator,
                             struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    const struct dx_replaced_input *input;
    struct dx_locator l;
    int rc = DX_OK;

    if (r->count == 0 || locator.data == NULL || !dx_locator_parse(locator, &l) ||
        l.was_size == 0 || is_known(r, &l))
        return DX_OK;
    dx_buf_clear(&r->name);
    dx_buf_append(&r->name, l.name.data, l.name.size);
    dx_buf_u8(&r->name, 0);
    if (r->name.failed)
        return dx_buf_fail(&r->name, err, "name of an input");
    r->was_size = l.was_size;
    r->was_hash = l.was_hash;
    input = find_input(r);
    if (input != NULL)
        rc = look_at(input->path, &l, &why);
    return rc == DX_OK ? DX_OK
           : rc == DX_E_CORRUPT
               ? dx_fail(
                     err, DX_E_INVALID,
                     "%s: %s; the dataset has rows of it that lead nowhere any more, and the new "
                     "ones would stand beside them: give --replace, and all inputs of the "
                     "dataset; nothing was added to the lake",
                     input->path, why.text)
               : dx_fail(err, rc, "%s", why.text);
}
