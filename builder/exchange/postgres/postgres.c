/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/postgres/postgres.h"

#include <assert.h>
#include <errno.h>
#include <libpq-fe.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/crypto/secret.h"
#include "builder/exchange/postgres/postgres_dsn.h"

#define LOOK_MS 250
#define CONNECT_MS 30000
#define PUT_BYTES (1u << 20)
#define WORDS_MAX 400

struct dx_postgres {
    PGconn *conn;
    PGresult *answer; /* of the last ask */
    bool (*stopped)(void);
    uint64_t reply_bytes; /* of the statement */
    char shown[300];
};

/* ---- words ---- */

static void one_line(const char *words, char out[WORDS_MAX])
{
    size_t n = 0;

    for (; *words != '\0' && n + 1 < WORDS_MAX; words++) {
        char c = (unsigned char)*words < ' ' ? ' ' : *words;

        if (c != ' ' || (n > 0 && out[n - 1] != ' '))
            out[n++] = c;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

static enum dx_code code_of(const PGresult *r)
{
    const char *state = r == NULL ? NULL : PQresultErrorField(r, PG_DIAG_SQLSTATE);

    if (state != NULL && (strcmp(state, "42501") == 0 || strncmp(state, "28", 2) == 0))
        return DX_E_DENIED;
    return state != NULL && strcmp(state, "42P07") == 0 ? DX_E_EXISTS : DX_E_IO;
}

/* What, why and what to do; not where in the statement, which no user typed. */
static void words_of(const PGresult *r, char out[WORDS_MAX])
{
    static const int fields[] = { PG_DIAG_MESSAGE_PRIMARY, PG_DIAG_MESSAGE_DETAIL,
                                  PG_DIAG_MESSAGE_HINT };
    char all[2 * WORDS_MAX] = "";
    size_t n = 0;

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *text = PQresultErrorField(r, fields[i]);

        if (text != NULL)
            n += (size_t)snprintf(all + n, sizeof all - n, "%s%.250s", n > 0 ? "; " : "", text);
    }
    one_line(n > 0 ? all : PQresultErrorMessage(r), out);
}

/* r: the result that says so, or NULL: what the connection says. */
static int refused(struct dx_postgres *p, const PGresult *r, struct dx_error *err)
{
    char words[WORDS_MAX];

    if (r == NULL)
        one_line(PQerrorMessage(p->conn), words);
    else
        words_of(r, words);
    return dx_fail(err, code_of(r), "PostgreSQL: %s",
                   words[0] == '\0' ? "the connection is gone" : words);
}

/* The server may have said why before it went: that is in a result. */
static int gone(struct dx_postgres *p, struct dx_error *err)
{
    PGresult *r = PQgetResult(p->conn);
    bool has_message = r != NULL && PQresultErrorMessage(r)[0] != '\0';
    int rc = refused(p, has_message ? r : NULL, err);

    PQclear(r);
    return rc;
}

/* ---- waiting ---- */

/* The library keeps rows, notifications and parameters until the statement ends, and a message
 * until it is whole. What lies ready before each of its reads is counted: enough for a bound. */
static int count_reply(struct dx_postgres *p, int fd, struct dx_error *err)
{
    int ready = 0;

    if (ioctl(fd, FIONREAD, &ready) == 0 && ready > 0)
        p->reply_bytes += (uint64_t)ready;
    return p->reply_bytes <= DX_POSTGRES_REPLY_MAX
               ? DX_OK
               : dx_fail(err, DX_E_LIMIT,
                         "PostgreSQL: a reply of over %u MiB: that is not what was asked for",
                         DX_POSTGRES_REPLY_MAX >> 20);
}

/* until_ms 0: however long it takes. */
static int wait_for(struct dx_postgres *p, short events, uint64_t until_ms, struct dx_error *err)
{
    for (;;) {
        struct pollfd fd = { .fd = PQsocket(p->conn), .events = events };
        int n;

        if (p->stopped != NULL && p->stopped())
            return dx_fail(err, DX_E_IO, "interrupted");
        if (fd.fd < 0)
            return gone(p, err);
        n = poll(&fd, 1, LOOK_MS);
        if (n > 0)
            return count_reply(p, fd.fd, err);
        if (n < 0 && errno != EINTR)
            return dx_fail_errno(err, errno, "PostgreSQL: poll");
        if (until_ms != 0 && dx_clock_ms() >= until_ms)
            return dx_fail(err, DX_E_TIMEOUT,
                           "PostgreSQL: %.100s does not answer in time (connect_timeout)",
                           PQhost(p->conn) == NULL ? "the server" : PQhost(p->conn));
    }
}

static int flush(struct dx_postgres *p, struct dx_error *err)
{
    int left;

    while ((left = PQflush(p->conn)) == 1) {
        int rc = wait_for(p, POLLIN | POLLOUT, 0, err);

        if (rc < 0)
            return rc;
        if (PQconsumeInput(p->conn) == 0)
            return gone(p, err);
    }
    return left < 0 ? gone(p, err) : DX_OK;
}

/* *r NULL: the statement has no more of them. */
static int next_result(struct dx_postgres *p, PGresult **r, struct dx_error *err)
{
    int rc = flush(p, err);

    while (rc == DX_OK && PQisBusy(p->conn)) {
        rc = wait_for(p, POLLIN, 0, err);
        if (rc == DX_OK && PQconsumeInput(p->conn) == 0)
            return gone(p, err);
    }
    *r = rc == DX_OK ? PQgetResult(p->conn) : NULL;
    return rc;
}

/* To the end of the statement, or to where the server waits for rows; the last good result stays in
 * answer. */
static int read_results(struct dx_postgres *p, struct dx_error *err)
{
    int answer = DX_OK;

    PQclear(p->answer);
    p->answer = NULL;
    for (;;) {
        PGresult *r;
        int rc = next_result(p, &r, err);
        ExecStatusType status;

        if (rc < 0 || r == NULL)
            return rc < 0 ? rc : answer;
        status = PQresultStatus(r);
        if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
            if (answer == DX_OK)
                answer = refused(p, r, err);
            PQclear(r);
            if (PQstatus(p->conn) != CONNECTION_OK)
                return answer;
            continue;
        }
        PQclear(p->answer);
        p->answer = r;
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH)
            return answer;
    }
}

/* ---- the session ---- */

static void no_notices(void *ctx, const PGresult *r)
{
    (void)ctx;
    (void)r;
}

static uint64_t patience(PGconn *conn)
{
    PQconninfoOption *options = PQconninfo(conn);
    uint64_t ms = CONNECT_MS;

    for (const PQconninfoOption *o = options; o != NULL && o->keyword != NULL; o++)
        if (strcmp(o->keyword, "connect_timeout") == 0 && o->val != NULL) {
            long s = strtol(o->val, NULL, 10);

            if (s > 0 && s < 86400)
                ms = (uint64_t)s * 1000;
        }
    PQconninfoFree(options);
    return ms;
}

static int connected(struct dx_postgres *p, struct dx_error *err)
{
    PostgresPollingStatusType want = PGRES_POLLING_WRITING;
    uint64_t until = dx_clock_ms() + patience(p->conn);

    while (PQstatus(p->conn) != CONNECTION_BAD &&
           (want == PGRES_POLLING_WRITING || want == PGRES_POLLING_READING)) {
        int rc = wait_for(p, want == PGRES_POLLING_READING ? POLLIN : POLLOUT, until, err);

        if (rc < 0)
            return rc;
        want = PQconnectPoll(p->conn);
    }
    return PQstatus(p->conn) == CONNECTION_OK ? DX_OK : refused(p, NULL, err);
}

static void name_it(struct dx_postgres *p)
{
    const char *host = PQhost(p->conn);
    const char *port = PQport(p->conn);

    (void)snprintf(p->shown, sizeof p->shown, "database '%.100s' at %.120s:%.10s", PQdb(p->conn),
                   host == NULL || host[0] == '\0' ? "its socket" : host, port == NULL ? "" : port);
}

int dx_postgres_open(struct dx_postgres **out, const char *dsn, bool (*stopped)(void),
                     struct dx_error *err)
{
    /* What the string says holds against what stands before it here. */
    static const char *const names[] = { "keepalives_idle",
                                         "keepalives_interval",
                                         "keepalives_count",
                                         "dbname",
                                         "client_encoding",
                                         "fallback_application_name",
                                         NULL };
    const char *const values[] = { "60", "10", "6", dsn, "UTF8", "domaindex", NULL };
    struct dx_postgres *p = NULL;
    int rc = dx_postgres_dsn_check(dsn, err);

    *out = NULL;
    if (rc < 0)
        return rc;
    p = calloc(1, sizeof *p);
    if (p == NULL)
        return dx_no_memory(err, "PostgreSQL");
    p->stopped = stopped;
    dx_secret_held(); /* libpq may find a password in a file */
    p->conn = PQconnectStartParams(names, values, 1);
    if (p->conn == NULL)
        rc = dx_no_memory(err, "PostgreSQL");
    if (rc == DX_OK)
        rc = connected(p, err);
    if (rc == DX_OK && PQsetnonblocking(p->conn, 1) != 0)
        rc = refused(p, NULL, err);
    if (rc == DX_OK) {
        name_it(p);
        (void)PQsetNoticeReceiver(p->conn, no_notices, NULL);
        rc = dx_postgres_run(p,
                             "SET statement_timeout = 0; SET lock_timeout = 0; "
                             "SET idle_in_transaction_session_timeout = 0",
                             err);
    }
    if (rc < 0)
        dx_postgres_close(&p);
    *out = p;
    return rc;
}

void dx_postgres_close(struct dx_postgres **p)
{
    if (*p == NULL)
        return;
    /* A backend that waits for a lock, or scans, does not see that its client went. */
    if ((*p)->conn != NULL && PQstatus((*p)->conn) == CONNECTION_OK &&
        PQtransactionStatus((*p)->conn) == PQTRANS_ACTIVE) {
        PGcancel *cancel = PQgetCancel((*p)->conn);
        char words[256];

        if (cancel != NULL)
            (void)PQcancel(cancel, words, sizeof words);
        PQfreeCancel(cancel);
    }
    PQclear((*p)->answer);
    PQfinish((*p)->conn);
    free(*p);
    *p = NULL;
}

const char *dx_postgres_shown(const struct dx_postgres *p)
{
    return p->shown;
}

/* ---- statements ---- */

int dx_postgres_run(struct dx_postgres *p, const char *sql, struct dx_error *err)
{
    p->reply_bytes = 0;
    if (PQsendQuery(p->conn, sql) == 0)
        return refused(p, NULL, err);
    return read_results(p, err);
}

int dx_postgres_ask(struct dx_postgres *p, const char *sql, const char *const *values,
                    unsigned count, struct dx_error *err)
{
    p->reply_bytes = 0;
    if (PQsendQueryParams(p->conn, sql, (int)count, NULL, values, NULL, NULL, 0) == 0)
        return refused(p, NULL, err);
    return read_results(p, err);
}

size_t dx_postgres_rows(const struct dx_postgres *p)
{
    return p->answer == NULL ? 0 : (size_t)PQntuples(p->answer);
}

const char *dx_postgres_cell(const struct dx_postgres *p, size_t row, unsigned column)
{
    if (row >= dx_postgres_rows(p) || (int)column >= PQnfields(p->answer) ||
        PQgetisnull(p->answer, (int)row, (int)column))
        return NULL;
    return PQgetvalue(p->answer, (int)row, (int)column);
}

static uint64_t changed_rows(const struct dx_postgres *p)
{
    return p->answer == NULL ? 0 : strtoull(PQcmdTuples(p->answer), NULL, 10);
}

/* ---- rows ---- */

int dx_postgres_copy(struct dx_postgres *p, const char *sql, struct dx_error *err)
{
    int rc = dx_postgres_run(p, sql, err);

    if (rc == DX_OK && PQresultStatus(p->answer) != PGRES_COPY_IN)
        rc = dx_fail(err, DX_E_IO, "PostgreSQL: no COPY began");
    return rc;
}

int dx_postgres_put(struct dx_postgres *p, struct dx_span bytes, struct dx_error *err)
{
    int rc = DX_OK;

    assert(PQresultStatus(p->answer) == PGRES_COPY_IN); /* dx_postgres_copy */
    while (rc == DX_OK && bytes.size > 0) {
        size_t n = bytes.size < PUT_BYTES ? bytes.size : PUT_BYTES;
        int put = PQputCopyData(p->conn, (const char *)bytes.data, (int)n);

        if (put < 0)
            return gone(p, err);
        if (put > 0)
            bytes = dx_span_from(bytes, n);
        rc = flush(p, err); /* nothing is left to libpq, whose buffer would grow */
    }
    return rc;
}

int dx_postgres_copied(struct dx_postgres *p, uint64_t *rows, struct dx_error *err)
{
    int rc = DX_OK;
    int put = 0;

    assert(PQresultStatus(p->answer) == PGRES_COPY_IN);
    while (rc == DX_OK && (put = PQputCopyEnd(p->conn, NULL)) == 0)
        rc = flush(p, err);
    if (rc == DX_OK && put < 0)
        return gone(p, err);
    if (rc == DX_OK)
        rc = read_results(p, err);
    *rows = rc == DX_OK ? changed_rows(p) : 0;
    return rc;
}
