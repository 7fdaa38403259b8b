/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/civil_time.h"
#include "base/json_out.h"
#include "base/log.h"
#include "builder/cli/command.h"
#include "builder/root/root.h"
#include "format/version/manifest.h"

#define TEXT_MAX (256u << 20)

enum { OPT_ROOT, OPT_JSON, OPT_COUNT };

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_ONE_TEXT },
    [OPT_JSON] = { "json", NULL, NULL, "JSON instead of a table", DX_OPT_FLAG },
};

static uint64_t index_bytes(const struct dx_manifest_version *v)
{
    uint64_t n = 0;

    for (size_t i = 0; i < v->file_count; i++)
        n += v->files[i].size;
    return n;
}

/* "-": never, or none. */
static void time_text(int64_t us, char out[DX_CIVIL_TEXT])
{
    if (us == DX_MANIFEST_NEVER || !dx_civil_text_us(us, out))
        (void)snprintf(out, DX_CIVIL_TEXT, "-");
}

static void print_table(const struct dx_manifest *m, struct dx_buf *out)
{
    dx_buf_fmt(out, "  %-23s %-20s %-9s %-20s %-23s %9s %12s %9s %12s %14s %14s %14s\n", "version",
               "published", "state", "superseded", "base", "cleansed", "domains", "datasets",
               "pairs", "rows", "URLs", "index bytes");
    for (size_t i = m->version_count; i-- > 0;) {
        const struct dx_manifest_version *v = &m->versions[i];
        char published[DX_CIVIL_TEXT];
        char superseded[DX_CIVIL_TEXT];

        time_text(v->published_us, published);
        time_text(v->superseded_us, superseded);
        dx_buf_fmt(out,
                   "%c %-23s %-20s %-9s %-20s %-23s %9llu %12llu %9llu %12llu %14llu %14llu "
                   "%14llu\n",
                   strcmp(v->version, m->current) == 0 ? '*' : ' ', v->version, published,
                   dx_version_state_name(v->state), superseded, v->base[0] == '\0' ? "-" : v->base,
                   (unsigned long long)v->cleansed, (unsigned long long)v->domains,
                   (unsigned long long)v->datasets, (unsigned long long)v->pairs,
                   (unsigned long long)(v->rows - v->pages),
                   (unsigned long long)(v->urls - v->pages), (unsigned long long)index_bytes(v));
    }
}

static void json_time(struct dx_json *j, const char *key, int64_t us)
{
    dx_json_key(j, key);
    if (us == DX_MANIFEST_NEVER)
        dx_json_null(j);
    else
        dx_json_time_us(j, us);
}

/* What became of it. */
static void json_state(struct dx_json *j, const struct dx_manifest_version *v)
{
    dx_json_key(j, "state");
    dx_json_str(j, dx_version_state_name(v->state));
    json_time(j, "condemned", v->condemned_us);
    json_time(j, "superseded", v->superseded_us);
    dx_json_key(j, "base");
    if (v->base[0] == '\0')
        dx_json_null(j);
    else
        dx_json_str(j, v->base);
    dx_json_key(j, "cleansed");
    dx_json_u64(j, v->cleansed);
    dx_json_key(j, "rows_left_out");
    dx_json_u64(j, v->rows_left_out);
}

static void json_version(struct dx_json *j, const struct dx_manifest *m,
                         const struct dx_manifest_version *v)
{
    struct dx_hash128 build;
    char hex[DX_HASH128_TEXT];

    memcpy(build.bytes, v->build.bytes, sizeof build.bytes);
    dx_json_object(j);
    dx_json_key(j, "version");
    dx_json_str(j, v->version);
    dx_json_key(j, "current");
    dx_json_bool(j, strcmp(v->version, m->current) == 0);
    dx_json_key(j, "published");
    dx_json_time_us(j, v->published_us);
    json_state(j, v);
    dx_json_key(j, "build_id");
    dx_hash128_text(&build, hex);
    dx_json_str(j, hex);
    dx_json_key(j, "canon_version");
    dx_json_u64(j, v->canon_version);
    dx_json_key(j, "domains");
    dx_json_u64(j, v->domains);
    dx_json_key(j, "datasets");
    dx_json_u64(j, v->datasets);
    dx_json_key(j, "pairs");
    dx_json_u64(j, v->pairs);
    dx_json_key(j, "rows");
    dx_json_u64(j, v->rows - v->pages);
    dx_json_key(j, "urls");
    dx_json_u64(j, v->urls - v->pages);
    if (v->pages > 0)
        dx_json_key_u64(j, "page_count", v->pages);
    dx_json_key(j, "lake_files");
    dx_json_u64(j, v->lake_files);
    dx_json_key(j, "index_files");
    dx_json_u64(j, v->file_count);
    dx_json_key(j, "index_bytes");
    dx_json_u64(j, index_bytes(v));
    dx_json_end(j);
}

static void write_json(const struct dx_manifest *m, struct dx_buf *out)
{
    struct dx_json j;

    dx_json_open(&j, out);
    dx_json_object(&j);
    dx_json_key(&j, "current");
    dx_json_str(&j, m->current);
    dx_json_key(&j, "sequence");
    dx_json_u64(&j, m->sequence);
    dx_json_key(&j, "versions");
    dx_json_array(&j);
    for (size_t i = m->version_count; i-- > 0;)
        json_version(&j, m, &m->versions[i]);
    dx_json_end(&j);
    dx_json_end(&j);
    dx_buf_u8(out, '\n');
}

static int run_versions(const struct dx_options *options)
{
    const char *root = dx_options_text(options, OPT_ROOT);
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_buf out = DX_BUF_INIT(TEXT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    if (root == NULL || options->operand_count > 0) {
        (void)dx_line_print(stderr,
                            "domaindex versions: --root ROOT is needed, and nothing but options");
        return DX_EXIT_USAGE;
    }
    rc = dx_root_manifest(root, &m, &err);
    if (rc == DX_OK) {
        if (dx_options_has(options, OPT_JSON))
            write_json(&m, &out);
        else
            print_table(&m, &out);
    }
    dx_manifest_release(&m);
    return rc == DX_OK ? dx_command_print("versions", DX_EXIT_DONE, &out)
                       : dx_command_fail("versions", DX_EXIT_REFUSED, &err);
}

const struct dx_command dx_command_versions = {
    .name = "versions",
    .synopsis = "--root ROOT [--json]",
    .summary = "list the published versions, newest first; * is the current one",
    .description = "Lists what the manifest names: sequence and time; its state (listed, or "
                   "condemned: it is to go unless a rollback makes it current, or dropped: it is "
                   "being removed); when another version took its place; the version that it was "
                   "merged with; the number of the last suppression that its lake is known to be "
                   "free of; domains, datasets, pairs of both, rows, URLs; and the bytes of the "
                   "index in its own folder, without what it shares with older versions.\n\n"
                   "ROOT is a directory, http://..., https://... or s3://bucket/prefix; "
                   "domaindex(1) names the environment variables that remote ones are reached "
                   "with.",
    .example = "domaindex versions --root s3://bucket/prefix",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_versions,
};
