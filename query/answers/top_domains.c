/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/top_domains.h"

#include <assert.h>
#include <stdlib.h>

#include "loader/version_parts.h"
#include "query/suppression/suppression_domains.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#define STRETCH 256 /* domains of a part that are read at a time */

__extension__ typedef unsigned __int128 wide;

/* ---- share ---- */

#define MILLION 1000000u

/* Digits at the front of *text, at most `most` of them, as a number of so many decimals; false:
 * none, or one more. */
static bool take_digits(struct dx_span *text, unsigned most, unsigned decimals, uint32_t *value)
{
    unsigned n = 0;
    uint32_t v = 0;

    for (; n < text->size && text->data[n] >= '0' && text->data[n] <= '9'; n++) {
        if (n == most)
            return false;
        v = v * 10 + (uint32_t)(text->data[n] - '0');
    }
    *text = dx_span_from(*text, n);
    for (unsigned i = n; i < decimals; i++)
        v *= 10;
    *value = v;
    return n > 0;
}

bool dx_share_parse(struct dx_span text, struct dx_share *share)
{
    bool percent = text.size > 0 && text.data[text.size - 1] == '%';
    unsigned decimals = percent ? 4 : 6;
    uint32_t unit = percent ? MILLION / 100 : MILLION;
    uint32_t whole;
    uint32_t part = 0;

    if (percent)
        text.size--;
    if (text.size > 1 && text.data[0] == '0' && text.data[1] != '.')
        return false;
    if (!take_digits(&text, 3, 0, &whole))
        return false;
    if (text.size > 0) {
        if (text.data[0] != '.')
            return false;
        text = dx_span_of(text.data + 1, text.size - 1);
        if (!take_digits(&text, decimals, decimals, &part) || text.size > 0)
            return false;
    }
    share->millionths = whole * unit + part;
    return share->millionths > 0 && share->millionths <= MILLION;
}

uint64_t dx_share_select(struct dx_share share, uint64_t count)
{
    return (uint64_t)(((wide)count * share.millionths + (MILLION - 1)) / MILLION);
}

/* ---- what is hidden of the dataset ---- */

/* Of equal numbers those come first whose keys do: within a part these are the lower numbers. */
static int compare_keys(const struct dx_version *v, uint64_t a, uint64_t b)
{
    uint8_t text[2][DX_SURT_MAX], key[2][DX_SURT_MAX];
    const uint64_t number[2] = { a, b };
    struct dx_span span[2];

    for (int i = 0; i < 2; i++) {
        size_t size = 0;

        /* One that cannot be read is an error when its name is. */
        if (dx_version_domain(v, number[i], text[i], &size, NULL) != 1)
            return a < b ? -1 : a > b;
        span[i] = dx_span_of(key[i], dx_surt_key(dx_span_of(text[i], size), key[i]));
    }
    return dx_span_compare(span[0], span[1]);
}

static bool before(const struct dx_version *v, const struct dx_domain_count *a,
                   const struct dx_domain_count *b)
{
    if (a->url_count != b->url_count)
        return a->url_count > b->url_count;
    if (a->ordinal == b->ordinal || v->part_count == 1 ||
        dx_version_part_at(v, a->ordinal) == dx_version_part_at(v, b->ordinal))
        return a->ordinal < b->ordinal;
    return compare_keys(v, a->ordinal, b->ordinal) < 0;
}

static int by_place(const void *a, const void *b, void *ctx)
{
    return before(ctx, b, a) - before(ctx, a, b);
}

struct gather {
    struct dx_top_domains *t;
    size_t capacity;
};

/* urls_left: 0: the domain is not to be shown. */
static int gather_domain(struct gather *g, uint64_t number, uint64_t urls, uint64_t urls_left,
                         struct dx_error *err)
{
    struct dx_top_domains *t = g->t;

    if (t->stored_count == g->capacity) {
        size_t more = g->capacity == 0 ? 64 : g->capacity * 2;
        struct dx_domain_count *stored = realloc(t->stored, more * sizeof *stored);
        struct dx_domain_count *shown;

        if (stored != NULL)
            t->stored = stored;
        shown = realloc(t->shown, more * sizeof *shown);
        if (shown != NULL)
            t->shown = shown;
        if (stored == NULL || shown == NULL)
            return dx_no_memory(err, "suppressed domains");
        g->capacity = more;
    }
    if (urls_left > urls || urls > t->url_count)
        return dx_fail(err, DX_E_CORRUPT, "%s: domain %llu has more URLs than dataset %u",
                       dx_version_own(t->version)->directory, (unsigned long long)number,
                       (unsigned)t->dataset_id);
    t->stored[t->stored_count++] = (struct dx_domain_count){ number, urls };
    t->url_count -= urls - urls_left;
    if (urls_left > 0)
        t->shown[t->shown_count++] = (struct dx_domain_count){ number, urls_left };
    else
        t->domain_count--;
    return DX_OK;
}

/* Of a range of numbers those of parts[i]. */
static int gather_range(struct gather *g, size_t i, const struct dx_hidden_range *range,
                        struct dx_problem *problem, struct dx_error *err)
{
    const struct dx_version *v = g->t->version;
    const struct dx_version_part *p = &v->parts[i];
    struct dx_domain_cursor c;
    int rc;

    if (g->t->list[i].domains == 0 || range->end <= p->first)
        return 1;
    dx_domain_cursor_begin(&c, &p->part->dataset_domains, &g->t->list[i]);
    rc = dx_domain_cursor_seek(&c, range->first > p->first ? range->first - p->first : 0, err);
    while (rc == 1 && p->first + c.ordinal < range->end) {
        if (g->t->stored_count >= DX_TOP_HIDDEN_MAX)
            return dx_problem_set(problem, DX_PROBLEM_TOO_MUCH, "too-much", "Too much to answer",
                                  "suppressions hide over %u domains of this dataset",
                                  DX_TOP_HIDDEN_MAX);
        if (!dx_version_is_dead(v, i, c.ordinal))
            rc = gather_domain(g, p->first + c.ordinal, c.url_count, 0, err) < 0 ? (int)err->code
                                                                                 : 1;
        if (rc == 1)
            rc = dx_domain_cursor_next(&c, err);
    }
    return rc < 0 ? rc : 1;
}

static int gather_whole(struct gather *g, const struct dx_hidden_range *range,
                        struct dx_problem *problem, struct dx_error *err)
{
    int rc = 1;

    for (size_t i = 0; rc == 1 && i < g->t->version->part_count; i++)
        rc = gather_range(g, i, range, problem, err);
    return rc;
}

static int gather_part(struct gather *g, const struct dx_hidden_part *part, struct dx_error *err)
{
    const struct dx_suppression_pair *pair = dx_suppression_view_pair(&part->withheld,
                                                                      g->t->dataset_id);
    size_t i = dx_version_part_at(g->t->version, part->number);
    const struct dx_version_part *p = &g->t->version->parts[i];
    struct dx_domain_cursor c;
    int rc;

    if (pair == NULL)
        return DX_OK;
    dx_domain_cursor_begin(&c, &p->part->dataset_domains, &g->t->list[i]);
    rc = dx_domain_cursor_seek(&c, part->number - p->first, err);
    if (rc < 0)
        return rc;
    if (rc == 0 || c.ordinal != part->number - p->first || c.url_count != pair->url_count)
        return dx_fail(err, DX_E_CORRUPT, "%s: %s and %s differ on domain %llu in dataset %u",
                       p->part->directory, DX_FILE_DATASET_DOMAINS, DX_FILE_COUNTS,
                       (unsigned long long)(part->number - p->first), (unsigned)pair->dataset_id);
    return gather_domain(g, part->number, pair->url_count, pair->visible.url_count, err);
}

static int gather_all(struct dx_top_domains *t, const struct dx_suppression_domains *h,
                      struct dx_problem *problem)
{
    struct gather g = { t, 0 };
    struct dx_error err = DX_ERROR_INIT;
    int rc = 1;

    for (size_t i = 0; i < h->whole_count && rc == 1; i++)
        rc = gather_whole(&g, &h->whole[i], problem, &err);
    for (size_t i = 0; i < h->part_count && rc > 0; i++)
        rc = gather_part(&g, &h->parts[i], &err) < 0 ? (int)err.code : 1;
    if (rc < 0)
        return dx_problem_of_error(problem, &err);
    if (t->stored_count > 1)
        qsort_r(t->stored, t->stored_count, sizeof *t->stored, by_place, t->version);
    if (t->shown_count > 1)
        qsort_r(t->shown, t->shown_count, sizeof *t->shown, by_place, t->version);
    return rc;
}

/* The lists of the parts, and that they have as many live domains as the dataset. */
static int open_lists(struct dx_top_domains *t, struct dx_error *err)
{
    struct dx_version *v = t->version;
    uint64_t rank = 1;
    uint64_t urls = 0;
    int rc = dx_version_rank(v, t->dataset_id, 0, &rank, err);

    for (size_t i = 0; rc >= 0 && i < v->part_count; i++) {
        rc = dx_dataset_domains_of(&v->parts[i].part->dataset_domains, t->dataset_id, &t->list[i],
                                   err);
        if (rc == 0)
            t->list[i] = (struct dx_domain_list){ .dataset_id = t->dataset_id };
        urls += t->list[i].urls;
    }
    t->domain_count = t->dataset->domains;
    t->url_count = t->dataset->urls;
    if (rc >= 0 && (rank - 1 != t->domain_count || (v->part_count == 1 && urls != t->url_count)))
        rc = dx_fail(err, DX_E_CORRUPT, "%s: %s has other totals of dataset %u than %s",
                     dx_version_own(v)->directory, DX_FILE_DATASET_DOMAINS, (unsigned)t->dataset_id,
                     DX_FILE_DATASETS);
    return rc < 0 ? rc : DX_OK;
}

int dx_top_domains_open(struct dx_top_domains *t, const struct dx_view *view,
                        struct dx_canon *canon, uint32_t dataset_id, struct dx_problem *problem)
{
    struct dx_suppression_domains hidden;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    *t = (struct dx_top_domains){ .version = view->version, .dataset_id = dataset_id };
    rc = dx_lookup_dataset(view, dataset_id, &t->dataset, problem);
    if (rc <= 0)
        return rc;
    if (open_lists(t, &err) < 0)
        return dx_problem_of_error(problem, &err);
    if (t->domain_count == 0)
        return 1;
    rc = dx_suppression_domains_read(&hidden, view, canon, dataset_id, problem);
    if (rc == 1)
        rc = gather_all(t, &hidden, problem);
    dx_suppression_domains_release(&hidden);
    return rc;
}

void dx_top_domains_release(struct dx_top_domains *t)
{
    free(t->stored);
    free(t->shown);
    free(t->window);
    t->stored = t->shown = t->window = NULL;
    t->stored_count = t->shown_count = t->window_size = 0;
}

/* ---- a window of the ranking ---- */

/* How many of them stand before this place. */
static size_t count_before(const struct dx_top_domains *t, const struct dx_domain_count *sorted,
                           size_t count, const struct dx_domain_count *place)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (before(t->version, &sorted[middle], place))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many of them have more URLs. */
static size_t count_above(const struct dx_domain_count *sorted, size_t count, uint64_t url_count)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sorted[middle].url_count > url_count)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first place of those with this number: 1 + domains of the list with more. */
static int rank_of(const struct dx_top_domains *t, uint64_t url_count, uint64_t *rank,
                   struct dx_error *err)
{
    int rc = dx_version_rank(t->version, t->dataset_id, url_count, rank, err);

    *rank -= count_above(t->stored, t->stored_count, url_count);
    *rank += count_above(t->shown, t->shown_count, url_count);
    return rc < 0 ? rc : DX_OK;
}

/* ---- a window of the ranking of the index ---- */

/* Of one part: what is read ahead of its ranking. */
struct stretch {
    uint64_t next; /* place in its ranking */
    size_t at, count;
    struct dx_domain_count ahead[STRETCH];
};

/* On to its next live domain; at == count: there is none. */
static int next_live(const struct dx_top_domains *t, size_t i, struct stretch *s,
                     struct dx_error *err)
{
    const struct dx_version_part *p = &t->version->parts[i];
    int rc = DX_OK;

    while (rc == DX_OK) {
        if (s->at < s->count &&
            !dx_version_is_dead(t->version, i, s->ahead[s->at].ordinal - p->first))
            break;
        if (s->at < s->count) {
            s->at++;
            continue;
        }
        s->at = 0;
        s->count = t->list[i].domains - s->next < STRETCH ? (size_t)(t->list[i].domains - s->next)
                                                          : STRETCH;
        if (s->count == 0)
            break;
        rc = dx_dataset_domains_top(&p->part->dataset_domains, &t->list[i], s->next, s->count,
                                    s->ahead, err);
        s->next += s->count;
        for (size_t k = 0; k < s->count; k++)
            s->ahead[k].ordinal += p->first;
    }
    return rc;
}

/* The number of URLs of the domain in that place: the least one that fewer or as many have more than. */
static int find_count(const struct dx_top_domains *t, uint64_t place, uint64_t *url_count,
                      uint64_t *above, struct dx_error *err)
{
    uint64_t low = 0;
    uint64_t high = t->dataset->urls;
    int rc = DX_OK;

    while (rc >= 0 && low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t rank = 0;

        rc = dx_version_rank(t->version, t->dataset_id, middle, &rank, err);
        if (rank - 1 <= place)
            high = middle;
        else
            low = middle + 1;
    }
    if (rc >= 0)
        rc = dx_version_rank(t->version, t->dataset_id, low, above, err);
    --*above;
    *url_count = low;
    return rc < 0 ? rc : DX_OK;
}

static int merge_parts(struct dx_top_domains *t, struct stretch *parts, uint64_t first, size_t n,
                       struct dx_error *err)
{
    size_t count = t->version->part_count;
    uint64_t url_count;
    uint64_t skip = 0; /* live domains with that number before it */
    size_t done = 0;
    int rc = find_count(t, first, &url_count, &skip, err);

    skip = first - skip;
    for (size_t i = 0; rc == DX_OK && i < count; i++) {
        uint64_t rank = 1;

        if (t->list[i].domains > 0)
            rc = dx_dataset_domains_rank(&t->version->parts[i].part->dataset_domains, &t->list[i],
                                         url_count, &rank, err);
        parts[i] = (struct stretch){ .next = rank - 1 };
        if (rc == DX_OK)
            rc = next_live(t, i, &parts[i], err);
    }
    while (rc == DX_OK && done < n) {
        struct stretch *least = NULL;

        for (size_t i = 0; i < count; i++)
            if (parts[i].at < parts[i].count &&
                (least == NULL ||
                 before(t->version, &parts[i].ahead[parts[i].at], &least->ahead[least->at])))
                least = &parts[i];
        if (least == NULL)
            return dx_fail(err, DX_E_CORRUPT, "%s: the ranking of dataset %u ends before its end",
                           dx_version_own(t->version)->directory, (unsigned)t->dataset_id);
        if (skip > 0)
            skip--;
        else
            t->window[done++] = least->ahead[least->at];
        least->at++;
        rc = next_live(t, (size_t)(least - parts), least, err);
    }
    return rc;
}

static int read_parts(struct dx_top_domains *t, uint64_t first, size_t n, struct dx_error *err)
{
    struct stretch *parts = malloc(t->version->part_count * sizeof *parts);
    int rc = parts == NULL ? dx_no_memory(err, "top domains")
                           : merge_parts(t, parts, first, n, err);

    free(parts);
    return rc;
}

/* The ranking of the index from `first` on, into the scratch: n, or what is left. */
static int read_window(struct dx_top_domains *t, uint64_t first, size_t n, size_t *got,
                       struct dx_error *err)
{
    uint64_t left = t->dataset->domains - first;

    *got = n < left ? n : (size_t)left;
    if (*got > t->window_size) {
        struct dx_domain_count *window = realloc(t->window, *got * sizeof *window);

        if (window == NULL)
            return dx_no_memory(err, "top domains");
        t->window = window;
        t->window_size = *got;
    }
    if (*got == 0)
        return DX_OK;
    return t->version->part_count > 1
               ? read_parts(t, first, *got, err)
               : dx_dataset_domains_top(&t->version->parts[0].part->dataset_domains, &t->list[0],
                                        first, *got, t->window, err);
}

static bool is_stored(const struct dx_top_domains *t, const struct dx_domain_count *d)
{
    size_t at = count_before(t, t->stored, t->stored_count, d);

    return at < t->stored_count && t->stored[at].ordinal == d->ordinal &&
           t->stored[at].url_count == d->url_count;
}

static int put_row(const struct dx_top_domains *t, const struct dx_domain_count *d,
                   const struct dx_top_domain *last, struct dx_top_domain *row,
                   struct dx_error *err)
{
    row->ordinal = d->ordinal;
    row->url_count = d->url_count;
    if (last != NULL && last->url_count == d->url_count) {
        row->rank = last->rank;
        return DX_OK;
    }
    return rank_of(t, d->url_count, &row->rank, err);
}

/* A merge of the index's ranking, without those of which something is hidden, and of what is left
 * of them. Each of these comes later than it was, if at all, so a domain that has the place `first`
 * now is not before it in the index's ranking, and at most as far behind it as there are of
 * them. */
int dx_top_domains_read(struct dx_top_domains *t, uint64_t first, size_t n,
                        struct dx_top_domain *rows, struct dx_error *err)
{
    size_t done = 0;
    size_t shown = 0;
    size_t got = 0;
    uint64_t place = 0;
    int rc;

    assert(n == 0 || (first < t->domain_count && n <= t->domain_count - first));
    if (n == 0)
        return DX_OK;
    rc = read_window(t, first, n + t->stored_count, &got, err);
    if (rc < 0)
        return rc;
    if (first > 0 && got > 0) {
        shown = count_before(t, t->shown, t->shown_count, &t->window[0]);
        place = first - count_before(t, t->stored, t->stored_count, &t->window[0]) + shown;
    }
    for (size_t i = 0; done < n && (i < got || shown < t->shown_count);) {
        const struct dx_domain_count *d = i < got ? &t->window[i] : NULL;

        if (d != NULL && is_stored(t, d)) {
            i++;
            continue;
        }
        if (d == NULL || (shown < t->shown_count && before(t->version, &t->shown[shown], d)))
            d = &t->shown[shown++];
        else
            i++;
        if (place++ < first)
            continue;
        rc = put_row(t, d, done > 0 ? &rows[done - 1] : NULL, &rows[done], err);
        if (rc < 0)
            return rc;
        done++;
    }
    if (done < n)
        return dx_fail(err, DX_E_CORRUPT, "%s: the ranking of dataset %u ends at %llu of %llu",
                       dx_version_own(t->version)->directory, (unsigned)t->dataset_id,
                       (unsigned long long)(first + done), (unsigned long long)t->domain_count);
    return DX_OK;
}

int dx_top_domains_name(const struct dx_top_domains *t, const struct dx_top_domain *row,
                        uint8_t domain[DX_SURT_MAX], size_t *size, struct dx_error *err)
{
    int rc = dx_version_domain(t->version, row->ordinal, domain, size, err);

    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: dataset %u has a domain %llu, the version has none",
                     dx_version_own(t->version)->directory, (unsigned)t->dataset_id,
                     (unsigned long long)row->ordinal);
    return rc;
}
