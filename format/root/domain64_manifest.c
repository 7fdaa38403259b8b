/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/domain64_manifest.h"

#include "base/decimal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEAD "domaindex-domain64\t1\n"

uint32_t dx_domain64_manifest_last(const struct dx_domain64_manifest *l)
{
    return l->count == 0 ? 0 : l->file[l->count - 1].last;
}

void dx_number_object(const struct dx_number_file *file, char object[DX_NUMBER_OBJECT])
{
    char hex[DX_HASH128_TEXT];

    dx_hash128_text(&file->hash, hex);
    (void)snprintf(object, DX_NUMBER_OBJECT,
                   DX_NUMBER_FOLDER "%06" PRIu32 "-%06" PRIu32 "-%.16s.d64", file->first,
                   file->last, hex);
}

struct dx_build_id dx_number_build(const struct dx_domain64_manifest *l, uint32_t first,
                                   uint32_t last)
{
    struct dx_build_id build;
    struct dx_hash128 hash;
    char text[96];
    int n = snprintf(text, sizeof text, "domaindex-domain64-1\n%s\n%" PRIu32 "\n%" PRIu32 "\n",
                     l->id, first, last);

    hash = dx_hash128_of(dx_span_of(text, (size_t)n));
    memcpy(build.bytes, hash.bytes, sizeof build.bytes);
    return build;
}

/* ---- what a list must be ---- */

static bool id_ok(const char *id)
{
    return strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32;
}

/* "000007-20261121T103000Z", or nothing; no more is asked of a note. */
static bool filled_ok(const char *text)
{
    return text[0] == '\0' || (strlen(text) == 23 && strspn(text, "0123456789-TZ") == 23);
}

int dx_domain64_manifest_add(struct dx_domain64_manifest *l, const struct dx_number_file *file,
                             struct dx_error *err)
{
    if (l->count == DX_DOMAIN64_SEGMENTS_MAX)
        return dx_fail(err, DX_E_LIMIT, "domain64 registry: more than %d files",
                       DX_DOMAIN64_SEGMENTS_MAX);
    if (file->first != dx_domain64_manifest_last(l) + 1 || file->last < file->first ||
        file->last > 999999)
        return dx_fail(err, DX_E_CORRUPT,
                       "domain64 registry: fillings %" PRIu32 " to %" PRIu32 " behind %" PRIu32,
                       file->first, file->last, dx_domain64_manifest_last(l));
    l->file[l->count++] = *file;
    return DX_OK;
}

/* ---- writing ---- */

int dx_domain64_manifest_write(const struct dx_domain64_manifest *l, struct dx_buf *out,
                               struct dx_error *err)
{
    struct dx_domain64_manifest again = { .layout = l->layout };
    size_t begin = out->size;
    char hex[DX_HASH128_TEXT];
    struct dx_hash128 sum;

    if (!id_ok(l->id) || !filled_ok(l->filled))
        return dx_fail(err, DX_E_INVALID, "domain64 registry: id or version make no sense");
    dx_buf_str(out, HEAD);
    dx_buf_fmt(out, "layout\t%" PRIu32 "\nid\t%s\nfilled\t%s\nnames", l->layout, l->id, l->filled);
    for (size_t i = 0; i < DX_NUMBER_PARTS; i++)
        dx_buf_fmt(out, "\t%" PRIu64, l->names[i]);
    dx_buf_str(out, "\nfull");
    for (size_t i = 0; i < DX_NUMBER_PARTS; i++)
        dx_buf_fmt(out, "\t%" PRIu64, l->full[i]);
    dx_buf_fmt(out, "\nurls_out\t%" PRIu64 "\n", l->urls_out);
    for (size_t i = 0; i < l->count; i++) {
        const struct dx_number_file *f = &l->file[i];
        int rc = dx_domain64_manifest_add(&again, f, err);

        if (rc < 0)
            return rc;
        dx_hash128_text(&f->hash, hex);
        dx_buf_fmt(out, "file\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", f->first,
                   f->last, f->names, f->size, hex);
    }
    if (out->failed)
        return dx_buf_fail(out, err, "domain64 registry");
    sum = dx_hash128_of(dx_buf_from(out, begin));
    dx_hash128_text(&sum, hex);
    dx_buf_fmt(out, "checksum\t%s\n", hex);
    return out->failed ? dx_buf_fail(out, err, "domain64 registry") : DX_OK;
}

/* ---- reading ---- */

struct reading {
    struct dx_bytes at;
    bool bad;
};

/* What stands up to `end`, which is passed over. */
static struct dx_span until(struct reading *r, uint8_t end)
{
    const uint8_t *stop = dx_bytes_left(&r->at) == 0 ? NULL
                                                     : memchr(r->at.at, end, dx_bytes_left(&r->at));
    struct dx_span s = dx_span_of(NULL, 0);

    if (stop == NULL || r->bad) {
        r->bad = true;
        return s;
    }
    s = dx_bytes_take(&r->at, (uint64_t)(stop - r->at.at));
    (void)dx_bytes_u8(&r->at);
    return s;
}

static void word(struct reading *r, const char *want, uint8_t end)
{
    r->bad = !dx_span_equal(until(r, end), dx_span_str(want)) || r->bad;
}

/* Decimal, as it is written: no sign, no zero in front. */
static uint64_t number(struct reading *r, uint64_t most, uint8_t end)
{
    struct dx_span s = until(r, end);
    uint64_t v;

    r->bad = !dx_decimal_plain(s, most, &v) || r->bad;
    return r->bad ? 0 : v;
}

static void text(struct reading *r, char *out, size_t room, uint8_t end)
{
    struct dx_span s = until(r, end);

    if (s.size >= room || (s.size > 0 && memchr(s.data, 0, s.size) != NULL))
        r->bad = true;
    if (r->bad)
        return;
    if (s.size > 0)
        memcpy(out, s.data, s.size);
    out[s.size] = '\0';
}

static void read_front(struct reading *r, struct dx_domain64_manifest *l)
{
    word(r, "domaindex-domain64", '\t');
    word(r, "1", '\n');
    word(r, "layout", '\t');
    l->layout = (uint32_t)number(r, 1, '\n');
    word(r, "id", '\t');
    text(r, l->id, sizeof l->id, '\n');
    word(r, "filled", '\t');
    text(r, l->filled, sizeof l->filled, '\n');
    word(r, "names", '\t');
    for (size_t i = 0; i < DX_NUMBER_PARTS; i++)
        l->names[i] = number(r, UINT64_MAX / 2, i + 1 < DX_NUMBER_PARTS ? '\t' : '\n');
    word(r, "full", '\t');
    for (size_t i = 0; i < DX_NUMBER_PARTS; i++)
        l->full[i] = number(r, UINT64_MAX / 2, i + 1 < DX_NUMBER_PARTS ? '\t' : '\n');
    word(r, "urls_out", '\t');
    l->urls_out = number(r, UINT64_MAX / 2, '\n');
    r->bad = r->bad || !id_ok(l->id) || !filled_ok(l->filled);
}

static void read_file(struct reading *r, struct dx_number_file *f)
{
    f->first = (uint32_t)number(r, 999999, '\t');
    f->last = (uint32_t)number(r, 999999, '\t');
    f->names = number(r, UINT32_MAX, '\t');
    f->size = number(r, UINT64_MAX / 2, '\t');
    r->bad = !dx_hash128_parse(until(r, '\n'), &f->hash) || r->bad;
}

int dx_domain64_manifest_parse(struct dx_domain64_manifest *l, struct dx_span whole,
                               const char *name, struct dx_error *err)
{
    struct reading r = { dx_bytes_of(whole), false };
    struct dx_hash128 want;
    struct dx_hash128 sum;
    bool ended = false;

    memset(l, 0, sizeof *l);
    read_front(&r, l);
    while (!r.bad && !ended) {
        size_t line = dx_bytes_at(&r.at);
        struct dx_span key = until(&r, '\t');

        if (dx_span_equal(key, dx_span_str("checksum"))) {
            ended = true;
            sum = dx_hash128_of(dx_span_of(whole.data, line));
            if (!dx_hash128_parse(until(&r, '\n'), &want) || !dx_hash128_equal(&sum, &want))
                return dx_fail(err, DX_E_CORRUPT, "%s: at offset %zu: the checksum is another one",
                               name, line);
        } else if (dx_span_equal(key, dx_span_str("file"))) {
            struct dx_number_file f = { .first = 0 };
            int rc;

            read_file(&r, &f);
            rc = r.bad ? DX_OK : dx_domain64_manifest_add(l, &f, err);
            if (rc < 0)
                return dx_fail_in(err, "%s", name);
        } else {
            r.bad = true;
        }
    }
    if (r.bad || dx_bytes_left(&r.at) > 0)
        return dx_fail(err, DX_E_CORRUPT, "%s: at offset %zu: not a line of a domain64 registry",
                       name, dx_bytes_at(&r.at));
    return DX_OK;
}
