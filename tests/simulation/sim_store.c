/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/sim_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "fetch/source.h"
#include "fetch/source_open.h"
#include "fetch/store/store.h"
#include "format/version/names.h"
#include "tests/simulation/scheduler.h"

#define EPOCH_US (INT64_C(1790000000) * 1000000)
#define LATE_MAX 64

int __real_dx_source_open(struct dx_source **src, const char *root,
                          const struct dx_source_options *options, struct dx_error *err);
int __real_dx_store_open(struct dx_store **store, const char *root,
                         const struct dx_source_options *options, struct dx_error *err);
int __wrap_dx_source_open(struct dx_source **src, const char *root,
                          const struct dx_source_options *options, struct dx_error *err);
int __wrap_dx_store_open(struct dx_store **store, const char *root,
                         const struct dx_source_options *options, struct dx_error *err);

enum sim_plant sim_planted;

struct object {
    char *name;
    uint8_t *bytes;
    size_t size;
    char etag[40];
    int64_t modified_us;
};

/* A put that takes effect after its caller got an unknown outcome. */
struct late {
    uint64_t at_ms;
    char *name;
    uint8_t *bytes;
    size_t size;
    bool if_absent;
    char if_match[DX_SOURCE_ETAG]; /* "": no condition */
};

static struct object *objects;
static size_t object_count, object_capacity;
static struct late late[LATE_MAX];
static size_t late_count;
static unsigned faults, losses;
static bool is_late; /* what is being put */
static sim_store_change *on_put, *on_removed;
static uint8_t *old_manifest; /* for SIM_PLANT_STALE_READ */
static size_t old_manifest_size;
static char hidden_from
    [300]; /* for SIM_PLANT_TRUST_LISTING: where the last listing of the lake ended too early */

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size + 1);

    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, bytes, size);
    ((uint8_t *)copy)[size] = 0;
    return copy;
}

/* The first object whose name is not below. */
static size_t position(const char *name)
{
    size_t low = 0, high = object_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(objects[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct object *find(const char *name)
{
    size_t i = position(name);

    return i < object_count && strcmp(objects[i].name, name) == 0 ? &objects[i] : NULL;
}

/* Versions are made of these: what is below "urls/" and below "index/" and the version's name. */
static void count_loss(const char *name)
{
    losses += strncmp(name, "urls/", 5) == 0 ||
              (strncmp(name, "index/", 6) == 0 && name[6] >= '0' && name[6] <= '9');
}

static int64_t now_us(void)
{
    return EPOCH_US + (int64_t)sim_now_ms() * 1000;
}

static void set(const char *name, const uint8_t *bytes, size_t size)
{
    size_t i = position(name);
    struct object *o = find(name);
    struct dx_hash128 hash = dx_hash128_of(dx_span_of(bytes, size));
    char hex[DX_HASH128_TEXT];

    if (strcmp(name, DX_MANIFEST_FILE) == 0 && o != NULL) {
        free(old_manifest);
        old_manifest = copy_of(o->bytes, o->size);
        old_manifest_size = o->size;
    }
    if (o == NULL) {
        if (object_count == object_capacity) {
            object_capacity = object_capacity * 2 + 64;
            objects = realloc(objects, object_capacity * sizeof *objects);
            if (objects == NULL)
                abort();
        }
        memmove(&objects[i + 1], &objects[i], (object_count++ - i) * sizeof *objects);
        o = &objects[i];
        *o = (struct object){ .name = copy_of(name, strlen(name)) };
    }
    dx_hash128_text(&hash, hex);
    if (o->bytes != NULL && strncmp(o->etag + 1, hex, strlen(hex)) != 0)
        count_loss(name);
    free(o->bytes);
    o->bytes = copy_of(bytes, size);
    o->size = size;
    o->modified_us = now_us();
    (void)snprintf(o->etag, sizeof o->etag, "\"%s\"", hex);
    sim_note(dx_hash64(dx_span_str(name)));
    if (strncmp(name, "index/", 6) == 0 ||
        strncmp(name, "urls/", 5) == 0) /* others name processes */
        sim_note(dx_hash64(dx_span_of(bytes, size)));
    if (on_put != NULL)
        on_put(name, dx_span_of(o->bytes, o->size));
}

static void unset(const char *name)
{
    struct object *o = find(name);
    struct object gone;

    if (o == NULL)
        return;
    gone = *o;
    count_loss(name);
    memmove(o, o + 1, (size_t)(objects + object_count-- - o - 1) * sizeof *o);
    sim_note(dx_hash64(dx_span_str(name)));
    if (on_removed != NULL)
        on_removed(name, dx_span_of(gone.bytes, gone.size));
    free(gone.name);
    free(gone.bytes);
}

static bool holds(const char *name, bool if_absent, const char *if_match)
{
    const struct object *o = find(name);

    if (sim_planted == SIM_PLANT_NO_CLAIM && strcmp(name, "writers") == 0)
        return true;
    if (strncmp(name, "probe/", 6) != 0) { /* else it would be found before anything is written */
        if (sim_planted == SIM_PLANT_NO_ABSENT)
            if_absent = false;
        if (sim_planted == SIM_PLANT_NO_MATCH)
            if_match = NULL;
    }
    return (!if_absent || o == NULL) && (if_match == NULL || if_match[0] == '\0' ||
                                         (o != NULL && strcmp(o->etag, if_match) == 0));
}

static void apply_late(void)
{
    for (size_t i = 0; i < late_count;) {
        struct late l = late[i];

        if (l.at_ms > sim_now_ms()) {
            i++;
            continue;
        }
        late[i] = late[--late_count];
        is_late = true;
        if (holds(l.name, l.if_absent, l.if_match))
            set(l.name, l.bytes, l.size);
        is_late = false;
        free(l.name);
        free(l.bytes);
    }
}

/* ---- a request ---- */

enum fate {
    GOES_WELL,
    FAILS_BEFORE,
    UNKNOWN_DONE,
    UNKNOWN_NOT,
    UNKNOWN_LATE,
    CRASHES_BEFORE,
    CRASHES_BEHIND
};

/* It takes its time; what comes of it. */
static enum fate begin_request(bool writes)
{
    static const enum fate of_reads[] = { FAILS_BEFORE, FAILS_BEFORE, CRASHES_BEFORE };
    static const enum fate of_writes[] = { FAILS_BEFORE, UNKNOWN_DONE,   UNKNOWN_NOT,
                                           UNKNOWN_LATE, CRASHES_BEFORE, CRASHES_BEHIND };
    enum fate fate = GOES_WELL;

    if (sim_crashed())
        return CRASHES_BEFORE;
    sim_sleep_ms(sim_chance(5) ? sim_random(30000) : sim_random(40));
    apply_late();
    if (faults > 0 && sim_chance(faults))
        fate = writes ? of_writes[sim_random(sizeof of_writes / sizeof *of_writes)]
                      : of_reads[sim_random(sizeof of_reads / sizeof *of_reads)];
    if (fate == CRASHES_BEFORE)
        sim_crash();
    if (fate != GOES_WELL)
        sim_count_fault();
    return fate;
}

static int fail(enum fate fate, const char *name, struct dx_error *err)
{
    if (fate == CRASHES_BEHIND)
        sim_crash();
    if (fate == CRASHES_BEFORE || fate == CRASHES_BEHIND)
        return dx_fail(err, DX_E_IO, "%s: the process has crashed", name);
    if (fate == FAILS_BEFORE)
        return dx_fail(err, sim_chance(500) ? DX_E_TIMEOUT : DX_E_IO, "%s: the request failed",
                       name);
    return dx_fail(err, DX_E_UNKNOWN, "%s: whether it was done is not known", name);
}

/* ---- reading ---- */

static const struct object *see(const char *name, struct object *stale)
{
    const struct object *o = find(name);

    if (sim_planted == SIM_PLANT_NO_CLAIM && strcmp(name, "writers") == 0)
        return NULL;
    if (sim_planted == SIM_PLANT_STALE_READ && o != NULL && old_manifest != NULL &&
        strcmp(name, DX_MANIFEST_FILE) == 0 && sim_chance(300)) {
        *stale = *o;
        stale->bytes = old_manifest;
        stale->size = old_manifest_size;
        return stale;
    }
    return o;
}

static int read_one(const struct dx_source_batch *batch, size_t i, struct dx_error *err)
{
    const struct dx_read *r = &batch->reads[i];
    const struct object *o = find(r->object);

    if (sim_planted == SIM_PLANT_TRUST_LISTING && hidden_from[0] != '\0' && r->size <= 1 &&
        strncmp(r->object, "urls/", 5) == 0 && strcmp(r->object, hidden_from) >= 0)
        o = NULL;
    if (o == NULL)
        return dx_fail(err, DX_E_NOT_FOUND, "%s: there is no such object", r->object);
    if (batch->pins != NULL &&
        ((batch->pins[i].total != 0 && batch->pins[i].total != o->size) ||
         (batch->pins[i].etag != NULL && strcmp(batch->pins[i].etag, o->etag) != 0)))
        return dx_fail(err, DX_E_CONFLICT, "%s: is another object", r->object);
    if (r->offset > o->size || r->size > o->size - r->offset)
        return dx_fail(err, DX_E_TRUNCATED, "%s: ends before the range does", r->object);
    memcpy(r->to, o->bytes + r->offset, r->size);
    if (batch->report != NULL) {
        dx_source_batch_report_read(batch, i, DX_OK);
        if (batch->report->seen != NULL) {
            batch->report->seen[i].total = o->size;
            (void)snprintf(batch->report->seen[i].etag, DX_SOURCE_ETAG, "%s", o->etag);
        }
    }
    return DX_OK;
}

static int read_batch(struct dx_source *src, const struct dx_source_batch *batch,
                      struct dx_error *err)
{
    enum fate fate = begin_request(false);
    int rc = DX_OK;

    (void)src;
    if (fate != GOES_WELL)
        return fail(fate, batch->reads[0].object, err);
    for (size_t i = 0; i < batch->count && rc == DX_OK; i++) {
        rc = read_one(batch, i, err);
        if (rc < 0 && batch->report != NULL)
            batch->report->failed = i;
    }
    return rc;
}

static int get_object(struct dx_source *src, const struct dx_get *get, struct dx_buf *out,
                      char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    enum fate fate = begin_request(false);
    const struct object *o;
    struct object stale;

    (void)src;
    if (fate != GOES_WELL)
        return fail(fate, get->object, err);
    o = see(get->object, &stale);
    if (o == NULL)
        return dx_fail(err, DX_E_NOT_FOUND, "%s: there is no such object", get->object);
    if ((get->pin.total != 0 && get->pin.total != o->size) ||
        (get->pin.etag != NULL && strcmp(get->pin.etag, o->etag) != 0))
        return dx_fail(err, DX_E_CONFLICT, "%s: is another object", get->object);
    (void)snprintf(etag, DX_SOURCE_ETAG, "%s", o->etag);
    if (get->if_none_match != NULL && strcmp(get->if_none_match, o->etag) == 0)
        return 0;
    if (o->size > get->cap)
        return dx_fail(err, DX_E_LIMIT, "%s: %zu bytes", get->object, o->size);
    dx_buf_append(out, o->bytes, o->size);
    return out->failed ? dx_buf_fail(out, err, get->object) : 1;
}

static void close_source(struct dx_source *src)
{
    free(src);
}

int __wrap_dx_source_open(struct dx_source **src, const char *root,
                          const struct dx_source_options *options, struct dx_error *err)
{
    static const struct dx_source_ops ops = { .read = read_batch,
                                              .get = get_object,
                                              .close = close_source };

    if (strcmp(root, SIM_ROOT) != 0)
        return __real_dx_source_open(src, root, options, err);
    *src = calloc(1, sizeof **src);
    if (*src == NULL)
        abort();
    (*src)->ops = &ops;
    return DX_OK;
}

/* ---- writing ---- */

static uint8_t *bytes_of(const struct dx_put *put, size_t *size, struct dx_error *err)
{
    struct stat st;
    uint8_t *bytes;
    FILE *f;

    if (put->path == NULL) {
        *size = put->bytes.size;
        return copy_of(put->bytes.data, put->bytes.size);
    }
    f = fopen(put->path, "rb");
    if (f == NULL || fstat(fileno(f), &st) != 0) {
        (void)dx_fail(err, DX_E_IO, "%s: cannot read", put->path);
        return NULL;
    }
    *size = (size_t)st.st_size;
    bytes = malloc(*size + 1);
    if (bytes == NULL || fread(bytes, 1, *size, f) != *size)
        abort();
    (void)fclose(f);
    return bytes;
}

static void put_later(const struct dx_put *put, const uint8_t *bytes, size_t size)
{
    if (late_count == LATE_MAX)
        return;
    late[late_count] = (struct late){ .at_ms = sim_now_ms() + 1 + sim_random(20000),
                                      .name = copy_of(put->object, strlen(put->object)),
                                      .bytes = copy_of(bytes, size),
                                      .size = size,
                                      .if_absent = put->if_absent };
    if (put->if_match != NULL)
        (void)snprintf(late[late_count].if_match, DX_SOURCE_ETAG, "%s", put->if_match);
    late_count++;
}

static int put_object(struct dx_store *store, const struct dx_put *put, char etag[DX_SOURCE_ETAG],
                      struct dx_error *err)
{
    enum fate fate = begin_request(true);
    uint8_t *bytes;
    size_t size;
    int rc = DX_OK;

    (void)store;
    if (fate == CRASHES_BEFORE || fate == FAILS_BEFORE || fate == UNKNOWN_NOT)
        return fail(fate, put->object, err);
    if (put->may != NULL && (rc = put->may(put->may_ctx, err)) < 0)
        return rc;
    bytes = bytes_of(put, &size, err);
    if (bytes == NULL)
        return DX_E_IO;
    if (fate == UNKNOWN_LATE)
        put_later(put, bytes, size);
    else if (!holds(put->object, put->if_absent, put->if_match))
        rc = put->if_absent ? dx_fail(err, DX_E_EXISTS, "%s: is there", put->object)
                            : dx_fail(err, DX_E_CONFLICT, "%s: is another object", put->object);
    else {
        set(put->object, bytes, size);
        (void)snprintf(etag, DX_SOURCE_ETAG, "%s", find(put->object)->etag);
    }
    free(bytes);
    return fate == GOES_WELL ? rc : fail(fate, put->object, err);
}

static int list_objects(struct dx_store *store, const char *prefix, dx_store_each *each, void *ctx,
                        struct dx_error *err)
{
    enum fate fate = begin_request(false);
    size_t n = strlen(prefix);
    bool is_short = faults > 0 && sim_chance(30);
    size_t first = position(prefix), end = first, count;
    struct object *seen;
    int rc = DX_OK;

    (void)store;
    if (fate != GOES_WELL)
        return fail(fate, prefix, err);
    while (end < object_count && strncmp(objects[end].name, prefix, n) == 0)
        end++;
    count = end - first;
    if (strcmp(prefix, "urls/") == 0)
        hidden_from[0] = '\0';
    if (is_short && count > 0) { /* as a page that is missing at the end */
        count -= 1 + sim_random(count);
        sim_count_short_listing();
        if (strcmp(prefix, "urls/") == 0)
            (void)snprintf(hidden_from, sizeof hidden_from, "%s", objects[first + count].name);
    }
    seen = calloc(count + 1, sizeof *seen); /* the callback may make requests of its own */
    if (seen == NULL)
        abort();
    for (size_t i = 0; i < count; i++) {
        seen[i] = objects[first + i];
        seen[i].name = copy_of(seen[i].name, strlen(seen[i].name));
    }
    for (size_t i = 0; i < count; i++) {
        const struct dx_listed listed = { seen[i].name, seen[i].size, seen[i].etag };

        if (rc >= 0 && !(sim_planted == SIM_PLANT_NO_LEASES && strncmp(prefix, "leases/", 7) == 0))
            rc = each(ctx, &listed, err);
        free(seen[i].name);
    }
    free(seen);
    return rc < 0 ? rc : DX_OK;
}

static int remove_object(struct dx_store *store, const char *object, struct dx_error *err)
{
    enum fate fate = begin_request(true);

    (void)store;
    if (fate == CRASHES_BEFORE || fate == FAILS_BEFORE || fate == UNKNOWN_NOT ||
        fate == UNKNOWN_LATE)
        return fail(fate, object, err);
    if (!(sim_planted == SIM_PLANT_NEVER_COLLECT && strncmp(object, "urls/", 5) == 0))
        unset(object);
    return fate == GOES_WELL ? DX_OK : fail(fate, object, err);
}

static int read_stamped(struct dx_store *store, const char *object, uint64_t deadline_ms,
                        struct dx_buf *out, struct dx_store_stamp *stamp, struct dx_error *err)
{
    enum fate fate = begin_request(false);
    const struct object *o;
    struct object stale;

    (void)store;
    (void)deadline_ms;
    *stamp = (struct dx_store_stamp){ .now_us = 0 };
    if (fate != GOES_WELL)
        return fail(fate, object, err);
    stamp->now_us = now_us() / 1000000 * 1000000; /* HTTP has whole seconds */
    o = see(object, &stale);
    if (o == NULL)
        return 0;
    stamp->modified_us = o->modified_us / 1000000 * 1000000;
    (void)snprintf(stamp->etag, sizeof stamp->etag, "%s", o->etag);
    dx_buf_append(out, o->bytes, o->size);
    return out->failed ? dx_buf_fail(out, err, object) : 1;
}

static void close_store(struct dx_store *store)
{
    free(store);
}

int __wrap_dx_store_open(struct dx_store **store, const char *root,
                         const struct dx_source_options *options, struct dx_error *err)
{
    static const struct dx_store_ops ops = { put_object, list_objects, remove_object, read_stamped,
                                             close_store };

    if (strcmp(root, SIM_ROOT) != 0)
        return __real_dx_store_open(store, root, options, err);
    *store = calloc(1, sizeof **store);
    if (*store == NULL)
        abort();
    (*store)->ops = &ops;
    return DX_OK;
}

/* ---- the world's side ---- */

void sim_store_begin(unsigned in_thousand)
{
    faults = in_thousand;
}

void sim_store_faults(unsigned in_thousand)
{
    faults = in_thousand;
}

void sim_store_watch(sim_store_change *put, sim_store_change *removed)
{
    on_put = put;
    on_removed = removed;
}

void sim_store_end(void)
{
    on_put = on_removed = NULL;
    for (size_t i = 0; i < object_count; i++) {
        free(objects[i].name);
        free(objects[i].bytes);
    }
    for (size_t i = 0; i < late_count; i++) {
        free(late[i].name);
        free(late[i].bytes);
    }
    free(old_manifest);
    old_manifest = NULL;
    object_count = late_count = 0;
    hidden_from[0] = '\0';
}

bool sim_store_is_late(void)
{
    return is_late;
}

unsigned sim_store_losses(void)
{
    return losses;
}
