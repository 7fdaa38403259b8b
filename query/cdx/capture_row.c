/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/capture_row.h"

#include "base/civil_time.h"
#include "format/text/locator.h"
#include "query/rows/listing.h"

#include <stdio.h>

#define TEXT_MAX \
    (64u << 20) /* as large as a page of the lake may be; ours have some hundred bytes */

enum {
    TYPE,
    MIMES,
    MIME,
    MIMETYPE,
    STATUS,
    STATUSCODE,
    DIGEST,
    LENGTH,
    OFFSET,
    FILENAME,
    REDIRECT,
    ROBOTFLAGS,
    EXTRAS
};

#define NAME(text)                                \
    {                                             \
        (const uint8_t *)(text), sizeof(text) - 1 \
    }

static const struct dx_span names[EXTRAS] = {
    [TYPE] = NAME("type"),         [MIMES] = NAME("content_type"),
    [MIME] = NAME("mime"),         [MIMETYPE] = NAME("mimetype"),
    [STATUS] = NAME("status"),     [STATUSCODE] = NAME("statuscode"),
    [DIGEST] = NAME("digest"),     [LENGTH] = NAME("length"),
    [OFFSET] = NAME("offset"),     [FILENAME] = NAME("filename"),
    [REDIRECT] = NAME("redirect"), [ROBOTFLAGS] = NAME("robotflags"),
};

const struct dx_span *const dx_capture_row_extras = names;
const size_t dx_capture_row_extra_count = EXTRAS;

void dx_capture_row_init(struct dx_capture_row *r, struct dx_version *v)
{
    *r = (struct dx_capture_row){ .timestamp = 0 };
    dx_shown_request_init(&r->shown, v);
    dx_buf_init(&r->text, TEXT_MAX);
}

void dx_capture_row_release(struct dx_capture_row *r)
{
    dx_shown_request_release(&r->shown);
    dx_buf_release(&r->text);
}

void dx_capture_row_dataset(struct dx_capture_row *r, struct dx_span name)
{
    r->dataset = name;
}

uint64_t dx_cdx_timestamp(int64_t us)
{
    char text[DX_CIVIL_TEXT];
    uint64_t value = 0;

    if (!dx_civil_is_stored(us))
        return 0;
    (void)dx_civil_text_us(us, text);
    for (size_t i = 0; i < sizeof "2024-06-14T08:15:30" - 1; i++)
        if (text[i] >= '0' && text[i] <= '9')
            value = value * 10 + (uint64_t)(text[i] - '0');
    return value;
}

/* ---- values ---- */

static bool is_graphic(struct dx_span s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] <= ' ' || s.data[i] >= 0x7f)
            return false;
    return true;
}

/* What is appended until the next one is the value of the column. */
static void end_value(struct dx_capture_row *r, enum dx_cdx_column column)
{
    r->ends[column] = (uint32_t)r->text.size;
}

static void put_value(struct dx_capture_row *r, enum dx_cdx_column column, struct dx_span value)
{
    static const char digits[] = "0123456789ABCDEF";

    if (value.size == 0)
        return;
    if (is_graphic(value)) {
        dx_buf_append(&r->text, value.data, value.size);
    } else {
        for (size_t i = 0; i < value.size; i++) {
            uint8_t c = value.data[i];

            if (c <= ' ' || c >= 0x7f) {
                dx_buf_u8(&r->text, '%');
                dx_buf_u8(&r->text, (uint8_t)digits[c >> 4]);
                c = (uint8_t)digits[c & 15];
            }
            dx_buf_u8(&r->text, c);
        }
    }
    end_value(r, column);
}

static void put_number(struct dx_capture_row *r, enum dx_cdx_column column, uint64_t value)
{
    dx_buf_fmt(&r->text, "%llu", (unsigned long long)value);
    end_value(r, column);
}

static void put_timestamp(struct dx_capture_row *r)
{
    if (r->timestamp == 0)
        dx_buf_str(&r->text, "-");
    else
        dx_buf_fmt(&r->text, "%014llu", (unsigned long long)r->timestamp);
    end_value(r, DX_CDX_TIMESTAMP);
}

static int put_original(struct dx_capture_row *r, const struct dx_listing_row *row,
                        struct dx_error *err)
{
    struct dx_span raw = row->raw_url;
    int rc = raw.size > 0 && is_graphic(raw) ? dx_shown_request_text(&r->shown, raw, err) : 0;

    if (rc < 0)
        return rc;
    if (rc == 1) {
        put_value(r, DX_CDX_ORIGINAL, raw);
        return DX_OK;
    }
    /* three values of which each would end the one before: only the last end counts */
    put_value(r, DX_CDX_ORIGINAL, row->scheme);
    dx_buf_str(&r->text, "://");
    put_value(r, DX_CDX_ORIGINAL, row->host);
    put_value(r, DX_CDX_ORIGINAL, row->path_query);
    return DX_OK;
}

/* "text/html" of "text/html; charset=utf-8". */
static struct dx_span without_parameters(struct dx_span mime)
{
    size_t i = 0;

    while (i < mime.size && mime.data[i] != ';' && mime.data[i] != ',')
        i++;
    while (i > 0 && mime.data[i - 1] == ' ')
        i--;
    return dx_span_of(mime.data, i);
}

static struct dx_span first_of(const struct dx_span *extras, int first, int last)
{
    while (first < last && extras[first].size == 0)
        first++;
    return extras[first];
}

static int put_place(struct dx_capture_row *r, const struct dx_listing_row *row,
                     struct dx_span text, const struct dx_span *extras, struct dx_error *err)
{
    struct dx_locator locator;
    int rc = text.data == NULL ? 0 : dx_shown_request_locator(&r->shown, row, err);

    if (rc < 0)
        return rc;
    if (rc == 1 && dx_locator_parse(text, &locator) && locator.kind == DX_LOCATOR_WARC) {
        if (locator.place[1] > 0)
            put_number(r, DX_CDX_LENGTH, locator.place[1]);
        put_number(r, DX_CDX_OFFSET, locator.place[0]);
        put_value(r, DX_CDX_FILENAME, locator.name);
        return DX_OK;
    }
    rc = dx_shown_request_locator(&r->shown, row, err);
    put_value(r, DX_CDX_LENGTH, extras[LENGTH]);
    if (rc != 1)
        return rc < 0 ? rc : DX_OK;
    put_value(r, DX_CDX_OFFSET, extras[OFFSET]);
    put_value(r, DX_CDX_FILENAME, extras[FILENAME]);
    return DX_OK;
}

/* ---- a row ---- */

static void pick_extras(const struct dx_listing_row *row, struct dx_span *extras,
                        struct dx_span *locator)
{
    memset(extras, 0, EXTRAS * sizeof *extras);
    *locator = dx_span_of(NULL, 0);
    for (size_t i = 0; i < row->extra_count; i++) {
        if (dx_span_equal(row->extra[i].name, dx_span_str(DX_LOCATOR_COLUMN)))
            *locator = row->extra[i].value;
        for (size_t e = 0; e < EXTRAS; e++)
            if (dx_span_equal(row->extra[i].name, names[e]))
                extras[e] = row->extra[i].value;
    }
}

static void cut_columns(struct dx_capture_row *r)
{
    uint32_t begin = 0;

    for (size_t c = 0; c < DX_CDX_STORED; c++) {
        if (r->ends[c] == 0) {
            r->column[c] = dx_span_of(NULL, 0);
            continue;
        }
        r->column[c] = dx_span_of(r->text.data + begin, r->ends[c] - begin);
        begin = r->ends[c];
    }
}

int dx_capture_row_make(struct dx_capture_row *r, const struct dx_listing_row *row,
                        struct dx_span urlkey, struct dx_error *err)
{
    struct dx_span extras[EXTRAS];
    struct dx_span locator;
    int rc;

    pick_extras(row, extras, &locator);
    dx_buf_clear(&r->text);
    memset(r->ends, 0, sizeof r->ends);
    r->timestamp = row->has_ts ? dx_cdx_timestamp(row->ts_us) : 0;
    put_value(r, DX_CDX_URLKEY,
              urlkey); /* in the order of the columns, which cut_columns relies on */
    put_timestamp(r);
    rc = put_original(r, row, err);
    if (dx_span_equal(extras[TYPE], dx_span_str("revisit")))
        put_value(r, DX_CDX_MIME, dx_span_str("warc/revisit"));
    else
        put_value(r, DX_CDX_MIME, without_parameters(first_of(extras, MIMES, MIMETYPE)));
    put_value(r, DX_CDX_STATUS, first_of(extras, STATUS, STATUSCODE));
    put_value(r, DX_CDX_DIGEST, extras[DIGEST]);
    if (rc == DX_OK)
        rc = put_place(r, row, locator, extras, err);
    put_value(r, DX_CDX_REDIRECT, extras[REDIRECT]);
    put_value(r, DX_CDX_ROBOTFLAGS, extras[ROBOTFLAGS]);
    put_value(r, DX_CDX_DATASET, r->dataset);
    if (rc == DX_OK && r->text.failed)
        rc = dx_buf_fail(&r->text, err, "columns of a row");
    if (rc == DX_OK)
        cut_columns(r);
    return rc;
}
