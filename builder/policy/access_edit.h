/* SPDX-License-Identifier: Apache-2.0
 * access_edit.h - changes of index/access.json of a root, each in one step with its line of
 * history.
 *
 *   struct dx_access_edit e = { .root = root, .edit = grant, .ctx = ctx };
 *   rc = dx_access_edit_run(&e, &err);           1 changed, 0 it was so already
 *   rc = dx_access_edit_read(root, &j, &err);    generation 0: there is none
 *
 * Neither goes on with a table that was lost, or is an older copy (access_binding.h): what changes it makes
 * it newer than the one that servers know. Behind a change the manifest is bound to the table.
 *
 * edit changes the table and writes into e->did what it does ("grant 3 to team-a"); it may be
 * called again with another table. The user and the time are added. But for DX_ACCESS_EDIT_BEGINS
 * there has to be a table in force: a grant does not begin to deny by mistake.
 *
 *   rc = dx_access_datasets_open(&d, root, &err);          names of datasets, from the lake's registry
 *   rc = dx_access_datasets_find(d, "7", known, &id, &err);
 *                        an id or a name; "id:7", "name:7" where it may be either. known: it has to be there
 *   dx_access_datasets_name(d, id)                         NULL: not known
 *   dx_access_datasets_close(&d);
 *
 * One thread at a time.
 */
#ifndef DX_BUILDER_POLICY_ACCESS_EDIT_H
#define DX_BUILDER_POLICY_ACCESS_EDIT_H

#include "format/root/access_json.h"

enum dx_access_edit_kind { DX_ACCESS_EDIT_CHANGES, DX_ACCESS_EDIT_BEGINS };

struct dx_access_edit {
    const char *root;
    enum dx_access_edit_kind kind;
    bool dry_run;   /* edit a copy, which is dropped */
    bool hides_all; /* without a table it makes one that grants nothing: also where one was lost */
    int (*edit)(struct dx_access_edit *e, struct dx_access_json *j, struct dx_error *err);
    void *ctx;
    int64_t now_us;      /* since 1970; set by run, and */
    int64_t now_s;       /* the second of it */
    struct dx_buf did;   /* empty before each call of edit */
    uint64_t generation; /* afterwards */
    uint64_t least;      /* that the manifest names; of run */
};

int dx_access_edit_run(struct dx_access_edit *e, struct dx_error *err);
int dx_access_edit_read(const char *root, struct dx_access_json *j, struct dx_error *err);

struct dx_dataset_registry;

int dx_access_datasets_open(struct dx_dataset_registry **datasets, const char *root,
                            struct dx_error *err);
int dx_access_datasets_find(const struct dx_dataset_registry *datasets, const char *text,
                            bool known, uint32_t *dataset_id, struct dx_error *err);
const char *dx_access_datasets_name(const struct dx_dataset_registry *datasets,
                                    uint32_t dataset_id);

#endif
