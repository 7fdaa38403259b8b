/* SPDX-License-Identifier: Apache-2.0 */
#include <roaring/roaring.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/json_out.h"
#include "loader/version_parts.h"
#include "query/answers/answer.h"
#include "query/answers/answer_end.h"
#include "query/answers/tag_page.h"
#include "query/suppression/suppression_domains.h"
#include "query/view/counts_json.h"
#include "query/view/domain_json.h"
#include "query/view/suppressed.h"

/* What one request may cost: domains examined, 0.07 to 0.2 us each. A page that comes to it ends
 * there, and its cursor carries what was added up of the TLD at hand. */
#define LOOK_MAX 1000000

/* Where not all is visible, lists of datasets are read for this many domains at a time. */
#define WINDOW (1u << 18)

struct sums {
    uint64_t domains, urls, rows, pages;
};

/* What keys of a TLD begin with; size 0: no TLD. What begins with no letter is an address, or ends in
 * no TLD: all such keys come first. */
struct tld {
    uint8_t text[DX_SURT_MAX];
    size_t size;
};

/* In each part the domains of a TLD follow each other; those of one part come before those of the
 * next newer one. */
struct place {
    bool found; /* there is a TLD at hand */
    struct tld tld;
    size_t part;                /* at hand */
    uint64_t at[DX_PARTS_MAX];  /* ordinals of the parts: below it all is passed */
    uint64_t end[DX_PARTS_MAX]; /* of the TLD */
};

/* Numbers of domains of one TLD in one part, as the page goes over them. */
struct stretch {
    uint64_t first, end;
    struct tld tld;
};

struct page {
    struct dx_tag_page of; /* the question */
    const struct dx_tlds_ask *ask;
    struct place place; /* behind the stretches */
    struct stretch *stretches;
    size_t stretch_count, stretch_capacity;
    roaring_bitmap_t *numbers; /* of domains in the stretches that may be shown */
    uint64_t line;             /* of the log of suppressions */
    struct dx_suppression_domains hidden;
    struct dx_domain_pairs pairs;
    struct sums sums; /* of the TLD at hand */
    uint64_t count;   /* items */
    bool more;        /* another page goes on at the domain with the number `next` */
    uint64_t next;
};

/* ---- TLDs, in the order of keys ---- */

static const struct dx_dictionary *dictionary_of(const struct page *p, size_t part)
{
    return &p->of.view.version->parts[part].part->dictionary;
}

static int tld_at(const struct page *p, size_t part, uint64_t ordinal, struct tld *tld,
                  struct dx_error *err)
{
    struct dx_dictionary_cursor c;
    struct dx_span key;
    int rc;

    dx_dictionary_seek(&c, dictionary_of(p, part), ordinal);
    rc = dx_dictionary_next(&c, &key, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: there is no domain with ordinal %llu",
                     p->of.view.version->parts[part].part->directory, (unsigned long long)ordinal);
    if (rc < 0)
        return rc;
    tld->size = 0;
    while (key.data[0] >= 'a' && tld->size < key.size && key.data[tld->size] != ' ')
        tld->size++;
    memcpy(tld->text, key.data, tld->size);
    return DX_OK;
}

static int compare_tlds(const struct tld *a, const struct tld *b)
{
    return dx_span_compare(dx_span_of(a->text, a->size), dx_span_of(b->text, b->size));
}

/* Where the domains of the TLD begin and end in a part. */
static int bounds_of(const struct page *p, size_t part, const struct tld *tld, uint64_t *first,
                     uint64_t *end, struct dx_error *err)
{
    uint8_t key[DX_SURT_MAX + 1];
    int rc;

    *first = 0;
    memcpy(key, tld->text, tld->size);
    /* Labels have no byte between them and the space. */
    key[tld->size] = tld->size == 0 ? 'a' : ' ' + 1;
    rc = dx_dictionary_lower_bound(dictionary_of(p, part), dx_span_of(key, tld->size + 1), end,
                                   err);
    key[tld->size] = ' ';
    if (rc >= 0 && tld->size > 0)
        rc = dx_dictionary_lower_bound(dictionary_of(p, part), dx_span_of(key, tld->size), first,
                                       err);
    return rc < 0 ? rc : DX_OK;
}

/* On to the least TLD of what is not passed. */
static int next_tld(const struct page *p, struct place *at, struct dx_error *err)
{
    const struct dx_version *v = p->of.view.version;
    uint64_t first;
    int rc = DX_OK;

    at->found = false;
    at->part = 0;
    for (size_t i = 0; rc == DX_OK && i < v->part_count; i++) {
        struct tld tld;

        if (at->at[i] == dictionary_of(p, i)->info.n)
            continue;
        rc = tld_at(p, i, at->at[i], &tld, err);
        if (rc == DX_OK && (!at->found || compare_tlds(&tld, &at->tld) < 0)) {
            at->tld = tld;
            at->found = true;
        }
    }
    for (size_t i = 0; rc == DX_OK && at->found && i < v->part_count; i++) {
        rc = bounds_of(p, i, &at->tld, &first, &at->end[i], err);
        if (rc == DX_OK && at->end[i] < at->at[i])
            rc = dx_fail(err, DX_E_CORRUPT, "%s: domain %llu is out of order",
                         v->parts[i].part->directory, (unsigned long long)at->at[i]);
    }
    return rc;
}

/* To the domain with a number, or to the front. */
static int find_place(const struct page *p, const uint64_t *number, struct place *at,
                      struct dx_error *err)
{
    const struct dx_version *v = p->of.view.version;
    uint64_t first;
    size_t part;
    int rc;

    *at = (struct place){ .found = false };
    if (number == NULL)
        return next_tld(p, at, err);
    part = dx_version_part_at(v, *number);
    rc = tld_at(p, part, *number - v->parts[part].first, &at->tld, err);
    for (size_t i = 0; rc == DX_OK && i < v->part_count; i++) {
        rc = bounds_of(p, i, &at->tld, &first, &at->end[i], err);
        at->at[i] = i < part ? at->end[i] : i > part ? first : *number - v->parts[i].first;
    }
    at->found = true;
    at->part = part;
    return rc;
}

/* The next domains of one TLD in one part, at most `most`: 1, 0 there are none. */
static int next_stretch(const struct page *p, struct place *at, uint64_t most, struct stretch *s,
                        struct dx_error *err)
{
    const struct dx_version *v = p->of.view.version;
    int rc = DX_OK;

    while (rc == DX_OK && at->found) {
        uint64_t left = at->end[at->part] - at->at[at->part];

        if (left > 0) {
            s->tld = at->tld;
            s->first = v->parts[at->part].first + at->at[at->part];
            s->end = s->first + (left < most ? left : most);
            at->at[at->part] += s->end - s->first;
            return 1;
        }
        if (++at->part == v->part_count)
            rc = next_tld(p, at, err);
    }
    return rc;
}

/* ---- which domains ---- */

/* Puts stretches of so many domains together, and in lo and hi which numbers of each part. */
static int add_stretches(struct page *p, uint64_t most, uint64_t lo[DX_PARTS_MAX],
                         uint64_t hi[DX_PARTS_MAX], struct dx_error *err)
{
    int rc = 1;

    for (size_t i = 0; i < DX_PARTS_MAX; i++)
        lo[i] = hi[i] = 0;
    while (rc == 1 && most > 0) {
        struct stretch *to = dx_array_room(p->stretches, p->stretch_count, &p->stretch_capacity,
                                           sizeof *to);
        size_t part;

        if (to == NULL)
            return dx_no_memory(err, "TLDs");
        p->stretches = to;
        to += p->stretch_count;
        rc = next_stretch(p, &p->place, most, to, err);
        if (rc != 1)
            return rc;
        part = dx_version_part_at(p->of.view.version, to->first);
        lo[part] = hi[part] == 0 ? to->first : lo[part];
        hi[part] = to->end;
        most -= to->end - to->first;
        p->stretch_count++;
    }
    return rc;
}

/* 1: there may be more. */
static int add_window(struct page *p, uint64_t *looked, struct dx_error *err)
{
    const struct dx_version *v = p->of.view.version;
    const struct dx_registry *r = &v->registry;
    uint64_t lo[DX_PARTS_MAX], hi[DX_PARTS_MAX];
    int more = add_stretches(p, WINDOW, lo, hi, err);
    int rc = more;

    for (size_t i = 0; rc >= 0 && i < r->count; i++) {
        uint32_t id = r->datasets[i].dataset_id;

        if (p->of.dataset != NULL ? id != p->of.dataset->dataset_id
                                  : !dx_view_shows(&p->of.view, id))
            continue;
        *looked += p->of.dataset == NULL;
        for (size_t k = 0; rc >= 0 && k < v->part_count; k++)
            rc = dx_version_add_dataset(v, id, lo[k], hi[k], p->numbers, looked, err);
    }
    return rc < 0 ? rc : more;
}

/* The visible domains from the place on, as many as a page may look at. */
static int find_domains(struct page *p, struct dx_error *err)
{
    uint64_t max = p->ask->look_max > 0 ? p->ask->look_max : LOOK_MAX;
    uint64_t lo[DX_PARTS_MAX], hi[DX_PARTS_MAX];
    uint64_t looked = 0;
    int rc = 1;

    p->numbers = roaring_bitmap_create();
    if (p->numbers == NULL)
        return dx_no_memory(err, "TLDs");
    if (p->of.dataset == NULL && !dx_view_restricted(&p->of.view)) {
        rc = add_stretches(p, max, lo, hi, err);
        for (size_t i = 0; i < p->stretch_count; i++)
            roaring_bitmap_add_range(p->numbers, p->stretches[i].first, p->stretches[i].end);
    }
    while (rc == 1 && (p->of.dataset != NULL || dx_view_restricted(&p->of.view)) && looked < max) {
        rc = add_window(p, &looked, err);
        looked++;
    }
    return rc < 0 ? rc : dx_version_remove_dead(p->of.view.version, p->numbers, err);
}

static int find_hidden(struct page *p, struct dx_canon *canon, struct dx_problem *problem)
{
    int rc = dx_suppression_domains_take_out(&p->hidden, &p->of.view, canon, p->numbers, problem);

    if (rc == 1 && p->line != dx_suppressed_line(p->of.view.version))
        rc = dx_suppression_view_unknown(0, problem);
    return rc;
}

/* ---- items ---- */

static int add_domain(struct page *p, uint64_t number, struct dx_error *err)
{
    const struct dx_version *v = p->of.view.version;
    const struct dx_hidden_part *hidden = dx_suppression_domains_part(&p->hidden, number);
    const struct dx_version_part *of = &v->parts[dx_version_part_at(v, number)];
    struct dx_domain_pairs *pairs = &p->pairs;
    bool shown = false;
    int rc = dx_view_pairs(pairs, &p->of.view, of->part, number - of->first, err);

    if (rc >= 0 && hidden != NULL)
        pairs->count = dx_suppression_view_show(&hidden->withheld, pairs->ids, pairs->counts,
                                                pairs->count, NULL);
    for (size_t i = 0; rc >= 0 && i < pairs->count; i++) {
        if (p->of.dataset != NULL && pairs->ids[i] != p->of.dataset->dataset_id)
            continue;
        if (dx_view_of_counts(&p->of.view, pairs->ids[i])) {
            p->sums.pages += pairs->counts[i].row_count;
        } else {
            p->sums.urls += pairs->counts[i].url_count;
            p->sums.rows += pairs->counts[i].row_count;
        }
        shown = true;
    }
    p->sums.domains += shown;
    return rc < 0 ? rc : DX_OK;
}

/* Of a TLD behind the last item of the page only whether there is a domain: what is not shown must
 * not make another page. */
static int add_stretch(struct page *p, const struct stretch *s, struct dx_error *err)
{
    bool full = p->count == p->ask->limit;
    roaring_uint32_iterator_t it;
    int rc = DX_OK;

    roaring_init_iterator(p->numbers, &it);
    if (!roaring_move_uint32_iterator_equalorlarger(&it, (uint32_t)s->first))
        return DX_OK;
    while (rc == DX_OK && it.has_value && it.current_value < s->end &&
           !(full && p->sums.domains > 0)) {
        rc = add_domain(p, it.current_value, err);
        (void)roaring_advance_uint32_iterator(&it);
    }
    return rc;
}

static void write_item(struct page *p, const struct tld *tld, struct dx_json *j)
{
    dx_json_object(j);
    dx_json_key(j, "tld");
    tld->size > 0 ? dx_json_text(j, dx_span_of(tld->text, tld->size)) : dx_json_null(j);
    dx_unicode_json(j, "tld_unicode", dx_span_of(tld->text, tld->size));
    dx_json_key_u64(j, "domain_count", p->sums.domains);
    dx_counts_json_sums(j, p->of.dataset, p->sums.urls, p->sums.rows, p->sums.pages);
    dx_json_end(j);
    p->sums = (struct sums){ 0, 0, 0, 0 };
    p->count++;
}

/* All of a TLD, whose first stretch begins at a number, is added up. False: the page was full. */
static bool end_tld(struct page *p, const struct tld *tld, uint64_t first, struct dx_json *j)
{
    if (p->sums.domains == 0)
        return true;
    if (p->count < p->ask->limit) {
        write_item(p, tld, j);
        return true;
    }
    p->sums = (struct sums){ 0, 0, 0, 0 };
    p->next = first;
    p->more = true;
    return false;
}

/* What follows the last stretch: the rest of its TLD, another one, or nothing. */
static int end_stretches(struct page *p, uint64_t first, struct dx_json *j, struct dx_error *err)
{
    const struct stretch *last = &p->stretches[p->stretch_count - 1];
    struct place at = p->place;
    struct stretch behind;
    int rc = next_stretch(p, &at, 1, &behind, err);

    if (rc < 0)
        return rc;
    if (rc == 0 || compare_tlds(&behind.tld, &last->tld) != 0) {
        if (!end_tld(p, &last->tld, first, j))
            return DX_OK;
    } else if (p->count == p->ask->limit && p->sums.domains > 0) {
        (void)end_tld(p, &last->tld, first, j);
        return DX_OK;
    }
    p->more = rc == 1;
    p->next = rc == 1 ? behind.first : 0;
    return DX_OK;
}

/* A TLD is written when all of it is added up. */
static int write_items(struct page *p, struct dx_json *j, struct dx_error *err)
{
    uint64_t first = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < p->stretch_count; i++) {
        const struct stretch *s = &p->stretches[i];

        if (i == 0 || compare_tlds(&s->tld, &p->stretches[i - 1].tld) != 0) {
            if (i > 0 && !end_tld(p, &p->stretches[i - 1].tld, first, j))
                return DX_OK;
            first = s->first;
        }
        rc = add_stretch(p, s, err);
    }
    return rc == DX_OK && p->stretch_count > 0 ? end_stretches(p, first, j, err) : rc;
}

/* ---- the page ---- */

static int write_cursor(const struct page *p, struct dx_json *j, struct dx_error *err)
{
    struct dx_cursor c = { .kind = DX_CURSOR_TLDS,
                           .began_s = p->ask->paging.began_s,
                           .limit = (uint32_t)p->ask->limit,
                           .next_row = p->next,
                           .line = p->line,
                           .sums = { p->sums.domains, p->sums.urls, p->sums.rows, p->sums.pages } };

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
    if (rc >= 0 && p->more)
        rc = write_cursor(p, &j, err);
    else
        dx_json_null(&j);
    dx_answer_end(&j, p->of.view.version);
    return rc >= 0 && body->failed ? dx_buf_fail(body, err, "answer") : rc;
}

/* A sum over two states of the suppressions is of neither. */
static int go_on(struct page *p, const struct dx_cursor *from, struct dx_problem *problem)
{
    p->sums = (struct sums){ from->sums[0], from->sums[1], from->sums[2], from->sums[3] };
    if (from->next_row >= p->of.view.version->numbers)
        return dx_tag_page_mismatch("domains that this version does not have", problem);
    if (p->sums.domains == 0 || p->line == from->line)
        return 1;
    return dx_problem_set(problem, DX_PROBLEM_GONE, "cursor-expired", "The cursor is too old",
                          "suppressions changed while the domains of a TLD were added up; begin "
                          "again without the cursor");
}

static int begin(struct page *p, struct dx_problem *problem)
{
    const struct dx_cursor *from = p->ask->paging.from;
    struct dx_error err = DX_ERROR_INIT;
    int rc = find_place(p, from == NULL ? NULL : &from->next_row, &p->place, &err);

    if (rc == DX_OK)
        rc = find_domains(p, &err);
    return rc < 0 ? dx_problem_of_error(problem, &err) : 1;
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
    if (rc == 1)
        rc = begin(&p, problem);
    if (rc == 1)
        rc = find_hidden(&p, canon, problem);
    if (rc == 1 && write_page(&p, body, &err) < 0) {
        dx_buf_clear(body);
        rc = dx_problem_of_error(problem, &err);
    }
    dx_suppression_domains_release(&p.hidden);
    dx_domain_pairs_release(&p.pairs);
    if (p.numbers != NULL)
        roaring_bitmap_free(p.numbers);
    free(p.stretches);
    return rc;
}
