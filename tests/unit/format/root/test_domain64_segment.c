/* SPDX-License-Identifier: Apache-2.0
 * test_domain64_segment.c - books of numbers of many sizes against a plain array, and every byte of
 * one damaged.
 */
#include "format/root/domain64_manifest.h"
#include "format/root/domain64_segment.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fail.h"

static int failures;

#define MOST 300

struct entry {
    uint64_t number;
    uint64_t hash;
    uint32_t rank;
    size_t size;
    char name[40];
};

static const struct dx_build_id build = { { 7 } };
static const struct dx_number_info info = { 1, 3, 5 };

static int by_hash(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;

    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Some hashes are equal, names are long and short and share beginnings; number 0 is not used. */
static void make(struct entry *e, size_t n)
{
    uint64_t number = 0;

    for (size_t i = 0; i < n; i++) {
        number += 1 + (i % 7 == 0 ? UINT64_C(1) << 40 : i % 3);
        e[i] = (struct entry){ .number = number, .rank = (uint32_t)i };
        e[i].size = i % 11 == 0
                        ? 0
                        : (size_t)snprintf(e[i].name, sizeof e[i].name, "name/%zu/%zu", i / 9, i);
        e[i].hash = i % 5 == 0 ? 42 : dx_number_hash(1, i, dx_span_of(e[i].name, e[i].size));
    }
}

static void write_book(const struct entry *e, size_t n, struct dx_buf *out)
{
    static struct entry sorted[MOST];
    struct dx_number_writer w;
    int rc = dx_number_writer_begin(&w, &build, &info, n, dx_envelope_sink_buf, out, NULL);

    memcpy(sorted, e, n * sizeof *e);
    qsort(sorted, n, sizeof *sorted, by_hash);
    for (size_t i = 0; rc == DX_OK && i < n; i++)
        rc = dx_number_writer_name(&w, e[i].number, dx_span_of(e[i].name, e[i].size), NULL);
    for (size_t i = 0; rc == DX_OK && i < n; i++)
        rc = dx_number_writer_hash(&w, sorted[i].hash, sorted[i].rank, NULL);
    if (rc == DX_OK)
        rc = dx_number_writer_end(&w, NULL);
    CHECK(rc == DX_OK && !out->failed, "writing %zu names: %d", n, rc);
    dx_number_writer_release(&w);
}

static bool same(const struct dx_number_cursor *c, const struct entry *e)
{
    return c->number == e->number && dx_span_equal(c->name, dx_span_of(e->name, e->size));
}

static void check_seek(const struct dx_domain64_segment *b, const struct entry *e, size_t n,
                       uint64_t from)
{
    struct dx_number_cursor c;
    uint64_t found = 0;
    size_t i = 0;
    int rc;

    while (i < n && e[i].number < from)
        i++;
    rc = dx_domain64_segment_before(b, from, &found, NULL);
    CHECK(rc == (i > 0) && (rc == 0 || found == e[i - 1].number), "before %llu of %zu",
          (unsigned long long)from, n);
    CHECK(dx_number_cursor_seek(&c, b, from, NULL) == DX_OK, "seek");
    for (size_t end = i + 20 < n ? i + 20 : n; i < end; i++)
        CHECK(dx_number_cursor_next(&c, NULL) == 1 && same(&c, &e[i]), "name %zu of %zu", i, n);
    if (i == n)
        CHECK(dx_number_cursor_next(&c, NULL) == 0, "the end of %zu", n);
}

static void check_hits(const struct dx_domain64_segment *b, const struct entry *e, size_t n,
                       uint64_t hash)
{
    struct dx_number_hits h;
    size_t want = 0;
    size_t got = 0;

    for (size_t i = 0; i < n; i++)
        want += e[i].hash == hash;
    CHECK(dx_number_hits_open(&h, b, hash, NULL) == DX_OK, "hits");
    while (dx_number_hits_next(&h, NULL) == 1) {
        size_t i = 0;

        while (i < n && e[i].number != h.at.number)
            i++;
        CHECK(i < n && e[i].hash == hash && same(&h.at, &e[i]), "a hit of %zu", n);
        got++;
    }
    CHECK(got == want, "%zu hits of %zu, in %zu", got, want, n);
}

static void check_size(struct entry *e, size_t n)
{
    struct dx_buf file = DX_BUF_INIT(1 << 20);
    struct dx_domain64_segment b;
    struct dx_error err = DX_ERROR_INIT;

    make(e, n);
    write_book(e, n, &file);
    CHECK(dx_domain64_segment_open(&b, dx_span_of(file.data, file.size), 0, "book", &err) == DX_OK,
          "%s", err.text);
    CHECK(b.count == n && b.info.layout == 1 && b.info.first == 3 && b.info.last == 5, "header");
    CHECK(dx_domain64_segment_verify(&b, &err) == DX_OK, "%zu: %s", n, err.text);
    check_seek(&b, e, n, 0);
    check_seek(&b, e, n, UINT64_MAX);
    check_hits(&b, e, n, 42);
    check_hits(&b, e, n, 43);
    for (size_t i = 0; i < n; i++) {
        check_seek(&b, e, n, e[i].number);
        check_seek(&b, e, n, e[i].number + 1);
        check_hits(&b, e, n, e[i].hash);
    }
    dx_domain64_segment_close(&b);
    dx_buf_release(&file);
}

static void check_damage(struct entry *e)
{
    struct dx_buf file = DX_BUF_INIT(1 << 20);
    struct dx_domain64_segment b;

    make(e, 40);
    write_book(e, 40, &file);
    for (size_t i = 0; i < file.size; i++) {
        int rc;

        file.data[i] ^= 1;
        rc = dx_domain64_segment_open(&b, dx_span_of(file.data, file.size), 0, "book", NULL);
        if (rc == DX_OK)
            rc = dx_domain64_segment_verify(&b, NULL);
        CHECK(rc < 0, "a bit at %zu is not seen", i);
        dx_domain64_segment_close(&b);
        file.data[i] ^= 1;
    }
    for (size_t n = 0; n < file.size; n++)
        CHECK(dx_domain64_segment_open(&b, dx_span_of(file.data, n), 0, "book", NULL) < 0,
              "%zu bytes", n);
    dx_buf_release(&file);
}

static void check_refusals(void)
{
    struct dx_buf out = DX_BUF_INIT(1 << 20);
    static char longest[DX_NUMBER_NAME_MAX + 1];
    struct dx_number_writer w;

    CHECK(dx_number_writer_begin(&w, &build, &info, 3, dx_envelope_sink_buf, &out, NULL) == DX_OK,
          "begin");
    CHECK(dx_number_writer_name(&w, 5, dx_span_of(longest, sizeof longest), NULL) < 0,
          "a long name");
    CHECK(dx_number_writer_name(&w, 5, dx_span_of(longest, sizeof longest - 1), NULL) == DX_OK,
          "longest");
    CHECK(dx_number_writer_name(&w, 5, dx_span_str("b"), NULL) < 0, "a number twice");
    CHECK(dx_number_writer_end(&w, NULL) < 0, "fewer names than were told");
    dx_number_writer_release(&w);
    dx_buf_release(&out);
}

/* ---- the list ---- */

static void check_list(void)
{
    struct dx_domain64_manifest l = {
        .layout = 1, .names = { 1, 2, 3, 4 }, .full = { 0, 0, 9, 0 }, .urls_out = 10
    };
    struct dx_number_file f = { 1, 3, 10, 1000, { { 1, 2 } } };
    struct dx_domain64_manifest back;
    struct dx_buf text = DX_BUF_INIT(DX_DOMAIN64_MANIFEST_MAX);
    struct dx_buf again = DX_BUF_INIT(DX_DOMAIN64_MANIFEST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    char object[DX_NUMBER_OBJECT];

    memcpy(l.id, "00112233445566778899aabbccddeeff", 33);
    memcpy(l.filled, "000007-20261121T103000Z", 24);
    CHECK(dx_domain64_manifest_add(&l, &f, NULL) == DX_OK, "add");
    CHECK(dx_domain64_manifest_add(&l, &f, NULL) < 0, "the same fillings twice");
    f.first = f.last = 4;
    CHECK(dx_domain64_manifest_add(&l, &f, NULL) == DX_OK && dx_domain64_manifest_last(&l) == 4,
          "the next");
    CHECK(dx_domain64_manifest_write(&l, &text, &err) == DX_OK, "%s", err.text);
    CHECK(dx_domain64_manifest_parse(&back, dx_span_of(text.data, text.size), "list", &err) ==
              DX_OK,
          "%s", err.text);
    CHECK(dx_domain64_manifest_write(&back, &again, NULL) == DX_OK &&
              dx_span_equal(dx_span_of(text.data, text.size), dx_span_of(again.data, again.size)),
          "another list comes back");
    dx_number_object(&f, object);
    CHECK(strcmp(object, "index/domain64/000004-000004-0102000000000000.d64") == 0, "%s", object);
    for (size_t i = 0; i < text.size; i++) {
        text.data[i] ^= 1;
        CHECK(dx_domain64_manifest_parse(&back, dx_span_of(text.data, text.size), "list", NULL) < 0,
              "a bit at %zu", i);
        text.data[i] ^= 1;
        CHECK(dx_domain64_manifest_parse(&back, dx_span_of(text.data, i), "list", NULL) < 0,
              "%zu bytes", i);
    }
    l.id[0] = 'x';
    CHECK(dx_domain64_manifest_write(&l, &again, NULL) < 0, "an id of letters");
    dx_buf_release(&text);
    dx_buf_release(&again);
}

int main(void)
{
    static const size_t sizes[] = { 0, 1, 2, 15, 16, 17, 32, 33, MOST };
    static struct entry e[MOST];

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_size(e, sizes[i]);
    check_damage(e);
    check_refusals();
    check_list();
    return failures > 0;
}
