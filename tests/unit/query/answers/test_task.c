/* SPDX-License-Identifier: Apache-2.0
 * labels: threads Answers step by step: several for one cold key read it once; one that is given
 * up, or fails, does not affect the others; a wrong page is read again; an object that was
 * replaced is forgotten.
 */
#include "cache/flight.h"
#include "canon/url.h"
#include "loader/version.h"
#include "query/answers/task.h"
#include "query/view/block_request.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include <pthread.h>
#include <stdlib.h>

#define DOMAINS 5
#define DATASETS 2
#define BODY_MAX (1u << 20)
#define MANY 50

static unsigned failures;

static int begin_until(const struct asker *a, unsigned domain, uint64_t deadline_ms,
                       struct dx_task **task, struct dx_buf *body)
{
    struct dx_urls_ask ask = {
        .dataset_id = 1, .page = { 0, 100 }, .fields = DX_FIELDS_DEFAULT, .deadline_ms = deadline_ms
    };
    struct dx_problem problem;
    char name[64];

    dx_test_root_domain(domain, name);
    ask.asked = dx_span_str(name);
    dx_buf_init(body, BODY_MAX);
    return dx_task_urls(DX_VIEW_ALL(a->v), a->canon, &ask, task, NULL, body, &problem);
}

static int begin(const struct asker *a, unsigned domain, struct dx_task **task, struct dx_buf *body)
{
    return begin_until(a, domain, 0, task, body);
}

/* To the end; counts the batches that were read for it. */
static int finish(struct dx_task *task, struct dx_buf *body, unsigned *batches)
{
    struct dx_problem problem;
    int rc = DX_TASK_WAITS;

    while (rc == DX_TASK_WAITS) {
        struct dx_read_batch *r = dx_task_reading(task);
        struct dx_error err = DX_ERROR_INIT;

        *batches += dx_read_batch_state(r) == DX_READ_BATCH_READ;
        rc = dx_read_batch_perform(r, &err);
        rc = dx_task_resume(task, rc, &err, NULL, body, &problem);
    }
    return rc;
}

static void expect_same(const struct dx_buf *a, const struct dx_buf *b)
{
    EXPECT(a->size > 0 && dx_span_equal(dx_span_of(a->data, a->size), dx_span_of(b->data, b->size)),
           "%.*s", (int)b->size, (const char *)b->data);
}

/* All begin before the first has read; then each goes to its end. */
static void check_crowd(const struct dx_test_root *r, bool first_gives_up)
{
    struct asker a;
    struct dx_task *tasks[MANY];
    struct dx_buf bodies[MANY];
    struct dx_flights_counts counts;
    unsigned batches = 0;

    open_asker(&a, r->path);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT(begin(&a, 0, &tasks[i], &bodies[i]) == DX_TASK_WAITS, "task %u", i);
        EXPECT(dx_read_batch_state(dx_task_reading(tasks[i])) ==
                   (i == 0 ? DX_READ_BATCH_READ : DX_READ_BATCH_WAIT),
               "task %u", i);
    }
    if (first_gives_up)
        dx_task_free(&tasks[0]);
    for (unsigned i = first_gives_up; i < MANY; i++) {
        EXPECT(finish(tasks[i], &bodies[i], &batches) == 1, "task %u", i);
        expect_same(&bodies[first_gives_up], &bodies[i]);
        dx_task_free(&tasks[i]);
    }
    EXPECT(batches == 2, "postings, then pages: %u batches", batches);
    dx_flights_counts(a.caches->idx, &counts);
    EXPECT(counts.led == (first_gives_up ? 2 : 1) && counts.now == 0, "idx read %llu times",
           (unsigned long long)counts.led);
    for (unsigned i = 0; i < MANY; i++)
        dx_buf_release(&bodies[i]);
    close_asker(&a);
}

/* The leader's read fails: waiting requests get the same error, the next request reads again. With
 * its own time nearly over it says nothing about the store, and waiting requests read for
 * themselves. */
static void check_failure(const struct dx_test_root *r, enum dx_code code, bool late_leader)
{
    bool object_is_lost = code == DX_E_CONFLICT || code == DX_E_TRUNCATED || code == DX_E_NOT_FOUND;
    int reported = code == DX_E_TRUNCATED ? DX_E_CONFLICT : (int)code;
    struct asker a;
    struct dx_task *leader, *waits, *late;
    struct dx_buf bodies[3];
    struct dx_problem problem;
    struct dx_error err = DX_ERROR_INIT;
    unsigned batches = 0;
    int rc;

    open_asker(&a, r->path);
    EXPECT(begin_until(&a, 0, late_leader ? dx_clock_ms() + 500 : 0, &leader, &bodies[0]) ==
               DX_TASK_WAITS,
           "leads");
    EXPECT(begin(&a, 0, &waits, &bodies[1]) == DX_TASK_WAITS, "waits");
    dx_task_reading(leader)->report.failed = 0; /* as a source says it */
    rc = dx_task_resume(leader, dx_fail(&err, code, "the store said no"), &err, NULL, &bodies[0],
                        &problem);
    EXPECT(rc == reported && bodies[0].size == 0, "%d", rc);
    dx_task_free(&leader);
    rc = finish(waits, &bodies[1], &batches);
    EXPECT(rc == (late_leader ? 1 : reported), "%d", rc);
    dx_task_free(&waits);
    EXPECT(begin(&a, 0, &late, &bodies[2]) == (late_leader ? 1 : DX_TASK_WAITS), "late");
    if (late != NULL)
        EXPECT(finish(late, &bodies[2], &batches) == 1, "reads again");
    dx_task_free(&late);
    EXPECT(dx_objects_broken(dx_version_own(a.v)->objects) == object_is_lost, "marked");
    for (unsigned i = 0; i < 3; i++)
        dx_buf_release(&bodies[i]);
    close_asker(&a);
}

/* Bytes that came wrong once, or always. */
static void check_again(const struct dx_test_root *r, bool always)
{
    struct asker a;
    struct dx_task *task;
    struct dx_buf body;
    struct dx_problem problem;
    struct dx_error err = DX_ERROR_INIT;
    unsigned wrong = 0;
    int rc;

    open_asker(&a, r->path);
    rc = begin(&a, 1, &task, &body);
    while (rc == DX_TASK_WAITS) {
        struct dx_read_batch *reading = dx_task_reading(task);

        rc = dx_read_batch_perform(reading, &err);
        if (wrong == 0 || always) {
            EXPECT(reading->batch.fresh == (wrong > 0), "by another connection then");
            reading->batch.reads[0].to[reading->batch.reads[0].size / 2] ^= 4;
            wrong++;
        }
        rc = dx_task_resume(task, rc, &err, NULL, &body, &problem);
    }
    EXPECT(rc == (always ? DX_E_CORRUPT : 1) && wrong == (always ? DX_BLOCK_READS : 1),
           "%d after %u", rc, wrong);
    EXPECT((body.size == 0) == always, "%zu bytes", body.size);
    dx_task_free(&task);
    dx_buf_release(&body);
    close_asker(&a);
}

/* A leader's error is not that of another version's reader, who knows the object otherwise. */
static void check_two_versions(const struct dx_test_root *r)
{
    struct asker a;
    struct asker b;
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_task *leader, *other;
    struct dx_buf bodies[2];
    struct dx_problem problem;
    struct dx_error err = DX_ERROR_INIT;
    unsigned batches = 0;

    open_asker(&a, r->path);
    b = a;
    if (dx_version_open_named(&b.v, r->path, NULL, a.caches, &options, &err) < 0)
        abort();
    EXPECT(begin(&a, 0, &leader, &bodies[0]) == DX_TASK_WAITS, "leads");
    EXPECT(begin(&b, 0, &other, &bodies[1]) == DX_TASK_WAITS &&
               dx_read_batch_state(dx_task_reading(other)) == DX_READ_BATCH_WAIT,
           "waits");
    dx_task_reading(leader)->report.failed = 0;
    EXPECT(dx_task_resume(leader, dx_fail(&err, DX_E_CONFLICT, "replaced"), &err, NULL, &bodies[0],
                          &problem) == DX_E_CONFLICT,
           "the leader");
    dx_task_free(&leader);
    EXPECT(finish(other, &bodies[1], &batches) == 1, "the other");
    dx_task_free(&other);
    dx_version_unpin(b.v);
    for (unsigned i = 0; i < 2; i++)
        dx_buf_release(&bodies[i]);
    close_asker(&a);
}

/* Two nodes behind one name: the first reply comes from one with a damaged copy and another
 * ETag. */
struct two_nodes {
    struct dx_source source;
    struct dx_source *inner;
    unsigned batches;
};

static int read_two_nodes(struct dx_source *src, const struct dx_source_batch *batch,
                          struct dx_error *err)
{
    struct two_nodes *two = (struct two_nodes *)src;
    const char *etag = two->batches++ == 0 ? "\"damaged\"" : "\"sound\"";
    int rc;

    for (size_t i = 0; i < batch->count; i++)
        if (batch->pins[i].etag != NULL && strcmp(batch->pins[i].etag, etag) != 0) {
            batch->report->failed = i;
            return dx_fail(err, DX_E_CONFLICT, "412");
        }
    rc = two->inner->ops->read(two->inner, batch, err);
    for (size_t i = 0; i < batch->count; i++)
        (void)snprintf(batch->report->seen[i].etag, DX_SOURCE_ETAG, "%s", etag);
    if (etag[1] == 'd')
        batch->reads[0].to[0] ^= 1;
    return rc;
}

static void check_wrong_node(const struct dx_test_root *r)
{
    static const struct dx_source_ops ops = { .read = read_two_nodes };
    struct asker a;
    struct two_nodes two = { { .ops = &ops }, NULL, 0 };
    struct dx_task *task;
    struct dx_buf body;
    unsigned batches = 0;
    const struct dx_object object = { DX_OBJECT_LAKE, 0 };

    open_asker(&a, r->path);
    two.inner = a.v->source;
    a.v->source = &two.source;
    if (dx_version_own(a.v)->paged == two.inner)
        dx_version_own(a.v)->paged = &two.source;
    EXPECT(begin(&a, 0, &task, &body) == DX_TASK_WAITS, "waits");
    EXPECT(finish(task, &body, &batches) == 1 && two.batches >= 3, "the sound node is believed");
    EXPECT(dx_objects_broken(dx_version_own(a.v)->objects) == 0, "nothing broke");
    EXPECT(strcmp(dx_objects_pin(dx_version_own(a.v)->objects, object, 1).etag, "\"sound\"") == 0,
           "and known");
    dx_task_free(&task);
    dx_buf_release(&body);
    if (dx_version_own(a.v)->paged == a.v->source)
        dx_version_own(a.v)->paged = two.inner;
    a.v->source = two.inner;
    close_asker(&a);
}

struct reader {
    struct asker *a;
    pthread_t thread;
    unsigned right;
};

static void forget_pages(const struct asker *a)
{
    struct dx_pages_file file;
    struct dx_error err;

    for (uint32_t id = 0; dx_pages_file(&dx_version_own(a->v)->pages, id, &file, &err) == 1; id++)
        (void)dx_page_cache_drop(a->caches->pages, file.hash.bytes, 0, UINT64_MAX);
}

static void *read_all(void *argument)
{
    struct reader *me = argument;
    struct dx_error err;
    struct asker a = *me->a;

    if (dx_version_canon_new(a.v, &a.canon, &err) < 0)
        abort();
    for (unsigned i = 0; i < 200; i++) {
        struct dx_task *task;
        struct dx_buf body;
        unsigned batches = 0;
        int rc = begin(&a, i % DOMAINS, &task, &body);

        if (rc == DX_TASK_WAITS && i % 7 == 3)
            rc = 1; /* given up */
        else if (rc == DX_TASK_WAITS)
            rc = finish(task, &body, &batches);
        me->right += rc == 1;
        dx_task_free(&task);
        dx_buf_release(&body);
        forget_pages(&a);
    }
    dx_canon_free(&a.canon);
    return NULL;
}

static void check_threads(const struct dx_test_root *r)
{
    struct asker a;
    struct reader readers[6];

    open_asker(&a, r->path);
    for (unsigned i = 0; i < 6; i++) {
        readers[i] = (struct reader){ .a = &a };
        if (pthread_create(&readers[i].thread, NULL, read_all, &readers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < 6; i++) {
        (void)pthread_join(readers[i].thread, NULL);
        EXPECT(readers[i].right == 200, "%u of 200", readers[i].right);
    }
    close_asker(&a);
}

int main(void)
{
    struct dx_test_root root;

    dx_test_root_make(&root, DOMAINS, DATASETS);
    check_crowd(&root, false);
    check_crowd(&root, true);
    check_failure(&root, DX_E_IO, false);
    check_failure(&root, DX_E_TIMEOUT, false);
    check_failure(&root, DX_E_TIMEOUT, true);
    check_failure(&root, DX_E_BUSY, true);
    check_failure(&root, DX_E_CONFLICT, false);
    check_failure(&root, DX_E_TRUNCATED, false);
    check_failure(&root, DX_E_NOT_FOUND, false);
    check_two_versions(&root);
    check_wrong_node(&root);
    check_again(&root, false);
    check_again(&root, true);
    check_threads(&root);
    dx_test_root_remove(&root);
    if (failures == 0)
        printf("task: ok\n");
    return failures != 0;
}
