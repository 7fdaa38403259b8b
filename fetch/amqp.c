/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/amqp.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"

#define CHANNEL 1
#define FRAME_MAX 131072
#define HEARTBEAT_S 20
#define CONNECT_S 10
#define CALL_S 60 /* for what the broker must answer */
#define CONSUMER "domaindex"
#define CA_DEFAULT "/etc/ssl/certs/ca-certificates.crt"

struct dx_amqp {
    amqp_connection_state_t state;
    char shown[DX_AMQP_PART_MAX * 2];
    char queue[DX_AMQP_PART_MAX];
    bool is_open;      /* logged in */
    uint64_t last_tag; /* of what was delivered */
    struct dx_buf body;
    struct dx_buf properties; /* what the message's spans point into */

    pthread_t beat; /* while paused */
    bool is_beating;
    bool beat_ends;
    pthread_mutex_t lock; /* beat_ends */
    pthread_cond_t changed;

    uint64_t sent;
    uint64_t confirmed; /* the first ones, all of them */
    uint64_t beyond;    /* bit i: also number confirmed + 1 + i */
};

static amqp_bytes_t bytes_of(const char *text)
{
    return amqp_cstring_bytes(text);
}

static int lost(struct dx_amqp *a, int status, const char *what, struct dx_error *err)
{
    return dx_fail(err, DX_E_IO, "%s: %s: %s", a->shown, what, amqp_error_string2(status));
}

/* The broker closes the channel or the connection, and says why. */
static int closed(struct dx_amqp *a, const amqp_method_t *m, const char *what, struct dx_error *err)
{
    amqp_bytes_t text = bytes_of("");
    int code = 0;
    enum dx_code as = DX_E_IO;

    if (m->id == AMQP_CHANNEL_CLOSE_METHOD) {
        const amqp_channel_close_t *c = m->decoded;

        text = c->reply_text;
        code = c->reply_code;
    } else if (m->id == AMQP_CONNECTION_CLOSE_METHOD) {
        const amqp_connection_close_t *c = m->decoded;

        text = c->reply_text;
        code = c->reply_code;
    }
    (void)dx_fail(err, DX_E_IO, "%.*s", (int)text.len, (const char *)text.bytes);
    if (code == AMQP_ACCESS_REFUSED || code == AMQP_NOT_ALLOWED)
        as = err != NULL && strstr(err->text, "exclusive use") != NULL ? DX_E_BUSY : DX_E_DENIED;
    else if (code == AMQP_NOT_FOUND)
        as = DX_E_NOT_FOUND;
    else if (code == AMQP_PRECONDITION_FAILED && err != NULL &&
             strstr(err->text, "message size") != NULL)
        as = DX_E_LIMIT;
    return dx_fail(err, as, "%s: %s: the broker says %d %.*s", a->shown, what, code, (int)text.len,
                   (const char *)text.bytes);
}

static int replied(struct dx_amqp *a, amqp_rpc_reply_t r, const char *what, struct dx_error *err)
{
    if (r.reply_type == AMQP_RESPONSE_NORMAL)
        return DX_OK;
    if (r.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION)
        return closed(a, &r.reply, what, err);
    return lost(a, r.library_error, what, err);
}

static int connect_to(struct dx_amqp *a, const struct dx_amqp_url *url, struct dx_error *err)
{
    const struct timeval patience = { CONNECT_S, 0 };
    const struct timeval call = { CALL_S, 0 };
    const char *ca = getenv("DOMAINDEX_AMQP_CA");
    amqp_socket_t *socket = url->tls ? amqp_ssl_socket_new(a->state)
                                     : amqp_tcp_socket_new(a->state);
    int status;

    if (socket == NULL)
        return dx_fail(err, DX_E_NOMEM, "%s: no socket could be made", a->shown);
    if (url->tls) {
        amqp_ssl_socket_set_verify_peer(socket, 1);
        amqp_ssl_socket_set_verify_hostname(socket, 1);
        status = amqp_ssl_socket_set_cacert(socket, ca != NULL ? ca : CA_DEFAULT);
        if (status != AMQP_STATUS_OK)
            return dx_fail(err, DX_E_INVALID, "%s: no certificates can be read from %s", a->shown,
                           ca != NULL ? ca : CA_DEFAULT);
    }
    (void)amqp_set_rpc_timeout(a->state, &call);
    status = amqp_socket_open_noblock(socket, url->host, url->port, &patience);
    return status == AMQP_STATUS_OK ? DX_OK : lost(a, status, "cannot connect", err);
}

static int login(struct dx_amqp *a, const struct dx_amqp_url *url, struct dx_error *err)
{
    amqp_rpc_reply_t r = amqp_login(a->state, url->vhost, CHANNEL, FRAME_MAX, HEARTBEAT_S,
                                    AMQP_SASL_METHOD_PLAIN, url->user, url->password);

    /* A broker that refuses a user may also just close. */
    if (r.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION &&
        r.library_error == AMQP_STATUS_CONNECTION_CLOSED)
        return dx_fail(err, DX_E_IO, "%s: the broker closed during login", a->shown);
    a->is_open = r.reply_type == AMQP_RESPONSE_NORMAL;
    return replied(a, r, "login", err);
}

static int open_channel(struct dx_amqp *a, struct dx_error *err)
{
    (void)amqp_channel_open(a->state, CHANNEL);
    return replied(a, amqp_get_rpc_reply(a->state), "opening a channel", err);
}

/* There with whatever attributes, or made as a durable one. */
static int find_queue(struct dx_amqp *a, struct dx_error *err)
{
    int rc;

    (void)amqp_queue_declare(a->state, CHANNEL, bytes_of(a->queue), 1, 0, 0, 0, amqp_empty_table);
    rc = replied(a, amqp_get_rpc_reply(a->state), "looking for the queue", err);
    if (rc != DX_E_NOT_FOUND)
        return rc;
    amqp_maybe_release_buffers(a->state);
    {
        amqp_channel_close_ok_t ok = { 0 };
        int status = amqp_send_method(a->state, CHANNEL, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);

        if (status != AMQP_STATUS_OK)
            return lost(a, status, "looking for the queue", err);
    }
    rc = open_channel(a, err);
    if (rc < 0)
        return rc;
    (void)amqp_queue_declare(a->state, CHANNEL, bytes_of(a->queue), 0, 1, 0, 0, amqp_empty_table);
    return replied(a, amqp_get_rpc_reply(a->state), "making the queue", err);
}

int dx_amqp_open(struct dx_amqp **out, const struct dx_amqp_url *url, struct dx_error *err)
{
    struct dx_amqp *a = calloc(1, sizeof *a);
    int rc;

    *out = NULL;
    if (a == NULL)
        return dx_fail(err, DX_E_NOMEM, "amqp: out of memory");
    memcpy(a->shown, url->shown, sizeof a->shown);
    memcpy(a->queue, url->queue, sizeof a->queue);
    dx_buf_init(&a->properties, FRAME_MAX);
    (void)pthread_mutex_init(&a->lock, NULL);
    dx_cond_init(&a->changed);
    a->state = amqp_new_connection();
    if (a->state == NULL) {
        rc = dx_fail(err, DX_E_NOMEM, "amqp: out of memory");
        goto fail;
    }
    rc = connect_to(a, url, err);
    if (rc == DX_OK)
        rc = login(a, url, err);
    if (rc == DX_OK)
        rc = open_channel(a, err);
    if (rc == DX_OK)
        rc = find_queue(a, err);
    if (rc < 0)
        goto fail;
    *out = a;
    return DX_OK;
fail:
    dx_amqp_close(&a);
    return rc;
}

static void stop_beating(struct dx_amqp *a)
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

void dx_amqp_close(struct dx_amqp **handle)
{
    struct dx_amqp *a = *handle;
    const struct timeval brief = { 2, 0 };

    if (a == NULL)
        return;
    stop_beating(a);
    if (a->is_open) {
        (void)amqp_set_rpc_timeout(a->state, &brief);
        (void)amqp_connection_close(a->state, AMQP_REPLY_SUCCESS);
    }
    if (a->state != NULL)
        (void)amqp_destroy_connection(a->state);
    dx_buf_release(&a->body);
    dx_buf_release(&a->properties);
    (void)pthread_cond_destroy(&a->changed);
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
    *handle = NULL;
}

/* One frame: 1, or 0 when until_ms has come. Frames that end the connection are errors. */
static int frame(struct dx_amqp *a, uint64_t until_ms, amqp_frame_t *f, struct dx_error *err)
{
    uint64_t now = dx_clock_ms();
    uint64_t left = until_ms > now ? until_ms - now : 0;
    struct timeval patience = { (time_t)(left / 1000), (suseconds_t)(left % 1000 * 1000) };
    int status = amqp_simple_wait_frame_noblock(a->state, f, &patience);

    if (status == AMQP_STATUS_TIMEOUT)
        return 0;
    if (status != AMQP_STATUS_OK) {
        a->is_open = false;
        return lost(a, status, "reading", err);
    }
    if (f->frame_type == AMQP_FRAME_METHOD &&
        (f->payload.method.id == AMQP_CHANNEL_CLOSE_METHOD ||
         f->payload.method.id == AMQP_CONNECTION_CLOSE_METHOD))
        return closed(a, &f->payload.method, "reading", err);
    if (f->frame_type == AMQP_FRAME_METHOD && f->payload.method.id == AMQP_BASIC_CANCEL_METHOD)
        return dx_fail(err, DX_E_IO, "%s: the broker has taken the queue away", a->shown);
    return 1;
}

static int sent_method(struct dx_amqp *a, int status, struct dx_error *err)
{
    return status == AMQP_STATUS_OK ? DX_OK : lost(a, status, "sending", err);
}

int dx_amqp_consume(struct dx_amqp *a, unsigned prefetch, struct dx_error *err)
{
    int rc;

    (void)amqp_basic_qos(a->state, CHANNEL, 0, (uint16_t)prefetch, 0);
    rc = replied(a, amqp_get_rpc_reply(a->state), "setting the prefetch", err);
    if (rc < 0)
        return rc;
    (void)amqp_basic_consume(a->state, CHANNEL, bytes_of(a->queue), bytes_of(CONSUMER), 0, 0, 1,
                             amqp_empty_table);
    return replied(a, amqp_get_rpc_reply(a->state), "consuming", err);
}

/* Copies what the frames' memory holds: it goes with them. */
static struct dx_span kept(struct dx_amqp *a, amqp_bytes_t from)
{
    size_t at = a->properties.size;

    dx_buf_append(&a->properties, from.bytes, from.len);
    return a->properties.failed ? (struct dx_span){ NULL, 0 }
                                : dx_span_of(a->properties.data + at, from.len);
}

static void read_properties(struct dx_amqp *a, const amqp_basic_properties_t *p,
                            struct dx_amqp_message *m)
{
    dx_buf_clear(&a->properties);
    /* Room for all at once: the spans must not move. */
    if (dx_buf_reserve(&a->properties, FRAME_MAX) == NULL)
        return;
    if (p->_flags & AMQP_BASIC_MESSAGE_ID_FLAG)
        m->id = kept(a, p->message_id);
    if (!(p->_flags & AMQP_BASIC_HEADERS_FLAG))
        return;
    for (int i = 0; i < p->headers.num_entries; i++) {
        const amqp_table_entry_t *e = &p->headers.entries[i];
        struct dx_span key = dx_span_of(e->key.bytes, e->key.len);

        if (e->value.kind != AMQP_FIELD_KIND_UTF8 && e->value.kind != AMQP_FIELD_KIND_BYTES)
            continue;
        if (dx_span_equal(key, dx_span_str("dataset")))
            m->dataset = kept(a, e->value.value.bytes);
        else if (dx_span_equal(key, dx_span_str("sha256")))
            m->sum = kept(a, e->value.value.bytes);
    }
}

static int read_body(struct dx_amqp *a, size_t size_max, struct dx_amqp_message *m,
                     struct dx_error *err)
{
    uint64_t until = dx_clock_ms() + CALL_S * 1000;
    uint64_t got = 0;
    amqp_frame_t f;

    m->too_large = m->size > size_max;
    dx_buf_release(&a->body);
    dx_buf_init(&a->body, size_max);
    while (got < m->size) {
        int rc = frame(a, until, &f, err);

        if (rc == 0)
            rc = dx_fail(err, DX_E_IO, "%s: a message stops at byte %llu of %llu", a->shown,
                         (unsigned long long)got, (unsigned long long)m->size);
        if (rc > 0 &&
            (f.frame_type != AMQP_FRAME_BODY || f.payload.body_fragment.len > m->size - got))
            rc = dx_fail(err, DX_E_IO, "%s: a message is not what its header says", a->shown);
        if (rc < 0)
            return rc;
        got += f.payload.body_fragment.len;
        if (!m->too_large)
            dx_buf_append(&a->body, f.payload.body_fragment.bytes, f.payload.body_fragment.len);
        amqp_maybe_release_buffers(a->state);
    }
    if (a->body.failed)
        return dx_buf_fail(&a->body, err, "a message");
    m->bytes = dx_span_of(a->body.data, m->too_large ? 0 : a->body.size);
    return 1;
}

int dx_amqp_next(struct dx_amqp *a, size_t size_max, uint64_t timeout_ms, struct dx_amqp_message *m,
                 struct dx_error *err)
{
    uint64_t until = dx_clock_ms() + timeout_ms;
    const amqp_basic_deliver_t *d;
    amqp_frame_t f;
    int rc;

    *m = (struct dx_amqp_message){ .tag = 0 };
    amqp_maybe_release_buffers(a->state);
    do
        rc = frame(a, until, &f, err);
    while (rc > 0 && !(f.frame_type == AMQP_FRAME_METHOD &&
                       f.payload.method.id == AMQP_BASIC_DELIVER_METHOD));
    if (rc <= 0)
        return rc;
    d = f.payload.method.decoded;
    m->tag = a->last_tag = d->delivery_tag;
    m->redelivered = d->redelivered;
    rc = frame(a, dx_clock_ms() + CALL_S * 1000, &f, err);
    if (rc >= 0 && (rc == 0 || f.frame_type != AMQP_FRAME_HEADER))
        rc = dx_fail(err, DX_E_IO, "%s: a message without a header", a->shown);
    if (rc < 0)
        return rc;
    m->size = f.payload.properties.body_size;
    read_properties(a, f.payload.properties.decoded, m);
    return read_body(a, size_max, m, err);
}

int dx_amqp_ack(struct dx_amqp *a, uint64_t tag, struct dx_error *err)
{
    return sent_method(a, amqp_basic_ack(a->state, CHANNEL, tag, 0), err);
}

int dx_amqp_requeue(struct dx_amqp *a, struct dx_error *err)
{
    /* Tag 0 with `multiple`: all that are not acked, and none is no error as the last tag's would
     * be. */
    return sent_method(a, amqp_basic_nack(a->state, CHANNEL, 0, 1, 1), err);
}

static void *beat(void *arg)
{
    struct dx_amqp *a = arg;
    const amqp_frame_t f = { .frame_type = AMQP_FRAME_HEARTBEAT, .channel = 0 };

    (void)pthread_mutex_lock(&a->lock);
    while (!a->beat_ends) {
        uint64_t until = dx_clock_ms() + HEARTBEAT_S * 1000 / 3;

        while (!a->beat_ends && dx_cond_wait_until(&a->changed, &a->lock, until))
            ;
        /* That it cannot be sent is found by whoever uses the connection next. */
        if (!a->beat_ends)
            (void)amqp_send_frame(a->state, &f);
    }
    (void)pthread_mutex_unlock(&a->lock);
    return NULL;
}

int dx_amqp_pause(struct dx_amqp *a, struct dx_error *err)
{
    uint64_t until = dx_clock_ms() + CALL_S * 1000;
    amqp_basic_cancel_t cancel = { .consumer_tag = bytes_of(CONSUMER), .nowait = 0 };
    amqp_frame_t f;
    int rc = sent_method(a, amqp_send_method(a->state, CHANNEL, AMQP_BASIC_CANCEL_METHOD, &cancel),
                         err);

    /* What is on its way is dropped here and put back by resume or close. */
    while (rc >= 0) {
        amqp_maybe_release_buffers(a->state);
        rc = frame(a, until, &f, err);
        if (rc == 0)
            rc = dx_fail(err, DX_E_IO, "%s: the broker does not answer", a->shown);
        if (rc > 0 && f.frame_type == AMQP_FRAME_METHOD &&
            f.payload.method.id == AMQP_BASIC_CANCEL_OK_METHOD)
            break;
    }
    if (rc < 0)
        return rc;
    rc = pthread_create(&a->beat, NULL, beat, a);
    if (rc != 0)
        return dx_fail_errno(err, rc, "cannot start a thread");
    a->is_beating = true;
    return DX_OK;
}

int dx_amqp_resume(struct dx_amqp *a, unsigned prefetch, struct dx_error *err)
{
    int rc;

    stop_beating(a);
    rc = dx_amqp_requeue(a, err);
    return rc < 0 ? rc : dx_amqp_consume(a, prefetch, err);
}

int dx_amqp_begin_sending(struct dx_amqp *a, struct dx_error *err)
{
    (void)amqp_confirm_select(a->state, CHANNEL);
    return replied(a, amqp_get_rpc_reply(a->state), "asking for confirmations", err);
}

int dx_amqp_send(struct dx_amqp *a, const struct dx_amqp_properties *p, struct dx_span body,
                 struct dx_error *err)
{
    amqp_table_entry_t entries[2] = {
        { .key = bytes_of("dataset"),
          .value = { .kind = AMQP_FIELD_KIND_UTF8, .value = { .bytes = bytes_of(p->dataset) } } },
        { .key = bytes_of("sha256"),
          .value = { .kind = AMQP_FIELD_KIND_UTF8, .value = { .bytes = bytes_of(p->sum) } } },
    };
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                  AMQP_BASIC_HEADERS_FLAG,
        .headers = { 2, entries },
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
        .message_id = bytes_of(p->id),
    };
    union {
        const uint8_t *from;
        void *to;
    } plain = { .from = body.data }; /* the library does not write to it */
    const amqp_bytes_t bytes = { body.size, plain.to };
    int status = amqp_basic_publish(a->state, CHANNEL, amqp_empty_bytes, bytes_of(a->queue), 1, 0,
                                    &properties, bytes);

    a->sent += status == AMQP_STATUS_OK;
    return sent_method(a, status, err);
}

/* Confirmations may come out of order; only `multiple` speaks of those before. */
static void confirm(struct dx_amqp *a, uint64_t tag, bool multiple)
{
    if (tag <= a->confirmed || tag > a->sent)
        return;
    if (multiple) {
        uint64_t shift = tag - a->confirmed;

        a->beyond = shift < 64 ? a->beyond >> shift : 0;
        a->confirmed = tag;
    } else if (tag - a->confirmed <= 64) {
        a->beyond |= UINT64_C(1) << (tag - a->confirmed - 1);
    }
    while (a->beyond & 1) {
        a->beyond >>= 1;
        a->confirmed++;
    }
}

int dx_amqp_confirmed(struct dx_amqp *a, uint64_t count, uint64_t timeout_ms, struct dx_error *err)
{
    uint64_t until = dx_clock_ms() + timeout_ms;

    assert(count <= a->sent && a->sent - a->confirmed <= DX_AMQP_WINDOW);
    while (a->confirmed < count) {
        amqp_frame_t f;
        int rc;

        amqp_maybe_release_buffers(a->state);
        rc = frame(a, until, &f, err);
        if (rc <= 0)
            return rc;
        if (f.frame_type != AMQP_FRAME_METHOD)
            continue;
        if (f.payload.method.id == AMQP_BASIC_RETURN_METHOD)
            return dx_fail(err, DX_E_IO, "%s: the queue has gone, a message came back", a->shown);
        if (f.payload.method.id == AMQP_BASIC_NACK_METHOD)
            return dx_fail(err, DX_E_IO, "%s: the broker has refused a message", a->shown);
        if (f.payload.method.id == AMQP_BASIC_ACK_METHOD) {
            const amqp_basic_ack_t *ack = f.payload.method.decoded;

            confirm(a, ack->delivery_tag, ack->multiple);
        }
    }
    return 1;
}
