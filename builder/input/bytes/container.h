/* SPDX-License-Identifier: Apache-2.0
 * container.h - the compressed members of an input file: gzip members, zstd frames, bzip2 and xz streams.
 *
 *   kind = dx_container_find(head);                       by the first bytes; _NONE: plain
 *   rc = dx_container_open(&c, kind, window_max, &err);
 *   rc = dx_container_reset(&c, &err);                    before each member
 *   rc = dx_container_step(&c, &from, &to, &err);         0 go on, 1 the member has ended, <0 damaged
 *   dx_container_close(&c);
 *
 * A step takes bytes off the front of `from` and puts what they yield at the front of `to`. A zstd
 * skippable frame is a member that yields nothing; one of type 13 that begins the file and holds a
 * dictionary is the dictionary of all frames (as .warc.zst files have it). A zstd frame that states its
 * size and yields another one is damaged, in whatever steps it comes.
 *
 * A gzip member that is whole in the first step that has room for DX_CONTAINER_WHOLE_ROOM bytes is decompressed at once, by libdeflate in
 * half of zlib's time; what the room cannot take is given by later steps, which need no bytes. So before the first step of a
 * member a caller that can read ahead does, as far as dx_container_ahead says.
 *
 * No step allocates more than window_max and DX_CONTAINER_DICTIONARY_MAX ask for; gzip needs up to
 * DX_CONTAINER_WHOLE_MAX, xz 1 MiB beside its window, bzip2 4 MB whatever window_max is. No I/O; one
 * thread at a time.
 */
#ifndef DX_BUILDER_INPUT_BYTES_CONTAINER_H
#define DX_BUILDER_INPUT_BYTES_CONTAINER_H

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

#define DX_CONTAINER_DICTIONARY_MAX (16u << 20) /* those of archives are a tenth of it */
#define DX_CONTAINER_FRAME_HEAD 18              /* the largest header of a zstd frame */
#define DX_CONTAINER_WHOLE_MAX (4u << 20)       /* bytes of a member that is decompressed at once */
#define DX_CONTAINER_WHOLE_ROOM 4096            /* a caller with less room may want no more of it */
#define DX_CONTAINER_AHEAD_MAX (448u << 10)

enum dx_container_kind {
    DX_CONTAINER_NONE,
    DX_CONTAINER_GZIP,
    DX_CONTAINER_ZSTD,
    DX_CONTAINER_BZIP2,
    DX_CONTAINER_XZ
};

struct dx_container_room {
    uint8_t *data;
    size_t size;
};

struct libdeflate_decompressor;
struct ZSTD_DCtx_s;

struct dx_container {
    enum dx_container_kind kind;
    uint64_t window_max;
    z_stream gzip;
    bool gzip_ready;
    struct libdeflate_decompressor *whole;
    uint8_t *member; /* decompressed at once: [member_at, member_end) is not given yet */
    size_t member_at;
    size_t member_end;
    uint64_t packed_size; /* of the gzip member at hand, so far */
    uint64_t yielded_size;
    size_t likely_size; /* compressed, of the gzip member before */
    bool is_large;      /* that one could not be decompressed at once */
    struct ZSTD_DCtx_s *zstd;
    bz_stream bzip2;
    bool bzip2_ready;
    lzma_stream xz;
    struct dx_buf dictionary; /* the frame that may hold one, while it comes */
    bool is_first;            /* no member has ended */
    bool has_begun;           /* of this member some step was taken */
    bool in_dictionary;
    uint8_t frame_head[DX_CONTAINER_FRAME_HEAD]; /* the first bytes of this zstd frame */
    size_t frame_head_size;
    uint64_t frame_size; /* what it yielded */
};

enum dx_container_kind dx_container_find(struct dx_span head);
/* Whether a member of that kind begins with these bytes; DX_CONTAINER_MAGIC of them tell. */
#define DX_CONTAINER_MAGIC 6
bool dx_container_begins(enum dx_container_kind kind, struct dx_span bytes);
/* The same where so many bytes tell that chance does not: of bzip2 alone, dx_container_first_bytes of them. */
bool dx_container_surely_begins(enum dx_container_kind kind, struct dx_span bytes);
/* Whether a file that ends with these bytes was cut short in the magic of a member. */
bool dx_container_cut(enum dx_container_kind kind, struct dx_span bytes);
/* Whether n > 0 zero bytes may follow a member, at the end of the file or in front of another one. */
bool dx_container_may_pad(enum dx_container_kind kind, uint64_t n, bool at_end);
/* Compressed bytes from which a member yields its first ones; 0: unknown, or too many. */
size_t dx_container_first_bytes(enum dx_container_kind kind);
const char *dx_container_name(enum dx_container_kind kind);   /* "gzip"; "plain" */
const char *dx_container_member(enum dx_container_kind kind); /* "a gzip member", "an xz stream" */

int dx_container_open(struct dx_container *c, enum dx_container_kind kind, uint64_t window_max,
                      struct dx_error *err);
int dx_container_reset(struct dx_container *c, struct dx_error *err);
/* Compressed bytes that decompress the next member at once if it is like the one before, at most
 * DX_CONTAINER_AHEAD_MAX; 0: it has begun, or steps of any size are as good. */
size_t dx_container_ahead(const struct dx_container *c);
/* Whether the next step yields bytes without taking any. */
bool dx_container_holds(const struct dx_container *c);
int dx_container_step(struct dx_container *c, struct dx_span *from, struct dx_container_room *to,
                      struct dx_error *err);
void dx_container_close(struct dx_container *c);

#endif
