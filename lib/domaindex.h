/* SPDX-License-Identifier: Apache-2.0
 * domaindex.h - libdomaindex: the answers of the HTTP API without a server, and the canonical form.
 *
 *   struct domaindex_error err;
 *   struct domaindex_root *root;
 *   struct domaindex_answer *answer;
 *
 *   rc = domaindex_open(&root, "s3://bucket/prefix", NULL, &err);     or a directory, or http(s)://
 *   rc = domaindex_get(root, "/v1/domain/example.com", &answer, &err);
 *   body = domaindex_answer_body(answer, &size);                      the JSON that a server sends
 *   domaindex_answer_free(&answer);
 *   domaindex_close(&root);
 *
 *   struct domaindex_canon *canon;
 *   rc = domaindex_canon_of(root, &canon, &err);                      with the root's suffix list
 *   rc = domaindex_canon_url(canon, text, size, &url, &err);          1; 0: url.reject says why not
 *   domaindex_canon_free(&canon);
 *
 * Programs: `cc program.c $(pkg-config --cflags --libs domaindex)`, or find_package(domaindex) and
 * domaindex::domaindex of CMake. packaging/library_example.c is a whole one.
 *
 * Errors. Functions that can fail return a negative code and fill `err` (which may be NULL). A
 * question that has no answer is not an error of the function: domaindex_get then returns 0, and
 * the answer is the problem document with its status, as docs/API.md lists them.
 *
 * Memory. What a function gives through a pointer to a pointer is the caller's, to be freed by the
 * function of its kind, which takes the address and sets it to NULL; NULL is fine. Pointers that an
 * answer or a batch gives are valid until it is freed.
 *
 * Threads. A root may be used by any number of threads at once, but for domaindex_close. An answer, a canonicaliser
 * and a batch are for one thread at a time. After fork() a child uses only roots that it opened
 * itself. The library starts no thread that outlives a call, sets no signal handler and writes
 * nothing to the standard streams.
 *
 * Files. Published index files are never written again; truncating one that is open ends the
 * process with SIGBUS. Only the local copy of the index of a remote root is written. Nothing holds
 * a version for a process of this library (servers have leases): let `domaindex gc` keep versions
 * for longer than a process needs to take notice of new ones (domaindex_refresh).
 *
 * Environment. Remote roots are reached with AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID and
 * the others that domaindex(1) names.
 *
 * Stability. Functions, members and numbers here stay as they are while DOMAINDEX_ABI and the
 * library's SONAME do. Structures that callers fill begin with their size, so that later ones can
 * be longer.
 */
#ifndef DX_LIB_DOMAINDEX_H
#define DX_LIB_DOMAINDEX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DOMAINDEX_ABI 1

/* "1.0.0-rc1" or the like, and DOMAINDEX_ABI, of the library that was loaded. */
const char *domaindex_version(void);
int domaindex_abi(void);

/* ---- errors ---- */

enum domaindex_code {
    DOMAINDEX_OK = 0,
    DOMAINDEX_E_IO = -1,
    DOMAINDEX_E_NOMEM = -2,
    DOMAINDEX_E_TRUNCATED = -3,   /* fewer bytes than the layout needs */
    DOMAINDEX_E_CORRUPT = -4,     /* bytes contradict the layout or their checksum */
    DOMAINDEX_E_UNSUPPORTED = -5, /* well-formed, but of a kind that is refused */
    DOMAINDEX_E_LIMIT = -6,
    DOMAINDEX_E_INVALID = -7, /* an argument */
    DOMAINDEX_E_NOT_FOUND = -8,
    DOMAINDEX_E_BUSY = -9,
    DOMAINDEX_E_TIMEOUT = -10,
    DOMAINDEX_E_CONFLICT = -11, /* the object is another one now */
    DOMAINDEX_E_DENIED = -14    /* the store does not let us */
};

struct domaindex_error {
    int32_t code;    /* of enum domaindex_code; others may be added */
    char text[1020]; /* one line: what failed, on which object, what to do */
};

/* ---- a root ---- */

struct domaindex_root;

struct domaindex_options {
    size_t size;           /* sizeof(struct domaindex_options) */
    const char *version;   /* its name or number, to answer from it; NULL: the current one */
    const char *cache_dir; /* for the local copy of a remote index; NULL: the user's cache folder */
    uint64_t cache_bytes;  /* of decoded pages and lists; 0: 192 MiB */
    int verify;            /* hash all local files of the index first */
};

/* options NULL: the defaults. */
int domaindex_open(struct domaindex_root **root, const char *name,
                   const struct domaindex_options *options, struct domaindex_error *err);
void domaindex_close(struct domaindex_root **root);

/* Looks whether there is a newer version, or other suppressions. 1: what is answered has changed,
 * 0: it has not, <0: it could not be read, and the root goes on with what it has. A root that was
 * opened with a version keeps it; suppressions are renewed all the same. */
int domaindex_refresh(struct domaindex_root *root, struct domaindex_error *err);

/* ---- answers ---- */

struct domaindex_answer;

/* target: path and query as in a request of the HTTP API, escapes and all: "/v1/datasets?limit=5".
 * 1: answered (status 200), 0: a problem document (status 400 and more), <0: no answer could be
 * made at all. */
int domaindex_get(struct domaindex_root *root, const char *target, struct domaindex_answer **answer,
                  struct domaindex_error *err);

/* As POST /v1/domains: list is text with a name a line. target: "/v1/domains?format=ndjson". The
 * list and its answer are in memory: for long lists call it with some thousand names each time. */
int domaindex_post(struct domaindex_root *root, const char *target, const char *list, size_t size,
                   struct domaindex_answer **answer, struct domaindex_error *err);

/* GET /v1/domain/{domain}, and a page of its listing: of one dataset, or of all of them, dataset_id
 * being -1. cursor: next_cursor of the page before; NULL: the first page. limit 0: the usual one.
 * Names need no escapes here. */
int domaindex_lookup(struct domaindex_root *root, const char *domain,
                     struct domaindex_answer **answer, struct domaindex_error *err);
int domaindex_urls(struct domaindex_root *root, const char *domain, int64_t dataset_id,
                   const char *cursor, uint32_t limit, struct domaindex_answer **answer,
                   struct domaindex_error *err);

int domaindex_answer_status(const struct domaindex_answer *answer);       /* of HTTP */
const char *domaindex_answer_type(const struct domaindex_answer *answer); /* "application/json" */
const char *domaindex_answer_version(const struct domaindex_answer *answer); /* "": of none */
unsigned domaindex_answer_retry_s(const struct domaindex_answer *answer);    /* 0: not worth it */
/* A zero byte, which size does not count, stands behind the body. */
const char *domaindex_answer_body(const struct domaindex_answer *answer, size_t *size);
void domaindex_answer_free(struct domaindex_answer **answer);

/* ---- the canonical form ---- */

struct domaindex_canon;

/* text NULL: the system's Public Suffix List (Debian: package publicsuffix). */
int domaindex_canon_new(struct domaindex_canon **canon, const char *suffix_list, size_t size,
                        struct domaindex_error *err);
/* With the list of the version that the root answers from: domains as that version has them. */
int domaindex_canon_of(struct domaindex_root *root, struct domaindex_canon **canon,
                       struct domaindex_error *err);
void domaindex_canon_free(struct domaindex_canon **canon);

/* DX_CANON_VERSION of docs/CANON.md: the number of the rules. */
int domaindex_canon_rules(void);

struct domaindex_text {
    const char *data; /* not ended by a zero byte */
    size_t size;
};

struct domaindex_url {
    struct domaindex_text url; /* scheme "://" host path_query; borrowed until the next call */
    struct domaindex_text domain, scheme, host, path_query;
    uint64_t domain_id, url_id;
    int reject; /* 0, or the reason: domaindex_reject_name */
};

/* 1 with *url filled; 0: rejected, url->reject says why, and all else is empty. */
int domaindex_canon_url(struct domaindex_canon *canon, const char *text, size_t size,
                        struct domaindex_url *url, struct domaindex_error *err);

/* "empty", "too_long", "scheme", ...: the words of `domaindex normalize` and of rejects files. 0:
 * "none"; NULL: there is no such number. */
const char *domaindex_reject_name(int reject);

/* Many at once, in the layout of Apache Arrow: text i is data[offset[i] .. offset[i + 1]). */
struct domaindex_strings {
    size_t count;
    const int32_t *offset; /* count + 1 of them, ascending, the first one 0 or more */
    const char *data;
    size_t data_size; /* no offset is larger */
};

enum domaindex_column {
    DOMAINDEX_URL,
    DOMAINDEX_DOMAIN,
    DOMAINDEX_SCHEME,
    DOMAINDEX_HOST,
    DOMAINDEX_PATH_QUERY,
    DOMAINDEX_COLUMNS
};

struct domaindex_batch;

/* Of rejected texts all columns are empty, ids 0 and reject is not. DOMAINDEX_E_LIMIT: a column
 * would be over 2 GiB; make smaller batches. */
int domaindex_canon_batch(struct domaindex_canon *canon, const struct domaindex_strings *texts,
                          struct domaindex_batch **batch, struct domaindex_error *err);
size_t domaindex_batch_count(const struct domaindex_batch *batch);
size_t domaindex_batch_rejected(const struct domaindex_batch *batch);
/* 0; DOMAINDEX_E_INVALID: there is no such column. */
int domaindex_batch_strings(const struct domaindex_batch *batch, int column,
                            struct domaindex_strings *strings);
const uint64_t *domaindex_batch_domain_ids(const struct domaindex_batch *batch);
const uint64_t *domaindex_batch_url_ids(const struct domaindex_batch *batch);
const uint8_t *domaindex_batch_rejects(const struct domaindex_batch *batch);
void domaindex_batch_free(struct domaindex_batch **batch);

#ifdef __cplusplus
}
#endif

#endif
