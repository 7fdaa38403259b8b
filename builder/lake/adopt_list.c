/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/adopt_list.h"

#include "base/array.h"
#include "base/decimal.h"
#include "builder/lake/dataset_registry.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool read_hex(struct dx_span s, uint8_t *value)
{
    unsigned v = 0;

    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i];

        if (c >= '0' && c <= '9')
            v = v * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + (c - 'a' + 10u);
        else
            return false;
    }
    *value = (uint8_t)v;
    return s.size == 2;
}

static bool read_range(struct dx_span s, struct dx_adopt_file *f)
{
    if (s.size != 2 && (s.size != 5 || s.data[2] != '-'))
        return false;
    return read_hex(dx_span_of(s.data, 2), &f->first) &&
           read_hex(dx_span_of(s.data + s.size - 2, 2), &f->last) && f->first <= f->last;
}

/* What stands before the next tab, which is passed over; false: there is none. */
static bool next_word(struct dx_span *line, struct dx_span *word)
{
    const uint8_t *tab = line->size > 0 ? memchr(line->data, '\t', line->size) : NULL;

    if (tab == NULL)
        return false;
    *word = dx_span_of(line->data, (size_t)(tab - line->data));
    *line = dx_span_of(tab + 1, line->size - word->size - 1);
    return true;
}

static int add_file(struct dx_adopt_list *l, struct dx_span dataset, struct dx_span path,
                    struct dx_adopt_file f, struct dx_error *err)
{
    struct dx_adopt_file *file = dx_array_room(l->file, l->count, &l->capacity, sizeof *file);

    if (file == NULL)
        return dx_no_memory(err, "files");
    l->file = file;
    f.dataset = strndup((const char *)dataset.data, dataset.size);
    f.path = strndup((const char *)path.data, path.size);
    if (f.dataset == NULL || f.path == NULL) {
        free(f.dataset);
        free(f.path);
        return dx_no_memory(err, "%zu files", l->count);
    }
    l->file[l->count++] = f;
    return DX_OK;
}

static int read_line(struct dx_adopt_list *l, struct dx_span line, const char *name,
                     struct dx_error *err)
{
    struct dx_adopt_file f = { .size = 0 };
    struct dx_span size, range, dataset;

    if (!next_word(&line, &size) || !next_word(&line, &range) || !next_word(&line, &dataset) ||
        !dx_decimal(size, UINT64_MAX, &f.size) || !read_range(range, &f) ||
        !dx_dataset_registry_name_valid(dataset) || line.size == 0 || line.size >= PATH_MAX ||
        memchr(line.data, '\0', line.size) != NULL)
        return dx_fail(err, DX_E_INVALID,
                       "%s: line %zu: a size, a range as 3a or 00-ff, a dataset and a path are "
                       "expected, with tabs between",
                       name, l->count + 1);
    return add_file(l, dataset, line, f, err);
}

int dx_adopt_list_parse(struct dx_adopt_list *l, struct dx_span text, const char *name,
                        struct dx_error *err)
{
    int rc = DX_OK;

    while (rc == DX_OK && text.size > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t size = end != NULL ? (size_t)(end - text.data) : text.size;

        rc = read_line(l, dx_span_of(text.data, size), name, err);
        size += end != NULL;
        text = dx_span_from(text, size);
    }
    return rc;
}

void dx_adopt_list_release(struct dx_adopt_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->file[i].dataset);
        free(l->file[i].path);
    }
    free(l->file);
    *l = (struct dx_adopt_list)DX_ADOPT_LIST_INIT;
}
