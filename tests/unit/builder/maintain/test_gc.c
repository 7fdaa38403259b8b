/* SPDX-License-Identifier: Apache-2.0
 * gc: what becomes of a version, by a table; which objects only some entries have; leases that
 * hold; what versions without an entry left, and what a job left in the spool. What a pass does to
 * a root, and what may happen beside it, is in tests/e2e/gc_*.py.
 */
#include "builder/maintain/gc.h"
#include "builder/maintain/gc_leases.h"
#include "builder/maintain/gc_leftovers.h"
#include "builder/maintain/gc_names.h"
#include "builder/maintain/gc_plan.h"
#include "builder/maintain/gc_spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "canon/psl.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include "fetch/source.h"
#include "loader/version.h"

#define SECOND INT64_C(1000000)
#define T0 (INT64_C(1795257000) * SECOND)
#define HOUR 3600

static unsigned failures;

struct row {
    enum dx_version_state state;
    int64_t condemned_s;  /* after T0 */
    int64_t superseded_s; /* the same; -1: never */
    enum dx_gc_step want;
};

#define LISTED DX_VERSION_LISTED
#define CONDEMNED DX_VERSION_CONDEMNED
#define DROPPED DX_VERSION_DROPPED
#define NEVER (-1)

static void test_plan(void)
{
    /* 4 h after T0, WAIT is 1620 s, keep 2, keep for 1 h; the last of a case is current unless
     * `current` says another */
    static const struct {
        const char *name;
        size_t current;
        struct row rows[5];
        size_t count;
    } cases[] = {
        { "one alone", 0, { { LISTED, 0, NEVER, DX_GC_KEEP } }, 1 },
        { "newest two and the current",
          0,
          { { LISTED, 0, NEVER, DX_GC_KEEP },
            { LISTED, 0, 10, DX_GC_CONDEMN },
            { LISTED, 0, 20, DX_GC_KEEP },
            { LISTED, 0, 30, DX_GC_KEEP } },
          4 },
        { "current a short time ago",
          3,
          { { LISTED, 0, 3 * HOUR + 1, DX_GC_KEEP },
            { LISTED, 0, 3 * HOUR, DX_GC_CONDEMN },
            { LISTED, 0, 20, DX_GC_KEEP },
            { LISTED, 0, NEVER, DX_GC_KEEP } },
          4 },
        { "superseded after now: a clock of a publisher",
          3,
          { { LISTED, 0, 5 * HOUR, DX_GC_KEEP },
            { LISTED, 0, 20, DX_GC_CONDEMN },
            { LISTED, 0, 20, DX_GC_KEEP },
            { LISTED, 0, NEVER, DX_GC_KEEP } },
          4 },
        { "format version 1 says not when: published",
          3,
          { { LISTED, 0, NEVER, DX_GC_CONDEMN },
            { LISTED, 0, NEVER, DX_GC_CONDEMN },
            { LISTED, 0, NEVER, DX_GC_KEEP },
            { LISTED, 0, NEVER, DX_GC_KEEP } },
          4 },
        { "the wait, and a second",
          4,
          { { CONDEMNED, 4 * HOUR - 1621, 10, DX_GC_DROP },
            { CONDEMNED, 4 * HOUR - 1620, 10, DX_GC_WAIT },
            { CONDEMNED, 5 * HOUR, 10, DX_GC_WAIT },
            { LISTED, 0, 20, DX_GC_KEEP },
            { LISTED, 0, NEVER, DX_GC_KEEP } },
          5 },
        { "condemned by other options, now kept",
          1,
          { { CONDEMNED, 0, 10, DX_GC_KEEP }, { LISTED, 0, NEVER, DX_GC_KEEP } },
          2 },
        { "dropped ones are none of the newest, and stay dropped",
          3,
          { { LISTED, 0, 10, DX_GC_KEEP },
            { DROPPED, 0, 20, DX_GC_REMOVE },
            { DROPPED, 0, 20, DX_GC_REMOVE },
            { LISTED, 0, NEVER, DX_GC_KEEP } },
          4 },
    };
    struct dx_gc_options o = DX_GC_OPTIONS_INIT;

    o.keep = 2;
    o.keep_for_s = HOUR;
    EXPECT(dx_gc_wait_s(&o) == 1620, "wait");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct dx_manifest m = DX_MANIFEST_INIT;
        struct dx_gc_planned planned[5];
        struct dx_error err = DX_ERROR_INIT;
        size_t changes = 0;

        for (size_t i = 0; i < cases[c].count; i++) {
            const struct row *r = &cases[c].rows[i];
            struct dx_manifest_version *v = NULL;
            char name[DX_VERSION_NAME];

            EXPECT(dx_version_name_make(i + 1, T0, name) &&
                       dx_manifest_add(&m, name, &v, &err) == DX_OK,
                   "%s", err.text);
            v->published_us = T0;
            v->state = r->state;
            v->condemned_us = r->state == LISTED ? DX_MANIFEST_NEVER : T0 + r->condemned_s * SECOND;
            v->superseded_us = r->superseded_s == NEVER ? DX_MANIFEST_NEVER
                                                        : T0 + r->superseded_s * SECOND;
            if (i == cases[c].current)
                memcpy(m.current, name, sizeof name);
            changes += r->want == DX_GC_CONDEMN || r->want == DX_GC_DROP;
        }
        dx_gc_plan(&m, &o, T0 + 4 * HOUR * SECOND + 7, planned);
        for (size_t i = 0; i < cases[c].count; i++)
            EXPECT(planned[i].step == cases[c].rows[i].want, "%s: %zu is %d", cases[c].name, i,
                   (int)planned[i].step);
        EXPECT(dx_gc_plan_mark(&m, planned, T0 + 7) == changes, "%s: marks", cases[c].name);
        for (size_t i = 0; i < cases[c].count; i++)
            EXPECT((planned[i].step != DX_GC_CONDEMN ||
                    (m.versions[i].state == CONDEMNED && m.versions[i].condemned_us == T0)) &&
                       (planned[i].step != DX_GC_DROP || m.versions[i].state == DROPPED),
                   "%s: %zu after", cases[c].name, i);
        dx_manifest_release(&m);
    }
}

/* Versions that others need the files of. 4 h after T0, as above; the last one is current. */
static void test_parts(void)
{
    static const struct {
        const char *name;
        struct row rows[4];
        unsigned parts[4]; /* bit k: version k is a part of it */
        int64_t due_s[4];  /* of one that waits, after T0 */
        int of[4];         /* the version that it stays for; -1: none */
        size_t count;
    } cases[] = {
        { "the current one keeps its parts",
          { { LISTED, 0, 10, DX_GC_KEEP },
            { CONDEMNED, 10, 10, DX_GC_KEEP },
            { LISTED, 0, 10, DX_GC_CONDEMN },
            { LISTED, 0, NEVER, DX_GC_KEEP } },
          { 0, 1, 3, 3 },
          { 0 },
          { 3, 3, -1, -1 },
          4 },
        { "a part waits as long as what needs it",
          { { CONDEMNED, 0, 10, DX_GC_WAIT },
            { CONDEMNED, 4 * HOUR - 100, 10, DX_GC_WAIT },
            { LISTED, 0, NEVER, DX_GC_KEEP } },
          { 0, 1, 0 },
          { 4 * HOUR - 100 + 1621, 4 * HOUR - 100 + 1621 },
          { 1, -1, -1 },
          3 },
        { "what needs it is only condemned now",
          { { CONDEMNED, 0, 10, DX_GC_WAIT },
            { LISTED, 0, 20, DX_GC_CONDEMN },
            { LISTED, 0, NEVER, DX_GC_KEEP } },
          { 0, 1, 0 },
          { 4 * HOUR + 1621 },
          { 1, -1, -1 },
          3 },
        { "they are dropped together",
          { { CONDEMNED, 0, 10, DX_GC_DROP },
            { CONDEMNED, 10, 10, DX_GC_DROP },
            { LISTED, 0, NEVER, DX_GC_KEEP } },
          { 0, 1, 0 },
          { 0 },
          { -1, -1, -1 },
          3 },
        { "a dropped one keeps nothing listed",
          { { LISTED, 0, 10, DX_GC_CONDEMN },
            { DROPPED, 0, 10, DX_GC_REMOVE },
            { LISTED, 0, NEVER, DX_GC_KEEP } },
          { 0, 1, 0 },
          { 0 },
          { -1, -1, -1 },
          3 },
    };
    struct dx_gc_options o = DX_GC_OPTIONS_INIT;

    o.keep = 1;
    o.keep_for_s = HOUR;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct dx_manifest m = DX_MANIFEST_INIT;
        struct dx_gc_planned planned[4];
        struct dx_error err = DX_ERROR_INIT;

        for (size_t i = 0; i < cases[c].count; i++) {
            const struct row *r = &cases[c].rows[i];
            struct dx_manifest_version *v = NULL;
            char name[DX_VERSION_NAME];

            EXPECT(dx_version_name_make(i + 1, T0, name) &&
                       dx_manifest_add(&m, name, &v, &err) == DX_OK,
                   "%s", err.text);
            v->published_us = T0;
            v->state = r->state;
            v->condemned_us = r->state == LISTED ? DX_MANIFEST_NEVER : T0 + r->condemned_s * SECOND;
            v->superseded_us = r->superseded_s == NEVER ? DX_MANIFEST_NEVER
                                                        : T0 + r->superseded_s * SECOND;
            for (size_t k = 0; k < i; k++)
                if ((cases[c].parts[i] >> k & 1) != 0)
                    memcpy(v->parts[v->part_count++], m.versions[k].version, DX_VERSION_NAME);
            memcpy(m.current, name, sizeof name);
        }
        dx_gc_plan(&m, &o, T0 + 4 * HOUR * SECOND + 7, planned);
        for (size_t i = 0; i < cases[c].count; i++) {
            int of = cases[c].of[i];

            EXPECT(planned[i].step == cases[c].rows[i].want, "%s: %zu is %d", cases[c].name, i,
                   (int)planned[i].step);
            EXPECT(of < 0 ? planned[i].of == NULL
                          : planned[i].why != NULL && planned[i].of == m.versions[of].version,
                   "%s: %zu stays for %s", cases[c].name, i,
                   planned[i].of == NULL ? "none" : planned[i].of);
            EXPECT(planned[i].step != DX_GC_WAIT ||
                       planned[i].due_us == T0 + cases[c].due_s[i] * SECOND,
                   "%s: %zu waits until %lld s", cases[c].name, i,
                   (long long)((planned[i].due_us - T0) / SECOND));
        }
        dx_manifest_release(&m);
    }
}

static void test_leases(void)
{
    static const struct {
        uint32_t ttl_s;
        int64_t age_s;
        bool coarse, holds, agrees;
    } rows[] = {
        { 600, 659, false, true, true },  { 600, 660, false, false, true },
        { 600, 660, true, true, true },   { 600, 661, true, false, true },
        { 10, 659, false, true, true },   { 900, 959, false, true, false },
        { 900, 960, false, false, true }, { 600, -5, false, true, true },
    };
    const struct dx_gc_options o = DX_GC_OPTIONS_INIT;
    const char *version = "000001-20261121T103000Z";

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_gc_lease one = { .text = DX_LEASE_TEXT_INIT, .coarse = rows[i].coarse };
        struct dx_gc_leases all = { &one, 1 };
        struct dx_error err = DX_ERROR_INIT;

        one.text.ttl_s = rows[i].ttl_s;
        one.modified_us = T0;
        one.now_us = T0 + rows[i].age_s * SECOND;
        EXPECT(dx_lease_text_add(&one.text, version, &err) == DX_OK, "%s", err.text);
        EXPECT((dx_gc_leases_holder(&all, &o, version) != NULL) == rows[i].holds, "%zu", i);
        EXPECT(dx_gc_leases_holder(&all, &o, "000002-20261121T103000Z") == NULL, "%zu", i);
        EXPECT((dx_gc_leases_agree(&all, &o, &err) == DX_OK) == rows[i].agrees, "%zu: %s", i,
               err.text);
        dx_lease_text_release(&one.text);
    }
}

/* Another entry, in a folder of its own, with the same list of lake files. */
static void add_twin(struct dx_manifest *m, const char *root)
{
    struct dx_manifest_version *twin = NULL;
    struct dx_error err = DX_ERROR_INIT;
    char command[512];
    int rc = dx_manifest_add(m, "000002-20261121T103000Z", &twin, &err);

    if (rc == DX_OK)
        rc = dx_manifest_version_copy(&m->versions[0], twin, &err);
    EXPECT(rc == DX_OK, "%s", err.text);
    memcpy(twin->version, "000002-20261121T103000Z", sizeof twin->version);
    twin->sequence = 2;
    (void)snprintf(command, sizeof command, "cp -r '%s/index/%s' '%s/index/%s'", root,
                   m->versions[0].version, root, twin->version);
    EXPECT(system(command) == 0, "%s", command);
}

/* Of two twins: `own` bytes are only of one, `all` are there. */
static void check_going(const struct dx_gc_names *n, uint64_t own, uint64_t all)
{
    static const struct {
        enum dx_gc_step first, second;
        unsigned own_gone, own_total; /* times `own` */
        bool shared_gone;
    } rows[] = {
        { DX_GC_KEEP, DX_GC_KEEP, 0, 2, false },      { DX_GC_CONDEMN, DX_GC_KEEP, 1, 2, false },
        { DX_GC_DROP, DX_GC_KEEP, 1, 2, false },      { DX_GC_WAIT, DX_GC_KEEP, 1, 2, false },
        { DX_GC_REMOVE, DX_GC_KEEP, 0, 1, false },    { DX_GC_REMOVE, DX_GC_CONDEMN, 1, 1, true },
        { DX_GC_CONDEMN, DX_GC_CONDEMN, 2, 2, true },
    };
    uint64_t shared = all - 2 * own;

    EXPECT(own > 0 && shared > 0, "twins share lake files");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dx_gc_planned planned[2] = { { .step = rows[i].first },
                                                  { .step = rows[i].second } };
        bool going[2];
        uint64_t total, gone;

        dx_gc_names_going(n, planned, going, 2, &total, &gone);
        EXPECT(total == rows[i].own_total * own + shared &&
                   gone == rows[i].own_gone * own + (rows[i].shared_gone ? shared : 0),
               "row %zu: %llu of %llu", i, (unsigned long long)gone, (unsigned long long)total);
        EXPECT(going[0] == (rows[i].first != DX_GC_KEEP) &&
                   going[1] == (rows[i].second != DX_GC_KEEP),
               "row %zu: going", i);
    }
}

/* Two entries of one root, of which the second has the files of the first: what only one has is its
 * own. */
static void test_names(void)
{
    struct dx_gc_objects lake = DX_GC_OBJECTS_INIT;
    struct dx_gc_objects index = DX_GC_OBJECTS_INIT;
    struct dx_gc_objects last = DX_GC_OBJECTS_INIT;
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_source *source = NULL;
    struct dx_gc_names n = DX_GC_NAMES_INIT;
    struct dx_test_root r;
    struct dx_error err = DX_ERROR_INIT;
    bool both[2] = { true, true };
    bool first[2] = { true, false };
    uint64_t total, gone, objects, all;
    char path[DX_MANIFEST_FILE_PATH];

    dx_test_root_make(&r, 40, 3);
    EXPECT(dx_source_open_local(&source, r.path, &err) == DX_OK &&
               dx_version_manifest(r.path, &m, &err) == DX_OK && m.version_count == 1,
           "%s", err.text);
    EXPECT(dx_gc_names_read(&n, source, &m, &err) == DX_OK, "%s", err.text);
    dx_gc_names_share(&n, both, &total, &gone, &objects);
    EXPECT(total == gone && total > 0 &&
               objects == m.versions[0].file_count + m.versions[0].lake_files,
           "one version: %llu of %llu, %llu objects", (unsigned long long)gone,
           (unsigned long long)total, (unsigned long long)objects);
    EXPECT(dx_gc_names_own(&n, source, &m, 0, &lake, &index, &last, &err) == DX_OK &&
               last.count == 1 && lake.count == m.versions[0].lake_files &&
               index.count == m.versions[0].file_count - 1,
           "and the list: %zu %zu %s", lake.count, index.count, err.text);
    dx_manifest_file_path(&m.versions[0], &m.versions[0].files[0], path);
    EXPECT(dx_gc_names_any(&n, path) && dx_gc_names_any(&n, lake.name[0]) &&
               !dx_gc_names_other(&n, path, 0) && !dx_gc_names_any(&n, "index/x"),
           "names");
    all = total;
    dx_gc_names_release(&n);
    dx_gc_objects_release(&lake);
    dx_gc_objects_release(&index);
    dx_gc_objects_release(&last);
    add_twin(&m, r.path);
    EXPECT(dx_gc_names_read(&n, source, &m, &err) == DX_OK, "%s", err.text);
    dx_gc_names_share(&n, first, &total, &gone, &objects);
    EXPECT(gone < all && objects == m.versions[0].file_count, "%llu objects",
           (unsigned long long)objects);
    EXPECT(dx_gc_names_own(&n, source, &m, 0, &lake, &index, &last, &err) == DX_OK &&
               last.count == 1 && lake.count == 0 && index.count == m.versions[0].file_count - 1,
           "%zu %zu %s", lake.count, index.count, err.text);
    dx_gc_objects_release(&index);
    dx_gc_objects_release(&last);
    check_going(&n, gone, total);
    memcpy(m.current, m.versions[1].version, sizeof m.current);
    EXPECT(dx_manifest_remove(&m, m.versions[0].version, &err) == DX_OK, "%s", err.text);
    dx_gc_names_forget(&n, 0);
    EXPECT(dx_gc_names_own(&n, source, &m, 0, &lake, &index, &last, &err) == DX_OK &&
               last.count == 1 && lake.count == m.versions[0].lake_files &&
               index.count == m.versions[0].file_count - 1,
           "the second is the first now: %zu %zu %s", lake.count, index.count, err.text);
    dx_gc_names_release(&n);
    dx_gc_objects_release(&lake);
    dx_gc_objects_release(&index);
    dx_gc_objects_release(&last);
    dx_manifest_release(&m);
    dx_source_close(&source);
    dx_test_root_remove(&r);
}

/* ---- leftovers ---- */

#define DEAD "000001-20250101T000000Z"  /* its number is taken, and it has no entry */
#define EMPTY "000001-20250102T000000Z" /* the same, without a file */
#define LATER "000002-20260101T000000Z" /* in the making */
#define LAKE "urls/dataset_id=1/domain_prefix=00-ff/part-"

static void put_text(const char *root, const char *folder, const char *name, const char *text)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", root, folder);
    EXPECT(dx_dir_make(path, &err) == DX_OK, "%s", err.text);
    (void)snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    EXPECT(dx_file_replace(path, dx_span_str(text), &err) == DX_OK, "%s", err.text);
}

static bool is_there(const char *root, const char *name)
{
    char path[512];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return stat(path, &st) == 0;
}

static void check_leftovers(const char *root)
{
    struct dx_gc_names names = DX_GC_NAMES_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_gc_leftovers l;
    struct dx_gc_root g;
    bool folders[2] = { false, false };

    EXPECT(dx_gc_root_open(&g, root, false, 0, &err) == DX_OK &&
               dx_gc_root_read(&g, &err) == DX_OK &&
               dx_gc_names_read(&names, g.root.source, &g.edit.manifest, &err) == DX_OK,
           "%s", err.text);
    EXPECT(dx_gc_leftovers_find(&l, &g, &names, &err) == DX_OK, "%s", err.text);
    EXPECT(l.index.count == 1 && strcmp(l.index.name[0], "index/" DEAD "/mphf") == 0, "%zu objects",
           l.index.count);
    EXPECT(l.lake.count == 1 && strcmp(l.lake.name[0], LAKE "00077.parquet") == 0 &&
               l.lake.bytes == 5,
           "%zu lake files", l.lake.count);
    for (size_t i = 0; i < l.folder_count; i++) {
        folders[0] = folders[0] || strcmp(l.folder[i], DEAD) == 0;
        folders[1] = folders[1] || strcmp(l.folder[i], EMPTY) == 0;
        EXPECT(strcmp(l.folder[i], LATER) != 0, "a version in the making");
    }
    EXPECT(folders[0] && folders[1], "%zu folders", l.folder_count);
    dx_gc_leftovers_release(&l);
    dx_gc_names_release(&names);
    dx_gc_root_close(&g);
}

/* A publish that died, one that died before its first file, and a compaction that lost. */
static void test_leftovers(void)
{
    struct dx_gc_options o = DX_GC_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_gc_result result;
    struct dx_test_root r;
    char path[512];

    dx_test_root_make(&r, 5, 1);
    put_text(r.path, "index/" DEAD, "mphf", "dead");
    put_text(r.path, "index/" LATER, "mphf", "later");
    put_text(r.path, "urls/dataset_id=1/domain_prefix=00-ff", "part-00077.parquet", "77...");
    put_text(r.path, "urls/dataset_id=1/domain_prefix=00-ff", "part-00078.parquet", "new data");
    put_text(r.path, "index/claims", DEAD ".lake",
             LAKE "00000.parquet\n" LAKE "00077.parquet\n" LAKE "00079.parquet\n");
    (void)snprintf(path, sizeof path, "%s/index/" EMPTY, r.path);
    EXPECT(dx_dir_make(path, &err) == DX_OK, "%s", err.text);
    check_leftovers(r.path);
    o.root = r.path;
    o.remove = true;
    EXPECT(dx_gc(&o, &result, &err) == DX_OK && result.objects == 2 && result.bytes == 9,
           "%llu objects, %llu bytes, %s", (unsigned long long)result.objects,
           (unsigned long long)result.bytes, err.text);
    EXPECT(!is_there(r.path, "index/" DEAD) && !is_there(r.path, "index/" EMPTY) &&
               !is_there(r.path, LAKE "00077.parquet"),
           "leftovers");
    EXPECT(is_there(r.path, "index/" LATER "/mphf") && is_there(r.path, LAKE "00000.parquet") &&
               is_there(r.path, LAKE "00078.parquet") &&
               is_there(r.path, "index/claims/" DEAD ".lake"),
           "what is not left over");
    dx_test_root_remove(&r);
}

/* ---- what would go ---- */

static void keep_removals(void *ctx, const char *line)
{
    struct dx_buf *said = ctx;

    if (strstr(line, "would remove:") != NULL)
        dx_buf_fmt(said, "%s\n", line);
}

/* A version that was dropped and shares its lake files with the current one: a dry run says what is its own, and leaves it. */
static void test_dry_run(void)
{
    struct dx_gc_options o = DX_GC_OPTIONS_INIT;
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_buf said = DX_BUF_INIT(4096);
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_gc_result result;
    struct dx_test_root r;
    char path[200];
    char want[200];

    dx_test_root_make(&r, 5, 1);
    EXPECT(dx_version_manifest(r.path, &m, &err) == DX_OK, "%s", err.text);
    add_twin(&m, r.path);
    m.sequence = 2;
    memcpy(m.current, m.versions[1].version, sizeof m.current);
    m.versions[0].state = DROPPED;
    m.versions[0].condemned_us = m.versions[0].superseded_us = m.versions[0].published_us;
    (void)snprintf(path, sizeof path, "%s/index/manifest.json", r.path);
    EXPECT(dx_manifest_write(&m, &text, &err) == DX_OK &&
               dx_file_replace(path, dx_span_of(text.data, text.size), &err) == DX_OK,
           "%s", err.text);
    o.root = r.path;
    o.say = keep_removals;
    o.say_ctx = &said;
    EXPECT(dx_gc(&o, &result, &err) == DX_OK && result.removed == 1 &&
               result.objects == m.versions[0].file_count,
           "%u removed, %llu objects: %s", result.removed, (unsigned long long)result.objects,
           err.text);
    (void)snprintf(want, sizeof want, "%s would remove: 0 lake files, %zu objects of the index, ",
                   m.versions[0].version, m.versions[0].file_count);
    EXPECT(said.size > strlen(want) && memcmp(said.data, want, strlen(want)) == 0 &&
               memchr(said.data, '\n', said.size - 1) == NULL,
           "%.*s", (int)said.size, (const char *)said.data);
    (void)snprintf(path, sizeof path, "index/%s", m.versions[0].version);
    EXPECT(is_there(r.path, path), "a dry run");
    dx_buf_release(&said);
    dx_buf_release(&text);
    dx_manifest_release(&m);
    dx_test_root_remove(&r);
}

/* ---- spool ---- */

static void put(const char *root, const char *name, size_t size)
{
    const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
    struct dx_buf bytes = DX_BUF_INIT(64u << 20);
    struct dx_error err = DX_ERROR_INIT;
    char path[512];
    uint8_t *to = dx_buf_reserve(&bytes, size);

    if (to != NULL)
        memset(to, ' ', size);
    (void)snprintf(path, sizeof path, "%s/spool/job/attempt", root);
    EXPECT(to != NULL && dx_dir_make(path, &err) == DX_OK, "%s", err.text);
    (void)snprintf(path, sizeof path, "%s/spool/job/attempt/%s", root, name);
    EXPECT(dx_file_replace(path, dx_span_of(to, size), &err) == DX_OK &&
               utimensat(AT_FDCWD, path, old, 0) == 0,
           "%s", err.text);
    dx_buf_release(&bytes);
}

/* Of an attempt with as many datasets as a job may have: its registry is larger than a suffix list may be. */
static void test_spool(void)
{
    struct dx_gc_objects old = DX_GC_OBJECTS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_gc_root g;
    struct dx_test_root r;

    dx_test_root_make(&r, 5, 1);
    put(r.path, "psl.dat", 100);
    put(r.path, "registry.json", DX_PSL_TEXT_MAX + 1);
    EXPECT(dx_gc_root_open(&g, r.path, false, 0, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_gc_spool_find(&old, &g, 3600, &err) == DX_OK && old.count == 2 &&
               old.bytes == DX_PSL_TEXT_MAX + 101,
           "spool: %zu objects, %s", old.count, err.text);
    dx_gc_objects_release(&old);
    dx_gc_root_close(&g);
    dx_test_root_remove(&r);
}

int main(void)
{
    test_plan();
    test_parts();
    test_leases();
    test_names();
    test_leftovers();
    test_dry_run();
    test_spool();
    return failures > 0;
}
