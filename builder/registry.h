/* SPDX-License-Identifier: Apache-2.0
 * registry.h - the roster: names of datasets and their ids, in ROOT/urls/registry.json.
 * The text and what it may hold is format/registry_json's (dx_registry_parse_root).
 *
 *   rc = dx_roster_open(&reg, root, &err);              no file: an empty registry
 *   id = dx_roster_find(reg, name);                     0: unknown
 *   rc = dx_roster_add(reg, name, &id, &err);           the next free id
 *   rc = dx_roster_set(reg, id, "licence", "CC0", &err);    metadata; "" removes
 *   for (i = 0; i < dx_roster_count(reg); i++) d = dx_roster_at(reg, i);   by id
 *   dx_roster_take(&reg, &registry);                    the datasets alone; frees the roster
 *   rc = dx_roster_save(reg, root, &err);               atomically; only if changed
 *   dx_roster_free(&reg);
 *
 * Removing and replacing (docs/FORMAT.md 12.3):
 *   rc = dx_roster_remove(reg, id, &err);               the dataset is gone with the next publish
 *   s = dx_roster_standing(reg, path);                  does a new lake file count? (see also
 *                                                       dx_lake_named_apply, which asks for all)
 *   part = dx_roster_next_part(reg, id, listed);        for a new file: listed is the highest
 *                                                       number seen + 1; list first, then read reg
 *   dx_roster_raise(reg, paths, n);                     before files are deleted: their numbers
 *                                                       are not given again
 *   rc = dx_roster_replace(reg, id, part, &err);        files from part on are in the making
 *   rc = dx_roster_replaced(reg, id, part, end, &err);  those count up to end, those before do not
 *
 *   rc = dx_roster_read(&reg, remote, etag, &err);      the same on object storage: 1, or 0 none yet
 *   rc = dx_roster_put(reg, remote, etag, &err);         only in place of what read gave:
 *                                  DX_E_EXISTS, DX_E_CONFLICT: read again, change, put again
 *   rc = dx_roster_change(remote, &change, &reg, &err);  that, until nobody is faster
 *   rc = dx_roster_raise_remote(remote, paths, n, &err); dx_roster_raise so, and
 *   rc = dx_roster_raise_local(root, paths, n, &err);    of a directory, under its lock
 *
 * {"format": "domaindex-registry", "version": 1, "next_dataset_id": 3, "datasets":
 *  [{"dataset_id": 1, "name": "reddit", "metadata": {"licence": "ODC PDDL"}}, ...]}
 *
 * Ids begin at 1, go up by one and are never given twice: next_dataset_id stays when a
 * dataset goes. A name is 1..255 bytes of UTF-8 without control characters. The file is
 * checked whole when read (ids, names, order); its bytes depend only on its content.
 * One thread at a time; what `at` and `find` return lives until the next add, set or free.
 */
#ifndef DX_BUILDER_REGISTRY_H
#define DX_BUILDER_REGISTRY_H

#include "base/bytes.h"
#include "base/error.h"
#include "fetch/source.h"
#include "format/registry_json.h"

#define DX_ROSTER_NAME_MAX DX_DATASET_NAME_MAX
#define DX_ROSTER_FILE "urls/registry.json"

struct dx_roster;
struct dx_remote_root;

int dx_roster_open(struct dx_roster **reg, const char *root, struct dx_error *err);
void dx_roster_free(struct dx_roster **reg);

int dx_roster_new(struct dx_roster **reg, struct dx_error *err); /* without datasets */

/* From the text of a registry; `what` names it in errors. */
int dx_roster_parse(struct dx_roster **reg, struct dx_span text, const char *what,
                    struct dx_error *err);

bool dx_roster_name_valid(struct dx_span name);
uint32_t dx_roster_find(const struct dx_roster *reg, struct dx_span name);
const struct dx_dataset *dx_roster_get(const struct dx_roster *reg, uint32_t id); /* or NULL */
void dx_roster_take(struct dx_roster **reg, struct dx_registry *registry);
const struct dx_registry *dx_roster_registry(const struct dx_roster *reg);
size_t dx_roster_count(const struct dx_roster *reg);
const struct dx_dataset *dx_roster_at(const struct dx_roster *reg, size_t i);

int dx_roster_add(struct dx_roster *reg, struct dx_span name, uint32_t *id, struct dx_error *err);
int dx_roster_set(struct dx_roster *reg, uint32_t id, const char *key, const char *value,
                  struct dx_error *err);
int dx_roster_save(struct dx_roster *reg, const char *root, struct dx_error *err);

/* etag: "" if there is no registry yet; put then demands that there still is none, and sets it
 * to that of what it wrote. An unchanged registry is not put. */
int dx_roster_read(struct dx_roster **reg, const struct dx_remote_root *root,
                   char etag[DX_SOURCE_ETAG], struct dx_error *err);
int dx_roster_put(struct dx_roster *reg, const struct dx_remote_root *root,
                  char etag[DX_SOURCE_ETAG], struct dx_error *err);
bool dx_roster_changed(const struct dx_roster *reg); /* since it was read or written */
void dx_roster_written(struct dx_roster *reg);
int dx_roster_text(const struct dx_roster *reg, struct dx_buf *out, struct dx_error *err);

/* ---- which lake files count ---- */

int dx_roster_remove(struct dx_roster *reg, uint32_t id, struct dx_error *err);

/* path as in a lake list: "urls/dataset_id=7/…". */
enum dx_lake_standing dx_roster_standing(const struct dx_roster *reg, const char *path);
enum dx_lake_standing dx_registry_path_standing(const struct dx_registry *r, const char *path);

uint32_t dx_roster_next_part(const struct dx_roster *reg, uint32_t id, uint32_t listed);

/* Paths of other writers, and of datasets that are not there, need nothing. */
void dx_roster_raise(struct dx_roster *reg, const char *const *paths, size_t count);
int dx_roster_raise_local(const char *root, const char *const *paths, size_t count,
                          struct dx_error *err);
int dx_roster_raise_remote(const struct dx_remote_root *remote, const char *const *paths,
                           size_t count, struct dx_error *err);

/* No new file is below part from now on. A dataset that is being replaced already stays so: what the
 * attempt before left does not count, nor will it when this one is finished. */
int dx_roster_replace(struct dx_roster *reg, uint32_t id, uint32_t part, struct dx_error *err);
/* DX_E_CONFLICT: somebody else has begun to replace it since. */
int dx_roster_replaced(struct dx_roster *reg, uint32_t id, uint32_t part, uint32_t end,
                       struct dx_error *err);

/* Reads, changes and puts until it is as wanted, with random waits between; some minutes at most
 * (DX_E_BUSY). edit may be called several times, each time with the registry as it is then. */
struct dx_roster_change {
    int (*edit)(void *ctx, struct dx_roster *reg, struct dx_error *err);
    void *ctx;
    bool must_exist;       /* a registry that is not there is an error */
    bool (*stopped)(void); /* may be NULL */
};

int dx_roster_change(const struct dx_remote_root *remote, const struct dx_roster_change *change,
                     struct dx_roster **reg, struct dx_error *err);

#endif
