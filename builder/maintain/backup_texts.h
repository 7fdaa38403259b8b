/* SPDX-License-Identifier: Apache-2.0
 * backup_texts.h - what of a root changes in place and belongs to no version, copied in its order.
 *
 *   rc = dx_backup_texts_check(from, to, lines_min, &err);    would the copy go backwards?
 *   rc = dx_backup_texts_copy(from, to, lines_min, work, &err);
 *
 * Both read `from` after its manifest. The access table, the suffix list, the registry, the
 * numbers of names, the log of suppressions, which must have at least lines_min lines: so many some
 * version was cleansed by. A text that is in the copy already is not written. One thread at a time.
 */
#ifndef DX_BUILDER_MAINTAIN_BACKUP_TEXTS_H
#define DX_BUILDER_MAINTAIN_BACKUP_TEXTS_H

#include "builder/maintain/backup_end.h"

int dx_backup_texts_check(const struct dx_backup_end *from, const struct dx_backup_end *to,
                          uint64_t lines_min, struct dx_error *err);
int dx_backup_texts_copy(const struct dx_backup_end *from, const struct dx_backup_end *to,
                         uint64_t lines_min, const char *work, struct dx_error *err);

#endif
