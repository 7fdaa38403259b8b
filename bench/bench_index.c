/* SPDX-License-Identifier: Apache-2.0
 * bench_index ROOT [VERSION] - what a published version costs: bytes of each file, for a
 * domain and for a (domain, dataset) pair, and bytes of the lake for a URL. */
#include <stdio.h>

#include "builder/cli/publish_report.h"
#include "builder/lake/lake_layout.h"
#include "loader/version.h"

int main(int argc, char **argv)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_left_out left = DX_LEFT_OUT_INIT;
    struct dx_lake_list lake = { 0 };
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_manifest_version *v = NULL;
    uint64_t lake_bytes = 0;
    int rc;

    if (argc < 2 || argc > 3) {
        (void)fprintf(stderr, "usage: bench_index ROOT [VERSION]\n");
        return 2;
    }
    rc = dx_version_manifest(argv[1], &m, &err);
    if (rc == DX_OK) {
        v = argc == 3 ? dx_manifest_find(&m, argv[2]) : dx_manifest_current(&m);
        if (v == NULL)
            rc = dx_fail(&err, DX_E_NOT_FOUND, "%s: no such version", argv[1]);
    }
    if (rc == DX_OK)
        rc = dx_lake_list(&lake, &left, argv[1], &err);
    for (size_t i = 0; i < lake.count; i++)
        lake_bytes += lake.file[i].size;
    if (rc == DX_OK) {
        (void)printf("%s\n", v->version);
        dx_publish_report(v, lake_bytes, &text);
        rc = text.failed ? dx_buf_fail(&text, &err, "report") : DX_OK;
    }
    if (rc == DX_OK)
        (void)fwrite(text.data, 1, text.size, stdout);
    else
        (void)fprintf(stderr, "bench_index: %s\n", err.text);
    dx_lake_list_release(&lake);
    dx_manifest_release(&m);
    dx_buf_release(&text);
    return rc != DX_OK;
}
