/* SPDX-License-Identifier: Apache-2.0
 * test_cdx_select.c - the first rows of many, in any order and in little room, against all of them sorted.
 */
#include "query/cdx/cdx_select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 3000

static int failures;

static struct row {
    char key[40], original[40];
    uint64_t timestamp, number;
} rows[ROWS];

static uint32_t next_random(void)
{
    static uint32_t x = 12345;

    x = x * 1664525 + 1013904223;
    return x >> 8;
}

static int by_order(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    int order = strcmp(a->key, b->key);

    if (order == 0)
        order = (a->timestamp > b->timestamp) - (a->timestamp < b->timestamp);
    if (order == 0)
        order = strcmp(a->original, b->original);
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

static void make_rows(void)
{
    for (size_t i = 0; i < ROWS; i++) {
        (void)snprintf(rows[i].key, sizeof rows[i].key, "com,e)/%u", next_random() % 300);
        (void)snprintf(rows[i].original, sizeof rows[i].original, "http://e.com/%u",
                       next_random() % 4);
        rows[i].timestamp = 20150000000000 + next_random() % 3;
        rows[i].number = i;
    }
}

static int add_all(struct dx_cdx_select *s, const size_t *order, struct dx_error *err)
{
    int rc = 0;

    for (size_t i = 0; i < ROWS && rc == 0; i++) {
        const struct row *r = &rows[order[i]];
        struct dx_span columns[DX_CDX_STORED] = { { NULL, 0 } };

        columns[DX_CDX_URLKEY] = dx_span_str(r->key);
        columns[DX_CDX_TIMESTAMP] = dx_span_str("20150000000000");
        columns[DX_CDX_ORIGINAL] = dx_span_str(r->original);
        columns[DX_CDX_DIGEST] = dx_span_str("D");
        rc = dx_cdx_select_add(s, columns, r->timestamp, r->number, err);
    }
    return rc == 0 ? dx_cdx_select_end(s, err) : rc;
}

/* All passes over rows in a random order; how many passes. `keep` of each. */
static void check_passes(const struct row *want, uint64_t keep, size_t bytes, size_t begin)
{
    struct dx_error err = DX_ERROR_INIT;
    static size_t order[ROWS];
    struct dx_cdx_select s;
    size_t at = begin;
    int rc;

    for (size_t i = 0; i < ROWS; i++) {
        size_t j = next_random() % (i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    dx_cdx_select_init(&s, keep, bytes);
    if (begin > 0)
        dx_cdx_select_from(&s, &(struct dx_cdx_key){ .urlkey = dx_span_str(want[begin].key),
                                                     .timestamp = want[begin].timestamp,
                                                     .count = 1 });
    do {
        rc = add_all(&s, order, &err);
        for (size_t i = 0; rc == 0 && i < s.count; i++, at++) {
            struct dx_span columns[DX_CDX_STORED];
            uint64_t timestamp = dx_cdx_select_row(&s, i, columns);

            if (at >= ROWS || timestamp != want[at].timestamp ||
                !dx_span_equal(columns[DX_CDX_URLKEY], dx_span_str(want[at].key)) ||
                !dx_span_equal(columns[DX_CDX_ORIGINAL], dx_span_str(want[at].original)) ||
                !dx_span_equal(columns[DX_CDX_DIGEST], dx_span_str("D")) ||
                columns[DX_CDX_STATUS].data != NULL) {
                (void)printf("keep %llu, %zu bytes: row %zu is another\n", (unsigned long long)keep,
                             bytes, at);
                failures++;
                rc = -1;
            }
        }
        if (s.count > keep || (!s.cut && rc == 0 && at != ROWS)) {
            (void)printf("keep %llu, %zu bytes: %zu rows, %zu of all\n", (unsigned long long)keep,
                         bytes, s.count, at);
            failures++;
        }
        if (rc != 0 || !s.cut)
            break;
    } while (dx_cdx_select_again(&s, &err) == 0);
    if (rc != 0) {
        (void)printf("keep %llu: %s\n", (unsigned long long)keep, err.text);
        failures++;
    }
    dx_cdx_select_release(&s);
}

/* Behind a resumeKey no row before those like its own is kept: `keep` counts from there. */
static void check_from(const struct row *want)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_span columns[DX_CDX_STORED] = { { NULL, 0 } };
    struct dx_buf rest = DX_BUF_INIT(DX_CDX_KEY_BYTES);
    struct dx_cdx_select s;
    static size_t order[ROWS];
    size_t begin = 1;

    while (strcmp(want[begin].key, want[begin - 1].key) != 0 ||
           want[begin].timestamp != want[begin - 1].timestamp ||
           strcmp(want[begin].original, want[begin - 1].original) == 0)
        begin++;
    columns[DX_CDX_URLKEY] = dx_span_str(want[begin].key);
    columns[DX_CDX_ORIGINAL] = dx_span_str(want[begin].original);
    columns[DX_CDX_DIGEST] = dx_span_str("D");
    dx_cdx_key_rest(columns, &rest);
    for (size_t i = 0; i < ROWS; i++)
        order[i] = i;
    dx_cdx_select_init(&s, 1, DX_CDX_SELECT_BYTES);
    dx_cdx_select_from(&s, &(struct dx_cdx_key){ .urlkey = columns[DX_CDX_URLKEY],
                                                 .timestamp = want[begin].timestamp,
                                                 .count = 1,
                                                 .rest = dx_span_of(rest.data, rest.size) });
    if (add_all(&s, order, &err) != 0 || s.count != 1 ||
        dx_cdx_select_row(&s, 0, columns) != want[begin].timestamp ||
        !dx_span_equal(columns[DX_CDX_ORIGINAL], dx_span_str(want[begin].original))) {
        (void)printf("a row before the one of a resumeKey\n");
        failures++;
    }
    dx_cdx_select_release(&s);
    dx_buf_release(&rest);
}

static void check_large_row(void)
{
    static char large[2000];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_span columns[DX_CDX_STORED] = { { NULL, 0 } };
    struct dx_cdx_select s;
    int rc;

    memset(large, 'a', sizeof large);
    columns[DX_CDX_URLKEY] = dx_span_of(large, sizeof large);
    dx_cdx_select_init(&s, 10, 2000);
    rc = dx_cdx_select_add(&s, columns, 1, 1, &err);
    if (rc != DX_E_LIMIT) {
        (void)printf("a row over the bound: %d\n", rc);
        failures++;
    }
    dx_cdx_select_release(&s);
}

int main(void)
{
    static struct row want[ROWS];
    size_t begin = 1000;

    make_rows();
    memcpy(want, rows, sizeof want);
    qsort(want, ROWS, sizeof *want, by_order);
    while (want[begin].timestamp == want[begin - 1].timestamp &&
           strcmp(want[begin].key, want[begin - 1].key) == 0)
        begin++; /* the first one of its key and timestamp */
    check_passes(want, UINT64_MAX, DX_CDX_SELECT_BYTES, 0);
    check_passes(want, UINT64_MAX, 40000, 0);
    check_passes(want, 700, DX_CDX_SELECT_BYTES, 0);
    check_passes(want, 13, 20000, 0);
    check_passes(want, 100, 20000, begin);
    check_passes(want, UINT64_MAX, 60000, begin);
    check_from(want);
    check_large_row();
    return failures != 0;
}
