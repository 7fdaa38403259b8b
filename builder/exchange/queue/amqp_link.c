/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/queue/amqp_link.h"

#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"

#define HEARTBEAT_S 20 /* a broker may want a shorter one */
#define CONNECT_S 10
#define FAREWELL_MS 2000
#define CA_DEFAULT "/etc/ssl/certs/ca-certificates.crt"

int dx_amqp_lost(struct dx_amqp *a, int status, const char *what, struct dx_error *err)
{
    return dx_fail(err, DX_E_IO, "%s: %s: %s", a->shown, what, amqp_error_string2(status));
}

/* What the broker says may name the user, in quotes; and it may be anything. */
static void without_user(const struct dx_amqp *a, amqp_bytes_t said, char *out, size_t size)
{
    const char *text = said.bytes;
    const size_t user = strlen(a->user);
    size_t n = 0;

    for (size_t i = 0; i < said.len && n + 1 < size; i++) {
        out[n++] = (uint8_t)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
        if (user > 0 && (text[i] == '\'' || text[i] == '"') && said.len - i > user + 1 &&
            memcmp(text + i + 1, a->user, user) == 0 && text[i + 1 + user] == text[i])
            i += user;
    }
    out[n] = '\0';
}

/* The broker closes the channel or the connection, and says why. */
static int fail_closed(struct dx_amqp *a, const amqp_method_t *m, const char *what,
                       struct dx_error *err)
{
    amqp_bytes_t text = amqp_cstring_bytes("");
    int code = 0;
    enum dx_code as = DX_E_IO;
    char said[256];

    if (m->id == AMQP_CHANNEL_CLOSE_METHOD) {
        const amqp_channel_close_t *c = m->decoded;

        text = c->reply_text;
        code = c->reply_code;
    } else if (m->id == AMQP_CONNECTION_CLOSE_METHOD) {
        const amqp_connection_close_t *c = m->decoded;

        text = c->reply_text;
        code = c->reply_code;
    }
    without_user(a, text, said, sizeof said);
    if (code == AMQP_ACCESS_REFUSED || code == AMQP_NOT_ALLOWED)
        as = strstr(said, "exclusive use") != NULL ? DX_E_BUSY : DX_E_DENIED;
    else if (code == AMQP_NOT_FOUND)
        as = DX_E_NOT_FOUND;
    else if (code == AMQP_PRECONDITION_FAILED && strstr(said, "message size") != NULL)
        as = DX_E_LIMIT;
    return dx_fail(err, as, "%s: %s: the broker says %d %s", a->shown, what, code, said);
}

static int replied(struct dx_amqp *a, amqp_rpc_reply_t r, const char *what, struct dx_error *err)
{
    if (r.reply_type == AMQP_RESPONSE_NORMAL)
        return DX_OK;
    if (r.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION)
        return fail_closed(a, &r.reply, what, err);
    return dx_amqp_lost(a, r.library_error, what, err);
}

static int use_tls(struct dx_amqp *a, amqp_socket_t *socket, struct dx_error *err)
{
    const char *given = getenv("DOMAINDEX_AMQP_CA");
    const char *ca = given != NULL && given[0] != '\0' ? given : CA_DEFAULT;

    amqp_ssl_socket_set_verify_peer(socket, 1);
    amqp_ssl_socket_set_verify_hostname(socket, 1);
    if (amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST) != AMQP_STATUS_OK)
        return dx_fail(err, DX_E_INVALID, "%s: TLS 1.2 cannot be had here", a->shown);
    if (amqp_ssl_socket_set_cacert(socket, ca) != AMQP_STATUS_OK)
        return dx_fail(err, DX_E_INVALID, "%s: no certificates can be read from %s", a->shown, ca);
    return DX_OK;
}

/* A broker that is gone without a word is found by heartbeats when reading; when writing, and where
 * the broker wants no heartbeats, by the kernel. What cannot be set is as the system has it. */
static void bound_silence(struct dx_amqp *a)
{
    const int fd = amqp_get_sockfd(a->state);
    const int on = 1;
    const int idle_s = HEARTBEAT_S;
    const int seconds = amqp_get_heartbeat(a->state) > 0 ? amqp_get_heartbeat(a->state)
                                                         : HEARTBEAT_S;
    const unsigned unread_ms = 2000u * (unsigned)seconds;

    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unread_ms, sizeof unread_ms);
}

/* Trying again mends no certificate. */
static int refused(struct dx_amqp *a, int status, struct dx_error *err)
{
    const bool is_theirs = status == AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED ||
                           status == AMQP_STATUS_SSL_PEER_VERIFY_FAILED;

    (void)dx_amqp_lost(a, status, "cannot connect", err);
    return is_theirs ? DX_E_DENIED : DX_E_IO;
}

static int connect_to(struct dx_amqp *a, const struct dx_amqp_url *url, struct dx_error *err)
{
    const struct timeval patience = { CONNECT_S, 0 };
    const struct timeval call = { DX_AMQP_CALL_MS / 1000, 0 };
    amqp_socket_t *socket = url->tls ? amqp_ssl_socket_new(a->state)
                                     : amqp_tcp_socket_new(a->state);
    int rc;
    int status;

    if (socket == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: no socket could be made", a->shown);
    rc = url->tls ? use_tls(a, socket, err) : DX_OK;
    if (rc < 0)
        return rc;
    (void)amqp_set_rpc_timeout(a->state, &call);
    status = amqp_socket_open_noblock(socket, url->host, url->port, &patience);
    return status == AMQP_STATUS_OK ? DX_OK : refused(a, status, err);
}

static amqp_table_entry_t capability(const char *name)
{
    return (amqp_table_entry_t){ .key = amqp_cstring_bytes(name),
                                 .value = { .kind = AMQP_FIELD_KIND_BOOLEAN,
                                            .value = { .boolean = 1 } } };
}

static int log_in(struct dx_amqp *a, const struct dx_amqp_url *url, struct dx_error *err)
{
    /* Without them it is silent about a queue that is taken away, and about taking no messages. */
    amqp_table_entry_t able[] = { capability("consumer_cancel_notify"),
                                  capability("connection.blocked") };
    amqp_table_entry_t entry = { .key = amqp_cstring_bytes("capabilities"),
                                 .value = { .kind = AMQP_FIELD_KIND_TABLE,
                                            .value = { .table = { 2, able } } } };
    const amqp_table_t properties = { 1, &entry };
    amqp_rpc_reply_t r = amqp_login_with_properties(
        a->state, url->vhost, DX_AMQP_CHANNEL, DX_AMQP_FRAME_MAX, HEARTBEAT_S, &properties,
        AMQP_SASL_METHOD_PLAIN, url->user, url->password);

    /* A broker that refuses a user may also just close. */
    if (r.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION &&
        r.library_error == AMQP_STATUS_CONNECTION_CLOSED)
        return dx_fail(err, DX_E_IO, "%s: the broker closed during login", a->shown);
    a->is_open = r.reply_type == AMQP_RESPONSE_NORMAL;
    return replied(a, r, "login", err);
}

int dx_amqp_channel_open(struct dx_amqp *a, struct dx_error *err)
{
    amqp_channel_open_t arguments = { .out_of_band = amqp_empty_bytes };
    const struct dx_amqp_call call = { AMQP_CHANNEL_OPEN_METHOD, &arguments,
                                       AMQP_CHANNEL_OPEN_OK_METHOD, "opening a channel" };

    return dx_amqp_call(a, &call, err);
}

int dx_amqp_link_open(struct dx_amqp *a, const struct dx_amqp_url *url, struct dx_error *err)
{
    int rc;

    a->state = amqp_new_connection();
    if (a->state == NULL)
        return dx_no_memory(err, "amqp");
    rc = connect_to(a, url, err);
    if (rc == DX_OK)
        rc = log_in(a, url, err);
    if (rc < 0)
        return rc;
    bound_silence(a);
    return dx_amqp_channel_open(a, err);
}

static void say_farewell(struct dx_amqp *a)
{
    amqp_connection_close_t close = { .reply_code = AMQP_REPLY_SUCCESS,
                                      .reply_text = amqp_cstring_bytes("OK") };
    uint64_t until = dx_clock_ms() + FAREWELL_MS;
    amqp_frame_t f;

    if (amqp_send_method(a->state, 0, AMQP_CONNECTION_CLOSE_METHOD, &close) != AMQP_STATUS_OK)
        return;
    while (dx_clock_ms() < until && dx_amqp_frame_any(a, until, &f, NULL) > 0 &&
           !dx_amqp_is_method(&f, AMQP_CONNECTION_CLOSE_OK_METHOD))
        ;
}

void dx_amqp_link_close(struct dx_amqp *a)
{
    dx_amqp_beat_end(a);
    if (a->is_open)
        say_farewell(a);
    if (a->state != NULL)
        (void)amqp_destroy_connection(a->state);
    a->state = NULL;
    a->is_open = false;
}

/* ---- frames ---- */

bool dx_amqp_is_method(const amqp_frame_t *f, amqp_method_number_t id)
{
    return f->frame_type == AMQP_FRAME_METHOD && f->payload.method.id == id;
}

static void note_blocked(struct dx_amqp *a, const amqp_frame_t *f)
{
    if (dx_amqp_is_method(f, AMQP_CONNECTION_UNBLOCKED_METHOD))
        a->blocked[0] = '\0';
    if (dx_amqp_is_method(f, AMQP_CONNECTION_BLOCKED_METHOD)) {
        const amqp_connection_blocked_t *b = f->payload.method.decoded;
        const size_t n = b->reason.len < 40 ? b->reason.len : 40;

        (void)snprintf(a->blocked, sizeof a->blocked, "it is blocked: %.*s", (int)n,
                       (const char *)b->reason.bytes);
    }
}

int dx_amqp_frame_any(struct dx_amqp *a, uint64_t until_ms, amqp_frame_t *f, struct dx_error *err)
{
    uint64_t now = dx_clock_ms();
    uint64_t left = until_ms > now ? until_ms - now : 0;
    struct timeval patience = { (time_t)(left / 1000), (suseconds_t)(left % 1000 * 1000) };
    const char *what = a->what == NULL ? "reading" : a->what;
    int status;

    amqp_maybe_release_buffers(a->state);
    status = amqp_simple_wait_frame_noblock(a->state, f, &patience);

    if (status == AMQP_STATUS_TIMEOUT)
        return 0;
    if (status != AMQP_STATUS_OK) {
        a->is_open = false; /* no farewell over what is broken */
        return dx_amqp_lost(a, status, what, err);
    }
    if (dx_amqp_is_method(f, AMQP_CHANNEL_CLOSE_METHOD) ||
        dx_amqp_is_method(f, AMQP_CONNECTION_CLOSE_METHOD))
        return fail_closed(a, &f->payload.method, what, err);
    if (dx_amqp_is_method(f, AMQP_BASIC_CANCEL_METHOD))
        return dx_fail(err, DX_E_IO, "%s: the broker has taken the queue away", a->shown);
    note_blocked(a, f);
    return 1;
}

int dx_amqp_frame(struct dx_amqp *a, uint64_t until_ms, amqp_frame_t *f, struct dx_error *err)
{
    int rc;

    do
        rc = dx_amqp_frame_any(a, until_ms, f, err);
    while (rc > 0 && (dx_amqp_is_method(f, AMQP_CONNECTION_BLOCKED_METHOD) ||
                      dx_amqp_is_method(f, AMQP_CONNECTION_UNBLOCKED_METHOD)));
    return rc;
}

int dx_amqp_sent_method(struct dx_amqp *a, int status, struct dx_error *err)
{
    if (status == AMQP_STATUS_OK)
        return DX_OK;
    a->is_open = false;
    return dx_amqp_lost(a, status, "sending", err);
}

int dx_amqp_call(struct dx_amqp *a, const struct dx_amqp_call *call, struct dx_error *err)
{
    uint64_t until = dx_clock_ms() + DX_AMQP_CALL_MS;
    amqp_frame_t f;
    int status;
    int rc;

    assert(!a->is_beating); /* one thread writes */
    status = amqp_send_method(a->state, DX_AMQP_CHANNEL, call->id, call->arguments);
    rc = dx_amqp_sent_method(a, status, err);
    a->what = call->what;
    while (rc >= 0 && (rc = dx_amqp_frame(a, until, &f, err)) > 0) {
        if (dx_amqp_is_method(&f, call->reply))
            break;
        if (dx_clock_ms() >= until) /* whatever else comes */
            rc = 0;
    }
    a->what = NULL;
    if (rc == 0)
        rc = dx_fail(err, DX_E_IO, "%s: %s: the broker does not answer", a->shown, call->what);
    return rc < 0 ? rc : DX_OK;
}

/* ---- heartbeats while no call reads ---- */

uint64_t dx_amqp_beat_ms(const struct dx_amqp *a)
{
    const int seconds = amqp_get_heartbeat(a->state);

    return (uint64_t)(seconds > 0 ? seconds : HEARTBEAT_S) * 1000 / 3;
}

static void *send_beats(void *arg)
{
    struct dx_amqp *a = arg;
    const amqp_frame_t f = { .frame_type = AMQP_FRAME_HEARTBEAT, .channel = 0 };

    (void)pthread_mutex_lock(&a->lock);
    while (!a->beat_ends) {
        uint64_t until = dx_clock_ms() + dx_amqp_beat_ms(a);

        while (!a->beat_ends && dx_cond_wait_until(&a->changed, &a->lock, until))
            ;
        /* The next user of the connection finds that it cannot be sent. */
        if (!a->beat_ends)
            (void)amqp_send_frame(a->state, &f);
    }
    (void)pthread_mutex_unlock(&a->lock);
    return NULL;
}

int dx_amqp_beat_begin(struct dx_amqp *a, struct dx_error *err)
{
    int rc;

    assert(!a->is_beating);
    rc = pthread_create(&a->beat, NULL, send_beats, a);
    if (rc != 0)
        return dx_fail_errno(err, rc, "cannot start a thread");
    a->is_beating = true;
    return DX_OK;
}

void dx_amqp_beat_end(struct dx_amqp *a)
{
    if (!a->is_beating)
        return;
    (void)pthread_mutex_lock(&a->lock);
    a->beat_ends = true;
    (void)pthread_cond_broadcast(&a->changed);
    (void)pthread_mutex_unlock(&a->lock);
    (void)pthread_join(a->beat, NULL);
    a->is_beating = a->beat_ends = false;
}
