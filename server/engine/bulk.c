/* SPDX-License-Identifier: Apache-2.0 */
#include "server/engine/bulk.h"

#include "query/view/view.h"
#include "server/http/body.h"

#include <stdlib.h>

struct dx_bulk {
    struct dx_body body;
    bool body_ended;
    bool refused;
    struct dx_name_list *list;
    struct dx_names *names; /* NULL until opened */
    enum dx_names_format format;
    bool begun;      /* the head of the answer is in out */
    bool writing;    /* a batch is not written to its end */
    bool name_waits; /* `name` did not fit the batch */
    struct dx_name name;
    struct dx_bulk_counts counts;
};

/* text/plain where nothing is said, or nothing but that it is bytes; parameters are not looked
 * at. */
static bool format_of(struct dx_span type, enum dx_name_list_format *format)
{
    const uint8_t *semicolon = type.size == 0 ? NULL : memchr(type.data, ';', type.size);

    if (semicolon != NULL)
        type.size = (size_t)(semicolon - type.data);
    type = dx_span_trimmed(type);
    if (type.size == 0 || dx_span_is_word(type, "text/plain") ||
        dx_span_is_word(type, "application/octet-stream"))
        *format = DX_NAME_LIST_TEXT;
    else if (dx_span_is_word(type, "text/csv"))
        *format = DX_NAME_LIST_CSV;
    else if (dx_span_is_word(type, "application/x-ndjson"))
        *format = DX_NAME_LIST_NDJSON;
    else if (dx_span_is_word(type, "application/json"))
        *format = DX_NAME_LIST_JSON;
    else
        return false;
    return true;
}

int dx_bulk_new(struct dx_bulk **out, const struct dx_request_head *head, struct dx_span bytes,
                struct dx_bulk_refusal *why)
{
    struct dx_error ignored = DX_ERROR_INIT;
    enum dx_name_list_format format;
    struct dx_bulk *b;

    *out = NULL;
    *why = (struct dx_bulk_refusal){ 415,
                                     "the body must be text/plain, text/csv, "
                                     "application/json or application/x-ndjson; curl says so with "
                                     "-H 'Content-Type: text/plain'" };
    if (!format_of(dx_head_slice(bytes, head->content_type), &format))
        return 0;
    *why = (struct dx_bulk_refusal){ 500, "out of memory" };
    b = calloc(1, sizeof *b);
    if (b == NULL || dx_name_list_new(&b->list, format, &ignored) < 0) {
        free(b);
        return 0;
    }
    dx_body_begin(&b->body, head->chunked, head->body_size);
    *out = b;
    return 1;
}

int dx_bulk_open(struct dx_bulk *b, const struct dx_answers *answers, struct dx_version *v,
                 const struct dx_ask *ask, struct dx_problem *problem)
{
    struct dx_names_ask names = { .format = DX_NAMES_NDJSON, .datasets = ask->datasets };
    const struct dx_view view = { v, ask->scope, false };

    if (ask->format.data != NULL && !dx_names_format_parse(ask->format, &names.format))
        return dx_problem_set(problem, DX_PROBLEM_BAD_REQUEST, "bad-parameter", "Bad parameter",
                              "format is one of ndjson, csv and matrix");
    b->format = names.format;
    if (answers->names == NULL)
        return dx_problem_set(problem, DX_PROBLEM_NOT_FOUND, "no-such-resource", "No such resource",
                              "this server answers one name at a time");
    return answers->names(&b->names, &view, &names, problem);
}

void dx_bulk_free(struct dx_bulk **b)
{
    if (*b == NULL)
        return;
    dx_name_list_free(&(*b)->list);
    dx_names_free(&(*b)->names);
    free(*b);
    *b = NULL;
}

const char *dx_bulk_content_type(const struct dx_bulk *b)
{
    return dx_bulk_has_lines(b) ? "application/x-ndjson" : "text/csv; charset=utf-8";
}

bool dx_bulk_has_lines(const struct dx_bulk *b)
{
    return b->format == DX_NAMES_NDJSON;
}

struct dx_bulk_refusal dx_bulk_refusal_of(const struct dx_bulk *b)
{
    return (struct dx_bulk_refusal){ b->body.reject_status, b->body.reject_reason };
}

struct dx_bulk_counts dx_bulk_counts_of(const struct dx_bulk *b)
{
    return b == NULL ? (struct dx_bulk_counts){ 0, 0 } : b->counts;
}

/* ---- in ---- */

size_t dx_bulk_take(struct dx_bulk *b, struct dx_span bytes)
{
    size_t used = 0;

    while (!b->body_ended && !b->refused && !b->name_waits) {
        struct dx_span rest = dx_span_from(bytes, used);
        struct dx_span data;
        size_t room;
        size_t n;
        uint8_t *to = dx_name_list_room(b->list, &room);
        enum dx_body_verdict verdict;

        if (room == 0)
            break;
        verdict = dx_body_next(&b->body, rest, room, &n, &data);
        used += n;
        if (verdict == DX_BODY_DATA) {
            memcpy(to, data.data, data.size);
            dx_name_list_put(b->list, data.size);
            b->counts.body_bytes += data.size;
        } else if (verdict == DX_BODY_END) {
            b->body_ended = true;
            dx_name_list_end(b->list);
        } else if (verdict == DX_BODY_REJECT) {
            b->refused = true;
        } else {
            break;
        }
    }
    return used;
}

/* ---- out ---- */

/* The batch takes what is there; true if it is full. */
static bool fill(struct dx_bulk *b)
{
    for (;;) {
        if (!b->name_waits && !dx_name_list_next(b->list, &b->name))
            return false;
        b->name_waits = !dx_names_add(b->names, &b->name);
        if (b->name_waits)
            return true;
        b->counts.names++;
    }
}

static enum dx_bulk_step at_rest(struct dx_bulk *b, struct dx_buf *out)
{
    if (b->refused)
        return DX_BULK_REFUSED;
    if (!b->body_ended)
        return DX_BULK_MORE;
    dx_names_end(b->names, out);
    return DX_BULK_END;
}

enum dx_bulk_step dx_bulk_step(struct dx_bulk *b, struct dx_buf *out, struct dx_problem *problem)
{
    bool full = true;
    int rc;

    if (!b->begun)
        dx_names_begin(b->names, out);
    b->begun = true;
    if (!b->writing)
        full = fill(b);
    b->writing = true;
    rc = dx_names_write(b->names, out, DX_BULK_OUT_MAX, problem);
    if (rc < 0)
        return rc == DX_E_BUSY ? DX_BULK_LATER : DX_BULK_FAILED;
    b->writing = rc == DX_NAMES_MORE;
    return b->writing || full ? DX_BULK_READY : at_rest(b, out);
}
