/* SPDX-License-Identifier: Apache-2.0
 * gc_names.h - which objects the entries of a manifest have, and which of them only one has.
 *
 *   rc = dx_gc_names_read(&n, source, &manifest, &err);
 *   if (dx_gc_names_other(&n, "urls/...", version_index)) ...   another entry has it: it stays
 *   if (dx_gc_names_any(&n, "index/...")) ...                   some entry has it
 *   dx_gc_names_share(&n, going, &total, &gone, &objects);      bytes, each object once
 *   dx_gc_names_going(&n, planned, going, count, &total, &gone);      what --max-share compares
 *   rc = dx_gc_names_own(&n, source, &manifest, i, &lake, &index, &last, &err);
 *   dx_gc_names_forget(&n, i);          version i is no longer in the manifest
 *   dx_gc_names_release(&n);
 *
 * Objects of the index are those of each entry's files or pack, in the folder where they are; lake files
 * are those of its files.tsv and of its missing.tsv. Of all entries: listed, condemned, dropped.
 * Indexes are those of manifest.versions. A list that is missing or damaged is an error
 * (DX_E_NOT_FOUND, DX_E_CORRUPT). Memory: 32 bytes a name an entry. One thread at a time.
 */
#ifndef DX_BUILDER_MAINTAIN_GC_NAMES_H
#define DX_BUILDER_MAINTAIN_GC_NAMES_H

#include "builder/maintain/gc_objects.h"
#include "format/version/manifest.h"

struct dx_gc_name;
struct dx_gc_planned;
struct dx_source;

struct dx_gc_names {
    struct dx_gc_name *names;
    size_t count, room;
};

#define DX_GC_NAMES_INIT \
    {                    \
        NULL, 0, 0       \
    }

int dx_gc_names_read(struct dx_gc_names *n, struct dx_source *source,
                     const struct dx_manifest *manifest, struct dx_error *err);
/* The others keep their names, under the indexes that they have from then on. */
void dx_gc_names_forget(struct dx_gc_names *n, size_t version);
void dx_gc_names_release(struct dx_gc_names *n);

bool dx_gc_names_other(const struct dx_gc_names *n, const char *object, size_t version);
bool dx_gc_names_any(const struct dx_gc_names *n, const char *object);

/* What the entries have in all, and what goes with those of which going[i] is true. */
void dx_gc_names_share(const struct dx_gc_names *n, const bool *going, uint64_t *total,
                       uint64_t *gone, uint64_t *objects);

/* The same of a plan. What is dropped has been decided upon, and may be half gone: its own bytes count on neither side.
 * going: room for `count`, of which the plan's entries that are not kept are true afterwards. */
void dx_gc_names_going(const struct dx_gc_names *n, const struct dx_gc_planned *planned,
                       bool *going, size_t count, uint64_t *total, uint64_t *gone);

/* What version i has and no other entry: its lake files; its objects of the index; and as `last` those with
 * files.tsv.zst or missing.tsv.zst, which others may still want to read while the entry is there. */
int dx_gc_names_own(const struct dx_gc_names *n, struct dx_source *source,
                    const struct dx_manifest *manifest, size_t i, struct dx_gc_objects *lake,
                    struct dx_gc_objects *index, struct dx_gc_objects *last, struct dx_error *err);

#endif
