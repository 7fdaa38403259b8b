/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/sort/spill_merge.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "builder/sort/spill_run.h"

/* Sorted entries point to scattered places of the lane's memory, so the merge prefetches the record
 * that it will read after so many others. */
#define AHEAD 8

struct source {
    struct dx_spill_run_reader *run; /* NULL: memory */
    const struct dx_spill_entry *entry;
    size_t left;
    uint64_t prefix; /* first 8 bytes of the key, big-endian, zero-filled */
    struct dx_span key;
    struct dx_span value;
};

struct dx_spill_merge {
    struct dx_spill_codec *codec;
    bool distinct;
    struct source *source;
    size_t source_count;
    size_t source_max;
    size_t *heap; /* of sources that have a record; the smallest at 0 */
    size_t heap_size;
    bool top_taken;     /* the record at the top was given out and must be moved past */
    struct dx_span key; /* distinct: the one given out last, which lies in the memory of a lane */
    struct dx_buf last; /* or here, where it came from a run */
};

int dx_spill_merge_new(struct dx_spill_merge **out, struct dx_spill_codec *codec,
                       size_t max_sources, bool distinct, struct dx_error *err)
{
    struct dx_spill_merge *m = calloc(1, sizeof *m);

    *out = m;
    if (m == NULL)
        return dx_no_memory(err, "sort");
    m->codec = codec;
    m->distinct = distinct;
    m->source_max = max_sources;
    m->source = calloc(max_sources + 1, sizeof *m->source);
    m->heap = calloc(max_sources + 1, sizeof *m->heap);
    dx_buf_init(&m->last, SIZE_MAX);
    if (m->source == NULL || m->heap == NULL) {
        dx_spill_merge_free(out);
        return dx_no_memory(err, "sort: %zu runs", max_sources);
    }
    return DX_OK;
}

void dx_spill_merge_free(struct dx_spill_merge **handle)
{
    struct dx_spill_merge *m = *handle;

    if (m == NULL)
        return;
    for (size_t i = 0; m->source != NULL && i < m->source_count; i++)
        dx_spill_run_close(&m->source[i].run);
    free(m->source);
    free(m->heap);
    dx_buf_release(&m->last);
    free(m);
    *handle = NULL;
}

static uint64_t prefix_of(struct dx_span key)
{
    uint64_t v = 0;

    if (key.size >= 8)
        return __builtin_bswap64(dx_load_u64(key.data));
    for (size_t i = 0; i < 8; i++)
        v = v << 8 | (i < key.size ? key.data[i] : 0);
    return v;
}

/* 1 the source stands on a record, 0 it has ended. */
static int advance_source(struct source *s, struct dx_error *err)
{
    if (s->run != NULL) {
        int rc = dx_spill_run_read(s->run, &s->key, &s->value, err);

        if (rc <= 0) {
            dx_spill_run_close(&s->run);
            return rc;
        }
    } else {
        if (s->left == 0)
            return 0;
        if (s->left > AHEAD) {
            __builtin_prefetch(s->entry[AHEAD].record);
            __builtin_prefetch(s->entry[AHEAD].record + 64);
            __builtin_prefetch(s->entry[AHEAD].record + 128);
        }
        s->key = dx_spill_record_key(s->entry->record);
        s->value = dx_spill_record_value(s->entry->record);
        s->entry++;
        s->left--;
    }
    s->prefix = prefix_of(s->key);
    return 1;
}

static bool before(const struct dx_spill_merge *m, size_t a, size_t b)
{
    const struct source *x = &m->source[a];
    const struct source *y = &m->source[b];
    int c;

    if (x->prefix != y->prefix)
        return x->prefix < y->prefix;
    c = dx_span_compare(x->key, y->key);
    if (c == 0 && m->distinct)
        c = dx_span_compare(x->value, y->value);
    return c < 0 || (c == 0 && a < b);
}

static void sift_down(struct dx_spill_merge *m, size_t i)
{
    size_t moving = m->heap[i];

    assert(i < m->heap_size);
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

static int add_source(struct dx_spill_merge *m, struct source s, struct dx_error *err)
{
    size_t i = m->source_count;
    size_t at;
    int rc;

    if (i == m->source_max) {
        dx_spill_run_close(&s.run);
        return dx_fail(err, DX_E_INVALID, "sort: more than %zu runs", m->source_max);
    }
    m->source[m->source_count++] = s;
    rc = advance_source(&m->source[i], err);
    if (rc <= 0)
        return rc;
    for (at = m->heap_size++; at > 0 && before(m, i, m->heap[(at - 1) / 2]); at = (at - 1) / 2)
        m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = i;
    return DX_OK;
}

int dx_spill_merge_add_run(struct dx_spill_merge *m, const struct dx_spill_run *run,
                           struct dx_error *err)
{
    struct source s = { .run = NULL };
    int rc = dx_spill_run_open(&s.run, m->codec, run, err);

    return rc < 0 ? rc : add_source(m, s, err);
}

int dx_spill_merge_add_memory(struct dx_spill_merge *m, const struct dx_spill_entry *entries,
                              size_t n, struct dx_error *err)
{
    assert(n == 0 || entries != NULL);
    return add_source(m, (struct source){ .entry = entries, .left = n }, err);
}

/* Moves the top source to its next record. */
static int step(struct dx_spill_merge *m, struct dx_error *err)
{
    int rc = advance_source(&m->source[m->heap[0]], err);

    assert(m->heap_size > 0);
    if (rc < 0)
        return rc;
    if (rc == 0)
        m->heap[0] = m->heap[--m->heap_size];
    if (m->heap_size > 0)
        sift_down(m, 0);
    return DX_OK;
}

int dx_spill_merge_next(struct dx_spill_merge *m, struct dx_span *key, struct dx_span *value,
                        struct dx_error *err)
{
    while (m->top_taken && m->heap_size > 0) {
        int rc = step(m, err);

        if (rc < 0)
            return rc;
        m->top_taken = m->distinct && m->heap_size > 0 &&
                       dx_span_equal(m->source[m->heap[0]].key, m->key);
    }
    if (m->heap_size == 0)
        return 0;
    *key = m->source[m->heap[0]].key;
    *value = m->source[m->heap[0]].value;
    m->top_taken = true;
    m->key = *key;
    if (!m->distinct || m->source[m->heap[0]].run == NULL)
        return 1;
    dx_buf_clear(&m->last);
    dx_buf_append(&m->last, key->data, key->size);
    m->key = dx_span_of(m->last.data, m->last.size);
    return m->last.failed ? dx_buf_fail(&m->last, err, "sort: key") : 1;
}
