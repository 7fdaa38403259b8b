/* SPDX-License-Identifier: Apache-2.0
 * TLS of the server against a client of libssl in the same thread: handshakes, names, protocols, cut records, certificates exchanged. */
#include "server/tls/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/fail.h"
#include "tests/support/tls_peer.h"

static int failures;

struct place {
    char base[48];
    char certificate[80], key[80];
    struct dx_tls_files files;
    int64_t now_s;
};

static void put(const struct place *p, long serial, int64_t days)
{
    struct tls_pair pair = tls_pair_new(serial, p->now_s + days * 86400);

    tls_pair_write(&pair, p->certificate, p->key);
    tls_pair_free(&pair);
}

static struct dx_tls *open_tls(const struct place *p)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_tls *tls = NULL;

    CHECK(dx_tls_open(&tls, &p->files, p->now_s, &err) == DX_OK, "%s", err.text);
    if (tls == NULL)
        exit(1);
    return tls;
}

/* ---- handshakes ---- */

static void handshakes(struct dx_tls *tls)
{
    static char long_name[255]; /* libssl takes no longer one */
    const struct {
        struct tls_want want;
        enum dx_shake is;
    } rows[] = {
        { { .version = 0 }, DX_SHAKE_DONE },
        { { .version = TLS1_2_VERSION }, DX_SHAKE_DONE },
        { { .version = TLS1_3_VERSION, .alpn = "\x08http/1.1" }, DX_SHAKE_DONE },
        { { .alpn = "\x02h2\x08http/1.1" }, DX_SHAKE_DONE },
        { { .alpn = "\x02h2" }, DX_SHAKE_FAILED },
        { { .version = TLS1_2_VERSION, .alpn = "\x02h2" }, DX_SHAKE_FAILED },
        { { .alpn = "\x01\xff" }, DX_SHAKE_FAILED },
        /* There is one certificate, for whatever name. */
        { { .name = "localhost" }, DX_SHAKE_DONE },
        { { .name = "another.example" }, DX_SHAKE_DONE },
        { { .name = "a..b" }, DX_SHAKE_DONE },
        { { .name = "\x01\xff" }, DX_SHAKE_DONE },
        { { .name = long_name }, DX_SHAKE_DONE },
    };

    memset(long_name, 'x', sizeof long_name - 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tls_peer c;
        enum dx_shake is;

        tls_peer_open(&c, tls, &rows[i].want);
        is = tls_peer_shake(&c);
        CHECK(is == rows[i].is, "row %zu: %d", i, (int)is);
        CHECK(is != DX_SHAKE_DONE || SSL_is_init_finished(c.ssl), "row %zu: the client's end", i);
        CHECK(is != DX_SHAKE_DONE || tls_peer_serial(&c) == 1, "row %zu: certificate", i);
        tls_peer_close(&c);
    }
}

/* Bytes in place of a hello; then the client's end. */
static void no_hello(struct dx_tls *tls)
{
    static const struct {
        const char *bytes;
        size_t size;
        enum dx_shake is, at_end;
    } rows[] = {
        { "", 0, DX_SHAKE_READS, DX_SHAKE_FAILED },
        { "GET / HTTP/1.1\r\n\r\n", 18, DX_SHAKE_HTTP, DX_SHAKE_HTTP },
        { "\x16\x03\x01\xff\xff", 5, DX_SHAKE_FAILED,
          DX_SHAKE_FAILED }, /* a record of 65,535 bytes */
        { "\x16\x03\x01\x00\x00", 5, DX_SHAKE_READS, DX_SHAKE_FAILED },   /* of none */
        { "\x17\x03\x03\x00\x01x", 6, DX_SHAKE_FAILED, DX_SHAKE_FAILED }, /* data first */
        { "\x15\x03\x01\x00\x02\x02\x28", 7, DX_SHAKE_FAILED,
          DX_SHAKE_FAILED }, /* an alert first */
        { "\0\0\0\0\0\0\0\0", 8, DX_SHAKE_FAILED, DX_SHAKE_FAILED },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tls_peer c;
        enum dx_shake is;

        tls_peer_open(&c, tls, &(struct tls_want){ .version = 0 });
        CHECK(rows[i].size == 0 || write(c.client_fd, rows[i].bytes, rows[i].size) > 0, "row %zu",
              i);
        is = dx_tls_link_shake(c.link);
        CHECK(is == rows[i].is, "row %zu: %d", i, (int)is);
        (void)shutdown(c.client_fd, SHUT_WR);
        if (is == DX_SHAKE_READS)
            CHECK(dx_tls_link_shake(c.link) == rows[i].at_end, "row %zu: at the end", i);
        dx_tls_link_end(c.link); /* of one that never stood: nothing */
        tls_peer_close(&c);
    }
}

/* A hello that ends after each of its bytes. */
static void cut_hello(struct dx_tls *tls)
{
    uint8_t hello[4096];
    struct tls_peer c;
    ssize_t size;

    tls_peer_open(&c, tls, &(struct tls_want){ .alpn = "\x08http/1.1", .name = "localhost" });
    (void)SSL_do_handshake(c.ssl);
    size = recv(c.server_fd, hello, sizeof hello, 0);
    tls_peer_close(&c);
    CHECK(size > 100, "%zd bytes of hello", size);
    for (ssize_t cut = 1; cut < size; cut++) {
        enum dx_shake is;

        tls_peer_open(&c, tls, &(struct tls_want){ .version = 0 });
        CHECK(write(c.client_fd, hello, (size_t)cut) == cut, "write");
        is = dx_tls_link_shake(c.link);
        CHECK(is == DX_SHAKE_READS, "cut at %zd: %d", cut, (int)is);
        (void)shutdown(c.client_fd, SHUT_WR);
        is = dx_tls_link_shake(c.link);
        CHECK(is == DX_SHAKE_FAILED, "cut at %zd, ended: %d", cut, (int)is);
        tls_peer_close(&c);
    }
}

/* ---- bytes ---- */

static void bytes_both_ways(struct dx_tls *tls)
{
    static uint8_t big[200000], got[200000];
    const struct dx_span head = dx_span_str("HTTP/1.1 200 OK\r\n\r\n");
    struct tls_peer c;
    uint8_t room[DX_TLS_RECORD];
    size_t sent = 0;
    size_t have = 0;

    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (uint8_t)(i * 31 >> 3);
    tls_peer_open(&c, tls, &(struct tls_want){ .version = TLS1_3_VERSION });
    CHECK(tls_peer_shake(&c) == DX_SHAKE_DONE, "handshake");
    CHECK(!dx_tls_link_resumed(c.link), "resumed");
    CHECK(dx_tls_link_read(c.link, room, sizeof room) == -1 && errno == EAGAIN, "nothing is there");
    CHECK(SSL_write(c.ssl, "GET /", 5) == 5, "request");
    CHECK(dx_tls_link_read(c.link, room, sizeof room) == 5 && memcmp(room, "GET /", 5) == 0,
          "read");
    while (have < head.size + sizeof big) {
        size_t of_head = sent < head.size ? head.size - sent : 0;
        size_t of_body = sent < head.size ? 0 : sent - head.size;
        ssize_t n = dx_tls_link_write(c.link, dx_span_of(head.data + head.size - of_head, of_head),
                                      dx_span_of(big + of_body, sizeof big - of_body));
        int m;

        CHECK(n >= 0 || errno == EAGAIN, "write");
        sent += n > 0 ? (size_t)n : 0;
        while ((m = SSL_read(c.ssl, got, sizeof got)) > 0) {
            for (int i = 0; i < m; i++, have++)
                CHECK(got[i] == (have < head.size ? head.data[have] : big[have - head.size]),
                      "byte %zu", have);
        }
        if (n <= 0 && m <= 0 && sent == head.size + sizeof big)
            break;
    }
    CHECK(have == head.size + sizeof big, "%zu bytes", have);
    dx_tls_link_end(c.link);
    CHECK(SSL_read(c.ssl, got, 1) <= 0 && SSL_get_shutdown(c.ssl) == SSL_RECEIVED_SHUTDOWN,
          "close_notify");
    (void)SSL_shutdown(c.ssl);
    CHECK(dx_tls_link_read(c.link, room, sizeof room) == 0, "the client's close_notify");
    tls_peer_close(&c);
}

/* A record that is cut, or whose bytes were changed, and an end without close_notify: never data. */
static void cut_data(struct dx_tls *tls)
{
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (int cut = 0; cut <= 40; cut += 4) {
            struct tls_peer c;
            uint8_t record[256], room[DX_TLS_RECORD];
            BIO *memory = BIO_new(BIO_s_mem());
            BIO *usual;
            int size;

            tls_peer_open(&c, tls, &(struct tls_want){ .version = version });
            CHECK(tls_peer_shake(&c) == DX_SHAKE_DONE, "handshake");
            usual = SSL_get_wbio(c.ssl);
            BIO_up_ref(usual);
            SSL_set0_wbio(c.ssl, memory);
            CHECK(SSL_write(c.ssl, "0123456789", 10) == 10, "record");
            size = BIO_read(memory, record, sizeof record);
            SSL_set0_wbio(c.ssl, usual);
            if (cut == 40)
                record[size - 1] ^= 1;
            CHECK(send(c.client_fd, record, (size_t)(cut < size && cut < 40 ? cut : size), 0) >= 0,
                  "send");
            (void)shutdown(c.client_fd, SHUT_WR);
            if (cut < 40 && cut >= size) /* a whole one after all */
                CHECK(dx_tls_link_read(c.link, room, sizeof room) == 10, "cut %d of %d", cut, size);
            CHECK(dx_tls_link_read(c.link, room, sizeof room) == -1 && errno == ECONNRESET,
                  "version %x, %d of %d bytes", (unsigned)version, cut, size);
            dx_tls_link_end(c.link); /* broken: nothing */
            tls_peer_close(&c);
        }
}

static void renegotiation(struct dx_tls *tls)
{
    struct tls_peer c;
    uint8_t room[DX_TLS_RECORD];
    char reply[8];

    tls_peer_open(&c, tls, &(struct tls_want){ .version = TLS1_2_VERSION });
    CHECK(tls_peer_shake(&c) == DX_SHAKE_DONE, "handshake");
    CHECK(SSL_renegotiate(c.ssl) == 1, "renegotiate");
    (void)SSL_do_handshake(c.ssl);
    CHECK(dx_tls_link_read(c.link, room, sizeof room) == -1, "a renegotiation is no data");
    CHECK(SSL_do_handshake(c.ssl) != 1 || SSL_read(c.ssl, reply, sizeof reply) <= 0,
          "it is refused");
    CHECK(!SSL_is_init_finished(c.ssl) || ERR_peek_error() != 0, "and not done");
    tls_peer_close(&c);
}

/* ---- certificates exchanged ---- */

static long shown(struct dx_tls *tls)
{
    struct tls_peer c;
    long serial = -1;

    tls_peer_open(&c, tls, &(struct tls_want){ .version = 0 });
    if (tls_peer_shake(&c) == DX_SHAKE_DONE)
        serial = tls_peer_serial(&c);
    tls_peer_close(&c);
    return serial;
}

static void refused(struct dx_tls *tls, const struct place *p, const char *words)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_tls_health health;

    CHECK(dx_tls_poll(tls, true, p->now_s, &err) < 0 && strstr(err.text, words) != NULL,
          "'%s', not '%s'", words, err.text);
    dx_tls_health(tls, &health);
    CHECK(!health.sound, "%s: said to be sound", words);
    CHECK(shown(tls) == 1, "%s: certificate %ld is shown", words, shown(tls));
}

static void cut_file(const char *path, off_t size)
{
    CHECK(truncate(path, size) == 0, "%s", path);
}

static off_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : 0;
}

static void exchanges(const struct place *p)
{
    struct dx_tls *tls = open_tls(p);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_tls_health health;
    struct tls_pair other = tls_pair_new(9, p->now_s + 86400);
    struct tls_peer before;
    char unused[96];
    uint8_t room[DX_TLS_RECORD];

    tls_peer_open(&before, tls, &(struct tls_want){ .version = 0 });
    CHECK(tls_peer_shake(&before) == DX_SHAKE_DONE, "handshake");
    CHECK(dx_tls_poll(tls, false, p->now_s, &err) == 0, "nothing has changed");
    (void)snprintf(unused, sizeof unused, "%s/unused", p->base);

    tls_pair_write(&other, unused, p->key); /* the key of another one */
    refused(tls, p, "not the key");
    put(p, 2, 30);
    tls_pair_write(&other, p->certificate, unused);
    refused(tls, p, "not the key");
    for (off_t size = size_of(p->certificate) - 30; size > 0; size -= 97) {
        put(p, 2, 30);
        cut_file(p->certificate, size);
        refused(tls, p, p->certificate);
    }
    for (off_t size = size_of(p->key) - 30; size > 0; size -= 61) {
        put(p, 2, 30);
        cut_file(p->key, size);
        refused(tls, p, p->key);
    }
    put(p, 2, 30);
    cut_file(p->certificate, 0);
    refused(tls, p, "no certificate in PEM");
    CHECK(unlink(p->certificate) == 0, "unlink");
    refused(tls, p, "No such file");
    put(p, 2, -1);
    refused(tls, p, "has expired");

    put(p, 3, 30);
    CHECK(dx_tls_poll(tls, false, p->now_s, &err) == 1, "a sound one: %s", err.text);
    dx_tls_health(tls, &health);
    CHECK(health.sound && shown(tls) == 3, "it is shown");
    CHECK(SSL_write(before.ssl, "x", 1) == 1 &&
              dx_tls_link_read(before.link, room, sizeof room) == 1,
          "a connection from before");
    dx_tls_close(&tls);
    CHECK(SSL_write(before.ssl, "y", 1) == 1 &&
              dx_tls_link_read(before.link, room, sizeof room) == 1,
          "a connection outlives the context");
    tls_peer_close(&before);
    tls_pair_free(&other);
    (void)unlink(unused);
}

int main(void)
{
    struct place p = { .base = "/tmp/test_tls.XXXXXX", .now_s = (int64_t)time(NULL) };
    struct dx_tls *tls;

    (void)signal(SIGPIPE, SIG_IGN); /* as the server does */
    if (mkdtemp(p.base) == NULL)
        abort();
    (void)snprintf(p.certificate, sizeof p.certificate, "%s/cert.pem", p.base);
    (void)snprintf(p.key, sizeof p.key, "%s/key.pem", p.base);
    p.files = (struct dx_tls_files){ .certificate = p.certificate, .key = p.key };
    dx_tls_begin();
    put(&p, 1, 30);
    tls = open_tls(&p);
    handshakes(tls);
    no_hello(tls);
    cut_hello(tls);
    bytes_both_ways(tls);
    cut_data(tls);
    renegotiation(tls);
    dx_tls_close(&tls);
    exchanges(&p);
    (void)dx_dir_remove(p.base, NULL);
    return failures > 0;
}
