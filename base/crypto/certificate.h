/* SPDX-License-Identifier: Apache-2.0
 * certificate.h - a certificate of a server with its chain and its private key, from PEM files.
 *
 *   rc = dx_certificate_read(&c, "chain.pem", "key.pem", &err);    key NULL: it is in the first file too
 *   c.not_before_s, c.not_after_s                                  of the leaf, since 1970
 *   dx_certificate_release(&c);
 *
 *   rc = dx_certificates_check("ca.pem", &err);                    a regular file with certificates, one or more
 *
 * The first certificate of the file is the leaf, those behind it its chain. Files that are missing, are
 * not PEM, or do not belong together are refused; a key with a passphrase too, for a server has no
 * terminal to ask at. Whether it is valid now is for the caller to say. Any thread.
 */
#ifndef DX_BASE_CRYPTO_CERTIFICATE_H
#define DX_BASE_CRYPTO_CERTIFICATE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct dx_certificate {
    struct x509_st *leaf;
    struct stack_st_X509 *chain; /* without the leaf; may be empty */
    struct evp_pkey_st *key;
    int64_t not_before_s, not_after_s;
    bool key_is_open; /* all users of this machine can read its file */
};

int dx_certificate_read(struct dx_certificate *c, const char *file, const char *key_file,
                        struct dx_error *err);
int dx_certificates_check(const char *file, struct dx_error *err);
void dx_certificate_release(struct dx_certificate *c); /* again is fine */

/* Of the calls of libcrypto in this thread since ERR_clear_error: one failed for lack of memory, so
 * what it says of a file is not the file's fault. */
bool dx_certificate_no_memory(void);

#endif
