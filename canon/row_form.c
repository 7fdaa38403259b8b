/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/row_form.h"

#include "base/few_bytes.h"
#include "canon/host.h"
#include "canon/ids.h"
#include "canon/path_query.h"
#include "canon/psl.h"
#include "canon/url.h"

#include <assert.h>
#include <stdlib.h>

enum { ORIGIN_ROOM = 16 + DX_URL_MAX };

struct dx_row_form {
    const struct dx_psl *psl;
    struct dx_canon *canon;
    struct dx_query_work query;
    /* The last origin that was canonical, "https://www.example.com", behind it a path. */
    uint8_t origin[ORIGIN_ROOM];
    size_t scheme_size, host_size; /* 0: none yet */
    struct dx_span domain;         /* of the host, within it */
    uint64_t domain_id;
    uint8_t path[3 * DX_URL_MAX + 8];
};

int dx_row_form_new(struct dx_row_form **form, const struct dx_psl *psl, struct dx_error *err)
{
    int rc;

    *form = calloc(1, sizeof **form);
    if (*form == NULL)
        return dx_no_memory(err, "check of rows");
    (*form)->psl = psl;
    rc = dx_canon_new(&(*form)->canon, psl, err);
    if (rc < 0)
        dx_row_form_free(form);
    else
        dx_canon_in_order((*form)->canon);
    return rc;
}

void dx_row_form_free(struct dx_row_form **form)
{
    if (*form == NULL)
        return;
    dx_canon_free(&(*form)->canon);
    free(*form);
    *form = NULL;
}

static bool is_scheme(struct dx_span scheme)
{
    return dx_span_equal(scheme, dx_span_str("https")) ||
           dx_span_equal(scheme, dx_span_str("http")) || dx_span_equal(scheme, dx_span_str("ftp"));
}

static bool is_last_origin(const struct dx_row_form *f, const struct dx_row_columns *row)
{
    return dx_few_equal(dx_span_of(f->origin + f->scheme_size + 3, f->host_size), row->host) &&
           dx_few_equal(dx_span_of(f->origin, f->scheme_size), row->scheme);
}

/* The domain of a host that is canonical in f->origin, as what dx_canon_url makes of the whole shows. */
static enum dx_row_fault find_domain(struct dx_row_form *f, const struct dx_row_columns *row,
                                     struct dx_span origin, struct dx_span *domain)
{
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_url url;

    if (dx_canon_url(f->canon, origin, &url, &why) != 1)
        return why == DX_REJECT_PUBLIC_SUFFIX ? DX_ROW_DOMAIN : DX_ROW_HOST;
    if (!dx_span_equal(url.url, origin) || !dx_span_equal(url.host, row->host))
        return DX_ROW_HOST;
    *domain = dx_span_of(origin.data + (url.domain.data - url.url.data), url.domain.size);
    return DX_ROW_CANONICAL;
}

/* The host into f->origin, if it is canonical: scheme and host are at most DX_URL_MAX bytes. Nearly
 * each is a plain name, of which only the domain is to be found. */
static enum dx_row_fault take_origin(struct dx_row_form *f, const struct dx_row_columns *row)
{
    uint8_t *host = f->origin + row->scheme.size + 3;
    enum dx_row_fault fault = DX_ROW_CANONICAL;

    f->host_size = 0;
    dx_few_copy(f->origin, row->scheme.data, row->scheme.size);
    memcpy(f->origin + row->scheme.size, "://", 3);
    dx_few_copy(host, row->host.data, row->host.size);
    host[row->host.size] = '/';
    if (!dx_host_is_plain(row->host) ||
        dx_psl_domain(f->psl, dx_span_of(host, row->host.size), &f->domain) != 1)
        fault = find_domain(
            f, row, dx_span_of(f->origin, row->scheme.size + 3 + row->host.size + 1), &f->domain);
    if (fault != DX_ROW_CANONICAL)
        return fault;
    f->domain_id = dx_domain_id(f->domain);
    f->scheme_size = row->scheme.size;
    f->host_size = row->host.size;
    return DX_ROW_CANONICAL;
}

static bool is_path_query(struct dx_row_form *f, struct dx_span path)
{
    struct dx_span rest = path;
    uint8_t *end;

    if (dx_path_query_is_plain(path))
        return true;
    if (path.size == 0 || path.data[0] != '/') /* none gives "/" */
        return false;
    end = dx_path_write(f->path, &rest);
    end = dx_query_write(&f->query, end, &rest);
    return rest.size == 0 && dx_span_equal(path, dx_span_of(f->path, (size_t)(end - f->path)));
}

enum dx_row_fault dx_row_form_check(struct dx_row_form *f, const struct dx_row_columns *row)
{
    enum dx_row_fault fault = DX_ROW_CANONICAL;

    if (!is_scheme(row->scheme))
        return DX_ROW_SCHEME;
    if (row->host.size == 0)
        return DX_ROW_HOST;
    if (row->host.size > DX_URL_MAX || row->path_query.size > DX_URL_MAX ||
        row->scheme.size + 3 + row->host.size + row->path_query.size > DX_URL_MAX)
        return DX_ROW_TOO_LONG;
    if (!is_last_origin(f, row))
        fault = take_origin(f, row);
    if (fault != DX_ROW_CANONICAL)
        return fault;
    if (!dx_few_equal(row->domain, f->domain))
        return DX_ROW_DOMAIN;
    return is_path_query(f, row->path_query) ? DX_ROW_CANONICAL : DX_ROW_PATH_QUERY;
}

uint64_t dx_row_form_domain_id(const struct dx_row_form *f)
{
    return f->domain_id;
}

struct dx_span dx_row_form_url(struct dx_row_form *f, const struct dx_row_columns *row)
{
    size_t origin = f->scheme_size + 3 + f->host_size;

    assert(is_last_origin(f, row) && row->path_query.size > 0);
    dx_few_copy(f->origin + origin, row->path_query.data, row->path_query.size);
    return dx_span_of(f->origin, origin + row->path_query.size);
}

struct dx_span dx_row_form_canonical(struct dx_row_form *f, struct dx_span text)
{
    enum dx_reject why = DX_REJECT_NONE;
    struct dx_url url;

    return dx_canon_url(f->canon, text, &url, &why) == 1 ? url.url : dx_span_of(NULL, 0);
}

const char *dx_row_fault_text(enum dx_row_fault fault)
{
    switch (fault) {
    case DX_ROW_CANONICAL:
        break;
    case DX_ROW_SCHEME:
        return "column scheme holds another scheme than http, https and ftp";
    case DX_ROW_HOST:
        return "column host is not in canonical form";
    case DX_ROW_DOMAIN:
        return "column domain is not the registered domain of its host";
    case DX_ROW_PATH_QUERY:
        return "column path_query is not in canonical form";
    case DX_ROW_TOO_LONG:
        return "its URL is too long";
    }
    return "is in canonical form";
}
