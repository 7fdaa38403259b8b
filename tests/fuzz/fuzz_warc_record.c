/* SPDX-License-Identifier: Apache-2.0
 * A whole file as a WARC, and as an ARC: its heads and replies, and the way on behind what is damaged.
 */
#include "builder/input/archive/warc_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "builder/input/archive/arc_head.h"
#include "builder/input/archive/warc_head.h"
#include "builder/input/bytes/input.h"
#include "builder/input/records/row_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BATCHES_MAX 64
#define WINDOW_MAX ((uint64_t)1 << 20)

static void die(const char *why)
{
    fprintf(stderr, "fuzz_warc_record: %s\n", why);
    abort();
}

/* A place lies in the file, and no two records have the same. */
static void check_batch(const struct dx_batch *b, size_t extra_count, size_t size, int64_t *last)
{
    struct dx_span field[DX_ROW_EXTRA + DX_EXTRA_COLUMNS_MAX];

    for (size_t i = 0; i < b->count; i++) {
        const struct dx_record *r = &b->records[i];

        if (!dx_row_record_get(dx_batch_record(b, i), field, DX_ROW_EXTRA + extra_count))
            die("a record without its fields");
        if (r->flaw != DX_FLAW_NONE || r->place == DX_RECORD_PLACE_UNKNOWN)
            continue;
        if (r->place <= *last || r->place_size <= 0 ||
            (uint64_t)r->place + (uint64_t)r->place_size > size)
            die("a place outside of the file, or of two records");
        *last = r->place;
    }
}

static void read_file(const char *path, enum dx_record_format asked, size_t size)
{
    struct dx_columns_want want = { .extra = { "status", "mime", "digest", "offset", "length",
                                               "http.server", "Envelope.Format" },
                                    .extra_count = 7 };
    struct dx_batch batch = { .data = NULL };
    struct dx_warc_rows *w = NULL;
    struct dx_input *in = NULL;
    int64_t last = -1;
    int rc = dx_input_open(&in, path, WINDOW_MAX, NULL);

    if (rc == DX_OK && dx_warc_rows_is(in, asked, NULL) == 0)
        asked = DX_RECORD_WARC;
    if (rc == DX_OK && dx_warc_rows_open(&w, in, asked, &want, NULL) == DX_OK)
        for (int i = 0; i < BATCHES_MAX && dx_warc_rows_fill(w, &batch, NULL) > 0; i++)
            check_batch(&batch, want.extra_count, size, &last);
    dx_warc_rows_close(&w);
    dx_input_close(&in);
    dx_batch_release(&batch);
    dx_columns_want_release(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_span bytes = dx_span_of(data, size);
    struct dx_warc_head head;
    struct dx_arc_head arc;
    int fd = memfd_create("input", 0);
    char path[64];

    if (dx_warc_head_parse(bytes, &head) == NULL && head.url.size > size)
        die("a URL longer than its head");
    (void)dx_http_status(bytes);
    if (dx_arc_head_parse(bytes, &arc) && arc.url.size + arc.date.size + arc.mime.size > size)
        die("fields longer than their line");
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_file(path, DX_RECORD_WARC, size);
    read_file(path, DX_RECORD_ARC, size);
    (void)close(fd);
    return 0;
}
