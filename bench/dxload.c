/* SPDX-License-Identifier: Apache-2.0
 * dxload.c - a load of HTTP requests from one core: what is requested, how often, how long it took.
 */
#include "base/command/options.h"
#include "base/command/process.h"
#include "base/file.h"
#include "builder/load/load.h"
#include "builder/load/report.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXIT_WRONG = 1, EXIT_USAGE = 2 };

#define PARTS_MAX 64

enum {
    OPT_CONNECTIONS,
    OPT_SECONDS,
    OPT_WARM,
    OPT_RATE,
    OPT_POISSON,
    OPT_LAW,
    OPT_SEED,
    OPT_VERIFY,
    OPT_TIMEOUT,
    OPT_SPIN,
    OPT_REQUESTS,
    OPT_RECORD,
    OPT_JSON,
    OPT_HELP,
    OPT_COUNT
};

#define AT(member) DX_OPT_PLACE(struct dx_load_plan, member)

static const struct dx_option table[OPT_COUNT] = {
    [OPT_CONNECTIONS] = { "connections", "N", "64", "connections, kept alive",
                          DX_OPT_NUMBER(1, DX_LOAD_CONNECTIONS_MAX), AT(connections) },
    [OPT_SECONDS] = { "seconds", "S", "5", "how long replies count; up to 600", DX_OPT_TEXT },
    [OPT_WARM] = { "warm", "S", "0.3", "seconds before that, which do not count", DX_OPT_TEXT },
    [OPT_RATE] = { "rate", "R", "0", "open loop of so many requests a second; 0: closed loop",
                   DX_OPT_TEXT },
    [OPT_POISSON] = { "poisson", NULL, NULL,
                      "arrivals of an open loop as of many independent clients, else even",
                      DX_OPT_FLAG },
    [OPT_LAW] = { "law", "LAW", "uniform",
                  "how targets are picked: zipf=S, pareto=A, weights, uniform, order",
                  DX_OPT_TEXT },
    [OPT_SEED] = { "seed", "N", "1", "the same seed asks the same requests in the same order",
                   DX_OPT_NUMBER(0, DX_OPTION_OPEN), AT(seed) },
    [OPT_VERIFY] = { "verify-every", "N", "16",
                     "compare each n-th body with the hash in its target file; 0: none",
                     DX_OPT_NUMBER(0, 1000000000), AT(verify_every) },
    [OPT_TIMEOUT] = { "timeout-ms", "MS", "5000", "a reply that takes longer is a failure",
                      DX_OPT_NUMBER(1, 600000), AT(timeout_ms) },
    [OPT_SPIN] = { "spin-us", "US", "1000",
                   "poll without sleeping so long before a request of an open loop is due",
                   DX_OPT_NUMBER(0, 1000000), AT(spin_us) },
    [OPT_REQUESTS] = { "requests", "N", "0", "end after so many requests; 0: by time only",
                       DX_OPT_NUMBER(0, DX_OPTION_OPEN), AT(requests_max) },
    [OPT_RECORD] = { "record", "FILE", NULL,
                     "ask each target of one file once, and write FILE with what was answered",
                     DX_OPT_TEXT },
    [OPT_JSON] = { "json", "FILE", NULL, "write the figures there; - is standard output",
                   DX_OPT_TEXT },
    [OPT_HELP] = { "help", NULL, NULL, "this text", DX_OPT_FLAG },
};

static const char usage[] =
    "usage: dxload [option ...] ADDRESS:PORT FILE[:SHARE[:LAW]] ...\n"
    "\n"
    "Sends GET requests for the targets of each FILE over kept connections, from one thread.\n"
    "A line of FILE is a target, and behind tabs its weight, the status, the bytes and the\n"
    "XXH3-128 of the body that are expected; what is missing or \"-\" is not compared.\n"
    "SHARE is the part of all requests that goes to the file, LAW how its lines are picked.\n"
    "Latencies of an open loop count from the time a request should have been sent.\n"
    "\n";

static const char after[] = "\n"
                            "Exit: 0 all replies came and were right, 1 some did not or were not "
                            "(also: never sent),\n2 usage.\n";

static int parse_real(const struct dx_options *o, size_t index, double least, double most,
                      double *out, struct dx_error *err)
{
    const char *text = dx_options_text(o, index);
    char *end;

    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !(*out >= least && *out <= most))
        return dx_fail(err, DX_E_INVALID, "--%s %s: a number from %g to %g", table[index].name,
                       text, least, most);
    return DX_OK;
}

static int parse_plan(const struct dx_options *o, struct dx_load_plan *plan, struct dx_error *err)
{
    int rc = dx_options_store(o, plan, err);

    if (rc == DX_OK)
        rc = parse_real(o, OPT_SECONDS, 0.01, 600, &plan->seconds, err);
    if (rc == DX_OK)
        rc = parse_real(o, OPT_WARM, 0, 600, &plan->warm_s, err);
    if (rc == DX_OK)
        rc = parse_real(o, OPT_RATE, 0, 1e7, &plan->rate, err);
    if (rc == DX_OK)
        rc = dx_address_parse(o->operand[0], &plan->address, err);
    plan->arrivals = dx_options_has(o, OPT_POISSON) ? DX_ARRIVALS_POISSON : DX_ARRIVALS_CONSTANT;
    return rc;
}

static int open_parts(const struct dx_options *o, struct dx_mix_part *parts, struct dx_error *err)
{
    struct dx_law law;
    int rc = dx_law_parse(dx_options_text(o, OPT_LAW), &law, err);

    if (dx_options_has(o, OPT_RECORD))
        law = (struct dx_law){ DX_LAW_ORDER, 0 };
    for (size_t i = 1; rc == DX_OK && i < o->operand_count; i++)
        rc = dx_mix_part_open(&parts[i - 1], o->operand[i], &law, o->operand[0], err);
    return rc;
}

static int write_json(const char *path, const struct dx_load_plan *plan,
                      const struct dx_load_result *result, const struct dx_mix_part *parts,
                      size_t count, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(64 << 20);
    int rc = DX_OK;

    dx_report_json(&text, plan, result, parts, count);
    if (text.failed)
        rc = dx_buf_fail(&text, err, path);
    else if (strcmp(path, "-") == 0)
        (void)fwrite(text.data, 1, text.size, stdout);
    else
        rc = dx_file_replace(path, dx_span_of(text.data, text.size), err);
    dx_buf_release(&text);
    return rc;
}

/* Figures on standard output are for a program: then the words go beside them. */
static void print_text(FILE *to, const struct dx_load_plan *plan,
                       const struct dx_load_result *result, const struct dx_mix_part *parts,
                       size_t count)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);

    dx_report_text(&text, plan, result, parts, count);
    (void)fwrite(text.data, 1, text.size, to);
    dx_buf_release(&text);
}

/* <0: err; else 0 or EXIT_WRONG. */
static int run(const struct dx_options *o, struct dx_load_plan *plan, struct dx_mix_part *parts,
               struct dx_error *err)
{
    const char *record = dx_options_text(o, OPT_RECORD), *json = dx_options_text(o, OPT_JSON);
    size_t count = o->operand_count - 1;
    struct dx_load_result result;
    bool good;
    int rc;

    if (record != NULL) {
        plan->learn = true;
        plan->rate = plan->warm_s = 0;
        plan->requests_max = parts[0].targets.count;
    }
    rc = dx_load_run(plan, parts, count, &result, err);
    if (rc < 0)
        return rc;
    good = dx_report_is_good(&result);
    print_text(json != NULL && strcmp(json, "-") == 0 ? stderr : stdout, plan, &result, parts,
               count);
    if (json != NULL)
        rc = write_json(json, plan, &result, parts, count, err);
    if (rc == DX_OK && record != NULL && good && result.requests_total < plan->requests_max)
        rc = dx_fail(err, DX_E_TIMEOUT, "%llu of %llu targets were asked in --seconds",
                     (unsigned long long)result.requests_total,
                     (unsigned long long)plan->requests_max);
    if (rc == DX_OK && record != NULL && good)
        rc = dx_targets_write(&parts[0].targets, record, err);
    dx_load_result_release(&result);
    return rc < 0 ? rc : good ? 0 : EXIT_WRONG;
}

static int print_help(void)
{
    struct dx_buf text = DX_BUF_INIT(64 * 1024);

    dx_buf_str(&text, usage);
    dx_options_help(table, OPT_COUNT, &text);
    dx_buf_str(&text, after);
    (void)fwrite(text.data, 1, text.size, stdout);
    dx_buf_release(&text);
    return 0;
}

static int check_operands(const struct dx_options *o, struct dx_error *err)
{
    if (o->operand_count < 2)
        return dx_fail(err, DX_E_INVALID, "an address and at least one file of targets");
    if (o->operand_count - 1 > PARTS_MAX)
        return dx_fail(err, DX_E_LIMIT, "more than %d files of targets", PARTS_MAX);
    if (dx_options_has(o, OPT_RECORD) && o->operand_count != 2)
        return dx_fail(err, DX_E_INVALID, "--record takes one file of targets");
    return DX_OK;
}

int main(int argc, char **argv)
{
    static struct dx_mix_part parts[PARTS_MAX];
    struct dx_load_plan plan = { .connections = 0 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_options o;
    int rc = dx_options_parse(&o, table, OPT_COUNT, argc, argv, &err);

    if (rc == DX_OK && dx_options_has(&o, OPT_HELP)) {
        dx_options_release(&o);
        return print_help();
    }
    if (rc == DX_OK)
        rc = check_operands(&o, &err);
    if (rc == DX_OK)
        rc = parse_plan(&o, &plan, &err);
    if (rc == DX_OK)
        rc = open_parts(&o, parts, &err);
    if (rc < 0) {
        fprintf(stderr, "dxload: %s\n%s", err.text, usage);
        dx_options_release(&o);
        return EXIT_USAGE;
    }
    dx_process_raise_files();
    rc = run(&o, &plan, parts, &err);
    if (rc < 0)
        fprintf(stderr, "dxload: %s\n", err.text);
    for (size_t i = 0; i < PARTS_MAX; i++)
        dx_mix_part_release(&parts[i]);
    dx_options_release(&o);
    return rc < 0 ? EXIT_WRONG : rc;
}
