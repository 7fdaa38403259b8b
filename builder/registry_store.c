/* SPDX-License-Identifier: Apache-2.0
 * The registry of a root on object storage: read with its ETag, put in place of that one only.
 */
#include "builder/registry.h"

#include <string.h>

#include "base/buf.h"
#include "builder/remote_root.h"
#include "fetch/store.h"

int dx_roster_read(struct dx_roster **reg, const struct dx_remote_root *root,
                   char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_REGISTRY_MAX);
    int rc = dx_remote_root_get(root, DX_ROSTER_FILE, DX_REGISTRY_MAX, &text, etag, err);

    *reg = NULL;
    if (rc == 0) {
        rc = dx_roster_new(reg, err);
    } else if (rc > 0 && etag[0] == '\0') {
        rc = dx_fail(err, DX_E_UNSUPPORTED,
                     DX_ROSTER_FILE ": the store tells no ETag, without which two writers cannot "
                                    "be kept apart");
    } else if (rc > 0) {
        rc = dx_roster_parse(reg, dx_span_of(text.data, text.size), DX_ROSTER_FILE, err);
        rc = rc < 0 ? rc : 1;
    }
    dx_buf_release(&text);
    return rc;
}

int dx_roster_put(struct dx_roster *reg, const struct dx_remote_root *root,
                  char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT((size_t)2 * DX_REGISTRY_MAX);
    struct dx_put put = { .object = DX_ROSTER_FILE,
                          .if_absent = etag[0] == '\0',
                          .if_match = etag[0] == '\0' ? NULL : etag };
    char written[DX_SOURCE_ETAG];
    int rc;

    if (!dx_roster_changed(reg))
        return DX_OK;
    rc = dx_roster_text(reg, &text, err);
    put.bytes = dx_span_of(text.data, text.size);
    if (rc == DX_OK)
        rc = dx_store_put(root->store, &put, written, err);
    if (rc == DX_OK) {
        memcpy(etag, written, sizeof written);
        dx_roster_written(reg);
    }
    dx_buf_release(&text);
    return rc;
}
