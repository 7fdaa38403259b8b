/* SPDX-License-Identifier: Apache-2.0
 * ETags of a version's objects: the first one stays, for whatever thread comes first.
 */
#include "loader/objects.h"

#include "tests/support/damage.h"

#include <pthread.h>

#define LAKE_FILES 500
#define THREADS 4

static unsigned failures;

static const struct {
    struct dx_object o;
    bool known; /* the version has it */
} places[] = {
    { { DX_OBJECT_IDX, 0 }, true },
    { { DX_OBJECT_IDX, 1 }, false },
    { { DX_OBJECT_DAT, 0 }, true },
    { { DX_OBJECT_DAT, 1 }, false },
    { { DX_OBJECT_COLD, 0 }, true },
    { { DX_OBJECT_COLD, 2 }, true },
    { { DX_OBJECT_COLD, 3 }, false },
    { { DX_OBJECT_LAKE, 0 }, true },
    { { DX_OBJECT_LAKE, LAKE_FILES - 1 }, true },
    { { DX_OBJECT_LAKE, LAKE_FILES }, false },
    { { DX_OBJECT_LAKE, UINT32_MAX }, false },
};

static const struct {
    const char *etag;
    bool strong;
} etags[] = {
    { "\"a\"", true }, { "W/\"a\"", false }, { "a", false },          { "", false },
    { "\"", false },   { "\"a b\"", false }, { "\"a\r\nb\"", false },
};

static const char *pinned(const struct dx_objects *objects, struct dx_object o)
{
    const struct dx_pin pin = dx_objects_pin(objects, o, 7);

    EXPECT(pin.total == 7, "total %llu", (unsigned long long)pin.total);
    return pin.etag == NULL ? "" : pin.etag;
}

static void check_places(void)
{
    struct dx_objects *objects = NULL;
    struct dx_error err = DX_ERROR_INIT;
    char etag[32];

    EXPECT(dx_objects_new(&objects, LAKE_FILES, &err) == DX_OK, "%s", err.text);
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        EXPECT(pinned(objects, places[i].o)[0] == '\0', "place %u: known before", i);
        (void)snprintf(etag, sizeof etag, "\"%u\"", i);
        dx_objects_seen(objects, places[i].o, etag);
    }
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        (void)snprintf(etag, sizeof etag, "\"%u\"", i);
        EXPECT(strcmp(pinned(objects, places[i].o), places[i].known ? etag : "") == 0,
               "place %u: %s", i, pinned(objects, places[i].o));
        dx_objects_seen(objects, places[i].o, "\"later\"");
        EXPECT(strcmp(pinned(objects, places[i].o), places[i].known ? etag : "") == 0,
               "place %u: a later one taken", i);
        EXPECT((dx_objects_set(objects, places[i].o, "\"set\"", &err) == DX_OK) == places[i].known,
               "place %u: %s", i, err.text);
    }
    EXPECT(dx_objects_broken(objects) == 0, "sound");
    dx_objects_broke(objects, places[0].o);
    EXPECT(dx_objects_broken(objects) == 1, "broken");
    dx_objects_free(&objects);
    EXPECT(objects == NULL, "freed");
    dx_objects_free(&objects);
    EXPECT(dx_objects_new(&objects, UINT64_MAX, &err) == DX_E_NOMEM && objects == NULL,
           "more files than numbers");
    EXPECT(dx_objects_new(&objects, 0, &err) == DX_OK, "%s", err.text);
    dx_objects_free(&objects);
}

static void check_etags(void)
{
    const struct dx_object o = { DX_OBJECT_LAKE, 0 };

    for (size_t i = 0; i < sizeof etags / sizeof etags[0]; i++) {
        struct dx_objects *objects = NULL;
        struct dx_error err = DX_ERROR_INIT;
        const char *want = etags[i].strong ? etags[i].etag : "";

        EXPECT(dx_objects_new(&objects, 1, &err) == DX_OK, "%s", err.text);
        dx_objects_seen(objects, o, etags[i].etag);
        EXPECT(strcmp(pinned(objects, o), want) == 0, "'%s' seen", etags[i].etag);
        EXPECT((dx_objects_set(objects, o, etags[i].etag, &err) == DX_OK) == etags[i].strong,
               "'%s' set", etags[i].etag);
        dx_objects_broke(objects, o);
        EXPECT(strcmp(pinned(objects, o), want) == 0, "'%s' was set and is forgotten", want);
        dx_objects_free(&objects);
    }
}

/* What a reply said is forgotten when it is refuted, and old pins stay readable. */
static void check_forgotten(void)
{
    const struct dx_object o = { DX_OBJECT_DAT, 0 };
    struct dx_objects *objects = NULL;
    struct dx_error err = DX_ERROR_INIT;
    const char *first;

    EXPECT(dx_objects_new(&objects, 1, &err) == DX_OK, "%s", err.text);
    dx_objects_broke(objects, o);
    dx_objects_seen(objects, o, "\"made up\""); /* not strong: it has a space */
    EXPECT(pinned(objects, o)[0] == '\0', "not strong");
    dx_objects_seen(objects, o, "\"made-up\"");
    first = dx_objects_pin(objects, o, 0).etag;
    dx_objects_broke(objects, o);
    EXPECT(pinned(objects, o)[0] == '\0', "not forgotten");
    dx_objects_seen(objects, o, "\"true\"");
    EXPECT(strcmp(pinned(objects, o), "\"true\"") == 0 && strcmp(first, "\"made-up\"") == 0,
           "%s, %s", pinned(objects, o), first);
    dx_objects_free(&objects);
}

/* A broken object is heard of in many reads; only ETags that are kept count against the limit. */
static void check_many_forgotten(void)
{
    enum { LIMIT = 65536 };
    const struct dx_object o = { DX_OBJECT_DAT, 0 };
    struct dx_objects *objects = NULL;
    struct dx_error err = DX_ERROR_INIT;
    char etag[32];

    EXPECT(dx_objects_new(&objects, 1, &err) == DX_OK, "%s", err.text);
    for (unsigned i = 0; i < LIMIT + 10; i++)
        dx_objects_broke(objects, o); /* nothing is known, so nothing is kept */
    for (unsigned i = 0; i < LIMIT + 10; i++) {
        (void)snprintf(etag, sizeof etag, "\"%u\"", i);
        dx_objects_seen(objects, o, etag);
        dx_objects_broke(objects, o);
        if ((pinned(objects, o)[0] == '\0') != (i < LIMIT)) {
            EXPECT(false, "ETag %u: '%s'", i, pinned(objects, o));
            break;
        }
    }
    EXPECT(dx_objects_broken(objects) == 2 * (LIMIT + 10), "broken");
    dx_objects_free(&objects);
}

struct racer {
    struct dx_objects *objects;
    unsigned number;
    const char *got[LAKE_FILES];
};

static void *race(void *arg)
{
    struct racer *r = arg;
    char etag[32];

    (void)snprintf(etag, sizeof etag, "\"of thread %u\"", r->number);
    etag[3] = etag[10] = '-';
    for (uint32_t i = 0; i < LAKE_FILES; i++) {
        const struct dx_object o = { DX_OBJECT_LAKE, i };

        dx_objects_seen(r->objects, o, etag);
        r->got[i] = dx_objects_pin(r->objects, o, 0).etag;
    }
    return NULL;
}

static void *break_all(void *arg)
{
    struct racer *r = arg;

    for (uint32_t i = 0; i < LAKE_FILES; i++) {
        const struct dx_object o = { DX_OBJECT_LAKE, i };

        dx_objects_broke(r->objects, o);
        dx_objects_seen(r->objects, o, "\"again\"");
        (void)strlen(r->got[i]); /* old pins are whole: for sanitizers to see */
    }
    return NULL;
}

static void check_threads(void)
{
    static struct racer racers[THREADS];
    pthread_t threads[THREADS];
    struct dx_objects *objects = NULL;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_objects_new(&objects, LAKE_FILES, &err) == DX_OK, "%s", err.text);
    for (unsigned i = 0; i < THREADS; i++) {
        racers[i] = (struct racer){ .objects = objects, .number = i };
        if (pthread_create(&threads[i], NULL, race, &racers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    for (unsigned i = 1; i < THREADS; i++)
        for (unsigned k = 0; k < LAKE_FILES; k++)
            EXPECT(racers[i].got[k] != NULL && racers[i].got[k] == racers[0].got[k],
                   "file %u: two threads, two ETags", k);
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, break_all, &racers[i]) != 0)
            abort();
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    EXPECT(dx_objects_broken(objects) == THREADS * LAKE_FILES, "%llu broken",
           (unsigned long long)dx_objects_broken(objects));
    dx_objects_free(&objects);
}

int main(void)
{
    check_places();
    check_etags();
    check_forgotten();
    check_many_forgotten();
    check_threads();
    return failures == 0 ? 0 : 1;
}
