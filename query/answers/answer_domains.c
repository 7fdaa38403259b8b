/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json_out.h"
#include "canon/idna.h"
#include "format/core/surt.h"
#include "loader/version_parts.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/tag_page.h"
#include "query/scan/name_scan.h"
#include "query/suppression/suppression_domains.h"
#include "query/view/counts_json.h"
#include "query/view/fields.h"
#include "query/view/number_walk.h"
#include "query/view/suppressed.h"

/* What one request may cost: domains examined, 0.02 to 0.2 us each. A page that comes to it ends there. */
#define LOOK_MAX 1000000
#define SCAN_MAX \
    (8u << 20) /* the same of names that are only compared with a pattern: 0.02 us each */
#define REGEX_MAX (1u << 19) /* and with a regular expression: 0.3 us each */
#define PLAN_MAX (32u << 20) /* domains of datasets that a plan counts: some ns each */

/* Where not all is visible, lists of datasets are read for this many domains of a part at a time; names are searched in
 * the same steps. */
#define WINDOW (1u << 18)

struct sums {
    uint64_t datasets, urls, rows, pages;
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
    struct dx_name_pattern pattern;
    struct dx_name_scan *scan; /* NULL: names of any kind */
    roaring_bitmap_t *found;   /* numbers that the pattern takes, of all that was searched */
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

/* ---- which domains ---- */

/* All, or those of the suffix, which follow each other in the order of keys. */
static int find_range(struct page *p, size_t i, struct dx_error *err)
{
    const struct dx_dictionary *d = &part_of(p, i)->part->dictionary;
    struct range *range = &p->range[i];
    struct dx_span suffix = p->ask->suffix.data != NULL ? p->ask->suffix
                                                        : dx_name_pattern_suffix(&p->pattern);
    uint8_t key[DX_SURT_MAX + 1];
    size_t size;
    int rc;

    range->next = 0;
    range->end = d->info.n;
    range->name_at = UINT64_MAX;
    if (suffix.data == NULL)
        return DX_OK;
    size = dx_surt_key(suffix, key);
    rc = dx_dictionary_lower_bound(d, dx_span_of(key, size), &range->next, err);
    key[size] = ' ' + 1; /* labels have no byte between them and the space */
    if (rc >= 0)
        rc = dx_dictionary_lower_bound(d, dx_span_of(key, size + 1), &range->end, err);
    return rc < 0 ? rc : DX_OK;
}

/* Of datasets that are visible, and asked for: what they have of the next stretch. */
static int add_window(struct page *p, const uint64_t *from, uint64_t *looked, struct dx_error *err)
{
    const struct dx_registry *r = &p->of.view.version->registry;
    int rc = 0;

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
    ++*looked;
    return rc < 0 ? rc : DX_OK;
}

static bool is_of_all(const struct page *p)
{
    return p->of.dataset == NULL && !dx_view_restricted(&p->of.view);
}

/* Which of a stretch of names the pattern takes. */
static int search_names(struct page *p, const uint64_t *from, struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < parts_of(p); i++) {
        const struct dx_dictionary *d = &part_of(p, i)->part->dictionary;
        uint64_t first = part_of(p, i)->first;
        uint64_t end = p->range[i].known;

        rc = is_of_all(p)
                 ? dx_name_scan_range(p->scan, d, from[i], end, first, p->found, err)
                 : dx_name_scan_numbers(p->scan, d, from[i], end, first, p->numbers, p->found, err);
    }
    return rc;
}

/* The next `step` names of each part. */
static int add_step(struct page *p, uint64_t step, uint64_t *looked, struct dx_error *err)
{
    uint64_t from[DX_PARTS_MAX];
    int rc = DX_OK;

    for (size_t i = 0; i < parts_of(p); i++) {
        struct range *range = &p->range[i];

        from[i] = range->known;
        range->known += range->end - range->known < step ? range->end - range->known : step;
        if (!is_of_all(p))
            continue;
        *looked += range->known - from[i];
        roaring_bitmap_add_range(p->numbers, part_of(p, i)->first + from[i],
                                 part_of(p, i)->first + range->known);
    }
    if (!is_of_all(p))
        rc = add_window(p, from, looked, err);
    return rc == DX_OK && p->scan != NULL ? search_names(p, from, err) : rc;
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

static bool is_enough(const struct page *p)
{
    return p->scan != NULL && roaring_bitmap_and_cardinality(p->numbers, p->found) > p->ask->limit;
}

/* The visible domains with such names, as many as a page may look at, or has room for. */
static int find_domains(struct page *p, uint64_t max, struct dx_error *err)
{
    uint64_t step = p->scan != NULL || !is_of_all(p) ? WINDOW : max;
    uint64_t looked = 0;
    int rc = DX_OK;

    for (size_t i = 0; i < parts_of(p); i++)
        p->range[i].known = p->range[i].next;
    while (rc == DX_OK && !is_known(p) && looked < max && !is_enough(p))
        rc = add_step(p, step, &looked, err);
    if (rc == DX_OK)
        rc = cut(p, err);
    if (rc == DX_OK)
        rc = dx_version_remove_dead(p->of.view.version, p->numbers, err);
    if (rc >= 0 && p->scan != NULL)
        roaring_bitmap_and_inplace(p->numbers, p->found);
    return rc < 0 ? rc : DX_OK;
}

/* ---- places ---- */

/* The key of the domain with a number; of the version's `numbers`, behind all of them, there is none. */
static int read_key(const struct page *p, uint64_t number, struct dx_dictionary_cursor *c,
                    struct dx_span *key, struct dx_error *err)
{
    const struct dx_version_part *of = part_of(p, dx_version_part_at(p->of.view.version, number));
    int rc;

    dx_dictionary_seek(c, &of->part->dictionary, number - of->first);
    rc = dx_dictionary_next(c, key, err);
    return rc != 0 ? (rc < 0 ? rc : DX_OK)
                   : dx_fail(err, DX_E_CORRUPT, "%s: there is no domain %llu", of->part->directory,
                             (unsigned long long)(number - of->first));
}

/* Where the domain with a number stands in each part, or would: at[i]. */
static int find_places(const struct page *p, uint64_t number, uint64_t at[DX_PARTS_MAX],
                       struct dx_error *err)
{
    struct dx_dictionary_cursor c;
    struct dx_span key;
    int rc = DX_OK;

    for (size_t i = 0; i < parts_of(p); i++)
        at[i] = part_of(p, i)->part->dictionary.info.n;
    if (number == p->of.view.version->numbers)
        return DX_OK;
    rc = read_key(p, number, &c, &key, err);
    for (size_t i = 0; rc >= 0 && i < parts_of(p); i++)
        rc = dx_dictionary_lower_bound(&part_of(p, i)->part->dictionary, key, &at[i], err);
    return rc < 0 ? rc : DX_OK;
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

/* Of what is shown; datasets 0: nothing is. Of a live domain all of whose datasets are, it is known that there is one. */
static int add_up(struct page *p, uint64_t number, struct sums *sums, struct dx_error *err)
{
    const struct dx_hidden_part *part = dx_suppression_domains_part(&p->hidden, number);
    const struct dx_version_part *of = part_of(p, dx_version_part_at(p->of.view.version, number));
    struct dx_domain_pairs *pairs = &p->pairs;
    int rc;

    *sums = (struct sums){ 1, 0, 0, 0 };
    if (is_of_all(p) && part == NULL && (p->ask->fields & DX_DOMAINS_FIELDS_COUNTS) == 0)
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

static void write_unicode(struct dx_span name, struct dx_json *j)
{
    uint8_t text[DX_IDNA_UTF8_MAX];
    size_t size;

    if (!dx_idna_to_unicode(name, text, sizeof text, &size))
        return;
    dx_json_key(j, "domain_unicode");
    dx_json_text(j, dx_span_of(text, size));
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
        write_unicode(name, j);
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
    int rc = dx_number_walk_begin(&w, v, p->numbers, 0, err);

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

/* Names of all, or visible ones, in [the range's beginning, ordinal). */
static uint64_t count_before(const struct page *p, size_t i, uint64_t ordinal)
{
    const struct range *range = &p->range[i];
    uint64_t first = part_of(p, i)->first;

    if (ordinal > range->end)
        ordinal = range->end;
    if (ordinal <= range->next)
        return 0;
    return is_of_all(p)
               ? ordinal - range->next
               : roaring_bitmap_range_cardinality(p->numbers, first + range->next, first + ordinal);
}

/* The same over all parts, before the key of a number. */
static int count_before_number(const struct page *p, uint64_t number, uint64_t *count,
                               struct dx_error *err)
{
    uint64_t at[DX_PARTS_MAX];
    int rc = find_places(p, number, at, err);

    *count = 0;
    for (size_t i = 0; rc == DX_OK && i < parts_of(p); i++)
        *count += count_before(p, i, at[i]);
    return rc;
}

/* The first ordinal of a part before whose key there are n; the range's end: none. */
static int find_nth_of(const struct page *p, size_t i, uint64_t n, uint64_t *ordinal,
                       struct dx_error *err)
{
    uint64_t low = p->range[i].next;
    uint64_t high = p->range[i].end;
    int rc = DX_OK;

    while (rc == DX_OK && low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t count;

        rc = count_before_number(p, part_of(p, i)->first + middle, &count, err);
        if (rc == DX_OK && count < n)
            low = middle + 1;
        else
            high = middle;
    }
    *ordinal = low;
    return rc;
}

/* The number of the least key before which there are n; the version's `numbers`: there is none. */
static int find_nth(const struct page *p, uint64_t n, uint64_t *number, struct dx_error *err)
{
    struct dx_dictionary_cursor least = { .key_size = 0 };
    size_t least_size = 0;
    int rc = DX_OK;

    *number = p->end;
    for (size_t i = 0; rc == DX_OK && i < parts_of(p); i++) {
        struct dx_dictionary_cursor c;
        struct dx_span key;
        uint64_t ordinal;

        rc = find_nth_of(p, i, n, &ordinal, err);
        if (rc < 0 || ordinal == p->range[i].end)
            continue;
        rc = read_key(p, part_of(p, i)->first + ordinal, &c, &key, err);
        if (rc == DX_OK &&
            (least_size == 0 || dx_span_compare(key, dx_span_of(least.key, least_size)) < 0)) {
            least = c;
            least_size = key.size;
            *number = part_of(p, i)->first + ordinal;
        }
    }
    return rc;
}

/* Where not all is visible: which domains are, so that what is hidden moves no border. */
static int count_domains(struct page *p, struct dx_error *err)
{
    uint64_t max = p->ask->look_max > 0 ? p->ask->look_max : PLAN_MAX;
    uint64_t looked = 0;
    int rc = DX_OK;

    if (is_of_all(p))
        return DX_OK;
    for (size_t i = 0; i < parts_of(p); i++)
        p->range[i].known = p->range[i].next;
    while (rc == DX_OK && !is_known(p) && looked < max)
        rc = add_step(p, WINDOW, &looked, err);
    if (rc == DX_OK && !is_known(p))
        rc = dx_fail(err, DX_E_LIMIT,
                     "a plan would have to count over %llu domains of datasets; ask for a suffix, "
                     "or without plan",
                     (unsigned long long)max);
    return rc < 0 ? rc : dx_version_remove_dead(p->of.view.version, p->numbers, err);
}

static int write_plan(const struct page *p, struct dx_json *j, struct dx_error *err)
{
    uint64_t parts = p->ask->plan;
    uint64_t total = 0;
    uint64_t begin = 0;
    int rc = DX_OK;

    for (size_t i = 0; i < parts_of(p); i++)
        total += count_before(p, i, p->range[i].end);
    dx_json_key(j, "cursors");
    dx_json_array(j);
    rc = find_nth(p, 0, &begin, err);
    for (uint64_t k = 1; k <= parts && rc == DX_OK; k++) {
        uint64_t end = p->end;

        if (k < parts)
            rc = find_nth(p, total / parts * k + total % parts * k / parts, &end, err);
        if (rc == DX_OK)
            rc = write_cursor(p, begin, end, j, err);
        begin = end;
    }
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

/* To the domain with the number that the cursor has, in each part, and to that which it ends before. */
static int go_on(struct page *p, const struct dx_cursor *from, bool *fits, struct dx_error *err)
{
    const struct dx_version *v = p->of.view.version;
    uint64_t next[DX_PARTS_MAX];
    uint64_t end[DX_PARTS_MAX];
    int rc;

    *fits = from->next_row <= v->numbers && from->end_row <= v->numbers;
    if (!*fits)
        return DX_OK;
    p->end = from->end_row;
    rc = find_places(p, from->next_row, next, err);
    if (rc == DX_OK)
        rc = find_places(p, from->end_row, end, err);
    for (size_t i = 0; rc == DX_OK && i < parts_of(p); i++) {
        struct range *range = &p->range[i];

        if (next[i] > range->next)
            range->next = next[i] < range->end ? next[i] : range->end;
        if (end[i] < range->end)
            range->end = end[i] > range->next ? end[i] : range->next;
    }
    return rc;
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

static uint64_t look_max(const struct page *p)
{
    if (p->ask->look_max > 0)
        return p->ask->look_max;
    return p->scan == NULL ? LOOK_MAX : p->pattern.regex.data == NULL ? SCAN_MAX : REGEX_MAX;
}

static int begin(struct page *p, struct dx_problem *problem)
{
    const struct dx_cursor *from = p->ask->paging.from;
    struct dx_error err = DX_ERROR_INIT;
    bool fits = true;
    int rc = DX_OK;

    p->end = p->of.view.version->numbers;
    p->numbers = roaring_bitmap_create();
    if (p->numbers == NULL)
        rc = dx_no_memory(&err, "domains");
    for (size_t i = 0; rc == DX_OK && i < parts_of(p); i++)
        rc = find_range(p, i, &err);
    if (rc == DX_OK && from != NULL)
        rc = go_on(p, from, &fits, &err);
    if (rc == DX_OK && !fits)
        return dx_tag_page_mismatch("other domains", problem);
    if (rc == DX_OK)
        rc = p->ask->plan > 0 ? count_domains(p, &err) : find_domains(p, look_max(p), &err);
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
    if (rc == 1)
        rc = begin(&p, problem);
    if (rc == 1 && ask->plan == 0)
        rc = dx_suppression_domains_take_out(&p.hidden, view, canon, p.numbers, problem);
    if (rc == 1 && write_page(&p, body, &err) < 0) {
        dx_buf_clear(body);
        rc = dx_problem_of_error(problem, &err);
    }
    dx_suppression_domains_release(&p.hidden);
    dx_domain_pairs_release(&p.pairs);
    dx_name_scan_free(&p.scan);
    if (p.numbers != NULL)
        roaring_bitmap_free(p.numbers);
    if (p.found != NULL)
        roaring_bitmap_free(p.found);
    return rc;
}
