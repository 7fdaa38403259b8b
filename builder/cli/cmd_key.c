/* SPDX-License-Identifier: Apache-2.0
 * cmd_key.c - `domaindex key`: a URL a line in, its key a line out, and back where that can be.
 */
#include "base/log.h"
#include "builder/cli/command.h"

#include "builder/exchange/numbers/domain64_print.h"
#include "builder/input/bytes/stdin_lines.h"
#include "builder/lake/suffix_list.h"
#include "builder/root/root.h"
#include "builder/root/version_files.h"
#include "canon/domain64.h"
#include "canon/ids.h"
#include "canon/key_number.h"
#include "canon/store_key.h"
#include "format/version/manifest.h"
#include "loader/followed/domain64_registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_SCHEME,
    OPT_FORMAT,
    OPT_CLEAN,
    OPT_DECODE,
    OPT_ROOT,
    OPT_LAYOUT,
    OPT_PSL,
    OPT_JSON,
    OPT_COUNT
};

/* Of an answer and a line, each byte escaped. */
#define ROW_MAX ((size_t)32 * DX_URL_MAX)

enum scheme { URL_ID, DOMAIN_ID, STORE_KEY, DOMAIN64 };

struct keys {
    enum scheme scheme;
    enum dx_number_format format;
    bool clean;
    bool decode;
    bool json;
    const char *root;
    enum dx_domain64_layout layout;
    struct dx_domain64_registry *numbers;
    struct dx_buf text; /* the answer to a line: a key, or a name */
    struct dx_buf row;  /* the line that is printed */
    struct dx_canon *canon;
    struct dx_store_key store;
    uint64_t lines;
    uint64_t rejects;
};

#define AT(member) DX_OPT_PLACE(struct keys, member)

static const struct dx_option table[OPT_COUNT] = {
    [OPT_SCHEME] = { "scheme", "URL_ID|DOMAIN_ID|STORE_KEY|DOMAIN64", NULL, "what key",
                     DX_OPT_CHOICE, AT(scheme) },
    [OPT_FORMAT] = { "format", "DEC|HEX|BIGINT", "dec",
                     "of keys: dec, hex (0x and 16 digits), or bigint (signed, as in SQL)",
                     DX_OPT_CHOICE, AT(format) },
    [OPT_CLEAN] = { "clean", NULL, NULL,
                    "store_key of the URL without fragment and utm_ parameters, its query sorted",
                    DX_OPT_FLAG, AT(clean) },
    [OPT_DECODE] = { "decode", NULL, NULL, "keys are read, and what they stand for is printed",
                     DX_OPT_FLAG, AT(decode) },
    [OPT_ROOT] = { "root", "ROOT", NULL, "domain64: whose registry has the numbers",
                   DX_OPT_ONE_TEXT, AT(root) },
    [OPT_LAYOUT] = { "layout", "8-24-8-24|8-24-24-8", "8-24-8-24", "domain64 without --root",
                     DX_OPT_CHOICE, AT(layout) },
    [OPT_PSL] = { "psl", "FILE", DX_PSL_DEFAULT_PATH,
                  "public suffix list to use; with --root that of its lake", DX_OPT_TEXT },
    [OPT_JSON] = { "json", NULL, NULL, "print each line as a JSON object", DX_OPT_FLAG, AT(json) },
};

static int read_options(struct keys *k, const struct dx_options *o, struct dx_error *err)
{
    int rc = dx_options_store(o, k, err);

    if (rc < 0)
        return rc;
    if (!dx_options_has(o, OPT_SCHEME))
        return dx_fail(err, DX_E_INVALID, "give --scheme url_id, domain_id, store_key or domain64");
    if (o->operand_count > 0)
        return dx_fail(err, DX_E_INVALID,
                       "'%.60s': URLs are read from standard input, one a line; give no operands",
                       o->operand[0]);
    if (k->clean && k->scheme != STORE_KEY)
        return dx_fail(
            err, DX_E_INVALID,
            "--clean works with --scheme store_key only; the other keys are of the canonical URL");
    if (k->decode && k->scheme != DOMAIN64)
        return dx_fail(
            err, DX_E_INVALID,
            "--decode: a %s is a hash and cannot be decoded; a server finds its URL (/v1/urlid)",
            dx_options_text(o, OPT_SCHEME));
    if (!k->decode && k->scheme == DOMAIN64 && k->root == NULL)
        return dx_fail(err, DX_E_INVALID,
                       "--scheme domain64 needs --root ROOT, whose registry has the numbers");
    if (k->root != NULL && (k->scheme != DOMAIN64 || dx_options_has(o, OPT_LAYOUT)))
        return dx_fail(
            err, DX_E_INVALID,
            "--root works with --scheme domain64 only, and without --layout: its registry has one");
    return DX_OK;
}

/* ---- to keys ---- */

static int domain64_of(struct keys *k, struct dx_span line, uint64_t *key, const char **why,
                       struct dx_error *err)
{
    static const char *const unknown[] = { "tld_unknown", "domain_unknown", "subdomain_unknown",
                                           "path_unknown" };
    enum dx_reject reject = DX_REJECT_NONE;
    enum dx_domain64_part missing = DX_PART_TLD;
    struct dx_domain64_names names;
    struct dx_url url;
    int rc = dx_canon_url(k->canon, line, &url, &reject);

    *why = dx_reject_name(reject);
    if (rc != 1)
        return rc;
    rc = dx_domain64_names(url.domain, url.host, url.path_query, k->layout, &names)
             ? dx_domain64_registry_key(k->numbers, &names, key, &missing, err)
             : 0;
    *why = unknown[missing];
    return rc;
}

/* 1, 0: refused, or negative. */
static int key_of(struct keys *k, struct dx_span line, uint64_t *key, const char **why,
                  struct dx_error *err)
{
    enum dx_reject reject = DX_REJECT_NONE;
    struct dx_span domain;
    struct dx_url url;
    int rc;

    if (k->scheme == STORE_KEY) {
        rc = dx_store_key_of(&k->store, line, k->clean, err);
        *key = k->store.key;
        *why = k->store.why;
        return rc;
    }
    if (k->scheme == DOMAIN64)
        return domain64_of(k, line, key, why, err);
    if (k->scheme == DOMAIN_ID) {
        rc = dx_canon_domain(k->canon, line, &domain, &reject);
        *key = rc == 1 ? dx_domain_id(domain) : 0;
    } else {
        rc = dx_canon_url(k->canon, line, &url, &reject);
        *key = rc == 1 ? dx_url_id(url.url) : 0;
    }
    *why = dx_reject_name(reject);
    return rc;
}

/* ---- from keys ---- */

/* What the key stands for, into k->text: 1. 0: it stands for nothing, because of *why. */
static int decode_line(struct keys *k, struct dx_span line, const char **why, struct dx_error *err)
{
    struct dx_domain64 d;
    uint64_t key;
    int rc = 1;

    if (!dx_key_number(line, &key)) {
        *why = "number";
        return 0;
    }
    if (dx_domain64_unpack(key, k->layout, &d, NULL) < 0) {
        *why = "fields";
        return 0;
    }
    *why = "unknown";
    if (k->numbers != NULL)
        rc = dx_domain64_registry_names(k->numbers, key, &k->text, err);
    else if (k->layout == DX_DOMAIN64_SUB8)
        dx_buf_fmt(&k->text, "%02x:%06x:%02x:%06x", (unsigned)d.tld, (unsigned)d.domain,
                   (unsigned)d.subdomain, (unsigned)d.path);
    else
        dx_buf_fmt(&k->text, "%02x:%06x:%06x:00", (unsigned)d.tld, (unsigned)d.domain,
                   (unsigned)d.subdomain);
    return rc;
}

static int encode_line(struct keys *k, struct dx_span line, const char **why, struct dx_error *err)
{
    uint64_t key = 0;
    int rc = key_of(k, line, &key, why, err);

    if (rc == 1)
        dx_number_text(key, k->format, &k->text);
    return rc;
}

/* Keys are strings: a number of JSON is exact only up to 2^53 for most readers. */
static void put_json(struct keys *k, struct dx_span line, const char *why)
{
    const char *answer = !k->decode ? "key" : k->numbers != NULL ? "name" : "fields";
    struct dx_json j;

    dx_command_json_open(&j, &k->row);
    dx_json_key(&j, "asked");
    dx_json_text(&j, line);
    dx_json_key(&j, why == NULL ? answer : "reason");
    why == NULL ? dx_json_text(&j, dx_span_of(k->text.data, k->text.size)) : dx_json_str(&j, why);
    dx_command_json_end(&j, &k->row);
}

static void put_text(struct keys *k, struct dx_span line, const char *why)
{
    if (why == NULL)
        dx_buf_append(&k->row, k->text.data, k->text.size);
    else
        dx_buf_fmt(&k->row, "!%s", why);
    dx_buf_u8(&k->row, '\t');
    dx_buf_append(&k->row, line.data, line.size);
    dx_buf_u8(&k->row, '\n');
}

static int answer_line(struct keys *k, struct dx_span line, FILE *out, struct dx_error *err)
{
    const char *why = NULL;
    int rc;

    dx_buf_clear(&k->text);
    dx_buf_clear(&k->row);
    rc = k->decode ? decode_line(k, line, &why, err) : encode_line(k, line, &why, err);
    if (rc < 0)
        return rc;
    k->rejects += rc == 0;
    k->json ? put_json(k, line, rc == 1 ? NULL : why) : put_text(k, line, rc == 1 ? NULL : why);
    if (k->text.failed || k->row.failed)
        return dx_buf_fail(k->text.failed ? &k->text : &k->row, err, "a line");
    (void)fwrite(k->row.data, 1, k->row.size, out);
    return DX_OK;
}

static int stream(struct keys *k, struct dx_stdin_lines *in, FILE *out, struct dx_error *err)
{
    struct dx_span line;
    int rc = DX_OK;

    while (rc >= 0 && !ferror(out) && dx_stdin_lines_next(in, &line)) {
        if (line.size > 0 && line.data[line.size - 1] == '\r')
            line.size--;
        k->lines++;
        rc = answer_line(k, line, out, err);
    }
    if (rc >= 0 && in->error != 0)
        return dx_fail_errno(err, in->error, "standard input");
    if (rc >= 0 && (fflush(out) != 0 || ferror(out)))
        return dx_fail_errno(err, errno, "standard output");
    return rc < 0 ? rc : DX_OK;
}

/* The registry, and the suffix list of the version that its lake has now, which made the
 * domains. */
static int open_root(struct keys *k, struct dx_buf *psl, struct dx_error *err)
{
    struct dx_root remote = DX_ROOT_INIT;
    struct dx_manifest m = DX_MANIFEST_INIT;
    int rc = dx_root_open(&remote, k->root, DX_ROOT_READ, err);

    if (rc == DX_OK)
        rc = dx_domain64_registry_open(&k->numbers, k->root, remote.source, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "%s: no domain64 registry; run 'domaindex domain64 init --root %s' first",
                     k->root, k->root);
    if (rc == 1) {
        k->layout = k->numbers->layout;
        rc = k->decode ? DX_OK : dx_root_manifest(k->root, &m, err);
    }
    if (rc == DX_OK && !k->decode) {
        rc = dx_version_text_read(remote.source, dx_manifest_current(&m), DX_FILE_PSL,
                                  DX_PSL_TEXT_MAX, psl, err);
        if (rc == DX_E_NOT_FOUND)
            rc = dx_fail_in(err, "'domaindex verify --root %s' says what else is missing", k->root);
    }
    dx_manifest_release(&m);
    dx_root_close(&remote);
    return rc < 0 ? rc : DX_OK;
}

static int load_canon(struct keys *k, struct dx_psl **psl, const char *path, struct dx_error *err)
{
    struct dx_buf text = DX_SUFFIX_LIST_INIT;
    int rc = DX_OK;

    if (k->root != NULL)
        rc = open_root(k, &text, err);
    else if (!k->decode && k->scheme != STORE_KEY)
        rc = dx_suffix_list_read(path, &text, err);
    if (rc == DX_OK && !k->decode && k->scheme != STORE_KEY) {
        rc = dx_psl_new(psl, dx_span_of(text.data, text.size), err);
        if (rc == DX_OK)
            rc = dx_canon_new(&k->canon, *psl, err);
    }
    dx_buf_release(&text);
    return rc;
}

static int run_key(const struct dx_options *o)
{
    static struct dx_stdin_lines in; /* too large for the stack; a command runs once */
    struct keys k = { .store = DX_STORE_KEY_INIT,
                      .text = DX_BUF_INIT(4 * DX_URL_MAX),
                      .row = DX_BUF_INIT(ROW_MAX) };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_psl *psl = NULL;
    int rc = read_options(&k, o, &err);

    if (rc < 0)
        return dx_command_fail("key", DX_EXIT_USAGE, &err);
    rc = load_canon(&k, &psl, dx_options_text(o, OPT_PSL), &err);
    if (rc == DX_OK) {
        dx_stdin_lines_init(&in, STDIN_FILENO, stdout);
        rc = stream(&k, &in, stdout, &err);
    }
    if (rc < 0)
        (void)dx_command_fail("key", DX_EXIT_REFUSED, &err);
    else if (k.rejects > 0)
        (void)dx_line_print(
            stderr, "domaindex key: lines without a key (%s): %" PRIu64 " of %" PRIu64 "",
            k.json ? "they have a reason" : "they begin with '!'", k.rejects, k.lines);
    dx_canon_free(&k.canon);
    dx_psl_free(&psl);
    dx_store_key_release(&k.store);
    dx_domain64_registry_close(&k.numbers);
    dx_buf_release(&k.text);
    dx_buf_release(&k.row);
    return rc < 0 || k.rejects > 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

const struct dx_command dx_command_key = {
    .name = "key",
    .synopsis =
        "--scheme SCHEME [--clean] [--decode] [--root ROOT] [--format FORMAT] [--json] < LINES",
    .summary = "the key of each URL read, by one of four schemes",
    .description =
        "Reads URLs, one a line, and prints one line for each: its key, a tab, and the line. A "
        "line "
        "without a key has '!' and the reason in the key's place; then the exit code is 1.\n\n"
        "url_id and domain_id are XXH3-64 of the canonical URL and of its registered domain; they "
        "are those of the API. store_key has 63 bits, so it fits a signed BIGINT: a sum of the "
        "host's bytes and an FNV-1a hash of the URL; with --clean of the URL without fragment, "
        "without "
        "utm_ parameters and with its query sorted. It is of the URL as it was typed, not of its "
        "canonical form. "
        "None of these can be turned back.\n\n"
        "domain64 is TLD, domain, subdomain and path, numbered by a registry, in one number that "
        "sorts "
        "by them. With --decode lines are such numbers (decimal, negative or 0x...), "
        "and their fields are printed in hex; with --root, the names that they stand for.\n\n"
        "With --json each line is an object: asked, and key (a string, as --format says), or of "
        "--decode fields or name; or reason.",
    .example = "echo 'https://example.com/' | domaindex key --scheme store_key",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run_key,
};
