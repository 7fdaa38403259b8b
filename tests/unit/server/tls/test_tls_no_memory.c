/* SPDX-License-Identifier: Apache-2.0
 * A certificate is loaded, exchanged and shown while memory runs out: our allocations, and those of libssl on the server's side. */
#include "server/tls/tls_context.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "tests/runner/fail_alloc.h"
#include "tests/support/fail.h"
#include "tests/support/tls_peer.h"

static int failures;

struct place {
    char base[48];
    char certificate[80], key[80];
    struct dx_tls_files files;
    int64_t now_s;
};

static int open_and_poll(void *ctx, struct dx_error *err)
{
    const struct place *p = ctx;
    struct dx_tls *tls = NULL;
    struct dx_tls_link *link = NULL;
    int rc = dx_tls_open(&tls, &p->files, p->now_s, err);

    if (rc == DX_OK)
        rc = dx_tls_poll(tls, true, p->now_s, err);
    if (rc >= 0) {
        link = dx_tls_link_new(tls, 0);
        rc = link == NULL ? dx_no_memory(err, "link") : DX_OK;
    }
    dx_tls_link_free(&link);
    dx_tls_close(&tls);
    return rc;
}

/* ---- libssl's and libcrypto's allocations ---- */

static bool armed;
static unsigned asked, fail_at;

static bool fails(void)
{
    return armed && ++asked == fail_at;
}

/* The linker's names (--wrap): so that fail_alloc_each counts ours alone. */
void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);

static void *own_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return size == 0 || fails() ? NULL : __real_malloc(size);
}

static void *own_realloc(void *p, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return fails() ? NULL : __real_realloc(p, size);
}

static void own_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    __real_free(p);
}

/* Whether the n-th allocation was reached. A handshake that lacks memory fails; bytes that arrive are whole. */
static bool serve(const struct place *p, unsigned n)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_tls *tls = NULL;
    struct tls_peer c;
    uint8_t room[DX_TLS_RECORD];
    enum dx_shake is = DX_SHAKE_READS;
    int rc;

    asked = 0;
    fail_at = n;
    armed = true;
    rc = dx_tls_open(&tls, &p->files, p->now_s, &err);
    armed = false;
    CHECK(rc == DX_OK || (tls == NULL && err.text[0] != '\0'), "allocation %u: no words", n);
    if (rc < 0)
        return true;
    armed = true;
    rc = dx_tls_poll(tls, true, p->now_s, &err);
    armed = false;
    CHECK(rc == 1 || err.text[0] != '\0', "allocation %u: no words", n);
    CHECK(rc == 1 || dx_tls_poll(tls, false, p->now_s, &err) == 0,
          "allocation %u: not loaded again: %s", n, err.text);
    tls_peer_open(&c, tls, &(struct tls_want){ .version = 0 });
    for (int turn = 0; turn < 20 && (is == DX_SHAKE_READS || is == DX_SHAKE_WRITES); turn++) {
        (void)SSL_do_handshake(c.ssl);
        armed = true;
        is = dx_tls_link_shake(c.link);
        armed = false;
    }
    (void)SSL_do_handshake(c.ssl);
    CHECK(is == DX_SHAKE_DONE || is == DX_SHAKE_FAILED, "allocation %u: %d", n, (int)is);
    if (is == DX_SHAKE_DONE) {
        ssize_t got;
        ssize_t put;

        CHECK(SSL_write(c.ssl, "GET /", 5) == 5, "request");
        armed = true;
        got = dx_tls_link_read(c.link, room, sizeof room);
        put = dx_tls_link_write(c.link, dx_span_str("head"), dx_span_str("body"));
        armed = false;
        CHECK(got == 5 || got == -1, "allocation %u: %zd bytes", n, got);
        CHECK(put <= 0 ||
                  (SSL_read(c.ssl, room, sizeof room) == 8 && memcmp(room, "headbody", 8) == 0),
              "allocation %u: %zd bytes went out, and others came", n, put);
    }
    tls_peer_close(&c);
    dx_tls_close(&tls);
    return asked >= n;
}

int main(void)
{
    struct place p = { .base = "/tmp/test_tls_no_memory.XXXXXX", .now_s = (int64_t)time(NULL) };
    unsigned step = getenv("DX_WHOLE") != NULL ? 1 : 131;
    struct tls_pair pair;
    unsigned n;

    if (CRYPTO_set_mem_functions(own_malloc, own_realloc, own_free) != 1 || mkdtemp(p.base) == NULL)
        abort();
    (void)snprintf(p.certificate, sizeof p.certificate, "%s/cert.pem", p.base);
    (void)snprintf(p.key, sizeof p.key, "%s/key.pem", p.base);
    p.files = (struct dx_tls_files){ .certificate = p.certificate, .key = p.key };
    pair = tls_pair_new(1, p.now_s + 86400);
    tls_pair_write(&pair, p.certificate, p.key);
    tls_pair_free(&pair);
    failures += (int)fail_alloc_each("TLS", 0, open_and_poll, &p);
    CHECK(!serve(&p, 0x7fffffff), "without a failure");
    for (n = 1; serve(&p, n); n += step)
        ;
    CHECK(n > 3000, "%u allocations of libssl", n);
    printf("allocations of libssl on the server's side: about %u\n", n);
    (void)dx_dir_remove(p.base, NULL);
    return failures > 0;
}
