/* SPDX-License-Identifier: Apache-2.0
 * cursor.h - where a listing goes on: version, question, place and time, under a MAC.
 *
 *   struct dx_cursor_key key = DX_CURSOR_KEY_INIT;            of the build id
 *   rc = dx_cursor_key_read(&key, path, &err);                of a file that servers share
 *   rc = dx_cursor_write(&cursor, &key, text, &err);          opaque text, base64url
 *   rc = dx_cursor_read(span, &key, &cursor, &problem);       1; 0 "bad-cursor"; <0 failed
 *   dx_cursor_expired(&cursor, now_s, life_s);
 *
 * What is read back is what was written, bit for bit, or refused: nothing in a cursor is believed
 * before the HMAC-SHA256 over all of it is right. It says which version the listing is of, and
 * no other version can answer it: build is compared with that of the version when it is pinned.
 *
 * The key of a file keeps out everybody who has not the file. Without one it is made of the build
 * id that stands in the cursor itself: that finds damage, mix-ups and other roots, but who knows how
 * can write one. A cursor grants nothing (it repeats a question that its owner could ask), so
 * that is enough for one server and for tests.
 *
 * Layout, little-endian, before base64url without padding:
 *
 *   u8 format (1)  u8 kind  23 version  16 build  i64 began_s  u32 limit
 *   listing:  u64 domain_id  u32 dataset_id  u8 fields  u64 next_row  u64 end_row
 *   changes:  23 since  16 since_build  u64 next_before  u64 next_after
 *   32 HMAC-SHA256 of all before it
 *
 * No I/O but in key_read; any thread.
 */
#ifndef DX_QUERY_CURSOR_H
#define DX_QUERY_CURSOR_H

#include "base/bytes.h"
#include "base/hash.h"
#include "format/manifest.h"
#include "query/problem.h"

#define DX_CURSOR_FORMAT 1
#define DX_CURSOR_TEXT 192 /* characters of the longest, and NUL */
#define DX_CURSOR_LIFE_S 900
#define DX_CURSOR_KEY_MIN 32 /* bytes of a key file */
#define DX_CURSOR_KEY_MAX 4096

enum dx_cursor_kind {
    DX_CURSOR_LISTING = 1, /* of /v1/domain/{d}/datasets/{id}/urls */
    DX_CURSOR_CHANGES = 2  /* of /v1/changes */
};

struct dx_cursor {
    enum dx_cursor_kind kind;
    char version[DX_VERSION_NAME]; /* that answers */
    struct dx_build_id build;
    int64_t began_s; /* the first page, seconds since 1970 */
    uint32_t limit;  /* of the page before */

    uint64_t domain_id;
    uint32_t dataset_id;
    unsigned fields;
    uint64_t next_row, end_row; /* places in the payload: hidden rows have one too */

    char since[DX_VERSION_NAME];
    struct dx_build_id since_build;
    uint64_t next_before, next_after; /* ordinals of the two versions, of which both are named */
};

struct dx_cursor_key {
    bool shared; /* false: of the build id */
    uint8_t bytes[32];
};

#define DX_CURSOR_KEY_INIT \
    {                      \
        false,             \
        {                  \
            0              \
        }                  \
    }

/* A file of 32 to 4096 bytes that is no text to read but a secret. */
int dx_cursor_key_read(struct dx_cursor_key *key, const char *path, struct dx_error *err);

int dx_cursor_write(const struct dx_cursor *c, const struct dx_cursor_key *key,
                    char text[DX_CURSOR_TEXT], struct dx_error *err);
int dx_cursor_read(struct dx_span text, const struct dx_cursor_key *key, struct dx_cursor *c,
                   struct dx_problem *problem);

/* Life counts from the first page. The clocks of servers differ by less than the minute that the
 * collector of old versions waits longer. */
bool dx_cursor_expired(const struct dx_cursor *c, int64_t now_s, unsigned life_s);

#endif
