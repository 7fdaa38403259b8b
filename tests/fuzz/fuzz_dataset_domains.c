/* SPDX-License-Identifier: Apache-2.0
 * dataset_domains.dxt with all sums believed: what check finds sound, the other readers must agree
 * with.
 */
#include "format/version/dataset_domains.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_list(const struct dx_dataset_domains *d, const struct dx_domain_list *list)
{
    struct dx_domain_count top[40];
    struct dx_domain_cursor c;
    bool sound = dx_dataset_domains_check(d, list, NULL) == DX_OK;
    uint64_t last = 0;
    uint64_t n = 0;
    uint64_t rank;
    int rc;

    dx_domain_cursor_begin(&c, d, list);
    while ((rc = dx_domain_cursor_next(&c, NULL)) == 1) {
        if (c.url_count == 0 || c.ordinal >= d->domains || (n++ > 0 && c.ordinal <= last))
            abort();
        last = c.ordinal;
    }
    if (sound && (rc != 0 || n != list->domains))
        abort();
    for (uint64_t first = 0; first < list->domains && first < 4000; first += 900) {
        size_t count = list->domains - first < 40 ? (size_t)(list->domains - first) : 40;

        rc = dx_dataset_domains_top(d, list, first, count, top, NULL);
        if (sound && rc != DX_OK)
            abort();
        for (size_t i = 0; sound && i < count; i++)
            if (dx_dataset_domains_rank(d, list, top[i].url_count, &rank, NULL) < 0 ||
                rank > first + i + 1)
                abort();
    }
    dx_domain_cursor_begin(&c, d, list);
    for (uint64_t to = 0; to <= last; to = c.ordinal + 1 + last / 7)
        if (dx_domain_cursor_seek(&c, to, NULL) != 1) {
            if (sound)
                abort();
            break;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_dataset_domains d;
    struct dx_domain_list list;

    if (dx_dataset_domains_open(&d, dx_span_of(data, size), DX_OPEN_UNCHECKED, "fuzz", NULL) < 0)
        return 0;
    for (uint64_t i = 0; i < d.datasets && i < 20; i++)
        if (dx_dataset_domains_at(&d, i, &list, NULL) == 1)
            read_list(&d, &list);
    (void)dx_dataset_domains_of(&d, 9, &list, NULL);
    dx_dataset_domains_close(&d);
    return 0;
}
