/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/records/column_names.h"

#include <strings.h>

const char *const dx_column_url_names[] = {
    "url",
    "uri",
    "u",
    "metadata.url",
    "meta.url",
    "general_metadata.url",
    "metadata.\"warc-target-uri\"",
    "warc_headers.\"warc-target-uri\"",
    "meta.warc_headers.\"warc-target-uri\"",
    "headers.\"warc-target-uri\"",
    "\"warc-target-uri\"",
    "target_uri",
    "page_url",
    "source_url",
    "original_url",
    "original_uri",
    "document_url",
    "webpage_url",
    "web_url",
    "canonical_url",
    "permalink",
    "link",
    "href",
    "original",
    "address",
    NULL,
};

const char *const dx_column_ts_names[] = {
    "fetch_time",
    "date",
    "timestamp",
    "ts",
    "date_download",
    "crawl_date",
    "warc_headers.\"warc-date\"",
    "meta.warc_headers.\"warc-date\"",
    "metadata.\"warc-date\"",
    "headers.\"warc-date\"",
    "\"warc-date\"",
    "meta.timestamp",
    "metadata.timestamp",
    "meta.date",
    "metadata.date",
    "datetime",
    "when",
    "crawled_at",
    "fetched_at",
    NULL,
};

/* "metadata.\"warc-date\"" is metadata.warc-date in a flat file. */
static bool is_named(struct dx_span field, const char *path)
{
    size_t at = 0;

    for (; *path != '\0'; path++) {
        if (*path == '"')
            continue;
        if (at == field.size || strncasecmp((const char *)field.data + at, path, 1) != 0)
            return false;
        at++;
    }
    return at == field.size;
}

int dx_column_find(const struct dx_span *field, size_t n, const char *const *names)
{
    for (; *names != NULL; names++)
        for (size_t i = 0; i < n; i++)
            if (is_named(field[i], *names))
                return (int)i;
    return -1;
}

int dx_column_twin(const struct dx_span *field, size_t n, size_t at, bool any_case)
{
    for (size_t i = 0; i < n; i++)
        if (i != at && field[i].size == field[at].size &&
            (any_case ? strncasecmp((const char *)field[i].data, (const char *)field[at].data,
                                    field[at].size) == 0
                      : dx_span_equal(field[i], field[at])))
            return (int)i;
    return -1;
}

bool dx_column_is_url_name(struct dx_span field)
{
    return dx_column_find(&field, 1, dx_column_url_names) == 0;
}
