/* SPDX-License-Identifier: Apache-2.0
 * dataset_registry.h - the dataset_registry: names of datasets and their ids, in
 * ROOT/registry.json. The text and what it may hold is format/root/registry_json's
 * (dx_registry_parse_root).
 *
 *   id = dx_dataset_registry_find(reg, name);                     0: unknown
 *   rc = dx_dataset_registry_add(reg, name, &id, &err);           the next free id
 *   dx_dataset_registry_set_kind(reg, id, kind);                  of a new one
 *   rc = dx_dataset_registry_set(reg, id, "licence", "CC0", &err);    metadata; "" removes
 *   for (i = 0; i < dx_dataset_registry_count(reg); i++) d = dx_dataset_registry_at(reg, i);   by id
 *   dx_dataset_registry_take(&reg, &registry);                    the datasets alone; frees the dataset_registry
 *   rc = dx_dataset_registry_save(reg, root, &err);               atomically; only if changed
 *   dx_dataset_registry_free(&reg);
 *
 * Removing and replacing (docs/FORMAT.md 12.3):
 *   rc = dx_dataset_registry_remove(reg, id, &err);               the dataset is gone with the next publish
 *   s = dx_dataset_registry_standing(reg, path);                  does a new lake file count? (see also
 *                                                       dx_lake_membership_apply, which asks for all)
 *   part = dx_dataset_registry_next_part(reg, id, listed);        for a new file: listed is the highest
 *                                                       number seen + 1; list first, then read reg
 *   dx_dataset_registry_raise(reg, paths, n);                     before files are deleted: their numbers
 *                                                       are not given again
 *   rc = dx_dataset_registry_replace(reg, id, part, &err);        files from part on are in the making
 *   rc = dx_dataset_registry_replaced(reg, id, part, end, &err);  those count up to end, those before do not
 *
 *   rc = dx_dataset_registry_read(&reg, &root, &err);              of an open root: 1, or 0 none yet
 *   rc = dx_dataset_registry_change(&root, &change, &reg, &err);   read, change, put in place of what was read;
 *                                                        of a directory, under its lock
 *   rc = dx_dataset_registry_raise_in(&root, paths, n, &err);      dx_dataset_registry_raise so
 *
 * {"format": "domaindex-registry", "version": 1, "next_dataset_id": 3, "datasets":
 *  [{"dataset_id": 1, "name": "reddit", "metadata": {"licence": "ODC PDDL"}}, ...]}
 *
 * Ids begin at 1, go up by one and are never given twice: next_dataset_id stays when a
 * dataset goes. A name is 1..255 bytes of UTF-8 without control characters. The file is
 * checked whole when read (ids, names, order); its bytes depend only on its content.
 * One thread at a time; what `at` and `find` return lives until the next add, set or free.
 */
#ifndef DX_BUILDER_LAKE_DATASET_REGISTRY_H
#define DX_BUILDER_LAKE_DATASET_REGISTRY_H

#include "base/bytes.h"
#include "base/error.h"
#include "fetch/source.h"
#include "format/root/registry_json.h"
#include "format/version/names.h"

struct dx_lake_list;

#define DX_DATASET_REGISTRY_NAME_MAX DX_DATASET_NAME_MAX

struct dx_dataset_registry;
struct dx_root;

void dx_dataset_registry_free(struct dx_dataset_registry **reg);

int dx_dataset_registry_new(struct dx_dataset_registry **reg,
                            struct dx_error *err); /* without datasets */

/* From the text of a registry; `what` names it in errors. */
int dx_dataset_registry_parse(struct dx_dataset_registry **reg, struct dx_span text,
                              const char *what, struct dx_error *err);

bool dx_dataset_registry_name_valid(struct dx_span name);
uint32_t dx_dataset_registry_find(const struct dx_dataset_registry *reg, struct dx_span name);
const struct dx_dataset *dx_dataset_registry_get(const struct dx_dataset_registry *reg,
                                                 uint32_t id); /* or NULL */
void dx_dataset_registry_take(struct dx_dataset_registry **reg, struct dx_registry *registry);
const struct dx_registry *dx_dataset_registry_registry(const struct dx_dataset_registry *reg);
size_t dx_dataset_registry_count(const struct dx_dataset_registry *reg);
const struct dx_dataset *dx_dataset_registry_at(const struct dx_dataset_registry *reg, size_t i);

int dx_dataset_registry_add(struct dx_dataset_registry *reg, struct dx_span name, uint32_t *id,
                            struct dx_error *err);
void dx_dataset_registry_set_kind(struct dx_dataset_registry *reg, uint32_t id,
                                  enum dx_dataset_kind kind);
/* The next id is not given: the lake has files under it, which are not ours. */
void dx_dataset_registry_skip_id(struct dx_dataset_registry *reg);
int dx_dataset_registry_set(struct dx_dataset_registry *reg, uint32_t id, const char *key,
                            const char *value, struct dx_error *err);
int dx_dataset_registry_save(struct dx_dataset_registry *reg, const char *root,
                             struct dx_error *err);

int dx_dataset_registry_read(struct dx_dataset_registry **reg, const struct dx_root *root,
                             struct dx_error *err);
bool dx_dataset_registry_changed(
    const struct dx_dataset_registry *reg); /* since it was read or written */
void dx_dataset_registry_written(struct dx_dataset_registry *reg);
int dx_dataset_registry_text(const struct dx_dataset_registry *reg, struct dx_buf *out,
                             struct dx_error *err);

/* ---- which lake files count ---- */

int dx_dataset_registry_remove(struct dx_dataset_registry *reg, uint32_t id, struct dx_error *err);

/* path as in a lake list: "urls/dataset_id=7/…". */
enum dx_lake_standing dx_dataset_registry_standing(const struct dx_dataset_registry *reg,
                                                   const char *path);
enum dx_lake_standing dx_registry_path_standing(const struct dx_registry *r, const char *path);

uint32_t dx_dataset_registry_next_part(const struct dx_dataset_registry *reg, uint32_t id,
                                       uint32_t listed);

/* Paths of other writers, and of datasets that are not there, need nothing. */
void dx_dataset_registry_raise(struct dx_dataset_registry *reg, const char *const *paths,
                               size_t count);
/* The numbers first … end - 1 are a compaction's, before it puts a file: one with such a number counts
 * only where a version names it. Above all that the dataset has, and raised. */
int dx_dataset_registry_merged(struct dx_dataset_registry *reg, uint32_t id, uint32_t first,
                               uint32_t end, struct dx_error *err);
int dx_dataset_registry_raise_in(const struct dx_root *root, const char *const *paths, size_t count,
                                 struct dx_error *err);

/* No new file is below part from now on. A dataset that is being replaced already stays so: what
 * the attempt before left does not count, nor will it when this one is finished. */
int dx_dataset_registry_replace(struct dx_dataset_registry *reg, uint32_t id, uint32_t part,
                                struct dx_error *err);
/* DX_E_CONFLICT: another run has begun to replace it since. */
int dx_dataset_registry_replaced(struct dx_dataset_registry *reg, uint32_t id, uint32_t part,
                                 uint32_t end, struct dx_error *err);

/* Reads, changes and puts until no other writer is faster, with waits between (index_text.h); some
 * minutes at most (DX_E_BUSY). An unchanged registry is not put. edit may be called several times,
 * each time with the registry as it is then. */
struct dx_dataset_registry_change {
    int (*edit)(void *ctx, struct dx_dataset_registry *reg, struct dx_error *err);
    void *ctx;
    bool must_exist;       /* a registry that is not there is an error */
    bool (*stopped)(void); /* may be NULL */
};

int dx_dataset_registry_change(const struct dx_root *root,
                               const struct dx_dataset_registry_change *change,
                               struct dx_dataset_registry **reg, struct dx_error *err);

#endif
