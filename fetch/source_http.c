/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/source_http.h"

#include "fetch/fetch_counts.h"
#include "fetch/fetch_loop.h"
#include "fetch/object_url.h"
#include "fetch/range_join.h"
#include "fetch/signing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES_IDLE_MAX 64 /* more threads than that at once are served, but not remembered */

struct source_http {
    struct dx_source source;
    char *root;
    char *ca_file;
    unsigned deadline_ms;
    unsigned first_deadline_ms;
    struct dx_http_settings settings;
    atomic_bool http2;
    _Atomic uint64_t suspect_until_ms;
    pthread_mutex_t lock; /* a leaf: of the list alone */
    struct dx_http_multi *idle[LANES_IDLE_MAX];
    size_t idle_count;
};

static int take_lane(struct source_http *http, struct dx_http_multi **lane, struct dx_error *err)
{
    *lane = NULL;
    (void)pthread_mutex_lock(&http->lock);
    /* The one that came last has the connections that are most likely still open. */
    if (http->idle_count > 0)
        *lane = http->idle[--http->idle_count];
    (void)pthread_mutex_unlock(&http->lock);
    return *lane != NULL ? DX_OK : dx_http_multi_new(lane, err);
}

static void put_lane(struct source_http *http, struct dx_http_multi *lane)
{
    (void)pthread_mutex_lock(&http->lock);
    if (http->idle_count < LANES_IDLE_MAX) {
        http->idle[http->idle_count++] = lane;
        lane = NULL;
    }
    (void)pthread_mutex_unlock(&http->lock);
    dx_http_multi_free(&lane);
}

static int run(struct source_http *http, struct dx_http_ask *ask, struct dx_error *err)
{
    struct dx_http_multi *lane;
    int rc = take_lane(http, &lane, err);

    if (rc < 0)
        return rc;
    rc = dx_http_multi_run(lane, ask, err);
    put_lane(http, lane);
    return rc;
}

static uint64_t deadline_of(const struct source_http *http, uint64_t deadline_ms)
{
    bool first = http->first_deadline_ms != 0 &&
                 !atomic_load(&http->settings.limits->watch.answered);

    if (deadline_ms != 0)
        return deadline_ms;
    return dx_clock_ms() + (first ? http->first_deadline_ms : http->deadline_ms);
}

static int check_pin(const char *object, const struct dx_pin *pin, struct dx_error *err)
{
    if (pin->etag != NULL && !dx_etag_strong(pin->etag))
        return dx_fail(err, DX_E_INVALID, "%s: the expected ETag is not a strong one", object);
    return DX_OK;
}

static int check_range(const struct dx_read *read, const struct dx_pin *pin, struct dx_error *err)
{
    uint64_t end;

    if (__builtin_add_overflow(read->offset, (uint64_t)read->size, &end))
        return dx_fail(err, DX_E_INVALID, "%s: a range past 2^64", read->object);
    if (pin == NULL)
        return DX_OK;
    if (pin->total != 0 && end > pin->total)
        return dx_fail(err, DX_E_TRUNCATED, "%s: bytes %llu-%llu of an object of %llu",
                       read->object, (unsigned long long)read->offset, (unsigned long long)end - 1,
                       (unsigned long long)pin->total);
    return check_pin(read->object, pin, err);
}

/* A batch under way, read in either way. */
struct http_fetch {
    struct dx_fetch fetch; /* the first member */
    struct source_http *http;
    const struct dx_source_batch *batch;
    struct dx_http_get *gets; /* one a join */
    struct dx_join *joins;
    size_t *order;
    size_t *url_at;
    size_t count;
    struct dx_buf urls;
    struct dx_http_batch *running; /* on a loop */
    dx_fetch_done *done;
    void *ctx;
};

static const struct dx_read *first_read(const struct http_fetch *f, size_t join)
{
    return &f->batch->reads[f->order[f->joins[join].first]];
}

/* URLs of all objects, one behind the other; GETs of one object share one. */
static int write_urls(struct http_fetch *f, struct dx_error *err)
{
    for (size_t i = 0; i < f->count; i++) {
        const char *object = first_read(f, i)->object;

        if (i > 0 && strcmp(object, first_read(f, i - 1)->object) == 0) {
            f->url_at[i] = f->url_at[i - 1];
            continue;
        }
        f->url_at[i] = f->urls.size;
        dx_object_url(&f->urls, f->http->root, object);
    }
    return f->urls.failed ? dx_buf_fail(&f->urls, err, "URLs of a batch") : DX_OK;
}

/* What is read alone goes to where it is wanted, without a copy. */
static int ask_for(struct http_fetch *f, size_t i, struct dx_error *err)
{
    const struct dx_join *join = &f->joins[i];
    struct dx_http_get *get = &f->gets[i];
    size_t read = f->order[join->first];
    uint64_t wanted = 0;

    get->url = (const char *)f->urls.data + f->url_at[i];
    get->want = (struct dx_range_want){ .offset = join->offset, .size = join->size };
    if (f->batch->pins != NULL) {
        get->want.total = f->batch->pins[read].total;
        get->want.etag = f->batch->pins[read].etag;
    }
    get->to = join->count == 1 ? f->batch->reads[read].to : malloc(join->size);
    if (get->to == NULL)
        return dx_no_memory(err, "%s", get->url);
    for (size_t k = 0; k < join->count; k++)
        wanted += f->batch->reads[f->order[join->first + k]].size;
    dx_fetch_count(DX_COUNT_READS, join->count);
    dx_fetch_count(DX_COUNT_JOINED_READS, join->count - 1);
    dx_fetch_count(DX_COUNT_JOINED_BYTES, join->size > wanted ? join->size - wanted : 0);
    return DX_OK;
}

static void free_fetch(struct http_fetch *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->joins[i].count > 1)
            free(f->gets[i].to);
    dx_buf_release(&f->urls);
    free(f->gets);
    free(f->joins);
    free(f->order);
    free(f->url_at);
    free(f);
}

static int check_reads(const struct dx_source_batch *batch, struct dx_error *err)
{
    for (size_t i = 0; i < batch->count; i++) {
        int rc = check_range(&batch->reads[i], batch->pins == NULL ? NULL : &batch->pins[i], err);

        if (rc < 0 && batch->report != NULL)
            batch->report->failed = i;
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

static int new_fetch(struct source_http *http, const struct dx_source_batch *batch,
                     struct http_fetch **out, struct dx_error *err)
{
    size_t room = batch->count > 0 ? batch->count : 1;
    struct http_fetch *f;
    int rc = check_reads(batch, err);

    *out = NULL;
    if (rc < 0)
        return rc;
    f = calloc(1, sizeof *f);
    if (f == NULL)
        return dx_no_memory(err, "%s", http->root);
    f->http = http;
    f->batch = batch;
    dx_buf_init(&f->urls, SIZE_MAX);
    f->gets = calloc(room, sizeof *f->gets);
    f->joins = calloc(room, sizeof *f->joins);
    f->order = calloc(room, sizeof *f->order);
    f->url_at = calloc(room, sizeof *f->url_at);
    if (f->gets == NULL || f->joins == NULL || f->order == NULL || f->url_at == NULL) {
        free_fetch(f);
        return dx_no_memory(err, "%s", http->root);
    }
    f->count = dx_range_join(batch->reads, batch->pins, batch->count, f->joins, f->order);
    rc = write_urls(f, err);
    for (size_t i = 0; i < f->count && rc == DX_OK; i++)
        rc = ask_for(f, i, err);
    if (rc < 0) {
        free_fetch(f);
        return rc;
    }
    *out = f;
    return DX_OK;
}

static struct dx_http_ask ask_of(const struct http_fetch *f)
{
    return (struct dx_http_ask){
        .settings = &f->http->settings,
        .gets = f->gets,
        .count = f->count,
        .deadline_ms = deadline_of(f->http, f->batch->deadline_ms),
        .fresh = f->batch->fresh,
    };
}

/* If the caller did not name the object, it must be the same one for all ranges of the read
 * batch. */
static int check_same(struct http_fetch *f, struct dx_error *err)
{
    for (size_t i = 1; i < f->count; i++) {
        const struct dx_http_get *a = &f->gets[i - 1];
        struct dx_http_get *b = &f->gets[i];

        if (a->url == b->url &&
            (a->reply.total != b->reply.total || strcmp(a->reply.etag, b->reply.etag) != 0)) {
            b->failed = true;
            dx_fetch_count(DX_COUNT_CONFLICTS, 1);
            return dx_fail(err, DX_E_CONFLICT, "%s: replaced between two ranges of one batch",
                           b->url);
        }
    }
    return DX_OK;
}

/* Of joined reads it is the first one, unless the object was too short: then the one that ends
 * last. */
static size_t failed_read(const struct http_fetch *f, size_t join, int rc)
{
    const struct dx_read *reads = f->batch->reads;
    const size_t *order = f->order + f->joins[join].first;
    size_t read = order[0];

    for (size_t k = 1; k < f->joins[join].count; k++)
        if (rc == DX_E_TRUNCATED ? reads[order[k]].offset + reads[order[k]].size >
                                       reads[read].offset + reads[read].size
                                 : order[k] < read)
            read = order[k];
    return read;
}

static void fill_report(const struct http_fetch *f, int rc)
{
    struct dx_source_batch_report *report = f->batch->report;

    for (size_t i = 0; i < f->count && report != NULL; i++) {
        const struct dx_http_get *get = &f->gets[i];

        if (rc < 0 && get->failed)
            report->failed = failed_read(f, i, rc);
        report->requests += get->attempts;
        report->retries += get->attempts > 1 ? get->attempts - 1 : 0;
        report->bytes += get->accepted ? f->joins[i].size : 0;
        for (size_t k = 0; k < f->joins[i].count && get->accepted && report->seen != NULL; k++) {
            struct dx_seen *seen = &report->seen[f->order[f->joins[i].first + k]];

            (void)snprintf(seen->etag, sizeof seen->etag, "%s", get->reply.etag);
            seen->total = get->reply.total;
        }
    }
}

/* The GETs are over: what they fetched is handed out. */
static int end_fetch(struct http_fetch *f, int rc, struct dx_error *err)
{
    if (rc == DX_OK)
        rc = check_same(f, err);
    for (size_t i = 0; i < f->count && rc == DX_OK; i++)
        if (f->joins[i].count > 1)
            dx_range_join_hand_out(f->batch->reads, f->order, &f->joins[i], f->gets[i].to);
    fill_report(f, rc);
    free_fetch(f);
    return rc;
}

static int read_batch(struct dx_source *src, const struct dx_source_batch *batch,
                      struct dx_error *err)
{
    struct source_http *http = (struct source_http *)src;
    struct dx_http_ask ask;
    struct http_fetch *f;
    int rc = new_fetch(http, batch, &f, err);

    if (rc < 0)
        return rc;
    ask = ask_of(f);
    if (f->count > 0) /* no byte needs no request */
        rc = run(http, &ask, err);
    return end_fetch(f, rc, err);
}

static void on_done(void *ctx, int rc, const struct dx_error *err)
{
    struct http_fetch *f = ctx;
    dx_fetch_done *done = f->done;
    void *done_ctx = f->ctx;
    struct dx_error words = *err;

    rc = end_fetch(f, rc, &words);
    done(done_ctx, rc, &words);
}

static void cancel_fetch(struct dx_fetch *fetch)
{
    struct http_fetch *f = (struct http_fetch *)fetch;

    dx_http_batch_cancel(&f->running);
    free_fetch(f);
}

static int begin_batch(struct dx_source *src, struct dx_fetch_loop *loop,
                       const struct dx_source_batch *batch, dx_fetch_done *done, void *ctx,
                       struct dx_fetch **fetch, struct dx_error *err)
{
    struct dx_http_ask ask;
    struct http_fetch *f;
    int rc = new_fetch((struct source_http *)src, batch, &f, err);

    if (rc < 0)
        return rc;
    f->fetch.cancel = cancel_fetch;
    f->done = done;
    f->ctx = ctx;
    ask = ask_of(f);
    rc = dx_http_multi_begin(dx_fetch_loop_lane(loop), &ask, on_done, f, &f->running, err);
    if (rc < 0) {
        free_fetch(f);
        return rc;
    }
    *fetch = &f->fetch;
    return DX_OK;
}

static int get_object(struct dx_source *src, const struct dx_get *get, struct dx_buf *out,
                      char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct source_http *http = (struct source_http *)src;
    struct dx_buf url = DX_BUF_INIT(DX_URL_MAX);
    struct dx_http_get one = {
        .want = { 0, get->cap, get->pin.total, get->pin.etag },
        .out = out,
        .if_none_match = get->if_none_match,
    };
    const struct dx_pin old = { 0, get->if_none_match };
    int rc = check_pin(get->object, &get->pin, err);

    if (rc == DX_OK)
        rc = check_pin(get->object, &old, err);
    dx_object_url(&url, http->root, get->object);
    if (rc == DX_OK && url.failed)
        rc = dx_buf_fail(&url, err, get->object);
    if (rc == DX_OK) {
        struct dx_http_ask ask = { &http->settings, &one, 1, deadline_of(http, get->deadline_ms),
                                   false };

        one.url = (const char *)url.data;
        rc = run(http, &ask, err);
    }
    if (rc == DX_OK) {
        rc = one.refusal == DX_REPLY_ACCEPTED;
        (void)snprintf(etag, DX_SOURCE_ETAG, "%s", rc == 1 ? one.reply.etag : get->if_none_match);
    }
    dx_buf_release(&url);
    return rc;
}

/* Also of a half-made source. */
static void close_http(struct dx_source *src)
{
    struct source_http *http = (struct source_http *)src;

    while (http->idle_count > 0)
        dx_http_multi_free(&http->idle[--http->idle_count]);
    (void)pthread_mutex_destroy(&http->lock);
    dx_signing_close(&http->settings.signing);
    free(http->ca_file);
    free(http->root);
    free(http);
}

static bool copy_text(char **to, const char *from)
{
    *to = from == NULL ? NULL : strdup(from);
    return (*to == NULL) == (from == NULL);
}

int dx_source_open_http(struct dx_source **src, const char *root, struct dx_signing *signing,
                        const struct dx_source_options *options, struct dx_error *err)
{
    static const struct dx_source_ops ops = {
        .read = read_batch,
        .begin = begin_batch,
        .get = get_object,
        .close = close_http,
    };
    struct source_http *http = calloc(1, sizeof *http);
    int rc;

    *src = NULL;
    if (http == NULL) {
        dx_signing_close(&signing);
        return dx_no_memory(err, "%s", root);
    }
    http->settings.signing = signing;
    atomic_init(&http->http2, false);
    (void)pthread_mutex_init(&http->lock, NULL);
    http->source.ops = &ops;
    http->deadline_ms = options->deadline_ms;
    http->first_deadline_ms = options->first_deadline_ms;
    rc = dx_root_url(root, &http->root, err);
    if (rc == DX_OK && !copy_text(&http->ca_file, options->ca_file))
        rc = dx_no_memory(err, "%s", root);
    if (rc < 0) {
        close_http(&http->source);
        return rc;
    }
    http->settings = (struct dx_http_settings){
        .connect_ms = options->connect_ms,
        .first_byte_ms = options->first_byte_ms,
        .stall_ms = options->stall_ms,
        .bytes_per_s_min = options->bytes_per_s_min,
        .retry = DX_RETRY_POLICY_INIT,
        .limits = options->limits != NULL ? options->limits : dx_fetch_limits_shared(),
        .ca_file = http->ca_file,
        .signing = signing,
        .hedge = options->hedge,
        .http2 = &http->http2,
        .suspect_until_ms = &http->suspect_until_ms,
    };
    http->settings.retry.attempts_max = options->attempts_max;
    *src = &http->source;
    return DX_OK;
}
