/* SPDX-License-Identifier: Apache-2.0
 * registry.h - names of datasets and their ids: ROOT/urls/registry.json.
 *
 *   rc = dx_registry_open(&reg, root, &err);              no file: an empty registry
 *   id = dx_registry_find(reg, name);                     0: unknown
 *   rc = dx_registry_add(reg, name, &id, &err);           the next free id
 *   rc = dx_registry_set(reg, id, "licence", "CC0", &err);    metadata; "" removes
 *   for (i = 0; i < dx_registry_count(reg); i++) d = dx_registry_at(reg, i);   by id
 *   rc = dx_registry_save(reg, root, &err);               atomically; only if changed
 *   dx_registry_free(&reg);
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

#define DX_DATASET_NAME_MAX 255
#define DX_DATASET_ID_MAX 0x7fffffffu /* the lake's column is INT32 */
#define DX_DATASET_META_MAX 64        /* keys of one dataset */
#define DX_DATASET_META_TEXT_MAX 4096 /* bytes of a value */
#define DX_REGISTRY_FILE "urls/registry.json"

struct dx_registry;

struct dx_dataset_meta {
    char *key;
    char *value;
};

struct dx_dataset {
    uint32_t id;
    char *name;
    struct dx_dataset_meta *meta; /* sorted by key */
    size_t meta_count;
};

int dx_registry_open(struct dx_registry **reg, const char *root, struct dx_error *err);
void dx_registry_free(struct dx_registry **reg);

/* From the text of a registry; `what` names it in errors. */
int dx_registry_parse(struct dx_registry **reg, struct dx_span text, const char *what,
                      struct dx_error *err);

bool dx_dataset_name_valid(struct dx_span name);
uint32_t dx_registry_find(const struct dx_registry *reg, struct dx_span name);
const struct dx_dataset *dx_registry_get(const struct dx_registry *reg, uint32_t id); /* or NULL */
size_t dx_registry_count(const struct dx_registry *reg);
const struct dx_dataset *dx_registry_at(const struct dx_registry *reg, size_t i);

int dx_registry_add(struct dx_registry *reg, struct dx_span name, uint32_t *id,
                    struct dx_error *err);
int dx_registry_set(struct dx_registry *reg, uint32_t id, const char *key, const char *value,
                    struct dx_error *err);
int dx_registry_save(struct dx_registry *reg, const char *root, struct dx_error *err);

#endif
