/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cdx/cdx_ask.h"

static const struct {
    const char *names[2]; /* by dialect */
    const char *letter;   /* of pywb; "s" is the length there */
} columns[DX_CDX_COLUMNS] = {
    [DX_CDX_URLKEY] = { { "urlkey", "urlkey" }, "k" },
    [DX_CDX_TIMESTAMP] = { { "timestamp", "timestamp" }, "t" },
    [DX_CDX_ORIGINAL] = { { "original", "url" }, "u" },
    [DX_CDX_MIME] = { { "mimetype", "mime" }, "m" },
    [DX_CDX_STATUS] = { { "statuscode", "status" }, NULL },
    [DX_CDX_DIGEST] = { { "digest", "digest" }, "d" },
    [DX_CDX_LENGTH] = { { "length", "length" }, "s" },
    [DX_CDX_OFFSET] = { { "offset", "offset" }, "o" },
    [DX_CDX_FILENAME] = { { "filename", "filename" }, "f" },
    [DX_CDX_REDIRECT] = { { "redirect", "redirect" }, NULL },
    [DX_CDX_ROBOTFLAGS] = { { "robotflags", "robotflags" }, NULL },
    [DX_CDX_DATASET] = { { "dataset", "dataset" }, NULL },
    [DX_CDX_ORIG_LENGTH] = { { "orig.length", "orig.length" }, NULL },
    [DX_CDX_ORIG_OFFSET] = { { "orig.offset", "orig.offset" }, NULL },
    [DX_CDX_ORIG_FILENAME] = { { "orig.filename", "orig.filename" }, NULL },
};

enum dx_cdx_column dx_cdx_column_of(struct dx_span name)
{
    size_t c = 0;

    while (c < DX_CDX_COLUMNS && !dx_span_equal(name, dx_span_str(columns[c].names[0])) &&
           !dx_span_equal(name, dx_span_str(columns[c].names[1])))
        c++;
    return (enum dx_cdx_column)c;
}

const char *dx_cdx_column_name(enum dx_cdx_column column, enum dx_cdx_dialect dialect)
{
    return columns[column].names[dialect];
}

enum dx_cdx_column dx_cdx_filter_column(struct dx_span name, enum dx_cdx_dialect dialect)
{
    if (dialect == DX_CDX_WAYBACK && name.size == 1 && name.data[0] >= '0' &&
        name.data[0] < '0' + DX_CDX_USUAL)
        return (enum dx_cdx_column)(name.data[0] - '0');
    for (size_t c = 0; dialect == DX_CDX_PYWB && name.size == 1 && c < DX_CDX_COLUMNS; c++)
        if (columns[c].letter != NULL && columns[c].letter[0] == (char)name.data[0])
            return (enum dx_cdx_column)c;
    if (dialect == DX_CDX_PYWB && dx_span_equal(name, dx_span_str("l")))
        return DX_CDX_LENGTH;
    return dx_cdx_column_of(name);
}
