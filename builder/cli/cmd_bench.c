/* SPDX-License-Identifier: Apache-2.0
 * cmd_bench.c - domaindex bench: requests at a server, and how long they took.
 */
#include "base/command/process.h"
#include "builder/cli/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/civil_time.h"
#include "base/file.h"
#include "builder/cli/bench_names.h"
#include "builder/load/load_page.h"
#include "builder/load/load_url.h"
#include "builder/load/report.h"
#include "builder/load/tls_client.h"

#define TEXT_MAX ((size_t)16 << 20)
#define PATH_DEFAULT "/v1/domain/{}"

/* Without --unbounded: what any server can bear. */
#define RATE_MAX 1000
#define SECONDS_MAX 60
#define CONNECTIONS_MAX 64
#define REFUSED_MAX 100

enum {
    OPT_NAMES,
    OPT_NAME_COUNT,
    OPT_PATH,
    OPT_ZIPF,
    OPT_EVEN,
    OPT_CONNECTIONS,
    OPT_RATE,
    OPT_ARRIVALS,
    OPT_SECONDS,
    OPT_WARM_UP,
    OPT_TIMEOUT,
    OPT_SEED,
    OPT_TOKEN,
    OPT_CACERT,
    OPT_INSECURE,
    OPT_UNIX_SOCKET,
    OPT_UNBOUNDED,
    OPT_HTML,
    OPT_JSON,
    OPT_COUNT
};

struct bench {
    struct dx_load_plan plan;
    struct dx_load_url server;
    struct dx_tls_client *tls;
    struct dx_bench_names names;
    struct dx_law law;
    char url[2 * DX_LOAD_URL_MAX + 8]; /* without a slash at its end */
    char pattern[2 * DX_LOAD_URL_MAX];
    char about[128];
    char when[DX_CIVIL_TEXT];
    uint64_t arrivals;
    bool even;
    bool unbounded;
    char token[DX_BENCH_TOKEN];
    const char *token_file;
    const char *names_file;
    const char *path;
    const char *html;
};

#define AT(member) DX_OPT_PLACE(struct bench, member)

static const struct dx_option table[OPT_COUNT] = {
    [OPT_NAMES] = { "names", "FILE", NULL,
                    "a name a line, the most popular first; if not given, the names that the "
                    "server lists",
                    DX_OPT_TEXT, AT(names_file) },
    [OPT_NAME_COUNT] = { "name-count", "N", "10000", "use at most so many names",
                         DX_OPT_NUMBER(1, 10000000), AT(names.max) },
    [OPT_PATH] = { "path", "PATH", PATH_DEFAULT,
                   "what is requested of the server; {} stands for the name", DX_OPT_TEXT,
                   AT(path) },
    [OPT_ZIPF] = { "zipf", "S", "0.99",
                   "the k-th name is asked in proportion to 1/k^S, S from 0 to 10", DX_OPT_TEXT },
    [OPT_EVEN] = { "even", NULL, NULL, "every name is as likely as any other", DX_OPT_FLAG,
                   AT(even) },
    [OPT_CONNECTIONS] = { "connections", "N", "8", "kept connections",
                          DX_OPT_NUMBER(1, DX_LOAD_CONNECTIONS_MAX), AT(plan.connections) },
    [OPT_RATE] = { "rate", "R", "100",
                   "open loop: requests a second, due whatever the server does; 0: closed loop, "
                   "as fast as replies come",
                   DX_OPT_NUMBER(0, 10000000), AT(plan.rate) },
    [OPT_ARRIVALS] = { "arrivals", "POISSON|EVEN", "poisson",
                       "how requests of an open loop are spaced: as of many independent clients, "
                       "or evenly",
                       DX_OPT_CHOICE, AT(arrivals) },
    [OPT_SECONDS] = { "seconds", "S", "10", "how long replies count", DX_OPT_NUMBER(1, 3600),
                      AT(plan.seconds) },
    [OPT_WARM_UP] = { "warm-up", "S", "1", "seconds before that, which do not count",
                      DX_OPT_NUMBER(0, 600), AT(plan.warm_s) },
    [OPT_TIMEOUT] = { "timeout-ms", "MS", "5000", "a reply that takes longer is a failure",
                      DX_OPT_NUMBER(1, 600000), AT(plan.timeout_ms) },
    [OPT_SEED] = { "seed", "N", "1", "the same seed asks the same requests in the same order",
                   DX_OPT_NUMBER(0, DX_OPTION_OPEN), AT(plan.seed) },
    [OPT_TOKEN] = { "token-file", "FILE", NULL,
                    "authorize requests by the token in its first line (domaindex access token)",
                    DX_OPT_TEXT, AT(token_file) },
    [OPT_CACERT] = { "cacert", "FILE", NULL,
                     "https: trust the certificates in this file (PEM), not the system's",
                     DX_OPT_TEXT, AT(names.ca_file) },
    [OPT_INSECURE] = { "insecure", NULL, NULL,
                       "https: trust any certificate, for a server of your own; what comes may be "
                       "of another one",
                       DX_OPT_FLAG, AT(names.insecure) },
    [OPT_UNIX_SOCKET] = { "unix-socket", "PATH", NULL,
                          "connect to this socket of the file system; the host of URL is only "
                          "named in requests",
                          DX_OPT_TEXT, AT(names.unix_socket) },
    [OPT_UNBOUNDED] = { "unbounded", NULL, NULL,
                        "for a server of your own: allows more than 1000 requests a second, 60 s "
                        "or 64 connections, and closed loops, and goes on when it refuses",
                        DX_OPT_FLAG, AT(unbounded) },
    [OPT_HTML] = { "html", "FILE", NULL, "write a page with the latency curves there", DX_OPT_TEXT,
                   AT(html) },
    [OPT_JSON] = DX_OPTION_JSON,
};

/* ---- options ---- */

static int check_bounds(const struct bench *b, struct dx_error *err)
{
    const struct dx_load_plan *p = &b->plan;

    if (b->unbounded)
        return DX_OK;
    if (p->rate == 0)
        return dx_fail(err, DX_E_INVALID,
                       "--rate 0 gives a server all that it takes: only with --unbounded, for a "
                       "server of your own");
    if (p->rate > RATE_MAX || p->seconds + p->warm_s > SECONDS_MAX ||
        p->connections > CONNECTIONS_MAX)
        return dx_fail(err, DX_E_INVALID,
                       "more than %d requests a second, %d s with warm-up or %d connections: only "
                       "with --unbounded, for a server of your own",
                       RATE_MAX, SECONDS_MAX, CONNECTIONS_MAX);
    return DX_OK;
}

static int read_law(const struct dx_options *o, struct bench *b, struct dx_error *err)
{
    char text[64];

    b->law = (struct dx_law){ .kind = DX_LAW_UNIFORM };
    if (b->even && dx_options_has(o, OPT_ZIPF))
        return dx_fail(err, DX_E_INVALID, "--even and --zipf exclude each other");
    if (b->even)
        return DX_OK;
    (void)snprintf(text, sizeof text, "zipf=%s", dx_options_text(o, OPT_ZIPF));
    return dx_law_parse(text, &b->law, err);
}

static int read_options(const struct dx_options *o, struct bench *b, struct dx_error *err)
{
    int rc = dx_options_operands(o, 1, err);

    if (rc == DX_OK && o->operand_count != 1)
        rc = dx_fail(err, DX_E_INVALID,
                     "the URL of a server is missing: http://HOST:PORT or https://HOST");
    if (rc == DX_OK)
        rc = dx_options_store(o, b, err);
    if (rc == DX_OK)
        rc = read_law(o, b, err);
    if (rc == DX_OK)
        rc = check_bounds(b, err);
    if (rc == DX_OK && (b->path[0] != '/' || strlen(b->path) >= DX_LOAD_URL_MAX))
        rc = dx_fail(err, DX_E_INVALID, "--path %.60s: begins with / and is below %d bytes",
                     b->path, DX_LOAD_URL_MAX);
    if (rc == DX_OK)
        rc = dx_load_url_parse(&b->server, o->operand[0], err);
    if (rc == DX_OK && !b->server.tls && (b->names.insecure || b->names.ca_file != NULL))
        rc = dx_fail(err, DX_E_INVALID, "--cacert and --insecure go with https:// only");
    if (rc == DX_OK && b->names.insecure && b->names.ca_file != NULL)
        rc = dx_fail(err, DX_E_INVALID, "--cacert and --insecure exclude each other");
    if (rc == DX_OK && b->names.unix_socket != NULL) {
        rc = dx_address_local(b->names.unix_socket, &b->server.address, err);
        (void)snprintf(b->server.shown, sizeof b->server.shown, "%s", b->names.unix_socket);
    }
    if (rc == DX_OK && b->token_file != NULL)
        rc = dx_bench_token_read(b->token_file, b->token, err);
    b->plan.arrivals = b->arrivals == 0 ? DX_ARRIVALS_POISSON : DX_ARRIVALS_CONSTANT;
    b->plan.spin_us = 1000;
    b->plan.refused_max = b->unbounded ? 0 : REFUSED_MAX;
    return rc;
}

/* The names, and the words for them. */
static int find_names(struct bench *b, struct dx_error *err)
{
    int rc;

    (void)snprintf(b->url, sizeof b->url, "%s://%s%s", b->server.tls ? "https" : "http",
                   b->server.host, b->server.prefix);
    (void)snprintf(b->pattern, sizeof b->pattern, "%s%s", b->server.prefix, b->path);
    b->names.pattern = b->pattern;
    b->names.seed = b->plan.seed;
    b->names.token = b->token_file == NULL ? NULL : b->token;
    if (b->names_file != NULL)
        rc = dx_bench_names_read(&b->names, b->names_file, err);
    else
        rc = dx_bench_names_fetch(&b->names, b->url, err);
    if (b->even)
        (void)snprintf(b->about, sizeof b->about, "%llu names, evenly, seed %llu",
                       (unsigned long long)b->names.count, (unsigned long long)b->plan.seed);
    else
        (void)snprintf(b->about, sizeof b->about, "%llu names, Zipf %g, seed %llu",
                       (unsigned long long)b->names.count, b->law.exponent,
                       (unsigned long long)b->plan.seed);
    return rc;
}

/* ---- what came of it ---- */

static int write_page(const struct bench *b, const struct dx_load_result *r,
                      const struct dx_mix_part *part, struct dx_error *err)
{
    struct dx_buf out = DX_BUF_INIT(TEXT_MAX);
    char url[sizeof b->url + DX_LOAD_URL_MAX];
    const struct dx_load_about about = { url, b->about, b->when };
    int rc;

    (void)snprintf(url, sizeof url, "%s%s", b->url, b->path);
    dx_load_page(&out, &about, &b->plan, r, part);
    rc = out.failed ? dx_buf_fail(&out, err, b->html)
                    : dx_file_replace(b->html, dx_span_of(out.data, out.size), err);
    dx_buf_release(&out);
    return rc;
}

static void write_text(const struct bench *b, const struct dx_load_result *r,
                       const struct dx_mix_part *part, struct dx_buf *out)
{
    dx_buf_fmt(out, "%s%s (%s): %s\n", b->url, b->path, b->server.shown, b->about);
    dx_report_text(out, &b->plan, r, part, 1);
    dx_buf_str(out, "statuses: ");
    dx_report_statuses(out, part);
    dx_buf_u8(out, '\n');
    for (unsigned i = 0; i < DX_PART_STATUS_END; i++)
        if (part->status[i] > 0)
            dx_buf_fmt(out, "status %u: %llu\n", i, (unsigned long long)part->status[i]);
    if (r->requests_total > 0 && dx_report_answers(part) == 0)
        dx_buf_str(out, "no reply had status 2xx or 304: check --path and --names\n");
    dx_buf_fmt(out, "%s\n", dx_report_method(&b->plan));
}

/* Fills `out`; 1: every reply came and was an answer, some of them 2xx or 304; 0: not. */
static int load_server(struct bench *b, struct dx_mix_part *part, bool json, struct dx_buf *out,
                       struct dx_error *err)
{
    struct dx_load_result result;
    int rc;

    (void)dx_civil_text_us((int64_t)time(NULL) * 1000000, b->when);
    dx_process_raise_files();
    rc = dx_load_run(&b->plan, part, 1, &result, err);
    if (rc < 0)
        return rc;
    if (json)
        dx_report_json(out, &b->plan, &result, part, 1);
    else
        write_text(b, &result, part, out);
    if (b->html != NULL)
        rc = write_page(b, &result, part, err);
    if (rc == DX_OK)
        rc = dx_report_is_good(&result) && dx_report_failed_statuses(part) == 0 &&
             dx_report_answers(part) > 0;
    dx_load_result_release(&result);
    return rc;
}

static int run_bench(const struct dx_options *o)
{
    static struct bench b; /* URLs in it are long */
    static struct dx_mix_part part;
    struct dx_buf out = DX_BUF_INIT(TEXT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    int rc = read_options(o, &b, &err);

    if (rc < 0)
        return dx_command_fail("bench", DX_EXIT_USAGE, &err);
    if (b.server.tls) {
        (void)signal(SIGPIPE, SIG_IGN); /* TLS writes to a socket that the server has closed */
        rc = dx_tls_client_new(&b.tls, b.server.name, b.names.ca_file, b.names.insecure, &err);
    }
    if (rc == DX_OK)
        rc = find_names(&b, &err);
    if (rc == DX_OK)
        rc = dx_mix_part_of(&part, dx_span_of(b.names.lines.data, b.names.lines.size), "names",
                            &b.law, b.server.host, b.names.token, &err);
    dx_bench_names_release(&b.names);
    if (rc == DX_OK) {
        b.plan.address = b.server.address;
        b.plan.tls = b.tls;
        rc = load_server(&b, &part, dx_options_has(o, OPT_JSON), &out, &err);
    }
    dx_mix_part_release(&part);
    dx_tls_client_free(&b.tls);
    if (rc >= 0)
        return dx_command_print("bench", rc == 1 ? DX_EXIT_DONE : DX_EXIT_REFUSED, &out);
    dx_buf_release(&out);
    return dx_command_fail("bench", DX_EXIT_REFUSED, &err);
}

const struct dx_command dx_command_bench = {
    .name = "bench",
    .synopsis = "[--names FILE] [--rate R] [--seconds S] [--html FILE] [--json] URL",
    .summary = "measure a server: requests at a fixed rate, latencies, a page with curves",
    .description =
        "Sends GET requests to the server at URL, http://HOST:PORT or https://HOST, and prints how "
        "many replies "
        "came "
        "and how long they took. Names are taken from --names or, without it, from GET /v1/domains "
        "of the server. Popular names are asked more often, by Zipf's law.\n\n"
        "By default an open loop: requests are due at times that do not depend on the server, and "
        "a "
        "latency begins when its request was due, not when it was sent. So a stall counts for "
        "every "
        "request that it kept waiting (no coordinated omission). 'from sending' is what a client "
        "that waits would have seen; 'sent late by' is how late this program itself was. Requests "
        "that were never sent are counted by themselves and are in no percentile.\n\n"
        "Without --unbounded it sends at most 1000 requests a second over 64 connections for 60 s, "
        "and ends after 100 replies 429 or 503. Any HTTP server can be measured: --names FILE "
        "--path "
        "'/{}.json'. Replies may have a Content-Length or be chunked. Over TLS connections stand "
        "before the "
        "first request, so latencies have no handshake, but of those that the server closes. Give "
        "it a core of its own: "
        "it "
        "polls near the time that a request is due.\n\n"
        "Exit status 1: a reply did not come, was malformed, or had a status other than 2xx, 304, "
        "404, 410 and 451; no reply had status 2xx or 304; or requests were never sent.",
    .example = "domaindex bench --rate 200 --html latencies.html http://127.0.0.1:8080",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run_bench,
};
