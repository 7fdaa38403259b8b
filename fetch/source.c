/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/source.h"

#include "fetch/s3.h"
#include "fetch/source_http.h"

#include <strings.h>
#include <time.h>

static int check_name(const char *name, struct dx_error *err)
{
    if (dx_object_name_valid(name))
        return DX_OK;
    return dx_fail(err, DX_E_INVALID, "object name '%s' is not a plain relative path", name);
}

int dx_wave_check(const struct dx_wave *wave, struct dx_error *err)
{
    struct dx_wave_report *report = wave->report;

    if (report != NULL) {
        report->failed = wave->count;
        report->requests = report->retries = 0;
        report->bytes = 0;
        for (size_t i = 0; i < wave->count && report->seen != NULL; i++)
            report->seen[i].etag[0] = '\0';
    }
    for (size_t i = 0; i < wave->count; i++) {
        int rc = check_name(wave->reads[i].object, err);

        if (rc < 0 && report != NULL)
            report->failed = i;
        if (rc < 0)
            return rc;
    }
    return DX_OK;
}

void dx_wave_report_read(const struct dx_wave *wave, size_t read, int rc)
{
    wave->report->requests++;
    if (rc < 0)
        wave->report->failed = read;
    else
        wave->report->bytes += wave->reads[read].size;
}

int dx_source_read_wave(struct dx_source *src, const struct dx_wave *wave, struct dx_error *err)
{
    int rc = dx_wave_check(wave, err);

    return rc < 0 || wave->count == 0 ? rc : src->ops->read(src, wave, err);
}

int dx_source_read(struct dx_source *src, const struct dx_read *reads, size_t count,
                   struct dx_error *err)
{
    const struct dx_wave wave = { .reads = reads, .count = count };

    return dx_source_read_wave(src, &wave, err);
}

int dx_source_get(struct dx_source *src, const struct dx_get *get, struct dx_buf *out,
                  char etag[DX_SOURCE_ETAG], struct dx_error *err)
{
    int rc = check_name(get->object, err);

    etag[0] = '\0';
    return rc < 0 ? rc : src->ops->get(src, get, out, etag, err);
}

void dx_source_close(struct dx_source **src)
{
    if (*src != NULL)
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

int dx_source_open(struct dx_source **src, const char *root,
                   const struct dx_source_options *options, struct dx_error *err)
{
    *src = NULL;
    if (has_scheme(root, "s3://"))
        return dx_source_open_s3(src, root, options, err);
    if (dx_source_remote(root))
        return dx_source_open_http(src, root, NULL, options, err);
    /* A scheme with a slip in it is not the name of a directory. */
    if (strstr(root, "://") != NULL)
        return dx_fail(err, DX_E_INVALID,
                       "%s: not a directory, http://, https:// or s3://bucket/prefix", root);
    return dx_source_open_local(src, root, err);
}
