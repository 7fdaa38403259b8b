/* SPDX-License-Identifier: Apache-2.0
 * Cursors: what is written is read back, and nothing else is read at all: no bit flipped, no
 * character more, less or other, no other key.
 */
#include "query/cursor.h"

#include "query/answer.h"
#include "tests/support/damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned failures;

static struct dx_cursor listing(void)
{
    struct dx_cursor c = { .kind = DX_CURSOR_LISTING,
                           .version = "000017-20261121T103000Z",
                           .began_s = 1795000000,
                           .limit = 1000,
                           .domain_id = 0xfedcba9876543210,
                           .dataset_id = 0xfffffffe,
                           .fields = DX_FIELDS_DEFAULT,
                           .next_row = 1000,
                           .end_row = 12345678901 };

    memset(c.build.bytes, 0xa5, sizeof c.build.bytes);
    return c;
}

static struct dx_cursor changes(void)
{
    struct dx_cursor c = { .kind = DX_CURSOR_CHANGES,
                           .version = "000017-20261121T103000Z",
                           .began_s = 1795000000,
                           .limit = 10,
                           .since = "000003-20261101T103000Z",
                           .next_before = 77,
                           .next_after = 0xfffffffe };

    memset(c.build.bytes, 0x5a, sizeof c.build.bytes);
    memset(c.since_build.bytes, 0x11, sizeof c.since_build.bytes);
    return c;
}

static bool same(const struct dx_cursor *a, const struct dx_cursor *b)
{
    return a->kind == b->kind && strcmp(a->version, b->version) == 0 &&
           memcmp(&a->build, &b->build, sizeof a->build) == 0 && a->began_s == b->began_s &&
           a->limit == b->limit && a->domain_id == b->domain_id && a->dataset_id == b->dataset_id &&
           a->fields == b->fields && a->next_row == b->next_row && a->end_row == b->end_row &&
           strcmp(a->since, b->since) == 0 &&
           memcmp(&a->since_build, &b->since_build, sizeof a->since_build) == 0 &&
           a->next_before == b->next_before && a->next_after == b->next_after;
}

static void refused(struct dx_span text, const struct dx_cursor_key *key, const char *why)
{
    struct dx_problem problem;
    struct dx_cursor c;
    int rc = dx_cursor_read(text, key, &c, &problem);

    EXPECT(rc == 0 && strcmp(problem.slug, "bad-cursor") == 0, "%s: %d of %.*s", why, rc,
           (int)text.size, (const char *)text.data);
}

static void check_changed(const char *text, const struct dx_cursor_key *key)
{
    size_t n = strlen(text);
    char other[DX_CURSOR_TEXT + 1];

    for (size_t i = 0; i < n; i++)
        for (unsigned c = 0; c < 256; c++) {
            memcpy(other, text, n + 1);
            other[i] = (char)c;
            if (other[i] != text[i])
                refused(dx_span_of(other, n), key, "another character");
        }
    for (size_t i = 0; i < n; i++)
        refused(dx_span_of(text, i), key, "cut");
    for (unsigned c = 0; c < 256; c++) {
        memcpy(other, text, n);
        other[n] = (char)c;
        refused(dx_span_of(other, n + 1), key, "longer");
    }
}

static void check_round(const struct dx_cursor *c, const struct dx_cursor_key *key,
                        const struct dx_cursor_key *other)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_cursor back;
    char text[DX_CURSOR_TEXT];

    EXPECT(dx_cursor_write(c, key, text, &err) == DX_OK, "%s", err.text);
    EXPECT(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
               strlen(text),
           "%s", text);
    EXPECT(dx_cursor_read(dx_span_str(text), key, &back, &problem) == 1 && same(c, &back), "%s",
           text);
    refused(dx_span_str(text), other, "another key");
    check_changed(text, key);
}

/* A MAC that is right does not make the values so. */
static void check_values(const struct dx_cursor_key *key)
{
    struct dx_error err = DX_ERROR_INIT;
    char text[DX_CURSOR_TEXT];
    struct dx_cursor c[8];

    for (size_t i = 0; i < 8; i++)
        c[i] = i < 6 ? listing() : changes();
    c[0].next_row = c[0].end_row + 1;
    c[1].fields = 32;
    c[2].fields = 0;
    c[3].limit = 0;
    c[4].limit = DX_LIMIT_MAX + 1;
    c[5].version[6] = '_';
    c[6].since[0] = '/';
    c[7].kind = (enum dx_cursor_kind)3;
    for (size_t i = 0; i < 8; i++) {
        EXPECT(dx_cursor_write(&c[i], key, text, &err) == DX_OK, "%s", err.text);
        refused(dx_span_str(text), key, "a value");
    }
}

static void check_life(void)
{
    static const struct {
        int64_t now, began;
        bool expired;
    } rows[] = { { 1000, 1000, false },     { 1900, 1000, false },
                 { 1901, 1000, true },      { 900, 1000, false }, /* a clock behind ours */
                 { 0, INT64_MIN, true },    { INT64_MAX, -1, true },
                 { INT64_MIN, 1000, true }, { INT64_MAX, INT64_MAX, false } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_cursor c = { .began_s = rows[i].began };

        EXPECT(dx_cursor_expired(&c, rows[i].now, 900) == rows[i].expired, "row %zu", i);
    }
}

static void check_key_file(struct dx_cursor_key *key)
{
    static const size_t sizes[] = { 0, 31, 32, 4096, 4097 };
    struct dx_error err = DX_ERROR_INIT;
    char path[] = "/tmp/dx_cursor_key_XXXXXX";
    int fd = mkstemp(path);

    EXPECT(fd >= 0, "%s", path);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bool good = sizes[i] >= 32 && sizes[i] <= 4096;
        int rc;

        EXPECT(ftruncate(fd, (off_t)sizes[i]) == 0, "%s", path);
        rc = dx_cursor_key_read(key, path, &err);
        EXPECT((rc == DX_OK) == good && key->shared == good, "%zu bytes: %d", sizes[i], rc);
    }
    EXPECT(ftruncate(fd, 32) == 0 && dx_cursor_key_read(key, path, &err) == DX_OK, "%s", err.text);
    (void)close(fd);
    (void)unlink(path);
    EXPECT(dx_cursor_key_read(&(struct dx_cursor_key)DX_CURSOR_KEY_INIT, path, &err) < 0, "gone");
}

int main(void)
{
    const struct dx_cursor_key own = DX_CURSOR_KEY_INIT;
    struct dx_cursor_key shared = DX_CURSOR_KEY_INIT;
    struct dx_cursor c[2];

    c[0] = listing();
    c[1] = changes();
    check_key_file(&shared);
    for (size_t i = 0; i < 2; i++) {
        check_round(&c[i], &own, &shared);
        check_round(&c[i], &shared, &own);
    }
    check_values(&own);
    check_values(&shared);
    check_life();
    return failures > 0;
}
