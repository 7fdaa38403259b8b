/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/openapi.h"

#include "base/buf.h"
#include "base/json_out.h"
#include "server/routes/route.h"

#include <inttypes.h>
#include <string.h>

/* server/routes/openapi_base.json, ended by a NUL (cmake/layers.cmake). */
extern const char dx_openapi_base[];

/* Segments of paths; a schema without quotes is one of openapi_base.json. */
static const struct {
    const char *name, *text, *schema, *example;
} captures[] = {
    { "domain", "A domain, host, host:port or URL, percent-encoded once.", "\"type\":\"string\"",
      "\"example.com\"" },
    { "host", "A host or host:port, percent-encoded once.", "\"type\":\"string\"",
      "\"www.example.com\"" },
    { "suffix", "A TLD, a public suffix, or any name, percent-encoded once.", "\"type\":\"string\"",
      "\"co.uk\"" },
    { "dataset", "The id or the name of a dataset, percent-encoded once.",
      "\"type\":\"string\",\"minLength\":1", "\"crawl-2024\"" },
    { "a", "The id or the name of a dataset.", "\"type\":\"string\",\"minLength\":1", "\"1\"" },
    { "b", "The id or the name of another dataset, or the same.",
      "\"type\":\"string\",\"minLength\":1", "\"2\"" },
    { "url_id", "The id of a URL, as answers write it.",
      "\"type\":\"string\",\"pattern\":\"^0x[0-9a-f]{16}$\"", "\"0x81ee9f9c1e2a0f0d\"" },
    { "tag", "The tag, percent-encoded once; compared byte by byte.",
      "\"type\":\"string\",\"minLength\":1,\"pattern\":\"^[^\\\\u0000-\\\\u001f\\\\u007f]+$\"",
      "\"news\"" },
};

/* If what was written aside is not whole, nor is out. */
static void mark_failed(const struct dx_buf *text, struct dx_buf *out)
{
    out->failed = out->failed || text->failed;
    out->no_memory = out->no_memory || text->no_memory;
}

static void end_text(struct dx_buf *text, struct dx_buf *out)
{
    mark_failed(text, out);
    dx_buf_release(text);
}

static bool takes(const struct dx_route *route, const struct dx_param *param)
{
    for (size_t i = 0; route->params != NULL && route->params[i] != NULL; i++)
        if (route->params[i] == param)
            return true;
    return false;
}

static bool has_dataset(const struct dx_route *route)
{
    return takes(route, &dx_param_dataset) || strstr(route->pattern, "{dataset}") != NULL ||
           strstr(route->pattern, "{a}") != NULL;
}

static const char *beginning(const struct dx_route *route)
{
    return route->own || route->bare ? "/" : "/v1/";
}

/* ---- parameters ---- */

/* Members of the schema of a parameter. */
static void put_schema(const struct dx_route *route, const struct dx_param *p, struct dx_buf *out)
{
    if (p == &dx_param_limit) {
        dx_buf_str(out, "\"type\":\"integer\",\"minimum\":1,");
        if (route->rows == NULL) /* else it depends on the format */
            dx_buf_fmt(out, "\"maximum\":%" PRIu64, route->limit.max);
        else
            dx_buf_str(out, "\"maximum\":9223372036854775807");
        if (route->cursor == 0 &&
            route->limit.usual > 0) /* a client that sends it would override what a cursor holds */
            dx_buf_fmt(out, ",\"default\":%" PRIu64, route->limit.usual);
    } else if (p == &dx_param_format) {
        dx_buf_str(out, "\"type\":\"string\",\"enum\":[");
        for (size_t f = 0; f < DX_ROW_FORMAT_COUNT; f++)
            if (dx_route_gives(route, (enum dx_row_format)f))
                dx_buf_fmt(out, "%s\"%s\"", f == 0 ? "" : ",", dx_row_formats[f].word);
        dx_buf_str(out, "]");
    } else if (p == &dx_param_fields) {
        dx_buf_str(out, "\"type\":\"string\",\"pattern\":\"^(");
        for (size_t again = 0; again < 2; again++) {
            for (size_t i = 0; i < route->fields->count; i++)
                dx_buf_fmt(out, "%s%s", i == 0 ? "" : "|", route->fields->names[i]);
            dx_buf_str(out, again == 0 ? ")(,(" : "))*$\"");
        }
    } else if (p->words[0] != NULL) {
        dx_buf_fmt(out, "\"type\":\"string\",\"enum\":[\"%s\",\"%s\"],\"default\":\"%s\"",
                   p->words[0], p->words[1], p->words[0]);
    } else {
        dx_buf_str(out, p->schema);
    }
}

static void put_param_text(const struct dx_route *route, const struct dx_param *p,
                           struct dx_buf *out)
{
    const struct dx_route_fields *fields = route->fields;
    const char *usual = route->cursor == 0 ? "Default: " : "Default, if no cursor holds it: ";

    if (p == &dx_param_limit) {
        dx_buf_str(out, "Items to return. ");
        if (route->limit.usual > 0)
            dx_buf_fmt(out, "%s%" PRIu64 ".", usual, route->limit.usual);
        else
            dx_buf_fmt(out, "%sall.", usual);
        if (route->rows != NULL)
            dx_buf_fmt(out,
                       " JSON has at most %" PRIu64
                       "; the other formats of `format` have no cap, and by default all items.",
                       route->limit.max);
    } else if (p == &dx_param_format) {
        dx_buf_str(
            out,
            "Format of the items; without it, what `Accept` prefers, else `json`. All but `json` "
            "are a stream of all items from here on, of any number, without the other "
            "members of the answer.");
    } else if (p == &dx_param_fields) {
        dx_buf_str(out, "Members of the items, separated by commas: ");
        for (size_t i = 0; i < fields->count; i++)
            dx_buf_fmt(out, "%s%s", i == 0 ? "" : ", ", fields->names[i]);
        dx_buf_fmt(out, ". %s", usual);
        for (size_t i = 0, n = 0; i < fields->count; i++)
            if ((fields->usual >> i & 1) != 0)
                dx_buf_fmt(out, "%s%s", n++ == 0 ? "" : ",", fields->names[i]);
        dx_buf_str(out, ".");
    } else {
        dx_buf_str(out, p->text);
    }
}

static void put_string(struct dx_buf *out, struct dx_buf *text)
{
    dx_buf_str(out, "\"");
    dx_json_escape(out, dx_span_of(text->data, text->size));
    dx_buf_str(out, "\"");
    mark_failed(text, out);
    dx_buf_clear(text);
}

static void put_param(const struct dx_route *route, const struct dx_param *p, struct dx_buf *out)
{
    struct dx_buf text = DX_BUF_INIT(4096);
    bool needed = route->needs != NULL && strcmp(route->needs, p->name) == 0;

    dx_buf_fmt(out, "{\"name\":\"%s\",\"in\":\"query\"%s,\"description\":", p->name,
               needed ? ",\"required\":true" : "");
    put_param_text(route, p, &text);
    put_string(out, &text);
    dx_buf_str(out, ",\"schema\":{");
    put_schema(route, p, out);
    dx_buf_str(out, "}");
    if (p->example != NULL) {
        dx_buf_str(&text, p->example);
        dx_buf_str(out, ",\"example\":");
        put_string(out, &text);
    }
    dx_buf_str(out, "},");
    end_text(&text, out);
}

static void put_captures(const char *pattern, struct dx_buf *out)
{
    while ((pattern = strchr(pattern, '{')) != NULL) {
        size_t size = strcspn(++pattern, "}");

        for (size_t i = 0; i < sizeof captures / sizeof *captures; i++)
            if (strlen(captures[i].name) == size && memcmp(captures[i].name, pattern, size) == 0)
                dx_buf_fmt(out,
                           "{\"name\":\"%s\",\"in\":\"path\",\"required\":true,\"description\":"
                           "\"%s\",\"schema\":{%s},\"example\":%s},",
                           captures[i].name, captures[i].text, captures[i].schema,
                           captures[i].example);
    }
}

/* ---- answers ---- */

static void put_reference(const char *status, const char *name, struct dx_buf *out)
{
    dx_buf_fmt(out, ",\"%s\":{\"$ref\":\"#/components/responses/%s\"}", status, name);
}

static void put_problem(const char *status, const char *before, const char *words,
                        struct dx_buf *out)
{
    if (words != NULL)
        dx_buf_fmt(out,
                   ",\"%s\":{\"description\":\"%s%s.\",\"content\":{\"application/problem+json\":"
                   "{\"schema\":{\"$ref\":\"#/components/schemas/Problem\"}}}}",
                   status, before, words);
}

static void put_ok(const struct dx_route *route, struct dx_buf *out)
{
    const struct dx_route_words *w = route->words;

    if (route->post) {
        dx_buf_fmt(out, "\"200\":{\"$ref\":\"#/components/responses/%s\"}", w->answer);
        return;
    }
    dx_buf_fmt(out,
               "\"200\":{\"description\":\"The answer.\",\"content\":{\"%s\":{\"schema\":{\"$ref\":"
               "\"#/components/schemas/%s\"}}",
               w->media == NULL ? "application/json" : w->media, w->answer);
    for (size_t f = DX_ROWS_JSON + 1; route->rows != NULL && f < DX_ROW_FORMAT_COUNT; f++)
        if (dx_route_gives(route, (enum dx_row_format)f))
            dx_buf_fmt(out, ",\"%.*s\":{\"schema\":{\"type\":\"string\"%s}}",
                       (int)strcspn(dx_row_formats[f].media, ";"), dx_row_formats[f].media,
                       f == DX_ROWS_ARROW || f == DX_ROWS_PARQUET ? ",\"format\":\"binary\"" : "");
    for (size_t i = 0; w->also != NULL && w->also[i] != NULL; i++)
        dx_buf_fmt(out, ",\"%s\":{\"schema\":{}}", w->also[i]);
    dx_buf_str(out, "},\"headers\":{\"ETag\":{\"schema\":{\"type\":\"string\"}}");
    if (!route->own)
        dx_buf_str(out, ",\"X-Domaindex-Version\":{\"description\":\"The version that answered.\","
                        "\"schema\":{\"type\":\"string\"}}");
    if (route->rows != NULL)
        dx_buf_str(out, ",\"Content-Disposition\":{\"description\":\"Of all but JSON: a name for "
                        "the file.\",\"schema\":{\"type\":\"string\"}}");
    dx_buf_str(out, "}}");
}

/* What parameters imply. */
static void put_refused(const struct dx_route *route, struct dx_buf *out)
{
    struct dx_buf slugs = DX_BUF_INIT(1024);

    dx_buf_str(&slugs, route->query != NULL
                           ? "bad-parameter, identity-twice"
                           : "unknown-parameter, duplicate-parameter, bad-parameter, "
                             "bad-percent-encoding, identity-twice");
    if (route->limit.max > 0)
        dx_buf_str(&slugs, ", limit-too-large");
    if (has_dataset(route))
        dx_buf_str(&slugs, ", bad-dataset-id");
    if (takes(route, &dx_param_version) || route->version_param != NULL)
        dx_buf_str(&slugs, ", bad-version");
    if (route->cursor != 0)
        dx_buf_str(&slugs, ", bad-cursor, cursor-mismatch");
    if (route->needs != NULL)
        dx_buf_str(&slugs, ", missing-parameter");
    if (route->words->refused != NULL)
        dx_buf_fmt(&slugs, ", %s", route->words->refused);
    dx_buf_u8(&slugs, 0);
    if (slugs.failed)
        out->failed = true;
    else
        put_problem("400", "A parameter or name that cannot be served: ", (const char *)slugs.data,
                    out);
    end_text(&slugs, out);
}

static void put_responses(const struct dx_route *route, struct dx_buf *out)
{
    const struct dx_route_words *w = route->words;
    bool health = route->own && !w->charged;

    put_ok(route, out);
    if (!route->post && !health)
        put_reference("304", "Unchanged", out);
    if (!route->own) {
        put_refused(route, out);
        put_reference("401", "Unauthorized", out);
        put_problem("403", "", w->forbidden ? "restricted" : NULL, out);
        put_problem("404", "", w->absent, out);
        put_problem("409", "", w->counts_only ? "counts-only" : NULL, out);
        if (route->restart != NULL)
            put_reference("410", "Gone", out);
    }
    if (route->post) {
        put_problem("405", "", "method-not-allowed: anything but GET, HEAD and POST", out);
        put_problem("408", "", "request-timeout", out);
        put_problem("411", "", "length-required", out);
        put_problem("413", "", "body-too-large", out);
        put_problem("415", "", "body-not-taken", out);
        put_problem("417", "", "expectation-failed", out);
    }
    put_problem("422", "too-much: ", w->too_much, out);
    if (!health)
        put_reference("429", "TooMany", out);
    if (w->withheld)
        put_reference("451", "Withheld", out);
    if (!route->own && !route->post)
        put_reference("500", "Damaged", out);
    put_reference("503", "Unavailable", out);
    put_reference("default", "BadHttp", out);
}

/* ---- operations ---- */

/* same_path: as the operation before it. */
static void put_operation(const struct dx_route *route, const char *pattern, bool same_path,
                          struct dx_buf *out)
{
    const struct dx_route_words *w = route->words;
    struct dx_buf text = DX_BUF_INIT(2048);

    if (same_path && out->size > 2)
        out->size -= 2; /* the end of the path, and a comma */
    if (same_path)
        dx_buf_str(out, ",");
    else
        dx_buf_fmt(out, "\"%s%s\":{", beginning(route), pattern);
    dx_buf_fmt(out, "\"%s\":{\"operationId\":\"%s%s\",\"tags\":[\"%s\"],\"summary\":",
               route->post ? "post" : "get", w->operation, pattern == route->alias ? "Alias" : "",
               w->group);
    dx_buf_str(&text, w->summary);
    put_string(out, &text);
    dx_buf_str(&text, w->text);
    dx_buf_str(out, ",\"description\":");
    put_string(out, &text);
    if (route->own)
        dx_buf_str(out, ",\"security\":[{}]");
    dx_buf_str(out, ",\"parameters\":[");
    put_captures(pattern, out);
    for (size_t i = 0; dx_route_param(route, i) != NULL; i++)
        put_param(route, dx_route_param(route, i), out);
    if (!route->post && (!route->own || w->charged))
        dx_buf_str(out, "{\"$ref\":\"#/components/parameters/IfNoneMatch\"},");
    if (out->size > 0 && out->data[out->size - 1] == ',')
        out->size--;
    dx_buf_str(out, "]");
    if (route->post)
        dx_buf_fmt(out, ",\"requestBody\":{\"$ref\":\"#/components/requestBodies/%s\"}", w->answer);
    dx_buf_str(out, ",\"responses\":{");
    put_responses(route, out);
    dx_buf_str(out, "}}},");
    end_text(&text, out);
}

/* Without the white space between tokens. */
static void put_dense(const char *json, struct dx_buf *out)
{
    bool quoted = false;

    for (; *json != '\0'; json++) {
        if (!quoted && strchr(" \n", *json) != NULL)
            continue;
        if (quoted && *json == '\\')
            dx_buf_u8(out, (uint8_t)*json++);
        else if (*json == '"')
            quoted = !quoted;
        dx_buf_u8(out, (uint8_t)*json);
    }
}

void dx_openapi_write(struct dx_buf *out)
{
    put_dense(dx_openapi_base, out);
    if (out->size > 0)
        out->size--; /* its last brace */
    dx_buf_str(out, ",\"paths\":{");
    for (size_t r = 0; r < DX_ROUTE_COUNT; r++) {
        if (dx_routes[r]->admin)
            continue;
        put_operation(dx_routes[r], dx_routes[r]->pattern,
                      r > 0 && strcmp(dx_routes[r]->pattern, dx_routes[r - 1]->pattern) == 0, out);
        if (dx_routes[r]->alias != NULL)
            put_operation(dx_routes[r], dx_routes[r]->alias, false, out);
    }
    if (!out->failed && out->size > 0)
        out->size--; /* the comma behind the last path */
    dx_buf_str(out, "}}");
}

/* ---- the page ---- */

#define STYLE                                                                        \
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}" \
    "table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2rem "      \
    ".6rem;text-align:left;vertical-align:top}code{overflow-wrap:anywhere}"          \
    "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#8bf}}"

/* The hash is that of STYLE: tests/e2e/http_openapi.py computes it again. */
const char dx_openapi_page_policy[] =
    "default-src 'none'; style-src 'sha256-9euXOV/Wl/DMuROXA1Dv9hD/W0yJhJsdEwIOnjhhd7I='; base-uri "
    "'none'; form-action 'none'; "
    "frame-ancestors 'none'";

/* Text of a route: `code` between accents, and all else as it is. */
static void put_text(const char *text, size_t size, struct dx_buf *out)
{
    bool code = false;

    for (size_t i = 0; i < size; i++) {
        if (text[i] == '`') {
            dx_buf_str(out, code ? "</code>" : "<code>");
            code = !code;
        } else if (strchr("<>&\"", text[i]) != NULL) {
            dx_buf_fmt(out, "&#%d;", text[i]);
        } else {
            dx_buf_u8(out, (uint8_t)text[i]);
        }
    }
}

static void put_row(const struct dx_route *route, const struct dx_param *p, struct dx_buf *out)
{
    struct dx_buf text = DX_BUF_INIT(4096);

    put_param_text(route, p, &text);
    if (p == &dx_param_limit && route->rows == NULL)
        dx_buf_fmt(&text, " At most %" PRIu64 ".", route->limit.max);
    if (p == &dx_param_format)
        for (size_t f = 0; f < DX_ROW_FORMAT_COUNT; f++)
            if (dx_route_gives(route, (enum dx_row_format)f))
                dx_buf_fmt(&text, " `%s`", dx_row_formats[f].word);
    if (p->words[0] != NULL)
        dx_buf_fmt(&text, " `%s` (default) or `%s`.", p->words[0], p->words[1]);
    if (p->example != NULL)
        dx_buf_fmt(&text, " Example: `%s`", p->example);
    dx_buf_fmt(out, "<tr><td><code>%s</code>%s<td>", p->name,
               route->needs != NULL && strcmp(route->needs, p->name) == 0 ? " (required)" : "");
    put_text((const char *)text.data, text.size, out);
    end_text(&text, out);
}

static void put_section(const struct dx_route *route, struct dx_buf *out)
{
    const struct dx_route_words *w = route->words;

    dx_buf_fmt(out, "<h2 id=\"%s\">", w->operation);
    put_text(w->summary, strlen(w->summary), out);
    dx_buf_fmt(out, "</h2><p><code>%s %s%s</code>", route->post ? "POST" : "GET", beginning(route),
               route->pattern);
    if (route->alias != NULL)
        dx_buf_fmt(out, ", also <code>%s%s</code>", beginning(route), route->alias);
    dx_buf_str(out, "<p>");
    put_text(w->text, strlen(w->text), out);
    if (dx_route_param(route, 0) != NULL)
        dx_buf_str(out, "<table><tr><th>parameter<th>meaning");
    for (size_t i = 0; dx_route_param(route, i) != NULL; i++)
        put_row(route, dx_route_param(route, i), out);
    if (dx_route_param(route, 0) != NULL)
        dx_buf_str(out, "</table>");
}

void dx_openapi_page(struct dx_buf *out)
{
    dx_buf_str(
        out, "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
             "content=\"width=device-width\"><title>domaindex: the API</title><style>" STYLE
             "</style><h1>domaindex: the API</h1><p>Answers are JSON of one published version, "
             "exact or an error. Programs find the schemas of all answers in <a "
             "href=\"openapi.json\">openapi.json</a>. HEAD is answered wherever GET is, and every "
             "path also works without <code>/v1</code>.<ul>");
    for (size_t r = 0; r < DX_ROUTE_COUNT; r++)
        if (!dx_routes[r]->admin)
            dx_buf_fmt(out, "<li><a href=\"#%s\"><code>%s %s%s</code></a>",
                       dx_routes[r]->words->operation, dx_routes[r]->post ? "POST" : "GET",
                       beginning(dx_routes[r]), dx_routes[r]->pattern);
    dx_buf_str(out, "</ul>");
    for (size_t r = 0; r < DX_ROUTE_COUNT; r++)
        if (!dx_routes[r]->admin)
            put_section(dx_routes[r], out);
    dx_buf_str(out, "</html>\n");
}
