/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/signing.h"

#include "base/buf.h"
#include "base/crypto/secret.h"
#include "base/quiet_thread.h"
#include "fetch/credentials.h"
#include "fetch/credentials_find.h"
#include "fetch/retry.h"
#include "fetch/sigv4.h"
#include "fetch/source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

#define REGION_MAX 64
#define EARLY_S 300    /* renewed so long before they expire... */
#define JITTER_S 60    /* ...and up to this much more, so that a fleet does not ask at once */
#define AGAIN_MS 10000 /* after a renewal, good or not, the service is left alone so long */
#define LINE_MAX_SIZE 16384
#define SKEW_MIN_S 2 /* less is not why a request was refused: they allow minutes */

struct dx_signing {
    char region[REGION_MAX];
    char *profile; /* NULL: not named */
    enum dx_credentials_from from;
    pthread_mutex_t lock; /* of all below; not held while a service is asked */
    pthread_cond_t renewed;
    struct dx_credentials credentials;
    bool refused;     /* by the store: of no use any more */
    bool renewing;    /* by one thread */
    bool worker_made; /* worker has to be joined */
    bool orphan;      /* closed while `worker` is at work */
    pthread_t worker;
    uint64_t next_ms; /* not asked again before, on the monotonic clock */
    int64_t early_s;
    int64_t offset_s;      /* store's clock minus ours */
    struct dx_error error; /* of the last renewal */
};

static int64_t unix_now(void)
{
    return (int64_t)time(NULL);
}

static int64_t jitter_s(void)
{
    uint32_t random = 0;

    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = (uint32_t)dx_clock_ms();
    return EARLY_S + random % JITTER_S;
}

int dx_signing_open(struct dx_signing **out, const char *region, const char *profile,
                    struct dx_error *err)
{
    struct dx_signing *s = calloc(1, sizeof *s);
    int rc = DX_OK;

    *out = NULL;
    dx_secret_held();
    if (s == NULL || (profile != NULL && (s->profile = strdup(profile)) == NULL))
        rc = dx_no_memory(err, "S3");
    else if (strlen(region) >= REGION_MAX)
        rc = dx_fail(err, DX_E_INVALID, "'%.64s...' is not the name of an S3 region", region);
    else
        rc = dx_credentials_find(&s->credentials, &s->from, profile, err);
    if (rc < 0) {
        if (s != NULL)
            free(s->profile);
        free(s);
        return rc;
    }
    (void)snprintf(s->region, sizeof s->region, "%s", region);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->renewed, NULL);
    s->early_s = jitter_s();
    *out = s;
    return DX_OK;
}

static bool same_credentials(const struct dx_credentials *a, const struct dx_credentials *b)
{
    return strcmp(a->key_id, b->key_id) == 0 && strcmp(a->secret, b->secret) == 0 &&
           strcmp(a->token, b->token) == 0;
}

/* With the lock, and `renewing` set by the caller; asks without the lock. What does not come, or
 * comes as it was, leaves the old ones in place. */
static void renew_credentials(struct dx_signing *s)
{
    struct dx_credentials *fresh = malloc(sizeof *fresh);
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    (void)pthread_mutex_unlock(&s->lock);
    rc = fresh == NULL ? dx_no_memory(&err, "S3 credentials")
                       : dx_credentials_renew(fresh, s->from, s->profile, &err);
    (void)pthread_mutex_lock(&s->lock);
    if (rc == DX_OK && s->refused && same_credentials(fresh, &s->credentials))
        rc = dx_fail(&err, DX_E_IO, "where they came from there are still the same");
    if (rc == DX_OK) {
        s->credentials = *fresh;
        s->refused = false;
        s->early_s = jitter_s();
    }
    s->error = err;
    s->next_ms = dx_clock_ms() + AGAIN_MS;
    s->renewing = false;
    (void)pthread_cond_broadcast(&s->renewed);
    if (fresh != NULL)
        dx_credentials_forget(fresh);
    free(fresh);
}

static void destroy(struct dx_signing *s)
{
    (void)pthread_cond_destroy(&s->renewed);
    (void)pthread_mutex_destroy(&s->lock);
    dx_credentials_forget(&s->credentials);
    free(s->profile);
    free(s);
}

static void *renew_beside(void *arg)
{
    struct dx_signing *s = arg;
    bool orphan;

    (void)pthread_mutex_lock(&s->lock);
    renew_credentials(s);
    orphan = s->orphan;
    (void)pthread_mutex_unlock(&s->lock);
    if (orphan)
        destroy(s);
    return NULL;
}

/* The caller may be an event loop: a renewal under way is not waited for, and frees it. */
void dx_signing_close(struct dx_signing **out)
{
    struct dx_signing *s = *out;

    *out = NULL;
    if (s == NULL)
        return;
    (void)pthread_mutex_lock(&s->lock);
    s->orphan = s->worker_made && s->renewing;
    if (s->orphan) {
        (void)pthread_detach(s->worker);
        (void)pthread_mutex_unlock(&s->lock);
        return;
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (s->worker_made)
        (void)pthread_join(s->worker, NULL);
    destroy(s);
}

/* With the lock. A thread of its own: the caller may be an event loop. */
static void renew_early(struct dx_signing *s)
{
    if (s->renewing || dx_clock_ms() < s->next_ms)
        return;
    /* The last one has let go of `renewing`: it ends at once. */
    if (s->worker_made) {
        pthread_t last = s->worker;

        s->worker_made = false;
        s->renewing = true;
        (void)pthread_mutex_unlock(&s->lock);
        (void)pthread_join(last, NULL);
        (void)pthread_mutex_lock(&s->lock);
    }
    s->renewing = true;
    s->worker_made = dx_quiet_thread(&s->worker, renew_beside, s) == 0;
    if (!s->worker_made) {
        s->renewing = false;
        s->next_ms = dx_clock_ms() + AGAIN_MS;
        (void)pthread_cond_broadcast(&s->renewed);
    }
}

/* With the lock: credentials to sign with, or the words on why there are none. */
static int have_credentials(struct dx_signing *s, bool at_once, struct dx_error *err)
{
    int64_t now = unix_now() + s->offset_s;
    int64_t expires = s->credentials.expires_s;

    if (!s->refused && (expires == 0 || now < expires - s->early_s))
        return DX_OK;
    if (!s->refused && now < expires) {
        renew_early(s);
        return DX_OK;
    }
    if (at_once) {
        renew_early(s);
        if (s->renewing)
            return dx_fail(err, DX_E_BUSY, "S3: credentials are on their way");
    }
    while (s->renewing)
        (void)pthread_cond_wait(&s->renewed, &s->lock);
    expires = s->credentials.expires_s;
    if (!at_once && (s->refused || (expires != 0 && now >= expires)) &&
        dx_clock_ms() >= s->next_ms) {
        s->renewing = true;
        renew_credentials(s);
    }
    /* Expired by our clock but not refused: the store decides. */
    if (s->refused) {
        *err = s->error;
        if (err->code == DX_OK)
            return dx_fail(err, DX_E_IO, "S3: the store refuses the credentials as expired");
        err->code = DX_E_IO; /* what was not found is not an object of the store */
        return dx_fail_in(err, "S3: the store refuses the credentials as expired, and new ones "
                               "cannot be had: see to the service, or set AWS_ACCESS_KEY_ID, "
                               "AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN");
    }
    return DX_OK;
}

static bool append_line(struct curl_slist **headers, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*headers, line);

    if (longer != NULL)
        *headers = longer;
    return longer != NULL;
}

static bool append_header(struct curl_slist **headers, const char *name, const char *value)
{
    char line[DX_CREDENTIAL_MAX + 64];
    int n = snprintf(line, sizeof line, "%s: %s", name, value);
    bool ok = n >= 0 && (size_t)n < sizeof line && append_line(headers, line);

    explicit_bzero(line, sizeof line);
    return ok;
}

struct url_parts {
    struct dx_span host, path, query;
};

static bool split_url(const char *url, struct url_parts *parts)
{
    const char *host = strstr(url, "://");
    size_t host_size;
    size_t path_size;

    if (host == NULL)
        return false;
    host += 3;
    host_size = strcspn(host, "/?");
    path_size = strcspn(host + host_size, "?");
    parts->host = dx_span_of(host, host_size);
    parts->path = path_size > 0 ? dx_span_of(host + host_size, path_size) : dx_span_str("/");
    parts->query = dx_span_str(host + host_size + path_size);
    if (parts->query.size > 0)
        parts->query = dx_span_of(parts->query.data + 1, parts->query.size - 1);
    return host_size > 0;
}

/* host and what is in the list; false if there is too much of it. */
static bool list_headers(const struct curl_slist *list, struct dx_span host,
                         struct dx_sigv4_header *to, size_t *count)
{
    to[0] = (struct dx_sigv4_header){ dx_span_str("host"), host };
    *count = 1;
    for (; list != NULL; list = list->next) {
        const char *colon = strchr(list->data, ':');

        if (colon == NULL || *count == DX_SIGV4_HEADERS_MAX)
            return false;
        if (colon[1] == '\0')
            continue; /* "Expect:" takes away a header of libcurl's, and is not sent */
        to[*count].name = dx_span_of(list->data, (size_t)(colon - list->data));
        to[*count].value = dx_span_str(colon + 1);
        (*count)++;
    }
    return true;
}

/* With the lock. */
static int sign_request(struct dx_signing *s, const struct dx_signing_request *request,
                        struct curl_slist **headers, struct dx_error *err)
{
    const struct dx_sigv4 with = { s->credentials.key_id, s->credentials.secret, s->region, "s3",
                                   unix_now() + s->offset_s };
    struct dx_sigv4_header list[DX_SIGV4_HEADERS_MAX];
    struct dx_sigv4_request r = { .method = request->method,
                                  .headers = list,
                                  .payload_sha256 = request->payload_sha256 };
    struct dx_buf line = DX_BUF_INIT(LINE_MAX_SIZE);
    char date[DX_SIGV4_DATE];
    struct url_parts parts;
    bool ok = split_url(request->url, &parts);

    dx_sigv4_date(with.unix_s, date);
    ok = ok && append_header(headers, "x-amz-date", date) &&
         append_header(headers, "x-amz-content-sha256", request->payload_sha256) &&
         (s->credentials.token[0] == '\0' ||
          append_header(headers, "x-amz-security-token", s->credentials.token)) &&
         list_headers(*headers, parts.host, list, &r.header_count);
    if (ok) {
        r.path = parts.path;
        r.query = parts.query;
        dx_buf_str(&line, "Authorization: ");
        ok = dx_sigv4_authorization(&with, &r, &line);
        dx_buf_u8(&line, '\0');
        ok = ok && !line.failed && append_line(headers, (const char *)line.data);
    }
    dx_buf_release(&line);
    return ok ? DX_OK
              : dx_fail(
                    err, DX_E_NOMEM,
                    "%s: cannot be signed: out of memory, or its fields are longer than %d bytes",
                    request->url, LINE_MAX_SIZE);
}

int dx_signing_apply(struct dx_signing *s, const struct dx_signing_request *request,
                     struct curl_slist **headers, struct dx_error *err)
{
    struct dx_error why = DX_ERROR_INIT;
    int rc;

    (void)pthread_mutex_lock(&s->lock);
    rc = have_credentials(s, request->at_once, &why);
    if (rc == DX_OK)
        rc = sign_request(s, request, headers, &why);
    (void)pthread_mutex_unlock(&s->lock);
    if (rc < 0 && err != NULL)
        *err = why;
    return rc;
}

static bool learn_clock(struct dx_signing *s, const char *date)
{
    int64_t at;
    int64_t offset;
    bool differs;

    if (!dx_retry_date(date, &at))
        return false;
    offset = at - unix_now();
    (void)pthread_mutex_lock(&s->lock);
    differs = llabs(offset - s->offset_s) > SKEW_MIN_S;
    s->offset_s = offset;
    (void)pthread_mutex_unlock(&s->lock);
    return differs;
}

/* Many requests signed with the same credentials are refused at once: the first refusal leads to
 * one renewal, the others profit from it. */
static bool force_renewal(struct dx_signing *s)
{
    bool again = true;

    (void)pthread_mutex_lock(&s->lock);
    if (s->from == DX_CREDENTIALS_ENVIRONMENT) {
        again = false; /* a process's environment does not change */
    } else if (s->renewing) {
        s->refused = true; /* the next to sign waits for it */
    } else if (dx_clock_ms() < s->next_ms) {
        s->refused = s->refused || s->error.code != DX_OK;
        again = !s->refused; /* they were renewed while this request was under way */
    } else {
        s->refused = true; /* the next to sign renews them */
    }
    (void)pthread_mutex_unlock(&s->lock);
    return again;
}

bool dx_signing_refused(struct dx_signing *s, const char *s3_code, const char *date)
{
    if (strcmp(s3_code, "RequestTimeTooSkewed") == 0 || strcmp(s3_code, "RequestExpired") == 0)
        return learn_clock(s, date);
    if (strcmp(s3_code, "ExpiredToken") == 0 || strcmp(s3_code, "TokenRefreshRequired") == 0 ||
        strcmp(s3_code, "InvalidToken") == 0)
        return force_renewal(s);
    return false;
}

int64_t dx_signing_expires_s(struct dx_signing *s)
{
    int64_t expires;

    (void)pthread_mutex_lock(&s->lock);
    expires = s->credentials.expires_s;
    (void)pthread_mutex_unlock(&s->lock);
    return expires;
}

int64_t dx_signing_offset_s(struct dx_signing *s)
{
    int64_t offset;

    (void)pthread_mutex_lock(&s->lock);
    offset = s->offset_s;
    (void)pthread_mutex_unlock(&s->lock);
    return offset;
}
