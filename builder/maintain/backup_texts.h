/* SPDX-License-Identifier: Apache-2.0
 * backup_texts.h - what of a root changes in place and belongs to no version, copied in its order.
 *
 *   rc = dx_backup_texts_check(from, to, &least, &err);    would the copy go backwards?
 *   rc = dx_backup_texts_copy(from, to, &least, work, &err);
 *
 * Both read `from` after its manifest. The access table, the suffix list, the registry, the
 * numbers of names, the log of suppressions. A text that is in the copy already is not written. One
 * thread at a time.
 */
#ifndef DX_BUILDER_MAINTAIN_BACKUP_TEXTS_H
#define DX_BUILDER_MAINTAIN_BACKUP_TEXTS_H

#include "builder/maintain/backup_end.h"

/* What `from` must have, or was lost. */
struct dx_backup_least {
    uint64_t lines; /* of the log: so many some version was cleansed by, or a manifest names */
    uint64_t access_from,
        access_to; /* the generation of the table that each end's manifest names */
};

int dx_backup_texts_check(const struct dx_backup_end *from, const struct dx_backup_end *to,
                          const struct dx_backup_least *least, struct dx_error *err);
int dx_backup_texts_copy(const struct dx_backup_end *from, const struct dx_backup_end *to,
                         const struct dx_backup_least *least, const char *work,
                         struct dx_error *err);

#endif
