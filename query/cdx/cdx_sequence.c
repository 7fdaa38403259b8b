/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_sequence.h"

#include "query/view/problem.h"

#define VALUE_MAX ((size_t)64 << 20)

int dx_cdx_sequence_init(struct dx_cdx_sequence *q, const struct dx_cdx_ask *ask,
                         struct dx_problem *problem)
{
    int rc;

    memset(q, 0, sizeof *q);
    q->ask = ask;
    dx_buf_init(&q->place.urlkey, VALUE_MAX);
    dx_buf_init(&q->place.rest, DX_CDX_KEY_BYTES);
    dx_buf_init(&q->rest, DX_CDX_KEY_BYTES);
    dx_cdx_revisits_init(&q->revisits, ask);
    for (size_t i = 0; i <= DX_CDX_COLLAPSES_MAX; i++)
        dx_buf_init(&q->tokens[i].bytes, VALUE_MAX);
    rc = dx_cdx_filters_init(&q->filters, ask, problem);
    if (rc == 1 && ask->resume_key.data != NULL && !dx_cdx_key_read(ask->resume_key, &q->resume))
        rc = dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                            "the resumeKey was not written by this server, or was changed");
    return rc;
}

void dx_cdx_sequence_release(struct dx_cdx_sequence *q)
{
    dx_cdx_filters_release(&q->filters);
    dx_cdx_revisits_release(&q->revisits);
    dx_buf_release(&q->place.urlkey);
    dx_buf_release(&q->place.rest);
    dx_buf_release(&q->rest);
    for (size_t i = 0; i <= DX_CDX_COLLAPSES_MAX; i++)
        dx_buf_release(&q->tokens[i].bytes);
}

bool dx_cdx_sequence_takes_early(const struct dx_cdx_sequence *q)
{
    return !q->ask->paged && !q->ask->resolve_revisits;
}

int dx_cdx_sequence_early(struct dx_cdx_sequence *q, const struct dx_span *columns,
                          uint64_t timestamp, struct dx_error *err)
{
    const struct dx_cdx_ask *ask = q->ask;
    bool timed = ask->from > 0 || ask->to < DX_CDX_TIMESTAMP_MAX;

    if (timestamp == 0 && (timed || !ask->show_untimed))
        return 0;
    if (timestamp < ask->from || timestamp > ask->to)
        return 0;
    return dx_cdx_filters_take(&q->filters, columns, err);
}

/* ---- one after the other ---- */

/* Whether it differs from that of the row before. */
static int changes(struct dx_cdx_token *t, struct dx_span a, struct dx_span b, struct dx_error *err)
{
    struct dx_span before = { t->bytes.data, t->bytes.size };
    bool same = t->any && before.size == a.size + b.size &&
                (a.size == 0 || memcmp(before.data, a.data, a.size) == 0) &&
                (b.size == 0 || memcmp(before.data + a.size, b.data, b.size) == 0);

    if (same)
        return 0;
    t->any = true;
    dx_buf_clear(&t->bytes);
    dx_buf_append(&t->bytes, a.data, a.size);
    dx_buf_append(&t->bytes, b.data, b.size);
    return t->bytes.failed ? dx_buf_fail(&t->bytes, err, "value of a row") : 1;
}

static struct dx_span beginning(struct dx_span value, size_t characters)
{
    if (characters > 0 && value.size > characters)
        value.size = characters;
    return value;
}

static int collapse(struct dx_cdx_sequence *q, const struct dx_span *columns, struct dx_error *err)
{
    const struct dx_cdx_ask *ask = q->ask;
    int rc = 1;

    /* digits first: they have one length, so the two together are one value for each pair */
    if (ask->collapse_time > 0)
        rc = changes(&q->tokens[DX_CDX_COLLAPSES_MAX],
                     beginning(columns[DX_CDX_TIMESTAMP], ask->collapse_time),
                     columns[DX_CDX_STATUS], err);
    for (size_t i = 0; rc == 1 && i < ask->collapse_count; i++)
        rc = changes(&q->tokens[i],
                     beginning(columns[ask->collapses[i].column], ask->collapses[i].characters),
                     dx_span_of(NULL, 0), err);
    return rc;
}

static struct dx_span span_of(const struct dx_buf *b)
{
    return dx_span_of(b->data, b->size);
}

static int move_place(struct dx_cdx_sequence *q, const struct dx_span *columns, uint64_t timestamp,
                      struct dx_error *err)
{
    struct dx_span urlkey = columns[DX_CDX_URLKEY];
    struct dx_cdx_place *p = &q->place;

    dx_buf_clear(&q->rest);
    dx_cdx_key_rest(columns, &q->rest);
    if (p->count > 0 && timestamp == p->timestamp && dx_span_equal(urlkey, span_of(&p->urlkey)) &&
        dx_span_equal(span_of(&q->rest), span_of(&p->rest))) {
        p->count++;
        return DX_OK;
    }
    p->count = 1;
    p->timestamp = timestamp;
    dx_buf_clear(&p->urlkey);
    dx_buf_append(&p->urlkey, urlkey.data, urlkey.size);
    dx_buf_clear(&p->rest);
    dx_buf_append(&p->rest, q->rest.data, q->rest.size);
    if (q->rest.failed || p->rest.failed)
        return dx_no_memory(err, "the place of a row");
    return p->urlkey.failed ? dx_buf_fail(&p->urlkey, err, "urlkey") : DX_OK;
}

/* Whether the answer before ended with the row of q->place, or behind it. */
static bool was_answered(struct dx_cdx_sequence *q)
{
    const struct dx_cdx_place *p = &q->place;
    int order;

    if (q->resume.count == 0)
        return false;
    order = dx_span_compare(span_of(&p->urlkey), q->resume.urlkey);
    if (order == 0)
        order = (p->timestamp > q->resume.timestamp) - (p->timestamp < q->resume.timestamp);
    if (order == 0 && q->resume.rest.data != NULL)
        order = dx_span_compare(span_of(&p->rest), q->resume.rest);
    return order < 0 || (order == 0 && ++q->resumed <= q->resume.count);
}

static bool in_page(const struct dx_cdx_sequence *q, uint64_t rank)
{
    uint64_t rows = (uint64_t)q->ask->page_size * DX_CDX_BLOCK_ROWS;

    return !q->ask->paged || rank / rows == q->ask->page;
}

int dx_cdx_sequence_row(struct dx_cdx_sequence *q, struct dx_span *columns, uint64_t timestamp,
                        struct dx_error *err)
{
    bool early = dx_cdx_sequence_takes_early(q);
    bool answered = false;
    int rc = DX_OK;

    if (!in_page(q, q->rank++) || (timestamp == 0 && !q->ask->show_untimed))
        return 0;
    if (q->ask->show_resume_key || q->resume.count > 0) {
        rc = move_place(q, columns, timestamp, err);
        answered = rc == DX_OK && was_answered(q);
    }
    if (rc == DX_OK && q->ask->resolve_revisits)
        rc = dx_cdx_revisits_row(&q->revisits, columns, err);
    if (rc < 0)
        return rc;
    rc = early ? 1 : dx_cdx_sequence_early(q, columns, timestamp, err);
    if (rc == 1)
        rc = collapse(q, columns, err);
    return rc == 1 && answered ? 0 : rc;
}
