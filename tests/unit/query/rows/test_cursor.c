/* SPDX-License-Identifier: Apache-2.0
 * Cursors: what is written is read back, and nothing else is read at all: no bit flipped, no
 * character more, less or other, no other key, no other principal. What is in one cannot be seen.
 */
#include "query/rows/cursor.h"

#include "query/answers/answer.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"

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

static struct dx_cursor foreign(void)
{
    struct dx_cursor c = listing();

    c.kind = DX_CURSOR_FOREIGN;
    return c;
}

static void put_filter(struct dx_cursor *c)
{
    const struct dx_row_filter f = { .tag = dx_span_str("a tag"), .prefix = dx_span_str("/p") };

    c->filter_size = (uint16_t)dx_row_filter_pack(&f, c->filter);
}

static struct dx_cursor filtered(void)
{
    struct dx_cursor c = listing();

    put_filter(&c);
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

static struct dx_cursor rows_of_a_tag(void)
{
    struct dx_cursor c = listing();

    c.kind = DX_CURSOR_TAG;
    c.domain_id = 0;
    c.tag_hash = 0x0123456789abcdef;
    c.one_dataset = true;
    c.rows = true;
    c.fields = DX_FIELDS_ALL;
    c.next_file = 0xfffffffd;
    return c;
}

static struct dx_cursor tags(void)
{
    struct dx_cursor c = listing();

    c.kind = DX_CURSOR_TAGS;
    c.domain_id = 0;
    c.dataset_id = 0;
    return c;
}

static struct dx_cursor range(void)
{
    struct dx_cursor c = { .kind = DX_CURSOR_RANGE,
                           .version = "000017-20261121T103000Z",
                           .began_s = 1795000000,
                           .limit = 10,
                           .dataset_id = 7,
                           .fields = DX_FIELDS_ALL,
                           .next_row = 12345678901,
                           .first = 0x0100000100000000,
                           .end = 0xff00000000000000,
                           .one_dataset = true,
                           .next_number = 0x0100000200000000,
                           .next_dataset = 0xfffffffe };

    memset(c.build.bytes, 0x5b, sizeof c.build.bytes);
    memset(c.numbers.bytes, 0x12, sizeof c.numbers.bytes);
    put_filter(&c);
    return c;
}

static struct dx_cursor tlds(void)
{
    struct dx_cursor c = { .kind = DX_CURSOR_TLDS,
                           .version = "000017-20261121T103000Z",
                           .began_s = 1795000000,
                           .limit = 10,
                           .dataset_id = 7,
                           .one_dataset = true,
                           .next_row = 0xfffffffd,
                           .line = 12345678901,
                           .sums = { 1, 0x0123456789abcdef, UINT64_MAX } };

    memset(c.build.bytes, 0x5c, sizeof c.build.bytes);
    return c;
}

static struct dx_cursor all_urls(void)
{
    struct dx_cursor c = listing();

    c.kind = DX_CURSOR_ALL_URLS;
    c.dataset_id = 0;
    c.next_dataset = 3;
    c.end_dataset = 0xfffffffe;
    c.next_row = c.end_row + 7; /* of an earlier dataset */
    c.dataset_count = DX_DATASET_LIST_MAX;
    for (uint32_t i = 0; i < DX_DATASET_LIST_MAX; i++)
        c.datasets[i] = 3 + i * 0x1000000;
    return c;
}

static struct dx_cursor ordered(void)
{
    struct dx_cursor c = all_urls();

    c.next_dataset = 0xffffffff; /* behind the one that was kept */
    c.sort = DX_CURSOR_SORT_CLOSEST;
    c.reverse = c.has_kept = c.subdomains = true;
    c.collapse = 4;
    c.collapse_digits = 14;
    c.closest_us = INT64_MIN;
    c.range = 0x0123456789abcdef;
    c.position.has_value = true; /* alone: of a URL that is too long */
    memset(c.position.value, 0x77, sizeof c.position.value);
    return c;
}

static void put_order(struct dx_cursor *c)
{
    dx_cursor_position_set(&c->position, false, 7, dx_span_str("a.example"), dx_span_str("/"));
    c->collapse = 1;
    c->next_number = 0xfffffffe;
    c->next_row = 12345;
    c->sort = DX_CURSOR_SORT_CLOSEST;
    c->reverse = true;
    c->closest_us = INT64_MAX;
}

static struct dx_cursor ordered_range(void)
{
    struct dx_cursor c = range();

    put_order(&c);
    c.end = 5; /* which the domain's number in the version has nothing to do with */
    return c;
}

static struct dx_cursor domains(void)
{
    struct dx_cursor c = filtered();

    c.kind = DX_CURSOR_DOMAINS;
    c.one_dataset = true;
    c.domain_id = 0;
    c.fields = DX_DOMAINS_FIELD_URLS;
    c.end_row = 0xfffffffe;
    c.next_row = 0xfffffffd;
    return c;
}

static struct dx_cursor suffix(void)
{
    struct dx_cursor c = tlds();

    c.kind = DX_CURSOR_SUFFIX;
    memset(c.sums, 0, sizeof c.sums);
    c.tag_hash = 0xfedcba9876543210;
    c.rows = true;
    c.next_dataset = 0xfffffffe;
    for (size_t i = 0; i < 14; i++)
        c.suffix_sums[i / 7][i % 7] = UINT64_MAX / (i + 1);
    return c;
}

static struct dx_cursor suffix_urls(void)
{
    struct dx_cursor c = filtered();

    c.kind = DX_CURSOR_SUFFIX_URLS;
    c.one_dataset = true;
    c.domain_id = 0;
    c.end_row = 0;
    c.tag_hash = 0xfedcba9876543210;
    c.next_number = 0xfffffffe;
    c.next_dataset = 0xfffffffd;
    c.next_row = INT64_MAX;
    return c;
}

static struct dx_cursor ordered_suffix(void)
{
    struct dx_cursor c = suffix_urls();

    put_order(&c);
    return c;
}

static struct dx_cursor suffix_part(void)
{
    struct dx_cursor c = suffix_urls();

    c.has_end = true;
    c.end = 0xffffffff;
    return c;
}

static bool same(const struct dx_cursor *a, const struct dx_cursor *b)
{
    return a->kind == b->kind && strcmp(a->version, b->version) == 0 &&
           memcmp(&a->build, &b->build, sizeof a->build) == 0 && a->began_s == b->began_s &&
           a->limit == b->limit && a->filter_size == b->filter_size &&
           memcmp(a->filter, b->filter, a->filter_size) == 0 && a->domain_id == b->domain_id &&
           a->dataset_id == b->dataset_id && a->fields == b->fields && a->next_row == b->next_row &&
           a->end_row == b->end_row && strcmp(a->since, b->since) == 0 &&
           memcmp(&a->since_build, &b->since_build, sizeof a->since_build) == 0 &&
           a->next_before == b->next_before && a->next_after == b->next_after &&
           memcmp(&a->numbers, &b->numbers, sizeof a->numbers) == 0 && a->first == b->first &&
           a->end == b->end && a->has_end == b->has_end && a->one_dataset == b->one_dataset &&
           a->next_number == b->next_number && a->next_dataset == b->next_dataset &&
           memcmp(a->sums, b->sums, sizeof a->sums) == 0 &&
           memcmp(a->suffix_sums, b->suffix_sums, sizeof a->suffix_sums) == 0 &&
           a->line == b->line && a->end_dataset == b->end_dataset &&
           a->dataset_count == b->dataset_count &&
           memcmp(a->datasets, b->datasets, a->dataset_count * sizeof *a->datasets) == 0 &&
           a->tag_hash == b->tag_hash && a->rows == b->rows && a->next_file == b->next_file &&
           a->collapse == b->collapse && a->has_kept == b->has_kept &&
           memcmp(&a->position, &b->position, sizeof a->position) == 0;
}

/* Always with the same words. */
static void refused(struct dx_span text, const struct dx_cursor_key *key, const char *principal,
                    const char *why)
{
    static char words[sizeof((struct dx_problem *)NULL)->detail];
    struct dx_problem problem;
    struct dx_cursor c;
    int rc = dx_cursor_read(text, key, principal, &c, &problem);

    EXPECT(rc == 0 && strcmp(problem.slug, "bad-cursor") == 0, "%s: %d of %.*s", why, rc,
           (int)text.size, (const char *)text.data);
    if (words[0] == '\0')
        memcpy(words, problem.detail, sizeof words);
    EXPECT(strcmp(words, problem.detail) == 0, "%s: %s", why, problem.detail);
}

static void check_changed(const char *text, const struct dx_cursor_key *key, const char *principal)
{
    const unsigned step = (unsigned)dx_sample(1, 43);
    size_t n = strlen(text);
    char other[DX_CURSOR_TEXT + 1];

    for (size_t i = 0; i < n; i++)
        for (unsigned c = (unsigned)i % step; c < 256; c += step) {
            memcpy(other, text, n + 1);
            other[i] = (char)c;
            if (other[i] != text[i])
                refused(dx_span_of(other, n), key, principal, "another character");
        }
    for (size_t i = 0; i < n; i += dx_sample(1, 7))
        refused(dx_span_of(text, i), key, principal, "cut");
    for (unsigned c = 0; c < 256; c += (unsigned)dx_sample(1, 7)) {
        memcpy(other, text, n);
        other[n] = (char)c;
        refused(dx_span_of(other, n + 1), key, principal, "longer");
    }
}

static void check_round(const struct dx_cursor *c, const struct dx_cursor_key *key,
                        const char *principal, const struct dx_cursor_key *other)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_cursor back;
    char text[DX_CURSOR_TEXT];
    char again[DX_CURSOR_TEXT];

    EXPECT(dx_cursor_write(c, key, principal, text, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_cursor_write(c, key, principal, again, &err) == DX_OK && strcmp(text, again) == 0,
           "twice the same is not the same text");
    EXPECT(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
               strlen(text),
           "%s", text);
    EXPECT(dx_cursor_read(dx_span_str(text), key, principal, &back, &problem) == 1 &&
               same(c, &back),
           "%s", text);
    refused(dx_span_str(text), other, principal, "another key");
    check_changed(text, key, principal);
}

/* Each to its own, also where one name begins with another, and where there is none. */
static void check_principals(const struct dx_cursor *c, const struct dx_cursor_key *key)
{
    static const char *const names[] = { "",  "a",      "aa",     "b",        "anonymous",
                                         "A", "team-a", "team-b", "team-a:2", NULL };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_cursor back;
    char text[10][DX_CURSOR_TEXT];

    for (size_t i = 0; i < 10; i++)
        EXPECT(dx_cursor_write(c, key, names[i], text[i], &err) == DX_OK, "%s", err.text);
    EXPECT(strcmp(text[0], text[9]) == 0, "no name, and an empty one");
    for (size_t i = 0; i < 9; i++)
        for (size_t j = 0; j < 9; j++)
            if (i != j)
                refused(dx_span_str(text[i]), key, names[j], "of another principal");
            else
                EXPECT(dx_cursor_read(dx_span_str(text[i]), key, names[j], &back, &problem) == 1,
                       "%s", names[i]);
}

static size_t bits_that_differ(const char *a, const char *b)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t n = 0;

    for (size_t i = 0; a[i] != '\0' && b[i] != '\0'; i++)
        n += (size_t)__builtin_popcount(
            (unsigned)((strchr(digits, a[i]) - digits) ^ (strchr(digits, b[i]) - digits)));
    return n;
}

/* Cursors that differ in a bit differ in about half of theirs, behind what stands in front, and
 * have the same length: of 5.3 x 100 bits a third has a chance of 10^-14 not to. */
static void check_sealed(const struct dx_cursor_key *key, const char *principal)
{
    struct dx_error err = DX_ERROR_INIT;
    char text[2][DX_CURSOR_TEXT];

    for (uint64_t bit = 1; bit != 0; bit <<= 1) {
        struct dx_cursor c = changes();

        EXPECT(dx_cursor_write(&c, key, principal, text[0], &err) == DX_OK, "%s", err.text);
        c.next_after ^= bit;
        EXPECT(dx_cursor_write(&c, key, principal, text[1], &err) == DX_OK, "%s", err.text);
        EXPECT(strlen(text[0]) == strlen(text[1]), "its length tells");
        EXPECT(bits_that_differ(text[0], text[1]) > 8 * (strlen(text[0]) * 6 / 8 - 33) / 3,
               "%zu bits differ", bits_that_differ(text[0], text[1]));
    }
}

/* Of format 1, which servers gave before: signed with the key of its build. */
static void check_older(const struct dx_cursor_key *key)
{
    static const char older[] =
        "AQEwMDAwMTctMjAyNjExMjFUMTAzMDAwWqWlpaWlpaWlpaWlpaWlpaXAhv1qAAAAAOgDAAAQMlR2mLrc_v7___8H"
        "6AMAAAAAAAA1HNzfAgAAALgnjdYpHZWKr8CBlcq_tVFCpkWGDArfWNyjTqQC9Ahv";

    refused(dx_span_str(older), key, NULL, "format 1");
    refused(dx_span_str(older), key, "team-a", "format 1");
}

static void check_no_key(void)
{
    const struct dx_cursor_key none = DX_CURSOR_KEY_INIT;
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_cursor c = listing();
    char text[DX_CURSOR_TEXT];

    EXPECT(dx_cursor_write(&c, &none, "team-a", text, &err) == DX_E_INVALID, "%s", text);
    EXPECT(dx_cursor_write(&c, &none, "", text, &err) == DX_OK, "%s", err.text);
    refused(dx_span_str(text), &none, "team-a", "no key");
}

/* That it opens does not make the values right. */
static void check_long_text(const struct dx_cursor_key *key)
{
    static char text[2 * DX_CURSOR_TEXT];

    memset(text, 'A', sizeof text - 1);
    refused(dx_span_str(text), key, "team-a", "longer than any cursor");
    refused(dx_span_of(text, DX_CURSOR_TEXT), key, "team-a", "a byte longer than the longest");
    refused(dx_span_of(text, DX_CURSOR_TEXT - 1), key, "team-a", "as long as the longest");
}

static void check_values(const struct dx_cursor_key *key, const char *principal)
{
    struct dx_error err = DX_ERROR_INIT;
    char text[DX_CURSOR_TEXT];
    struct dx_cursor c[53];

    for (size_t i = 0; i < 53; i++)
        c[i] = i < 6    ? listing()
               : i < 8  ? changes()
               : i < 13 ? range()
               : i < 15 ? rows_of_a_tag()
               : i < 18 ? tlds()
               : i < 24 ? all_urls()
               : i < 27 ? domains()
               : i < 30 ? ordered()
               : i < 32 ? suffix()
               : i < 36 ? suffix_part()
               : i < 38 ? range()
               : i < 41 ? ordered_range()
               : i < 43 ? ordered_suffix()
               : i < 46 ? domains()
               : i < 48 ? listing()
               : i < 51 ? ordered_range()
               : i < 52 ? suffix_part()
                        : tlds();
    c[43].fields = 0;
    c[44].fields = DX_DOMAINS_FIELDS_ALL + 1;
    c[45].end_row = (uint64_t)UINT32_MAX + 1;
    c[46].next_row = c[46].end_row = (uint64_t)INT64_MAX + 1;
    c[47].fields = DX_FIELDS_ALL + 1;
    c[48].range = 7; /* of which URLs of a domain */
    c[49].subdomains = true;
    c[50].sort = DX_CURSOR_SORT_COUNT;
    c[51].filter_size = 3;
    c[52].limit = DX_LIMIT_MAX + 1;
    c[38].next_number = (uint64_t)UINT32_MAX + 1;
    c[39].has_kept = true;
    c[40].next_row = INT64_MAX;
    c[41].has_end = true;
    c[42].subdomains = true;
    c[32].next_number = (uint64_t)UINT32_MAX + 1;
    c[33].next_row = (uint64_t)INT64_MAX + 1;
    c[34].one_dataset = false; /* and yet a dataset */
    c[35].end = (uint64_t)UINT32_MAX + 1;
    c[36].filter_size = 3;
    c[37].next_number = UINT64_MAX;
    c[0].next_row = c[0].end_row + 1;
    c[27].sort = DX_CURSOR_SORT_COUNT;
    c[28].end_row = INT64_MAX;
    c[29].next_row = UINT64_MAX;
    c[1].filter_size = 3; /* half a filter */
    c[2].fields = 0;
    c[3].limit = 0;
    c[4].limit = DX_LIMIT_MAX + 1;
    c[5].version[6] = '_';
    c[6].since[0] = '/';
    c[7].kind = (enum dx_cursor_kind)10;
    c[8].next_number = c[8].end + 1;
    c[9].next_row = (uint64_t)INT64_MAX + 1;
    c[10].one_dataset = false; /* and yet a dataset */
    c[11].fields = 0;
    c[12].limit = 0;
    c[13].fields = 0;
    c[14].next_row = c[14].end_row + 1;
    c[15].one_dataset = false;
    c[16].next_row = (uint64_t)UINT32_MAX + 1;
    c[17].limit = 0;
    c[18].datasets[1] = c[18].datasets[0];
    c[19].end_dataset = c[19].next_dataset; /* and an earlier row */
    c[20].end_dataset = c[20].next_dataset - 1;
    c[21].end_row = (uint64_t)INT64_MAX + 1;
    c[22].fields = 0;
    c[23].filter_size = 3;
    c[24].one_dataset = false;
    c[25].next_row = (uint64_t)UINT32_MAX + 1;
    c[26].filter_size = 3;
    c[30].one_dataset = false;
    c[31].next_row = (uint64_t)UINT32_MAX + 1;
    for (size_t i = 0; i < 53; i++) {
        EXPECT(dx_cursor_write(&c[i], key, principal, text, &err) == DX_OK, "%s", err.text);
        refused(dx_span_str(text), key, principal, "a value");
    }
}

/* The longest of all, and a URL that is longer still. */
static void check_position(const struct dx_cursor_key *key)
{
    uint8_t path[DX_CURSOR_URL_MAX];
    struct dx_cursor c = ordered();
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_cursor back;
    char text[DX_CURSOR_TEXT];

    memset(path, '/', sizeof path);
    dx_cursor_position_set(&c.position, true, INT64_MIN, dx_span_str("a.example"),
                           dx_span_of(path, sizeof path - 9));
    EXPECT(c.position.given && dx_cursor_write(&c, key, NULL, text, &err) == DX_OK &&
               strlen(text) < sizeof text,
           "%s", err.text);
    EXPECT(dx_cursor_read(dx_span_str(text), key, NULL, &back, &problem) == 1 && same(&c, &back) &&
               dx_span_equal(dx_cursor_position_path(&back.position),
                             dx_span_of(path, sizeof path - 9)),
           "%s", problem.detail);
    dx_cursor_position_set(&c.position, true, 1, dx_span_str("a.example"),
                           dx_span_of(path, sizeof path - 8));
    EXPECT(!c.position.given && c.position.has_value, "too long to be in a cursor");
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
        EXPECT((rc == DX_OK) == good && (key->kind == DX_CURSOR_KEY_SHARED) == good,
               "%zu bytes: %d", sizes[i], rc);
    }
    EXPECT(ftruncate(fd, 32) == 0 && dx_cursor_key_read(key, path, &err) == DX_OK, "%s", err.text);
    (void)close(fd);
    (void)unlink(path);
    EXPECT(dx_cursor_key_read(&(struct dx_cursor_key)DX_CURSOR_KEY_INIT, path, &err) < 0, "gone");
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cursor_key own = DX_CURSOR_KEY_INIT;
    struct dx_cursor_key other = DX_CURSOR_KEY_INIT;
    struct dx_cursor_key shared = DX_CURSOR_KEY_INIT;
    struct dx_cursor c[16];

    c[0] = listing();
    c[1] = changes();
    c[2] = filtered();
    c[3] = range();
    c[4] = tags();
    c[5] = rows_of_a_tag();
    c[6] = tlds();
    c[7] = all_urls();
    c[8] = domains();
    c[9] = ordered();
    c[10] = suffix();
    c[11] = foreign();
    c[12] = suffix_urls();
    c[13] = suffix_part();
    c[14] = ordered_range();
    c[15] = ordered_suffix();
    check_key_file(&shared);
    EXPECT(dx_cursor_key_random(&own, &err) == DX_OK && dx_cursor_key_random(&other, &err) == DX_OK,
           "%s", err.text);
    for (size_t i = 0; i < 16; i++) {
        check_round(&c[i], &own, NULL, &shared);
        check_round(&c[i], &own, "team-a", &other);
        check_round(&c[i], &shared, "", &own);
        check_round(&c[i], &shared, "team-a", &own);
        check_principals(&c[i], &own);
        check_principals(&c[i], &shared);
        check_older(i == 0 ? &own : &shared);
    }
    check_sealed(&own, NULL);
    check_sealed(&own, "team-a");
    check_sealed(&shared, NULL);
    check_no_key();
    check_position(&own);
    check_position(&shared);
    check_values(&own, NULL);
    check_values(&own, "team-a");
    check_values(&shared, NULL);
    check_long_text(&shared);
    check_life();
    return failures > 0;
}
