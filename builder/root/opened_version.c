/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/opened_version.h"

#include "builder/root/root.h"
#include "loader/followed/suppressions_live.h"

#include <stdlib.h>
#include <string.h>

int dx_opened_version_open(struct dx_opened_version *o, const char *root, const char *name,
                           const struct dx_version_options *options, struct dx_error *err)
{
    struct dx_version_options used = *options;
    struct dx_source_options source;
    int rc = DX_OK;

    *o = (struct dx_opened_version){ .version = NULL };
    if (!dx_root_in_place(root)) {
        rc = dx_root_options(&source, err);
        used.source = &source;
    }
    if (rc == DX_OK)
        rc = dx_caches_new(&o->caches, &used, err);
    if (rc == DX_OK)
        rc = dx_suppressions_live_open(&o->caches->suppressions, root, used.source,
                                       DX_SUPPRESSIONS_LIVE_WAIT, err);
    if (rc == DX_OK)
        rc = dx_version_open_named(&o->version, root, name, o->caches, &used, err);
    return rc == DX_OK ? dx_version_canon_new(o->version, &o->canon, err) : rc;
}

/* NULL: not a number, or no dataset has it. */
static const struct dx_dataset *numbered(const struct dx_registry *registry, const char *said)
{
    char *end;
    unsigned long id;

    if (said[0] < '1' || said[0] > '9' || strlen(said) > 10)
        return NULL;
    id = strtoul(said, &end, 10);
    return *end == '\0' && id <= UINT32_MAX ? dx_registry_by_id(registry, (uint32_t)id) : NULL;
}

int dx_dataset_said(const struct dx_registry *registry, const char *version, const char *said,
                    uint32_t *id, struct dx_error *err)
{
    bool as_id = strncmp(said, "id:", 3) == 0;
    bool as_name = strncmp(said, "name:", 5) == 0;
    const struct dx_dataset *by_name = as_id ? NULL
                                             : dx_registry_by_name(
                                                   registry, dx_span_str(said + (as_name ? 5 : 0)));
    const struct dx_dataset *by_id = as_name ? NULL : numbered(registry, said + (as_id ? 3 : 0));

    if (by_name != NULL && by_id != NULL && by_name != by_id)
        return dx_fail(err, DX_E_INVALID,
                       "'%.60s' is the name of dataset %u, and the number of another one: say "
                       "id:%.60s or name:%.60s",
                       said, (unsigned)by_name->dataset_id, said, said);
    if (by_name == NULL)
        by_name = by_id;
    if (by_name == NULL)
        return dx_fail(err, DX_E_NOT_FOUND,
                       "version %s has no dataset '%.60s'; domaindex datasets lists those it has",
                       version, said);
    *id = by_name->dataset_id;
    return DX_OK;
}

int dx_opened_version_dataset(const struct dx_opened_version *o, const char *said, uint32_t *id,
                              struct dx_error *err)
{
    return dx_dataset_said(&o->version->registry, dx_version_name(o->version), said, id, err);
}

void dx_opened_version_close(struct dx_opened_version *o)
{
    dx_canon_free(&o->canon);
    dx_version_unpin(o->version);
    dx_caches_free(&o->caches);
    *o = (struct dx_opened_version){ .version = NULL };
}
