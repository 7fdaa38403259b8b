/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json_out.h"
#include "format/core/surt.h"
#include "loader/version_parts.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/tag_page.h"
#include "query/suppression/suppression_domains.h"
#include "query/view/number_walk.h"
#include "query/view/suppressed.h"

/* What one request may cost: domains examined, 0.02 to 0.2 us each. A page that comes to it ends there. */
#define LOOK_MAX 1000000

/* Where not all is visible, lists of datasets are read for this many domains of a part at a time. */
#define WINDOW (1u << 18)

struct sums {
    uint64_t datasets, urls, rows;
};

/* Ordinals of one part: the question goes from next to end; below known, those that are visible
 * are in the set. */
struct range {
    uint64_t next, known, end;
    struct dx_dictionary_cursor names;
    uint64_t name_at; /* of the name that comes next; UINT64_MAX: none */
};

struct page {
    struct dx_tag_page of; /* the question */
    const struct dx_domains_ask *ask;
    struct range range[DX_PARTS_MAX];
    roaring_bitmap_t *numbers; /* of domains that the page goes over */
    struct dx_suppression_domains hidden;
    struct dx_domain_pairs pairs;
    uint64_t count; /* items */
    bool more;
    uint64_t next; /* number of the domain that another page begins with */
};

static const struct dx_version_part *part_of(const struct page *p, size_t i)
{
    return &p->of.view.version->parts[i];
}

static size_t parts_of(const struct page *p)
{
    return p->of.view.version->part_count;
}

/* ---- which domains ---- */

/* All, or those of the suffix, which follow each other in the order of keys. */
static int find_range(struct page *p, size_t i, struct dx_error *err)
{
    const struct dx_dictionary *d = &part_of(p, i)->part->dictionary;
    struct range *range = &p->range[i];
    uint8_t key[DX_SURT_MAX + 1];
    size_t size = dx_surt_key(p->ask->suffix, key);
    int rc;

    range->next = 0;
    range->end = d->info.n;
    range->name_at = UINT64_MAX;
    if (p->ask->suffix.data == NULL)
        return DX_OK;
    rc = dx_dictionary_lower_bound(d, dx_span_of(key, size), &range->next, err);
    key[size] = ' ' + 1; /* labels have no byte between them and the space */
    if (rc >= 0)
        rc = dx_dictionary_lower_bound(d, dx_span_of(key, size + 1), &range->end, err);
    return rc < 0 ? rc : DX_OK;
}

static int add_window(struct page *p, uint64_t *looked, struct dx_error *err)
{
    const struct dx_registry *r = &p->of.view.version->registry;
    uint64_t from[DX_PARTS_MAX];
    int rc = 0;

    for (size_t i = 0; i < parts_of(p); i++) {
        struct range *range = &p->range[i];

        from[i] = range->known;
        range->known += range->end - range->known < WINDOW ? range->end - range->known : WINDOW;
    }
    for (size_t k = 0; rc >= 0 && k < r->count; k++) {
        uint32_t id = r->datasets[k].dataset_id;

        if (p->of.dataset != NULL ? id != p->of.dataset->dataset_id
                                  : !dx_view_shows(&p->of.view, id))
            continue;
        *looked += p->of.dataset == NULL;
        for (size_t i = 0; rc >= 0 && i < parts_of(p); i++)
            rc = dx_version_add_dataset(p->of.view.version, id, part_of(p, i)->first + from[i],
                                        part_of(p, i)->first + p->range[i].known, p->numbers,
                                        looked, err);
    }
    return rc;
}

static bool is_known(const struct page *p)
{
    bool all = true;

    for (size_t i = 0; i < parts_of(p); i++)
        all = all && p->range[i].known == p->range[i].end;
    return all;
}

/* Where some part is not known to its end, the page ends before the least key that is not: what
 * other parts have behind it is taken out. */
static int cut(struct page *p, struct dx_error *err)
{
    struct dx_dictionary_cursor least = { .key_size = 0 };
    struct dx_span key = { NULL, 0 };
    int rc = DX_OK;

    p->more = false;
    for (size_t i = 0; rc >= 0 && i < parts_of(p); i++) {
        struct dx_dictionary_cursor c;
        struct dx_span its;

        if (p->range[i].known == p->range[i].end)
            continue;
        dx_dictionary_seek(&c, &part_of(p, i)->part->dictionary, p->range[i].known);
        rc = dx_dictionary_next(&c, &its, err);
        if (rc == 1 && (!p->more || dx_span_compare(its, key) < 0)) {
            least = c;
            key = dx_span_of(least.key, its.size);
            p->next = part_of(p, i)->first + p->range[i].known;
            p->more = true;
        }
    }
    for (size_t i = 0; rc >= 0 && p->more && i < parts_of(p); i++) {
        const struct dx_version_part *part = part_of(p, i);
        uint64_t end;

        rc = dx_dictionary_lower_bound(&part->part->dictionary, key, &end, err);
        if (rc >= 0 && end < p->range[i].known)
            roaring_bitmap_remove_range(p->numbers, part->first + end,
                                        part->first + p->range[i].known);
    }
    return rc < 0 ? rc : DX_OK;
}

/* The visible domains, as many as a page may look at. */
static int find_domains(struct page *p, struct dx_error *err)
{
    uint64_t max = p->ask->look_max > 0 ? p->ask->look_max : LOOK_MAX;
    bool all = p->of.dataset == NULL && !dx_view_restricted(&p->of.view);
    uint64_t looked = 0;
    int rc = DX_OK;

    p->numbers = roaring_bitmap_create();
    if (p->numbers == NULL)
        return dx_no_memory(err, "domains");
    for (size_t i = 0; i < parts_of(p); i++) {
        struct range *range = &p->range[i];
        uint64_t first = part_of(p, i)->first;

        range->known = range->next;
        if (!all)
            continue;
        range->known += range->end - range->next < max ? range->end - range->next : max;
        roaring_bitmap_add_range(p->numbers, first + range->next, first + range->known);
    }
    while (!all && rc >= 0 && !is_known(p) && looked < max) {
        rc = add_window(p, &looked, err);
        looked++;
    }
    if (rc >= 0)
        rc = cut(p, err);
    return rc < 0 ? rc : dx_version_remove_dead(p->of.view.version, p->numbers, err);
}

/* ---- items ---- */

/* Ordinals of a part ascend; those between are passed over if they are few. */
static int read_name(struct page *p, size_t part, uint64_t ordinal, uint8_t name[DX_SURT_MAX],
                     size_t *size, struct dx_error *err)
{
    const struct dx_part *of = part_of(p, part)->part;
    struct range *range = &p->range[part];
    struct dx_span key = { NULL, 0 };
    int rc;

    if (range->name_at > ordinal || ordinal - range->name_at > 16) {
        dx_dictionary_seek(&range->names, &of->dictionary, ordinal);
        range->name_at = ordinal;
    }
    do
        rc = dx_dictionary_next(&range->names, &key, err);
    while (rc == 1 && range->name_at++ < ordinal);
    if (rc == 1) {
        *size = dx_surt_domain(key, name);
        rc = *size > 0 ? 1 : 0;
    }
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: there is no domain with ordinal %llu", of->directory,
                     (unsigned long long)ordinal);
    return rc < 0 ? rc : DX_OK;
}

static bool has_prefix(const struct page *p, struct dx_span name)
{
    struct dx_span prefix = p->ask->prefix;

    return prefix.size <= name.size &&
           (prefix.size == 0 || memcmp(name.data, prefix.data, prefix.size) == 0);
}

/* Of what is shown; datasets 0: nothing is. */
static int add_up(struct page *p, uint64_t number, struct sums *sums, struct dx_error *err)
{
    const struct dx_hidden_part *part = dx_suppression_domains_part(&p->hidden, number);
    const struct dx_version_part *of = part_of(p, dx_version_part_at(p->of.view.version, number));
    struct dx_domain_pairs *pairs = &p->pairs;
    int rc = dx_view_pairs(pairs, &p->of.view, of->part, number - of->first, err);

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

static int write_item(const struct dx_version_part *of, uint64_t number, struct dx_span name,
                      const struct sums *sums, struct dx_json *j, struct dx_error *err)
{
    uint64_t domain_id = 0;
    int rc = dx_mphf_domain_id(&of->part->mphf, number - of->first, name, &domain_id, err);

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
    const struct dx_version *v = p->of.view.version;
    struct dx_number_walk w;
    int rc = dx_number_walk_begin(&w, v, p->numbers, 0, err);

    while (rc == DX_OK && w.has) {
        size_t i = dx_version_part_at(v, w.number);
        uint8_t name[DX_SURT_MAX];
        struct sums sums = { 0, 0, 0 };
        size_t size = 0;

        rc = read_name(p, i, w.number - v->parts[i].first, name, &size, err);
        if (rc == DX_OK && has_prefix(p, dx_span_of(name, size)))
            rc = add_up(p, w.number, &sums, err);
        if (rc == DX_OK && sums.datasets > 0 && p->count == p->ask->limit) {
            p->next = w.number;
            p->more = true;
            return DX_OK;
        }
        if (rc == DX_OK && sums.datasets > 0) {
            rc = write_item(&v->parts[i], w.number, dx_span_of(name, size), &sums, j, err);
            p->count++;
        }
        if (rc == DX_OK)
            rc = dx_number_walk_next(&w, err);
    }
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
    if (rc >= 0 && p->more)
        rc = write_cursor(p, &j, err);
    else
        dx_json_null(&j);
    dx_answer_end(&j, p->of.view.version);
    return rc >= 0 && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

/* To the domain with the number that the cursor has, in each part. */
static int go_on(struct page *p, uint64_t number, bool *fits, struct dx_error *err)
{
    const struct dx_version *v = p->of.view.version;
    struct dx_dictionary_cursor c;
    struct dx_span key;
    size_t in;
    int rc;

    *fits = number < v->numbers;
    if (!*fits)
        return DX_OK;
    in = dx_version_part_at(v, number);
    dx_dictionary_seek(&c, &v->parts[in].part->dictionary, number - v->parts[in].first);
    rc = dx_dictionary_next(&c, &key, err);
    *fits = number - v->parts[in].first >= p->range[in].next &&
            number - v->parts[in].first < p->range[in].end;
    for (size_t i = 0; rc >= 0 && *fits && i < v->part_count; i++) {
        uint64_t next;

        rc = dx_dictionary_lower_bound(&v->parts[i].part->dictionary, key, &next, err);
        if (rc >= 0 && next > p->range[i].next)
            p->range[i].next = next < p->range[i].end ? next : p->range[i].end;
    }
    return rc < 0 ? rc : DX_OK;
}

static int begin(struct page *p, struct dx_problem *problem)
{
    const struct dx_cursor *from = p->ask->paging.from;
    struct dx_error err = DX_ERROR_INIT;
    bool fits = true;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < parts_of(p); i++)
        rc = find_range(p, i, &err);
    if (rc == DX_OK && from != NULL)
        rc = go_on(p, from->next_row, &fits, &err);
    if (rc == DX_OK && !fits)
        return dx_tag_page_mismatch("other domains", problem);
    if (rc == DX_OK)
        rc = find_domains(p, &err);
    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}

int dx_answer_domains(const struct dx_view *view, struct dx_canon *canon,
                      const struct dx_domains_ask *ask, struct dx_buf *body,
                      struct dx_problem *problem)
{
    struct page p = { .ask = ask, .pairs = DX_DOMAIN_PAIRS_INIT };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_tag_page_begin(&p.of, view, ask->paging.from, ask->one_dataset, ask->dataset_id,
                               problem);

    if (rc == 1)
        rc = begin(&p, problem);
    if (rc == 1)
        rc = dx_suppression_domains_take_out(&p.hidden, view, canon, p.numbers, problem);
    if (rc == 1 && write_page(&p, body, &err) < 0) {
        dx_buf_clear(body);
        rc = dx_problem_of_error(problem, &err);
    }
    dx_suppression_domains_release(&p.hidden);
    dx_domain_pairs_release(&p.pairs);
    if (p.numbers != NULL)
        roaring_bitmap_free(p.numbers);
    return rc;
}
