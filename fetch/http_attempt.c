/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/http_attempt.h"

#include "base/release.h"
#include "fetch/fetch_counts.h"
#include "fetch/signing.h"
#include "fetch/source.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define DRAIN_MAX \
    16384 /* of the body of an error: less than this is read so that the connection can be used
           * again */
#define KEEPALIVE_IDLE_S 30 /* NATs and balancers forget a silent connection after a minute or so */
#define KEEPALIVE_INTERVAL_S 10

struct dx_http_attempt *dx_http_attempt_new(const struct dx_http_settings *settings,
                                            const struct dx_http_get *get, uint8_t *to)
{
    struct dx_http_attempt *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    t->settings = settings;
    t->get = get;
    t->to = to;
    t->out_before = get->out != NULL ? get->out->size : 0;
    t->refusal = DX_REPLY_NO_STATUS;
    dx_reply_begin(&t->reply);
    return t;
}

CURL *dx_http_attempt_free(struct dx_http_attempt **out)
{
    struct dx_http_attempt *t = *out;
    CURL *easy;

    *out = NULL;
    if (t == NULL)
        return NULL;
    easy = t->easy;
    curl_slist_free_all(t->headers);
    free(t);
    return easy;
}

/* Interim replies have heads too: the last one counts. */
static void note_head(struct dx_http_attempt *t, const char *line, size_t n)
{
    if (n >= 5 && memcmp(line, "HTTP/", 5) == 0)
        t->head_ended = false;
    else if (n > 0 && (line[0] == '\r' || line[0] == '\n'))
        t->head_ended = true;
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
    struct dx_http_attempt *t = arg;

    (void)one;
    dx_reply_header(&t->reply, dx_span_of(line, n));
    note_head(t, line, n);
    t->progress_ms = dx_clock_ms();
    if (!dx_reply_lines_full(&t->reply))
        return n;
    t->head_checked = true;
    t->refusal = DX_REPLY_MALFORMED;
    return 0;
}

static bool is_range(const struct dx_http_attempt *t)
{
    return t->get->to != NULL;
}

static enum dx_refusal check_head(const struct dx_http_attempt *t)
{
    return is_range(t) ? dx_range_reply_head(&t->reply, &t->get->want)
                       : dx_whole_reply_head(&t->reply, &t->get->want);
}

static enum dx_refusal check_all(const struct dx_http_attempt *t)
{
    return is_range(t) ? dx_range_reply_check(&t->reply, &t->get->want)
                       : dx_whole_reply_check(&t->reply, &t->get->want);
}

/* What of a refused reply is read on: the words of an error, not a body without end. */
static size_t keep_note(struct dx_http_attempt *t, const char *data, size_t n)
{
    size_t room = DX_HTTP_NOTE_MAX - t->note_size;

    memcpy(t->note + t->note_size, data, n < room ? n : room);
    t->note_size += n < room ? n : room;
    return t->reply.status >= 400 && t->reply.received <= DRAIN_MAX ? n : 0;
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
    struct dx_http_attempt *t = arg;
    uint64_t at = t->reply.received;

    (void)one;
    if (!t->head_checked) {
        t->head_checked = true;
        t->refusal = check_head(t);
    }
    dx_reply_body(&t->reply, n);
    t->progress_ms = dx_clock_ms();
    if (t->refusal != DX_REPLY_ACCEPTED)
        return keep_note(t, data, n);
    if (t->reply.received > t->get->want.size) {
        t->refusal = is_range(t) ? DX_REPLY_BODY_LONG : DX_REPLY_TOO_LARGE;
        return 0;
    }
    if (is_range(t)) {
        memcpy(t->to + at, data, n);
        return n;
    }
    dx_buf_append(t->get->out, data, n);
    return t->get->out->failed ? 0 : n;
}

static bool add_header(struct dx_http_attempt *t, const char *name, const char *value)
{
    char line[4096];
    struct curl_slist *longer;
    int n = snprintf(line, sizeof line, "%s: %s", name, value);

    if (n < 0 || (size_t)n >= sizeof line)
        return false;
    longer = curl_slist_append(t->headers, line);
    if (longer != NULL)
        t->headers = longer;
    return longer != NULL;
}

/* The signature is the last, and made at the last moment: it has a date. */
static int set_headers(struct dx_http_attempt *t, struct dx_error *err)
{
    const struct dx_signing_request request = { "GET", t->get->url, DX_SHA256_OF_NOTHING, true };
    bool ok = true;

    if (t->get->want.etag != NULL)
        ok = ok && add_header(t, "If-Match", t->get->want.etag);
    if (t->get->if_none_match != NULL)
        ok = ok && add_header(t, "If-None-Match", t->get->if_none_match);
    if (!ok)
        return dx_no_memory(err, "%s", t->get->url);
    return t->settings->signing == NULL
               ? DX_OK
               : dx_signing_apply(t->settings->signing, &request, &t->headers, err);
}

static int set_callbacks(struct dx_http_attempt *t)
{
    CURL *e = t->easy;
    int bad = 0;

    bad |= (int)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->words);
    bad |= (int)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    bad |= (int)curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    bad |= (int)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    bad |= (int)curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    return bad;
}

/* A host that is gone acknowledges nothing. One that shares its connection among many requests is
 * never without one, so it would be asked again and again; this way the kernel ends it. */
static int set_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    const struct dx_http_attempt *t = arg;
    const struct dx_http_settings *s = t->settings;
    unsigned ms = s->connect_ms + s->first_byte_ms + s->stall_ms;

    (void)purpose;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
    return CURL_SOCKOPT_OK;
}

static bool http2_known(const struct dx_http_attempt *t)
{
    return atomic_load_explicit(t->settings->http2, memory_order_relaxed);
}

static int set_connection(struct dx_http_attempt *t, bool fresh)
{
    CURL *e = t->easy;
    int bad = 0;

    bad |= (int)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)t->settings->connect_ms);
    bad |= (int)curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    bad |= (int)curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, fresh ? 1L : 0L);
    /* Over TLS, where it is agreed upon; a store without TLS is spoken to in HTTP/1.1. */
    bad |= (int)curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    /* To wait for a connection that is being made pays only if it can be shared; with a store that
     * speaks HTTP/1.1, as Amazon's does, each batch would begin a handshake later. */
    bad |= (int)curl_easy_setopt(e, CURLOPT_PIPEWAIT, !fresh && http2_known(t) ? 1L : 0L);
    /* A name that led to a host that failed is asked for again: it may lead to another one. */
    if (fresh)
        bad |= (int)curl_easy_setopt(e, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, set_socket);
    bad |= (int)curl_easy_setopt(e, CURLOPT_SOCKOPTDATA, t);
    bad |= (int)curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    bad |= (int)curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
    /* Without it, giving up an attempt waits for its resolver, and the deadline with it: the
     * thread that resolves is left to end by itself. */
    bad |= (int)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
    if (t->settings->ca_file != NULL)
        bad |= (int)curl_easy_setopt(e, CURLOPT_CAINFO, t->settings->ca_file);
    return bad;
}

static bool set_options(struct dx_http_attempt *t, bool fresh)
{
    const struct dx_http_get *get = t->get;
    char range[64];
    CURL *e = t->easy;
    int bad = set_callbacks(t) | set_connection(t, fresh);

    bad |= (int)curl_easy_setopt(e, CURLOPT_URL, get->url);
    bad |= (int)curl_easy_setopt(e, CURLOPT_NOPROGRESS, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR,
                                 strncmp(get->url, "https:", 6) == 0 ? "https" : "http");
    bad |= (int)curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS_STR, "https");
    bad |= (int)curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    bad |= (int)curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    bad |= (int)curl_easy_setopt(e, CURLOPT_USERAGENT, dx_release_agent());
    /* Set this way it is not a header of ours, hence not signed: proxies may change it. */
    bad |= (int)curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "identity");
    bad |= (int)curl_easy_setopt(e, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    if (is_range(t)) {
        (void)snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)get->want.offset,
                       (unsigned long long)(get->want.offset + get->want.size - 1));
        bad |= (int)curl_easy_setopt(e, CURLOPT_RANGE, range);
    }
    bad |= (int)curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
    return bad == 0;
}

int dx_http_attempt_prepare(struct dx_http_attempt *t, CURL *easy, bool fresh, struct dx_error *err)
{
    int rc;

    t->easy = easy;
    rc = set_headers(t, err);
    if (rc < 0)
        return rc;
    if (easy == NULL || !set_options(t, fresh))
        return dx_fail(err, DX_E_NOMEM, "%s: out of memory: libcurl refuses the request",
                       t->get->url);
    t->started_ms = t->progress_ms = dx_clock_ms();
    return DX_OK;
}

uint64_t dx_http_attempt_expires_ms(const struct dx_http_attempt *t, const char **which)
{
    const struct dx_http_settings *s = t->settings;
    uint64_t first = t->started_ms + s->connect_ms + s->first_byte_ms;
    uint64_t size = is_range(t)            ? t->get->want.size
                    : t->reply.lengths > 0 ? t->reply.length
                                           : t->reply.received;
    uint64_t stall = t->progress_ms + s->stall_ms;
    uint64_t all = first + s->stall_ms + size / (s->bytes_per_s_min / 1000 + 1);

    if (t->reply.status == 0) {
        *which = "no reply in time";
        return first;
    }
    *which = stall < all ? "the reply stalled" : "the reply came too slowly";
    return stall < all ? stall : all;
}

static void count_end(const struct dx_http_attempt *t, bool good, bool ended)
{
    dx_fetch_count(DX_COUNT_RECEIVED_BYTES, t->reply.received);
    if (t->expired != NULL)
        dx_fetch_count(DX_COUNT_TOO_SLOW, 1);
    else if (good && ended)
        dx_fetch_count(DX_COUNT_ACCEPTED, 1);
    else if (good || t->refusal == DX_REPLY_NO_STATUS)
        dx_fetch_count(DX_COUNT_BROKEN, 1);
    else
        dx_fetch_count_refused(t->refusal);
}

enum dx_refusal dx_http_attempt_end(struct dx_http_attempt *t, CURLcode code)
{
    bool ended = code == CURLE_OK;
    bool good;

    if (!t->head_checked && !t->head_ended) {
        t->refusal = DX_REPLY_NO_STATUS; /* libcurl calls a head that breaks off a success */
    } else if (ended) {
        t->refusal = check_all(t);
        if (t->refusal == DX_REPLY_NOT_MODIFIED && t->get->if_none_match == NULL)
            t->refusal = DX_REPLY_STATUS;
    } else if (!t->head_checked) {
        t->head_checked = true;
        t->refusal = check_head(t);
    }
    good = t->refusal == DX_REPLY_ACCEPTED || t->refusal == DX_REPLY_NOT_MODIFIED;
    count_end(t, good, ended);
    if (good && ended) {
        if (!t->reply.http1 && !http2_known(t))
            atomic_store_explicit(t->settings->http2, true, memory_order_relaxed);
        return t->refusal;
    }
    if (t->get->out != NULL)
        t->get->out->size = t->out_before;
    /* Good as far as it goes, but it broke off. */
    return good ? DX_REPLY_NO_STATUS : t->refusal;
}

uint64_t dx_http_attempt_first_byte_ms(const struct dx_http_attempt *t)
{
    curl_off_t us = 0;

    (void)curl_easy_getinfo(t->easy, CURLINFO_STARTTRANSFER_TIME_T, &us);
    return us > 0 ? (uint64_t)us / 1000 : 0;
}

static bool never_again(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
           code == CURLE_URL_MALFORMAT || code == CURLE_OUT_OF_MEMORY ||
           code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_ISSUER_ERROR ||
           code == CURLE_FAILED_INIT || code == CURLE_NOT_BUILT_IN;
}

/* Of libcurl, or for the object: a buffer that failed takes no other reply. */
static bool lacks_memory(const struct dx_http_attempt *t, CURLcode code)
{
    return code == CURLE_OUT_OF_MEMORY || (t->get->out != NULL && t->get->out->no_memory);
}

enum dx_retry_class dx_http_attempt_class(const struct dx_http_attempt *t, CURLcode code)
{
    if (never_again(code) || lacks_memory(t, code))
        return DX_RETRY_NEVER;
    /* A transfer that broke off under a good head, or without any, is the network's fault. */
    if (t->refusal == DX_REPLY_ACCEPTED || t->refusal == DX_REPLY_NO_STATUS)
        return DX_RETRY_TRANSIENT;
    return dx_retry_class_of(t->refusal);
}

void dx_http_attempt_store_code(struct dx_http_attempt *t, char code[DX_STORE_CODE_MAX + 1])
{
    const char *at;
    size_t n = 0;

    t->note[t->note_size] = '\0';
    at = strstr(t->note, "<Code>");
    for (at = at == NULL ? "" : at + 6;
         n < DX_STORE_CODE_MAX && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')); at++)
        code[n++] = *at;
    code[n] = '\0';
}

static enum dx_code code_of(const struct dx_http_attempt *t, enum dx_refusal refusal, CURLcode curl)
{
    if (t == NULL || t->expired != NULL || curl == CURLE_OPERATION_TIMEDOUT)
        return DX_E_TIMEOUT;
    if (lacks_memory(t, curl))
        return DX_E_NOMEM;
    switch (refusal) {
    case DX_REPLY_NOT_FOUND:
        return DX_E_NOT_FOUND;
    case DX_REPLY_CHANGED:
    case DX_REPLY_NO_ETAG: /* where one is known */
    case DX_REPLY_ETAG_WEAK:
    case DX_REPLY_OTHER_ETAG:
    case DX_REPLY_OTHER_TOTAL:
        return DX_E_CONFLICT;
    case DX_REPLY_RANGE_IMPOSSIBLE:
        return DX_E_TRUNCATED;
    case DX_REPLY_THROTTLED:
        return DX_E_BUSY;
    case DX_REPLY_TOO_LARGE:
        return DX_E_LIMIT;
    case DX_REPLY_NO_STATUS:
    case DX_REPLY_ACCEPTED: /* the transfer failed although its head was good */
    case DX_REPLY_FORBIDDEN:
    case DX_REPLY_REDIRECT:
    case DX_REPLY_SERVER_ERROR:
    case DX_REPLY_STATUS:
    case DX_REPLY_BODY_SHORT: /* cut on the way, since the head was right */
        return DX_E_IO;
    default:
        return DX_E_CORRUPT;
    }
}

int dx_http_fail(const struct dx_http_get *get, const struct dx_http_attempt *t, CURLcode code,
                 const char *what, struct dx_error *err)
{
    enum dx_refusal refusal = t != NULL ? t->refusal : get->refusal;
    const struct dx_reply *reply = t != NULL ? &t->reply : &get->reply;
    char range[64] = "";
    char status[96] = "";
    const char *reason = t == NULL               ? "the deadline came first"
                         : t->expired != NULL    ? t->expired
                         : lacks_memory(t, code) ? curl_easy_strerror(CURLE_OUT_OF_MEMORY)
                         : refusal != DX_REPLY_NO_STATUS && refusal != DX_REPLY_ACCEPTED
                             ? dx_refusal_words(refusal)
                         : t->words[0] != '\0' ? t->words
                         : code == CURLE_OK    ? "the reply ends in its head"
                                               : curl_easy_strerror(code);

    if (get->to != NULL)
        (void)snprintf(range, sizeof range, " bytes %llu-%llu",
                       (unsigned long long)get->want.offset,
                       (unsigned long long)(get->want.offset + get->want.size - 1));
    if (reply->status != 0)
        (void)snprintf(status, sizeof status, " (HTTP %u%s%s)", reply->status,
                       get->store_code[0] != '\0' ? " " : "", get->store_code);
    return dx_fail(err, code_of(t, refusal, code), "%s%s: %s%s; attempt %u, %s", get->url, range,
                   reason, status, get->attempts, what);
}
