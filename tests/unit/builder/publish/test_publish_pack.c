/* SPDX-License-Identifier: Apache-2.0
 * A version in a pack: the files are those of the same version without one, byte for byte; a byte
 * that is wrong in any of them, a pack that is short, longer or missing is refused by name.
 */
#include "builder/publish/publish_pack.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "builder/publish/publish.h"
#include "loader/version.h"
#include "query/answers/self_test.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

static unsigned failures;

/* From the whole lake again, as of another second. */
static void publish(const struct dx_test_root *r, uint64_t pack_max, struct dx_publish_result *out)
{
    static int64_t seconds;
    const struct dx_publish_options options = { .root = r->path,
                                                .memory = DX_PUBLISH_MEMORY_MIN,
                                                .threads = 1,
                                                .force = true,
                                                .full = true,
                                                .pack_max = pack_max,
                                                .now_us = 1763719300000000 + ++seconds * 1000000 };
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_publish(&options, out, &err) == DX_OK, "%s", err.text);
}

/* All bytes are checked. */
static int open_current(const struct dx_test_root *r, struct dx_error *err)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    const struct dx_self_test_options self_test = { 64, 16, 3, 4, true };
    struct dx_self_test_rows rows;
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;
    int rc;

    options.verify = options.whole = true;
    if (dx_caches_new(&caches, &options, err) < 0)
        abort();
    rc = dx_version_open_named(&v, r->path, NULL, caches, &options, err);
    if (rc == DX_OK)
        rc = dx_self_test(v, &self_test, &rows, err);
    if (rc == DX_OK)
        EXPECT(rows.tried > 0 && rows.failed == 0, "rows: %u of %u failed, %s", rows.failed,
               rows.tried, rows.first.text);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    return rc;
}

static void path_of(const struct dx_test_root *r, const char *version, const char *name,
                    char path[300])
{
    (void)snprintf(path, 300, "%s/index/%s/%s", r->path, version, name);
}

static size_t names_in(const struct dx_test_root *r, const char *version)
{
    size_t count = 0;
    char path[300];
    DIR *dir;

    path_of(r, version, "", path);
    dir = opendir(path);
    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir != NULL)
        (void)closedir(dir);
    return count - 2; /* . and .. */
}

static void compare_files(const struct dx_test_root *r, const struct dx_manifest_version *alone,
                          const struct dx_manifest_version *packed)
{
    EXPECT(alone->file_count == packed->file_count, "number of files");
    for (size_t i = 0; i < packed->file_count; i++) {
        const struct dx_manifest_file *f = &packed->files[i];
        struct dx_map one = DX_MAP_INIT;
        struct dx_map part = DX_MAP_INIT;
        struct dx_manifest_place place;
        struct dx_map_range range;
        struct dx_error err = DX_ERROR_INIT;
        char path[300];

        dx_manifest_place(packed, f, &place);
        range = (struct dx_map_range){ place.at, f->size, place.total };
        path_of(r, alone->version, f->name, path);
        EXPECT(dx_map_open(&one, path, DX_MAP_RANDOM, &err) == DX_OK, "%s", err.text);
        path_of(r, packed->version, DX_FILE_PACK, path);
        EXPECT(dx_map_open_range(&part, path, &range, DX_MAP_RANDOM, &err) == DX_OK, "%s",
               err.text);
        EXPECT(place.at % DX_PACK_ALIGN == 0 && dx_span_equal(one.bytes, part.bytes), "%s",
               f->name);
        dx_map_close(&one);
        dx_map_close(&part);
    }
}

static void expect_refused(const struct dx_test_root *r, int code, const char *what)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = open_current(r, &err);

    EXPECT((code == 0 ? rc < 0 : rc == code) && strstr(err.text, DX_FILE_PACK) != NULL,
           "%s: %d, %s", what, rc, err.text);
}

static void put(const char *path, struct dx_span bytes)
{
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_file_replace(path, bytes, &err) == DX_OK, "%s", err.text);
}

static void try_damage(const struct dx_test_root *r, const struct dx_manifest_version *v)
{
    struct dx_buf sound = DX_BUF_INIT(1u << 20);
    struct dx_error err = DX_ERROR_INIT;
    char path[300];

    path_of(r, v->version, DX_FILE_PACK, path);
    EXPECT(dx_file_read(path, 1u << 20, &sound, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; i < v->file_count; i++) {
        struct dx_manifest_place place;
        uint8_t *byte;

        if (v->files[i].size == 0)
            continue;
        dx_manifest_place(v, &v->files[i], &place);
        byte = &sound.data[place.at + v->files[i].size / 2];
        *byte ^= 4;
        put(path, dx_span_of(sound.data, sound.size));
        expect_refused(r, 0, v->files[i].name);
        *byte ^= 4;
    }
    put(path, dx_span_of(sound.data, sound.size - 1));
    expect_refused(r, DX_E_TRUNCATED, "short");
    dx_buf_u8(&sound, 0);
    put(path, dx_span_of(sound.data, sound.size));
    expect_refused(r, DX_E_CORRUPT, "longer");
    (void)unlink(path);
    expect_refused(r, DX_E_NOT_FOUND, "missing");
    put(path, dx_span_of(sound.data, sound.size - 1));
    EXPECT(open_current(r, &err) == DX_OK, "sound again: %s", err.text);
    dx_buf_release(&sound);
}

int main(void)
{
    struct dx_publish_result alone;
    struct dx_publish_result packed;
    struct dx_publish_result large;
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_manifest_version *v;
    struct dx_test_root r;

    dx_test_root_make(&r, 60, 3);
    publish(&r, 0, &alone);
    publish(&r, 1u << 20, &packed);
    v = dx_manifest_current(&packed.manifest);
    EXPECT(dx_manifest_object_count(v) == 1 && names_in(&r, packed.version) == 1, "one object");
    EXPECT(!dx_manifest_packed(dx_manifest_current(&alone.manifest)) &&
               names_in(&r, alone.version) == dx_manifest_current(&alone.manifest)->file_count,
           "a directory has files unless a pack is asked for");
    compare_files(&r, dx_manifest_find(&packed.manifest, alone.version), v);
    EXPECT(open_current(&r, &err) == DX_OK, "%s", err.text);
    try_damage(&r, v);
    publish(&r, dx_manifest_pack_size(v) - 1, &large);
    EXPECT(!dx_manifest_packed(dx_manifest_current(&large.manifest)), "too large for a pack");
    dx_publish_result_release(&alone);
    dx_publish_result_release(&packed);
    dx_publish_result_release(&large);
    dx_test_root_remove(&r);
    return failures > 0;
}
