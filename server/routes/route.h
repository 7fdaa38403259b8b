/* SPDX-License-Identifier: Apache-2.0
 * route.h - a resource of the API as one constant: its path, parameters, price, and how it is
 * answered.
 *
 *   const struct dx_route dx_route_tlds = { .name = "tlds", .pattern = "tlds", .params = params, ... };
 *
 * A new resource is a file route_NAME.c with such a constant and a line in DX_ROUTES
 * (server/routes/routes.h). A function that a route leaves out does nothing. Parameters of several
 * routes are here, those of one route in its file. Constants and pure functions; any thread.
 */
#ifndef DX_SERVER_ROUTES_ROUTE_H
#define DX_SERVER_ROUTES_ROUTE_H

#include "query/formats/row_columns.h"
#include "server/routes/ask.h"

#include <stddef.h>

struct dx_answering;
struct dx_route;

/* Where the value goes: to `set`, to a bool that says which of two words it is, or, as it is, to a
 * span. */
struct dx_param {
    const char *name;
    int (*set)(struct dx_span value, struct dx_ask *ask, struct dx_problem *problem);
    const char *words[2]; /* NULL: none */
    size_t member;        /* of struct dx_ask: the bool, or the span */
    unsigned times;       /* that it may be given, each time with `set`; 0: once */
    bool percent;         /* a '%' at its end is one, not the beginning of an escape */
    /* For server/routes/openapi.h. */
    const char *text;    /* what it means */
    const char *schema;  /* members of its JSON Schema; NULL: those of its words, limit or fields */
    const char *example; /* or NULL */
};

/* Name or number of a version. */
#define DX_VERSION_SCHEMA \
    "\"type\":\"string\",\"pattern\":\"^([1-9][0-9]{0,5}|[0-9]{6}-[0-9]{8}T[0-9]{6}Z)$\""
/* The i-th parameter of a route, beginning with its own; those that all GET routes below /v1 take come behind them. NULL: it has no more. */
const struct dx_param *dx_route_param(const struct dx_route *route, size_t i);

#define DX_PARAMS(...) ((const struct dx_param *const[]){ __VA_ARGS__, NULL })

extern const struct dx_param dx_param_offset, dx_param_limit, dx_param_fields, dx_param_cursor,
    dx_param_version, dx_param_dataset, dx_param_datasets, dx_param_plan, dx_param_format;

/* Whatever the month: days 29 to 31 are taken where it has them, and fractions of a second. */
#define DX_MONTH_PATTERN "(0[1-9]|1[0-2])"
#define DX_DAY_PATTERN "(0[1-9]|1[0-9]|2[0-8])"
#define DX_HOUR_PATTERN "([01][0-9]|2[0-3])"
#define DX_TIME_SCHEMA                                                                    \
    "\"type\":\"string\",\"pattern\":\"^[0-9]{4}((-" DX_MONTH_PATTERN "(-" DX_DAY_PATTERN \
    "(T" DX_HOUR_PATTERN "(:[0-5][0-9](:[0-5][0-9])?)?Z?)?)?)?|" DX_MONTH_PATTERN         \
    "(" DX_DAY_PATTERN "(" DX_HOUR_PATTERN "([0-5][0-9]([0-5][0-9])?)?)?)?)$\""

/* Of filtered listings. */
extern const struct dx_param dx_param_tag, dx_param_mime, dx_param_prefix, dx_param_from,
    dx_param_to, dx_param_status, dx_param_lang, dx_param_filter;
#define DX_FILTER_PARAMS                                                           \
    &dx_param_tag, &dx_param_mime, &dx_param_prefix, &dx_param_from, &dx_param_to, \
        &dx_param_status, &dx_param_lang, &dx_param_filter

/* What `fields` may name. */
struct dx_route_fields {
    bool (*parse)(struct dx_span text, unsigned *fields, struct dx_span *bad);
    const char *words; /* why a name is refused */
    unsigned usual;    /* bits of those given without it */
    const char *const *names;
    size_t count;
};

extern const struct dx_route_fields dx_row_fields;
#define DX_ROW_FIELDS_WORDS                                                                      \
    "is not a field; there are url_id, url, ts, raw_url, extras, title, content_type, tags and " \
    "locator, separated by commas"

/* Rows that are an array of the answer: then they can be given in other formats, as a stream of any length
 * (server/engine/row_reply.h). The answer is asked for page by page, and goes on at the `next_cursor` or
 * `next_offset` that its JSON has. Takes dx_param_format. */
struct dx_route_rows {
    const char *member; /* of the answer: the array of them */
    bool urls;          /* of URLs: the members that `fields` names come first; also CDX and such */
    const struct dx_row_column *columns; /* the other members, in their order */
    size_t column_count;
    const char *page; /* of the web page, as a pattern: "site/{domain}"; NULL: none shows it */
};

/* Of the question; NULL: it is JSON alone. */
const struct dx_route_rows *dx_route_rows_of(const struct dx_ask *ask);
/* Whether some question of the route has such rows. */
bool dx_route_gives(const struct dx_route *route, enum dx_row_format format);

#define DX_ROWS(...) (&(const struct dx_route_rows){ __VA_ARGS__ })
#define DX_ROW_COLUMNS(...)                                                 \
    .columns = (const struct dx_row_column[]){ __VA_ARGS__ },               \
    .column_count = sizeof((const struct dx_row_column[]){ __VA_ARGS__ }) / \
                    sizeof(struct dx_row_column)

/* What docs/openapi.json says of a route beside what follows from it: server/routes/openapi.h. */
struct dx_route_words {
    const char *operation; /* its operationId */
    const char *group;     /* one of the tags in server/routes/openapi_base.json */
    const char *summary;
    const char *text;
    const char *answer; /* name of the schema of a 200 in openapi_base.json; of POST a response */
    const char *media;  /* of it; NULL: application/json */
    const char *const *also; /* other media, ended by NULL; or NULL */
    const char *refused;     /* slugs of a 400 that no parameter implies; NULL: none */
    bool forbidden;          /* 403 */
    const char *absent;      /* slugs of a 404; NULL: none */
    const char *too_much;    /* what to do about a 422; NULL: none */
    bool withheld;           /* 451 */
    bool counts_only;        /* 409: it is about URLs, and a dataset of counts has none */
    bool charged;            /* of own: it costs something, and has an ETag */
};

struct dx_route {
    const char *name;                   /* in logs and metrics: lower-case letters and '_' */
    const struct dx_route_words *words; /* NULL: of admin */
    /* of the path behind /v1/; a segment "{...}" is a capture: any but an empty one, with the text behind '}' if there is some */
    const char *pattern;
    const char *alias; /* another one, or NULL */
    bool own;          /* of the server itself: not below /v1, for everybody */
    bool bare;         /* answered as those of the API, but documented without /v1 */
    bool admin;        /* the same, but on the admin listener alone */
    bool post; /* takes POST, and nothing else; answered as its body comes (server/engine/bulk.h) */

    const struct dx_param *const
        *params; /* DX_PARAMS(...), in the order in which messages list them; NULL: none */
    /* Reads the whole query itself, which is then ask->query too: `params` is for openapi.h alone. NULL: they are strict. */
    int (*query)(struct dx_span query, struct dx_ask *ask, struct dx_problem *problem);
    const char *needs;         /* the name of one that must be there, or NULL */
    const char *version_param; /* that names the version; NULL: "version" */
    struct {
        uint64_t usual, max;
    } limit;
    const char *limit_why;                /* instead of "; ask for pages ...", or NULL */
    const struct dx_route_fields *fields; /* NULL: it has no such parameter */
    const struct dx_route_rows *rows;     /* NULL: JSON alone */
    const struct dx_route_rows *url_rows; /* instead of these with of=urls; or NULL */
    /* NULL: "{dataset}" and "{a}" are dataset_id or dataset_name, "{b}" is other_id or other_name, all
     * others are `asked`. */
    int (*capture)(struct dx_span captured, struct dx_ask *ask, struct dx_problem *problem);
    int (*check)(struct dx_ask *ask, struct dx_problem *problem); /* all parameters are there */

    /* Of server/routes/cost.h; measured, with pages in the caches: docs/notes/limits.md. */
    struct {
        double base;
        double rows_a_unit;     /* of the page that is asked for; 0: rows cost nothing */
        double url_rows_a_unit; /* the same with of=urls */
    } cost;

    /* "changes": it is listed by cursors alone, so that without them it is not */
    const char *pages;
    enum dx_cursor_kind cursor;                                     /* 0: it takes none */
    int (*resolve)(struct dx_ask *ask, struct dx_problem *problem); /* before the cursor is read */
    /* ask->from is of this kind and key: whether it agrees with what is said beside it; takes over
     * what is not. */
    int (*take_cursor)(struct dx_ask *ask, struct dx_problem *problem);
    /* Path and query of the same question from its beginning. NULL: none is offered. */
    void (*restart)(const struct dx_ask *ask, struct dx_buf *b);

    /* Whether a loop answers it, at once and from memory; NULL: a worker does. */
    bool (*on_loop)(const struct dx_ask *ask);
    bool (*may_be_brief)(const struct dx_ask *ask);
    bool listing; /* brief only where answers heed that: urls_brief of struct dx_answers */
    /* Whether a 200 to a request that names its version follows from it, beside suppressions and cursors: not from time, from
     * other versions that are kept or other files; NULL: it does. */
    bool (*lasts)(const struct dx_ask *ask);
    bool canon;         /* its answer needs a canonicaliser */
    bool compares;      /* with another version, which may have to be fetched */
    bool keeps_bodies;  /* server/cache/body_cache.h */
    bool keeps_replies; /* server/cache/reply_cache.h: follow from target, version and view alone */
    /* Which medium, where it is not said, by Accept. NULL: only `rows` have several. */
    void (*choose)(struct dx_span accept, struct dx_ask *ask);
    const char *(*media)(const struct dx_ask *ask); /* of a 200; NULL: application/json */
    int (*answer)(const struct dx_answering *a);    /* as dx_ask_answer; NULL: of own and post */
};

/* For on_loop, and for lasts. */
bool dx_route_always(const struct dx_ask *ask);
bool dx_route_never(const struct dx_ask *ask);
/* Whether caches may keep this 200 for as long as they like, if its version is named; body: without a content coding. */
bool dx_route_answer_lasts(const struct dx_ask *ask, struct dx_span body);

/* Raw itself when it holds no escape; else its decoded bytes in ask->text. 0 with the problem if it
 * cannot be. */
int dx_ask_decode(struct dx_ask *ask, struct dx_span raw, struct dx_span *out,
                  struct dx_problem *problem);

/* name: of the capture, with what stands behind it in the pattern. */
int dx_route_capture(const char *name, struct dx_span captured, struct dx_ask *ask,
                     struct dx_problem *problem);

/* Of a cursor of a listing that takes one: a name agrees with any, until it is looked up in the version. */
bool dx_cursor_has_dataset(const struct dx_ask *ask);
/* 400 with these words; and of what a cursor contradicts. */
int dx_route_refuse(struct dx_problem *problem, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int dx_route_mismatch(struct dx_problem *problem, const char *what);

/* For take_cursor: of the listing of the dataset that the request names. */
int dx_listing_take_cursor(struct dx_ask *ask, struct dx_problem *problem);

/* For take_cursor: of one dataset or of all of them, as the cursor says. */
int dx_take_dataset(struct dx_ask *ask, struct dx_problem *problem);

/* Shown in details: enough to recognise, never the whole of a long value. */
static inline int dx_shown(struct dx_span s)
{
    return s.size > 60 ? 60 : (int)s.size;
}

/* A pattern with its captures as ask has them. */
void dx_route_fill(const char *pattern, const struct dx_ask *ask, struct dx_buf *b);
/* limit-too-large, if it is. Rows as a stream have no such cap. */
int dx_route_check_limit(const struct dx_ask *ask, struct dx_problem *problem);

/* For restart: the path, and the parts of a query. */
void dx_restart_path(const struct dx_ask *ask, struct dx_buf *b);
/* These only if they were given, or are not the usual ones. */
void dx_restart_param(const char *name, struct dx_span value, struct dx_buf *b);
void dx_restart_fields(unsigned bits, unsigned usual, struct dx_buf *b);
void dx_restart_filter(const struct dx_row_filter *f, struct dx_buf *b);
void dx_restart_dataset(const struct dx_ask *ask, struct dx_buf *b);
void dx_restart_plan(const struct dx_ask *ask, struct dx_buf *b);
uint64_t dx_restart_limit(const struct dx_ask *ask);
/* The path, with limit if it was given. */
void dx_restart_limited(const struct dx_ask *ask, struct dx_buf *b);

#endif
