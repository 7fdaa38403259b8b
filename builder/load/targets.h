/* SPDX-License-Identifier: Apache-2.0
 * targets.h - what may be asked, and what the answers are to be.
 *
 *   rc = dx_targets_read(&t, "hit.txt", "127.0.0.1:8080", &err);
 *   struct dx_span request = dx_targets_request(&t, i);        the whole request, ready to be sent
 *   rc = dx_targets_write(&t, "known.txt", &err);              with what is known of the answers
 *   dx_targets_release(&t);
 *
 * A line is a request target, which begins with a slash, and up to four more columns behind tabs:
 * weight, status, bytes of the body, XXH3-128 of the body in hex. A column that is missing, or "-",
 * is not known: a weight of 1; a status, length or hash that is not compared. At most
 * DX_TARGETS_FILE_MAX bytes, 2^28 lines, 8000 bytes a target. One thread at a time.
 */
#ifndef DX_BUILDER_LOAD_TARGETS_H
#define DX_BUILDER_LOAD_TARGETS_H

#include "base/buf.h"
#include "base/hash.h"

#define DX_TARGETS_FILE_MAX (UINT64_C(4) << 30)
#define DX_TARGET_MAX 8000
#define DX_TARGET_SIZE_UNKNOWN UINT64_MAX

struct dx_target {
    size_t at; /* of its request in `requests` */
    uint32_t size;
    uint16_t status; /* 0: not known */
    bool hash_known;
    uint64_t body_size; /* or DX_TARGET_SIZE_UNKNOWN */
    struct dx_hash128 hash;
};

struct dx_targets {
    struct dx_target *target;
    double *weight;
    size_t count;
    struct dx_buf requests;
};

int dx_targets_read(struct dx_targets *t, const char *path, const char *host, struct dx_error *err);
/* The same of a text; name: in messages; token: NULL, or what each request is authorized by, of visible characters. */
int dx_targets_parse(struct dx_targets *t, struct dx_span text, const char *name, const char *host,
                     const char *token, struct dx_error *err);
int dx_targets_write(const struct dx_targets *t, const char *path, struct dx_error *err);
void dx_targets_release(struct dx_targets *t);

static inline struct dx_span dx_targets_request(const struct dx_targets *t, size_t i)
{
    return (struct dx_span){ t->requests.data + t->target[i].at, t->target[i].size };
}

#endif
