/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/bytes/container.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define STEP_MAX (1u << 30) /* zlib counts in 32 bits */
#define SKIPPABLE_HEAD 8
#define XZ_STATE ((uint64_t)1 << 20) /* what a decoder takes beside its window */
#define BZIP2_SURE 10                /* BZh9 and the six bytes that each block begins with */
#define GZIP_HEAD 10
#define GZIP_FLAGS 3
#define GZIP_FLAG_HEAD_SUM 2 /* a checksum of the header, which libdeflate does not look at */
#define GZIP_AHEAD_LEAST (64u << 10) /* sizes of records differ */
#define DICTIONARY_MAGIC "\x37\xA4\x30\xEC"
#define FRAME_MAGIC "\x28\xB5\x2F\xFD"
#define DICTIONARY_TABLES (64u << 10) /* what libzstd makes of a dictionary, beside a copy */

static const struct {
    const char *magic;
    size_t size;
    const char *name;
    const char *member;
    size_t first_bytes;
} kinds[] = {
    [DX_CONTAINER_NONE] = { "", 0, "plain", "a file", 0 },
    [DX_CONTAINER_GZIP] = { "\x1F\x8B", 2, "gzip", "a gzip member", 4096 },
    [DX_CONTAINER_ZSTD] = { FRAME_MAGIC, 4, "zstd", "a zstd frame", 132 << 10 }, /* a block */
    [DX_CONTAINER_BZIP2] = { "BZh", 3, "bzip2", "a bzip2 stream", BZIP2_SURE },
    [DX_CONTAINER_XZ] = { "\xFD"
                          "7zXZ\0",
                          6, "xz", "an xz stream", 4096 },
};

static bool has_magic(struct dx_span bytes, const char *magic, size_t n)
{
    return bytes.size >= n && memcmp(bytes.data, magic, n) == 0;
}

/* 0x184D2A50..5F */
static bool is_skippable(struct dx_span b)
{
    return b.size >= 4 && (b.data[0] & 0xf0) == 0x50 && memcmp(b.data + 1, "\x2A\x4D\x18", 3) == 0;
}

/* A text may begin with BZh: the level must follow, and what a block or the end of a stream begins with. */
static bool is_bzip2(struct dx_span b)
{
    return b.size >= 6 && b.data[3] >= '1' && b.data[3] <= '9' &&
           (memcmp(b.data + 4, "\x31\x41", 2) == 0 || memcmp(b.data + 4, "\x17\x72", 2) == 0);
}

bool dx_container_begins(enum dx_container_kind kind, struct dx_span bytes)
{
    if (kind == DX_CONTAINER_BZIP2 && !is_bzip2(bytes))
        return false;
    return has_magic(bytes, kinds[kind].magic, kinds[kind].size) ||
           (kind == DX_CONTAINER_ZSTD && is_skippable(bytes));
}

bool dx_container_surely_begins(enum dx_container_kind kind, struct dx_span bytes)
{
    return kind == DX_CONTAINER_BZIP2 && bytes.size >= BZIP2_SURE && is_bzip2(bytes) &&
           memcmp(bytes.data, "BZh", 3) == 0 &&
           memcmp(bytes.data + 4, "\x31\x41\x59\x26\x53\x59", 6) == 0;
}

bool dx_container_cut(enum dx_container_kind kind, struct dx_span bytes)
{
    size_t n = bytes.size < kinds[kind].size ? bytes.size : kinds[kind].size;

    return bytes.size < DX_CONTAINER_MAGIC && !dx_container_begins(kind, bytes) &&
           memcmp(bytes.data, kinds[kind].magic, n) == 0;
}

enum dx_container_kind dx_container_find(struct dx_span head)
{
    for (size_t i = DX_CONTAINER_NONE + 1; i < sizeof kinds / sizeof *kinds; i++)
        if (dx_container_begins((enum dx_container_kind)i, head))
            return (enum dx_container_kind)i;
    return DX_CONTAINER_NONE;
}

/* gzip(1) passes over zeros at the end, from tapes; the xz format allows groups of four anywhere. */
bool dx_container_may_pad(enum dx_container_kind kind, uint64_t n, bool at_end)
{
    return kind == DX_CONTAINER_GZIP ? at_end : kind == DX_CONTAINER_XZ && n % 4 == 0;
}

size_t dx_container_first_bytes(enum dx_container_kind kind)
{
    return kinds[kind].first_bytes;
}

const char *dx_container_name(enum dx_container_kind kind)
{
    return kinds[kind].name;
}

const char *dx_container_member(enum dx_container_kind kind)
{
    return kinds[kind].member;
}

int dx_container_open(struct dx_container *c, enum dx_container_kind kind, uint64_t window_max,
                      struct dx_error *err)
{
    int window_log = 10;

    *c = (struct dx_container){ .kind = kind, .window_max = window_max, .is_first = true };
    dx_buf_init(&c->dictionary, DX_CONTAINER_DICTIONARY_MAX + SKIPPABLE_HEAD);
    if (kind == DX_CONTAINER_GZIP) {
        if (inflateInit2(&c->gzip, 15 + 16) != Z_OK)
            return dx_no_memory(err, "zlib");
        c->gzip_ready = true;
        c->whole = libdeflate_alloc_decompressor();
        if (c->whole == NULL)
            return dx_no_memory(err, "libdeflate");
    } else if (kind == DX_CONTAINER_ZSTD) {
        while (window_log < 31 && (uint64_t)1 << (window_log + 1) <= window_max)
            window_log++;
        c->zstd = ZSTD_createDCtx();
        if (c->zstd == NULL ||
            ZSTD_isError(ZSTD_DCtx_setParameter(c->zstd, ZSTD_d_windowLogMax, window_log)))
            return dx_no_memory(err, "zstd");
    }
    return DX_OK; /* the others begin by a reset */
}

static void close_bzip2(struct dx_container *c)
{
    if (c->bzip2_ready)
        (void)BZ2_bzDecompressEnd(&c->bzip2);
    c->bzip2_ready = false;
}

void dx_container_close(struct dx_container *c)
{
    if (c->gzip_ready)
        (void)inflateEnd(&c->gzip);
    c->gzip_ready = false;
    libdeflate_free_decompressor(c->whole);
    c->whole = NULL;
    free(c->member);
    c->member = NULL;
    (void)ZSTD_freeDCtx(c->zstd);
    c->zstd = NULL;
    close_bzip2(c);
    lzma_end(&c->xz);
    dx_buf_release(&c->dictionary);
}

static int reset_bzip2(struct dx_container *c, struct dx_error *err)
{
    close_bzip2(c);
    c->bzip2 = (bz_stream){ .opaque = NULL };
    if (BZ2_bzDecompressInit(&c->bzip2, 0, 0) != BZ_OK)
        return dx_no_memory(err, "bzip2");
    c->bzip2_ready = true;
    return DX_OK;
}

static int reset_xz(struct dx_container *c, struct dx_error *err)
{
    uint64_t max = c->window_max < UINT64_MAX - XZ_STATE ? c->window_max + XZ_STATE : UINT64_MAX;

    if (lzma_stream_decoder(&c->xz, max, LZMA_TELL_UNSUPPORTED_CHECK) != LZMA_OK)
        return dx_no_memory(err, "xz");
    return DX_OK;
}

int dx_container_reset(struct dx_container *c, struct dx_error *err)
{
    if (c->gzip_ready && inflateReset(&c->gzip) != Z_OK)
        return dx_no_memory(err, "zlib");
    if (c->zstd != NULL)
        (void)ZSTD_DCtx_reset(c->zstd, ZSTD_reset_session_only);
    c->member_at = c->member_end = 0;
    c->packed_size = c->yielded_size = 0;
    c->in_dictionary = false;
    c->has_begun = false;
    c->frame_head_size = 0;
    c->frame_size = 0;
    return c->kind == DX_CONTAINER_BZIP2 ? reset_bzip2(c, err)
           : c->kind == DX_CONTAINER_XZ  ? reset_xz(c, err)
                                         : DX_OK;
}

bool dx_container_holds(const struct dx_container *c)
{
    return c->member_at < c->member_end;
}

size_t dx_container_ahead(const struct dx_container *c)
{
    size_t likely = c->likely_size + c->likely_size / 8;

    if (c->kind != DX_CONTAINER_GZIP || c->is_large || c->packed_size > 0)
        return 0;
    return likely < GZIP_AHEAD_LEAST         ? GZIP_AHEAD_LEAST
           : likely < DX_CONTAINER_AHEAD_MAX ? likely
                                             : DX_CONTAINER_AHEAD_MAX;
}

/* 1: the member has ended. */
static int give_member(struct dx_container *c, struct dx_container_room *to)
{
    size_t n = c->member_end - c->member_at;

    n = n < to->size ? n : to->size;
    if (n > 0)
        memcpy(to->data, c->member + c->member_at, n);
    c->member_at += n;
    *to = (struct dx_container_room){ to->data + n, to->size - n };
    return c->member_at == c->member_end;
}

/* The member whose first byte is that of `from`. false: it is not whole there, too large or damaged: zlib yields what it can of it, and
 * says what is wrong. */
static bool take_whole(struct dx_container *c, struct dx_span *from)
{
    size_t taken;

    if (from->size < GZIP_HEAD || (from->data[GZIP_FLAGS] & GZIP_FLAG_HEAD_SUM) != 0)
        return false;
    if (c->member == NULL)
        c->member = malloc(DX_CONTAINER_WHOLE_MAX);
    if (c->member == NULL ||
        libdeflate_gzip_decompress_ex(c->whole, from->data, from->size, c->member,
                                      DX_CONTAINER_WHOLE_MAX, &taken,
                                      &c->member_end) != LIBDEFLATE_SUCCESS) {
        c->member_end = 0;
        c->is_large = true;
        return false;
    }
    c->packed_size = c->likely_size = taken;
    *from = dx_span_from(*from, taken);
    return true;
}

static int inflate_some(struct dx_container *c, struct dx_span *from, struct dx_container_room *to,
                        struct dx_error *err)
{
    size_t in = from->size < STEP_MAX ? from->size : STEP_MAX;
    size_t out = to->size < STEP_MAX ? to->size : STEP_MAX;
    int rc;

    c->gzip.next_in = (Bytef *)(uintptr_t)from->data;
    c->gzip.avail_in = (uInt)in;
    c->gzip.next_out = to->data;
    c->gzip.avail_out = (uInt)out;
    rc = inflate(&c->gzip, Z_NO_FLUSH);
    in -= c->gzip.avail_in;
    out -= c->gzip.avail_out;
    c->packed_size += in;
    c->yielded_size += out;
    *from = dx_span_from(*from, in);
    *to = (struct dx_container_room){ to->data + out, to->size - out };
    if (rc == Z_STREAM_END) {
        c->is_large = c->packed_size > DX_CONTAINER_AHEAD_MAX ||
                      c->yielded_size > DX_CONTAINER_WHOLE_MAX;
        c->likely_size = c->is_large ? 0 : (size_t)c->packed_size;
        return 1;
    }
    if (rc == Z_MEM_ERROR)
        return dx_no_memory(err, "zlib");
    if (rc != Z_OK && rc != Z_BUF_ERROR)
        return dx_fail(err, DX_E_CORRUPT, "%s",
                       c->gzip.msg != NULL ? c->gzip.msg : "bad gzip data");
    return DX_OK;
}

static int step_gzip(struct dx_container *c, struct dx_span *from, struct dx_container_room *to,
                     struct dx_error *err)
{
    bool begins = c->packed_size == 0 && to->size >= DX_CONTAINER_WHOLE_ROOM;
    bool may_be_whole = begins && !c->is_large && from->size >= c->likely_size;

    if (dx_container_holds(c) || (may_be_whole && take_whole(c, from)))
        return give_member(c, to);
    return inflate_some(c, from, to, err);
}

static int fail_window(const struct dx_container *c, struct dx_error *err)
{
    return dx_fail(err, DX_E_LIMIT,
                   "needs a window over %llu bytes; give --memory of four times the window",
                   (unsigned long long)c->window_max);
}

static int step_bzip2(struct dx_container *c, struct dx_span *from, struct dx_container_room *to,
                      struct dx_error *err)
{
    size_t in = from->size < STEP_MAX ? from->size : STEP_MAX;
    size_t out = to->size < STEP_MAX ? to->size : STEP_MAX;
    int rc;

    c->bzip2.next_in = (char *)(uintptr_t)from->data;
    c->bzip2.avail_in = (unsigned)in;
    c->bzip2.next_out = (char *)to->data;
    c->bzip2.avail_out = (unsigned)out;
    rc = BZ2_bzDecompress(&c->bzip2);
    in -= c->bzip2.avail_in;
    out -= c->bzip2.avail_out;
    *from = dx_span_from(*from, in);
    *to = (struct dx_container_room){ to->data + out, to->size - out };
    if (rc == BZ_STREAM_END)
        return 1;
    if (rc == BZ_MEM_ERROR)
        return dx_no_memory(err, "bzip2");
    if (rc != BZ_OK)
        return dx_fail(err, DX_E_CORRUPT, "bad bzip2 data");
    return DX_OK;
}

static int fail_xz(const struct dx_container *c, lzma_ret code, struct dx_error *err)
{
    if (code == LZMA_MEM_ERROR)
        return dx_no_memory(err, "xz");
    if (code == LZMA_MEMLIMIT_ERROR)
        return fail_window(c, err);
    return dx_fail(err, DX_E_CORRUPT, "%s",
                   code == LZMA_OPTIONS_ERROR       ? "an xz stream with unknown options"
                   : code == LZMA_UNSUPPORTED_CHECK ? "an xz stream with an unknown checksum"
                                                    : "bad xz data");
}

static int step_xz(struct dx_container *c, struct dx_span *from, struct dx_container_room *to,
                   struct dx_error *err)
{
    lzma_ret code;

    c->xz.next_in = from->data;
    c->xz.avail_in = from->size;
    c->xz.next_out = to->data;
    c->xz.avail_out = to->size;
    code = lzma_code(&c->xz, LZMA_RUN);
    *from = dx_span_of(c->xz.next_in, c->xz.avail_in);
    *to = (struct dx_container_room){ c->xz.next_out, c->xz.avail_out };
    if (code == LZMA_STREAM_END)
        return 1;
    return code == LZMA_OK || code == LZMA_BUF_ERROR ? DX_OK : fail_xz(c, code, err);
}

static int fail_zstd(const struct dx_container *c, size_t code, struct dx_error *err)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        return fail_window(c, err);
    case ZSTD_error_memory_allocation:
        return dx_no_memory(err, "zstd");
    default:
        return dx_fail(err, DX_E_CORRUPT, "%s", ZSTD_getErrorName(code));
    }
}

/* A dictionary that is a frame itself. */
static int unpack_dictionary(struct dx_container *c, struct dx_span packed, struct dx_buf *out,
                             struct dx_error *err)
{
    ZSTD_inBuffer from = { packed.data, packed.size, 0 };
    size_t left = 1;

    while (left != 0) {
        uint8_t *to = dx_buf_reserve(out, 64 << 10);
        ZSTD_outBuffer room = { to, 64 << 10, 0 };
        size_t before = from.pos;

        if (to == NULL)
            return dx_buf_fail(out, err, "zstd dictionary");
        left = ZSTD_decompressStream(c->zstd, &room, &from);
        if (ZSTD_isError(left))
            return fail_zstd(c, left, err);
        out->size += room.pos;
        if (left != 0 && room.pos == 0 && from.pos == before)
            return dx_fail(err, DX_E_TRUNCATED, "the dictionary is not whole");
    }
    return DX_OK;
}

/* libzstd says of a damaged dictionary, too, that memory is short. */
static int fail_dictionary(const struct dx_container *c, size_t code, size_t size,
                           struct dx_error *err)
{
    struct dx_buf as_large = DX_BUF_INIT(2u * DX_CONTAINER_DICTIONARY_MAX);
    bool has_memory = dx_buf_reserve(&as_large, size + DICTIONARY_TABLES) != NULL;

    dx_buf_release(&as_large);
    return has_memory && ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation
               ? dx_fail(err, DX_E_CORRUPT, "it is damaged")
               : fail_zstd(c, code, err);
}

/* The whole skippable frame is there. */
static int load_dictionary(struct dx_container *c, struct dx_error *err)
{
    struct dx_span content = dx_span_of(c->dictionary.data + SKIPPABLE_HEAD,
                                        c->dictionary.size - SKIPPABLE_HEAD);
    struct dx_buf unpacked = DX_BUF_INIT(DX_CONTAINER_DICTIONARY_MAX);
    size_t code = 0;
    int rc = DX_OK;

    if (has_magic(content, FRAME_MAGIC, 4)) {
        rc = unpack_dictionary(c, content, &unpacked, err);
        (void)ZSTD_DCtx_reset(c->zstd, ZSTD_reset_session_only);
        content = dx_span_of(unpacked.data, unpacked.size);
    }
    if (rc == DX_OK && has_magic(content, DICTIONARY_MAGIC, 4))
        code = ZSTD_DCtx_loadDictionary(c->zstd, content.data, content.size);
    if (rc == DX_OK && ZSTD_isError(code))
        rc = fail_dictionary(c, code, content.size, err);
    dx_buf_release(&unpacked);
    dx_buf_release(&c->dictionary);
    return rc < 0 ? dx_fail_in(err, "the dictionary in front") : 1;
}

static int step_dictionary(struct dx_container *c, struct dx_span *from, struct dx_error *err)
{
    size_t size = SKIPPABLE_HEAD;
    size_t n;

    if (c->dictionary.size >= size)
        size += dx_load_u32(c->dictionary.data + 4);
    n = size - c->dictionary.size < from->size ? size - c->dictionary.size : from->size;
    dx_buf_append(&c->dictionary, from->data, n);
    *from = dx_span_from(*from, n);
    if (c->dictionary.failed)
        return dx_buf_fail(&c->dictionary, err, "the dictionary in front");
    if (c->dictionary.size == SKIPPABLE_HEAD && n > 0 && size == SKIPPABLE_HEAD)
        return dx_load_u32(c->dictionary.data + 4) == 0 ? 1 : 0;
    return c->dictionary.size == size ? load_dictionary(c, err) : 0;
}

/* libzstd 1.5.4 compares the size that a frame states with its content only where it gets the whole frame at once, or where
 * the last block is not empty. */
static int check_frame_size(const struct dx_container *c, struct dx_error *err)
{
    unsigned long long stated = ZSTD_getFrameContentSize(c->frame_head, c->frame_head_size);

    if (stated == ZSTD_CONTENTSIZE_UNKNOWN || stated == c->frame_size)
        return 1;
    return dx_fail(err, DX_E_CORRUPT, "the header states %llu bytes, the frame has %llu", stated,
                   (unsigned long long)c->frame_size);
}

static void count_frame(struct dx_container *c, struct dx_span taken, size_t yielded)
{
    size_t room = sizeof c->frame_head - c->frame_head_size;
    size_t n = taken.size < room ? taken.size : room;

    memcpy(c->frame_head + c->frame_head_size, taken.data, n);
    c->frame_head_size += n;
    c->frame_size += yielded;
}

static int step_zstd(struct dx_container *c, struct dx_span *from, struct dx_container_room *to,
                     struct dx_error *err)
{
    ZSTD_inBuffer in = { from->data, from->size, 0 };
    ZSTD_outBuffer out = { to->data, to->size, 0 };
    size_t left;

    if (c->is_first && !c->has_begun && has_magic(*from, "\x5D\x2A\x4D\x18", 4)) {
        c->in_dictionary = true;
        dx_buf_clear(&c->dictionary);
    }
    c->has_begun = true;
    if (c->in_dictionary)
        return step_dictionary(c, from, err);
    left = ZSTD_decompressStream(c->zstd, &out, &in);
    count_frame(c, dx_span_of(from->data, in.pos), out.pos);
    *from = dx_span_of(from->data + in.pos, from->size - in.pos);
    *to = (struct dx_container_room){ to->data + out.pos, to->size - out.pos };
    if (ZSTD_isError(left))
        return fail_zstd(c, left, err);
    return left == 0 ? check_frame_size(c, err) : 0;
}

int dx_container_step(struct dx_container *c, struct dx_span *from, struct dx_container_room *to,
                      struct dx_error *err)
{
    int rc = c->kind == DX_CONTAINER_GZIP    ? step_gzip(c, from, to, err)
             : c->kind == DX_CONTAINER_ZSTD  ? step_zstd(c, from, to, err)
             : c->kind == DX_CONTAINER_BZIP2 ? step_bzip2(c, from, to, err)
                                             : step_xz(c, from, to, err);

    if (rc == 1)
        c->is_first = false;
    return rc;
}
