/* SPDX-License-Identifier: Apache-2.0
 * The parts of publishing on object storage, tried on a directory through the same store and
 * source: the same bytes as an ordinary publish, names that are taken, versions that died, files of
 * the lake that are fetched within a room, work folders of the dead, and what the probe remembers,
 * and objects that were restored. What needs two publishers or a network is in
 * tests/e2e/publish_s3.py.
 */
#include "builder/publish/publish.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/publish/publish_lake.h"
#include "builder/publish/publish_listing.h"
#include "builder/publish/publish_upload.h"
#include "builder/root/parallel.h"
#include "builder/root/root_probe.h"
#include "builder/root/work_folder.h"
#include "builder/scan/index_lake.h"
#include "builder/scan/index_scan.h"
#include "builder/scan/scan_faults.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define NOW_US 1732184400000000 /* 2024-11-21T10:20:00Z */

static unsigned failures;
static char base[] = "/tmp/domaindex-test-remote-XXXXXX";

/* Each % of the command stands for the next of a and b, in quotes. */
static void sh(const char *text, const char *a, const char *b)
{
    struct dx_buf command = DX_BUF_INIT(4096);

    for (; *text != '\0'; text++) {
        if (*text != '%') {
            dx_buf_u8(&command, (uint8_t)*text);
            continue;
        }
        dx_buf_fmt(&command, "'%s'", a);
        a = b;
    }
    dx_buf_u8(&command, '\0');
    if (command.failed || system((const char *)command.data) != 0)
        abort();
    dx_buf_release(&command);
}

static uint64_t pack_max = 1; /* each file is an object */
static unsigned parts_max;    /* 0: all is merged into one */

static int publish(const char *root, struct dx_publish_result *r, struct dx_error *err)
{
    struct dx_publish_options o = { .root = root,
                                    .work_dir = base,
                                    .through_store = true,
                                    .memory = DX_PUBLISH_MEMORY_MIN,
                                    .threads = 2,
                                    .pack_max = pack_max,
                                    .parts_max = parts_max,
                                    .merge_max = 1, /* with parts_max no older part is merged */
                                    .now_us = NOW_US };

    return dx_publish(&o, r, err);
}

static unsigned entries_of(const char *folder)
{
    char command[512];
    unsigned n = 999;
    FILE *f;

    (void)snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    f = popen(command, "r");
    if (f == NULL || fscanf(f, "%u", &n) != 1)
        n = 999;
    if (f != NULL)
        (void)pclose(f);
    return n;
}

/* The files of the version are those of the same lake's in a directory. */
static void test_same_bytes(const struct dx_test_root *lake, const char *root)
{
    struct dx_manifest want = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_result r;
    const struct dx_manifest_version *a;
    const struct dx_manifest_version *b;
    unsigned before = entries_of(base);

    if (dx_version_manifest(lake->path, &want, &err) < 0)
        abort();
    if (publish(root, &r, &err) != DX_OK) {
        EXPECT(false, "publish: %s", err.text);
        return;
    }
    a = dx_manifest_current(&want);
    b = dx_manifest_current(&r.manifest);
    EXPECT(strcmp(r.version, "000001-20241121T102000Z") == 0, "%s", r.version);
    EXPECT(memcmp(&a->build, &b->build, sizeof a->build) == 0, "another build id");
    EXPECT(b->file_count == a->file_count + 1, "%zu files, %zu", b->file_count, a->file_count);
    EXPECT(dx_manifest_file(b, DX_FILE_ETAGS) != NULL, "no " DX_FILE_ETAGS);
    for (size_t i = 0; i < a->file_count; i++) {
        const struct dx_manifest_file *f = dx_manifest_file(b, a->files[i].name);

        EXPECT(f != NULL && f->size == a->files[i].size &&
                   dx_hash128_equal(&f->hash, &a->files[i].hash),
               "%s differs", a->files[i].name);
    }
    EXPECT(entries_of(base) == before + 0, "the work folder stays");
    dx_publish_result_release(&r);
    EXPECT(publish(root, &r, &err) == DX_OK && r.unchanged, "again: %s", err.text);
    dx_publish_result_release(&r);
    dx_manifest_release(&want);
}

/* The same bytes under other ETags are published again, once: servers refuse what is not the object
 * that the version was made with. */
static void test_restored(const char *root)
{
    static const char *const rows[] = {
        "f=$(find %/urls -name '*.parquet' | sort | head -1) && cp $f $f.new && mv $f.new $f",
        "f=$(find %/index -name '*.dat.zst' | sort | tail -1) && cp $f $f.new && mv $f.new $f",
        "rm $(ls -d %/index/0* | tail -1)/etags.tsv.zst",
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_publish_result r;

        sh(rows[i], root, root);
        EXPECT(publish(root, &r, &err) == DX_OK && !r.unchanged && r.other_etags == 1,
               "row %zu: %llu differ: %s", i, (unsigned long long)r.other_etags, err.text);
        EXPECT(r.manifest.version_count == i + 2, "row %zu: %zu versions", i,
               r.manifest.version_count);
        dx_publish_result_release(&r);
        EXPECT(publish(root, &r, &err) == DX_OK && r.unchanged, "row %zu, again: %s", i, err.text);
        dx_publish_result_release(&r);
    }
}

/* Servers read the objects of older parts too, with the ETags that those were published with. */
static void test_restored_part(const char *root)
{
    static const struct {
        const char *restore, *object;
    } rows[] = {
        { "f=%/urls/dataset_id=1/domain_prefix=00-ff/part-00000.parquet && cp $f $f.new && mv "
          "$f.new "
          "$f",
          "urls/dataset_id=1/domain_prefix=00-ff/part-00000.parquet" },
        { "f=$(find %/index/000001-* -name '*.dat.zst' | sort | tail -1) && cp $f $f.new && mv "
          "$f.new $f",
          "index/000001-" },
    };

    parts_max = 8;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_publish_result r;

        sh("rm -rf %/index && rm -f %/urls/dataset_id=1/domain_prefix=00-ff/part-00007.parquet",
           root, root);
        EXPECT(publish(root, &r, &err) == DX_OK, "row %zu: %s", i, err.text);
        dx_publish_result_release(&r);
        dx_test_root_again(root, 7);
        EXPECT(publish(root, &r, &err) == DX_OK &&
                   dx_manifest_current(&r.manifest)->part_count == 1,
               "row %zu: no older part: %s", i, err.text);
        dx_publish_result_release(&r);
        sh(rows[i].restore, root, root);
        EXPECT(publish(root, &r, &err) == DX_OK && !r.unchanged && r.other_etags == 1 &&
                   strncmp(r.other_etag, rows[i].object, strlen(rows[i].object)) == 0,
               "row %zu: %llu differ: %s: %s", i, (unsigned long long)r.other_etags, r.other_etag,
               err.text);
        dx_publish_result_release(&r);
        EXPECT(publish(root, &r, &err) == DX_OK && r.unchanged, "row %zu, again: %s", i, err.text);
        dx_publish_result_release(&r);
    }
    sh("rm %/urls/dataset_id=1/domain_prefix=00-ff/part-00007.parquet", root, "");
    parts_max = 0;
}

/* A pack is one object, known by its hash: with another ETag it is as good, but it must be there. */
static void test_restored_pack(const char *root)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_result r;

    sh("rm -rf %/index", root, "");
    pack_max = 0;
    EXPECT(publish(root, &r, &err) == DX_OK &&
               dx_manifest_object_count(dx_manifest_current(&r.manifest)) == 1,
           "small, and no pack: %s", err.text);
    dx_publish_result_release(&r);
    sh("f=$(find %/index -name part.pack) && cp $f $f.new && mv $f.new $f", root, "");
    EXPECT(publish(root, &r, &err) == DX_OK && r.unchanged, "replaced by its copy: %s", err.text);
    dx_publish_result_release(&r);
    sh("rm $(find %/index -name part.pack)", root, "");
    EXPECT(publish(root, &r, &err) == DX_OK && !r.unchanged && r.other_etags == 1,
           "missing: %llu differ: %s", (unsigned long long)r.other_etags, err.text);
    dx_publish_result_release(&r);
    pack_max = 1;
}

/* A name that is taken, and a version that was left behind long ago. */
static void test_names(const char *root)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_result r;
    struct dx_store *store = NULL;
    char path[300];

    sh("rm -rf %/index && mkdir -p %/index", root, root);
    if (dx_store_open_local(&store, root, &err) < 0)
        abort();
    EXPECT(dx_publish_upload_claim(store, "000001-20241121T102000Z", &err) == DX_OK, "%s",
           err.text);
    EXPECT(dx_publish_upload_claim(store, "000001-20241121T102000Z", &err) == DX_E_EXISTS, "twice");
    dx_store_close(&store);
    EXPECT(publish(root, &r, &err) == DX_OK, "%s", err.text);
    EXPECT(strcmp(r.version, "000001-20241121T102001Z") == 0 && r.leftovers == 0, "%s", r.version);
    dx_publish_result_release(&r);

    sh("mkdir -p %/index/000007-20200101T000000Z && echo x > "
       "%/index/000007-20200101T000000Z/psl.dat",
       root, root);
    sh("mv %/index/manifest.json %/lost.json", root, root);
    sh("mv %/index/000001-20241121T102001Z %/index/000002-20241121T102000Z", root, root);
    EXPECT(publish(root, &r, &err) == DX_E_CORRUPT &&
               strstr(err.text, "index/000002-20241121T102000Z is there") != NULL,
           "a lost manifest: %s", err.text);
    sh("rm -r %/index/000002-20241121T102000Z", root, "");
    EXPECT(publish(root, &r, &err) == DX_OK, "%s", err.text);
    EXPECT(strcmp(r.version, "000008-20241121T102000Z") == 0, "%s", r.version);
    EXPECT(r.leftovers == 1 && strcmp(r.leftover, "000007-20200101T000000Z") == 0, "%llu, %s",
           (unsigned long long)r.leftovers, r.leftover);
    (void)snprintf(path, sizeof path, "%s/index/000007-20200101T000000Z/psl.dat", root);
    EXPECT(access(path, F_OK) == 0, "a leftover was removed");
    dx_publish_result_release(&r);
}

static void test_refused(const char *root)
{
    static const struct {
        const char *prepare,
            *words; /* of the error, or of a file that is left out; NULL: all is published */
    } rows[] = {
        { "mv %/registry.json %/kept", "registry.json" },
        { "mv %/kept %/registry.json", NULL },
        { "mkdir %/urls/loose && echo x > %/urls/loose/x.parquet", "dataset_id=N" },
        { "rm -r %/urls/loose", NULL },
        { "cp %/index/manifest.json %/kept", NULL },
        { "truncate -s 50 %/index/manifest.json", "manifest.json" },
        { "mv %/kept %/index/manifest.json", NULL },
        { "mkdir %/urls/dataset_id=1/x && echo xx > %/urls/dataset_id=1/x/bad.parquet",
          "bad.parquet" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_publish_result r;
        unsigned before = entries_of(base);
        int rc;

        sh(rows[i].prepare, root, root);
        rc = publish(root, &r, &err);
        if (rows[i].words == NULL)
            EXPECT(rc == DX_OK, "row %zu: %s", i, err.text);
        else if (rc == DX_OK)
            EXPECT(r.left_out.count == 1 && memmem(r.left_out.text.data, r.left_out.text.size,
                                                   rows[i].words, strlen(rows[i].words)) != NULL,
                   "row %zu: %.*s", i, (int)r.left_out.text.size, (char *)r.left_out.text.data);
        else
            EXPECT(rc < 0 && strstr(err.text, rows[i].words) != NULL, "row %zu: %d %s", i, rc,
                   err.text);
        if (rc == DX_OK)
            dx_publish_result_release(&r);
        EXPECT(entries_of(base) == before, "row %zu: the work folder stays", i);
    }
}

/* ---- files that are fetched ---- */

struct room {
    const char *from;
    const struct dx_index_lake *lake;
    pthread_mutex_t lock;
    uint64_t now, most, fetched, dropped;
};

static int fetch(void *ctx, uint32_t file_id, const char *path, struct dx_error *err)
{
    struct room *room = ctx;
    const struct dx_index_file *f = &room->lake->files[file_id];
    char source[512];
    char folder[512];

    (void)err;
    (void)snprintf(source, sizeof source, "%s/urls/%s", room->from, f->path);
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    sh("mkdir -p %", folder, "");
    sh("cp % %", source, path);
    (void)pthread_mutex_lock(&room->lock);
    room->now += f->size;
    room->most = room->now > room->most ? room->now : room->most;
    room->fetched++;
    (void)pthread_mutex_unlock(&room->lock);
    return DX_OK;
}

static void drop(void *ctx, uint32_t file_id, const char *path)
{
    struct room *room = ctx;

    EXPECT(unlink(path) == 0, "%s was not there", path);
    (void)pthread_mutex_lock(&room->lock);
    room->now -= room->lake->files[file_id].size;
    room->dropped++;
    (void)pthread_mutex_unlock(&room->lock);
}

/* With a list of faults, the new files that do not fit have the fault, by name, before anything is fetched; if one that a version
 * has does not fit, leaving out helps nothing. */
static void test_no_room(struct dx_index_lake *lake, struct dx_index_scan_options o,
                         const struct room *room)
{
    struct dx_scan_faults faults = DX_SCAN_FAULTS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    size_t large = 0;

    o.faults = &faults;
    for (int fresh = 0; fresh < 2; fresh++) {
        for (size_t i = 0; i < lake->file_count; i++)
            lake->files[i].fresh = fresh == 1;
        err = (struct dx_error)DX_ERROR_INIT;
        EXPECT(dx_index_scan(lake, &o, &err) == (fresh == 1 ? DX_INDEX_FAULTS : DX_E_LIMIT),
               "fresh %d: %s", fresh, err.text);
        EXPECT(strstr(err.text, "--work-dir") != NULL && room->fetched == 0, "fresh %d: %s", fresh,
               err.text);
        for (size_t i = 0; i < lake->file_count; i++)
            large += fresh == 1 && lake->files[i].size > o.fetch->disk_bytes;
        EXPECT(faults.count == large, "%zu faults of %zu", faults.count, large);
    }
    for (size_t i = 0; i < faults.count; i++)
        EXPECT(lake->files[faults.list[i].file_id].size > o.fetch->disk_bytes &&
                   faults.list[i].err.code == DX_E_LIMIT,
               "fault %zu: %s", i, faults.list[i].err.text);
    EXPECT(large > 0 && large < lake->file_count, "%zu of %zu files do not fit", large,
           lake->file_count);
    dx_scan_faults_release(&faults);
}

static void test_room(const struct dx_test_root *lake)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_lake l;
    struct dx_root opened;
    struct room room = { .from = lake->path, .lock = PTHREAD_MUTEX_INITIALIZER };
    struct dx_index_fetch b = { &room, 0, fetch, drop };
    struct dx_index_scan_options o = {
        .tmp_dir = base, .memory = DX_PUBLISH_MEMORY_MIN, .threads = 4, .fetch = &b
    };
    char copies[300];
    struct dx_manifest none = DX_MANIFEST_INIT;
    const struct dx_publish_allow allow = { .count = 0 };
    uint64_t largest = 0;

    if (dx_root_open(&opened, lake->path, DX_ROOT_READ, &err) < 0 ||
        dx_publish_lake_open(&l, &opened, &none, &allow, NULL, &err) < 0)
        abort();
    dx_root_close(&opened);
    (void)snprintf(copies, sizeof copies, "%s/copies", base);
    l.lake.root = copies;
    room.lake = &l.lake;
    for (size_t i = 0; i < l.lake.file_count; i++)
        largest = l.lake.files[i].size > largest ? l.lake.files[i].size : largest;
    b.disk_bytes = largest - 1;
    EXPECT(dx_index_scan(&l.lake, &o, &err) == DX_E_LIMIT && room.fetched == 0, "too small: %s",
           err.text);
    EXPECT(strstr(err.text, "--work-dir") != NULL, "%s", err.text);
    test_no_room(&l.lake, o, &room);
    for (uint64_t extra = 0; extra < 2; extra++) {
        b.disk_bytes = largest + extra * largest;
        room.now = room.most = room.fetched = room.dropped = 0;
        EXPECT(dx_index_scan(&l.lake, &o, &err) == DX_OK, "%s", err.text);
        EXPECT(room.fetched == l.lake.file_count && room.dropped == room.fetched && room.now == 0,
               "%llu fetched, %llu dropped", (unsigned long long)room.fetched,
               (unsigned long long)room.dropped);
        EXPECT(room.most >= largest && room.most <= b.disk_bytes, "%llu bytes at a time of %llu",
               (unsigned long long)room.most, (unsigned long long)b.disk_bytes);
        dx_index_lake_release(&l.lake);
    }
    dx_publish_lake_close(&l);
}

/* ---- pieces ---- */

static void test_listing(void)
{
    static const struct {
        const char *object;
        uint64_t sequence, leftovers;
    } rows[] = {
        { "index/manifest.json", 3, 0 },
        { "index/store.json", 3, 0 },
        { "index/000003-20240101T000000Z/psl.dat", 3, 0 }, /* the manifest names it */
        { "index/000005-20241120T102001Z/psl.dat", 5, 0 }, /* a day ago, less a second */
        { "index/000006-20241120T101959Z/psl.dat", 6, 1 },
        { "index/000006-20241120T101959Z/pages.dxp", 6, 1 },
        { "index/000004-20240101T000000Z/psl.dat", 6, 2 },
        { "index/claims/000009-20240101T000000Z", 9, 2 },
        { "index/claims/000010-20240101T000000Z/x", 9, 2 },
        { "index/000011-20240101T000000Z", 9, 2 },
        { "index/000011-20241301T000000Z/psl.dat", 9, 2 },
        { "index/abc/psl.dat", 9, 2 },
        { "urls/000012-20240101T000000Z/psl.dat", 9, 2 },
        { "index/", 9, 2 },
        { "", 9, 2 },
    };
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_manifest_version *v = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_publish_listing l;

    if (dx_manifest_add(&m, "000003-20240101T000000Z", &v, &err) < 0)
        abort();
    dx_publish_listing_init(&l, &m, NOW_US);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct dx_listed listed = { rows[i].object, 1, "" };

        EXPECT(dx_publish_listing_see(&l, &listed, &err) == DX_OK, "%s", err.text);
        EXPECT(l.sequence == rows[i].sequence && l.leftovers == rows[i].leftovers,
               "%s: sequence %llu, %llu leftovers", rows[i].object, (unsigned long long)l.sequence,
               (unsigned long long)l.leftovers);
    }
    EXPECT(strcmp(l.leftover, "000006-20241120T101959Z") == 0, "%s", l.leftover);
    dx_manifest_release(&m);
}

/* Of a version all objects are there, or its pack: a manifest named it. */
static void test_lost(void)
{
    static const struct {
        const char *version;
        unsigned objects;
        const char *last;
        uint32_t least;
        bool lost;
    } rows[] = {
        { "000002-20241121T102000Z", 1, "psl.dat.zst", 2, false }, /* an upload that died */
        { "000002-20241121T102000Z", 15, "psl.dat.zst", 2, false },
        { "000002-20241121T102000Z", 16, "psl.dat.zst", 2, true },
        { "000002-20241121T102000Z", 20, "psl.dat.zst", 2, true },
        { "000002-20241121T102000Z", 1, "part.pack", 2, true },
        { "000001-20241121T102000Z", 16, "psl.dat.zst", 2, false }, /* the first publish died */
        { "000001-20241121T102000Z", 16, "psl.dat.zst", 1, true },
    };
    struct dx_manifest none = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_publish_listing l;
        char object[200];

        dx_publish_listing_init(&l, &none, NOW_US);
        for (unsigned k = 1; k <= rows[i].objects; k++) {
            const struct dx_listed listed = { object, 1, "" };

            (void)snprintf(object, sizeof object, "index/%s/%s", rows[i].version,
                           k == rows[i].objects ? rows[i].last : "a");
            EXPECT(dx_publish_listing_see(&l, &listed, &err) == DX_OK, "%s", err.text);
        }
        EXPECT((dx_publish_listing_check_lost(&l, "r", rows[i].least, &err) == DX_E_CORRUPT) ==
                       rows[i].lost &&
                   l.leftovers == 1,
               "%zu: %s", i, err.text);
        dx_publish_listing_release(&l);
    }
}

static void test_probed(void)
{
    static const struct {
        const char *text;
        bool want;
    } rows[] = {
        { "{\"format\":\"domaindex-store\",\"version\":1,\"url\":\"http://a/b\",\"probed\":\"x\"}",
          true },
        { "{\"format\":\"domaindex-store\",\"version\":1,\"url\":\"http://a/c\"}", false },
        { "{\"format\":\"other\",\"url\":\"http://a/b\"}", false },
        { "{\"format\":\"domaindex-store\",\"url\":7}", false },
        { "[\"http://a/b\"]", false },
        { "{", false },
        { "", false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        EXPECT(dx_root_probed(dx_span_str(rows[i].text), "http://a/b") == rows[i].want, "%s",
               rows[i].text);
}

static void test_work_folder(void)
{
    struct dx_work_folder a = DX_WORK_FOLDER_INIT;
    struct dx_work_folder b = DX_WORK_FOLDER_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct stat st;
    char dead[300];

    (void)snprintf(dead, sizeof dead, "%s/domaindex-test-dead00", base);
    sh("mkdir -p %/below && touch %/below/file", dead, dead);
    EXPECT(dx_work_folder_make(&a, base, "test", &err) == DX_OK, "%s", err.text);
    EXPECT(access(dead, F_OK) < 0, "a dead folder stays");
    EXPECT(dx_work_folder_make(&b, base, "test", &err) == DX_OK, "%s", err.text);
    EXPECT(access(a.path, F_OK) == 0, "a live folder was removed");
    EXPECT(stat(a.path, &st) == 0 && (st.st_mode & 0777) == 0700, "others can read it");
    EXPECT(strcmp(a.path, b.path) != 0, "two of one name");
    dx_work_folder_remove(&a);
    EXPECT(access(b.path, F_OK) == 0, "the other one's folder was removed");
    dx_work_folder_remove(&b);
    dx_work_folder_remove(&b);
    EXPECT(dx_work_folder_make(&a, "/nowhere/at/all", "test", &err) < 0 &&
               strstr(err.text, "/nowhere/at/all") != NULL,
           "%s", err.text);
}

struct work {
    atomic_int seen[100];
    size_t fails_from; /* this one and the ones behind it */
};

static int work_on(void *ctx, size_t i, struct dx_error *err)
{
    struct work *w = ctx;

    atomic_fetch_add(&w->seen[i], 1);
    return i < w->fails_from ? DX_OK : dx_fail(err, DX_E_IO, "%zu fails", i);
}

static void test_parallel(void)
{
    for (unsigned threads = 0; threads < 70; threads = threads * 2 + 1) {
        struct work all = { .fails_from = 100 };
        struct work some = { .fails_from = 40 };
        struct dx_error err = DX_ERROR_INIT;

        EXPECT(dx_parallel(threads, 100, work_on, &all, &err) == DX_OK, "%s", err.text);
        for (size_t i = 0; i < 100; i++)
            EXPECT(all.seen[i] == 1, "%zu: %d times", i, all.seen[i]);
        EXPECT(dx_parallel(threads, 100, work_on, &some, &err) == DX_E_IO, "no error");
        EXPECT(strcmp(err.text, "40 fails") == 0, "%u threads: %s", threads, err.text);
        EXPECT(dx_parallel(threads, 0, work_on, &some, &err) == DX_OK, "nothing to do");
    }
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root lake;
    char root[200];

    if (mkdtemp(base) == NULL)
        return 1;
    dx_test_root_make(&lake, 12, 4);
    (void)snprintf(root, sizeof root, "%s/root", base);
    sh("mkdir % && mkdir %/urls", root, root);
    sh("cp -r %/urls %/", lake.path, root);
    sh("cp %/psl.dat %/", lake.path, root);
    sh("cp %/registry.json %/", lake.path, root);
    test_listing();
    test_lost();
    test_probed();
    test_parallel();
    test_work_folder();
    test_room(&lake);
    test_same_bytes(&lake, root);
    test_restored(root);
    test_restored_part(root);
    test_restored_pack(root);
    test_names(root);
    test_refused(root);
    dx_test_root_remove(&lake);
    (void)dx_dir_remove(base, &err);
    return failures == 0 ? 0 : 1;
}
