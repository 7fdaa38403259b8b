/* SPDX-License-Identifier: Apache-2.0
 * domain_json.h - the name of a domain as members of an answer: "domain", and "domain_unicode" where it has A-labels.
 *
 *   dx_domain_json(&j, domain);
 *   dx_unicode_json(&j, "tld_unicode", name);      the second alone, of any name in A-labels; nothing of one without
 *
 * Any thread.
 */
#ifndef DX_QUERY_VIEW_DOMAIN_JSON_H
#define DX_QUERY_VIEW_DOMAIN_JSON_H

#include "base/json_out.h"

void dx_domain_json(struct dx_json *j, struct dx_span domain);
void dx_unicode_json(struct dx_json *j, const char *key, struct dx_span name);

#endif
