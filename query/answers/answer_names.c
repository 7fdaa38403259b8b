/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/answer_names.h"

#include "base/civil_time.h"
#include "base/csv_out.h"
#include "base/json_out.h"
#include "base/limits.h"
#include "base/put.h"
#include "base/utf8.h"
#include "canon/url.h"
#include "loader/domain_pairs.h"
#include "loader/version_parts.h"
#include "query/answers/answer_end.h"
#include "query/answers/domain_text.h"
#include "query/suppression/suppression_view.h"
#include "query/view/dataset_list.h"
#include "query/view/lookup.h"
#include "query/view/view.h"

#include <assert.h>
#include <stdlib.h>

/* Of the texts of a batch: usual names fill a tenth of it, and the longest one fits. */
#define TEXT_MAX (64u * 1024)
#define AHEAD 2 /* names, for each of two steps */

struct entry {
    uint64_t line;
    struct dx_span asked;  /* in text */
    struct dx_span domain; /* in text; data NULL: it has none */
    const char *reason;    /* why it has none */
    size_t hit;            /* in hits, of one with a domain */
};

struct dx_names {
    struct dx_view view;
    struct dx_canon *canon;
    enum dx_names_format format;
    bool with_pages;   /* some dataset that is shown is of counts: CSV has a column for it */
    uint32_t *columns; /* of a matrix: dataset ids, in their order there */
    size_t column_count;
    struct dx_domain_pairs pairs;
    struct dx_names_counts counts;

    struct entry entries[DX_NAMES_BATCH];
    size_t count, at; /* entries, and how many of them have been written */
    struct dx_span domains[DX_NAMES_BATCH];
    struct dx_version_hit hits[DX_NAMES_BATCH];
    size_t domain_count;
    bool looked_up;
    size_t text_size;
    uint8_t text[TEXT_MAX];
};

/* What there is to say of one name. */
struct answer {
    bool found;
    bool refused;           /* not found because it is withheld */
    const char *reason;     /* of one that is not found */
    uint64_t withheld_rows; /* of all its datasets */
    const struct dx_registry *registry;
    const uint32_t *ids;
    const struct dx_pair_count *pairs;
    size_t count;
    const struct dx_suppression_view *withheld;
};

bool dx_names_format_parse(struct dx_span text, enum dx_names_format *format)
{
    static const char *const words[] = { "ndjson", "csv", "matrix" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (dx_span_equal(text, dx_span_str(words[i]))) {
            *format = (enum dx_names_format)i;
            return true;
        }
    return false;
}

/* ---- columns ---- */

static int bad_datasets(struct dx_problem *problem, const char *why)
{
    return dx_problem_set(
        problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
        "datasets: %s; it is a list of ids or names of datasets with commas between them", why);
}

static int take_columns(struct dx_names *n, struct dx_span list, struct dx_problem *problem)
{
    bool listed = list.size > 0 && memchr(list.data, ',', list.size) != NULL;

    if (list.size == 0)
        return bad_datasets(problem, "it is empty");
    while (list.data != NULL) {
        uint32_t id = 0;

        if (n->column_count == DX_NAMES_COLUMNS_MAX)
            return bad_datasets(problem, "these are more than 2000");
        if (dx_dataset_list_find(&n->view, dx_dataset_list_word(&list), listed, &id, problem) == 0)
            return 0;
        for (size_t i = 0; i < n->column_count; i++)
            if (n->columns[i] == id)
                return bad_datasets(problem, "a dataset is given twice");
        n->columns[n->column_count++] = id;
    }
    return 1;
}

static int all_columns(struct dx_names *n, struct dx_problem *problem)
{
    const struct dx_registry *r = &n->view.version->registry;
    size_t datasets = dx_view_datasets(&n->view);

    if (datasets > DX_NAMES_COLUMNS_MAX)
        return dx_problem_set(problem, DX_PROBLEM_TOO_MUCH, "too-much",
                              "The answer is over a limit",
                              "a matrix has at most %d columns and there are %zu datasets; choose "
                              "with datasets=1,2,3, or ask for format=csv",
                              DX_NAMES_COLUMNS_MAX, datasets);
    for (size_t i = 0; i < r->count; i++)
        if (dx_view_shows(&n->view, r->datasets[i].dataset_id))
            n->columns[n->column_count++] = r->datasets[i].dataset_id;
    return 1;
}

static int set_columns(struct dx_names *n, struct dx_span list, struct dx_problem *problem)
{
    struct dx_error err = DX_ERROR_INIT;

    if (n->format != DX_NAMES_MATRIX)
        return list.data == NULL ? 1 : bad_datasets(problem, "only a matrix has columns to choose");
    n->columns = malloc(DX_NAMES_COLUMNS_MAX * sizeof *n->columns);
    if (n->columns == NULL) {
        (void)dx_no_memory(&err, "bulk");
        return dx_problem_of_error(problem, &err);
    }
    return list.data == NULL ? all_columns(n, problem) : take_columns(n, list, problem);
}

static bool shows_counts(const struct dx_view *view)
{
    const struct dx_registry *r = &view->version->registry;
    bool some = false;

    for (size_t i = 0; r->has_counts && i < r->count && !some; i++)
        some = r->datasets[i].kind == DX_DATASET_COUNTS &&
               dx_view_shows(view, r->datasets[i].dataset_id);
    return some;
}

int dx_names_new(struct dx_names **out, const struct dx_view *view, const struct dx_names_ask *ask,
                 struct dx_problem *problem)
{
    struct dx_names *n = malloc(sizeof *n);
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    *out = NULL;
    if (n == NULL) {
        (void)dx_no_memory(&err, "bulk");
        return dx_problem_of_error(problem, &err);
    }
    n->view = *view;
    n->canon = NULL;
    n->format = ask->format;
    n->with_pages = shows_counts(view);
    n->columns = NULL;
    n->pairs = (struct dx_domain_pairs)DX_DOMAIN_PAIRS_INIT;
    n->counts = (struct dx_names_counts){ .names = 0 };
    n->column_count = n->count = n->at = n->domain_count = n->text_size = 0;
    n->looked_up = false;
    rc = dx_version_canon_new(view->version, &n->canon, &err);
    rc = rc < 0 ? dx_problem_of_error(problem, &err) : set_columns(n, ask->datasets, problem);
    if (rc == 1)
        *out = n;
    else
        dx_names_free(&n);
    return rc;
}

void dx_names_free(struct dx_names **n)
{
    if (*n == NULL)
        return;
    dx_canon_free(&(*n)->canon);
    dx_domain_pairs_release(&(*n)->pairs);
    free((*n)->columns);
    free(*n);
    *n = NULL;
}

struct dx_names_counts dx_names_counts_of(const struct dx_names *n)
{
    return n->counts;
}

/* ---- in ---- */

static struct dx_span keep(struct dx_names *n, struct dx_span s)
{
    uint8_t *to = n->text + n->text_size;

    if (s.size > 0)
        memcpy(to, s.data, s.size);
    n->text_size += s.size;
    return (struct dx_span){ to, s.size };
}

static void reduce(struct dx_names *n, struct entry *e, const struct dx_name *name)
{
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_span domain;

    if (name->flaw != DX_FLAW_NONE) {
        e->reason = name->flaw == DX_FLAW_TOO_LONG ? dx_reject_name(DX_REJECT_TOO_LONG)
                                                   : "malformed";
    } else if (dx_canon_domain(n->canon, name->asked, &domain, &why) == 0) {
        e->reason = dx_reject_name(why);
    } else {
        e->domain = keep(n, domain);
        e->hit = n->domain_count;
        n->domains[n->domain_count++] = e->domain;
    }
}

bool dx_names_add(struct dx_names *n, const struct dx_name *name)
{
    struct entry *e = &n->entries[n->count];

    static_assert(TEXT_MAX > DX_NAME_LINE_MAX + DX_DOMAIN_MAX, "the longest name fits");
    if (n->at == n->count) { /* all are written */
        n->count = n->at = n->domain_count = n->text_size = 0;
        n->looked_up = false;
        e = n->entries;
    }
    if (n->looked_up || n->count == DX_NAMES_BATCH ||
        name->asked.size + DX_DOMAIN_MAX > sizeof n->text - n->text_size)
        return false;
    n->count++;
    *e = (struct entry){ .line = name->line, .asked = keep(n, name->asked) };
    reduce(n, e, name);
    return true;
}

/* ---- NDJSON ---- */

#define PAIR_MAX                                                                          \
    (DX_PUT_SIZE("{\"dataset_id\":,\"url_count\":,\"row_count\":,\"withheld_rows\":},") + \
     DX_PUT_SIZE("\"kind\":\"counts\",\"page_count\":,nullnull") + 5 * DX_PUT_U64_MAX)
#define HEAD_MAX                                                                     \
    (DX_PUT_SIZE(",\"found\":true,\"dataset_count\":,\"url_count\":,\"row_count\":," \
                 "\"withheld_rows\":,\"counts_only_datasets\":,\"datasets\":[") +    \
     5 * DX_PUT_U64_MAX)

static void json_name(const struct entry *e, struct dx_buf *out)
{
    uint8_t *p = dx_buf_reserve(out, DX_PUT_SIZE("{\"line\":,\"asked\":\"") + DX_PUT_U64_MAX);

    if (p == NULL)
        return;
    out->size += (size_t)(DX_PUT(dx_put_u64(DX_PUT(p, "{\"line\":"), e->line), ",\"asked\":\"") -
                          p);
    assert(out->size <= out->capacity);
    dx_json_escape(out, e->asked);
    if (e->domain.data == NULL) {
        dx_buf_str(out, "\",\"domain\":null");
        return;
    }
    dx_buf_str(out, "\",\"domain\":\"");
    dx_json_escape(out, e->domain);
    dx_domain_text_unicode(e->domain, out);
    dx_buf_u8(out, '"');
}

static bool is_of_counts(const struct answer *a, size_t i)
{
    return dx_registry_of_counts(a->registry, a->ids[i]);
}

static uint8_t *put_pair(uint8_t *p, const struct answer *a, size_t i)
{
    const struct dx_suppression_pair *hidden = dx_suppression_view_pair(a->withheld, a->ids[i]);

    p = dx_put_u64(DX_PUT(p, "{\"dataset_id\":"), a->ids[i]);
    if (is_of_counts(a, i)) {
        p = dx_put_u64(DX_PUT(p, ",\"kind\":\"counts\",\"page_count\":"), a->pairs[i].row_count);
        p = DX_PUT(p, ",\"url_count\":null,\"row_count\":null");
    } else {
        p = dx_put_u64(DX_PUT(p, ",\"url_count\":"), a->pairs[i].url_count);
        p = dx_put_u64(DX_PUT(p, ",\"row_count\":"), a->pairs[i].row_count);
    }
    if (hidden != NULL && hidden->withheld_rows > 0)
        p = dx_put_u64(DX_PUT(p, ",\"withheld_rows\":"), hidden->withheld_rows);
    return DX_PUT(p, "},");
}

static void json_found(const struct answer *a, struct dx_buf *out)
{
    struct dx_pair_count sum = { 0 };
    uint64_t counts_only = 0;
    uint8_t *begin = dx_buf_reserve(out, HEAD_MAX + a->count * PAIR_MAX + DX_PUT_SIZE("]}\n"));
    uint8_t *p = begin;

    if (begin == NULL)
        return;
    for (size_t i = 0; i < a->count; i++)
        if (is_of_counts(a, i))
            counts_only++;
        else
            dx_pair_count_add(&sum, &a->pairs[i]);
    p = dx_put_u64(DX_PUT(p, ",\"found\":true,\"dataset_count\":"), a->count);
    p = dx_put_u64(DX_PUT(p, ",\"url_count\":"), sum.url_count);
    p = dx_put_u64(DX_PUT(p, ",\"row_count\":"), sum.row_count);
    if (a->withheld_rows > 0)
        p = dx_put_u64(DX_PUT(p, ",\"withheld_rows\":"), a->withheld_rows);
    if (counts_only > 0)
        p = dx_put_u64(DX_PUT(p, ",\"counts_only_datasets\":"), counts_only);
    p = DX_PUT(p, ",\"datasets\":[");
    for (size_t i = 0; i < a->count; i++)
        p = put_pair(p, a, i);
    p = DX_PUT(p - (a->count > 0), "]}\n"); /* the last comma goes */
    out->size += (size_t)(p - begin);
    assert(out->size <= out->capacity);
}

static void json_answer(const struct entry *e, const struct answer *a, struct dx_buf *out)
{
    json_name(e, out);
    if (a->found) {
        json_found(a, out);
        return;
    }
    dx_buf_str(out, ",\"found\":false,\"reason\":\"");
    dx_buf_str(out, a->reason);
    dx_buf_str(out, "\"}\n");
}

/* ---- CSV ---- */

/* As JSON has it: bytes that are not UTF-8 are U+FFFD, or one of them would spoil the whole
 * table. */
static void csv_asked(struct dx_span s, struct dx_buf *out)
{
    struct dx_buf text = DX_BUF_INIT(3 * DX_NAME_LINE_MAX);

    if (dx_utf8_is_valid(s)) {
        dx_csv_text(out, s);
        return;
    }
    for (size_t i = 0; i < s.size;) {
        size_t n = dx_utf8_size(s.data + i, s.size - i);

        if (n > 0)
            dx_buf_append(&text, s.data + i, n);
        else
            dx_buf_str(&text, "\xef\xbf\xbd");
        i += n > 0 ? n : 1;
    }
    dx_csv_text(out, dx_span_of(text.data, text.size));
    out->failed = out->failed || text.failed;
    dx_buf_release(&text);
}

#define CSV_NAME "asked,domain,reason"
#define CSV_COLUMNS CSV_NAME ",dataset_id,dataset,url_count,row_count,first_ts,last_ts"

/* The reason is empty where datasets are listed: withheld is another answer than absent. */
static void csv_name(const struct entry *e, const struct answer *a, struct dx_buf *out)
{
    csv_asked(e->asked, out);
    dx_buf_u8(out, ',');
    dx_csv_text(out, e->domain);
    dx_buf_u8(out, ',');
    if (!a->found)
        dx_buf_str(out, a->reason);
}

static void csv_pair(const struct dx_names *n, uint32_t id, const struct dx_pair_count *pair,
                     struct dx_buf *out)
{
    const struct dx_dataset *d = dx_registry_by_id(&n->view.version->registry, id);
    bool pages = d != NULL && d->kind == DX_DATASET_COUNTS;
    uint8_t *p;

    dx_csv_u64(out, id);
    dx_buf_u8(out, ',');
    if (d != NULL)
        dx_csv_text(out, dx_span_str(d->name));
    p = dx_buf_reserve(out, 5 + 3 * DX_PUT_U64_MAX + 2 * DX_CIVIL_TEXT + 2);
    if (p == NULL)
        return;
    out->data[out->size++] = ',';
    p = pages ? p + 1 : dx_put_u64(p + 1, pair->url_count);
    *p++ = ',';
    p = pages ? p : dx_put_u64(p, pair->row_count);
    *p++ = ',';
    p += pair->has_ts ? dx_civil_text_us(pair->first_us, (char *)p) : 0;
    *p++ = ',';
    p += pair->has_ts ? dx_civil_text_us(pair->last_us, (char *)p) : 0;
    if (n->with_pages)
        *p++ = ',';
    if (pages)
        p = dx_put_u64(p, pair->row_count);
    out->size = (size_t)(DX_PUT(p, "\r\n") - out->data);
    assert(out->size <= out->capacity);
}

static void csv_answer(const struct dx_names *n, const struct entry *e, const struct answer *a,
                       struct dx_buf *out)
{
    size_t begin = out->size;
    size_t size;

    csv_name(e, a, out);
    dx_buf_u8(out, ',');
    if (!a->found) {
        dx_buf_str(out, n->with_pages ? ",,,,,,\r\n" : ",,,,,\r\n");
        return;
    }
    size = out->size - begin; /* each line begins with the same */
    for (size_t i = 0; i < a->count; i++) {
        if (i > 0 && dx_buf_reserve(out, size) != NULL) {
            memcpy(out->data + out->size, out->data + begin, size);
            out->size += size;
            assert(out->size <= out->capacity);
        }
        csv_pair(n, a->ids[i], &a->pairs[i], out);
    }
}

static uint64_t urls_of(const struct answer *a, uint32_t id)
{
    size_t low = 0;
    size_t high = a->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (a->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->count && a->ids[low] == id ? a->pairs[low].url_count : 0;
}

static void matrix_answer(const struct dx_names *n, const struct entry *e, const struct answer *a,
                          struct dx_buf *out)
{
    uint8_t *p;

    csv_name(e, a, out);
    p = dx_buf_reserve(out, n->column_count * (1 + DX_PUT_U64_MAX) + 2);
    if (p == NULL)
        return;
    for (size_t i = 0; i < n->column_count; i++) {
        uint64_t urls = urls_of(a, n->columns[i]); /* a pair has at least one */

        *p++ = ',';
        if (urls > 0)
            p = dx_put_u64(p, urls);
    }
    out->size = (size_t)(DX_PUT(p, "\r\n") - out->data);
    assert(out->size <= out->capacity);
}

/* ---- out ---- */

void dx_names_begin(struct dx_names *n, struct dx_buf *out)
{
    if (n->format == DX_NAMES_CSV)
        dx_buf_str(out, n->with_pages ? CSV_COLUMNS ",page_count\r\n" : CSV_COLUMNS "\r\n");
    if (n->format != DX_NAMES_MATRIX)
        return;
    dx_buf_str(out, CSV_NAME);
    for (size_t i = 0; i < n->column_count; i++) {
        dx_buf_u8(out, ',');
        dx_csv_text(
            out, dx_span_str(dx_registry_by_id(&n->view.version->registry, n->columns[i])->name));
    }
    dx_csv_end(out);
}

void dx_names_end(struct dx_names *n, struct dx_buf *out)
{
    const struct dx_names_counts *c = &n->counts;
    struct dx_json j;

    if (n->format != DX_NAMES_NDJSON)
        return;
    dx_json_open(&j, out);
    dx_json_object(&j);
    dx_json_key(&j, "summary");
    dx_json_object(&j);
    dx_json_key(&j, "names");
    dx_json_u64(&j, c->names);
    dx_json_key(&j, "found");
    dx_json_u64(&j, c->found);
    dx_json_key(&j, "absent");
    dx_json_u64(&j, c->absent);
    dx_json_key(&j, "withheld");
    dx_json_u64(&j, c->withheld);
    dx_json_key(&j, "rejected");
    dx_json_u64(&j, c->rejected);
    dx_json_end(&j);
    dx_answer_end(&j, n->view.version);
    dx_buf_u8(out, '\n');
}

static void write_answer(struct dx_names *n, const struct entry *e, const struct answer *a,
                         struct dx_buf *out)
{
    if (n->format == DX_NAMES_NDJSON)
        json_answer(e, a, out);
    else if (n->format == DX_NAMES_CSV)
        csv_answer(n, e, a, out);
    else
        matrix_answer(n, e, a, out);
}

/* What a problem of one name says in a line of its own. */
static int not_found(const struct dx_problem *problem, struct answer *a)
{
    a->refused = problem->kind == DX_PROBLEM_WITHHELD;
    a->reason = a->refused ? "withheld" : "absent";
    return 0;
}

/* 1 found, and then *w is held; 0 not; <0 problem. */
static int look_up_name(struct dx_names *n, const struct entry *e, struct answer *a,
                        struct dx_suppression_view *w, struct dx_problem *problem)
{
    const struct dx_version_hit *hit = &n->hits[e->hit];
    struct dx_error err = DX_ERROR_INIT;
    DX_UNINITIALIZED struct dx_found found;
    int rc;

    if (dx_lookup_allowed(&n->view, e->domain, problem) == 0)
        return not_found(problem, a);
    found.part = hit->part;
    found.ordinal = hit->ordinal;
    found.domain_id = hit->domain_id;
    rc = hit->rc >= 0 ? hit->rc
                      : dx_version_find(n->view.version, e->domain, &found.part, &found.ordinal,
                                        &found.domain_id, &err);
    a->reason = "absent";
    if (rc == 1)
        rc = dx_view_pairs(&n->pairs, &n->view, found.part, found.ordinal, &err);
    if (rc <= 0)
        return rc == 0 ? 0 : dx_problem_of_error(problem, &err);
    found.domain_size = e->domain.size;
    memcpy(found.domain, e->domain.data, e->domain.size);
    rc = dx_suppression_view_of(&n->view, &found, w, problem);
    if (rc <= 0)
        return rc == 0 ? not_found(problem, a) : rc;
    a->registry = &n->view.version->registry;
    a->ids = n->pairs.ids;
    a->pairs = n->pairs.counts;
    a->withheld = w;
    a->count = dx_suppression_view_show(w, n->pairs.ids, n->pairs.counts, n->pairs.count,
                                        &a->withheld_rows);
    a->found = true;
    return 1;
}

static int write_one(struct dx_names *n, const struct entry *e, struct dx_buf *out,
                     struct dx_problem *problem)
{
    struct answer a = { .reason = e->reason };
    struct dx_suppression_view withheld = { .entry = NULL };
    struct dx_error err = DX_ERROR_INIT;
    size_t begin = out->size;
    int rc = e->domain.data == NULL ? 0 : look_up_name(n, e, &a, &withheld, problem);

    if (rc < 0)
        return rc;
    write_answer(n, e, &a, out);
    dx_suppression_view_release(&withheld);
    if (out->failed) {
        out->size = begin;
        (void)dx_buf_fail(out, &err, "answer");
        return dx_problem_of_error(problem, &err);
    }
    n->counts.names++;
    n->counts.found += a.found;
    n->counts.rejected += e->domain.data == NULL;
    if (e->domain.data != NULL && !a.found)
        *(a.refused ? &n->counts.withheld : &n->counts.absent) += 1;
    return DX_OK;
}

/* What is read of a name comes from memory while those before it are written. */
static void prefetch(const struct dx_names *n, size_t at, unsigned step)
{
    const struct dx_version_hit *hit;

    if (at >= n->count || n->entries[at].domain.data == NULL)
        return;
    hit = &n->hits[n->entries[at].hit];
    if (hit->rc == 1)
        dx_domain_pairs_prefetch(hit->part, hit->ordinal, step);
}

int dx_names_write(struct dx_names *n, struct dx_buf *out, size_t out_max,
                   struct dx_problem *problem)
{
    if (!n->looked_up)
        dx_version_find_batch(n->view.version, n->domains, n->domain_count, n->hits);
    n->looked_up = n->count > 0;
    while (n->at < n->count) {
        int rc;

        if (out->size >= out_max)
            return DX_NAMES_MORE;
        prefetch(n, n->at + 2 * AHEAD, 0);
        prefetch(n, n->at + AHEAD, 1);
        rc = write_one(n, &n->entries[n->at], out, problem);
        if (rc < 0)
            return rc;
        n->at++;
    }
    return 1;
}
