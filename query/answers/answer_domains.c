/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json_out.h"
#include "loader/version_parts.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/tag_page.h"
#include "query/answers/task.h"
#include "query/scan/domain_set.h"
#include "query/scan/domain_split.h"
#include "query/scan/name_scan.h"
#include "query/suppression/suppression_domains.h"
#include "query/view/counts_json.h"
#include "query/view/domain_json.h"
#include "query/view/fields.h"
#include "query/view/number_walk.h"
#include "query/view/suppressed.h"

/* What one request may cost: domains examined, 0.02 to 0.2 us each. A page that comes to it ends there. */
#define LOOK_MAX 1000000
#define SCAN_MAX \
    (8u << 20) /* the same of names that are only compared with a pattern: 0.02 us each */
#define REGEX_MAX (1u << 19) /* and with a regular expression: 0.3 us each */

struct sums {
    uint64_t datasets, urls, rows, pages;
};

/* The names of one part, read in their order. */
struct names {
    struct dx_dictionary_cursor names;
    uint64_t at; /* of the name that comes next; UINT64_MAX: none */
};

struct page {
    struct dx_tag_page of; /* the question */
    const struct dx_domains_ask *ask;
    struct names names[DX_PARTS_MAX];
    struct dx_domain_set set; /* of domains that the page goes over */
    struct dx_name_pattern pattern;
    struct dx_name_scan *scan; /* NULL: names of any kind */
    roaring_bitmap_t *found;   /* numbers that the pattern takes */
    struct dx_suppression_domains hidden;
    struct dx_domain_pairs pairs;
    uint64_t count; /* items */
    bool more;
    uint64_t next; /* number of the domain that another page begins with */
    uint64_t end;  /* that this listing ends before; the version's `numbers`: none */
};

static const struct dx_version_part *part_of(const struct page *p, size_t i)
{
    return &p->of.view.version->parts[i];
}

static size_t parts_of(const struct page *p)
{
    return p->of.view.version->part_count;
}

/* ---- items ---- */

/* Ordinals of a part ascend; those between are passed over if they are few. */
static int read_name(struct page *p, size_t part, uint64_t ordinal, uint8_t name[DX_SURT_MAX],
                     size_t *size, struct dx_error *err)
{
    const struct dx_part *of = part_of(p, part)->part;
    struct names *names = &p->names[part];
    struct dx_span key = { NULL, 0 };
    int rc;

    if (names->at > ordinal || ordinal - names->at > 16) {
        dx_dictionary_seek(&names->names, &of->dictionary, ordinal);
        names->at = ordinal;
    }
    do
        rc = dx_dictionary_next(&names->names, &key, err);
    while (rc == 1 && names->at++ < ordinal);
    if (rc == 1) {
        *size = dx_surt_domain(key, name);
        rc = *size > 0 ? 1 : 0;
    }
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: there is no domain with ordinal %llu", of->directory,
                     (unsigned long long)ordinal);
    return rc < 0 ? rc : DX_OK;
}

/* Of what is shown; datasets 0: nothing is. Of a live domain all of whose datasets are, it is known that there is one. */
static int add_up(struct page *p, uint64_t number, struct sums *sums, struct dx_error *err)
{
    const struct dx_hidden_part *part = dx_suppression_domains_part(&p->hidden, number);
    const struct dx_version_part *of = part_of(p, dx_version_part_at(p->of.view.version, number));
    struct dx_domain_pairs *pairs = &p->pairs;
    int rc;

    *sums = (struct sums){ 1, 0, 0, 0 };
    if (dx_domain_set_is_whole(&p->set) && part == NULL &&
        (p->ask->fields & DX_DOMAINS_FIELDS_COUNTS) == 0)
        return DX_OK;
    rc = dx_view_pairs(pairs, &p->of.view, of->part, number - of->first, err);
    *sums = (struct sums){ 0, 0, 0, 0 };
    if (rc >= 0 && part != NULL)
        pairs->count = dx_suppression_view_show(&part->withheld, pairs->ids, pairs->counts,
                                                pairs->count, NULL);
    for (size_t i = 0; rc >= 0 && i < pairs->count; i++) {
        if (p->of.dataset != NULL && pairs->ids[i] != p->of.dataset->dataset_id)
            continue;
        sums->datasets++;
        if (dx_view_of_counts(&p->of.view, pairs->ids[i])) {
            sums->pages += pairs->counts[i].row_count;
        } else {
            sums->urls += pairs->counts[i].url_count;
            sums->rows += pairs->counts[i].row_count;
        }
    }
    return rc < 0 ? rc : DX_OK;
}

static void write_count(struct dx_json *j, const char *key, bool of_counts, uint64_t value)
{
    dx_json_key(j, key);
    of_counts ? dx_json_null(j) : dx_json_u64(j, value);
}

static int write_item(const struct page *p, uint64_t number, struct dx_span name,
                      const struct sums *sums, struct dx_json *j, struct dx_error *err)
{
    const struct dx_version_part *of = part_of(p, dx_version_part_at(p->of.view.version, number));
    bool of_counts = dx_counts_json_pages(p->of.dataset);
    unsigned fields = p->ask->fields;
    uint64_t domain_id = 0;
    int rc = DX_OK;

    dx_json_object(j);
    dx_json_key(j, "domain");
    dx_json_text(j, name);
    if ((fields & DX_DOMAINS_FIELD_UNICODE) != 0)
        dx_unicode_json(j, "domain_unicode", name);
    if ((fields & DX_DOMAINS_FIELD_ID) != 0) {
        rc = dx_mphf_domain_id(&of->part->mphf, number - of->first, name, &domain_id, err);
        dx_json_key(j, "domain_id");
        dx_json_hex64(j, domain_id);
    }
    if ((fields & DX_DOMAINS_FIELD_DATASETS) != 0)
        dx_json_key_u64(j, "dataset_count", sums->datasets);
    if ((fields & DX_DOMAINS_FIELD_URLS) != 0)
        write_count(j, "url_count", of_counts, sums->urls);
    if ((fields & DX_DOMAINS_FIELD_ROWS) != 0)
        write_count(j, "row_count", of_counts, sums->rows);
    if (sums->pages > 0)
        dx_json_key_u64(j, "page_count", sums->pages);
    dx_json_end(j);
    return rc < 0 ? rc : DX_OK;
}

/* A domain that is shown behind the last item of the page is where the next one begins: what is not shown must not make
 * another page. */
static int write_items(struct page *p, struct dx_json *j, struct dx_error *err)
{
    const struct dx_version *v = p->of.view.version;
    struct dx_number_walk w;
    int rc = dx_number_walk_begin(&w, v, p->set.numbers, 0, err);

    while (rc == DX_OK && w.has) {
        size_t i = dx_version_part_at(v, w.number);
        uint8_t name[DX_SURT_MAX];
        struct sums sums = { 0, 0, 0, 0 };
        size_t size = 0;

        rc = read_name(p, i, w.number - v->parts[i].first, name, &size, err);
        if (rc == DX_OK)
            rc = add_up(p, w.number, &sums, err);
        if (rc == DX_OK && sums.datasets > 0 && p->count == p->ask->limit) {
            p->next = w.number;
            p->more = true;
            return DX_OK;
        }
        if (rc == DX_OK && sums.datasets > 0) {
            rc = write_item(p, w.number, dx_span_of(name, size), &sums, j, err);
            p->count++;
        }
        if (rc == DX_OK)
            rc = dx_number_walk_next(&w, err);
    }
    return rc;
}

/* ---- the page ---- */

static int write_cursor(const struct page *p, uint64_t next, uint64_t end, struct dx_json *j,
                        struct dx_error *err)
{
    const struct dx_row_filter question = { .tag = p->ask->suffix,
                                            .prefix = p->ask->prefix,
                                            .status = p->ask->match,
                                            .lang = p->ask->regex };
    struct dx_cursor c = { .kind = DX_CURSOR_DOMAINS,
                           .began_s = p->ask->paging.began_s,
                           .limit = (uint32_t)p->ask->limit,
                           .fields = p->ask->fields,
                           .next_row = next,
                           .end_row = end };

    c.filter_size = (uint16_t)dx_row_filter_pack(&question, c.filter);
    dx_tag_page_place(&p->of, &c);
    return dx_tag_page_cursor(&c, p->ask->paging.cursors, p->ask->paging.principal, j, err);
}

/* ---- a plan ---- */

static int write_plan(const struct page *p, struct dx_json *j, struct dx_error *err)
{
    uint64_t bounds[DX_PLAN_MAX + 1];
    int rc = dx_domain_split(&p->set, p->end, p->ask->plan, bounds, err);

    dx_json_key(j, "cursors");
    dx_json_array(j);
    for (unsigned k = 0; k < p->ask->plan && rc == DX_OK; k++)
        rc = write_cursor(p, bounds[k], bounds[k + 1], j, err);
    dx_json_end(j);
    return rc;
}

/* ---- the answer ---- */

static int write_domains(struct page *p, struct dx_json *j, struct dx_error *err)
{
    int rc;

    dx_json_key(j, "domains");
    dx_json_array(j);
    rc = write_items(p, j, err);
    dx_json_end(j);
    dx_json_key(j, "next_cursor");
    if (rc >= 0 && p->more)
        rc = write_cursor(p, p->next, p->end, j, err);
    else
        dx_json_null(j);
    return rc;
}

static int write_page(struct page *p, struct dx_buf *body, struct dx_error *err)
{
    struct dx_json j;
    int rc;

    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_tag_page_head(&p->of, &j);
    rc = p->ask->plan > 0 ? write_plan(p, &j, err) : write_domains(p, &j, err);
    dx_answer_end(&j, p->of.view.version);
    return rc >= 0 && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

/* From the domain with the number that the cursor has, to that which it ends before. */
static int go_on(struct page *p, const struct dx_cursor *from, bool *fits, struct dx_error *err)
{
    const struct dx_version *v = p->of.view.version;
    int rc;

    *fits = from->next_row <= v->numbers && from->end_row <= v->numbers;
    if (!*fits)
        return DX_OK;
    p->end = from->end_row;
    rc = dx_domain_set_from(&p->set, from->next_row, err);
    return rc == DX_OK ? dx_domain_set_to(&p->set, from->end_row, err) : rc;
}

static int begin_scan(struct page *p, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;

    if (p->ask->plan > 0 || !dx_name_pattern_any(&p->pattern))
        return 1;
    p->found = roaring_bitmap_create();
    if (p->found != NULL)
        return dx_name_scan_new(&p->scan, &p->pattern, problem);
    (void)dx_no_memory(&err, "domains");
    return dx_problem_of_error(problem, &err);
}

static struct dx_span suffix_of(const struct page *p)
{
    return p->ask->suffix.data != NULL ? p->ask->suffix : dx_name_pattern_suffix(&p->pattern);
}

static uint64_t look_max(const struct page *p)
{
    if (p->ask->look_max > 0)
        return p->ask->look_max;
    return p->scan == NULL ? LOOK_MAX : p->pattern.regex.data == NULL ? SCAN_MAX : REGEX_MAX;
}

static int begin_page(struct page *p, struct dx_problem *problem)
{
    const struct dx_cursor *from = p->ask->paging.from;
    struct dx_error err = DX_ERROR_INIT;
    bool fits = true;
    int rc = DX_OK;

    p->end = p->of.view.version->numbers;
    p->set.scan = p->scan;
    p->set.found = p->found;
    p->set.enough = p->ask->limit;
    for (size_t i = 0; i < parts_of(p); i++)
        p->names[i].at = UINT64_MAX;
    if (rc == DX_OK && from != NULL)
        rc = go_on(p, from, &fits, &err);
    if (rc == DX_OK && !fits)
        return dx_tag_page_mismatch("other domains", problem);
    if (rc == DX_OK)
        rc = p->ask->plan > 0
                 ? dx_domain_set_count(
                       &p->set, p->ask->look_max > 0 ? p->ask->look_max : DX_DOMAIN_SPLIT_MAX, &err)
                 : dx_domain_set_find(&p->set, look_max(p), &err);
    p->more = p->set.more;
    p->next = p->set.next;
    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
}

int dx_answer_domains(const struct dx_view *view, struct dx_canon *canon,
                      const struct dx_domains_ask *ask, struct dx_buf *body,
                      struct dx_problem *problem)
{
    struct page p = { .ask = ask,
                      .pairs = DX_DOMAIN_PAIRS_INIT,
                      .pattern = {
                          .prefix = ask->prefix, .match = ask->match, .regex = ask->regex } };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_tag_page_begin(&p.of, view, ask->paging.from, ask->one_dataset, ask->dataset_id,
                               problem);

    if (rc == 1)
        rc = begin_scan(&p, problem);
    if (rc == 1 && dx_domain_set_init(&p.set, view, p.of.dataset, suffix_of(&p), &err) < 0)
        rc = dx_problem_of_error(problem, &err);
    if (rc == 1)
        rc = begin_page(&p, problem);
    if (rc == 1 && ask->plan == 0)
        rc = dx_suppression_domains_take_out(&p.hidden, view, canon, p.set.numbers, problem);
    if (rc == 1 && write_page(&p, body, &err) < 0) {
        dx_buf_clear(body);
        rc = dx_problem_of_error(problem, &err);
    }
    dx_suppression_domains_release(&p.hidden);
    dx_domain_pairs_release(&p.pairs);
    dx_name_scan_free(&p.scan);
    dx_domain_set_release(&p.set);
    if (p.found != NULL)
        roaring_bitmap_free(p.found);
    return rc;
}
