/* SPDX-License-Identifier: Apache-2.0
 * test_index_domains.c - pairs that come by domain come back by dataset, where chunks of the spool end within records.
 */
#include "builder/index/index_domains.h"

#include "builder/lake/lake_files.h"
#include "tests/support/damage.h"

#define DOMAINS 6000
#define DATASETS 3

static unsigned failures;

/* Records of two to ten bytes: the smallest chunk of 256 bytes ends within many of them. */
static uint64_t urls_of(uint64_t ordinal, uint32_t dataset_id)
{
    static const unsigned bits[] = { 0, 6, 7, 13, 14, 21, 28, 40 };
    uint64_t s = ordinal * DATASETS + dataset_id;

    return (random_next(&s) & ((UINT64_C(1) << bits[s % 8]) - 1)) + 1;
}

static bool has(uint64_t ordinal, uint32_t dataset_id)
{
    return dataset_id == 2 || (dataset_id == 5 ? ordinal % 3 == 1 : ordinal % 1000 == 999);
}

static const uint32_t dataset_ids[DATASETS] = { 2, 5, 9 };

static void add_all(struct dx_index_domains *x)
{
    struct dx_error err = DX_ERROR_INIT;

    for (uint64_t o = 0; o < DOMAINS; o++) {
        struct dx_pair_count counts[DATASETS] = { { 0 } };
        uint32_t ids[DATASETS];
        size_t n = 0;

        for (size_t k = 0; k < DATASETS; k++)
            if (has(o, dataset_ids[k])) {
                counts[n].url_count = urls_of(o, dataset_ids[k]);
                ids[n++] = dataset_ids[k];
            }
        EXPECT(dx_index_domains_add(x, o, ids, counts, n, &err) == DX_OK, "%s", err.text);
    }
}

static void check_dataset(const struct dx_dataset_domains *d, uint32_t dataset_id)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_domain_list list;
    struct dx_domain_cursor c;
    uint64_t ordinal = 0, wrong = 0;

    EXPECT(dx_dataset_domains_of(d, dataset_id, &list, &err) == 1 &&
               dx_dataset_domains_check(d, &list, &err) == DX_OK,
           "dataset %u: %s", (unsigned)dataset_id, err.text);
    dx_domain_cursor_begin(&c, d, &list);
    for (; dx_domain_cursor_next(&c, &err) == 1; ordinal++) {
        while (ordinal < DOMAINS && !has(ordinal, dataset_id))
            ordinal++;
        wrong += c.ordinal != ordinal || c.url_count != urls_of(ordinal, dataset_id);
    }
    while (ordinal < DOMAINS && !has(ordinal, dataset_id))
        ordinal++;
    EXPECT(wrong == 0 && ordinal == DOMAINS, "dataset %u: %llu wrong, to %llu",
           (unsigned)dataset_id, (unsigned long long)wrong, (unsigned long long)ordinal);
}

int main(void)
{
    struct dx_index_file files[] = { { .path = "a", .dataset_id = 9 },
                                     { .path = "b", .dataset_id = 2 },
                                     { .path = "c", .dataset_id = 5 },
                                     { .path = "d", .dataset_id = 2 } };
    struct dx_index_lake lake = { .files = files, .file_count = 4 };
    const struct dx_build_id build = { { 7 } };
    struct dx_buf out = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_index_domains *x;
    struct dx_dataset_domains d;

    EXPECT(dx_index_domains_new(&x, &lake, "/tmp", 0, &err) == DX_OK, "%s", err.text);
    add_all(x);
    EXPECT(dx_index_domains_write(x, DOMAINS, &build, dx_envelope_sink_buf, &out, &err) == DX_OK,
           "%s", err.text);
    dx_index_domains_free(&x);
    EXPECT(dx_dataset_domains_open(&d, dx_span_of(out.data, out.size), DX_OPEN_VERIFY_ALL, "d",
                                   &err) == DX_OK &&
               d.datasets == DATASETS,
           "%s", err.text);
    for (size_t k = 0; k < DATASETS && failures == 0; k++)
        check_dataset(&d, dataset_ids[k]);
    dx_dataset_domains_close(&d);
    dx_buf_release(&out);
    return failures > 0;
}
