/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/opened_version.h"

#include "builder/root/root.h"
#include "loader/suppressions_live.h"

#include <stdio.h>
#include <string.h>

int dx_opened_version_open(struct dx_opened_version *o, const char *root, const char *name,
                           const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_version_options told = *options;
    struct dx_source_options source;
    int rc = DX_OK;

    *o = (struct dx_opened_version){ .version = NULL };
    if (!dx_root_in_place(root)) {
        rc = dx_root_options(&source, err);
        told.source = &source;
    }
    if (rc == DX_OK)
        rc = dx_caches_new(&o->caches, &told, err);
    if (rc == DX_OK)
        rc = dx_suppressions_live_open(&o->caches->suppressions, root, told.source,
                                       DX_SUPPRESSIONS_LIVE_WAIT, err);
    if (rc == DX_OK)
        rc = dx_version_open_named(&o->version, root, name, o->caches, &told, err);
    return rc == DX_OK ? dx_version_canon_new(o->version, &o->canon, err) : rc;
}

int dx_opened_version_dataset(const struct dx_opened_version *o, const char *said, uint32_t *id,
                              struct dx_error *err)
{
    const struct dx_registry *registry = &o->version->registry;
    const struct dx_dataset *by_name = NULL;
    const struct dx_dataset *by_number = NULL;
    char number[16];

    for (size_t i = 0; i < registry->count; i++) {
        const struct dx_dataset *d = &registry->datasets[i];

        (void)snprintf(number, sizeof number, "%u", (unsigned)d->dataset_id);
        if (strcmp(d->name, said) == 0)
            by_name = d;
        if (strcmp(number, said) == 0)
            by_number = d;
    }
    if (by_name != NULL && by_number != NULL && by_name != by_number)
        return dx_fail(err, DX_E_INVALID,
                       "'%.60s' is the name of dataset %u, and the number of another one", said,
                       (unsigned)by_name->dataset_id);
    if (by_name == NULL)
        by_name = by_number;
    if (by_name == NULL)
        return dx_fail(err, DX_E_NOT_FOUND, "version %s has no dataset '%.60s'",
                       dx_version_name(o->version), said);
    *id = by_name->dataset_id;
    return DX_OK;
}

void dx_opened_version_close(struct dx_opened_version *o)
{
    dx_canon_free(&o->canon);
    dx_version_unpin(o->version);
    dx_caches_free(&o->caches);
    *o = (struct dx_opened_version){ .version = NULL };
}
