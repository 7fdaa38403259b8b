/* SPDX-License-Identifier: Apache-2.0
 * cmd_key.c - `domaindex key`: a URL a line in, its key a line out, and back where that can be.
 */
#include "builder/command.h"

#include "base/file.h"
#include "builder/domain64_print.h"
#include "builder/remote_root.h"
#include "builder/stdin_lines.h"
#include "canon/domain64.h"
#include "canon/ids.h"
#include "canon/key_number.h"
#include "canon/store_key.h"
#include "format/manifest.h"
#include "loader/numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_SCHEME, OPT_FORMAT, OPT_CLEAN, OPT_DECODE, OPT_ROOT, OPT_LAYOUT, OPT_PSL, OPT_COUNT };

static const struct dx_option table[OPT_COUNT] = {
    [OPT_SCHEME] = { "scheme", "SCHEME", NULL,
                     "what key: url_id, domain_id, store_key or domain64" },
    [OPT_FORMAT] = { "format", "FORMAT", "dec",
                     "of keys: dec, hex (0x and 16 digits), or bigint (signed, as in SQL)" },
    [OPT_CLEAN] = { "clean", NULL, NULL,
                    "store_key of the URL without fragment and utm_ parameters, its query sorted" },
    [OPT_DECODE] = { "decode", NULL, NULL, "keys are read, and what they stand for is printed" },
    [OPT_ROOT] = { "root", "ROOT", NULL, "domain64: whose registry has the numbers" },
    [OPT_LAYOUT] = { "layout", "LAYOUT", "8-24-8-24",
                     "domain64 without --root: 8-24-8-24 or 8-24-24-8" },
    [OPT_PSL] = { "psl", "FILE", DX_PSL_DEFAULT_PATH,
                  "public suffix list to use; with --root that of its lake" },
};

enum scheme { URL_ID, DOMAIN_ID, STORE_KEY, DOMAIN64, SCHEMES };
static const char *const scheme_names[SCHEMES] = { "url_id", "domain_id", "store_key", "domain64" };

struct keys {
    enum scheme scheme;
    enum dx_number_format format;
    bool clean;
    bool decode;
    const char *root;
    enum dx_domain64_layout layout;
    struct dx_numbers *numbers;
    struct dx_buf text; /* a name */
    struct dx_canon *canon;
    struct dx_store_key store;
    uint64_t lines;
    uint64_t rejects;
};

static int name_of(const char *const *names, int count, const char *name)
{
    for (int i = 0; name != NULL && i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static int parse(struct keys *k, const struct dx_options *o, struct dx_error *err)
{
    int scheme = name_of(scheme_names, SCHEMES, dx_options_text(o, OPT_SCHEME));

    if (scheme < 0)
        return dx_fail(err, DX_E_INVALID,
                       "--scheme is one of url_id, domain_id, store_key and domain64");
    if (!dx_number_format_parse(dx_options_text(o, OPT_FORMAT), &k->format))
        return dx_fail(err, DX_E_INVALID, "--format is dec, hex or bigint");
    if (!dx_domain64_layout_parse(dx_span_str(dx_options_text(o, OPT_LAYOUT)), &k->layout))
        return dx_fail(err, DX_E_INVALID, "--layout is 8-24-8-24 or 8-24-24-8");
    if (o->operand_count > 0)
        return dx_fail(err, DX_E_INVALID, "lines are read from standard input");
    k->scheme = (enum scheme)scheme;
    k->root = dx_options_text(o, OPT_ROOT);
    k->clean = dx_options_has(o, OPT_CLEAN);
    k->decode = dx_options_has(o, OPT_DECODE);
    if (k->clean && k->scheme != STORE_KEY)
        return dx_fail(err, DX_E_INVALID,
                       "--clean goes with store_key; the others are of the canonical URL");
    if (k->decode && k->scheme != DOMAIN64)
        return dx_fail(err, DX_E_INVALID,
                       "a %s is a hash: nothing leads back from it but an index (/v1/urlid)",
                       scheme_names[k->scheme]);
    if (!k->decode && k->scheme == DOMAIN64 && k->root == NULL)
        return dx_fail(err, DX_E_INVALID, "domain64 needs a registry: --root");
    if (k->root != NULL && (k->scheme != DOMAIN64 || dx_options_has(o, OPT_LAYOUT)))
        return dx_fail(err, DX_E_INVALID, "--root goes with domain64, and has the layout");
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
             ? dx_numbers_key(k->numbers, &names, key, &missing, err)
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

static int decode_line(struct keys *k, struct dx_span line, FILE *out, struct dx_error *err)
{
    struct dx_domain64 d;
    uint64_t key;
    int rc = DX_OK;

    if (!dx_key_number(line, &key)) {
        (void)fputs("!number", out);
        k->rejects++;
    } else if (dx_domain64_unpack(key, k->layout, &d, NULL) < 0) {
        (void)fputs("!fields", out);
        k->rejects++;
    } else if (k->numbers != NULL) {
        dx_buf_clear(&k->text);
        rc = dx_numbers_names(k->numbers, key, &k->text, err);
        k->rejects += rc == 0;
        if (rc == 1)
            (void)fwrite(k->text.data, 1, k->text.size, out);
        else
            (void)fputs("!unknown", out);
    } else if (k->layout == DX_DOMAIN64_SUB8) {
        (void)fprintf(out, "%02x:%06x:%02x:%06x", (unsigned)d.tld, (unsigned)d.domain,
                      (unsigned)d.subdomain, (unsigned)d.path);
    } else {
        (void)fprintf(out, "%02x:%06x:%06x:00", (unsigned)d.tld, (unsigned)d.domain,
                      (unsigned)d.subdomain);
    }
    return rc;
}

static int encode_line(struct keys *k, struct dx_span line, FILE *out, struct dx_error *err)
{
    const char *why = NULL;
    uint64_t key = 0;
    int rc = key_of(k, line, &key, &why, err);

    if (rc == 1) {
        dx_number_print(key, k->format, out);
    } else if (rc == 0) {
        (void)fprintf(out, "!%s", why);
        k->rejects++;
    }
    return rc;
}

static int stream(struct keys *k, struct dx_stdin_lines *in, FILE *out, struct dx_error *err)
{
    struct dx_span line;
    int rc = DX_OK;

    while (rc >= 0 && !ferror(out) && dx_stdin_lines_next(in, &line)) {
        if (line.size > 0 && line.data[line.size - 1] == '\r')
            line.size--;
        k->lines++;
        if (k->decode)
            rc = decode_line(k, line, out, err);
        else
            rc = encode_line(k, line, out, err);
        (void)putc('\t', out);
        (void)fwrite(line.data, 1, line.size, out);
        (void)putc('\n', out);
    }
    if (rc >= 0 && in->error != 0)
        return dx_fail_errno(err, in->error, "standard input");
    if (rc >= 0 && (fflush(out) != 0 || ferror(out)))
        return dx_fail_errno(err, errno, "standard output");
    return rc < 0 ? rc : DX_OK;
}

/* The registry, and the suffix list of the version that its lake has now, which made the domains. */
static int open_root(struct keys *k, struct dx_buf *psl, struct dx_error *err)
{
    struct dx_remote_root remote = DX_REMOTE_ROOT_INIT;
    struct dx_manifest m = DX_MANIFEST_INIT;
    char object[64];
    char etag[DX_SOURCE_ETAG];
    int rc = dx_remote_root_open(&remote, k->root, DX_REMOTE_READ, err);

    if (rc == DX_OK)
        rc = dx_numbers_open(&k->numbers, k->root, remote.source, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: it has no registry of numbers", k->root);
    if (rc == 1) {
        k->layout = k->numbers->layout;
        rc = k->decode ? DX_OK : dx_remote_root_manifest(k->root, &m, err);
    }
    if (rc == DX_OK && !k->decode) {
        (void)snprintf(object, sizeof object, "index/%s/psl.dat", dx_manifest_current(&m)->version);
        rc = dx_remote_root_get(&remote, object, DX_PSL_TEXT_MAX, psl, etag, err);
        if (rc == 0)
            rc = dx_fail(err, DX_E_NOT_FOUND, "%s: %s is not there", k->root, object);
    }
    dx_manifest_release(&m);
    dx_remote_root_close(&remote);
    return rc < 0 ? rc : DX_OK;
}

static int load_canon(struct keys *k, struct dx_psl **psl, const char *path, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_PSL_TEXT_MAX);
    int rc = DX_OK;

    if (k->root != NULL)
        rc = open_root(k, &text, err);
    else if (!k->decode && k->scheme != STORE_KEY)
        rc = dx_file_read(path, DX_PSL_TEXT_MAX, &text, err);
    if (rc == DX_OK && !k->decode && k->scheme != STORE_KEY) {
        rc = dx_psl_new(psl, dx_span_of(text.data, text.size), err);
        if (rc == DX_OK)
            rc = dx_canon_new(&k->canon, *psl, err);
    }
    dx_buf_release(&text);
    return rc;
}

static int run(const struct dx_options *o)
{
    static struct dx_stdin_lines in; /* too large for the stack; a command runs once */
    struct keys k = { .store = DX_STORE_KEY_INIT, .text = DX_BUF_INIT(4 * DX_URL_MAX) };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_psl *psl = NULL;
    int rc = parse(&k, o, &err);

    if (rc < 0) {
        fprintf(stderr, "domaindex key: %s\n", err.text);
        return DX_EXIT_USAGE;
    }
    rc = load_canon(&k, &psl, dx_options_text(o, OPT_PSL), &err);
    if (rc == DX_OK) {
        dx_stdin_lines_init(&in, STDIN_FILENO, stdout);
        rc = stream(&k, &in, stdout, &err);
    }
    if (rc < 0)
        fprintf(stderr, "domaindex key: %s\n", err.text);
    else if (k.rejects > 0)
        fprintf(stderr, "domaindex key: %" PRIu64 " of %" PRIu64 " lines have no key\n", k.rejects,
                k.lines);
    dx_canon_free(&k.canon);
    dx_psl_free(&psl);
    dx_store_key_release(&k.store);
    dx_numbers_close(&k.numbers);
    dx_buf_release(&k.text);
    return rc < 0 || k.rejects > 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

const struct dx_command dx_command_key = {
    .name = "key",
    .synopsis = "--scheme SCHEME [--clean] [--decode] [--root ROOT] [--format FORMAT] < LINES",
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
        "and their fields are printed in hex.",
    .example = "echo 'https://example.com/' | domaindex key --scheme store_key",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run,
};
