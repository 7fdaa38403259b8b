/* SPDX-License-Identifier: Apache-2.0
 * backup: a version takes the versions of its parts with it, whichever was asked for; the log of suppressions and its floor, again
 * and again, and never a lost log over one that is there; the access table likewise; a collector of the copy, before it and beside it. All else is in
 * tests/e2e/backup*.py.
 */
#include "builder/maintain/backup.h"
#include "builder/maintain/gc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/lake/dataset_registry.h"
#include "builder/policy/suppress.h"
#include "format/core/envelope.h"
#include "format/core/zseek.h"
#include "format/root/domain64_manifest.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/root_registry.h"
#include "tests/support/small_root.h"

#define SECOND_VERSION "000002-20261121T103000Z"
#define THIRD_VERSION "000003-20261121T103000Z"

static unsigned failures;

/* Of a part without lake files of its own. */
static void write_no_files(const char *root, struct dx_manifest_version *v)
{
    struct dx_manifest_file *listed = (struct dx_manifest_file *)(uintptr_t)dx_manifest_file(
        v, DX_FILE_FILES_TSV);
    struct dx_buf list = DX_BUF_INIT(1 << 16);
    struct dx_zseek_writer w = { 0 };
    struct dx_error err = DX_ERROR_INIT;
    char path[512];

    (void)snprintf(path, sizeof path, "%s/index/%s/" DX_FILE_FILES_TSV, root, v->version);
    EXPECT(dx_zseek_writer_init(&w, 0, dx_envelope_sink_buf, &list, &err) == DX_OK &&
               dx_zseek_writer_finish(&w, &err) == DX_OK &&
               dx_file_replace(path, dx_span_of(list.data, list.size), &err) == DX_OK,
           "%s", err.text);
    listed->size = list.size;
    listed->hash = dx_hash128_of(dx_span_of(list.data, list.size));
    dx_zseek_writer_release(&w);
    dx_buf_release(&list);
}

/* The files of the first version again, in a folder of its own; with the first as a part if `parts`. */
static void add_version(struct dx_manifest *m, const char *root, const char *name, bool parts)
{
    static const char dead[] = "not read by a backup";
    const struct dx_hash128 hash = dx_hash128_of(dx_span_str(dead));
    struct dx_manifest_version *v = NULL;
    struct dx_error err = DX_ERROR_INIT;
    char text[512];
    int rc = dx_manifest_add(m, name, &v, &err);
    uint32_t sequence = v->sequence;

    if (rc == DX_OK)
        rc = dx_manifest_version_copy(&m->versions[0], v, &err);
    memcpy(v->version, name, sizeof v->version);
    v->sequence = sequence;
    (void)snprintf(text, sizeof text, "cp -r '%s/index/%s' '%s/index/%s'", root,
                   m->versions[0].version, root, name);
    EXPECT(rc == DX_OK && system(text) == 0, "%s %s", text, err.text);
    if (parts) {
        memcpy(v->parts[v->part_count++], m->versions[0].version, DX_VERSION_NAME);
        v->part.first_file = m->versions[0].file_ids;
        write_no_files(root, v);
        (void)snprintf(text, sizeof text, "%s/index/%s/" DX_FILE_DEAD, root, name);
        EXPECT(dx_manifest_file_add(v, DX_FILE_DEAD, sizeof dead - 1, &hash, &err) == DX_OK &&
                   dx_file_replace(text, dx_span_str(dead), &err) == DX_OK,
               "%s", err.text);
    }
    m->sequence = sequence;
    memcpy(m->current, name, sizeof m->current);
}

static void write_manifest(const struct dx_manifest *m, const char *root)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    char path[512];

    (void)snprintf(path, sizeof path, "%s/" DX_MANIFEST_FILE, root);
    EXPECT(dx_manifest_write(m, &text, &err) == DX_OK &&
               dx_file_replace(path, dx_span_of(text.data, text.size), &err) == DX_OK,
           "%s", err.text);
    dx_buf_release(&text);
}

static void check_copy(const struct dx_manifest *of, const struct dx_test_root *r,
                       const char *version, size_t versions)
{
    struct dx_backup_options o = DX_BACKUP_OPTIONS_INIT;
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_backup_result result;
    struct dx_error err = DX_ERROR_INIT;
    char to[] = "/tmp/dx-copy-XXXXXX"; /* backup tidies up /tmp/domaindex-backup-* */

    EXPECT(mkdtemp(to) != NULL, "%s", to);
    o.root = r->path;
    o.to = to;
    o.version = version;
    o.threads = 1;
    EXPECT(dx_backup(&o, &result, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_version_manifest(to, &m, &err) == DX_OK, "%s", err.text);
    EXPECT(m.version_count == versions && result.versions == versions &&
               strcmp(m.current, version == NULL ? of->current : version) == 0,
           "%s: %zu versions of %zu, current is %s", version == NULL ? "current" : version,
           m.version_count, versions, m.current);
    for (size_t i = 0; i < m.version_count; i++)
        for (size_t k = 0; k < m.versions[i].file_count; k++) {
            char object[DX_MANIFEST_FILE_PATH];
            char path[512];

            dx_manifest_file_path(&m.versions[i], &m.versions[i].files[k], object);
            (void)snprintf(path, sizeof path, "%s/%s", to, object);
            EXPECT(access(path, R_OK) == 0, "%s was not copied", path);
        }
    EXPECT(dx_backup(&o, &result, &err) == DX_OK && result.unchanged, "again: %s", err.text);
    dx_manifest_release(&m);
    EXPECT(dx_dir_remove(to, &err) == DX_OK, "%s", err.text);
}

/* ---- suppressions ---- */

static int hide(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    const struct dx_suppress_rule rule = { .kind = DX_SUPPRESS_DOMAIN,
                                           .policy = DX_SUPPRESS_WITHHELD,
                                           .value = dx_span_str(ctx) };
    uint64_t number;
    int rc = dx_suppressions_add(log, &rule, &number, err);

    return rc < 0 ? rc : 1;
}

static void path_of(const char *root, const char *name, char path[512])
{
    (void)snprintf(path, 512, "%s/%s", root, name);
}

static bool same_file(const char *a, const char *b, const char *name)
{
    struct dx_buf texts[2] = { DX_BUF_INIT(1 << 20), DX_BUF_INIT(1 << 20) };
    struct dx_error err = DX_ERROR_INIT;
    char path[512];
    bool same;

    path_of(a, name, path);
    same = dx_file_read(path, 1 << 20, &texts[0], &err) == DX_OK && texts[0].size > 0;
    path_of(b, name, path);
    same = same && dx_file_read(path, 1 << 20, &texts[1], &err) == DX_OK &&
           dx_span_equal(dx_span_of(texts[0].data, texts[0].size),
                         dx_span_of(texts[1].data, texts[1].size));
    dx_buf_release(&texts[0]);
    dx_buf_release(&texts[1]);
    return same;
}

static void check_suppressions(const struct dx_test_root *r)
{
    static char *const domains[] = { "one.example", "two.example" };
    static const char *const names[] = { DX_SUPPRESSIONS_FILE, DX_SUPPRESSIONS_FLOOR };
    struct dx_backup_options o = DX_BACKUP_OPTIONS_INIT;
    struct dx_backup_result result;
    struct dx_error err = DX_ERROR_INIT;
    char to[] = "/tmp/dx-copy-XXXXXX";
    char kept[512];
    char path[512];
    uint64_t lines = 1;

    EXPECT(mkdtemp(to) != NULL, "%s", to);
    o.root = r->path;
    o.to = to;
    o.threads = 1;
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        EXPECT(dx_suppress_change(r->path, hide, domains[i], &err) == 1, "%s", err.text);
        for (int again = 0; again < 2; again++)
            EXPECT(dx_backup(&o, &result, &err) == DX_OK, "%s: %s", domains[i], err.text);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            EXPECT(same_file(r->path, to, names[k]), "%s: %s", domains[i], names[k]);
    }
    path_of(to, DX_SUPPRESSIONS_FILE, kept);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        path_of(r->path, names[k], path);
        EXPECT(unlink(path) == 0, "%s", path);
    }
    EXPECT(dx_backup(&o, &result, &err) < 0 && access(kept, R_OK) == 0,
           "a log that is lost in the root");
    EXPECT(dx_suppress_accept(r->path, false, &lines, &err) >= 0 && lines == 0 &&
               dx_suppress_change(r->path, hide, domains[1], &err) == 1 &&
               dx_backup(&o, &result, &err) == DX_E_INVALID,
           "another log: %s", err.text);
    EXPECT(dx_dir_remove(to, &err) == DX_OK, "%s", err.text);
}

/* ---- the access table ---- */

static void make_copy(struct dx_backup_options *o, const char *root, char to[], const char *version)
{
    struct dx_backup_result result;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(mkdtemp(to) != NULL, "%s", to);
    *o = (struct dx_backup_options)DX_BACKUP_OPTIONS_INIT;
    o->root = root;
    o->to = to;
    o->version = version;
    o->threads = 1;
    EXPECT(dx_backup(o, &result, &err) == DX_OK, "%s", err.text);
}

static void write_table(const char *root, unsigned generation)
{
    struct dx_error err = DX_ERROR_INIT;
    char path[512];
    char text[200];

    path_of(root, DX_ACCESS_FILE, path);
    (void)snprintf(text, sizeof text,
                   "{\"format\":1,\"generation\":%u,\"updated\":\"2026-11-22T04:00:00Z\","
                   "\"dataset_acl\":[],\"principals\":[]}",
                   generation);
    if (generation == 0)
        EXPECT(unlink(path) == 0, "%s", path);
    else
        EXPECT(dx_file_replace(path, dx_span_str(text), &err) == DX_OK, "%s", err.text);
}

static void bind_table(const char *root, uint64_t least)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_version_manifest(root, &m, &err) == DX_OK, "%s", err.text);
    m.access = least;
    write_manifest(&m, root);
    dx_manifest_release(&m);
}

/* What the manifest says of it goes with it, also where no version is new; one that was lost, or is older
 * than what either manifest says, is refused. */
static void check_access(const struct dx_test_root *r)
{
    static const struct {
        unsigned table, least; /* of the root; 0: none, nothing */
        unsigned there;        /* in place of the copy's table, or none: 0; 1: as it is */
        int want;
        const char *word;
        uint64_t bound; /* of the copy, afterwards */
    } rows[] = {
        { 5, 0, 1, DX_OK, NULL, 0 },
        { 6, 6, 1, DX_OK, NULL, 6 },
        { 6, 6, 1, DX_OK, NULL, 6 },
        { 8, 7, 1, DX_OK, NULL, 7 },
        { 9, 10, 1, DX_E_CORRUPT, "9, but 10 was in force", 7 },
        { 0, 7, 0, DX_E_CORRUPT, "the table was lost", 7 },
        { 6, 0, 0, DX_E_INVALID, "is older than 7", 7 },
        { 7, 0, 0, DX_OK, NULL, 7 },
    };
    struct dx_backup_options o;
    struct dx_backup_result result;
    char to[] = "/tmp/dx-copy-XXXXXX";

    make_copy(&o, r->path, to, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_manifest m = DX_MANIFEST_INIT;
        struct dx_error err = DX_ERROR_INIT;
        char path[512];

        write_table(r->path, rows[i].table);
        bind_table(r->path, rows[i].least);
        path_of(to, DX_ACCESS_FILE, path);
        if (rows[i].there == 0)
            (void)unlink(path);
        EXPECT(dx_backup(&o, &result, &err) == rows[i].want &&
                   (rows[i].word == NULL || strstr(err.text, rows[i].word) != NULL),
               "table %zu: %s", i, err.text);
        EXPECT(dx_version_manifest(to, &m, &err) == DX_OK && m.access == rows[i].bound,
               "table %zu: the copy says %llu", i, (unsigned long long)m.access);
        EXPECT(same_file(r->path, to, DX_ACCESS_FILE) == (rows[i].want == DX_OK),
               "table %zu: the copy's", i);
        dx_manifest_release(&m);
    }
    write_table(r->path, 0);
    EXPECT(dx_dir_remove(to, NULL) == DX_OK, "%s", to);
}

/* ---- numbers of names ---- */

#define ONE_ID "0123456789abcdef0123456789abcdef"
#define OTHER_ID "0123456789abcdef0123456789abcde0"

static void write_numbers(const char *root, const char *id, uint64_t names)
{
    struct dx_domain64_manifest list = { .names = { names, 0, 0, 0 } };
    struct dx_buf text = DX_BUF_INIT(DX_DOMAIN64_MANIFEST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    char path[512];

    memcpy(list.id, id, sizeof list.id);
    path_of(root, DX_NUMBER_FOLDER, path);
    EXPECT(dx_dir_make(path, &err) == DX_OK, "%s", err.text);
    path_of(root, DX_DOMAIN64_MANIFEST_FILE, path);
    EXPECT(dx_domain64_manifest_write(&list, &text, &err) == DX_OK &&
               dx_file_replace(path, dx_span_of(text.data, text.size), &err) == DX_OK,
           "%s", err.text);
    dx_buf_release(&text);
}

/* Those that the copy has are nowhere else, if the root has lost them or has others. */
static void check_numbers(const struct dx_test_root *r)
{
    static const struct {
        const char *id; /* NULL: none */
        uint64_t names;
        int want;
    } rows[] = {
        { ONE_ID, 7, DX_OK },        { ONE_ID, 7, DX_OK },           { ONE_ID, 9, DX_OK },
        { ONE_ID, 8, DX_E_INVALID }, { OTHER_ID, 20, DX_E_INVALID }, { NULL, 0, DX_E_INVALID },
        { ONE_ID, 9, DX_OK }
    };
    struct dx_backup_options o = DX_BACKUP_OPTIONS_INIT;
    struct dx_backup_result result;
    struct dx_error err = DX_ERROR_INIT;
    char to[] = "/tmp/dx-copy-XXXXXX";
    char kept[512];
    char path[512];

    EXPECT(mkdtemp(to) != NULL, "%s", to);
    o.root = r->path;
    o.to = to;
    o.threads = 1;
    path_of(to, DX_DOMAIN64_MANIFEST_FILE, kept);
    path_of(r->path, DX_DOMAIN64_MANIFEST_FILE, path);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].id == NULL)
            EXPECT(unlink(path) == 0, "%s", path);
        else
            write_numbers(r->path, rows[i].id, rows[i].names);
        EXPECT(dx_backup(&o, &result, &err) == rows[i].want, "numbers %zu: %s", i, err.text);
        EXPECT(access(kept, R_OK) == 0 &&
                   same_file(r->path, to, DX_DOMAIN64_MANIFEST_FILE) == (rows[i].want == DX_OK),
               "numbers %zu: the copy has others", i);
    }
    EXPECT(unlink(path) == 0 && dx_dir_remove(to, &err) == DX_OK, "%s", err.text);
}

/* ---- datasets ---- */

static void change_datasets(const char *root, const char *add, uint32_t remove)
{
    struct dx_dataset_registry *registry = NULL;
    struct dx_error err = DX_ERROR_INIT;
    uint32_t id;

    EXPECT(root_registry(&registry, root, &err) == DX_OK, "%s", err.text);
    if (add != NULL)
        EXPECT(dx_dataset_registry_add(registry, dx_span_str(add), &id, &err) == DX_OK, "%s",
               err.text);
    if (remove != 0)
        EXPECT(dx_dataset_registry_remove(registry, remove, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_dataset_registry_save(registry, root, &err) == DX_OK, "%s", err.text);
    dx_dataset_registry_free(&registry);
}

/* A registry of before, which would name a dataset no more, give its id again, or have one back that was removed. */
static void check_datasets(const struct dx_test_root *r)
{
    static const struct {
        const char *add;
        uint32_t remove;
    } changes[] = { { "more", 0 }, { NULL, 4 } };
    struct dx_backup_options o;
    struct dx_backup_result result;
    struct dx_error err = DX_ERROR_INIT;
    char to[] = "/tmp/dx-copy-XXXXXX";
    char text[512];

    make_copy(&o, r->path, to, NULL);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        (void)snprintf(text, sizeof text, "cp '%s/registry.json' '%s/before'", r->path, to);
        EXPECT(system(text) == 0, "%s", text);
        change_datasets(r->path, changes[i].add, changes[i].remove);
        EXPECT(dx_backup(&o, &result, &err) == DX_OK, "%s", err.text);
        (void)snprintf(text, sizeof text,
                       "cd '%s' && mv registry.json after && mv '%s/before' registry.json", r->path,
                       to);
        EXPECT(system(text) == 0, "%s", text);
        EXPECT(dx_backup(&o, &result, &err) == DX_E_INVALID, "datasets of before %zu: %s", i,
               err.text);
        (void)snprintf(text, sizeof text, "cd '%s' && mv after registry.json", r->path);
        EXPECT(system(text) == 0 && same_file(r->path, to, DX_DATASET_REGISTRY_FILE),
               "datasets %zu: the copy has others", i);
    }
    EXPECT(dx_backup(&o, &result, &err) == DX_OK && dx_dir_remove(to, &err) == DX_OK, "%s",
           err.text);
}

/* ---- a collector of the copy ---- */

static void mark_second(const char *to, enum dx_version_state state)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest_version *v;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_version_manifest(to, &m, &err) == DX_OK, "%s", err.text);
    v = (struct dx_manifest_version *)(uintptr_t)dx_manifest_find(&m, SECOND_VERSION);
    v->state = state;
    v->condemned_us = v->published_us;
    write_manifest(&m, to);
    dx_manifest_release(&m);
}

/* What its collector has begun goes on: a backup of another version does not list it again, and one of
 * the same version waits until its objects are gone. */
static void check_marks(const struct dx_test_root *r)
{
    static const enum dx_version_state states[] = { DX_VERSION_CONDEMNED, DX_VERSION_DROPPED };

    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        struct dx_backup_options o;
        struct dx_backup_result result;
        struct dx_manifest m = DX_MANIFEST_INIT;
        struct dx_error err = DX_ERROR_INIT;
        char to[] = "/tmp/dx-copy-XXXXXX";
        const struct dx_manifest_version *v;

        make_copy(&o, r->path, to, SECOND_VERSION);
        o.version = r->version;
        EXPECT(dx_backup(&o, &result, &err) == DX_OK, "%s", err.text);
        mark_second(to, states[i]);
        o.version = THIRD_VERSION;
        EXPECT(dx_backup(&o, &result, &err) == DX_OK, "%s", err.text);
        EXPECT(dx_version_manifest(to, &m, &err) == DX_OK, "%s", err.text);
        v = dx_manifest_find(&m, SECOND_VERSION);
        EXPECT(m.version_count == 3 && v != NULL && v->state == states[i] &&
                   v->condemned_us == v->published_us,
               "%s is %s after the backup of another version", SECOND_VERSION,
               v == NULL ? "gone" : dx_version_state_name(v->state));
        dx_manifest_release(&m);
        o.version = SECOND_VERSION;
        EXPECT(dx_backup(&o, &result, &err) == (i == 0 ? DX_OK : DX_E_BUSY), "%s: %s",
               dx_version_state_name(states[i]), err.text);
        EXPECT(dx_dir_remove(to, &err) == DX_OK, "%s", err.text);
    }
}

static const char *copy_root;
static unsigned copied, collect_at;

static bool collect_now(void)
{
    struct dx_gc_options o = DX_GC_OPTIONS_INIT;
    struct dx_gc_result result;
    struct dx_error err = DX_ERROR_INIT;

    o.root = copy_root;
    o.remove = true;
    if (++copied == collect_at)
        EXPECT(dx_gc(&o, &result, &err) == DX_OK, "%s", err.text);
    return false;
}

static void check_files(const char *to, unsigned at)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_version_manifest(to, &m, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; i < m.version_count; i++)
        for (size_t k = 0; k < dx_manifest_object_count(&m.versions[i]); k++) {
            char object[DX_MANIFEST_FILE_PATH];
            char path[512];

            dx_manifest_file_path(&m.versions[i], dx_manifest_object(&m.versions[i], k), object);
            path_of(to, object, path);
            EXPECT(access(path, R_OK) == 0, "a collector beside object %u: %s is gone", at, object);
        }
    dx_manifest_release(&m);
}

/* A version that is not above the copy's sequence stays while it is copied. */
static void check_beside(const struct dx_test_root *r)
{
    for (unsigned at = 1; at < 40; at += 6) {
        struct dx_backup_options o;
        struct dx_backup_result result;
        struct dx_error err = DX_ERROR_INIT;
        char to[] = "/tmp/dx-copy-XXXXXX";

        make_copy(&o, r->path, to, THIRD_VERSION);
        o.version = SECOND_VERSION;
        o.stopped = collect_now;
        copy_root = to;
        copied = 0;
        collect_at = at;
        EXPECT(dx_backup(&o, &result, &err) == DX_OK, "%s", err.text);
        check_files(to, at);
        EXPECT(dx_dir_remove(to, &err) == DX_OK, "%s", err.text);
    }
}

/* A backup of another root is not written over: that root is named. */
static void check_other(const struct dx_test_root *r)
{
    struct dx_backup_options o = DX_BACKUP_OPTIONS_INIT;
    struct dx_backup_result result;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root other;
    char to[] = "/tmp/dx-copy-XXXXXX";
    char want[500];

    EXPECT(mkdtemp(to) != NULL, "%s", to);
    dx_test_root_make(&other, 5, 1);
    o.root = r->path;
    o.to = to;
    o.version = SECOND_VERSION;
    o.threads = 1;
    EXPECT(dx_backup(&o, &result, &err) == DX_OK, "%s", err.text);
    o.root = other.path;
    o.version = NULL;
    (void)snprintf(want, sizeof want,
                   "%s is a backup of %s; if %s is that root under another name, say --force", to,
                   r->path, other.path);
    EXPECT(dx_backup(&o, &result, &err) == DX_E_INVALID && strcmp(err.text, want) == 0, "%s",
           err.text);
    dx_test_root_remove(&other);
    EXPECT(dx_dir_remove(to, &err) == DX_OK, "%s", err.text);
}

int main(void)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;

    dx_test_root_make(&r, 20, 3);
    EXPECT(dx_version_manifest(r.path, &m, &err) == DX_OK, "%s", err.text);
    add_version(&m, r.path, SECOND_VERSION, false);
    add_version(&m, r.path, THIRD_VERSION, true);
    write_manifest(&m, r.path);
    check_copy(&m, &r, NULL, 2);
    check_copy(&m, &r, THIRD_VERSION, 2);
    check_copy(&m, &r, SECOND_VERSION, 1);
    check_other(&r);
    check_datasets(&r);
    check_numbers(&r);
    check_access(&r);
    check_marks(&r);
    check_beside(&r);
    check_suppressions(&r);
    dx_manifest_release(&m);
    dx_test_root_remove(&r);
    return failures > 0;
}
