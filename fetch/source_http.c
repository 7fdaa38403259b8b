/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/source_http.h"

#include "fetch/object_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES_IDLE_MAX 64 /* more threads than that at once are served, but not remembered */

struct source_http {
    struct dx_source source;
    char *root;
    char *ca_file;
    unsigned deadline_ms;
    struct dx_http_sign sign;
    struct dx_http_settings settings;
    pthread_mutex_t lock; /* a leaf: of the list alone */
    struct dx_http_lane *idle[LANES_IDLE_MAX];
    size_t idle_count;
};

static int take_lane(struct source_http *http, struct dx_http_lane **lane, struct dx_error *err)
{
    *lane = NULL;
    (void)pthread_mutex_lock(&http->lock);
    /* The one that came last has the connections that are most likely still open. */
    if (http->idle_count > 0)
        *lane = http->idle[--http->idle_count];
    (void)pthread_mutex_unlock(&http->lock);
    return *lane != NULL ? DX_OK : dx_http_lane_new(lane, &http->settings, err);
}

static void put_lane(struct source_http *http, struct dx_http_lane *lane)
{
    (void)pthread_mutex_lock(&http->lock);
    if (http->idle_count < LANES_IDLE_MAX) {
        http->idle[http->idle_count++] = lane;
        lane = NULL;
    }
    (void)pthread_mutex_unlock(&http->lock);
    dx_http_lane_free(&lane);
}

static int run(struct source_http *http, struct dx_http_get *gets, size_t count,
               uint64_t deadline_ms, struct dx_error *err)
{
    struct dx_http_lane *lane;
    int rc = take_lane(http, &lane, err);

    if (rc < 0)
        return rc;
    if (deadline_ms == 0)
        deadline_ms = dx_source_now_ms() + http->deadline_ms;
    rc = dx_http_lane_run(lane, gets, count, deadline_ms, err);
    put_lane(http, lane);
    return rc;
}

static int check_pin(const char *object, const struct dx_pin *pin, struct dx_error *err)
{
    if (pin->etag != NULL && !dx_etag_strong(pin->etag))
        return dx_fail(err, DX_E_INVALID, "%s: the expected ETag is not a strong one", object);
    return DX_OK;
}

static int want_range(const struct dx_read *read, const struct dx_pin *pin,
                      struct dx_range_want *want, struct dx_error *err)
{
    uint64_t end;

    *want = (struct dx_range_want){ .offset = read->offset, .size = read->size };
    if (__builtin_add_overflow(read->offset, (uint64_t)read->size, &end))
        return dx_fail(err, DX_E_INVALID, "%s: a range past 2^64", read->object);
    if (pin == NULL)
        return DX_OK;
    want->total = pin->total;
    want->etag = pin->etag;
    if (pin->total != 0 && end > pin->total)
        return dx_fail(err, DX_E_TRUNCATED, "%s: bytes %llu-%llu of an object of %llu",
                       read->object, (unsigned long long)read->offset, (unsigned long long)end - 1,
                       (unsigned long long)pin->total);
    return check_pin(read->object, pin, err);
}

/* URLs of all objects, one behind the other; reads of one object next to each other share one. */
static int write_urls(const struct source_http *http, const struct dx_wave *wave, size_t *offsets,
                      struct dx_buf *urls, struct dx_error *err)
{
    for (size_t i = 0; i < wave->count; i++) {
        if (i > 0 && strcmp(wave->reads[i].object, wave->reads[i - 1].object) == 0) {
            offsets[i] = offsets[i - 1];
            continue;
        }
        offsets[i] = urls->size;
        dx_object_url(urls, http->root, wave->reads[i].object);
    }
    return urls->failed ? dx_buf_fail(urls, err, "URLs of a wave") : DX_OK;
}

/* Nobody told which object it is to be: then it is to be one, for all ranges of the wave. */
static int check_same(const struct dx_http_get *gets, size_t count, struct dx_error *err)
{
    for (size_t i = 1; i < count; i++) {
        const struct dx_http_get *a = &gets[i - 1];
        const struct dx_http_get *b = &gets[i];

        if (a->url == b->url &&
            (a->reply.total != b->reply.total || strcmp(a->reply.etag, b->reply.etag) != 0))
            return dx_fail(err, DX_E_CONFLICT, "%s: replaced between two ranges of one wave",
                           b->url);
    }
    return DX_OK;
}

static int read_wave(struct dx_source *src, const struct dx_wave *wave, struct dx_error *err)
{
    struct source_http *http = (struct source_http *)src;
    struct dx_buf urls = DX_BUF_INIT(SIZE_MAX);
    struct dx_http_get *gets = calloc(wave->count, sizeof *gets);
    size_t *offsets = calloc(wave->count, sizeof *offsets);
    size_t count = 0;
    int rc = DX_OK;

    if (gets == NULL || offsets == NULL)
        rc = dx_fail(err, DX_E_NOMEM, "%s: out of memory", http->root);
    if (rc == DX_OK)
        rc = write_urls(http, wave, offsets, &urls, err);
    for (size_t i = 0; i < wave->count && rc == DX_OK; i++) {
        struct dx_http_get *get = &gets[count];

        get->url = (const char *)urls.data + offsets[i];
        get->to = wave->reads[i].to;
        rc = want_range(&wave->reads[i], wave->pins == NULL ? NULL : &wave->pins[i], &get->want,
                        err);
        count += wave->reads[i].size > 0; /* no byte needs no request */
    }
    if (rc == DX_OK && count > 0)
        rc = run(http, gets, count, wave->deadline_ms, err);
    if (rc == DX_OK)
        rc = check_same(gets, count, err);
    free(offsets);
    free(gets);
    dx_buf_release(&urls);
    return rc;
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
        one.url = (const char *)url.data;
        rc = run(http, &one, 1, get->deadline_ms, err);
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
        dx_http_lane_free(&http->idle[--http->idle_count]);
    (void)pthread_mutex_destroy(&http->lock);
    if (http->sign.secret != NULL)
        explicit_bzero(http->sign.secret, strlen(http->sign.secret));
    free(http->sign.sigv4);
    free(http->sign.key_id);
    free(http->sign.secret);
    free(http->sign.token);
    free(http->ca_file);
    free(http->root);
    free(http);
}

static bool copy_text(char **to, const char *from)
{
    *to = from == NULL ? NULL : strdup(from);
    return (*to == NULL) == (from == NULL);
}

static bool copy_sign(struct dx_http_sign *to, const struct dx_http_sign *from)
{
    bool ok = copy_text(&to->sigv4, from->sigv4);

    ok = copy_text(&to->key_id, from->key_id) && ok;
    ok = copy_text(&to->secret, from->secret) && ok;
    return copy_text(&to->token, from->token) && ok;
}

int dx_source_open_http(struct dx_source **src, const char *root, const struct dx_http_sign *sign,
                        const struct dx_source_options *options, struct dx_error *err)
{
    static const struct dx_source_ops ops = { .read = read_wave, .get = get_object, .close = close_http };
    struct source_http *http = calloc(1, sizeof *http);
    int rc;

    *src = NULL;
    if (http == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
    (void)pthread_mutex_init(&http->lock, NULL);
    http->source.ops = &ops;
    http->deadline_ms = options->deadline_ms;
    rc = dx_root_url(root, &http->root, err);
    if (rc == DX_OK && (!copy_text(&http->ca_file, options->ca_file) ||
                        (sign != NULL && !copy_sign(&http->sign, sign))))
        rc = dx_fail(err, DX_E_NOMEM, "%s: out of memory", root);
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
        .sign = sign == NULL ? NULL : &http->sign,
    };
    http->settings.retry.attempts_max = options->attempts_max;
    *src = &http->source;
    return DX_OK;
}
