/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/http_call.h"

#include "base/log.h"
#include "base/release.h"
#include "fetch/retry.h"
#include "fetch/source.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define IDLE_MAX 16
#define IDLE_S 20L /* stores end idle connections; a write on such a one is a lost reply */

struct dx_http_client {
    struct dx_http_client_settings settings;
    char *ca_file;
    char *unix_socket;
    pthread_mutex_t lock; /* a leaf: of the list */
    CURL *idle[IDLE_MAX]; /* each with its connections */
    size_t idle_count;
};

/* One run: what the callbacks of libcurl work on. */
struct run {
    struct dx_http_call *call;
    const struct dx_http_client_settings *settings;
    uint64_t total; /* of the body */
    uint64_t given; /* of it, to libcurl */
    int read_errno;
    const char *expired;
    curl_off_t moved; /* bytes of both directions when last looked at */
    uint64_t progress_ms;
    char words[CURL_ERROR_SIZE];
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void curl_begin(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

int dx_http_client_new(struct dx_http_client **out, const struct dx_http_client_settings *settings,
                       struct dx_error *err)
{
    struct dx_http_client *client = calloc(1, sizeof *client);

    *out = NULL;
    if (client == NULL ||
        (settings->ca_file != NULL && (client->ca_file = strdup(settings->ca_file)) == NULL) ||
        (settings->unix_socket != NULL &&
         (client->unix_socket = strdup(settings->unix_socket)) == NULL)) {
        if (client != NULL)
            free(client->ca_file);
        free(client);
        return dx_no_memory(err, "HTTP client");
    }
    (void)pthread_once(&curl_once, curl_begin);
    client->settings = *settings;
    client->settings.ca_file = client->ca_file;
    client->settings.unix_socket = client->unix_socket;
    (void)pthread_mutex_init(&client->lock, NULL);
    *out = client;
    return DX_OK;
}

void dx_http_client_free(struct dx_http_client **out)
{
    struct dx_http_client *client = *out;

    *out = NULL;
    if (client == NULL)
        return;
    while (client->idle_count > 0)
        curl_easy_cleanup(client->idle[--client->idle_count]);
    (void)pthread_mutex_destroy(&client->lock);
    free(client->ca_file);
    free(client->unix_socket);
    free(client);
}

static CURL *take_handle(struct dx_http_client *client)
{
    CURL *easy = NULL;

    (void)pthread_mutex_lock(&client->lock);
    if (client->idle_count > 0)
        easy = client->idle[--client->idle_count];
    (void)pthread_mutex_unlock(&client->lock);
    return easy != NULL ? easy : curl_easy_init();
}

static void put_handle(struct dx_http_client *client, CURL *easy)
{
    curl_easy_reset(easy);
    (void)pthread_mutex_lock(&client->lock);
    if (client->idle_count < IDLE_MAX) {
        client->idle[client->idle_count++] = easy;
        easy = NULL;
    }
    (void)pthread_mutex_unlock(&client->lock);
    curl_easy_cleanup(easy);
}

bool dx_http_header_ok(const char *value)
{
    for (const char *p = value; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    return true;
}

bool dx_http_header_add(struct curl_slist **list, const char *name, const char *value)
{
    struct curl_slist *longer;
    char *line = NULL;

    if (!dx_http_header_ok(value))
        return false;
    if (asprintf(&line, *value == '\0' ? "%s:%s" : "%s: %s", name, value) < 0)
        return false;
    longer = curl_slist_append(*list, line);
    free(line);
    if (longer != NULL)
        *list = longer;
    return longer != NULL;
}

/* Printable values of headers that dx_reply does not know. */
static void keep_header(const char *name, struct dx_span line, char *to, size_t room)
{
    size_t n = strlen(name);

    if (line.size <= n || strncasecmp((const char *)line.data, name, n) != 0)
        return;
    line = dx_span_from(line, n);
    while (line.size > 0 && line.data[0] == ' ')
        line = dx_span_of(line.data + 1, line.size - 1);
    while (line.size > 0 && line.data[line.size - 1] <= ' ')
        line.size--;
    to[0] = '\0';
    if (line.size >= room)
        return;
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] < 0x20 || line.data[i] >= 0x7f)
            return;
    memcpy(to, line.data, line.size);
    to[line.size] = '\0';
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
    struct run *run = arg;

    (void)one;
    dx_reply_header(&run->call->head, dx_span_of(line, n));
    keep_header("date:", dx_span_of(line, n), run->call->date, sizeof run->call->date);
    keep_header("last-modified:", dx_span_of(line, n), run->call->modified,
                sizeof run->call->modified);
    keep_header("x-amz-meta-dx-nonce:", dx_span_of(line, n), run->call->nonce,
                sizeof run->call->nonce);
    return dx_reply_lines_full(&run->call->head) ? 0 : n;
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
    struct run *run = arg;

    (void)one;
    dx_reply_body(&run->call->head, n);
    dx_buf_append(&run->call->body, data, n);
    return run->call->body.failed ? 0 : n;
}

static size_t on_read(char *to, size_t one, size_t room, void *arg)
{
    struct run *run = arg;
    const struct dx_http_call *call = run->call;
    uint64_t left = run->total - run->given;
    size_t n = left < one * room ? (size_t)left : one * room;

    if (call->fd < 0) {
        if (n > 0)
            memcpy(to, call->bytes.data + run->given, n);
    } else if (n > 0) {
        ssize_t got;

        do
            got = pread(call->fd, to, n, (off_t)(call->offset + run->given));
        while (got < 0 && errno == EINTR);
        if (got <= 0) { /* the file became shorter, or its disk fails */
            run->read_errno = got < 0 ? errno : ENODATA;
            return CURL_READFUNC_ABORT;
        }
        n = (size_t)got;
    }
    run->given += n;
    return n;
}

/* libcurl calls it at least once a second. */
static int on_progress(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                       curl_off_t up)
{
    struct run *run = arg;
    uint64_t now = dx_clock_ms();
    bool sending = run->given < run->total;
    unsigned patience = sending               ? run->settings->stall_ms
                        : run->call->reply_ms ? run->call->reply_ms
                                              : run->settings->reply_ms;

    (void)down_all;
    (void)up_all;
    if (down + up != run->moved) {
        run->moved = down + up;
        run->progress_ms = now;
    }
    dx_retry_watch_waiting(run->call->watch, run->call->method, run->call->url, run->progress_ms,
                           now, run->call->deadline_ms);
    if (now >= run->call->deadline_ms)
        run->expired = "the deadline came first";
    else if (now - run->progress_ms > patience + run->settings->connect_ms)
        run->expired = sending ? "the store takes no bytes" : "no reply in time";
    return run->expired != NULL;
}

static bool set_body(CURL *e, struct run *run)
{
    struct dx_http_call *call = run->call;
    int bad = 0;

    run->total = call->fd >= 0 ? call->size : call->bytes.size;
    if (call->has_body) {
        bad |= (int)curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
        bad |= (int)curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE, (curl_off_t)run->total);
        /* No CURLOPT_SEEKFUNCTION: without it a body is not sent a second time. */
        bad |= (int)curl_easy_setopt(e, CURLOPT_READFUNCTION, on_read);
        bad |= (int)curl_easy_setopt(e, CURLOPT_READDATA, run);
        bad |= (int)curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, 256 * 1024L);
    }
    bad |= (int)curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, call->method);
    return bad == 0;
}

static bool set_options(CURL *e, struct run *run)
{
    const struct dx_http_client_settings *settings = run->settings;
    struct dx_http_call *call = run->call;
    bool tls = strncasecmp(call->url, "https:", 6) == 0;
    int bad = 0;

    bad |= (int)curl_easy_setopt(e, CURLOPT_URL, call->url);
    bad |= (int)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, run->words);
    bad |= (int)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, tls ? "https" : "http");
    bad |= (int)curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    bad |= (int)curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    bad |= (int)curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    bad |= (int)curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, IDLE_S);
    bad |= (int)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)settings->connect_ms);
    bad |= (int)curl_easy_setopt(e, CURLOPT_USERAGENT, dx_release_agent());
    bad |= (int)curl_easy_setopt(e, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    bad |= (int)curl_easy_setopt(e, CURLOPT_HEADERDATA, run);
    bad |= (int)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    bad |= (int)curl_easy_setopt(e, CURLOPT_WRITEDATA, run);
    bad |= (int)curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, on_progress);
    bad |= (int)curl_easy_setopt(e, CURLOPT_XFERINFODATA, run);
    bad |= (int)curl_easy_setopt(e, CURLOPT_HTTPHEADER, call->headers);
    if (settings->direct)
        bad |= (int)curl_easy_setopt(e, CURLOPT_NOPROXY, "*");
    if (settings->ca_file != NULL)
        bad |= (int)curl_easy_setopt(e, CURLOPT_CAINFO, settings->ca_file);
    if (settings->unix_socket != NULL)
        bad |= (int)curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, settings->unix_socket);
    if (settings->insecure) {
        bad |= (int)curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
        bad |= (int)curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    return bad == 0 && set_body(e, run);
}

static int report_failure(const struct run *run, CURLcode curl, struct dx_error *err)
{
    const struct dx_http_call *call = run->call;
    int shown = (int)strcspn(call->url, "?");
    const char *why = run->expired != NULL    ? run->expired
                      : run->words[0] != '\0' ? run->words
                                              : curl_easy_strerror(curl);

    if (run->read_errno != 0)
        return dx_fail_errno(err, run->read_errno, "%s %.*s: the file cannot be read at %llu",
                             call->method, shown, call->url,
                             (unsigned long long)(call->offset + run->given));
    if (dx_reply_lines_full(&call->head))
        return dx_fail(err, DX_E_LIMIT,
                       "%s %.*s: the reply has more than %d header and trailer lines", call->method,
                       shown, call->url, DX_REPLY_LINES_MAX);
    if (call->body.no_memory)
        return dx_no_memory(err, "%s %.*s: the reply", call->method, shown, call->url);
    return dx_fail(err,
                   call->body.failed                                          ? DX_E_LIMIT
                   : run->expired != NULL || curl == CURLE_OPERATION_TIMEDOUT ? DX_E_TIMEOUT
                   : curl == CURLE_OUT_OF_MEMORY                              ? DX_E_NOMEM
                                                                              : DX_E_IO,
                   "%s %.*s: %s", call->method, shown, call->url,
                   call->body.failed ? "the reply is too long" : why);
}

int dx_http_call_run(struct dx_http_client *client, struct dx_http_call *call, struct dx_error *err)
{
    struct run run = { .call = call, .settings = &client->settings };
    uint64_t now = dx_clock_ms();
    CURL *easy = take_handle(client);
    curl_off_t before_us = 0;
    CURLcode curl;
    int rc = DX_OK;

    run.progress_ms = now;
    dx_reply_begin(&call->head);
    dx_buf_clear(&call->body);
    call->date[0] = call->modified[0] = call->nonce[0] = '\0';
    call->status = 0;
    call->sent = false;
    if (easy == NULL || !set_options(easy, &run)) {
        rc = dx_fail(err, DX_E_NOMEM, "%s %.*s: out of memory: libcurl refuses the request",
                     call->method, (int)strcspn(call->url, "?"), call->url);
    } else if (now >= call->deadline_ms) {
        run.expired = "the deadline came first";
        rc = report_failure(&run, CURLE_OPERATION_TIMEDOUT, err);
    } else {
        uint64_t left = call->deadline_ms - now;

        (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                               (long)(left < INT32_MAX ? left : INT32_MAX));
        curl = curl_easy_perform(easy);
        (void)curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &before_us);
        /* A body that was cut is refused by its length, and by its signed hash. */
        call->sent = before_us > 0 && (!call->has_body || run.given == run.total);
        call->status = call->head.status;
        if (curl != CURLE_OK)
            rc = report_failure(&run, curl, err);
    }
    dx_trace("%s %.*s, %llu bytes: status %d, %llu ms", call->method, (int)strcspn(call->url, "?"),
             call->url, (unsigned long long)run.given, call->status,
             (unsigned long long)(dx_clock_ms() - now));
    if (easy != NULL)
        put_handle(client, easy);
    return rc;
}

void dx_http_call_release(struct dx_http_call *call)
{
    dx_buf_release(&call->body);
    curl_slist_free_all(call->headers);
    call->headers = NULL;
}

const char *dx_http_library(void)
{
    return curl_version();
}
