/* SPDX-License-Identifier: Apache-2.0
 * http_attempt.h - one attempt at a GET: its libcurl handle, what came, whether it is accepted.
 *
 *   struct dx_http_attempt *t = dx_http_attempt_new(&settings, &get, to);
 *   rc = dx_http_attempt_prepare(t, easy, fresh, &err);       then the handle may run on a multi
 *   expires = dx_http_attempt_expires_ms(t, &which);          while it runs: when it is too slow
 *   refusal = dx_http_attempt_end(t, curl_code);              it has ended: accepted, or why not
 *   rc = dx_http_fail(&get, t, curl_code, words, &err);   sets err; t may be NULL
 *   easy = dx_http_attempt_free(&t);                          not on a multi any more; for the next one
 *
 * A range goes to `to`, which has want.size bytes; a whole object to get->out. Settings and get
 * outlive the attempt, and what is at get is read only. One thread at a time.
 */
#ifndef DX_FETCH_HTTP_ATTEMPT_H
#define DX_FETCH_HTTP_ATTEMPT_H

#include "base/buf.h"
#include "base/error.h"
#include "fetch/fetch_limits.h"

#include <curl/curl.h>

struct dx_signing;

/* Of a source; they belong to its batches, so that one multi serves many sources. */
struct dx_http_settings {
    unsigned connect_ms;
    unsigned first_byte_ms;
    unsigned stall_ms;
    unsigned bytes_per_s_min;
    struct dx_retry_policy retry;
    struct dx_fetch_limits *limits;
    const char *ca_file;
    struct dx_signing *signing; /* NULL: not signed */
    bool hedge;
    atomic_bool *http2;                 /* set when a reply came over HTTP/2 */
    _Atomic uint64_t *suspect_until_ms; /* connections that are shared are not trusted */
};

#define DX_STORE_CODE_MAX 63

struct dx_http_get {
    const char *url;
    struct dx_range_want want; /* whole: size is the cap */
    uint8_t *to;               /* of a range; NULL: the whole object goes to out */
    struct dx_buf *out;
    const char *if_none_match;
    /* results */
    struct dx_reply reply;
    enum dx_refusal refusal;
    unsigned attempts;
    char store_code[DX_STORE_CODE_MAX + 1]; /* "SlowDown" of <Code>SlowDown</Code>; "": none */
    bool accepted;
    bool failed; /* the one that ended the batch */
};

#define DX_HTTP_NOTE_MAX 1024 /* of the body of an error, for the store's own word on it */

struct dx_http_attempt {
    const struct dx_http_settings *settings;
    const struct dx_http_get *get;
    void *owner; /* of the engine that runs it */
    uint8_t *to;
    size_t out_before; /* size of get->out without this attempt */
    CURL *easy;
    struct curl_slist *headers;
    struct dx_reply reply;
    enum dx_refusal refusal;
    bool head_ended;     /* all of it came: what is not in it was not sent */
    bool head_checked;   /* refusal is the one of the head */
    const char *expired; /* which of our timers ended the attempt */
    uint64_t started_ms;
    uint64_t progress_ms;
    size_t note_size;
    char note[DX_HTTP_NOTE_MAX + 1];
    char words[CURL_ERROR_SIZE];
};

/* NULL: out of memory. */
struct dx_http_attempt *dx_http_attempt_new(const struct dx_http_settings *settings,
                                            const struct dx_http_get *get, uint8_t *to);
CURL *dx_http_attempt_free(struct dx_http_attempt **t);

/* Takes easy over, also after an error. */
int dx_http_attempt_prepare(struct dx_http_attempt *t, CURL *easy, bool fresh,
                            struct dx_error *err);
uint64_t dx_http_attempt_expires_ms(const struct dx_http_attempt *t, const char **which);
enum dx_refusal dx_http_attempt_end(struct dx_http_attempt *t, CURLcode code);

/* From its beginning to the first byte of the reply. */
uint64_t dx_http_attempt_first_byte_ms(const struct dx_http_attempt *t);

/* What kind of failure it was, for dx_retry_decide. */
enum dx_retry_class dx_http_attempt_class(const struct dx_http_attempt *t, CURLcode code);

/* The store's word on a refusal; "" if there is none. Only letters: it goes to a log. */
void dx_http_attempt_store_code(struct dx_http_attempt *t, char code[DX_STORE_CODE_MAX + 1]);

/* what: what happens next, "not retried". */
int dx_http_fail(const struct dx_http_get *get, const struct dx_http_attempt *t, CURLcode code,
                 const char *what, struct dx_error *err);

#endif
