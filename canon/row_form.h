/* SPDX-License-Identifier: Apache-2.0
 * row_form.h - whether the columns of a lake row are those of a URL in canonical form.
 *
 *   rc = dx_row_form_new(&form, psl, &err);              one a thread; psl is borrowed
 *   fault = dx_row_form_check(form, &row);               DX_ROW_CANONICAL, or which column is not
 *   dx_row_form_free(&form);
 *
 * Canonical is a row whose scheme "://" host path_query is what dx_canon_url makes of it, and whose
 * domain is the registered domain of its host by the list. Every row is checked, so it must be
 * cheap: the host only where it differs from that of the last call, a path of plain characters by
 * one look at each byte; what is left is canonicalised and compared.
 */
#ifndef DX_CANON_ROW_FORM_H
#define DX_CANON_ROW_FORM_H

#include "base/bytes.h"
#include "base/error.h"

struct dx_psl;
struct dx_row_form;

enum dx_row_fault {
    DX_ROW_CANONICAL,
    DX_ROW_SCHEME,     /* not "http", "https" or "ftp" */
    DX_ROW_HOST,       /* not as the canonical URL has it, or of no URL */
    DX_ROW_DOMAIN,     /* not the registered domain of the host */
    DX_ROW_PATH_QUERY, /* not as the canonical URL has it */
    DX_ROW_TOO_LONG    /* over DX_URL_MAX bytes */
};

struct dx_row_columns {
    struct dx_span domain, scheme, host, path_query;
};

int dx_row_form_new(struct dx_row_form **form, const struct dx_psl *psl, struct dx_error *err);
void dx_row_form_free(struct dx_row_form **form);

enum dx_row_fault dx_row_form_check(struct dx_row_form *form, const struct dx_row_columns *row);

/* The domain_id of the last row that was canonical. */
uint64_t dx_row_form_domain_id(const struct dx_row_form *form);

/* The URL of a row that is canonical, until the next call. */
struct dx_span dx_row_form_url(struct dx_row_form *form, const struct dx_row_columns *row);

/* The canonical URL of a text from outside, until the next call; size 0: it has none. */
struct dx_span dx_row_form_canonical(struct dx_row_form *form, struct dx_span text);

/* "column host is not in canonical form" and the like, for messages. */
const char *dx_row_fault_text(enum dx_row_fault fault);

#endif
