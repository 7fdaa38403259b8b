/* SPDX-License-Identifier: Apache-2.0 */
#include "format/version/pair_tally.h"

#include "base/few_bytes.h"
#include "format/version/url_sketch.h"

#include <assert.h>
#include <stdlib.h>

#define SCHEMES 8 /* slots by length of the scheme: http, https and ftp do not meet */
#define SCHEME_MAX 16
#define TALLY_BYTES (SIZE_MAX / 2)
#define SLOT_BYTES ((size_t)16 << 10) /* room that a slot keeps for the next one */
#define WAITING_BYTES (512u << 10)    /* of rows that wait; more of them are no longer cheap */

struct counts {
    uint64_t urls;
    uint64_t rows;
};

/* A path that later rows may still have: the first `size` bytes of the text at hand. */
struct open_path {
    size_t size;
    struct counts counts;
};

/* One of the best: host and path, one behind the other. */
struct best {
    struct counts counts;
    size_t host_size;
    struct dx_buf text;
};

/* The best DX_FACTS_PATHS_MAX; once they are so many, a heap with the least of them in front. */
struct top {
    struct best slots[DX_FACTS_PATHS_MAX];
    uint16_t heap[DX_FACTS_PATHS_MAX];
    unsigned count;
    size_t bytes; /* text of them */
    uint64_t distinct;
};

/* In front of the text of a row that waits. */
struct waiting {
    uint32_t host_size; /* without new_host: 0 */
    uint32_t path_size; /* with query */
    bool new_host;      /* else that of the row before */
    bool new_url;
};

/* Paths are kept only of pairs with many rows, and most pairs have few: rows wait until the pair
 * has more than DX_FACTS_ROWS, or are forgotten at its end. */
struct dx_pair_tally {
    struct dx_buf domain;
    bool all_paths;
    struct counts pair;
    struct dx_facts_writer writer;
    struct dx_url_sketch sketch;

    bool in_host;
    struct dx_buf host;
    struct counts of_host;
    unsigned schemes_known; /* bits of those of which the hash is of the host at hand */
    struct {
        uint8_t size;
        char text[SCHEME_MAX];
        uint64_t hash; /* dx_url_sketch_host of it */
    } schemes[SCHEMES];

    bool counts_paths;     /* no row waits any more */
    bool paths_lost;       /* the best were too long: none are counted any more */
    struct dx_buf waiting; /* struct waiting, host, path and query: each row so far */

    bool in_path_host;
    struct dx_buf path_host;   /* of the paths at hand */
    struct dx_buf text;        /* the last path that was opened: all open ones begin it */
    struct dx_buf open;        /* struct open_path, each a prefix of the next one */
    struct dx_buf section;     /* the directory at hand */
    struct counts of_section;  /* rows 0: none */
    struct counts of_the_rest; /* section "/" of the host */
    struct top tops[DX_PATHS_KINDS];
};

int dx_pair_tally_new(struct dx_pair_tally **tally, struct dx_error *err)
{
    struct dx_pair_tally *t = calloc(1, sizeof *t);

    *tally = t;
    if (t == NULL)
        return dx_no_memory(err, "tally");
    dx_buf_init(&t->domain, TALLY_BYTES);
    dx_buf_init(&t->host, TALLY_BYTES);
    dx_buf_init(&t->waiting, TALLY_BYTES);
    dx_buf_init(&t->path_host, TALLY_BYTES);
    dx_buf_init(&t->text, TALLY_BYTES);
    dx_buf_init(&t->open, TALLY_BYTES);
    dx_buf_init(&t->section, TALLY_BYTES);
    for (int k = 0; k < DX_PATHS_KINDS; k++)
        for (int i = 0; i < DX_FACTS_PATHS_MAX; i++)
            dx_buf_init(&t->tops[k].slots[i].text, TALLY_BYTES);
    dx_facts_writer_init(&t->writer);
    dx_url_sketch_init(&t->sketch);
    return DX_OK;
}

void dx_pair_tally_free(struct dx_pair_tally **tally)
{
    struct dx_pair_tally *t = *tally;

    if (t == NULL)
        return;
    dx_buf_release(&t->domain);
    dx_buf_release(&t->host);
    dx_buf_release(&t->waiting);
    dx_buf_release(&t->path_host);
    dx_buf_release(&t->text);
    dx_buf_release(&t->open);
    dx_buf_release(&t->section);
    for (int k = 0; k < DX_PATHS_KINDS; k++)
        for (int i = 0; i < DX_FACTS_PATHS_MAX; i++)
            dx_buf_release(&t->tops[k].slots[i].text);
    dx_facts_writer_release(&t->writer);
    dx_url_sketch_release(&t->sketch);
    free(t);
    *tally = NULL;
}

static struct dx_span span_of(const struct dx_buf *b)
{
    return dx_span_of(b->data, b->size);
}

/* Long texts come and go: each slot would come to have room for the longest one. */
static void empty_slot(struct best *slot)
{
    if (slot->text.capacity > SLOT_BYTES) {
        dx_buf_release(&slot->text);
        dx_buf_init(&slot->text, TALLY_BYTES);
    }
    dx_buf_clear(&slot->text);
}

static void drop_texts(struct dx_pair_tally *t)
{
    for (int k = 0; k < DX_PATHS_KINDS; k++)
        for (int i = 0; i < DX_FACTS_PATHS_MAX; i++)
            empty_slot(&t->tops[k].slots[i]);
}

void dx_pair_tally_begin(struct dx_pair_tally *t, struct dx_span domain)
{
    if (t->counts_paths)
        drop_texts(t);
    dx_buf_clear(&t->domain);
    dx_few_append(&t->domain, domain);
    dx_facts_writer_begin(&t->writer, span_of(&t->domain));
    dx_url_sketch_clear(&t->sketch);
    t->all_paths = false;
    t->counts_paths = false;
    t->paths_lost = false;
    t->in_path_host = false;
    t->in_host = false;
    dx_buf_clear(&t->waiting);
    t->pair = (struct counts){ 0, 0 };
    for (int k = 0; k < DX_PATHS_KINDS; k++) {
        t->tops[k].count = 0;
        t->tops[k].bytes = 0;
        t->tops[k].distinct = 0;
    }
}

void dx_pair_tally_all_paths(struct dx_pair_tally *t)
{
    assert(t->pair.rows == 0); /* before the first row */
    t->all_paths = true;
}

void dx_pair_tally_counts(const struct dx_pair_tally *t, uint64_t *url_count, uint64_t *row_count)
{
    *url_count = t->pair.urls;
    *row_count = t->pair.rows;
}

static void count_row(struct counts *c, bool new_url)
{
    c->urls += new_url;
    c->rows++;
}

/* ---- the best ---- */

static struct dx_fact fact_of(const struct best *b)
{
    return (struct dx_fact){ dx_span_of(b->text.data, b->host_size),
                             dx_span_of(b->text.data + b->host_size, b->text.size - b->host_size),
                             b->counts.urls, b->counts.rows };
}

static bool comes_before(const struct top *top, unsigned a, unsigned b)
{
    struct dx_fact fa = fact_of(&top->slots[a]);
    struct dx_fact fb = fact_of(&top->slots[b]);

    return dx_fact_compare(&fa, &fb) < 0;
}

/* The last of all is in front. */
static void sift_down(struct top *top, unsigned at)
{
    for (;;) {
        unsigned child = 2 * at + 1;
        uint16_t swap;

        if (child >= top->count)
            return;
        if (child + 1 < top->count && comes_before(top, top->heap[child], top->heap[child + 1]))
            child++;
        if (!comes_before(top, top->heap[at], top->heap[child]))
            return;
        swap = top->heap[at];
        top->heap[at] = top->heap[child];
        top->heap[child] = swap;
        at = child;
    }
}

static int take_in(struct top *top, const struct dx_fact *fact, struct dx_error *err)
{
    struct best *slot;

    if (top->count == DX_FACTS_PATHS_MAX) {
        struct dx_fact least = fact_of(&top->slots[top->heap[0]]);

        if (dx_fact_compare(fact, &least) > 0)
            return DX_OK;
        slot = &top->slots[top->heap[0]];
    } else {
        top->heap[top->count] = (uint16_t)top->count;
        slot = &top->slots[top->count];
    }
    top->bytes -= top->count == DX_FACTS_PATHS_MAX ? slot->text.size : 0;
    top->bytes += fact->host.size + fact->path.size;
    slot->counts = (struct counts){ fact->url_count, fact->row_count };
    slot->host_size = fact->host.size;
    empty_slot(slot);
    dx_buf_append(&slot->text, fact->host.data, fact->host.size);
    dx_buf_append(&slot->text, fact->path.data, fact->path.size);
    if (slot->text.failed)
        return dx_buf_fail(&slot->text, err, "tally: path");
    if (top->count == DX_FACTS_PATHS_MAX)
        sift_down(top, 0);
    else if (++top->count == DX_FACTS_PATHS_MAX)
        for (unsigned i = DX_FACTS_PATHS_MAX / 2; i > 0; i--)
            sift_down(top, i - 1);
    return DX_OK;
}

/* A path or section that no later row can have. */
static int finish(struct dx_pair_tally *t, enum dx_paths kind, struct dx_span path,
                  struct counts counts, struct dx_error *err)
{
    struct dx_fact fact = { span_of(&t->path_host), path, counts.urls, counts.rows };
    struct top *top = &t->tops[kind];

    top->distinct++;
    t->paths_lost |= top->bytes > DX_TALLY_PATHS_BYTES;
    return t->paths_lost ? DX_OK : take_in(top, &fact, err);
}

/* ---- paths that are open ---- */

static struct open_path *last_open(const struct dx_pair_tally *t)
{
    return t->open.size == 0
               ? NULL
               : (struct open_path *)(void *)(t->open.data +
                                              (t->open.size - sizeof(struct open_path)));
}

static int close_last(struct dx_pair_tally *t, struct dx_error *err)
{
    struct open_path path = *last_open(t);

    t->open.size -= sizeof path;
    return finish(t, DX_PATHS_EXACT, dx_span_of(t->text.data, path.size), path.counts, err);
}

static size_t common_prefix(struct dx_span a, struct dx_span b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    size_t i = 0;

    for (; n - i >= 8; i += 8) {
        uint64_t differs = dx_load_u64(a.data + i) ^ dx_load_u64(b.data + i);

        if (differs != 0)
            return i + ((unsigned)__builtin_ctzll(differs) >> 3);
    }
    while (i < n && a.data[i] == b.data[i])
        i++;
    return i;
}

/*
 * Rows come in byte order of path and query. A path can come again as long as nothing came that is
 * above all it can be followed by: it begins the row at hand, and what follows it there is not
 * above '?'. So those that are open are prefixes of each other, and the rows /a, /a-b, /a?x find /a
 * again.
 */
static int close_paths(struct dx_pair_tally *t, struct dx_span path_query, size_t same,
                       struct dx_error *err)
{
    const struct open_path *last;
    int rc = DX_OK;

    while (
        rc >= 0 && (last = last_open(t)) != NULL &&
        (last->size > same || (path_query.size > last->size && path_query.data[last->size] > '?')))
        rc = close_last(t, err);
    return rc;
}

static int tally_path(struct dx_pair_tally *t, struct dx_span path_query, struct dx_span path,
                      bool new_url, struct dx_error *err)
{
    size_t same = common_prefix(span_of(&t->text), path_query);
    struct open_path new = { .size = path.size };
    struct open_path *last;
    int rc = close_paths(t, path_query, same, err);

    if (rc < 0)
        return rc;
    last = last_open(t);
    if (last == NULL || last->size != path.size) {
        if (same > path.size)
            same = path.size;
        t->text.size = same;
        dx_buf_append(&t->text, path.data + same, path.size - same);
        dx_buf_append(&t->open, &new, sizeof new);
        if (t->text.failed || t->open.failed)
            return dx_no_memory(err, "tally: paths");
        last = last_open(t);
    }
    count_row(&last->counts, new_url);
    return DX_OK;
}

/* ---- sections ---- */

/* The path's first directory; empty: it lies in none. */
static struct dx_span section_of(struct dx_span path)
{
    const uint8_t *slash = NULL;

    if (path.size > 1 && path.data[0] == '/')
        slash = memchr(path.data + 1, '/', path.size - 1);
    return dx_span_of(path.data, slash == NULL ? 0 : (size_t)(slash - path.data) + 1);
}

static int close_section(struct dx_pair_tally *t, struct dx_error *err)
{
    struct counts counts = t->of_section;

    t->of_section = (struct counts){ 0, 0 };
    return counts.rows == 0 ? DX_OK
                            : finish(t, DX_PATHS_SECTION, span_of(&t->section), counts, err);
}

static int tally_section(struct dx_pair_tally *t, struct dx_span path, bool new_url,
                         struct dx_error *err)
{
    struct dx_span section = section_of(path);

    if (section.size == 0) {
        count_row(&t->of_the_rest, new_url);
        return DX_OK;
    }
    if (t->of_section.rows == 0 || !dx_span_equal(section, span_of(&t->section))) {
        int rc = close_section(t, err);

        if (rc < 0)
            return rc;
        dx_buf_clear(&t->section);
        dx_buf_append(&t->section, section.data, section.size);
        if (t->section.failed)
            return dx_buf_fail(&t->section, err, "tally: section");
    }
    count_row(&t->of_section, new_url);
    return DX_OK;
}

/* ---- paths of a host ---- */

static int close_path_host(struct dx_pair_tally *t, struct dx_error *err)
{
    int rc = DX_OK;

    if (!t->in_path_host)
        return DX_OK;
    t->in_path_host = false;
    while (rc >= 0 && t->open.size > 0)
        rc = close_last(t, err);
    if (rc >= 0)
        rc = close_section(t, err);
    if (rc >= 0 && t->of_the_rest.rows > 0)
        rc = finish(t, DX_PATHS_SECTION, dx_span_str("/"), t->of_the_rest, err);
    return rc;
}

static int begin_path_host(struct dx_pair_tally *t, struct dx_span host, struct dx_error *err)
{
    int rc = close_path_host(t, err);

    if (rc < 0)
        return rc;
    t->in_path_host = true;
    dx_buf_clear(&t->path_host);
    dx_buf_append(&t->path_host, host.data, host.size);
    dx_buf_clear(&t->text);
    dx_buf_clear(&t->open);
    t->of_section = (struct counts){ 0, 0 };
    t->of_the_rest = (struct counts){ 0, 0 };
    return t->path_host.failed ? dx_buf_fail(&t->path_host, err, "tally: host") : DX_OK;
}

static int count_paths(struct dx_pair_tally *t, bool new_host, struct dx_span host,
                       struct dx_span path_query, bool new_url, struct dx_error *err)
{
    const uint8_t *query = memchr(path_query.data, '?', path_query.size);
    struct dx_span path = path_query;
    int rc = new_host ? begin_path_host(t, host, err) : DX_OK;

    if (query != NULL)
        path.size = (size_t)(query - path_query.data);
    if (rc >= 0)
        rc = tally_path(t, path_query, path, new_url, err);
    return rc < 0 ? rc : tally_section(t, path, new_url, err);
}

static int let_wait(struct dx_pair_tally *t, bool new_host, struct dx_span host,
                    struct dx_span path_query, bool new_url, struct dx_error *err)
{
    struct waiting row = { new_host ? (uint32_t)host.size : 0, (uint32_t)path_query.size, new_host,
                           new_url };
    uint8_t *to;

    if (host.size > UINT32_MAX || path_query.size > UINT32_MAX)
        return dx_fail(err, DX_E_LIMIT, "tally: a row of over 4 GiB");
    to = dx_buf_reserve(&t->waiting, sizeof row + row.host_size + row.path_size);
    if (to == NULL)
        return dx_buf_fail(&t->waiting, err, "tally: rows");
    memcpy(to, &row, sizeof row);
    dx_few_copy(to + sizeof row, host.data, row.host_size);
    dx_few_copy(to + sizeof row + row.host_size, path_query.data, row.path_size);
    t->waiting.size += sizeof row + row.host_size + row.path_size;
    assert(t->waiting.size <= t->waiting.capacity);
    return DX_OK;
}

/* The rows that wait, and from here on each one as it comes. */
static int begin_paths(struct dx_pair_tally *t, struct dx_error *err)
{
    size_t done = 0;
    int rc = DX_OK;

    t->counts_paths = true;
    while (rc >= 0 && done < t->waiting.size) {
        const uint8_t *at = t->waiting.data + done + sizeof(struct waiting);
        struct waiting row;

        memcpy(&row, t->waiting.data + done, sizeof row);
        rc = count_paths(t, row.new_host, dx_span_of(at, row.host_size),
                         dx_span_of(at + row.host_size, row.path_size), row.new_url, err);
        done += sizeof row + row.host_size + row.path_size;
    }
    dx_buf_clear(&t->waiting);
    return rc;
}

static bool wants_paths(const struct dx_pair_tally *t)
{
    return t->all_paths || t->pair.rows > DX_FACTS_ROWS;
}

/* ---- hosts ---- */

static int close_host(struct dx_pair_tally *t, struct dx_error *err)
{
    struct dx_fact fact = { .host = span_of(&t->host),
                            .url_count = t->of_host.urls,
                            .row_count = t->of_host.rows };

    if (!t->in_host)
        return DX_OK;
    t->in_host = false;
    return dx_facts_writer_host(&t->writer, &fact, err);
}

static int begin_host(struct dx_pair_tally *t, struct dx_span host, struct dx_error *err)
{
    int rc = close_host(t, err);

    if (rc < 0)
        return rc;
    dx_buf_clear(&t->host);
    dx_few_append(&t->host, host);
    if (t->host.failed || t->domain.failed)
        return dx_no_memory(err, "tally: host");
    t->in_host = true;
    t->of_host = (struct counts){ 0, 0 };
    t->schemes_known = 0;
    return DX_OK;
}

static int tally_url(struct dx_pair_tally *t, struct dx_span scheme, struct dx_span path_query,
                     struct dx_error *err)
{
    unsigned slot = scheme.size % SCHEMES;
    int rc;

    if ((t->schemes_known >> slot & 1) == 0 ||
        !dx_few_equal(scheme, dx_span_of(t->schemes[slot].text, t->schemes[slot].size))) {
        t->schemes[slot].hash = dx_url_sketch_host(scheme, span_of(&t->host));
        t->schemes_known &= ~(1u << slot);
        if (scheme.size <= SCHEME_MAX) {
            t->schemes_known |= 1u << slot;
            memcpy(t->schemes[slot].text, scheme.data, scheme.size);
            t->schemes[slot].size = (uint8_t)scheme.size;
        }
    }
    rc = dx_url_sketch_add(&t->sketch, dx_url_sketch_hash_in(t->schemes[slot].hash, path_query),
                           err);
    /* A list is bounded before it is encoded: a pair may have any number of URLs. */
    if (rc >= 0 && t->pair.urls % (2 * DX_SKETCH_PAIR_MAX) == 0)
        rc = dx_url_sketch_settle(&t->sketch, err);
    return rc;
}

int dx_pair_tally_row(struct dx_pair_tally *t, struct dx_span scheme, struct dx_span host,
                      struct dx_span path_query, bool new_url, struct dx_error *err)
{
    bool new_host = !t->in_host || !dx_few_equal(host, span_of(&t->host));
    int rc = new_host ? begin_host(t, host, err) : DX_OK;

    if (rc < 0)
        return rc;
    count_row(&t->pair, new_url);
    count_row(&t->of_host, new_url);
    if (new_url)
        rc = tally_url(t, scheme, path_query, err);
    if (t->paths_lost)
        return rc;
    if (rc >= 0 && !t->counts_paths && (wants_paths(t) || t->waiting.size > WAITING_BYTES))
        rc = begin_paths(t, err);
    if (rc < 0)
        return rc;
    return t->counts_paths ? count_paths(t, new_host, host, path_query, new_url, err)
                           : let_wait(t, new_host, host, path_query, new_url, err);
}

int dx_pair_tally_pages(struct dx_pair_tally *t, struct dx_span host, uint64_t pages,
                        struct dx_error *err)
{
    bool new_host = !t->in_host || !dx_few_equal(host, span_of(&t->host));
    int rc = new_host ? begin_host(t, host, err) : DX_OK;

    if (rc >= 0 && t->pair.rows == 0)
        rc = dx_url_sketch_add(&t->sketch, 0, err);
    if (rc < 0)
        return rc;
    t->paths_lost = true;
    t->pair.urls += pages;
    t->pair.rows += pages;
    t->of_host.urls += pages;
    t->of_host.rows += pages;
    return DX_OK;
}

/* ---- the end ---- */

static int compare_best(const void *a, const void *b)
{
    struct dx_fact fa = fact_of(a);
    struct dx_fact fb = fact_of(b);

    return dx_fact_compare(&fa, &fb);
}

static int write_paths(struct dx_pair_tally *t, enum dx_paths kind, struct dx_error *err)
{
    struct top *top = &t->tops[kind];
    int rc = DX_OK;

    qsort(top->slots, top->count, sizeof top->slots[0], compare_best);
    for (unsigned i = 0; rc >= 0 && i < top->count; i++) {
        struct dx_fact fact = fact_of(&top->slots[i]);

        rc = dx_facts_writer_path(&t->writer, kind, &fact, err);
    }
    return rc;
}

int dx_pair_tally_end(struct dx_pair_tally *t, struct dx_buf *facts, struct dx_buf *sketch,
                      struct dx_error *err)
{
    uint64_t path_count[DX_PATHS_KINDS];
    bool paths;
    int rc = close_host(t, err);

    paths = wants_paths(t);
    if (rc >= 0 && paths)
        rc = close_path_host(t, err);
    paths = paths && !t->paths_lost;
    for (unsigned k = 0; k < DX_PATHS_KINDS; k++) {
        path_count[k] = t->tops[k].distinct;
        if (rc >= 0 && paths)
            rc = write_paths(t, (enum dx_paths)k, err);
    }
    dx_buf_clear(facts);
    dx_buf_clear(sketch);
    if (rc >= 0)
        rc = dx_facts_writer_end(&t->writer, paths ? path_count : NULL, facts, err);
    return rc < 0 ? rc : dx_url_sketch_encode(&t->sketch, sketch, err);
}
