/* SPDX-License-Identifier: Apache-2.0 */
#include "format/root/suppressions_floor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "domaindex suppressions floor 1\n"

/* Of the header and the first so many lines, of which there are no fewer. */
static struct dx_hash128 hash_lines(const struct dx_suppressions *log, uint64_t lines)
{
    const uint8_t *end = log->text.data;
    const uint8_t *last = log->text.data + log->text.size;

    for (uint64_t i = 0; i <= lines && end < last; i++) {
        const uint8_t *newline = memchr(end, '\n', (size_t)(last - end));

        end = newline == NULL ? last : newline + 1;
    }
    return dx_hash128_of(dx_span_of(log->text.data, (size_t)(end - log->text.data)));
}

void dx_suppressions_floor_of(const struct dx_suppressions *log,
                              struct dx_suppressions_floor *floor)
{
    *floor = (struct dx_suppressions_floor){ .lines = log->count };
    if (log->count > 0)
        floor->hash = hash_lines(log, log->count);
}

int dx_suppressions_floor_write(const struct dx_suppressions_floor *floor, struct dx_buf *out,
                                struct dx_error *err)
{
    char hex[DX_HASH128_TEXT];
    struct dx_hash128 sum;
    size_t at = out->size;

    dx_hash128_text(&floor->hash, hex);
    dx_buf_fmt(out, HEADER "lines\t%" PRIu64 "\nhash\t%s\n", floor->lines, hex);
    if (out->failed)
        return dx_buf_fail(out, err, DX_SUPPRESSIONS_FLOOR);
    sum = dx_hash128_of(dx_buf_from(out, at));
    dx_hash128_text(&sum, hex);
    dx_buf_fmt(out, "checksum\t%s\n", hex);
    return out->failed ? dx_buf_fail(out, err, DX_SUPPRESSIONS_FLOOR) : DX_OK;
}

/* Only what write writes is taken. */
int dx_suppressions_floor_parse(struct dx_span text, const char *name,
                                struct dx_suppressions_floor *floor, struct dx_error *err)
{
    struct dx_buf again = DX_BUF_INIT(DX_SUPPRESSIONS_FLOOR_MAX);
    char copy[DX_SUPPRESSIONS_FLOOR_MAX + 1];
    char hex[DX_HASH128_TEXT];
    bool same = false;
    int rc = DX_OK;

    *floor = (struct dx_suppressions_floor){ .lines = 0 };
    if (text.size > 0 && text.size <= DX_SUPPRESSIONS_FLOOR_MAX) {
        memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
        same = sscanf(copy, HEADER "lines %9" SCNu64 " hash %32[0-9a-f]", &floor->lines, hex) ==
                   2 &&
               dx_hash128_parse(dx_span_str(hex), &floor->hash);
    }
    if (same)
        rc = dx_suppressions_floor_write(floor, &again, err);
    same = same && dx_span_equal(text, dx_span_of(again.data, again.size));
    dx_buf_release(&again);
    if (rc == DX_E_NOMEM)
        return rc;
    return same ? DX_OK
                : dx_fail(err, DX_E_CORRUPT,
                          "%s: damaged: not 'domaindex suppressions floor 1' with lines, hash and "
                          "checksum. Restore it, or, if the log is whole: 'domaindex suppress "
                          "accept'",
                          name);
}

bool dx_suppressions_floor_holds(const struct dx_suppressions_floor *floor,
                                 const struct dx_suppressions *log)
{
    struct dx_hash128 hash;

    if (floor->lines == 0)
        return true;
    if (log->count < floor->lines)
        return false;
    hash = hash_lines(log, floor->lines);
    return dx_hash128_equal(&hash, &floor->hash);
}

/* by: what says it. */
static int check_floor(const struct dx_suppressions *log, const struct dx_suppressions_floor *floor,
                       const char *by, const char *root, struct dx_error *err)
{
    if (floor->lines == 0)
        return DX_OK;
    if (log->count < floor->lines)
        return dx_fail(err, DX_E_CORRUPT,
                       "%s/" DX_SUPPRESSIONS_FILE ": %zu line%s, but %" PRIu64
                       " were in force (%s): the log was lost or is an older copy, and what it hid "
                       "would be shown. Restore the whole log; or give the missing rules up: "
                       "'domaindex suppress accept --root %s'",
                       root, log->count, log->count == 1 ? "" : "s", floor->lines, by, root);
    if (!dx_suppressions_floor_holds(floor, log))
        return dx_fail(err, DX_E_CORRUPT,
                       "%s/" DX_SUPPRESSIONS_FILE ": its first %" PRIu64
                       " line%s are not those that were in force (%s): it is another log. Restore "
                       "the right one; or take this one: 'domaindex suppress accept --root %s'",
                       root, floor->lines, floor->lines == 1 ? "" : "s", by, root);
    return DX_OK;
}

int dx_suppressions_floor_check(const struct dx_suppressions *log,
                                const struct dx_suppressions_floor *floor, const char *root,
                                struct dx_error *err)
{
    return check_floor(log, floor, DX_SUPPRESSIONS_FLOOR, root, err);
}

/* ---- in the manifest ---- */

bool dx_suppressions_floor_bind(const struct dx_suppressions_floor *floor, struct dx_manifest *m)
{
    if (floor->lines <= m->suppressions)
        return false;
    m->suppressions = floor->lines;
    m->suppressions_hash = floor->hash;
    return true;
}

int dx_suppressions_floor_check_bound(const struct dx_suppressions *log,
                                      const struct dx_manifest *m, const char *root,
                                      struct dx_error *err)
{
    const struct dx_suppressions_floor floor = { m->suppressions, m->suppressions_hash };

    return check_floor(log, &floor, DX_MANIFEST_FILE, root, err);
}
