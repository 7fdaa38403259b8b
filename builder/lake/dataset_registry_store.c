/* SPDX-License-Identifier: Apache-2.0
 * The registry of a root of either kind: read with its ETag, put in place of that one only.
 */
#include "builder/lake/dataset_registry.h"

#include "base/buf.h"
#include "builder/lake/lake_layout.h"
#include "builder/root/index_text.h"
#include "builder/root/root.h"

#define CHANGE_TRIES 500 /* another writer succeeded at each lost one */
#define CHANGE_WAIT_MS 150

static int parse(struct dx_dataset_registry **reg, const struct dx_root *root, struct dx_span text,
                 struct dx_error *err)
{
    int rc;

    *reg = NULL;
    if (text.data != NULL)
        return dx_dataset_registry_parse(reg, text, DX_DATASET_REGISTRY_FILE, err);
    rc = dx_lake_check_names(root->name, root->in_place ? NULL : root->source, err);
    return rc == DX_OK ? dx_dataset_registry_new(reg, err) : rc;
}

int dx_dataset_registry_read(struct dx_dataset_registry **reg, const struct dx_root *root,
                             struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    char etag[DX_SOURCE_ETAG];
    int there = dx_root_get(root, DX_DATASET_REGISTRY_FILE, DX_REGISTRY_MAX, &text, etag, err);
    int rc;

    *reg = NULL;
    if (there < 0)
        return there;
    rc = parse(reg, root, there == 0 ? dx_span_of(NULL, 0) : dx_span_of(text.data, text.size), err);
    dx_buf_release(&text);
    return rc < 0 ? rc : there;
}

struct change {
    const struct dx_dataset_registry_change *c;
    const struct dx_root *root;
    struct dx_dataset_registry **reg;
    bool exists;
};

static int edit_text(void *ctx, struct dx_span text, struct dx_buf *out, struct dx_error *err)
{
    struct change *change = ctx;
    int rc;

    if (text.data == NULL && change->exists)
        return dx_fail(err, DX_E_CORRUPT,
                       DX_DATASET_REGISTRY_FILE
                       " was there and is gone; fetch it back: without it ids would "
                       "be given twice");
    change->exists = text.data != NULL;
    dx_dataset_registry_free(change->reg);
    rc = parse(change->reg, change->root, text, err);
    if (rc == DX_OK)
        rc = change->c->edit(change->c->ctx, *change->reg, err);
    if (rc < 0 || !dx_dataset_registry_changed(*change->reg))
        return rc < 0 ? rc : 0;
    rc = dx_dataset_registry_text(*change->reg, out, err);
    return rc < 0 ? rc : 1;
}

int dx_dataset_registry_change(const struct dx_root *root,
                               const struct dx_dataset_registry_change *c,
                               struct dx_dataset_registry **reg, struct dx_error *err)
{
    struct change change = { c, root, reg, c->must_exist };
    const struct dx_index_text_change text = { .object = DX_DATASET_REGISTRY_FILE,
                                               .cap = (size_t)2 * DX_REGISTRY_MAX,
                                               .edit = edit_text,
                                               .ctx = &change,
                                               .tries = CHANGE_TRIES,
                                               .wait_ms = CHANGE_WAIT_MS,
                                               .stopped = c->stopped };
    int rc = dx_index_text_change_on(root, &text, err);

    if (rc == 1)
        dx_dataset_registry_written(*reg);
    return rc < 0 ? rc : DX_OK;
}

struct raise {
    const char *const *paths;
    size_t count;
};

static int raise_parts(void *ctx, struct dx_dataset_registry *reg, struct dx_error *err)
{
    const struct raise *r = ctx;

    (void)err;
    dx_dataset_registry_raise(reg, r->paths, r->count);
    return DX_OK;
}

int dx_dataset_registry_raise_in(const struct dx_root *root, const char *const *paths, size_t count,
                                 struct dx_error *err)
{
    struct raise r = { paths, count };
    const struct dx_dataset_registry_change change = { .edit = raise_parts,
                                                       .ctx = &r,
                                                       .must_exist = true };
    struct dx_dataset_registry *reg = NULL;
    int rc = dx_dataset_registry_change(root, &change, &reg, err);

    dx_dataset_registry_free(&reg);
    return rc;
}
