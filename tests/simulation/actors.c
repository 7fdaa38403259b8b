/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/actors.h"

#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "builder/check/verify.h"
#include "builder/ingest/ingest.h"
#include "builder/maintain/compact.h"
#include "builder/maintain/dataset_remove.h"
#include "builder/maintain/gc.h"
#include "builder/publish/publish.h"
#include "builder/publish/rollback.h"
#include "builder/root/opened_version.h"
#include "loader/lease.h"
#include "query/answers/answer.h"
#include "query/view/view.h"
#include "tests/simulation/model.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/sim_store.h"

#define MEMORY (64u << 20)
#define LEASE_S 600
#define LIFE_S 900
#define REQUEST_S 60
#define SKEW_S 60
#define ANSWER_MAX (1u << 20)
#define LISTED_MAX 1000
#define PASSED_MAX 1024
#define LIBRARY 2 /* the librarian's dataset: the only one that is removed */
#define MEETS 450 /* of a thousand writers wait for another one */
#define MEET_STEP_MS 100
#define LONG_LOOKS 60   /* with pauses of 90 s on average */
#define LOOKS_AGAIN 100 /* of a thousand looks at a version of which nothing has changed */

static char folder[200], violation[1000];
static bool verbose;
static unsigned deeds, busy;        /* actors that have not ended */
static unsigned holding;            /* servers that hold a version */
static unsigned ingests, publishes; /* that have begun */
static bool
    long_leases; /* of this world: versions are held while others are published and collected */
static struct dx_manifest last;
static struct {
    char version[DX_VERSION_NAME];
    uint64_t at_ms; /* when another one became current */
} passed[PASSED_MAX];
static size_t passed_count;
static bool ingested[SIM_DATASETS];
static bool duplicates_may_be; /* an ingest saw a listing that lacked files */

const char *sim_violation(void)
{
    return violation[0] == '\0' ? NULL : violation;
}

unsigned sim_deeds(void)
{
    return deeds;
}

static void violate(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void violate(const char *fmt, ...)
{
    va_list arguments;

    if (violation[0] != '\0')
        return;
    va_start(arguments, fmt);
    (void)vsnprintf(violation, sizeof violation, fmt, arguments);
    va_end(arguments);
}

/* A command of this actor's next process; false: it should not begin any more. */
struct deed {
    const char *what;
    uint64_t begun_ms;
};

static bool begin(struct deed *d, const char *what)
{
    sim_revive();
    (void)sim_faults();
    *d = (struct deed){ what, sim_now_ms() };
    return violation[0] == '\0';
}

static bool end(const struct deed *d, int rc, const struct dx_error *err)
{
    unsigned faults = sim_faults();

    if (verbose)
        (void)fprintf(stderr, "%10llu %-10s %-10s %s%s\n", (unsigned long long)sim_now_ms(),
                      sim_name(), d->what, rc < 0 ? err->text : "done",
                      faults > 0 ? " (faults)" : "");
    if (sim_now_ms() - d->begun_ms > SIM_PATIENCE_MS && faults == 0)
        violate("%s of %s took %llu s without a fault", d->what, sim_name(),
                (unsigned long long)(sim_now_ms() - d->begun_ms) / 1000);
    deeds += rc >= 0;
    return rc >= 0;
}

static void path_in(char out[300], const char *name)
{
    (void)snprintf(out, 300, "%s/%s", folder, name);
}

static uint32_t life_s(void)
{
    return sim_planted == SIM_PLANT_EAGER_COLLECT ? 0 : LIFE_S;
}

/* ---- answers ---- */

/* The name that the answer's list gives an item's dataset. */
static const char *name_of(const json_t *answer, const json_t *item)
{
    json_int_t id = json_integer_value(json_object_get(item, "dataset_id"));
    size_t i;
    json_t *d;

    json_array_foreach(json_object_get(answer, "datasets"), i,
                       d) if (json_integer_value(json_object_get(d, "dataset_id")) ==
                              id) return json_string_value(json_object_get(d, "dataset"));
    return NULL;
}

static const char *add_item(const json_t *answer, const json_t *item, struct sim_rows *rows)
{
    const char *dataset = name_of(answer, item);
    const char *url = json_string_value(json_object_get(item, "url"));

    unsigned d = 0, row;

    while (dataset != NULL && d < SIM_DATASETS && strcmp(dataset, sim_dataset_name(d)) != 0)
        d++;
    if (dataset == NULL || url == NULL || d == SIM_DATASETS || !sim_row_of(url, d, &row))
        return "a row that was never stored";
    if ((rows->of[d] >> row & 1) != 0)
        return "a row stands twice";
    rows->of[d] |= UINT32_C(1) << row;
    return NULL;
}

/* The rows of one domain into the set; its counts must agree. */
static int read_domain(struct dx_opened_version *o, unsigned domain, struct sim_rows *rows)
{
    struct dx_buf body = DX_BUF_INIT(ANSWER_MAX);
    struct dx_problem problem;
    char name[64];
    json_t *answer;
    size_t i;
    json_t *item;
    int rc;

    sim_domain(domain, name);
    rc = dx_answer_all_urls(DX_VIEW_ALL(o->version), o->canon, dx_span_str(name),
                            (struct dx_page_of){ 0, LISTED_MAX }, DX_FIELD_URL, &body, &problem);
    answer = rc == 1 ? json_loadb((const char *)body.data, body.size, 0, NULL) : NULL;
    if (rc < 0 && verbose)
        (void)fprintf(stderr, "  %s: %s\n", name, problem.detail);
    if (rc == 1 && answer == NULL)
        violate("an answer that is not JSON: %.*s", (int)body.size, (const char *)body.data);
    json_array_foreach(json_object_get(answer, "items"), i, item)
    {
        const char *wrong = add_item(answer, item, rows);

        if (wrong != NULL && !(duplicates_may_be && strstr(wrong, "twice") != NULL))
            violate("%s: %s: %s", o->version->entry.version, wrong,
                    json_string_value(json_object_get(item, "url")));
    }
    if (answer != NULL && (size_t)json_integer_value(json_object_get(answer, "total")) !=
                              json_array_size(json_object_get(answer, "items")))
        violate("%s: %s: total is not the number of rows", o->version->entry.version, name);
    json_decref(answer);
    dx_buf_release(&body);
    return rc;
}

/* All answers of a version against the model. Negative: it could not be read. */
static int look_at(const char *version, struct sim_rows *rows, char name[32], struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_opened_version o = { .version = NULL };
    const char *wrong;
    char mirror[300];
    int rc;

    path_in(mirror, "mirror");
    options.mirror_dir = mirror;
    options.cache_bytes_idx = options.cache_bytes_payload = options.cache_bytes_pages = 1 << 20;
    memset(rows, 0, sizeof *rows);
    rc = dx_opened_version_open(&o, SIM_ROOT, version, &options, err);
    for (unsigned i = 0; i < SIM_DOMAINS && rc >= 0; i++) {
        rc = read_domain(&o, i, rows);
        if (rc < 0)
            (void)dx_fail(err, rc, "rows of domain %u cannot be read", i);
    }
    if (rc >= 0) {
        (void)snprintf(name, 32, "%s", o.version->entry.version);
        wrong = sim_model_see(name, rows);
        if (wrong != NULL)
            violate("%s", wrong);
    }
    dx_opened_version_close(&o);
    return rc < 0 ? rc : DX_OK;
}

/* ---- those who write ---- */

static void write_input(const char *path, unsigned dataset, uint32_t rows)
{
    FILE *f = fopen(path, "w");

    if (f == NULL)
        abort();
    for (unsigned row = 0; row < SIM_ROWS; row++)
        if ((rows >> row & 1) != 0) {
            char url[64];

            sim_url(dataset, row, url);
            (void)fprintf(f, "%s\n", url);
        }
    (void)fclose(f);
}

static void ingest(unsigned dataset)
{
    struct dx_ingest_options o = { .root = SIM_ROOT,
                                   .dataset = sim_dataset_name(dataset),
                                   .format = DX_RECORD_LIST,
                                   .work_dir = folder,
                                   .memory_bytes = MEMORY,
                                   .threads = 1,
                                   .test_scale = 1,
                                   .test_sort_bytes = 1 << 20,
                                   .input_count = 1 };
    struct dx_ingest_stats stats;
    struct dx_error err = DX_ERROR_INIT;
    struct deed d;
    uint32_t rows = (uint32_t)(sim_random(1u << SIM_ROWS) & sim_random(1u << SIM_ROWS)) |
                    1u << sim_random(SIM_ROWS);
    char path[300], name[64], psl[300];
    const char *input = path;
    int rc;

    (void)snprintf(name, sizeof name, "input-%s", sim_name());
    path_in(path, name);
    path_in(psl, "psl");
    write_input(path, dataset, rows);
    o.input = &input;
    o.psl_path = psl;
    if (!begin(&d, "ingest"))
        return;
    ingests++;
    (void)sim_short_listings();
    sim_model_try(dataset, rows);
    rc = dx_ingest_run(&o, &stats, &err);
    if (sim_short_listings() > 0)
        duplicates_may_be = true;
    if (end(&d, rc, &err)) {
        sim_model_store(dataset, rows);
        ingested[dataset] = true;
    }
    free(rc < 0 ? NULL : stats.rejects_path);
}

static struct dx_publish_options publish_options(unsigned parts)
{
    static const char *names[SIM_DATASETS];
    size_t count = 0;

    for (unsigned d = 0; d < LIBRARY && sim_planted == SIM_PLANT_TRUST_LISTING; d++)
        if (ingested[d])
            names[count++] = sim_dataset_name(d);
    return (struct dx_publish_options){
        .root = SIM_ROOT,
        .work_dir = folder,
        .memory = MEMORY,
        .threads = 1,
        .parts_max = parts,
        .allow = { .dataset = names, .count = count },
        .merge_max = sim_chance(500), /* what is left is merged beside: merge() */
        .now_us = (INT64_C(1790000000) * 1000 + (int64_t)sim_now_ms()) * 1000
    };
}

static int publish(unsigned parts, struct dx_error *err)
{
    struct dx_publish_options o = publish_options(parts);
    struct dx_publish_result r;
    struct deed d;
    int rc;

    if (!begin(&d, "publish"))
        return DX_E_IO;
    publishes++;
    (void)sim_short_listings();
    sim_model_publish_begin(sim_name());
    rc = dx_publish(&o, &r, err);
    (void)end(&d, rc, err);
    if (rc >= 0) {
        if (r.left_out.count > 0)
            violate("a publish left out files: %.*s", (int)r.left_out.text.size,
                    (const char *)r.left_out.text.data);
        if (r.rows_twice > 0 && !duplicates_may_be)
            violate("a publish found %llu rows twice", (unsigned long long)r.rows_twice);
        dx_publish_result_release(&r);
    }
    sim_model_publish_end(sim_name());
    return rc;
}

static int merge(struct dx_error *err)
{
    struct dx_publish_options o = publish_options(2 + (unsigned)sim_random(7));
    struct dx_publish_result r;
    struct deed d;
    int rc;

    o.merge_max = 1;
    o.merge = true;
    if (!begin(&d, "merge"))
        return DX_E_IO;
    sim_model_merge_begin(sim_name());
    rc = dx_publish(&o, &r, err);
    (void)end(&d, rc, err);
    if (rc >= 0)
        dx_publish_result_release(&r);
    sim_model_publish_end(sim_name());
    return rc;
}

static int compact(struct dx_error *err)
{
    struct dx_compact_options o = { .publish = publish_options(8) };
    struct dx_compact_result r;
    struct deed d;
    int rc;

    if (!begin(&d, "compact"))
        return DX_E_IO;
    (void)sim_short_listings();
    sim_model_publish_begin(sim_name());
    rc = dx_compact(&o, &r, err);
    (void)end(&d, rc, err);
    if (rc >= 0)
        dx_compact_result_release(&r);
    sim_model_publish_end(sim_name());
    return rc;
}

static int collect(struct dx_error *err)
{
    struct dx_gc_options o = { .root = SIM_ROOT,
                               .keep = 1 + (unsigned)sim_random(2),
                               .keep_for_s = 0,
                               .remove = true,
                               .ttl_s = LEASE_S,
                               .cursor_life_s = life_s(),
                               .request_s = REQUEST_S,
                               .skew_s = SKEW_S,
                               .max_share = 100,
                               .threads = 1 };
    struct dx_gc_result r;
    struct deed d;
    int rc;

    if (!begin(&d, "gc"))
        return DX_E_IO;
    rc = dx_gc(&o, &r, err);
    (void)end(&d, rc, err);
    return rc;
}

/* ---- actors ---- */

static void pause_up_to(uint64_t ms)
{
    sim_revive();
    sim_sleep_ms(sim_random(ms));
}

/* Two who write at once are what conditions are for, and seldom by chance: until one more of others has begun. */
static void pause_or_meet(uint64_t ms, const unsigned *others)
{
    unsigned before = *others;

    pause_up_to(ms);
    if (!sim_chance(MEETS))
        return;
    for (uint64_t left = ms / MEET_STEP_MS; left > 0 && *others == before && violation[0] == '\0';
         left--)
        sim_sleep_ms(MEET_STEP_MS);
    sim_sleep_ms(sim_random(MEET_STEP_MS));
}

static void run_ingester(void *ctx)
{
    unsigned dataset = (unsigned)(uintptr_t)ctx;
    unsigned times = 2 + (unsigned)sim_random(4);

    while (times-- > 0 && violation[0] == '\0') {
        pause_or_meet(600000, &ingests);
        ingest(dataset);
    }
    busy--;
}

/* Its dataset is its own: no other actor adds to it. */
static void run_librarian(void *ctx)
{
    unsigned dataset = (unsigned)(uintptr_t)ctx;
    const char *name = sim_dataset_name(dataset);
    unsigned times = 2 + (unsigned)sim_random(3);

    while (times-- > 0 && violation[0] == '\0') {
        struct dx_dataset_remove r = { .root = SIM_ROOT, .names = &name, .count = 1 };
        struct dx_error err = DX_ERROR_INIT;
        struct deed d;
        int rc;

        pause_up_to(400000);
        ingest(dataset);
        pause_up_to(1200000);
        if (sim_chance(500) || !begin(&d, "remove"))
            continue;
        sim_model_remove_begin(dataset);
        rc = dx_dataset_remove_run(&r, &err);
        (void)end(&d, rc, &err);
        sim_model_remove_end(dataset, rc >= 0);
        free(r.result);
    }
    busy--;
}

static void run_publisher(void *ctx)
{
    unsigned times = 3 + (unsigned)sim_random(4);

    (void)ctx;
    sim_skew_s((int64_t)sim_random(60) - 30);
    while (times-- > 0 && violation[0] == '\0') {
        struct dx_error err = DX_ERROR_INIT;

        pause_or_meet(900000, sim_chance(500) ? &ingests : &publishes);
        if (sim_chance(150))
            (void)compact(&err);
        else
            (void)publish(sim_chance(700) ? 8 : 1 + (unsigned)sim_random(3), &err);
        if (sim_chance(300))
            (void)merge(&err);
    }
    busy--;
}

static void run_reverter(void *ctx)
{
    unsigned times = 1 + (unsigned)sim_random(2);

    (void)ctx;
    while (times-- > 0 && violation[0] == '\0') {
        struct dx_rollback_options o = { .root = SIM_ROOT };
        struct dx_rollback_result r;
        struct dx_error err = DX_ERROR_INIT;
        struct deed d;
        char to[8];

        pause_up_to(2400000);
        (void)snprintf(to, sizeof to, "%llu", 1 + (unsigned long long)sim_random(3));
        o.version = to;
        if (!begin(&d, "rollback"))
            break;
        sim_model_rolled_back();
        (void)end(&d, dx_rollback(&o, &r, &err), &err);
        sim_model_rolled_back();
        duplicates_may_be = true;
    }
    busy--;
}

static void run_collector(void *ctx)
{
    (void)ctx;
    while ((busy > 0 || holding > 0) && violation[0] == '\0') {
        struct dx_error err = DX_ERROR_INIT;

        pause_up_to(long_leases ? 600000 : 1500000);
        (void)collect(&err);
    }
}

/* Since the look before at this version: its objects are those that they were, and the manifest has it. Then a look would give
 * what that one gave. */
static bool is_as_seen(const char *version, unsigned losses)
{
    const struct dx_manifest_version *v = dx_manifest_find(&last, version);

    return losses == sim_store_losses() && v != NULL && v->state != DX_VERSION_DROPPED;
}

/* A look at a version that is held. */
static void look_at_held(struct dx_lease *lease, const char *version, unsigned *losses)
{
    struct dx_error why = DX_ERROR_INIT;
    struct sim_rows rows;
    unsigned before = sim_store_losses();
    char name[32];

    if (is_as_seen(version, *losses) && !sim_chance(LOOKS_AGAIN))
        return;
    (void)sim_faults();
    if (look_at(version, &rows, name, &why) >= 0)
        *losses = before;
    else if (sim_faults() == 0 && !sim_crashed() && dx_lease_until(lease, version) > sim_now_ms())
        violate("version %s cannot be read under a lease: %s", version, why.text);
    deeds++;
}

/* While the lease holds, the version that was current when it was taken can be read. */
static void serve(struct dx_lease *lease)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char current[32] = "";
    const char *held = current;
    unsigned losses = UINT_MAX;
    unsigned looks = 1 + (unsigned)sim_random(20);
    bool stays = long_leases && sim_chance(500);
    int rc = dx_lease_hold(lease, NULL, 0, &m, &err);

    if (rc >= 0)
        (void)snprintf(current, sizeof current, "%s", m.current);
    dx_manifest_release(&m);
    if (rc >= 0 && current[0] != '\0')
        rc = dx_lease_hold(lease, &held, 1, &m, &err);
    if (stays)
        looks += LONG_LOOKS;
    holding += stays;
    for (unsigned n = 0; rc >= 0 && n < looks && current[0] != '\0' && violation[0] == '\0'; n++) {
        struct dx_error why = DX_ERROR_INIT;

        if (dx_lease_until(lease, current) <= sim_now_ms() + REQUEST_S * 1000)
            break;
        look_at_held(lease, current, &losses);
        sim_sleep_ms(sim_random(LEASE_S * 300));
        if (stays || sim_chance(800))
            rc = dx_lease_hold(lease, &held, 1, &m, &why) < 0 ? DX_OK
                                                              : rc; /* the old one runs on */
    }
    holding -= stays;
    dx_manifest_release(&m);
}

static void run_server(void *ctx)
{
    (void)ctx;
    while (busy > 0 && violation[0] == '\0') {
        const struct dx_lease_options o = { .server = sim_name(),
                                            .ttl_s = LEASE_S,
                                            .cursor_life_s = life_s(),
                                            .request_s = REQUEST_S };
        struct dx_lease *lease = NULL;
        struct dx_error err = DX_ERROR_INIT;
        struct deed d;

        pause_up_to(300000);
        if (!begin(&d, "serve"))
            break;
        if (dx_lease_open(&lease, SIM_ROOT, &o, &err) >= 0)
            serve(lease);
        dx_lease_close(&lease);
    }
}

/* Whatever happened: from now on the root works, and nothing is lost. */
static void run_end(void *ctx)
{
    struct dx_error err = DX_ERROR_INIT;
    struct sim_rows rows;
    char name[32];
    int rc = DX_E_IO;

    (void)ctx;
    while (busy > 0 || holding > 0)
        sim_sleep_ms(60000);
    if (violation[0] != '\0')
        return;
    sim_store_faults(0);
    sim_sleep_ms(3600000); /* late puts, claims and leases of crashed processes */
    for (unsigned n = 0; n < 3 && rc < 0; n++) {
        ingest(0);
        rc = publish(8, &err);
    }
    if (rc < 0) {
        violate("no publish succeeds any more: %s", err.text);
        return;
    }
    rc = look_at(NULL, &rows, name, &err);
    if (rc < 0)
        violate("the current version cannot be read: %s", err.text);
    else if (sim_model_see_last(&rows) != NULL)
        violate("%s", sim_model_see_last(&rows));
    for (unsigned n = 0; n < 4 && violation[0] == '\0'; n++) {
        sim_sleep_ms(UINT64_C(30) * 3600 * 1000);
        if (collect(&err) < 0)
            violate("gc fails without a fault: %s", err.text);
    }
    if (violation[0] == '\0' && look_at(NULL, &rows, name, &err) < 0)
        violate("the current version cannot be read after gc: %s", err.text);
}

/* What a cursor of LIFE_S relies on. */
static void see_dropped(const struct dx_manifest *now)
{
    for (size_t i = 0; i < now->version_count; i++) {
        const struct dx_manifest_version *before = dx_manifest_find(&last,
                                                                    now->versions[i].version);
        uint64_t since_ms = 0;

        for (size_t k = 0; k < passed_count; k++)
            if (strcmp(passed[k].version, now->versions[i].version) == 0)
                since_ms = passed[k].at_ms;
        if (now->versions[i].state == DX_VERSION_DROPPED && before != NULL &&
            before->state != DX_VERSION_DROPPED &&
            sim_now_ms() - since_ms < LIFE_S * UINT64_C(1000))
            violate("version %s was dropped %llu s after it was current", now->versions[i].version,
                    (unsigned long long)(sim_now_ms() - since_ms) / 1000);
    }
}

static void see_current(const struct dx_manifest *now)
{
    if (last.current[0] == '\0' || strcmp(last.current, now->current) == 0)
        return;
    if (passed_count == PASSED_MAX)
        abort();
    (void)snprintf(passed[passed_count].version, sizeof passed->version, "%s", last.current);
    passed[passed_count++].at_ms = sim_now_ms();
}

/* A version leaves the manifest by a collector alone, which has said first that it is dropped. */
static void compare_manifests(const struct dx_manifest *now)
{
    for (size_t i = 0; i < last.version_count; i++)
        if (last.versions[i].state != DX_VERSION_DROPPED &&
            dx_manifest_find(now, last.versions[i].version) == NULL)
            violate("version %s was in the manifest, and is not in the next one",
                    last.versions[i].version);
    if (now->sequence < last.sequence)
        violate("the manifest's sequence went back from %lu to %lu", (unsigned long)last.sequence,
                (unsigned long)now->sequence);
}

static void note_put(const char *object, struct dx_span bytes)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;

    if (strcmp(object, DX_MANIFEST_FILE) != 0)
        return;
    if (dx_manifest_parse(bytes, object, &m, &err) < 0)
        violate("a manifest that cannot be read was put: %s", err.text);
    else if (m.current[0] != '\0')
        sim_model_flip(sim_store_is_late() ? NULL : sim_name(), m.current,
                       sim_short_listings_now() > 0);
    compare_manifests(&m);
    see_current(&m);
    see_dropped(&m);
    dx_manifest_release(&last);
    last = m;
}

/* Nothing that a listed version names goes, but of one that is being removed. */
static void note_removed(const char *object, struct dx_span bytes)
{
    (void)bytes;
    if (strcmp(object, DX_MANIFEST_FILE) == 0)
        violate("the manifest was removed");
    if (strcmp(object, DX_DATASET_REGISTRY_FILE) == 0)
        violate("the registry was removed");
}

void sim_actors_begin(const char *where)
{
    char path[300];
    FILE *f;

    (void)snprintf(folder, sizeof folder, "%s", where);
    path_in(path, "psl");
    f = fopen(path, "w");
    if (f == NULL || fputs("com\norg\n", f) < 0 || fclose(f) != 0)
        abort();
}

void sim_actors_add(bool say)
{
    violation[0] = '\0';
    verbose = say;
    deeds = 0;
    duplicates_may_be = false;
    holding = ingests = publishes = 0;
    passed_count = 0;
    memset(ingested, 0, sizeof ingested);
    long_leases = sim_chance(300);
    dx_manifest_release(&last);
    last = (struct dx_manifest)DX_MANIFEST_INIT;
    sim_model_begin();
    sim_store_watch(note_put, note_removed);
    busy = 0;
    sim_actor("ingest-1", run_ingester, (void *)(uintptr_t)0), busy++;
    sim_actor("ingest-2", run_ingester, (void *)(uintptr_t)sim_chance(300)), busy++;
    sim_actor("librarian", run_librarian, (void *)(uintptr_t)LIBRARY), busy++;
    sim_actor("publish-1", run_publisher, NULL), busy++;
    sim_actor("publish-2", run_publisher, NULL), busy++;
    if (sim_chance(250))
        sim_actor("rollback", run_reverter, NULL), busy++;
    sim_actor("gc", run_collector, NULL);
    sim_actor("server-1", run_server, NULL);
    if (sim_chance(500))
        sim_actor("server-2", run_server, NULL);
    sim_actor("end", run_end, NULL);
}
