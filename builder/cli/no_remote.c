/* SPDX-License-Identifier: Apache-2.0
 * What domaindex_front.c is linked with in place of HTTP and S3 (fetch/) and of libcrypto (base/crypto): it opens directories
 * alone, and its answers have offsets and no sealed cursors, so these are not called. libcrypto has more than half of the
 * symbols that were bound when the program started.
 */
#include "base/crypto/seal.h"
#include "base/crypto/sha256.h"
#include "fetch/object_url.h"
#include "fetch/s3.h"
#include "fetch/source_http.h"
#include "fetch/store/store.h"

static int refuse(const char *root, struct dx_error *err)
{
    return dx_fail(err, DX_E_UNSUPPORTED, "%s: this program reads directories alone", root);
}

int dx_source_open_http(struct dx_source **src, const char *root, struct dx_signing *signing,
                        const struct dx_source_options *options, struct dx_error *err)
{
    (void)signing;
    (void)options;
    *src = NULL;
    return refuse(root, err);
}

int dx_source_open_s3(struct dx_source **src, const char *root,
                      const struct dx_source_options *options, struct dx_error *err)
{
    (void)options;
    *src = NULL;
    return refuse(root, err);
}

int dx_store_open_s3(struct dx_store **store, const char *root,
                     const struct dx_source_options *options, struct dx_error *err)
{
    (void)options;
    *store = NULL;
    return refuse(root, err);
}

int dx_s3_root_open(struct dx_s3_root *r, const char *root, const struct dx_source_options *options,
                    struct dx_error *err)
{
    (void)r;
    (void)options;
    return refuse(root, err);
}

void dx_s3_root_close(struct dx_s3_root *r)
{
    (void)r;
}

int dx_root_url(const char *root, char **url, struct dx_error *err)
{
    *url = NULL;
    return refuse(root, err);
}

bool dx_seal(const uint8_t key[DX_SEAL_KEY], struct dx_span with, struct dx_span plain,
             uint8_t *out)
{
    (void)key;
    (void)with;
    (void)plain;
    (void)out;
    return false;
}

int dx_unseal(const uint8_t key[DX_SEAL_KEY], struct dx_span with, struct dx_span sealed,
              uint8_t *out)
{
    (void)key;
    (void)with;
    (void)sealed;
    (void)out;
    return 0;
}

bool dx_sha256(struct dx_span s, uint8_t sum[DX_SHA256_SIZE])
{
    (void)s;
    (void)sum;
    return false;
}

bool dx_hmac_sha256(struct dx_span key, struct dx_span s, uint8_t sum[DX_SHA256_SIZE])
{
    (void)key;
    return dx_sha256(s, sum);
}

struct dx_sha256_state *dx_sha256_new(void)
{
    return NULL;
}

bool dx_sha256_update(struct dx_sha256_state *state, struct dx_span s)
{
    (void)state;
    (void)s;
    return false;
}

bool dx_sha256_end(struct dx_sha256_state **state, uint8_t sum[DX_SHA256_SIZE])
{
    *state = NULL;
    (void)sum;
    return false;
}

void dx_sha256_hex(const uint8_t sum[DX_SHA256_SIZE], char hex[DX_SHA256_HEX])
{
    (void)sum;
    hex[0] = '\0';
}

void dx_sha256_base64(const uint8_t sum[DX_SHA256_SIZE], char text[DX_SHA256_BASE64])
{
    (void)sum;
    text[0] = '\0';
}
