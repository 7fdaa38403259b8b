/* SPDX-License-Identifier: Apache-2.0
 * cmd_domain64.c - `domaindex domain64`: the registry that numbers TLDs, domains, subdomains and
 * paths.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/exchange/numbers/domain64_commit.h"
#include "builder/exchange/numbers/domain64_fill.h"
#include "builder/exchange/numbers/domain64_print.h"
#include "builder/exchange/postgres/postgres_ddl.h"
#include "builder/root/interrupt.h"
#include "builder/root/root.h"

enum {
    OPT_ROOT,
    OPT_LAYOUT,
    OPT_MEMORY,
    OPT_WORK_DIR,
    OPT_MERGE_ABOVE,
    OPT_FORMAT,
    OPT_TABLE,
    OPT_PARTITIONS,
    OPT_DRY_RUN,
    OPT_QUIET,
    OPT_JSON,
    OPT_COUNT
};

/* A NAME comes from the command line: 128 KiB at most, and each byte may be escaped. */
#define RANGE_ROW_MAX ((size_t)1 << 20)

#define AT(member) DX_OPT_PLACE(struct dx_domain64_fill, member)

static const struct dx_option table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_ONE_TEXT },
    [OPT_LAYOUT] = { "layout", "8-24-8-24|8-24-24-8", "8-24-8-24",
                     "init: bits of the parts of a number", DX_OPT_CHOICE },
    [OPT_MEMORY] = { "memory", "SIZE", "256M", "fill: memory for sorting",
                     DX_OPT_SIZE(1u << 20, DX_OPTION_OPEN), AT(memory) },
    [OPT_WORK_DIR] = { "work-dir", "DIR", NULL, "fill: for temporary files; else TMPDIR, or /tmp",
                       DX_OPT_TEXT, AT(work_dir) },
    [OPT_MERGE_ABOVE] = { "merge-above", "N", "8", "fill: more files than this are made one",
                          DX_OPT_NUMBER(1, DX_DOMAIN64_SEGMENTS_MAX - 1), AT(merge_above) },
    [OPT_FORMAT] = { "format", "DEC|HEX|BIGINT", "hex",
                     "ranges: dec, hex, or bigint (signed, as in SQL)", DX_OPT_CHOICE },
    [OPT_TABLE] = { "table", "NAME", "urls", "ddl: of the table", DX_OPT_TEXT },
    [OPT_PARTITIONS] = { "partitions", "TLD|DOMAIN|SUBDOMAIN", "domain",
                         "ddl: down to each of these", DX_OPT_CHOICE },
    [OPT_DRY_RUN] = DX_OPTION_DRY_RUN(AT(dry_run),
                                      "init, fill: print what would be done, and write nothing"),
    [OPT_QUIET] = { "quiet", NULL, NULL, "fill: print the version alone", DX_OPT_FLAG },
    [OPT_JSON] = { "json", NULL, NULL,
                   "init, fill, status: one line of JSON instead of text; ranges: one for each "
                   "NAME",
                   DX_OPT_FLAG },
};

typedef int action(const struct dx_options *o, const char *root, struct dx_error *err);

static const char *layout_name(uint32_t layout)
{
    return dx_domain64_layout_name((enum dx_domain64_layout)layout);
}

/* A mistyped root is not made into one. */
static int open_root(struct dx_root *remote, const char *root, enum dx_root_use use,
                     struct dx_error *err)
{
    if (dx_root_in_place(root) && access(root, F_OK) < 0)
        return dx_fail(err, DX_E_NOT_FOUND, "%s: no such folder; check --root", root);
    return dx_root_open(remote, root, use, err);
}

static void put_parts(struct dx_json *j, const char *key, const uint64_t n[DX_NUMBER_PARTS])
{
    static const char *const names[DX_NUMBER_PARTS] = { "tlds", "domains", "subdomains", "paths" };

    dx_json_key(j, key);
    dx_json_object(j);
    for (size_t i = 0; i < DX_NUMBER_PARTS; i++)
        dx_json_key_u64(j, names[i], n[i]);
    dx_json_end(j);
}

static void put_str(struct dx_json *j, const char *key, const char *text)
{
    dx_json_key(j, key);
    text == NULL ? dx_json_null(j) : dx_json_str(j, text);
}

static void put_flag(struct dx_json *j, const char *key, bool value)
{
    dx_json_key(j, key);
    dx_json_bool(j, value);
}

static int print_init_json(const struct dx_domain64_manifest *list, bool created, bool dry,
                           struct dx_error *err)
{
    struct dx_buf out = DX_BUF_INIT(4096);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    put_str(&j, "layout", layout_name(list->layout));
    put_str(&j, "id", created && dry ? NULL : list->id);
    put_flag(&j, "created", created);
    put_flag(&j, "dry_run", dry);
    dx_command_json_end(&j, &out);
    return dx_command_write(&out, err);
}

static int run_init(const struct dx_options *o, const char *root, struct dx_error *err)
{
    struct dx_root remote = DX_ROOT_INIT;
    struct dx_domain64_manifest list;
    uint64_t layout = 0;
    bool dry = dx_options_has(o, OPT_DRY_RUN);
    int rc = dx_options_value(o, OPT_LAYOUT, &layout, err);

    if (rc == DX_OK)
        rc = open_root(&remote, root, dry ? DX_ROOT_READ : DX_ROOT_WRITE, err);
    if (rc == DX_OK && dry)
        rc = dx_domain64_init_look(&remote, (enum dx_domain64_layout)layout, &list, err);
    else if (rc == DX_OK)
        rc = dx_domain64_init(root, &remote, (enum dx_domain64_layout)layout, &list, err);
    if (rc >= 0 && list.layout != (uint32_t)layout)
        rc = dx_fail(err, DX_E_EXISTS,
                     "%s: it has a registry of layout %s already; its layout cannot change", root,
                     layout_name(list.layout));
    if (rc >= 0 && dx_options_has(o, OPT_JSON))
        rc = print_init_json(&list, rc == 1, dry, err);
    else if (rc >= 0)
        printf("%s: registry of layout %s %s\n", root, layout_name(list.layout),
               rc == 0 ? "was there already"
               : dry   ? "would be made"
                       : "made");
    dx_root_close(&remote);
    return rc;
}

static void print_parts(FILE *out, const char *what, const uint64_t n[DX_NUMBER_PARTS])
{
    (void)fprintf(out,
                  "%s: TLDs %" PRIu64 ", domains %" PRIu64 ", subdomains %" PRIu64
                  ", paths %" PRIu64 "\n",
                  what, n[0], n[1], n[2], n[3]);
}

static int print_fill_json(const struct dx_domain64_fill *f, struct dx_error *err)
{
    struct dx_buf out = DX_BUF_INIT(4096);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    put_str(&j, "version", f->version);
    dx_json_key_u64(&j, "rows", f->rows);
    dx_json_key_u64(&j, "urls", f->urls);
    dx_json_key_u64(&j, "urls_without_number", f->urls_out);
    put_parts(&j, "added", f->added);
    put_parts(&j, "names_without_number", f->full);
    dx_json_key_u64(&j, "files_merged", f->merged);
    put_flag(&j, "dry_run", f->dry_run);
    dx_command_json_end(&j, &out);
    return dx_command_write(&out, err);
}

static int run_fill(const struct dx_options *o, const char *root, struct dx_error *err)
{
    struct dx_domain64_fill f = { .root = root, .stopped = dx_interrupted };
    int rc = dx_options_store(o, &f, err);

    if (rc == DX_OK && dx_root_in_place(root) && access(root, F_OK) < 0)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: no such folder; check --root", root);
    dx_interrupt_catch();
    if (rc == DX_OK)
        rc = dx_domain64_fill_run(&f, err);
    if (rc < 0)
        return rc;
    if (dx_options_has(o, OPT_JSON))
        return print_fill_json(&f, err);
    if (dx_options_has(o, OPT_QUIET)) {
        printf("%s\n", f.version);
        return DX_OK;
    }
    printf("version %s: rows %" PRIu64 ", URLs without scheme and port %" PRIu64
           ", of these without a number %" PRIu64 "\n",
           f.version, f.rows, f.urls, f.urls_out);
    print_parts(stdout, f.dry_run ? "would be added" : "added", f.added);
    if (f.urls_out > 0)
        print_parts(stdout, "names that got no number, as their field is full", f.full);
    if (f.merged > 0)
        printf("files merged into one: %zu\n", f.merged);
    return DX_OK;
}

/* ---- reading ---- */

typedef int reading(const struct dx_options *o, const struct dx_domain64_registry *n,
                    struct dx_error *err);

static int print_status_json(const struct dx_domain64_registry *n, uint64_t bytes,
                             struct dx_error *err)
{
    const struct dx_domain64_manifest *l = &n->list;
    struct dx_buf out = DX_BUF_INIT(1u << 16);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "layout");
    dx_json_str(&j, layout_name(l->layout));
    dx_json_key(&j, "id");
    dx_json_str(&j, l->id);
    dx_json_key(&j, "filled_from");
    l->filled[0] == '\0' ? dx_json_null(&j) : dx_json_str(&j, l->filled);
    dx_json_key_u64(&j, "fillings", dx_domain64_manifest_last(l));
    dx_json_key_u64(&j, "files", l->count);
    dx_json_key_u64(&j, "bytes", bytes);
    put_parts(&j, "names", l->names);
    put_parts(&j, "names_without_number", l->full);
    dx_json_key_u64(&j, "urls_without_number", l->urls_out);
    dx_command_json_end(&j, &out);
    return dx_command_write(&out, err);
}

static int print_status(const struct dx_options *o, const struct dx_domain64_registry *n,
                        struct dx_error *err)
{
    const struct dx_domain64_manifest *l = &n->list;
    uint64_t bytes = 0;
    int rc = DX_OK;

    for (size_t i = 0; rc == DX_OK && i < n->count; i++) {
        rc = dx_domain64_segment_verify(&n->book[i], err);
        bytes += l->file[i].size;
    }
    if (rc < 0)
        return rc;
    if (dx_options_has(o, OPT_JSON))
        return print_status_json(n, bytes, err);
    printf("layout: %s\nid: %s\nfilled from: %s\nfillings: %" PRIu32 "\nfiles: %zu, bytes %" PRIu64
           ", all sound\n",
           layout_name(l->layout), l->id, l->filled[0] == '\0' ? "no version yet" : l->filled,
           dx_domain64_manifest_last(l), l->count, bytes);
    print_parts(stdout, "names", l->names);
    printf("most names: TLDs %" PRIu32 ", domains of each %" PRIu32 ", subdomains of each %" PRIu32
           ", paths of each %" PRIu32 "\n",
           dx_domain64_most(n->layout, DX_PART_TLD), dx_domain64_most(n->layout, DX_PART_DOMAIN),
           dx_domain64_most(n->layout, DX_PART_SUBDOMAIN),
           dx_domain64_most(n->layout, DX_PART_PATH));
    print_parts(stdout, "names that got no number at the last filling", l->full);
    printf("URLs that have no number for that: %" PRIu64 "\n", l->urls_out);
    return DX_OK;
}

static int print_tree(const struct dx_options *o, const struct dx_domain64_registry *n,
                      struct dx_error *err)
{
    (void)o;
    return dx_domain64_print_tree(n, stdout, err);
}

static int print_ddl(const struct dx_options *o, const struct dx_domain64_registry *n,
                     struct dx_error *err)
{
    const char *name = dx_options_text(o, OPT_TABLE);
    uint64_t part = 0;
    int rc = dx_options_value(o, OPT_PARTITIONS, &part, err);

    if (strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen(name) ||
        strlen(name) > 40 || name[0] == '\0' || (name[0] >= '0' && name[0] <= '9'))
        return dx_fail(err, DX_E_INVALID,
                       "--table %.60s: use 1 to 40 of a-z, 0-9 and '_', and begin with none of 0-9",
                       name);
    return rc < 0 ? rc : dx_postgres_ddl_print(n, name, (enum dx_domain64_part)part, stdout, err);
}

/* r NULL: the name has no number. Bounds are strings in JSON, where readers round numbers above 2^53. */
static void put_range_json(struct dx_buf *row, const char *name, const struct dx_domain64_range *r,
                           enum dx_number_format format, struct dx_buf *number)
{
    struct dx_json j;

    dx_command_json_open(&j, row);
    put_str(&j, "name", name);
    if (r == NULL) {
        put_str(&j, "reason", "unknown");
    } else {
        dx_number_text(r->from, format, number);
        dx_json_key(&j, "from");
        dx_json_text(&j, dx_span_of(number->data, number->size));
        dx_buf_clear(number);
        dx_number_text_to(r->to, format, number);
        dx_json_key(&j, "to");
        dx_json_text(&j, dx_span_of(number->data, number->size));
        dx_buf_clear(number);
    }
    dx_command_json_end(&j, row);
}

static void put_range(struct dx_buf *row, const char *name, const struct dx_domain64_range *r,
                      enum dx_number_format format)
{
    dx_buf_fmt(row, "%s\t", name);
    if (r == NULL) {
        dx_buf_str(row, "!unknown\n");
        return;
    }
    dx_number_text(r->from, format, row);
    dx_buf_u8(row, '\t');
    dx_number_text_to(r->to, format, row);
    dx_buf_u8(row, '\n');
}

/* 1, 0: the name has no number, or negative. */
static int print_range(const struct dx_options *o, const struct dx_domain64_registry *n,
                       const char *name, enum dx_number_format format, struct dx_error *err)
{
    struct dx_buf number = DX_BUF_INIT(64);
    struct dx_buf row = DX_BUF_INIT(RANGE_ROW_MAX);
    struct dx_domain64_range r;
    int found = dx_domain64_find(n, name, &r, err);
    int rc = found;

    if (found >= 0 && dx_options_has(o, OPT_JSON))
        put_range_json(&row, name, found == 1 ? &r : NULL, format, &number);
    else if (found >= 0)
        put_range(&row, name, found == 1 ? &r : NULL, format);
    dx_buf_release(&number);
    if (found >= 0)
        rc = dx_command_write(&row, err);
    else
        dx_buf_release(&row);
    return rc < 0 ? rc : found;
}

static int print_ranges(const struct dx_options *o, const struct dx_domain64_registry *n,
                        struct dx_error *err)
{
    uint64_t format = 0;
    bool all = true;
    int rc = dx_options_value(o, OPT_FORMAT, &format, err);

    for (size_t i = 1; rc >= 0 && i < o->operand_count; i++) {
        rc = print_range(o, n, o->operand[i], (enum dx_number_format)format, err);
        all = all && rc != 0;
    }
    if (rc < 0 || all)
        return rc < 0 ? rc : DX_OK;
    dx_command_json_printed();
    return dx_fail(err, DX_E_NOT_FOUND,
                   "names without a number: %s; 'domaindex domain64 fill --root ROOT' numbers "
                   "those of the current version",
                   dx_options_has(o, OPT_JSON) ? "their lines have a reason" : "marked !unknown");
}

static int read_numbers(const struct dx_options *o, const char *root, reading *print,
                        struct dx_error *err)
{
    struct dx_root remote = DX_ROOT_INIT;
    struct dx_domain64_registry *n = NULL;
    int rc = open_root(&remote, root, DX_ROOT_READ, err);

    if (rc == DX_OK)
        rc = dx_domain64_registry_open(&n, root, remote.source, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_NOT_FOUND,
                     "%s: no domain64 registry; run 'domaindex domain64 init --root %s' first",
                     root, root);
    if (rc == 1)
        rc = print(o, n, err);
    dx_domain64_registry_close(&n);
    dx_root_close(&remote);
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

/* A flag that does nothing would look as if it had been obeyed. */
static int check_flags(const struct dx_options *o, const char *name, struct dx_error *err)
{
    if (dx_options_has(o, OPT_DRY_RUN) && strcmp(name, "init") != 0 && strcmp(name, "fill") != 0)
        return dx_fail(err, DX_E_INVALID, "--dry-run goes with init and fill");
    if (dx_options_has(o, OPT_QUIET) && strcmp(name, "fill") != 0)
        return dx_fail(err, DX_E_INVALID, "--quiet goes with fill");
    if (dx_options_has(o, OPT_JSON) && (strcmp(name, "tree") == 0 || strcmp(name, "ddl") == 0))
        return dx_fail(err, DX_E_INVALID, "--json goes with init, fill, status and ranges");
    return DX_OK;
}

static int run_domain64(const struct dx_options *o)
{
    const char *root = dx_options_text(o, OPT_ROOT);
    const char *name = o->operand_count == 0 ? "" : o->operand[0];
    struct dx_error err = DX_ERROR_INIT;
    size_t i = 0;
    int rc;

    while (i < ACTIONS && strcmp(actions[i].name, name) != 0)
        i++;
    if (i == ACTIONS || root == NULL || (o->operand_count > 1) != actions[i].names) {
        (void)dx_line_print(stderr, "domaindex domain64: %s",
                            root == NULL
                                ? "give --root ROOT"
                                : "give one of init, fill, status, tree, ddl, or ranges and names");
        return DX_EXIT_USAGE;
    }
    rc = check_flags(o, name, &err);
    if (rc == DX_OK)
        rc = actions[i].act != NULL ? actions[i].act(o, root, &err)
                                    : read_numbers(o, root, actions[i].print, &err);
    if (rc >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
        rc = dx_fail(&err, DX_E_IO, "cannot write to standard output");
    if (rc >= 0)
        return DX_EXIT_DONE;
    return dx_command_fail("domain64", rc == DX_E_INVALID ? DX_EXIT_USAGE : DX_EXIT_REFUSED, &err);
}

const struct dx_command dx_command_domain64 = {
    .name = "domain64",
    .synopsis =
        "(init [--layout LAYOUT] | fill | status | tree | ddl | ranges NAME...) --root ROOT "
        "[--dry-run] [--json]",
    .operands = "init fill status tree ddl ranges",
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
    .run = run_domain64,
};
