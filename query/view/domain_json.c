/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/domain_json.h"

#include "canon/idna.h"

void dx_unicode_json(struct dx_json *j, const char *key, struct dx_span name)
{
    DX_UNINITIALIZED uint8_t text[DX_IDNA_UTF8_MAX];
    size_t size;

    if (!dx_idna_to_unicode(name, text, sizeof text, &size))
        return;
    dx_json_key(j, key);
    dx_json_text(j, dx_span_of(text, size));
}

void dx_domain_json(struct dx_json *j, struct dx_span domain)
{
    dx_json_key(j, "domain");
    dx_json_text(j, domain);
    dx_unicode_json(j, "domain_unicode", domain);
}
