/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/check/doctor.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crypto/certificate.h"
#include "base/log.h"
#include "base/path.h"
#include "builder/lake/lake_absent.h"
#include "builder/lake/listed_files.h"
#include "builder/lake/suffix_list.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"
#include "format/root/registry_json.h"
#include "format/version/manifest.h"
#include "loader/followed/access.h"
#include "loader/followed/suppressions_live.h"
#include "loader/memory_room.h"

#define MIB (UINT64_C(1) << 20)
#define DESCRIPTORS_FEW 4096 /* a connection takes one, a connection to a store another */
#define MEMORY_LITTLE (512 * MIB)
#define DISK_SHARE_LITTLE 20 /* one part in so many */
#define MAPPINGS_FEW 65530   /* the kernel's default */
#define CLOCK_APART_US (INT64_C(120) * 1000000)
#define PSL_OLD_DAYS 365
#define DAY_US (INT64_C(86400) * 1000000)
#define CERTIFICATE_SOON_DAYS 14
#define SEQUENCES_FEW 900000 /* of DX_VERSION_SEQUENCE_MAX: at one a minute, two months are left */

struct examination {
    const struct dx_doctor_ask *ask;
    dx_finding_take *take;
    void *ctx;
    size_t faults;
};

static void report(struct examination *e, enum dx_finding_level level, const char *check,
                   const char *advice, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static void report(struct examination *e, enum dx_finding_level level, const char *check,
                   const char *advice, const char *fmt, ...)
{
    char text[DX_FINDING_TEXT];
    struct dx_finding f = { level, check, text, level == DX_FINDING_SOUND ? NULL : advice };
    va_list arguments;

    va_start(arguments, fmt);
    (void)vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    e->faults += level == DX_FINDING_FAULT;
    e->take(e->ctx, &f);
}

static void report_error(struct examination *e, const char *check, const char *advice,
                         const struct dx_error *err)
{
    report(e, DX_FINDING_FAULT, check, advice, "%s", err->text);
}

/* ---- this machine ---- */

static void examine_limits(struct examination *e)
{
    struct rlimit files = { 0, 0 };
    struct rlimit size = { 0, 0 };
    bool few;

    (void)getrlimit(RLIMIT_NOFILE, &files);
    few = files.rlim_cur != RLIM_INFINITY && files.rlim_cur < DESCRIPTORS_FEW;
    report(e, few ? DX_FINDING_WARNING : DX_FINDING_SOUND, "descriptors",
           "raise the limit (ulimit -n, LimitNOFILE= of the unit): each connection of a server "
           "takes one",
           "%" PRIu64 " file descriptors, at most %" PRIu64, (uint64_t)files.rlim_cur,
           (uint64_t)files.rlim_max);
    (void)getrlimit(RLIMIT_FSIZE, &size);
    report(e, size.rlim_cur == RLIM_INFINITY ? DX_FINDING_SOUND : DX_FINDING_WARNING, "file size",
           "remove the limit (ulimit -f unlimited): a larger index file cannot be written",
           size.rlim_cur == RLIM_INFINITY ? "no limit" : "files of at most %" PRIu64 " bytes",
           (uint64_t)size.rlim_cur);
}

/* The number in a file of one line, as in /proc/sys; false: none. */
static bool read_number(const char *path, uint64_t *n)
{
    FILE *f = fopen(path, "re");
    bool found = f != NULL && fscanf(f, "%" SCNu64, n) == 1;

    if (f != NULL)
        (void)fclose(f);
    return found;
}

static void examine_memory(struct examination *e)
{
    bool capped;
    uint64_t available = dx_memory_room("", &capped);

    if (available == UINT64_MAX) {
        report(e, DX_FINDING_WARNING, "memory", "mount /proc", "/proc/meminfo cannot be read");
        return;
    }
    report(e, available < MEMORY_LITTLE ? DX_FINDING_WARNING : DX_FINDING_SOUND, "memory",
           "give ingest and publish a smaller --memory, or the machine more",
           "%" PRIu64 " MiB available%s", available / MIB,
           capped ? " below the limit of the control group" : "");
}

static void examine_kernel(struct examination *e)
{
    uint64_t mappings = 0;
    long landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    bool seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
    bool few;

    report(e, landlock > 0 && seccomp ? DX_FINDING_SOUND : DX_FINDING_WARNING, "sandbox",
           "a server runs with less isolation here: --sandbox yes would refuse to start; use a "
           "kernel with "
           "landlock and seccomp",
           "landlock %s, seccomp %s", landlock > 0 ? "available" : "missing",
           seccomp ? "available" : "missing");
    few = read_number("/proc/sys/vm/max_map_count", &mappings) && mappings < MAPPINGS_FEW;
    report(e, few ? DX_FINDING_WARNING : DX_FINDING_SOUND, "mappings",
           "raise vm.max_map_count to 65530: a server maps each index file of the versions it has "
           "open",
           "%" PRIu64 " memory mappings for each process", mappings);
}

static void examine_disk(struct examination *e, const char *check, const char *folder)
{
    struct statvfs s;
    uint64_t free_bytes, all;

    if (statvfs(folder, &s) != 0) {
        report(e, DX_FINDING_FAULT, check, "create the folder, or name another one", "%s: %s",
               folder, strerror(errno));
        return;
    }
    free_bytes = (uint64_t)s.f_bavail * s.f_frsize;
    all = (uint64_t)s.f_blocks * s.f_frsize;
    report(e, free_bytes < all / DISK_SHARE_LITTLE ? DX_FINDING_WARNING : DX_FINDING_SOUND, check,
           "free some space: run 'domaindex gc', or enlarge the disk",
           "%s: %" PRIu64 " of %" PRIu64 " MiB free", folder, free_bytes / MIB, all / MIB);
    if (s.f_files > 0 && s.f_favail < s.f_files / DISK_SHARE_LITTLE)
        report(e, DX_FINDING_WARNING, check,
               "run 'domaindex compact' and 'domaindex gc': they leave fewer files",
               "%s: %" PRIu64 " of %" PRIu64 " inodes free", folder, (uint64_t)s.f_favail,
               (uint64_t)s.f_files);
}

static void examine_certificate(struct examination *e)
{
    const struct dx_doctor_ask *ask = e->ask;
    struct dx_error err = DX_ERROR_INIT;
    int64_t now_s = ask->now_us / 1000000;
    struct dx_certificate c;
    int64_t days;

    if (dx_certificate_read(&c, ask->tls_certificate, ask->tls_key, &err) < 0) {
        report_error(
            e, "certificate",
            "domaindexd does not start with it, and does not take it in place of another one",
            &err);
        return;
    }
    days = (c.not_after_s - now_s) / 86400;
    if (c.not_after_s <= now_s || c.not_before_s > now_s)
        report(e, DX_FINDING_FAULT, "certificate",
               "clients refuse it: renew it, and look whether the clock is right", "%s: %s",
               ask->tls_certificate, c.not_before_s > now_s ? "is not valid yet" : "has expired");
    else
        report(e, days < CERTIFICATE_SOON_DAYS ? DX_FINDING_WARNING : DX_FINDING_SOUND,
               "certificate", "renew it: domaindexd reads the new one by itself",
               "%s: expires in %" PRId64 " days", ask->tls_certificate, days);
    if (c.key_is_open)
        report(e, DX_FINDING_FAULT, "key",
               "chmod 600 it, and replace it: a user that has read it can pose as this server",
               "%s: everybody on this machine can read it",
               ask->tls_key == NULL ? ask->tls_certificate : ask->tls_key);
    dx_certificate_release(&c);
}

/* ---- a root ---- */

static void examine_rights(struct examination *e, const char *root)
{
    bool write = access(root, W_OK) == 0;

    report(e, DX_FINDING_SOUND, "rights", NULL, "%s: %s", root,
           write ? "readable and writable"
                 : "readable; ingest, publish and gc need the right to write");
}

static void examine_version_files(struct examination *e, const char *root,
                                  const struct dx_manifest_version *v)
{
    for (size_t i = 0; i < dx_manifest_object_count(v); i++) {
        const struct dx_manifest_file *object = dx_manifest_object(v, i);
        char name[DX_MANIFEST_FILE_PATH];
        char path[PATH_MAX];
        struct dx_error err = DX_ERROR_INIT;
        struct stat s;
        int failed;

        dx_manifest_file_path(v, object, name);
        if (dx_path_format(path, sizeof path, &err, "%s/%s", root, name) < 0)
            report_error(e, "index files", NULL, &err);
        else if ((failed = stat(path, &s) != 0 ? errno : 0) != 0 ||
                 (uint64_t)s.st_size != object->size) {
            report(e, DX_FINDING_FAULT, "index files",
                   "run 'domaindex verify'; then 'domaindex rollback' to a sound version, or "
                   "'domaindex publish --full'",
                   "%s: the manifest says %" PRIu64 " bytes, and it %s%s", path, object->size,
                   failed != 0 ? "cannot be asked for: " : "has another size",
                   failed != 0 ? strerror(failed) : "");
            return;
        }
    }
    report(e, DX_FINDING_SOUND, "index files", NULL,
           "version %s: the sizes of %zu file%s are right", v->version, v->file_count,
           dx_plural(v->file_count));
}

/* ---- lake files ---- */

struct lake {
    const struct dx_manifest_version *version;
    struct dx_lake_list listed;   /* what is there, sorted */
    struct dx_lake_absent absent; /* what a listing lacks: it may be short */
    struct dx_left_out left;
    size_t count, bad;
    char first[DX_FINDING_TEXT / 2]; /* of those that are bad */
};

static void note_bad(struct lake *l, const char *path, const char *why)
{
    if (l->bad++ == 0)
        (void)snprintf(l->first, sizeof l->first, "%.600s %s", path, why);
}

static int look_for_file(void *ctx, const struct dx_files_row *row, struct dx_error *err)
{
    struct lake *l = ctx;
    struct dx_lake_entry key = { .dataset_id = row->dataset_id };
    const struct dx_lake_entry *found;
    int rc = DX_OK;

    if (asprintf(&key.path, "%s%.*s", l->version->parquet_root, (int)row->path.size,
                 (const char *)row->path.data) < 0)
        return dx_no_memory(err, "lake files");
    found = l->listed.count == 0 ? NULL
                                 : bsearch(&key, l->listed.file, l->listed.count,
                                           sizeof *l->listed.file, dx_lake_entry_compare);
    l->count++;
    if (found == NULL)
        rc = dx_lake_list_add(&l->absent.list, &l->left, key.path, row->size, "", err);
    else if (found->size != row->size)
        note_bad(l, key.path, "has another size");
    free(key.path);
    return rc < 0 ? rc : DX_OK;
}

static int look_at_lake(struct lake *l, const struct dx_root *r, const struct dx_manifest *m,
                        struct dx_error *err)
{
    int rc = dx_lake_list_root(&l->listed, &l->left, r, err);

    if (rc == DX_OK)
        rc = dx_listed_files_all(r->source, NULL, m, l->version, look_for_file, l, err);
    if (rc == DX_OK && l->absent.list.count > 0)
        rc = dx_lake_absent_look(&l->absent, err);
    for (size_t i = 0; rc == DX_OK && i < l->absent.list.count; i++)
        if (!l->absent.there[i])
            note_bad(l, l->absent.list.file[i].path, "is not there");
    return rc;
}

/* Those that the version has; which it lacks by permission, its entry says. */
static void examine_lake(struct examination *e, const struct dx_root *r,
                         const struct dx_manifest *m, const struct dx_manifest_version *v)
{
    struct lake l = { .version = v, .absent = { .root = r }, .left = DX_LEFT_OUT_INIT };
    struct dx_error err = DX_ERROR_INIT;

    if (!r->in_place && r->store == NULL)
        return; /* http:// has no listings */
    if (look_at_lake(&l, r, m, &err) < 0)
        report_error(e, "lake files", "run 'domaindex verify'", &err);
    else if (l.bad > 0)
        report(e, DX_FINDING_FAULT, "lake files",
               "restore them: publish refuses without them ('domaindex publish --allow-missing "
               "DATASET' goes on), and answers that need their rows fail; 'domaindex verify' names "
               "them",
               "of %zu file%s of version %s %zu cannot be used; the first: %s", l.count,
               dx_plural(l.count), v->version, l.bad, l.first);
    else
        report(e, DX_FINDING_SOUND, "lake files", NULL, "version %s: %zu file%s, all there",
               v->version, l.count, dx_plural(l.count));
    dx_lake_list_release(&l.listed);
    dx_lake_absent_release(&l.absent);
    dx_left_out_release(&l.left);
}

/* ---- what a server reads beside the version, and does not start without ---- */

static int open_suppressions(const char *root, const struct dx_source_options *source,
                             const struct dx_manifest *m, struct dx_error *err)
{
    struct dx_suppressions_live *live = NULL;
    int rc = dx_suppressions_live_open(&live, root, source, DX_SUPPRESSIONS_LIVE_WAIT, err);

    if (rc == DX_OK)
        rc = dx_suppressions_live_check(live, m, err);
    dx_suppressions_live_close(&live);
    return rc;
}

static int open_access(const char *root, const struct dx_source_options *source,
                       const struct dx_manifest *m, struct dx_error *err)
{
    _Atomic uint64_t least = m->access;
    const struct dx_access_where where = { .root = root, .source = source, .least = &least };

    return dx_access_check(&where, err);
}

static void report_read(struct examination *e, int rc, const char *check, const char *advice,
                        const struct dx_error *err)
{
    if (rc < 0)
        report_error(e, check, advice, err);
    else
        report(e, DX_FINDING_SOUND, check, NULL, "can be read");
}

/* Without one a publish takes that of its machine. */
static void examine_suffix_list(struct examination *e, const struct dx_root *r)
{
    static const char advice[] = "restore psl.dat from a backup: rows that another list reduces "
                                 "would put a host under two domains";
    struct dx_buf text = DX_SUFFIX_LIST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_suffix_list_of_lake(r, &text, &err);

    if (rc < 0)
        report_error(e, "suffix list", advice, &err);
    else
        report(e, rc == 0 ? DX_FINDING_WARNING : DX_FINDING_SOUND, "suffix list", advice,
               rc == 0 ? DX_LAKE_PSL ": not found" : "can be read");
    dx_buf_release(&text);
}

/* m was read before them. */
static void examine_companions(struct examination *e, const struct dx_root *r,
                               const struct dx_manifest *m)
{
    const char *root = e->ask->root;
    struct dx_source_options source = DX_SOURCE_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_root_options(&source, &err);

    if (rc < 0) {
        report_error(e, "root", "correct the environment", &err);
        return;
    }
    report_read(e, open_suppressions(root, r->in_place ? NULL : &source, m, &err), "suppressions",
                "servers do not start with it: restore index/suppressions.log from a backup; if "
                "what is there is all that there is to be, 'domaindex suppress accept'",
                &err);
    report_read(e, open_access(root, r->in_place ? NULL : &source, m, &err), "access",
                "servers do not start with it: restore index/access.json from a backup; if what is "
                "there is what shall be, 'domaindex access accept'",
                &err);
    examine_suffix_list(e, r);
}

static void examine_versions(struct examination *e, const struct dx_root *r,
                             const struct dx_manifest *m)
{
    const struct dx_manifest_version *v = dx_manifest_current(m);

    if (v == NULL) {
        report(e, DX_FINDING_FAULT, "version", "run 'domaindex publish'",
               "%s: the manifest has no current version", e->ask->root);
        return;
    }
    report(e, DX_FINDING_SOUND, "version", NULL,
           "%s is current: %" PRIu64 " domain%s in %" PRIu64 " dataset%s, %" PRIu64
           " row%s; versions listed: %zu",
           v->version, v->domains, dx_plural(v->domains), v->datasets, dx_plural(v->datasets),
           v->rows - v->pages, dx_plural(v->rows - v->pages), m->version_count);
    report(e,
           v->published_us > e->ask->now_us + CLOCK_APART_US ? DX_FINDING_WARNING
                                                             : DX_FINDING_SOUND,
           "clock",
           "set the clock of this machine (NTP): requests to stores are signed with the time, and "
           "gc and leases go by it",
           v->published_us > e->ask->now_us + CLOCK_APART_US
               ? "version %s was published in the future of this machine's clock"
               : "version %s was not published in its future",
           v->version);
    report(
        e, m->sequence >= SEQUENCES_FEW ? DX_FINDING_WARNING : DX_FINDING_SOUND, "numbers",
        "begin a new root before they end: ingest and publish there, and move the servers to it; "
        "to publish less often makes these last longer",
        "%" PRIu64 " of %d version numbers are used", m->sequence, DX_VERSION_SEQUENCE_MAX);
    if (v->missing_files > 0)
        report(e, DX_FINDING_WARNING, "lake files",
               "bring them back and publish; 'domaindex verify' names them",
               "version %s lacks %" PRIu64 " missing lake file%s", v->version, v->missing_files,
               dx_plural(v->missing_files));
    if (r->in_place)
        examine_version_files(e, e->ask->root, v);
    examine_lake(e, r, m, v);
}

static void examine_registry(struct examination *e, const struct dx_root *r)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    struct dx_registry registry = DX_REGISTRY_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char etag[DX_SOURCE_ETAG];
    int rc = dx_root_get(r, DX_DATASET_REGISTRY_FILE, DX_REGISTRY_MAX, &text, etag, &err);

    if (rc == 1)
        rc = dx_registry_parse_root(&registry, dx_span_of(text.data, text.size),
                                    DX_DATASET_REGISTRY_FILE, &err);
    else if (rc == 0)
        rc = dx_fail(&err, DX_E_NOT_FOUND, DX_DATASET_REGISTRY_FILE ": not found");
    if (rc < 0)
        report_error(
            e, "registry",
            rc == DX_E_NOT_FOUND
                ? "a new root has none before its first 'domaindex ingest'; of another "
                  "one restore registry.json from a backup: names of datasets are nowhere "
                  "else"
                : "restore registry.json from a backup: names of datasets are nowhere else",
            &err);
    else
        report(e, DX_FINDING_SOUND, "registry", NULL, "%zu dataset%s", registry.count,
               dx_plural(registry.count));
    dx_registry_release(&registry);
    dx_buf_release(&text);
}

/* Its conditions, which two publishers at once rely on, and its clock. */
static void examine_store(struct examination *e)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_store *store = NULL;
    struct dx_store_stamp stamp = { .now_us = 0 };
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_root_options(&options, &err);

    if (rc == DX_OK)
        rc = dx_store_open(&store, e->ask->root, &options, &err);
    if (rc == DX_OK)
        rc = dx_store_probe(store, &err);
    if (rc == DX_OK)
        rc = dx_store_read(store, DX_MANIFEST_FILE, 0, &text, &stamp, &err) < 0 ? err.code : DX_OK;
    if (rc < 0)
        report_error(e, "store",
                     "give the credentials the right to get, put, list and remove; "
                     "docs/OPERATIONS.md has stores that work",
                     &err);
    else {
        int64_t apart = stamp.now_us - e->ask->now_us;

        report(e, DX_FINDING_SOUND, "store", NULL, "keeps the conditions of writes");
        report(e,
               apart > CLOCK_APART_US || apart < -CLOCK_APART_US ? DX_FINDING_WARNING
                                                                 : DX_FINDING_SOUND,
               "clock",
               "set the clock of this machine (NTP): stores refuse requests signed minutes apart",
               "%" PRId64 " s from the store's", apart / 1000000);
    }
    dx_buf_release(&text);
    dx_store_close(&store);
}

static void examine_root(struct examination *e)
{
    struct dx_root r = DX_ROOT_INIT;
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_error no_manifest = DX_ERROR_INIT;
    int rc = dx_root_open(&r, e->ask->root, DX_ROOT_LIST, &err);

    if (rc < 0)
        report_error(e, "root", "name the root that 'domaindex ingest' writes to", &err);
    else {
        if (r.in_place) {
            examine_rights(e, e->ask->root);
            examine_disk(e, "disk", e->ask->root);
        }
        examine_registry(e, &r);
        rc = dx_root_manifest(e->ask->root, &m, &no_manifest);
        examine_companions(e, &r, &m);
        if (rc < 0)
            report_error(e, "manifest",
                         "run 'domaindex ingest' and 'domaindex publish', or restore "
                         "index/manifest.json from a backup",
                         &no_manifest);
        else
            examine_versions(e, &r, &m);
        if (e->ask->write)
            examine_store(e);
    }
    dx_manifest_release(&m);
    dx_root_close(&r);
}

size_t dx_doctor_examine(const struct dx_doctor_ask *ask, dx_finding_take *take, void *ctx)
{
    struct examination e = { ask, take, ctx, 0 };

    examine_limits(&e);
    examine_memory(&e);
    examine_kernel(&e);
    if (ask->cache_dir != NULL)
        examine_disk(&e, "cache", ask->cache_dir);
    if (ask->tls_certificate != NULL)
        examine_certificate(&e);
    if (ask->root != NULL)
        examine_root(&e);
    return e.faults;
}

const char *dx_finding_level_name(enum dx_finding_level level)
{
    static const char *const names[] = { "ok", "warning", "fault" };

    assert(level <= DX_FINDING_FAULT);
    return names[level];
}
