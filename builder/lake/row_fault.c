/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/lake/row_fault.h"

#include <stdio.h>
#include <string.h>

#include "canon/ids.h"
#include "canon/row_form.h"

#define SHOWN_MAX 80 /* of a column */

const char *dx_lake_row_fault(struct dx_row_form *form, const struct dx_lake_row *row)
{
    const struct dx_row_columns columns = { row->domain, row->scheme, row->host, row->path_query };
    enum dx_row_fault fault = dx_row_form_check(form, &columns);

    if (fault != DX_ROW_CANONICAL)
        return dx_row_fault_text(fault);
    if (row->domain_id != dx_row_form_domain_id(form))
        return "column domain_id is not XXH3 of the domain";
    return row->url_id == 0 || row->url_id == dx_url_id(dx_row_form_url(form, &columns))
               ? NULL
               : "column url_id is not XXH3 of the URL";
}

/* Bytes in front of the path. */
static size_t origin_size(struct dx_span url)
{
    const uint8_t *host = memmem(url.data, url.size, "://", 3);
    const uint8_t *path = host == NULL
                              ? NULL
                              : memchr(host + 3, '/', url.size - (size_t)(host + 3 - url.data));

    return path == NULL ? url.size : (size_t)(path - url.data);
}

static bool is_given_for(struct dx_row_form *form, struct dx_span raw, struct dx_span url)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    struct dx_span is = dx_row_form_canonical(form, raw);

    if (is.size > 0 && memmem(raw.data, raw.size, replacement, 3) != NULL) {
        is.size = origin_size(is);
        url.size = origin_size(url);
    }
    return is.size > 0 && dx_span_equal(is, url);
}

const char *dx_lake_given_fault(struct dx_row_form *form, const struct dx_lake_row *row,
                                struct dx_span requested)
{
    const struct dx_row_columns columns = { row->domain, row->scheme, row->host, row->path_query };

    if (row->raw_url.data == NULL ||
        is_given_for(form, row->raw_url, dx_row_form_url(form, &columns)) ||
        (requested.size > 0 && is_given_for(form, row->raw_url, requested)))
        return NULL;
    return "column raw_url is not the row's URL as it was given";
}

static const char *plain_text(struct dx_span text, char out[SHOWN_MAX])
{
    size_t n = text.size < SHOWN_MAX - 1 ? text.size : SHOWN_MAX - 1;

    for (size_t i = 0; i < n; i++)
        out[i] = text.data[i] < ' ' || text.data[i] > '~' ? '?' : (char)text.data[i];
    out[n] = '\0';
    return out;
}

void dx_lake_row_fault_text(const char *why, const struct dx_lake_row *row,
                            char out[DX_ROW_FAULT_TEXT])
{
    char domain[SHOWN_MAX], scheme[SHOWN_MAX], host[SHOWN_MAX], path[SHOWN_MAX];

    (void)snprintf(out, DX_ROW_FAULT_TEXT, "%s: %s://%s%s, domain %s", why,
                   plain_text(row->scheme, scheme), plain_text(row->host, host),
                   plain_text(row->path_query, path), plain_text(row->domain, domain));
}
