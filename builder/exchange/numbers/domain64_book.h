/* SPDX-License-Identifier: Apache-2.0
 * domain64_book.h - writes a book of numbers (format/root/domain64_segment.h) to a local file.
 *
 *   struct dx_domain64_book w = { .list = &list, .first = 3, .last = 3, .count = n,
 *                                 .next = next, .ctx = ctx, .dir = work, .memory = bytes };
 *   rc = dx_domain64_book_write(&w, path, &file, &err);
 *
 * next gives names by ascending numbers: 1, 0 at the end. The table by hash is sorted in `dir`.
 */
#ifndef DX_BUILDER_EXCHANGE_NUMBERS_DOMAIN64_BOOK_H
#define DX_BUILDER_EXCHANGE_NUMBERS_DOMAIN64_BOOK_H

#include "format/root/domain64_manifest.h"

typedef int dx_domain64_next(void *ctx, uint64_t *number, struct dx_span *name,
                             struct dx_error *err);

struct dx_domain64_book {
    const struct dx_domain64_manifest *list; /* layout and identity */
    uint32_t first;                          /* fillings */
    uint32_t last;
    uint64_t count;
    dx_domain64_next *next;
    void *ctx;
    const char *dir;
    size_t memory;
};

int dx_domain64_book_write(const struct dx_domain64_book *w, const char *path,
                           struct dx_number_file *file, struct dx_error *err);

#endif
