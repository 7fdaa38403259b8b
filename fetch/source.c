/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/source.h"

#include <strings.h>
#include <time.h>

static int check_name(const char *name, struct dx_error *err)
{
    if (dx_object_name_valid(name))
        return DX_OK;
    return dx_fail(err, DX_E_INVALID, "object name '%s' is not a plain relative path", name);
}

int dx_source_batch_check(const struct dx_source_batch *batch, struct dx_error *err)
{
    struct dx_source_batch_report *report = batch->report;

    if (report != NULL) {
        report->failed = batch->count;
        report->requests = report->retries = 0;
        report->bytes = 0;
        for (size_t i = 0; i < batch->count && report->seen != NULL; i++)
            report->seen[i].etag[0] = '\0';
    }
    for (size_t i = 0; i < batch->count; i++) {
        int rc = check_name(batch->reads[i].object, err);

        if (rc < 0 && report != NULL)
            report->failed = i;
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

void dx_source_batch_report_read(const struct dx_source_batch *batch, size_t read, int rc)
{
    batch->report->requests++;
    if (rc < 0)
        batch->report->failed = read;
    else
        batch->report->bytes += batch->reads[read].size;
}

int dx_source_read_batch(struct dx_source *src, const struct dx_source_batch *batch,
                         struct dx_error *err)
{
    int rc = dx_source_batch_check(batch, err);

    return rc < 0 || batch->count == 0 ? rc : src->ops->read(src, batch, err);
}

int dx_source_read(struct dx_source *src, const struct dx_read *reads, size_t count,
                   struct dx_error *err)
{
    const struct dx_source_batch batch = { .reads = reads, .count = count };

    return dx_source_read_batch(src, &batch, err);
}

int dx_source_get(struct dx_source *src, const struct dx_get *get, struct dx_buf *out,
                  char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    int rc = check_name(get->object, err);

    etag[0] = '\0';
    return rc < 0 ? rc : src->ops->get(src, get, out, etag, err);
}

struct dx_source *dx_source_hold(struct dx_source *src)
{
    (void)atomic_fetch_add_explicit(&src->more, 1, memory_order_relaxed);
    return src;
}

void dx_source_close(struct dx_source **src)
{
    if (*src != NULL && atomic_fetch_sub_explicit(&(*src)->more, 1, memory_order_acq_rel) == 0)
        (*src)->ops->close(*src);
    *src = NULL;
}

bool dx_object_name_valid(const char *name)
{
    size_t in_component = 0;
    bool only_dots = true;
    size_t n = 0;

    for (; name[n] != '\0'; n++) {
        unsigned char c = (unsigned char)name[n];

        if (n >= DX_OBJECT_NAME_MAX || c <= 0x20 || c == 0x7f || c == '\\')
            return false;
        if (c == '/') {
            if (in_component == 0 || (only_dots && in_component <= 2))
                return false;
            in_component = 0;
            only_dots = true;
            continue;
        }
        only_dots = only_dots && c == '.';
        in_component++;
    }
    return in_component > 0 && !(only_dots && in_component <= 2);
}

static bool has_scheme(const char *root, const char *scheme)
{
    return strncasecmp(root, scheme, strlen(scheme)) == 0;
}

bool dx_source_remote(const char *root)
{
    return has_scheme(root, "http://") || has_scheme(root, "https://") || has_scheme(root, "s3://");
}
