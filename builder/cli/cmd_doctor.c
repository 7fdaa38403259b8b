/* SPDX-License-Identifier: Apache-2.0
 * cmd_doctor.c - domaindex doctor: whether this machine and a root are fit for work.
 */
#include "builder/cli/command.h"

#include <stdio.h>
#include <time.h>

#include "base/json_out.h"
#include "base/log.h"
#include "builder/check/doctor.h"

#define TEXT_MAX ((size_t)1 << 20)

enum { OPT_ROOT, OPT_CACHE_DIR, OPT_TLS_CERTIFICATE, OPT_TLS_KEY, OPT_WRITE, OPT_JSON, OPT_COUNT };

static const struct dx_option table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL,
                   "a directory, http(s)://... or s3://bucket/prefix; without it the machine alone",
                   DX_OPT_ONE_TEXT },
    [OPT_CACHE_DIR] = { "cache-dir", "DIR", NULL, "the folder of a server's copies: examined too",
                        DX_OPT_TEXT },
    [OPT_TLS_CERTIFICATE] = { "tls-certificate", "FILE", NULL,
                              "the certificate of a server: its key, and when it expires",
                              DX_OPT_TEXT },
    [OPT_TLS_KEY] = { "tls-key", "FILE", NULL, "its private key; else it is in the same file",
                      DX_OPT_TEXT },
    [OPT_WRITE] = { "write", NULL, NULL,
                    "also try the conditions of the store and compare clocks: writes and removes "
                    "objects "
                    "below ROOT/probe/",
                    DX_OPT_FLAG },
    [OPT_JSON] = DX_OPTION_JSON,
};

struct output {
    bool json;
    struct dx_json j;
    struct dx_buf text;
    size_t warnings;
};

static void put_line(struct dx_buf *out, const struct dx_finding *f)
{
    dx_buf_fmt(out, "%-8s %-12s ", dx_finding_level_name(f->level), f->check);
    dx_buf_printable(out, f->text, strlen(f->text));
    dx_buf_u8(out, '\n');
    if (f->advice != NULL)
        dx_buf_fmt(out, "%-8s %-12s -> %s\n", "", "", f->advice);
}

static void put_json(struct dx_json *j, const struct dx_finding *f)
{
    dx_json_object(j);
    dx_json_key(j, "level");
    dx_json_str(j, dx_finding_level_name(f->level));
    dx_json_key(j, "check");
    dx_json_str(j, f->check);
    dx_json_key(j, "found");
    dx_json_str(j, f->text);
    dx_json_key(j, "advice");
    if (f->advice == NULL)
        dx_json_null(j);
    else
        dx_json_str(j, f->advice);
    dx_json_end(j);
}

static void take_finding(void *ctx, const struct dx_finding *f)
{
    struct output *o = ctx;

    o->warnings += f->level == DX_FINDING_WARNING;
    if (o->json)
        put_json(&o->j, f);
    else
        put_line(&o->text, f);
}

static void begin(struct output *o)
{
    if (!o->json)
        return;
    dx_json_open(&o->j, &o->text);
    dx_json_object(&o->j);
    dx_json_key(&o->j, "findings");
    dx_json_array(&o->j);
}

static void end(struct output *o, size_t faults)
{
    if (!o->json) {
        dx_buf_fmt(&o->text, "%zu fault%s, %zu warning%s\n", faults, dx_plural(faults), o->warnings,
                   dx_plural(o->warnings));
        return;
    }
    dx_json_end(&o->j);
    dx_json_key_u64(&o->j, "faults", faults);
    dx_json_key_u64(&o->j, "warnings", o->warnings);
    dx_json_end(&o->j);
    dx_buf_u8(&o->text, '\n');
}

static int run_doctor(const struct dx_options *options)
{
    struct output o = { .json = dx_options_has(options, OPT_JSON), .text = DX_BUF_INIT(TEXT_MAX) };
    struct dx_doctor_ask ask = { .root = dx_options_text(options, OPT_ROOT),
                                 .cache_dir = dx_options_text(options, OPT_CACHE_DIR),
                                 .tls_certificate = dx_options_text(options, OPT_TLS_CERTIFICATE),
                                 .tls_key = dx_options_text(options, OPT_TLS_KEY),
                                 .write = dx_options_has(options, OPT_WRITE),
                                 .now_us = (int64_t)time(NULL) * 1000000 };
    size_t faults;

    if (options->operand_count > 0 || (ask.write && ask.root == NULL) ||
        (ask.tls_key != NULL && ask.tls_certificate == NULL)) {
        (void)dx_line_print(stderr,
                            "domaindex doctor: it takes options only; --write needs --root, and "
                            "--tls-key --tls-certificate");
        return DX_EXIT_USAGE;
    }
    begin(&o);
    faults = dx_doctor_examine(&ask, take_finding, &o);
    end(&o, faults);
    return dx_command_print("doctor", faults > 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE, &o.text);
}

const struct dx_command dx_command_doctor = {
    .name = "doctor",
    .synopsis = "[--root ROOT] [--cache-dir DIR] [--tls-certificate FILE] [--tls-key FILE] "
                "[--write] [--json]",
    .summary = "examine this machine and a root: what is wrong, and what to do",
    .description =
        "Prints a line for each finding: its level (ok, warning, fault), the subject, "
        "what was found, and "
        "below it what to do. Of the machine: file descriptors, file size limit, memory "
        "(of the cgroup too), landlock and "
        "seccomp, memory mappings. Of a server's certificate: whether its key fits and is secret, "
        "and when it expires. Of a root: rights, free space and inodes, registry, "
        "manifest, current version, clock, numbers that are left for versions, "
        "sizes of index files, lake files that are missing or have another size, the suffix list, "
        "and what a server reads at its start: suppressions and the access table; with --write the "
        "conditions of the store, which two "
        "publishers at once rely on.\n\n"
        "It reads little. 'verify' reads every byte of a version; settings of a server are "
        "examined "
        "by 'domaindexd --config FILE --check'. "
        "The exit code is 1 if there is a fault.",
    .example = "domaindex doctor --root s3://bucket/prefix --write",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run_doctor,
};
