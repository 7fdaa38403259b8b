/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/sort/stream_spill.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/few_bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "builder/sort/spill_file.h"

#define CHUNK_HEAD 16 /* u64 sum of what follows, u64 number of the stream's next chunk */

/* A chunk gets its number, which is its place in the file, when its stream begins to fill it: so
 * the one before can name it, and the chain needs no table. */
struct stream {
    uint64_t first;
    uint64_t number; /* of the chunk at hand */
    uint64_t size;
    uint32_t fill; /* bytes of the chunk at hand, its head with them; 0: the stream is empty */
};

struct dx_stream_spill {
    int fd;
    char *dir; /* for messages */
    size_t count;
    size_t chunk;
    uint64_t chunks;  /* numbers given */
    uint64_t written; /* chunks in the file */
    struct stream *streams;
    uint8_t *memory; /* a chunk a stream, pages of it touched as used */
    size_t memory_size;
    uint8_t *reading; /* a chunk */
    bool finished;
};

static size_t chunk_size(size_t streams, size_t memory)
{
    size_t chunk = streams == 0 ? 0 : memory / streams;

    chunk = chunk / DX_STREAM_SPILL_CHUNK_MIN * DX_STREAM_SPILL_CHUNK_MIN;
    if (chunk < DX_STREAM_SPILL_CHUNK_MIN)
        return DX_STREAM_SPILL_CHUNK_MIN;
    return chunk > DX_STREAM_SPILL_CHUNK_MAX ? DX_STREAM_SPILL_CHUNK_MAX : chunk;
}

int dx_stream_spill_new(struct dx_stream_spill **out, const char *tmp_dir, size_t streams,
                        size_t memory_bytes, struct dx_error *err)
{
    struct dx_stream_spill *s = calloc(1, sizeof *s);
    int rc = DX_OK;

    *out = NULL;
    if (s == NULL)
        return dx_no_memory(err, "%s", tmp_dir);
    s->fd = -1;
    s->count = streams;
    s->chunk = chunk_size(streams, memory_bytes);
    s->dir = strdup(tmp_dir);
    s->streams = calloc(streams + 1, sizeof *s->streams);
    s->reading = malloc(s->chunk);
    if (s->dir == NULL || s->streams == NULL || s->reading == NULL ||
        streams >= SIZE_MAX / s->chunk) {
        rc = dx_no_memory(err, "%s: %zu streams", tmp_dir, streams);
        goto out;
    }
    s->memory_size = (streams + 1) * s->chunk;
    s->memory = mmap(NULL, s->memory_size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->memory == MAP_FAILED) {
        s->memory = NULL;
        rc = dx_fail_errno(err, errno, "%s: no memory for %zu streams", tmp_dir, streams);
        goto out;
    }
    s->fd = dx_spill_open(tmp_dir, err);
    rc = s->fd < 0 ? s->fd : DX_OK;
out:
    if (rc < 0)
        dx_stream_spill_free(&s);
    *out = s;
    return rc;
}

static int write_chunk(struct dx_stream_spill *s, uint64_t number, const uint8_t *chunk,
                       struct dx_error *err)
{
    for (size_t done = 0; done < s->chunk;) {
        ssize_t n = pwrite(s->fd, chunk + done, s->chunk - done, (off_t)(number * s->chunk + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dx_fail_errno(err, errno, "%s: cannot write a temporary file", s->dir);
        done += (size_t)n;
    }
    s->written++;
    return DX_OK;
}

/* Bound to the place, so that a chunk of another place does not pass for this one. */
static uint64_t sum_of(const struct dx_stream_spill *s, uint64_t number, const uint8_t *chunk)
{
    return dx_hash64_seeded(dx_span_of(chunk + 8, s->chunk - 8), number);
}

/* The chunk goes into the file, and the stream has an empty one. */
static int turn_over(struct dx_stream_spill *s, struct stream *st, uint8_t *chunk,
                     struct dx_error *err)
{
    uint64_t number = st->number;

    assert(st->fill == s->chunk);
    st->number = s->chunks++;
    st->fill = CHUNK_HEAD;
    dx_store_u64(chunk + 8, st->number);
    dx_store_u64(chunk, sum_of(s, number, chunk));
    return write_chunk(s, number, chunk, err);
}

void dx_stream_spill_expect(const struct dx_stream_spill *s, size_t stream)
{
    if (stream < s->count)
        __builtin_prefetch(s->memory + stream * s->chunk + s->streams[stream].fill, 1);
}

int dx_stream_spill_add(struct dx_stream_spill *s, size_t stream, struct dx_span bytes,
                        struct dx_error *err)
{
    struct stream *st;
    uint8_t *chunk;

    if (stream >= s->count || s->finished)
        return dx_fail(err, DX_E_INVALID, "%s: stream %zu of %zu takes no bytes", s->dir, stream,
                       s->count);
    st = &s->streams[stream];
    chunk = s->memory + stream * s->chunk;
    if (st->fill > 0 && bytes.size > 0 && s->chunk - st->fill >= bytes.size) { /* nearly always */
        dx_few_copy(chunk + st->fill, bytes.data, bytes.size);
        st->fill += (uint32_t)bytes.size;
        st->size += bytes.size;
        return DX_OK;
    }
    while (bytes.size > 0) {
        size_t n;

        if (st->fill == 0) {
            st->first = st->number = s->chunks++;
            st->fill = CHUNK_HEAD;
        } else if (st->fill == s->chunk) {
            int rc = turn_over(s, st, chunk, err);

            if (rc < 0)
                return rc;
        }
        n = s->chunk - st->fill < bytes.size ? s->chunk - st->fill : bytes.size;
        memcpy(chunk + st->fill, bytes.data, n);
        st->fill += (uint32_t)n;
        st->size += n;
        bytes.data += n;
        bytes.size -= n;
    }
    return DX_OK;
}

int dx_stream_spill_finish(struct dx_stream_spill *s, struct dx_error *err)
{
    if (s->finished)
        return dx_fail(err, DX_E_INVALID, "%s: the streams are finished already", s->dir);
    s->finished = true;
    return DX_OK;
}

static int read_chunk(struct dx_stream_spill *s, uint64_t number, struct dx_error *err)
{
    int rc = dx_file_pread(s->fd, s->dir, number * s->chunk, s->chunk, s->reading, err);

    if (rc >= 0 && dx_load_u64(s->reading) != sum_of(s, number, s->reading))
        rc = dx_fail(err, DX_E_CORRUPT,
                     "%s: chunk %llu of a temporary file reads otherwise than it was written: "
                     "check disk and memory",
                     s->dir, (unsigned long long)number);
    return rc;
}

int dx_stream_spill_replay(struct dx_stream_spill *s, size_t stream,
                           int (*take)(void *ctx, struct dx_span piece, struct dx_error *err),
                           void *ctx, struct dx_error *err)
{
    const struct stream *st;
    int rc = DX_OK;

    if (stream >= s->count || !s->finished)
        return dx_fail(err, DX_E_INVALID, "%s: stream %zu of %zu is not to be read", s->dir, stream,
                       s->count);
    st = &s->streams[stream];
    if (st->fill == 0)
        return DX_OK;
    for (uint64_t number = st->first; rc == DX_OK && number != st->number;) {
        rc = read_chunk(s, number, err);
        number = dx_load_u64(s->reading + 8);
        if (rc == DX_OK)
            rc = take(ctx, dx_span_of(s->reading + CHUNK_HEAD, s->chunk - CHUNK_HEAD), err);
    }
    return rc < 0
               ? rc
               : take(ctx,
                      dx_span_of(s->memory + stream * s->chunk + CHUNK_HEAD, st->fill - CHUNK_HEAD),
                      err);
}

uint64_t dx_stream_spill_size(const struct dx_stream_spill *s, size_t stream)
{
    return stream < s->count ? s->streams[stream].size : 0;
}

uint64_t dx_stream_spill_written(const struct dx_stream_spill *s)
{
    return s->written * s->chunk;
}

void dx_stream_spill_free(struct dx_stream_spill **spool)
{
    struct dx_stream_spill *s = *spool;

    if (s == NULL)
        return;
    if (s->fd >= 0)
        (void)close(s->fd);
    if (s->memory != NULL)
        (void)munmap(s->memory, s->memory_size);
    free(s->reading);
    free(s->streams);
    free(s->dir);
    free(s);
    *spool = NULL;
}
