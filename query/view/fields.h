/* SPDX-License-Identifier: Apache-2.0
 * fields.h - which members the items of an answer carry, and which page of them is wanted.
 *
 *   if (!dx_fields_parse(text, &fields, &bad)) ...         "url,ts": DX_FIELD_URL | DX_FIELD_TS
 *   if (!dx_domain_fields_parse(text, &fields, &bad)) ...  the same for the datasets of a domain
 *   if (!dx_domains_fields_parse(text, &fields, &bad)) ... of the items of /v1/domains
 *   dx_field_names[i]                                      the name of bit i
 *
 * Plain values. Any thread.
 */
#ifndef DX_QUERY_VIEW_FIELDS_H
#define DX_QUERY_VIEW_FIELDS_H

#include "base/bytes.h"

#define DX_LIMIT_DEFAULT 1000 /* rows of a page when the client names none (spec 4.2) */
#define DX_LIMIT_MAX 10000    /* rows of a page at most: about 1 MB of JSON */
#define DX_PATHS_LIMIT_DEFAULT 100
#define DX_PATHS_LIMIT_MAX 256 /* all that is stored: DX_FACTS_PATHS_MAX */
#define DX_DATASETS_LIMIT_DEFAULT 10000
#define DX_DATASETS_LIMIT_MAX 100000

/* Which optional members the items of a URL listing carry. */
enum {
    DX_FIELD_URL_ID = 1,
    DX_FIELD_URL = 2,
    DX_FIELD_TS = 4,
    DX_FIELD_RAW_URL = 8,
    DX_FIELD_EXTRAS = 16,
    DX_FIELD_TITLE = 32,
    DX_FIELD_CONTENT_TYPE = 64,
    DX_FIELD_TAGS = 128,
    DX_FIELD_LOCATOR = 256,
    DX_FIELDS_DEFAULT = DX_FIELD_URL_ID | DX_FIELD_URL | DX_FIELD_TS,
    DX_FIELDS_NAMED = DX_FIELD_TITLE | DX_FIELD_CONTENT_TYPE | DX_FIELD_TAGS |
                      DX_FIELD_LOCATOR, /* extras of that name */
    DX_FIELDS_ALL = 511,
    DX_FIELD_COUNT = 9
};

/* By the number of the bit. */
extern const char *const dx_field_names[DX_FIELD_COUNT];

/* Which members the datasets of a domain carry, in this order. dataset_id is there always. */
enum {
    DX_DOMAIN_FIELD_ID = 1,
    DX_DOMAIN_FIELD_NAME = 2,
    DX_DOMAIN_FIELD_URLS = 4,
    DX_DOMAIN_FIELD_URLS_EST = 8,
    DX_DOMAIN_FIELD_ROWS = 16,
    DX_DOMAIN_FIELD_FIRST_TS = 32,
    DX_DOMAIN_FIELD_LAST_TS = 64,
    DX_DOMAIN_FIELD_SHARE = 128,
    DX_DOMAIN_FIELD_RANK = 256,
    DX_DOMAIN_FIELDS_ALL = 511,
    DX_DOMAIN_FIELD_COUNT = 9
};

extern const char *const dx_domain_field_names[DX_DOMAIN_FIELD_COUNT];

/* Which members the domains of a list carry, in this order. `domain` is there always; domain_unicode only of names that have
 * A-labels. */
enum {
    DX_DOMAINS_FIELD_DOMAIN = 1,
    DX_DOMAINS_FIELD_UNICODE = 2,
    DX_DOMAINS_FIELD_ID = 4,
    DX_DOMAINS_FIELD_DATASETS = 8,
    DX_DOMAINS_FIELD_URLS = 16,
    DX_DOMAINS_FIELD_ROWS = 32,
    DX_DOMAINS_FIELDS_COUNTS = DX_DOMAINS_FIELD_DATASETS | DX_DOMAINS_FIELD_URLS |
                               DX_DOMAINS_FIELD_ROWS,
    DX_DOMAINS_FIELDS_ALL = 63,
    DX_DOMAINS_FIELD_COUNT = 6
};

extern const char *const dx_domains_field_names[DX_DOMAINS_FIELD_COUNT];

struct dx_page_of {
    uint64_t offset;
    uint64_t limit;
};

/* "url_id,url,ts,raw_url,extras,title,content_type,tags,locator" in any order; false names the bad
 * word in *bad. */
bool dx_fields_parse(struct dx_span text, unsigned *fields, struct dx_span *bad);

/* The same of the domains of a list, and of the datasets of a domain. */
bool dx_domains_fields_parse(struct dx_span text, unsigned *fields, struct dx_span *bad);
bool dx_domain_fields_parse(struct dx_span text, unsigned *fields, struct dx_span *bad);

#endif
