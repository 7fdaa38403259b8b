/* SPDX-License-Identifier: Apache-2.0
 * cmd_normalize.c - `domaindex normalize`: a URL a line in, its canonical form a line out.
 */
#include "base/log.h"
#include "builder/cli/command.h"

#include "builder/input/bytes/stdin_lines.h"
#include "builder/lake/suffix_list.h"
#include "canon/url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPT_FIELD, OPT_PSL, OPT_JSON, OPT_COUNT };

enum { LINE_MAX_BYTES = 1u << 20 };

static const struct dx_option table[OPT_COUNT] = {
    [OPT_FIELD] = { "field", "FIELD", "url", "what to print: url, domain, host or scheme",
                    DX_OPT_TEXT },
    [OPT_PSL] = { "psl", "FILE", DX_PSL_DEFAULT_PATH, "public suffix list to use", DX_OPT_TEXT },
    [OPT_JSON] = { "json", NULL, NULL, "an object for each URL: its fields, or the reason",
                   DX_OPT_FLAG },
};

enum field { FIELD_URL, FIELD_DOMAIN, FIELD_HOST, FIELD_SCHEME, FIELD_COUNT };
static const char *const field_names[FIELD_COUNT] = { "url", "domain", "host", "scheme" };

static int normalize_line(struct dx_canon *canon, enum field field, struct dx_span line,
                          struct dx_span *out, enum dx_reject *why)
{
    struct dx_url url;
    int rc;

    if (field == FIELD_DOMAIN)
        return dx_canon_domain(canon, line, out, why);
    rc = dx_canon_url(canon, line, &url, why);
    *out = field == FIELD_URL ? url.url : field == FIELD_HOST ? url.host : url.scheme;
    return rc;
}

static void put_text(struct dx_json *j, const char *key, struct dx_span text)
{
    dx_json_key(j, key);
    dx_json_text(j, text);
}

static void put_json(struct dx_canon *canon, struct dx_span line, struct dx_buf *text)
{
    struct dx_json j;
    struct dx_url url;
    enum dx_reject why;

    dx_command_json_open(&j, text);
    put_text(&j, "asked", line);
    if (dx_canon_url(canon, line, &url, &why) == 1) {
        put_text(&j, "url", url.url);
        put_text(&j, "domain", url.domain);
        put_text(&j, "host", url.host);
        put_text(&j, "scheme", url.scheme);
    } else {
        put_text(&j, "reason", dx_span_str(dx_reject_name(why)));
    }
    dx_command_json_end(&j, text);
}

static void put_field(struct dx_canon *canon, enum field field, struct dx_span line,
                      struct dx_buf *text)
{
    struct dx_span found;
    enum dx_reject why;

    if (normalize_line(canon, field, line, &found, &why) == 1)
        dx_buf_append(text, found.data, found.size);
    else
        dx_buf_fmt(text, "!%s", dx_reject_name(why));
    dx_buf_u8(text, '\n');
}

static int load_psl(struct dx_psl **psl, const char *path, struct dx_error *err)
{
    struct dx_buf text = DX_SUFFIX_LIST_INIT;
    int rc;

    rc = dx_suffix_list_read(path, &text, err);
    if (rc == DX_OK)
        rc = dx_psl_new(psl, (struct dx_span){ text.data, text.size }, err) < 0
                 ? dx_fail_in(err, "%s", path)
                 : DX_OK;
    dx_buf_release(&text);
    return rc;
}

static int normalize_stream(struct dx_canon *canon, enum field field, bool json,
                            struct dx_stdin_lines *in, FILE *out, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(LINE_MAX_BYTES);
    struct dx_span line;
    int rc = DX_OK;

    while (rc == DX_OK && !ferror(out) && dx_stdin_lines_next(in, &line)) {
        dx_buf_clear(&text);
        json ? put_json(canon, line, &text) : put_field(canon, field, line, &text);
        if (text.failed)
            rc = dx_buf_fail(&text, err, "a line");
        else
            (void)fwrite(text.data, 1, text.size, out);
    }
    dx_buf_release(&text);
    if (rc < 0)
        return rc;
    if (in->error != 0)
        return dx_fail_errno(err, in->error, "standard input");
    if (fflush(out) != 0 || ferror(out))
        return dx_fail_errno(err, errno, "standard output");
    return DX_OK;
}

static int run_normalize(const struct dx_options *options)
{
    static struct dx_stdin_lines in; /* too large for the stack; a command runs once */
    const char *name = dx_options_text(options, OPT_FIELD);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_psl *psl = NULL;
    struct dx_canon *canon = NULL;
    int field = 0;
    int rc;

    while (field < FIELD_COUNT && strcmp(name, field_names[field]) != 0)
        field++;
    if (field == FIELD_COUNT || options->operand_count > 0) {
        if (field == FIELD_COUNT)
            (void)dx_fail(&err, DX_E_INVALID, "--field is url, domain, host or scheme, not '%s'",
                          name);
        else
            (void)dx_fail(
                &err, DX_E_INVALID,
                "'%.60s': URLs are read from standard input, one a line; give no operands",
                options->operand[0]);
        return dx_command_fail("normalize", DX_EXIT_USAGE, &err);
    }
    dx_stdin_lines_init(&in, STDIN_FILENO, stdout);
    rc = load_psl(&psl, dx_options_text(options, OPT_PSL), &err);
    if (rc == DX_OK)
        rc = dx_canon_new(&canon, psl, &err);
    if (rc == DX_OK)
        rc = normalize_stream(canon, (enum field)field, dx_options_has(options, OPT_JSON), &in,
                              stdout, &err);
    if (rc < 0)
        (void)dx_command_fail("normalize", DX_EXIT_REFUSED, &err);
    dx_canon_free(&canon);
    dx_psl_free(&psl);
    return rc < 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

const struct dx_command dx_command_normalize = {
    .name = "normalize",
    .synopsis = "[--field FIELD|--json] [--psl FILE] < URLS",
    .summary = "print the canonical form of each URL read",
    .description =
        "Reads URLs, one a line, and prints one line for each: its canonical form, or one field\n"
        "of it. With --field domain a line may also be a domain, a host or host:port. A line that\n"
        "is not taken comes out as '!' and the reason: empty, too_long, scheme, host_missing,\n"
        "host_invalid, port_invalid, utf8_invalid or public_suffix. With --json each\n"
        "line is an object: asked, and url, domain, host and scheme, or reason. The rules are in\n"
        "docs/CANON.md.",
    .example = "echo 'HTTP://WWW.Example.COM:80/a/../b?z=1&a=2#top' | domaindex normalize",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run_normalize,
};
