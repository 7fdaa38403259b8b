/* SPDX-License-Identifier: Apache-2.0
 * source.h - where the bytes of objects come from.
 *
 *   rc = dx_source_open_local(&src, "/data/root", &err);
 *   struct dx_read reads[2] = { { "index/v/postings/000/postings.idx.zst", 0, 812, to }, ... };
 *   rc = dx_source_read(src, reads, 2, &err);        one batch: all of them, or an error
 *   dx_source_close(&src);
 *
 *   struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
 *   rc = dx_source_open(&src, "s3://bucket/prefix", &options, &err);   fetch/source_open.h
 *   struct dx_source_batch batch = { .reads = reads, .pins = pins, .count = 2, .deadline_ms = d };
 *   rc = dx_source_read_batch(src, &batch, &err);      what is known of the objects is demanded
 *   rc = dx_source_get(src, &get, &buf, etag, &err); a small object whole: 1, or 0 not modified
 *
 * An object name is a relative path with plain components: no "..", no empty component,
 * not absolute. A batch is complete or failed: nothing short is ever success. The caller
 * owns `to` and checks checksums; a source promises only that the bytes are those the
 * store returned for that range. May block; safe from several threads at once.
 *
 * What `to` and `buf` hold after an error is not defined. Codes that callers act on:
 *   DX_E_NOT_FOUND   there is no such object
 *   DX_E_CONFLICT    the object is not the pinned one any more, or changed within the batch:
 *                    drop what is cached of it
 *   DX_E_TRUNCATED   it ends before the range does
 *   DX_E_BUSY        the store asks for fewer requests, also after retries
 *   DX_E_TIMEOUT     the deadline came first
 *   DX_E_CORRUPT     what came was not a reply to what was asked, also after retries
 *   DX_E_LIMIT       a whole object is larger than its cap
 */
#ifndef DX_FETCH_SOURCE_H
#define DX_FETCH_SOURCE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"

#include <stdatomic.h>

#define DX_SOURCE_ETAG 129 /* 128 bytes and NUL */

struct dx_source;
struct dx_fetch_limits;

struct dx_read {
    const char *object;
    uint64_t offset;
    size_t size;
    uint8_t *to;
};

/* What is known of the object of a read; a reply that contradicts it is refused. */
struct dx_pin {
    uint64_t total;   /* bytes of the whole object; 0: not known */
    const char *etag; /* as the store writes it, strong, with quotes; NULL: not known */
};

/* What a batch found out. `seen` is filled for each read that was accepted. */
struct dx_seen {
    char etag[DX_SOURCE_ETAG]; /* strong, with quotes; "" if the store gives none */
    uint64_t total;            /* bytes of the object; 0: unknown (a directory) */
};

struct dx_source_batch_report {
    struct dx_seen *seen; /* one a read, from the caller; NULL: not wanted */
    size_t failed;        /* after an error: the read it is of; count: of none */
    unsigned requests;    /* that it took: GETs with their retries, or reads of a file */
    unsigned retries;     /* of them; hedges are in neither */
    uint64_t bytes;       /* of what was accepted */
};

struct dx_source_batch {
    const struct dx_read *reads;
    const struct dx_pin *pins; /* one a read; NULL: nothing is known */
    size_t count;
    uint64_t deadline_ms;                  /* on the clock of dx_clock_ms; 0: the source's own */
    bool fresh;                            /* new connections: the last bytes were wrong ones */
    struct dx_source_batch_report *report; /* NULL: not wanted */
};

struct dx_get {
    const char *object;
    size_t cap;                /* larger objects are DX_E_LIMIT */
    struct dx_pin pin;         /* total and etag if known */
    const char *if_none_match; /* an etag that dx_source_get gave; NULL: unconditional */
    uint64_t deadline_ms;
};

struct dx_fetch;
struct dx_fetch_loop;
typedef void dx_fetch_done(void *ctx, int rc, const struct dx_error *err);

struct dx_source_ops {
    int (*read)(struct dx_source *src, const struct dx_source_batch *batch, struct dx_error *err);
    /* fetch/fetch_loop.h; NULL: reads block, as those of a disk do */
    int (*begin)(struct dx_source *src, struct dx_fetch_loop *loop,
                 const struct dx_source_batch *batch, dx_fetch_done *done, void *ctx,
                 struct dx_fetch **fetch, struct dx_error *err);
    int (*get)(struct dx_source *src, const struct dx_get *get, struct dx_buf *out,
               char etag[DX_SOURCE_ETAG], struct dx_error *err);
    void (*close)(struct dx_source *src);
};

/* The first member of each kind of source, zeroed but for ops when it is made. */
struct dx_source {
    const struct dx_source_ops *ops;
    _Atomic unsigned more; /* holders, but for the first */
};

/* Strings are borrowed until dx_source_open returns; NULL means the default named here. */
struct dx_source_options {
    const char *ca_file;            /* of certificates; the system's */
    const char *s3_endpoint;        /* AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else Amazon's */
    const char *s3_region;          /* AWS_REGION, AWS_DEFAULT_REGION, else us-east-1 */
    const char *s3_profile;         /* AWS_PROFILE, else "default" */
    bool s3_virtual_host;           /* bucket in the host name also for an endpoint of one's own */
    bool s3_anonymous;              /* requests are not signed */
    unsigned connect_ms;            /* DNS, TCP and TLS */
    unsigned first_byte_ms;         /* from there to the status line */
    unsigned stall_ms;              /* without a byte */
    unsigned bytes_per_s_min;       /* an attempt may last as long as its bytes take at this rate */
    unsigned deadline_ms;           /* of a batch that fetches none of its own */
    unsigned attempts_max;          /* of a range, with the first */
    struct dx_fetch_limits *limits; /* shared by sources; must outlive them; the process's */
    bool hedge;                     /* ranges that are late are asked for twice (fetch/hedge.h) */
    unsigned
        first_deadline_ms; /* 0, or deadline_ms before the first answer that the process gets */
};

#define DX_SOURCE_OPTIONS_INIT                                                                  \
    {                                                                                           \
        NULL, NULL, NULL, NULL, false, false, 1000, 2000, 2000, 65536, 10000, 3, NULL, false, 0 \
    }

int dx_source_open_local(struct dx_source **src, const char *root, struct dx_error *err);
int dx_source_read(struct dx_source *src, const struct dx_read *reads, size_t count,
                   struct dx_error *err);
int dx_source_read_batch(struct dx_source *src, const struct dx_source_batch *batch,
                         struct dx_error *err);

/* What holds for batches of all kinds: names, and the report begins empty. */
int dx_source_batch_check(const struct dx_source_batch *batch, struct dx_error *err);

/* Of a source that does one read after the other: this one is over. */
void dx_source_batch_report_read(const struct dx_source_batch *batch, size_t read, int rc);

/* Appends the object to out: 1. If it still has the etag if_none_match: 0, out as it was.
 * etag: what to ask with next time, "" if the store gives none. A local file has one that
 * changes whenever the file is replaced by rename. */
int dx_source_get(struct dx_source *src, const struct dx_get *get, struct dx_buf *out,
                  char etag[DX_SOURCE_ETAG], struct dx_error *err);
/* One holder more; each closes it, and the last close is the end of it. */
struct dx_source *dx_source_hold(struct dx_source *src);
void dx_source_close(struct dx_source **src);

/* Whether root is read over the network, by its scheme. */
bool dx_source_remote(const char *root);

/* Takes what the environment sets: DOMAINDEX_CA_FILE, DOMAINDEX_S3_ANONYMOUS=1,
 * DOMAINDEX_S3_VIRTUAL_HOST=1, DOMAINDEX_DEADLINE_MS. (Names, endpoint and region of S3 come from
 * AWS_... where options say nothing.) NULL, or words on a variable that makes no sense; the others
 * before it are taken. */
const char *dx_source_options_env(struct dx_source_options *o);

/* The URL that the objects of a remote root lie below, to be freed: the same for two ways to write
 * a root, another for another endpoint. */
int dx_source_root_url(const char *root, const struct dx_source_options *options, char **url,
                       struct dx_error *err);

/* A lake file is named by parquet_root and its path, each of at most 512 bytes (docs/FORMAT.md). */
#define DX_OBJECT_NAME_MAX 1024

/* Whether name is a relative path of plain components, at most DX_OBJECT_NAME_MAX bytes. */
bool dx_object_name_valid(const char *name);

#endif
