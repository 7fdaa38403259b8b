/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_out.h"
#include "base/log.h"
#include "base/periodic.h"
#include "builder/check/verify.h"
#include "builder/cli/command.h"
#include "builder/root/progress.h"
#include "builder/root/work_folder.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_MIN (64u << 20)
#define TICK_MS 100
#define TEXTS_MAX ((size_t)1 << 20)
#define JSON_MAX ((size_t)16 << 20)

enum {
    OPT_ROOT,
    OPT_VERSION,
    OPT_DEEP,
    OPT_BASE,
    OPT_MEMORY,
    OPT_THREADS,
    OPT_WORK_DIR,
    OPT_CACHE_DIR,
    OPT_QUIET,
    OPT_JSON,
    OPT_COUNT
};

#define AT(member) DX_OPT_PLACE(struct dx_verify_options, member)

static const struct dx_option options_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL,
                   "where the lake and the index live: a directory, s3://bucket/prefix or a URL",
                   DX_OPT_ONE_TEXT, AT(root) },
    [OPT_VERSION] = { "version", "VERSION", NULL, "check this version, not the current one",
                      DX_OPT_ONE_TEXT, AT(version) },
    [OPT_DEEP] = { "deep", NULL, NULL,
                   "read the lake too, rebuild all answers and compare them with the index",
                   DX_OPT_FLAG, AT(deep) },
    [OPT_BASE] = { "base", "DIR|URL", NULL,
                   "look also at the files that rows indexed in place came from: those of "
                   "locators, "
                   "below this folder or address",
                   DX_OPT_ONE_TEXT, AT(base) },
    [OPT_MEMORY] = { "memory", "SIZE", "1G", "memory budget of --deep",
                     DX_OPT_SIZE(MEMORY_MIN, DX_OPTION_OPEN), AT(memory) },
    [OPT_THREADS] = { "threads", "N", "2", "threads that read the lake and look all names up",
                      DX_OPT_NUMBER(1, 256), AT(threads) },
    [OPT_WORK_DIR] = { "work-dir", "DIR", NULL, "where temporary files go; else TMPDIR, else /tmp",
                       DX_OPT_TEXT, AT(tmp_dir) },
    [OPT_CACHE_DIR] = { "cache-dir", "DIR", NULL,
                        "of a remote root: keep the files of the index here, and do not fetch "
                        "again what is here",
                        DX_OPT_TEXT, AT(cache_dir) },
    [OPT_QUIET] = { "quiet", NULL, NULL, "no progress", DX_OPT_FLAG },
    [OPT_JSON] = DX_OPTION_JSON,
};

/* What is drawn on standard error; damages are printed between. */
struct screen {
    struct dx_verify_progress counters;
    pthread_mutex_t lock; /* of progress */
    struct dx_progress progress;
    struct dx_periodic *ticker;
    /* With --json, in place of lines: texts, each with a zero behind it; those beyond the bound are counted only. */
    bool json;
    struct dx_buf damages, notes;
};

static uint64_t show(void *ctx, bool asked)
{
    struct screen *s = ctx;

    (void)asked;
    (void)pthread_mutex_lock(&s->lock);
    if (atomic_load(&s->counters.bytes_total) > 0 || atomic_load(&s->counters.items) > 0)
        dx_progress_at(&s->progress, atomic_load(&s->counters.bytes),
                       atomic_load(&s->counters.items));
    (void)pthread_mutex_unlock(&s->lock);
    return TICK_MS;
}

static void screen_open(struct screen *s, bool quiet)
{
    (void)pthread_mutex_init(&s->lock, NULL);
    dx_progress_init(&s->progress, quiet ? -1 : STDERR_FILENO);
    (void)dx_periodic_start(&s->ticker, "progress", TICK_MS, show, s, NULL); /* a courtesy */
}

static void screen_close(struct screen *s)
{
    dx_periodic_stop(&s->ticker);
    dx_progress_end(&s->progress);
    (void)pthread_mutex_destroy(&s->lock);
}

static void keep_text(struct dx_buf *list, const char *text)
{
    if (list->size + strlen(text) + 1 <= TEXTS_MAX)
        dx_buf_append(list, text, strlen(text) + 1);
}

static void print_found(void *ctx, const char *text)
{
    struct screen *s = ctx;

    (void)pthread_mutex_lock(&s->lock);
    if (s->progress.terminal && s->progress.drawn)
        (void)fputc('\n', stderr); /* the line stays, and is drawn again below */
    s->progress.drawn = false;
    if (s->json)
        keep_text(&s->damages, text);
    else
        (void)dx_line_print(stdout, "damage: %s", text);
    (void)pthread_mutex_unlock(&s->lock);
}

static void print_note(void *ctx, const char *text)
{
    struct screen *s = ctx;

    (void)pthread_mutex_lock(&s->lock);
    dx_progress_end(&s->progress);
    if (s->json)
        keep_text(&s->notes, text);
    else
        (void)dx_line_print(stdout, "note: %s", text);
    (void)pthread_mutex_unlock(&s->lock);
}

static void print_phase(void *ctx, const char *name)
{
    struct screen *s = ctx;

    (void)pthread_mutex_lock(&s->lock);
    dx_progress_end(&s->progress);
    if (s->progress.terminal)
        (void)dx_line_print(stderr, "%s", name);
    dx_progress_phase(&s->progress, name, "done", atomic_load(&s->counters.bytes_total));
    (void)pthread_mutex_unlock(&s->lock);
}

static int parse(const struct dx_options *o, struct dx_verify_options *v, struct dx_error *err)
{
    int rc = dx_options_store(o, v, err);

    if (rc == DX_OK && v->root == NULL)
        rc = dx_fail(err, DX_E_INVALID, "--root is missing");
    if (rc == DX_OK && o->operand_count > 0)
        rc = dx_options_operands(o, 0, err);
    v->tmp_dir = dx_work_folder_dir(v->tmp_dir);
    return rc;
}

static void put_texts(struct dx_json *j, const char *key, const struct dx_buf *list)
{
    dx_json_key(j, key);
    dx_json_array(j);
    for (size_t at = 0; at < list->size; at += strlen((const char *)list->data + at) + 1)
        dx_json_str(j, (const char *)list->data + at);
    dx_json_end(j);
}

static int print_json(const struct screen *s, const struct dx_verify_options *o,
                      const struct dx_verify_result *r)
{
    struct dx_buf out = DX_BUF_INIT(JSON_MAX);
    struct dx_json j;

    dx_command_json_open(&j, &out);
    dx_json_key(&j, "version");
    dx_json_str(&j, r->version);
    dx_json_key(&j, "deep");
    dx_json_bool(&j, o->deep);
    dx_json_key(&j, "sound");
    dx_json_bool(&j, r->damages == 0);
    dx_json_key_u64(&j, "damage_count", r->damages);
    put_texts(&j, "damages", &s->damages);
    put_texts(&j, "notes", &s->notes);
    dx_json_key_u64(&j, "files", r->files);
    dx_json_key_u64(&j, "bytes", r->bytes);
    dx_json_key_u64(&j, "domains", r->domains);
    dx_json_key_u64(&j, "pairs", r->pairs);
    dx_json_key_u64(&j, "rows", r->rows);
    if (r->pages > 0)
        dx_json_key_u64(&j, "page_count", r->pages);
    dx_json_key_u64(&j, "lake_files", r->lake_files);
    if (o->base != NULL)
        dx_json_key_u64(&j, "sources", r->sources);
    return dx_command_json_print("verify", r->damages > 0 ? DX_EXIT_DAMAGED : DX_EXIT_DONE, &j,
                                 &out);
}

static int print_report(const struct dx_verify_options *o, const struct dx_verify_result *r)
{
    if (r->damages > 0) {
        printf("%s%s: damaged; findings: %llu\n", r->version[0] == '\0' ? "manifest" : "version ",
               r->version, (unsigned long long)r->damages);
        return DX_EXIT_DAMAGED;
    }
    printf("version %s: sound. %llu file%s, %llu bytes; %llu domain%s, %llu pair%s, %llu row%s in "
           "%llu lake file%s%s",
           r->version, (unsigned long long)r->files, dx_plural(r->files),
           (unsigned long long)r->bytes, (unsigned long long)r->domains, dx_plural(r->domains),
           (unsigned long long)r->pairs, dx_plural(r->pairs), (unsigned long long)r->rows,
           dx_plural(r->rows), (unsigned long long)r->lake_files, dx_plural(r->lake_files),
           o->deep ? ", each row read and counted again" : "");
    if (o->base != NULL)
        printf("; %llu file%s that rows came from: unchanged", (unsigned long long)r->sources,
               dx_plural(r->sources));
    printf("\n");
    return DX_EXIT_DONE;
}

static int run_verify(const struct dx_options *options)
{
    struct screen screen = { .json = dx_options_has(options, OPT_JSON),
                             .damages = DX_BUF_INIT(TEXTS_MAX),
                             .notes = DX_BUF_INIT(TEXTS_MAX) };
    struct dx_verify_options o = { .found = print_found,
                                   .note = print_note,
                                   .phase = print_phase,
                                   .ctx = &screen,
                                   .progress = &screen.counters };
    struct dx_verify_result result;
    struct dx_error err = DX_ERROR_INIT;
    int rc = parse(options, &o, &err);

    if (rc < 0)
        return dx_command_fail("verify", DX_EXIT_USAGE, &err);
    screen_open(&screen, dx_options_has(options, OPT_QUIET));
    rc = dx_verify(&o, &result, &err);
    screen_close(&screen);
    if (rc < 0)
        rc = dx_command_fail("verify", DX_EXIT_REFUSED, &err);
    else
        rc = screen.json ? print_json(&screen, &o, &result) : print_report(&o, &result);
    dx_buf_release(&screen.damages);
    dx_buf_release(&screen.notes);
    return rc;
}

const struct dx_command dx_command_verify = {
    .name = "verify",
    .synopsis = "--root ROOT [--version VERSION] [--deep] [--json]",
    .summary = "read every byte of a version and say what contradicts what",
    .description =
        "Checks sizes, hashes and block checksums of all files of the version, their structure, "
        "and "
        "every fact that two files both hold: names, sets, counts, postings, page places, totals. "
        "With --deep it also reads all rows of the lake, rebuilds every count and posting and "
        "compares. Each damage is one line; the exit code is 0 when all is sound, 3 when damage "
        "was "
        "found, 1 when the check could not be made.\n"
        "A root on object storage is fetched: every file of the index, each byte of which is "
        "checked, and with --deep the files of the lake one after another. Without --deep the "
        "lake's files are asked for by size and by the ETag that publish saw. A store that cannot "
        "be reached is not damage: exit code 1.\n"
        "With --base the files of rows that 'ingest --in-place' indexed are looked at too: one "
        "that is "
        "gone, or has another size or footer than it had, is damage. A name in a locator never "
        "leads "
        "out of --base, as with 'domaindex fetch-record'. Without --base they are not looked at.\n"
        "Of the current version, a line `note:` says how many files of the lake no version has, "
        "and how "
        "many the version lacks by permission (publish --allow-missing).",
    .example = "domaindex verify --root ./quickstart-root --deep",
    .options = options_table,
    .option_count = OPT_COUNT,
    .run = run_verify,
};
