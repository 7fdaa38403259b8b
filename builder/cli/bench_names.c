/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/cli/bench_names.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/crypto/secret.h"
#include "base/file.h"
#include "base/json_in.h"
#include "builder/load/chance.h"
#include "builder/load/targets.h"
#include "fetch/http_call.h"
#include "fetch/object_url.h"

#define FILE_MAX ((size_t)1 << 30)
#define PAGE_MAX ((size_t)16 << 20)
#define PAGE_DOMAINS 10000
#define CURSOR_MAX 4096
#define NAME_MAX_BYTES 253
#define FETCH_MS 60000

static void add_name(struct dx_bench_names *n, struct dx_span name)
{
    const char *at = n->pattern;
    const char *next;

    assert(n->pattern[0] == '/');
    for (; (next = strstr(at, "{}")) != NULL; at = next + 2) {
        dx_buf_append(&n->lines, at, (size_t)(next - at));
        dx_url_encode_span(&n->lines, name, false);
    }
    dx_buf_str(&n->lines, at);
    dx_buf_u8(&n->lines, '\n');
    n->count++;
}

static int finish(struct dx_bench_names *n, const char *where, struct dx_error *err)
{
    if (n->lines.failed)
        return dx_buf_fail(&n->lines, err, where);
    if (n->count == 0)
        return dx_fail(err, DX_E_INVALID, "%s: no names", where);
    return DX_OK;
}

int dx_bench_names_read(struct dx_bench_names *n, const char *path, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(FILE_MAX);
    struct dx_span rest;
    int rc = dx_file_read(path, FILE_MAX, &text, err);

    dx_buf_init(&n->lines, DX_TARGETS_FILE_MAX);
    rest = dx_span_of(text.data, text.size);
    while (rc == DX_OK && rest.size > 0 && n->count < n->max) {
        size_t line = 0;
        size_t name = 0;

        while (line < rest.size && rest.data[line] != '\n')
            line++;
        while (name < line && rest.data[name] != '\t' && rest.data[name] != '\r')
            name++;
        if (name > 0)
            add_name(n, dx_span_of(rest.data, name));
        line += line < rest.size;
        rest = dx_span_from(rest, line);
    }
    dx_buf_release(&text);
    return rc == DX_OK ? finish(n, path, err) : rc;
}

int dx_bench_token_read(const char *path, char token[DX_BENCH_TOKEN], struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(64 * 1024);
    int rc;
    size_t n = 0;

    dx_secret_held();
    rc = dx_file_read(path, 64 * 1024, &text, err);
    while (rc == DX_OK && n < text.size && n < DX_BENCH_TOKEN - 1 && text.data[n] > ' ' &&
           text.data[n] < 0x7f) {
        token[n] = (char)text.data[n];
        n++;
    }
    token[n] = '\0';
    if (rc == DX_OK && (n == 0 || (n < text.size && text.data[n] != '\n' && text.data[n] != '\r')))
        rc = dx_fail(err, DX_E_INVALID, "%s: the first line is not a token of up to %d characters",
                     path, DX_BENCH_TOKEN - 1);
    dx_buf_release(&text);
    return rc;
}

/* ---- from the server ---- */

struct fetched {
    char **names;
    size_t count;
    char cursor[CURSOR_MAX]; /* "": no more */
};

static int read_page(struct fetched *f, size_t max, struct dx_span body, const char *url,
                     struct dx_error *err)
{
    struct dx_json_in in;
    const struct dx_json_node *o = dx_json_in_open(&in, body, PAGE_MAX, url);
    struct dx_json_list l;
    const struct dx_json_node *item;
    const char *cursor = "";

    if (!dx_json_in_null(o, "next_cursor"))
        cursor = dx_json_in_str(&in, o, "next_cursor", CURSOR_MAX - 1);
    dx_json_in_list(&in, &l, o, "domains", PAGE_DOMAINS);
    while ((item = dx_json_in_next(&in, &l)) != NULL && f->count < max) {
        const char *name = dx_json_in_str(&in, item, "domain", NAME_MAX_BYTES);

        if (in.rc != DX_OK || name == NULL)
            break;
        f->names[f->count] = strdup(name);
        if (f->names[f->count] == NULL) {
            in.rc = dx_no_memory(&in.err, "%s", url);
            break;
        }
        f->count++;
    }
    if (in.rc == DX_OK)
        memcpy(f->cursor, cursor, strlen(cursor) + 1); /* at most CURSOR_MAX - 1 */
    return dx_json_in_close(&in, err);
}

static bool authorize(struct dx_http_call *call, const char *token)
{
    char value[DX_BENCH_TOKEN + sizeof "Bearer "];

    (void)snprintf(value, sizeof value, "Bearer %s", token);
    return dx_http_header_add(&call->headers, "Authorization", value);
}

static int fetch_page(struct dx_http_client *client, struct fetched *f, const char *token,
                      size_t max, const char *server, struct dx_error *err)
{
    struct dx_buf url = DX_BUF_INIT(2 * CURSOR_MAX + DX_URL_MAX);
    struct dx_http_call call;
    size_t left = max - f->count;
    int rc = DX_OK;

    dx_buf_fmt(&url, "%s/v1/domains?fields=domain&limit=%zu", server,
               left < PAGE_DOMAINS ? left : PAGE_DOMAINS);
    if (f->cursor[0] != '\0') {
        dx_buf_str(&url, "&cursor=");
        dx_url_encode_value(&url, f->cursor);
    }
    dx_buf_u8(&url, '\0');
    if (url.failed) {
        rc = dx_buf_fail(&url, err, server);
        dx_buf_release(&url);
        return rc;
    }
    call = (struct dx_http_call)DX_HTTP_CALL_INIT("GET", (const char *)url.data,
                                                  dx_clock_ms() + FETCH_MS);
    call.body.max = PAGE_MAX;
    if (token != NULL && !authorize(&call, token))
        rc = dx_no_memory(err, "request");
    if (rc == DX_OK)
        rc = dx_http_call_run(client, &call, err);
    if (rc == DX_OK && call.status != 200)
        rc = dx_fail(
            err, DX_E_IO,
            "%s/v1/domains: status %u: not a server of domains, or it refuses; give --names FILE",
            server, call.status);
    if (rc == DX_OK)
        rc = read_page(f, max, dx_span_of(call.body.data, call.body.size), server, err);
    dx_http_call_release(&call);
    dx_buf_release(&url);
    return rc;
}

static void shuffle(struct fetched *f, uint64_t seed)
{
    for (size_t i = f->count; i > 1; i--) {
        size_t j = dx_chance_bits(&seed) % i;
        char *name = f->names[i - 1];

        f->names[i - 1] = f->names[j];
        f->names[j] = name;
    }
}

int dx_bench_names_fetch(struct dx_bench_names *n, const char *url, struct dx_error *err)
{
    const struct dx_http_client_settings settings = { .connect_ms = 5000,
                                                      .stall_ms = 30000,
                                                      .reply_ms = 30000,
                                                      .direct = true,
                                                      .ca_file = n->ca_file,
                                                      .unix_socket = n->unix_socket,
                                                      .insecure = n->insecure };
    struct dx_http_client *client = NULL;
    struct fetched f = { .names = calloc(n->max, sizeof *f.names) };
    int rc = f.names == NULL ? dx_no_memory(err, "names") : DX_OK;

    dx_buf_init(&n->lines, DX_TARGETS_FILE_MAX);
    if (rc == DX_OK)
        rc = dx_http_client_new(&client, &settings, err);
    if (rc == DX_OK)
        do
            rc = fetch_page(client, &f, n->token, n->max, url, err);
        while (rc == DX_OK && f.count < n->max && f.cursor[0] != '\0');
    shuffle(&f, n->seed);
    for (size_t i = 0; i < f.count; i++) {
        if (rc == DX_OK)
            add_name(n, dx_span_str(f.names[i]));
        free(f.names[i]);
    }
    free(f.names);
    dx_http_client_free(&client);
    return rc == DX_OK ? finish(n, url, err) : rc;
}

void dx_bench_names_release(struct dx_bench_names *n)
{
    dx_buf_release(&n->lines);
}
