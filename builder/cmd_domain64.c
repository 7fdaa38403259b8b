/* SPDX-License-Identifier: Apache-2.0
 * cmd_domain64.c - `domaindex domain64`: the registry that numbers TLDs, domains, subdomains and paths.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "builder/command.h"
#include "builder/domain64_commit.h"
#include "builder/domain64_fill.h"
#include "builder/domain64_print.h"
#include "builder/interrupt.h"

enum {
    OPT_ROOT,
    OPT_LAYOUT,
    OPT_MEMORY,
    OPT_WORK_DIR,
    OPT_MERGE_ABOVE,
    OPT_FORMAT,
    OPT_TABLE,
    OPT_PARTITIONS,
    OPT_COUNT
};

static const struct dx_option table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live" },
    [OPT_LAYOUT] = { "layout", "LAYOUT", "8-24-8-24", "init: 8-24-8-24 or 8-24-24-8" },
    [OPT_MEMORY] = { "memory", "SIZE", "256M", "fill: memory for sorting" },
    [OPT_WORK_DIR] = { "work-dir", "DIR", NULL, "fill: for temporary files; else TMPDIR, or /tmp" },
    [OPT_MERGE_ABOVE] = { "merge-above", "N", "8", "fill: more files than this are made one" },
    [OPT_FORMAT] = { "format", "FORMAT", "hex", "ranges: dec, hex, or bigint (signed, as in SQL)" },
    [OPT_TABLE] = { "table", "NAME", "urls", "ddl: of the table" },
    [OPT_PARTITIONS] = { "partitions", "PART", "domain",
                         "ddl: down to each tld, domain or subdomain" },
};

typedef int action(const struct dx_options *o, const char *root, struct dx_error *err);

static const char *layout_name(uint32_t layout)
{
    return dx_domain64_layout_name((enum dx_domain64_layout)layout);
}

/* A mistyped root is not made into one. */
static int open_root(struct dx_remote_root *remote, const char *root, enum dx_remote_use use,
                     struct dx_error *err)
{
    if (!dx_source_remote(root) && access(root, F_OK) < 0)
        return dx_fail(err, DX_E_NOT_FOUND, "%s: there is no such root", root);
    return dx_remote_root_open(remote, root, use, err);
}

static int run_init(const struct dx_options *o, const char *root, struct dx_error *err)
{
    struct dx_remote_root remote = DX_REMOTE_ROOT_INIT;
    struct dx_number_list list;
    enum dx_domain64_layout layout;
    int rc;

    if (!dx_domain64_layout_parse(dx_span_str(dx_options_text(o, OPT_LAYOUT)), &layout))
        return dx_fail(err, DX_E_INVALID, "--layout is 8-24-8-24 or 8-24-24-8");
    rc = open_root(&remote, root, DX_REMOTE_WRITE, err);
    if (rc == DX_OK)
        rc = dx_domain64_init(root, &remote, layout, &list, err);
    if (rc >= 0 && list.layout != (uint32_t)layout)
        rc = dx_fail(err, DX_E_EXISTS, "%s: it has a registry of the layout %s", root,
                     layout_name(list.layout));
    if (rc >= 0)
        printf("%s %s\n", layout_name(list.layout), rc == 1 ? "made" : "was there");
    dx_remote_root_close(&remote);
    return rc;
}

static void print_parts(FILE *out, const char *what, const uint64_t n[DX_NUMBER_PARTS])
{
    (void)fprintf(out,
                  "%s: %" PRIu64 " TLDs, %" PRIu64 " domains, %" PRIu64 " subdomains, %" PRIu64
                  " paths\n",
                  what, n[0], n[1], n[2], n[3]);
}

static int run_fill(const struct dx_options *o, const char *root, struct dx_error *err)
{
    struct dx_domain64_fill f = { .root = root,
                                  .work_dir = dx_options_text(o, OPT_WORK_DIR),
                                  .stopped = dx_interrupted };
    uint64_t memory = 0;
    uint64_t merge = 0;
    int rc = dx_options_size(o, OPT_MEMORY, 1u << 20, SIZE_MAX / 4, &memory, err);

    if (rc == DX_OK)
        rc = dx_options_number(o, OPT_MERGE_ABOVE, 1, DX_NUMBER_BOOKS_MAX - 1, &merge, err);
    if (rc == DX_OK && !dx_source_remote(root) && access(root, F_OK) < 0)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: there is no such root", root);
    f.memory = (size_t)memory;
    f.merge_above = (size_t)merge;
    dx_interrupt_catch();
    if (rc == DX_OK)
        rc = dx_domain64_fill_run(&f, err);
    if (rc < 0)
        return rc;
    printf("version %s: %" PRIu64 " rows, %" PRIu64 " URLs without scheme and port, %" PRIu64
           " of them without a number\n",
           f.version, f.rows, f.urls, f.urls_out);
    print_parts(stdout, "added", f.added);
    if (f.urls_out > 0)
        print_parts(stdout, "no room for", f.full);
    if (f.merged > 0)
        printf("%zu files made one\n", f.merged);
    return DX_OK;
}

/* ---- reading ---- */

typedef int reading(const struct dx_options *o, const struct dx_numbers *n, struct dx_error *err);

static int print_status(const struct dx_options *o, const struct dx_numbers *n,
                        struct dx_error *err)
{
    const struct dx_number_list *l = &n->list;
    uint64_t bytes = 0;
    int rc = DX_OK;

    (void)o;
    for (size_t i = 0; rc == DX_OK && i < n->count; i++) {
        rc = dx_number_book_verify(&n->book[i], err);
        bytes += l->file[i].size;
    }
    if (rc < 0)
        return rc;
    printf("layout: %s\nid: %s\nfilled from: %s\nfillings: %" PRIu32 ", in %zu files of %" PRIu64
           " bytes, all sound\n",
           layout_name(l->layout), l->id, l->filled[0] == '\0' ? "no version yet" : l->filled,
           dx_number_list_last(l), l->count, bytes);
    print_parts(stdout, "names", l->names);
    printf("room: %" PRIu32 " TLDs; each %" PRIu32 " domains; each %" PRIu32
           " subdomains; each %" PRIu32 " paths\n",
           dx_domain64_most(n->layout, DX_PART_TLD), dx_domain64_most(n->layout, DX_PART_DOMAIN),
           dx_domain64_most(n->layout, DX_PART_SUBDOMAIN),
           dx_domain64_most(n->layout, DX_PART_PATH));
    print_parts(stdout, "no room at the last filling for", l->full);
    printf("URLs without a number for that: %" PRIu64 "\n", l->urls_out);
    return DX_OK;
}

static int print_tree(const struct dx_options *o, const struct dx_numbers *n, struct dx_error *err)
{
    (void)o;
    return dx_domain64_print_tree(n, stdout, err);
}

static int print_ddl(const struct dx_options *o, const struct dx_numbers *n, struct dx_error *err)
{
    static const char *const parts[] = { "tld", "domain", "subdomain" };
    const char *name = dx_options_text(o, OPT_TABLE);
    const char *part = dx_options_text(o, OPT_PARTITIONS);

    if (strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen(name) ||
        strlen(name) > 40 || name[0] == '\0' || (name[0] >= '0' && name[0] <= '9'))
        return dx_fail(err, DX_E_INVALID,
                       "--table: 1 to 40 of a-z, 0-9 and '_', not beginning with a digit");
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(part, parts[i]) == 0)
            return dx_domain64_print_ddl(n, name, (enum dx_domain64_part)i, stdout, err);
    return dx_fail(err, DX_E_INVALID, "--partitions is tld, domain or subdomain");
}

static int print_ranges(const struct dx_options *o, const struct dx_numbers *n,
                        struct dx_error *err)
{
    enum dx_number_format format;
    int answer = DX_OK;

    if (!dx_number_format_parse(dx_options_text(o, OPT_FORMAT), &format))
        return dx_fail(err, DX_E_INVALID, "--format is dec, hex or bigint");
    for (size_t i = 1; i < o->operand_count; i++) {
        struct dx_domain64_range r;
        int rc = dx_domain64_find(n, o->operand[i], &r, err);

        if (rc < 0)
            return rc;
        printf("%s\t", o->operand[i]);
        if (rc == 0) {
            printf("!unknown\n");
            answer = dx_fail(err, DX_E_NOT_FOUND, "some names have no number");
            continue;
        }
        dx_number_print(r.from, format, stdout);
        (void)putc('\t', stdout);
        dx_number_print_to(r.to, format, stdout);
        (void)putc('\n', stdout);
    }
    return answer;
}

static int read_numbers(const struct dx_options *o, const char *root, reading *print,
                        struct dx_error *err)
{
    struct dx_remote_root remote = DX_REMOTE_ROOT_INIT;
    struct dx_numbers *n = NULL;
    int rc = open_root(&remote, root, DX_REMOTE_READ, err);

    if (rc == DX_OK)
        rc = dx_numbers_open(&n, root, remote.source, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "%s: it has no registry of numbers; 'domaindex domain64 init' makes one",
                     root);
    if (rc == 1)
        rc = print(o, n, err);
    dx_numbers_close(&n);
    dx_remote_root_close(&remote);
    return rc;
}

static const struct {
    const char *name;
    action *act;
    reading *print;
    bool names;
} actions[] = {
    { "init", run_init, NULL, false },       { "fill", run_fill, NULL, false },
    { "status", NULL, print_status, false }, { "tree", NULL, print_tree, false },
    { "ddl", NULL, print_ddl, false },       { "ranges", NULL, print_ranges, true },
};

#define ACTIONS (sizeof actions / sizeof *actions)

static int run(const struct dx_options *o)
{
    const char *root = dx_options_text(o, OPT_ROOT);
    const char *name = o->operand_count == 0 ? "" : o->operand[0];
    struct dx_error err = DX_ERROR_INIT;
    size_t i = 0;
    int rc;

    while (i < ACTIONS && strcmp(actions[i].name, name) != 0)
        i++;
    if (i == ACTIONS || root == NULL || (o->operand_count > 1) != actions[i].names) {
        fprintf(stderr, "domaindex domain64: %s\n",
                root == NULL ? "--root is missing"
                             : "one of init, fill, status, tree, ddl, or ranges with names");
        return DX_EXIT_USAGE;
    }
    rc = actions[i].act != NULL ? actions[i].act(o, root, &err)
                                : read_numbers(o, root, actions[i].print, &err);
    if (rc >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
        rc = dx_fail(&err, DX_E_IO, "cannot write to standard output");
    if (rc < 0)
        fprintf(stderr, "domaindex domain64: %s\n", err.text);
    return rc == DX_E_INVALID ? DX_EXIT_USAGE : rc < 0 ? DX_EXIT_REFUSED : DX_EXIT_DONE;
}

const struct dx_command dx_command_domain64 = {
    .name = "domain64",
    .synopsis =
        "(init [--layout LAYOUT] | fill | status | tree | ddl | ranges NAME...) --root ROOT",
    .summary = "number TLDs, domains, subdomains and paths, for keys that sort by them",
    .description =
        "A registry in ROOT gives numbers to the names of its lake, which make one 64-bit key of a "
        "URL "
        "(domaindex key --scheme domain64). A number is never given twice and never changes, "
        "whatever "
        "versions come and go.\n\n"
        "init makes an empty registry. fill numbers what the current version has and the registry "
        "has not; "
        "names whose field is full are counted, and their URLs stay without a number. status "
        "checks every "
        "byte and says how full it is. tree prints TLDs, domains and subdomains as nested JSON, "
        "keys in hex. ddl prints a partitioned table for PostgreSQL. ranges prints the half-open "
        "range of "
        "keys of each NAME, labels from the TLD on: com, com.jadud, com.jadud.teaching/olin.\n\n"
        "Two that fill at once both succeed, one after the other. One that is killed leaves the "
        "registry "
        "as it was, or filled.",
    .example = "domaindex domain64 init --root ./quickstart-root",
    .options = table,
    .option_count = OPT_COUNT,
    .run = run,
};
