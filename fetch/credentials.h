/* SPDX-License-Identifier: Apache-2.0
 * credentials.h - the credentials of an S3 root.
 *
 *   rc = dx_credentials_parse_file(&c, text, profile, &err);   of a shared credentials file
 *   dx_credentials_forget(&c);                                 wipes them
 *
 * credentials_find.h says where they come from. One thread at a time.
 */
#ifndef DX_FETCH_CREDENTIALS_H
#define DX_FETCH_CREDENTIALS_H

#include "base/bytes.h"
#include "base/error.h"

#define DX_CREDENTIAL_MAX 4096 /* tokens of STS have about 1 kB, and no stated limit */

/* Printable ASCII without spaces: they go into headers. */
struct dx_credentials {
    char key_id[DX_CREDENTIAL_MAX];
    char secret[DX_CREDENTIAL_MAX];
    char token[DX_CREDENTIAL_MAX]; /* "": none */
    int64_t expires_s;             /* Unix time; 0: not said */
};

void dx_credentials_forget(struct dx_credentials *c);

/* A shared credentials file: [profile], key = value, # and ; comments. 1 found, 0 no profile. */
int dx_credentials_parse_file(struct dx_credentials *c, struct dx_span text, const char *profile,
                              struct dx_error *err);

/* Keeps a value if it may be part of a header. */
bool dx_credentials_keep(char to[DX_CREDENTIAL_MAX], struct dx_span value);

/* The variable, NULL if it is not set or empty. */
const char *dx_environment(const char *name);

#endif
