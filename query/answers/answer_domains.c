/* SPDX-License-Identifier: Apache-2.0 */
#include <roaring/roaring.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "format/core/surt.h"
#include "format/version/dataset_domains.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/tag_page.h"
#include "query/suppression/suppression_domains.h"
#include "query/view/suppressed.h"

/* What one request may cost: domains examined, 0.02 to 0.2 us each. A page that comes to it ends there. */
#define LOOK_MAX 1000000

/* Where not all is visible, lists of datasets are read this many ordinals at a time. */
#define WINDOW (1u << 18)

struct sums {
    uint64_t datasets, urls, rows;
};

struct page {
    struct dx_tag_page of; /* the question */
    const struct dx_domains_ask *ask;
    const struct dx_part *part;
    uint64_t next, end;         /* ordinals: where to go on, and where the question ends */
    roaring_bitmap_t *ordinals; /* of domains that the page goes over */
    uint64_t known;             /* ordinals below it are in the bitmap, if they are visible */
    struct dx_suppression_domains hidden;
    struct dx_domain_pairs pairs;
    struct dx_dictionary_cursor names;
    uint64_t name_at; /* of the name that comes next; UINT64_MAX: none */
    uint64_t count;   /* items */
};

/* ---- which domains ---- */

/* [next, end): all, or those of the suffix, which follow each other in the order of keys. */
static int find_range(struct page *p, struct dx_error *err)
{
    uint8_t key[DX_SURT_MAX + 1];
    size_t size = dx_surt_key(p->ask->suffix, key);
    int rc;

    p->next = 0;
    p->end = p->part->dictionary.info.n;
    if (p->ask->suffix.data == NULL)
        return DX_OK;
    rc = dx_dictionary_lower_bound(&p->part->dictionary, dx_span_of(key, size), &p->next, err);
    key[size] = ' ' + 1; /* labels have no byte between them and the space */
    if (rc >= 0)
        rc = dx_dictionary_lower_bound(&p->part->dictionary, dx_span_of(key, size + 1), &p->end,
                                       err);
    return rc < 0 ? rc : DX_OK;
}

/* Those of one dataset, of the window that ends at `known`. Counts what it adds. */
static int add_list(struct page *p, uint32_t dataset_id, uint64_t *looked, struct dx_error *err)
{
    const struct dx_dataset_domains *d = &p->part->dataset_domains;
    struct dx_domain_list list;
    struct dx_domain_cursor c;
    int rc = dx_dataset_domains_of(d, dataset_id, &list, err);

    if (rc != 1)
        return rc;
    dx_domain_cursor_begin(&c, d, &list);
    rc = dx_domain_cursor_seek(&c, p->known - WINDOW, err);
    for (; rc == 1 && c.ordinal < p->known && c.ordinal < p->end;
         rc = dx_domain_cursor_next(&c, err)) {
        roaring_bitmap_add(p->ordinals, (uint32_t)c.ordinal);
        ++*looked;
    }
    return rc;
}

static int add_window(struct page *p, uint64_t *looked, struct dx_error *err)
{
    const struct dx_registry *r = &p->of.view.version->registry;
    int rc = 0;

    p->known += WINDOW;
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
        return dx_no_memory(err, "domains");
    p->known = p->next;
    if (p->of.dataset == NULL && !dx_view_restricted(&p->of.view)) {
        p->known = p->end - p->next > max ? p->next + max : p->end;
        roaring_bitmap_add_range(p->ordinals, p->next, p->known);
        return DX_OK;
    }
    while (rc >= 0 && p->known < p->end && looked < max) {
        rc = add_window(p, &looked, err);
        looked++;
    }
    if (p->known > p->end)
        p->known = p->end;
    return rc < 0 ? rc : DX_OK;
}

static int find_hidden(struct page *p, struct dx_canon *canon, struct dx_problem *problem)
{
    int rc = dx_suppression_domains_among(&p->hidden, &p->of.view, canon, p->ordinals, problem);

    for (size_t i = 0; rc == 1 && i < p->hidden.whole_count; i++)
        roaring_bitmap_remove_range(p->ordinals, p->hidden.whole[i].first, p->hidden.whole[i].end);
    return rc;
}

/* ---- items ---- */

/* Ordinals ascend; those between are passed over if they are few. */
static int read_name(struct page *p, uint64_t ordinal, uint8_t name[DX_SURT_MAX], size_t *size,
                     struct dx_error *err)
{
    struct dx_span key = { NULL, 0 };
    int rc;

    if (p->name_at > ordinal || ordinal - p->name_at > 16) {
        dx_dictionary_seek(&p->names, &p->part->dictionary, ordinal);
        p->name_at = ordinal;
    }
    do
        rc = dx_dictionary_next(&p->names, &key, err);
    while (rc == 1 && p->name_at++ < ordinal);
    if (rc == 1) {
        *size = dx_surt_domain(key, name);
        rc = *size > 0 ? 1 : 0;
    }
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: there is no domain with ordinal %llu",
                     p->part->directory, (unsigned long long)ordinal);
    return rc < 0 ? rc : DX_OK;
}

static bool has_prefix(const struct page *p, struct dx_span name)
{
    struct dx_span prefix = p->ask->prefix;

    return prefix.size <= name.size &&
           (prefix.size == 0 || memcmp(name.data, prefix.data, prefix.size) == 0);
}

/* Of what is shown; datasets 0: nothing is. */
static int add_up(struct page *p, uint64_t ordinal, struct sums *sums, struct dx_error *err)
{
    const struct dx_hidden_part *part = dx_suppression_domains_part(&p->hidden, ordinal);
    struct dx_domain_pairs *pairs = &p->pairs;
    int rc = dx_view_pairs(pairs, &p->of.view, p->part, ordinal, err);

    *sums = (struct sums){ 0, 0, 0 };
    if (rc >= 0 && part != NULL)
        pairs->count = dx_suppression_view_show(&part->withheld, pairs->ids, pairs->counts,
                                                pairs->count, NULL);
    for (size_t i = 0; rc >= 0 && i < pairs->count; i++) {
        if (p->of.dataset != NULL && pairs->ids[i] != p->of.dataset->dataset_id)
            continue;
        sums->datasets++;
        sums->urls += pairs->counts[i].url_count;
        sums->rows += pairs->counts[i].row_count;
    }
    return rc < 0 ? rc : DX_OK;
}

static int write_item(const struct page *p, uint64_t ordinal, struct dx_span name,
                      const struct sums *sums, struct dx_json *j, struct dx_error *err)
{
    uint64_t domain_id = 0;
    int rc = dx_mphf_domain_id(&p->part->mphf, ordinal, name, &domain_id, err);

    dx_json_object(j);
    dx_json_key(j, "domain");
    dx_json_text(j, name);
    dx_json_key(j, "domain_id");
    dx_json_hex64(j, domain_id);
    dx_json_key_u64(j, "dataset_count", sums->datasets);
    dx_json_key_u64(j, "url_count", sums->urls);
    dx_json_key_u64(j, "row_count", sums->rows);
    dx_json_end(j);
    return rc < 0 ? rc : DX_OK;
}

/* A domain that is shown behind the last item of the page is where the next one begins: what is not shown must not make
 * another page. */
static int write_items(struct page *p, struct dx_json *j, struct dx_error *err)
{
    roaring_uint32_iterator_t it;
    int rc = DX_OK;

    for (roaring_init_iterator(p->ordinals, &it); rc == DX_OK && it.has_value;
         (void)roaring_advance_uint32_iterator(&it)) {
        uint64_t ordinal = it.current_value;
        uint8_t name[DX_SURT_MAX];
        struct sums sums;
        size_t size = 0;

        rc = read_name(p, ordinal, name, &size, err);
        if (rc < 0 || !has_prefix(p, dx_span_of(name, size)))
            continue;
        rc = add_up(p, ordinal, &sums, err);
        if (rc < 0 || sums.datasets == 0)
            continue;
        if (p->count == p->ask->limit) {
            p->next = ordinal;
            return DX_OK;
        }
        rc = write_item(p, ordinal, dx_span_of(name, size), &sums, j, err);
        p->count++;
    }
    p->next = p->known;
    return rc;
}

/* ---- the page ---- */

static int write_cursor(const struct page *p, struct dx_json *j, struct dx_error *err)
{
    const struct dx_row_filter question = { .tag = p->ask->suffix, .prefix = p->ask->prefix };
    struct dx_cursor c = { .kind = DX_CURSOR_DOMAINS,
                           .began_s = p->ask->paging.began_s,
                           .limit = (uint32_t)p->ask->limit,
                           .next_row = p->next };

    c.filter_size = (uint16_t)dx_row_filter_pack(&question, c.filter);
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
    dx_json_key(&j, "domains");
    dx_json_array(&j);
    rc = write_items(p, &j, err);
    dx_json_end(&j);
    dx_json_key(&j, "next_cursor");
    if (rc >= 0 && p->next < p->end)
        rc = write_cursor(p, &j, err);
    else
        dx_json_null(&j);
    dx_answer_end(&j, p->of.view.version);
    return rc >= 0 && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

static int go_on(struct page *p, struct dx_problem *problem)
{
    const struct dx_cursor *from = p->ask->paging.from;

    if (from == NULL)
        return 1;
    if (from->next_row < p->next || from->next_row > p->end)
        return dx_tag_page_mismatch("other domains", problem);
    p->next = from->next_row;
    return 1;
}

int dx_answer_domains(const struct dx_view *view, struct dx_canon *canon,
                      const struct dx_domains_ask *ask, struct dx_buf *body,
                      struct dx_problem *problem)
{
    struct page p = { .ask = ask,
                      .part = view->version->part,
                      .pairs = DX_DOMAIN_PAIRS_INIT,
                      .name_at = UINT64_MAX };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_tag_page_begin(&p.of, view, ask->paging.from, ask->one_dataset, ask->dataset_id,
                               problem);

    if (rc == 1 && find_range(&p, &err) < 0)
        rc = dx_problem_of_error(problem, &err);
    if (rc == 1)
        rc = go_on(&p, problem);
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
