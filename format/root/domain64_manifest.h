/* SPDX-License-Identifier: Apache-2.0
 * domain64_manifest.h - index/domain64/registry.tsv: which books of numbers there are, and that
 * nothing else is. docs/FORMAT.md section 15.
 *
 *   struct dx_domain64_manifest l = DX_DOMAIN64_MANIFEST_INIT;
 *   rc = dx_domain64_manifest_parse(&l, text, name, &err);
 *   rc = dx_domain64_manifest_add(&l, &book, &err);                  fillings in order, without gaps
 *   rc = dx_domain64_manifest_write(&l, &buf, &err);                 the same checks, then text
 *
 * It is replaced as a whole, on condition that it is still the one that was read: so of two who
 * number names at once one is first and the other begins again. One thread at a time.
 */
#ifndef DX_FORMAT_ROOT_DOMAIN64_MANIFEST_H
#define DX_FORMAT_ROOT_DOMAIN64_MANIFEST_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "format/version/names.h"

#define DX_DOMAIN64_MANIFEST_MAX (64u << 10) /* bytes; books are merged long before */
#define DX_DOMAIN64_SEGMENTS_MAX 64
#define DX_NUMBER_PARTS 4

struct dx_number_file {
    uint32_t first; /* fillings */
    uint32_t last;
    uint64_t names;
    uint64_t size;
    struct dx_hash128 hash;
};

struct dx_domain64_manifest {
    uint32_t layout;
    char id[33];     /* 32 hex digits: of this registry and no other */
    char filled[24]; /* the version that the last filling was from; "": none yet */
    uint64_t names[DX_NUMBER_PARTS];
    uint64_t full[DX_NUMBER_PARTS]; /* names that found their field full, in the last filling */
    uint64_t urls_out;              /* URLs that have no number for that, in the last filling */
    struct dx_number_file file[DX_DOMAIN64_SEGMENTS_MAX];
    size_t count;
};

#define DX_DOMAIN64_MANIFEST_INIT \
    {                             \
        .layout = 0               \
    }

/* Of the last filling; 0: none. */
uint32_t dx_domain64_manifest_last(const struct dx_domain64_manifest *l);

/* The object of a book: below DX_NUMBER_FOLDER, after its fillings and its hash. */
#define DX_NUMBER_OBJECT 64
void dx_number_object(const struct dx_number_file *file, char object[DX_NUMBER_OBJECT]);

/* Identity of the checksums of a book. */
struct dx_build_id dx_number_build(const struct dx_domain64_manifest *l, uint32_t first,
                                   uint32_t last);

int dx_domain64_manifest_parse(struct dx_domain64_manifest *l, struct dx_span text,
                               const char *name, struct dx_error *err);
int dx_domain64_manifest_add(struct dx_domain64_manifest *l, const struct dx_number_file *file,
                             struct dx_error *err);
int dx_domain64_manifest_write(const struct dx_domain64_manifest *l, struct dx_buf *out,
                               struct dx_error *err);

#endif
