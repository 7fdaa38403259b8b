/* SPDX-License-Identifier: Apache-2.0
 * credentials_service.h - credentials that a service on the machine hands out for a while.
 *
 *   rc = dx_credentials_of_container(&c, &err);      1 found, 0 the environment names none
 *   rc = dx_credentials_of_instance(&c, &err);       1 found, 0 switched off
 *   rc = dx_credentials_parse_json(&c, text, &err);  what both answer with; pure
 *
 * May block for DX_CREDENTIALS_SERVICE_MS. Replies are hostile like all others: at most 64 kB,
 * printable, no redirections. See credentials.h for the variables. Any thread.
 */
#ifndef DX_FETCH_CREDENTIALS_SERVICE_H
#define DX_FETCH_CREDENTIALS_SERVICE_H

#include "fetch/credentials.h"

#define DX_CREDENTIALS_SERVICE_MS 5000

int dx_credentials_of_container(struct dx_credentials *c, struct dx_error *err);
int dx_credentials_of_instance(struct dx_credentials *c, struct dx_error *err);
int dx_credentials_parse_json(struct dx_credentials *c, struct dx_span text, struct dx_error *err);

/* Whether the secrets of a container may be asked for at this URL. */
bool dx_credentials_url_allowed(const char *url);

#endif
