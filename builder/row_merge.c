/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/row_merge.h"

#include <stdlib.h>
#include <string.h>

#include "builder/row_run.h"

struct source {
    struct dx_row_run_reader *run; /* NULL: memory */
    const struct dx_row_entry *entry;
    size_t left;
    struct dx_span key;
    struct dx_span value;
};

struct dx_row_merge {
    struct dx_row_codec *codec;
    struct source *source;
    size_t source_count;
    size_t source_max;
    size_t *heap; /* of sources that have a record; the smallest at 0 */
    size_t heap_size;
    bool top_taken; /* the record at the top was given out and must be moved past */
    uint8_t *last;  /* the key given out last */
    size_t last_size;
    size_t last_capacity;
};

int dx_row_merge_new(struct dx_row_merge **out, struct dx_row_codec *codec, size_t max_sources,
                     struct dx_error *err)
{
    struct dx_row_merge *m = calloc(1, sizeof *m);

    *out = m;
    if (m == NULL)
        return dx_fail(err, DX_E_NOMEM, "merge: out of memory");
    m->codec = codec;
    m->source_max = max_sources;
    m->source = calloc(max_sources + 1, sizeof *m->source);
    m->heap = calloc(max_sources + 1, sizeof *m->heap);
    if (m->source == NULL || m->heap == NULL) {
        dx_row_merge_free(out);
        return dx_fail(err, DX_E_NOMEM, "merge: out of memory for %zu sources", max_sources);
    }
    return DX_OK;
}

void dx_row_merge_free(struct dx_row_merge **handle)
{
    struct dx_row_merge *m = *handle;

    if (m == NULL)
        return;
    for (size_t i = 0; m->source != NULL && i < m->source_count; i++)
        dx_row_run_close(&m->source[i].run);
    free(m->source);
    free(m->heap);
    free(m->last);
    free(m);
    *handle = NULL;
}

/* 1 the source stands on a record, 0 it has ended. */
static int advance(struct source *s, struct dx_error *err)
{
    if (s->run != NULL) {
        int rc = dx_row_run_read(s->run, &s->key, &s->value, err);

        if (rc == 0)
            dx_row_run_close(&s->run);
        return rc;
    }
    if (s->left == 0)
        return 0;
    dx_row_entry_get(s->entry->record, &s->key, &s->value);
    s->entry++;
    s->left--;
    return 1;
}

static bool before(const struct dx_row_merge *m, size_t a, size_t b)
{
    const struct source *x = &m->source[a];
    const struct source *y = &m->source[b];
    int c = dx_span_compare(x->key, y->key);

    if (c == 0)
        c = dx_span_compare(x->value, y->value);
    return c < 0 || (c == 0 && a < b);
}

static void sift_down(struct dx_row_merge *m, size_t i)
{
    size_t moving = m->heap[i];

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= m->heap_size)
            break;
        if (child + 1 < m->heap_size && before(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!before(m, m->heap[child], moving))
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = moving;
}

static int add(struct dx_row_merge *m, struct source s, struct dx_error *err)
{
    size_t i = m->source_count;
    size_t at;
    int rc;

    if (i == m->source_max) {
        dx_row_run_close(&s.run);
        return dx_fail(err, DX_E_INVALID, "merge: more than %zu sources", m->source_max);
    }
    m->source[m->source_count++] = s;
    rc = advance(&m->source[i], err);
    if (rc <= 0)
        return rc;
    for (at = m->heap_size++; at > 0 && before(m, i, m->heap[(at - 1) / 2]); at = (at - 1) / 2)
        m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = i;
    return DX_OK;
}

int dx_row_merge_add_run(struct dx_row_merge *m, const char *path, struct dx_error *err)
{
    struct source s = { .run = NULL };
    int rc = dx_row_run_open(&s.run, m->codec, path, err);

    return rc < 0 ? rc : add(m, s, err);
}

int dx_row_merge_add_memory(struct dx_row_merge *m, const struct dx_row_entry *entries, size_t n,
                            struct dx_error *err)
{
    return add(m, (struct source){ .entry = entries, .left = n }, err);
}

/* Moves the top source to its next record; 1 the heap is not empty. */
static int step(struct dx_row_merge *m, struct dx_error *err)
{
    int rc = advance(&m->source[m->heap[0]], err);

    if (rc < 0)
        return rc;
    if (rc == 0)
        m->heap[0] = m->heap[--m->heap_size];
    if (m->heap_size > 0)
        sift_down(m, 0);
    return m->heap_size > 0;
}

static int remember(struct dx_row_merge *m, struct dx_span key, struct dx_error *err)
{
    if (key.size > m->last_capacity) {
        uint8_t *grown = realloc(m->last, key.size * 2);

        if (grown == NULL)
            return dx_fail(err, DX_E_NOMEM, "merge: out of memory");
        m->last = grown;
        m->last_capacity = key.size * 2;
    }
    if (key.size > 0)
        memcpy(m->last, key.data, key.size);
    m->last_size = key.size;
    return DX_OK;
}

int dx_row_merge_next(struct dx_row_merge *m, struct dx_span *key, struct dx_span *value,
                      struct dx_error *err)
{
    int rc;

    while (m->heap_size > 0 && m->top_taken) {
        rc = step(m, err);
        if (rc <= 0)
            return rc;
        m->top_taken = dx_span_equal(m->source[m->heap[0]].key, dx_span_of(m->last, m->last_size));
    }
    if (m->heap_size == 0)
        return 0;
    *key = m->source[m->heap[0]].key;
    *value = m->source[m->heap[0]].value;
    m->top_taken = true;
    rc = remember(m, *key, err);
    return rc < 0 ? rc : 1;
}
