/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/fields.h"

const char *const dx_field_names[DX_FIELD_COUNT] = { "url_id",       "url",    "ts",
                                                     "raw_url",      "extras", "title",
                                                     "content_type", "tags",   "locator" };

const char *const dx_domain_field_names[DX_DOMAIN_FIELD_COUNT] = {
    "dataset_id", "name",    "url_count", "url_count_est", "row_count",
    "first_ts",   "last_ts", "share",     "rank"
};

const char *const dx_domains_field_names[DX_DOMAINS_FIELD_COUNT] = { "domain",    "domain_unicode",
                                                                     "domain_id", "dataset_count",
                                                                     "url_count", "row_count" };

static bool parse_words(struct dx_span text, const char *const *names, unsigned count,
                        unsigned *fields, struct dx_span *bad)
{
    size_t at = 0;

    *fields = 0;
    while (at <= text.size) {
        const uint8_t *begin = text.data + at;
        const uint8_t *comma = at < text.size ? memchr(begin, ',', text.size - at) : NULL;
        struct dx_span word = { begin, comma == NULL ? text.size - at : (size_t)(comma - begin) };
        unsigned i = 0;

        while (i < count && !dx_span_equal(word, dx_span_str(names[i])))
            i++;
        if (i == count) {
            *bad = word;
            return false;
        }
        *fields |= 1u << i;
        at += word.size + 1;
    }
    return true;
}

bool dx_fields_parse(struct dx_span text, unsigned *fields, struct dx_span *bad)
{
    return parse_words(text, dx_field_names, DX_FIELD_COUNT, fields, bad);
}

bool dx_domain_fields_parse(struct dx_span text, unsigned *fields, struct dx_span *bad)
{
    return parse_words(text, dx_domain_field_names, DX_DOMAIN_FIELD_COUNT, fields, bad);
}

bool dx_domains_fields_parse(struct dx_span text, unsigned *fields, struct dx_span *bad)
{
    return parse_words(text, dx_domains_field_names, DX_DOMAINS_FIELD_COUNT, fields, bad);
}
