/* SPDX-License-Identifier: Apache-2.0
 * A settings file is read while memory runs out. */
#include "config/config_file.h"

#include "tests/runner/fail_alloc.h"

static int settings(void *ctx, struct dx_error *err)
{
    static const struct dx_option table[] = { { "root", "ROOT", NULL, "", DX_OPT_TEXT },
                                              { "listen", "ADDRESS", NULL, "", DX_OPT_TEXT },
                                              { "workers", "N", NULL, "", DX_OPT_TEXT } };
    struct dx_config_file f;
    int rc = dx_config_file_parse(&f, "file",
                                  dx_span_str("# a comment\nroot = /srv/x\nlisten = \"[::]:80\" ; "
                                              "here\nworkers = 3\n"),
                                  table, 3, err);

    (void)ctx;
    if (rc == DX_OK)
        dx_config_file_release(&f);
    return rc;
}

int main(void)
{
    return fail_alloc_each("settings", 0, settings, NULL) > 0;
}
