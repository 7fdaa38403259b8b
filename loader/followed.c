/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/followed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "fetch/local_etag.h"

int dx_followed_open(struct dx_followed *f, const char *root, const char *file,
                     const struct dx_source_options *options, struct dx_error *err)
{
    const struct dx_source_options defaults = DX_SOURCE_OPTIONS_INIT;

    if (file == NULL && dx_source_remote(root))
        return dx_source_open(&f->source, root, options == NULL ? &defaults : options, err);
    if ((file != NULL ? asprintf(&f->path, "%s", file)
                      : asprintf(&f->path, "%s/%s", root, f->object)) >= 0)
        return DX_OK;
    f->path = NULL;
    return dx_fail(err, DX_E_NOMEM, "%s: out of memory", f->object);
}

static int read_file(const struct dx_followed *f, struct dx_buf *text, char etag[DX_SOURCE_ETAG],
                     struct dx_error *err)
{
    struct stat st;
    int rc;

    /* Before it is read: if it is replaced in between, the next look finds it new. */
    if (stat(f->path, &st) == 0)
        dx_local_etag(&st, etag);
    if (etag[0] != '\0' && strcmp(etag, f->etag) == 0)
        return 0;
    rc = dx_file_read(f->path, f->cap, text, err);
    return rc < 0 ? rc : 1;
}

int dx_followed_read(struct dx_followed *f, struct dx_buf *text, char etag[DX_SOURCE_ETAG],
                     struct dx_error *err)
{
    const struct dx_get get = { .object = f->object,
                                .cap = f->cap,
                                .if_none_match = f->etag[0] == '\0' ? NULL : f->etag };

    etag[0] = '\0';
    return f->source != NULL ? dx_source_get(f->source, &get, text, etag, err)
                             : read_file(f, text, etag, err);
}

void dx_followed_take(struct dx_followed *f, const char *etag)
{
    memcpy(f->etag, etag, sizeof f->etag);
}

void dx_followed_close(struct dx_followed *f)
{
    dx_source_close(&f->source);
    free(f->path);
    f->path = NULL;
}
