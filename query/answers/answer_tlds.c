/* SPDX-License-Identifier: Apache-2.0 */
#include <roaring/roaring.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "format/version/dataset_domains.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/tag_page.h"
#include "query/suppression/suppression_domains.h"
#include "query/view/suppressed.h"

/* What one request may cost: domains examined, 0.07 to 0.2 us each. A page that comes to it ends
 * there, and its cursor carries what was added up of the TLD at hand. */
#define LOOK_MAX 1000000

/* Where not all is visible, lists of datasets are read this many ordinals at a time. */
#define WINDOW (1u << 18)

struct sums {
    uint64_t domains, urls, rows;
};

/* The domains of a TLD follow each other in the order of keys. */
struct group {
    uint8_t tld[DX_SURT_MAX];
    size_t size;  /* 0: no TLD */
    uint64_t end; /* the first ordinal behind it */
};

struct page {
    struct dx_tag_page of; /* the question */
    const struct dx_tlds_ask *ask;
    roaring_bitmap_t *ordinals; /* of domains that the page goes over */
    uint64_t next;              /* ordinals below it are dealt with */
    uint64_t end;               /* ordinals below it are in the bitmap, if they are visible */
    uint64_t line;              /* of the log of suppressions */
    struct dx_suppression_domains hidden;
    struct dx_domain_pairs pairs;
    struct group group;
    struct sums sums; /* of the group, as far as `next` */
    uint64_t count;   /* items */
};

static uint64_t domain_count(const struct page *p)
{
    return p->of.view.version->part->dictionary.info.n;
}

/* ---- which domains ---- */

/* Those of one dataset from `next` on, below the end. Counts what it adds. */
static int add_list(struct page *p, uint32_t dataset_id, uint64_t *looked, struct dx_error *err)
{
    const struct dx_dataset_domains *d = &p->of.view.version->part->dataset_domains;
    struct dx_domain_list list;
    struct dx_domain_cursor c;
    int rc = dx_dataset_domains_of(d, dataset_id, &list, err);

    if (rc != 1)
        return rc;
    dx_domain_cursor_begin(&c, d, &list);
    rc = dx_domain_cursor_seek(&c, p->end - WINDOW, err);
    for (; rc == 1 && c.ordinal < p->end; rc = dx_domain_cursor_next(&c, err)) {
        roaring_bitmap_add(p->ordinals, (uint32_t)c.ordinal);
        ++*looked;
    }
    return rc;
}

static int add_window(struct page *p, uint64_t *looked, struct dx_error *err)
{
    const struct dx_registry *r = &p->of.view.version->registry;
    int rc = 0;

    p->end += WINDOW;
    if (p->of.dataset != NULL)
        return add_list(p, p->of.dataset->dataset_id, looked, err);
    for (size_t i = 0; rc >= 0 && i < r->count; i++)
        if (dx_view_shows(&p->of.view, r->datasets[i].dataset_id)) {
            ++*looked;
            rc = add_list(p, r->datasets[i].dataset_id, looked, err);
        }
    return rc;
}

/* The visible domains from `next` on, as many as a page may look at. */
static int find_domains(struct page *p, struct dx_error *err)
{
    uint64_t max = p->ask->look_max > 0 ? p->ask->look_max : LOOK_MAX;
    uint64_t looked = 0;
    int rc = 0;

    p->ordinals = roaring_bitmap_create();
    if (p->ordinals == NULL)
        return dx_no_memory(err, "TLDs");
    p->end = p->next;
    if (p->of.dataset == NULL && !dx_view_restricted(&p->of.view)) {
        p->end = domain_count(p) - p->next > max ? p->next + max : domain_count(p);
        roaring_bitmap_add_range(p->ordinals, p->next, p->end);
        return DX_OK;
    }
    while (rc >= 0 && p->end < domain_count(p) && looked < max) {
        rc = add_window(p, &looked, err);
        looked++;
    }
    if (p->end > domain_count(p))
        p->end = domain_count(p);
    return rc < 0 ? rc : DX_OK;
}

static int find_hidden(struct page *p, struct dx_canon *canon, struct dx_problem *problem)
{
    int rc = dx_suppression_domains_among(&p->hidden, &p->of.view, canon, p->ordinals, problem);

    for (size_t i = 0; rc == 1 && i < p->hidden.whole_count; i++)
        roaring_bitmap_remove_range(p->ordinals, p->hidden.whole[i].first, p->hidden.whole[i].end);
    if (rc == 1 && p->line != dx_suppressed_line(p->of.view.version))
        rc = dx_suppression_view_unknown(0, problem);
    return rc;
}

/* ---- TLDs ---- */

/* The group of an ordinal. What begins with no letter is an address, or ends in no TLD: all such
 * keys come first. */
static int find_group(struct page *p, uint64_t ordinal, struct dx_error *err)
{
    const struct dx_dictionary *d = &p->of.view.version->part->dictionary;
    struct group *g = &p->group;
    struct dx_dictionary_cursor c;
    struct dx_span key;
    int rc;

    dx_dictionary_seek(&c, d, ordinal);
    rc = dx_dictionary_next(&c, &key, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: there is no domain with ordinal %llu",
                     p->of.view.version->part->directory, (unsigned long long)ordinal);
    if (rc < 0)
        return rc;
    g->size = 0;
    while (key.data[0] >= 'a' && g->size < key.size && key.data[g->size] != ' ')
        g->size++;
    memcpy(g->tld, key.data, g->size);
    g->tld[g->size] = g->size == 0 ? 'a'
                                   : ' ' + 1; /* labels have no byte between them and the space */
    rc = dx_dictionary_lower_bound(d, dx_span_of(g->tld, g->size + 1), &g->end, err);
    if (rc >= 0 && g->end <= ordinal)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: domain %llu is out of order",
                     p->of.view.version->part->directory, (unsigned long long)ordinal);
    return rc;
}

static int add_domain(struct page *p, uint64_t ordinal, struct dx_error *err)
{
    const struct dx_hidden_part *part = dx_suppression_domains_part(&p->hidden, ordinal);
    struct dx_domain_pairs *pairs = &p->pairs;
    bool shown = false;
    int rc = dx_view_pairs(pairs, &p->of.view, p->of.view.version->part, ordinal, err);

    if (rc >= 0 && part != NULL)
        pairs->count = dx_suppression_view_show(&part->withheld, pairs->ids, pairs->counts,
                                                pairs->count, NULL);
    for (size_t i = 0; rc >= 0 && i < pairs->count; i++) {
        if (p->of.dataset != NULL && pairs->ids[i] != p->of.dataset->dataset_id)
            continue;
        p->sums.urls += pairs->counts[i].url_count;
        p->sums.rows += pairs->counts[i].row_count;
        shown = true;
    }
    p->sums.domains += shown;
    return rc < 0 ? rc : DX_OK;
}

/* All of the group that the page goes over; `it` is at the first one. Of a group behind the last
 * item of the page only whether there is one: what is not shown must not make another page. */
static int add_group(struct page *p, roaring_uint32_iterator_t *it, struct dx_error *err)
{
    bool full = p->count == p->ask->limit;
    int rc = DX_OK;

    while (rc == DX_OK && it->has_value && it->current_value < p->group.end &&
           !(full && p->sums.domains > 0)) {
        rc = add_domain(p, it->current_value, err);
        (void)roaring_advance_uint32_iterator(it);
    }
    p->next = p->group.end < p->end ? p->group.end : p->end;
    return rc;
}

static void write_item(struct page *p, struct dx_json *j)
{
    dx_json_object(j);
    dx_json_key(j, "tld");
    p->group.size > 0 ? dx_json_text(j, dx_span_of(p->group.tld, p->group.size)) : dx_json_null(j);
    dx_json_key_u64(j, "domain_count", p->sums.domains);
    dx_json_key_u64(j, "url_count", p->sums.urls);
    dx_json_key_u64(j, "row_count", p->sums.rows);
    dx_json_end(j);
    p->sums = (struct sums){ 0, 0, 0 };
    p->count++;
}

/* A TLD is written when all of it is added up. */
static int write_items(struct page *p, struct dx_json *j, struct dx_error *err)
{
    roaring_uint32_iterator_t it;
    int rc = DX_OK;

    roaring_init_iterator(p->ordinals, &it);
    while (rc == DX_OK && p->next < p->end) {
        uint64_t before = p->next;

        if (p->sums.domains == 0 && !it.has_value) {
            p->next = p->end;
            break;
        }
        rc = find_group(p, p->sums.domains > 0 ? p->next : it.current_value, err);
        if (rc >= 0)
            rc = add_group(p, &it, err);
        if (rc == DX_OK && p->count == p->ask->limit && p->sums.domains > 0) {
            p->sums = (struct sums){ 0, 0, 0 };
            p->next = before;
            break;
        }
        if (rc == DX_OK && p->next == p->group.end && p->sums.domains > 0)
            write_item(p, j);
    }
    return rc;
}

/* ---- the page ---- */

static int write_cursor(const struct page *p, struct dx_json *j, struct dx_error *err)
{
    struct dx_cursor c = { .kind = DX_CURSOR_TLDS,
                           .began_s = p->ask->paging.began_s,
                           .limit = (uint32_t)p->ask->limit,
                           .next_row = p->next,
                           .line = p->line,
                           .sums = { p->sums.domains, p->sums.urls, p->sums.rows } };

    dx_tag_page_place(&p->of, &c);
    return dx_tag_page_cursor(&c, p->ask->paging.cursors, p->ask->paging.principal, j, err);
}

static int write_page(struct page *p, struct dx_buf *body, struct dx_error *err)
{
    struct dx_json j;
    int rc;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_tag_page_head(&p->of, &j);
    dx_json_key(&j, "tlds");
    dx_json_array(&j);
    rc = write_items(p, &j, err);
    dx_json_end(&j);
    dx_json_key(&j, "next_cursor");
    if (rc >= 0 && p->next < domain_count(p))
        rc = write_cursor(p, &j, err);
    else
        dx_json_null(&j);
    dx_answer_end(&j, p->of.view.version);
    return rc >= 0 && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

/* A sum over two states of the suppressions is of neither. */
static int go_on(struct page *p, const struct dx_cursor *from, struct dx_problem *problem)
{
    p->next = from->next_row;
    p->sums = (struct sums){ from->sums[0], from->sums[1], from->sums[2] };
    if (p->next > domain_count(p))
        return dx_tag_page_mismatch("domains that this version does not have", problem);
    if (p->sums.domains == 0 || p->line == from->line)
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_GONE, "cursor-expired", "The cursor is too old",
                          "suppressions changed while the domains of a TLD were added up; begin "
                          "again without the cursor");
}

int dx_answer_tlds(const struct dx_view *view, struct dx_canon *canon,
                   const struct dx_tlds_ask *ask, struct dx_buf *body, struct dx_problem *problem)
{
    struct page p = { .ask = ask,
                      .pairs = DX_DOMAIN_PAIRS_INIT,
                      .line = dx_suppressed_line(view->version) };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_tag_page_begin(&p.of, view, ask->paging.from, ask->one_dataset, ask->dataset_id,
                               problem);

    if (rc == 1 && ask->paging.from != NULL)
        rc = go_on(&p, ask->paging.from, problem);
    if (rc == 1 && find_domains(&p, &err) < 0)
        rc = dx_problem_of_error(problem, &err);
    if (rc == 1)
        rc = find_hidden(&p, canon, problem);
    if (rc == 1 && write_page(&p, body, &err) < 0) {
        dx_buf_clear(body);
        rc = dx_problem_of_error(problem, &err);
    }
    dx_suppression_domains_release(&p.hidden);
    dx_domain_pairs_release(&p.pairs);
    if (p.ordinals != NULL)
        roaring_bitmap_free(p.ordinals);
    return rc;
}
