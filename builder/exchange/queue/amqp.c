/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/queue/amqp.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdlib.h>

#include "base/clock.h"
#include "builder/exchange/queue/amqp_link.h"

#define CONSUMER "domaindex"

static amqp_bytes_t bytes_of(const char *text)
{
    return amqp_cstring_bytes(text);
}

static int declare(struct dx_amqp *a, bool passive, const char *what, struct dx_error *err)
{
    amqp_queue_declare_t arguments = { .queue = bytes_of(a->queue),
                                       .passive = passive,
                                       .durable = !passive,
                                       .arguments = amqp_empty_table };
    const struct dx_amqp_call call = { AMQP_QUEUE_DECLARE_METHOD, &arguments,
                                       AMQP_QUEUE_DECLARE_OK_METHOD, what };

    return dx_amqp_call(a, &call, err);
}

/* There with whatever attributes, or made as a durable one. */
static int find_queue(struct dx_amqp *a, bool *was_missing, struct dx_error *err)
{
    amqp_channel_close_ok_t ok = { 0 };
    int rc = declare(a, true, "looking for the queue", err);
    int status;

    if (rc != DX_E_NOT_FOUND)
        return rc;
    if (was_missing != NULL)
        *was_missing = true;
    status = amqp_send_method(a->state, DX_AMQP_CHANNEL, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
    if (status != AMQP_STATUS_OK)
        return dx_amqp_lost(a, status, "looking for the queue", err);
    rc = dx_amqp_channel_open(a, err);
    return rc < 0 ? rc : declare(a, false, "making the queue", err);
}

/* Logged in, with a channel; the queue is not looked for. */
static int open_link(struct dx_amqp **out, const struct dx_amqp_url *url, struct dx_error *err)
{
    struct dx_amqp *a = calloc(1, sizeof *a);

    *out = a;
    if (a == NULL)
        return dx_no_memory(err, "amqp");
    memcpy(a->shown, url->shown, sizeof a->shown);
    memcpy(a->queue, url->queue, sizeof a->queue);
    memcpy(a->user, url->user, sizeof a->user);
    dx_buf_init(&a->properties, DX_AMQP_FRAME_MAX);
    (void)pthread_mutex_init(&a->lock, NULL);
    dx_cond_init(&a->changed);
    return dx_amqp_link_open(a, url, err);
}

int dx_amqp_open(struct dx_amqp **out, const struct dx_amqp_url *url, bool *was_missing,
                 struct dx_error *err)
{
    int rc = open_link(out, url, err);

    if (rc == DX_OK)
        rc = find_queue(*out, was_missing, err);
    if (rc < 0)
        dx_amqp_close(out);
    return rc;
}

int dx_amqp_look(const struct dx_amqp_url *url, struct dx_error *err)
{
    struct dx_amqp *a;
    int rc = open_link(&a, url, err);

    if (rc == DX_OK)
        rc = declare(a, true, "looking for the queue", err);
    dx_amqp_close(&a);
    return rc == DX_E_NOT_FOUND ? 0 : rc < 0 ? rc : 1;
}

void dx_amqp_close(struct dx_amqp **handle)
{
    struct dx_amqp *a = *handle;

    if (a == NULL)
        return;
    dx_amqp_link_close(a);
    dx_buf_release(&a->body);
    dx_buf_release(&a->properties);
    (void)pthread_cond_destroy(&a->changed);
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
    *handle = NULL;
}

int dx_amqp_consume(struct dx_amqp *a, unsigned prefetch, struct dx_error *err)
{
    amqp_basic_qos_t qos = { .prefetch_count = (uint16_t)prefetch };
    amqp_basic_consume_t consume = { .queue = bytes_of(a->queue),
                                     .consumer_tag = bytes_of(CONSUMER),
                                     .exclusive = 1,
                                     .arguments = amqp_empty_table };
    const struct dx_amqp_call set = { AMQP_BASIC_QOS_METHOD, &qos, AMQP_BASIC_QOS_OK_METHOD,
                                      "setting the prefetch" };
    const struct dx_amqp_call begin = { AMQP_BASIC_CONSUME_METHOD, &consume,
                                        AMQP_BASIC_CONSUME_OK_METHOD, "consuming" };
    int rc = dx_amqp_call(a, &set, err);

    return rc < 0 ? rc : dx_amqp_call(a, &begin, err);
}

/* Copies what the frames' memory holds: it goes with them. */
static struct dx_span kept(struct dx_amqp *a, amqp_bytes_t from)
{
    size_t at = a->properties.size;

    dx_buf_append(&a->properties, from.bytes, from.len);
    return a->properties.failed ? (struct dx_span){ NULL, 0 }
                                : dx_span_of(a->properties.data + at, from.len);
}

static int read_properties(struct dx_amqp *a, const amqp_basic_properties_t *p,
                           struct dx_amqp_message *m, struct dx_error *err)
{
    const int headers = p->_flags & AMQP_BASIC_HEADERS_FLAG ? p->headers.num_entries : 0;

    dx_buf_clear(&a->properties);
    /* Room for all at once: the spans must not move. */
    if (dx_buf_reserve(&a->properties, DX_AMQP_FRAME_MAX) == NULL)
        return dx_buf_fail(&a->properties, err, "properties of a message");
    if (p->_flags & AMQP_BASIC_MESSAGE_ID_FLAG)
        m->id = kept(a, p->message_id);
    for (int i = 0; i < headers; i++) {
        const amqp_table_entry_t *e = &p->headers.entries[i];
        struct dx_span key = dx_span_of(e->key.bytes, e->key.len);

        if (e->value.kind != AMQP_FIELD_KIND_UTF8 && e->value.kind != AMQP_FIELD_KIND_BYTES)
            continue;
        if (dx_span_equal(key, dx_span_str("dataset")))
            m->dataset = kept(a, e->value.value.bytes);
        else if (dx_span_equal(key, dx_span_str("sha256")))
            m->sum = kept(a, e->value.value.bytes);
    }
    return a->properties.failed ? dx_buf_fail(&a->properties, err, "properties of a message")
                                : DX_OK;
}

static int read_body(struct dx_amqp *a, size_t size_max, struct dx_amqp_message *m,
                     struct dx_error *err)
{
    uint64_t until = dx_clock_ms() + DX_AMQP_CALL_MS;
    uint64_t got = 0;
    amqp_frame_t f;

    m->too_large = m->size > size_max;
    dx_buf_release(&a->body);
    if (m->too_large)
        return 1;
    dx_buf_init(&a->body, size_max);
    while (got < m->size) {
        int rc = dx_amqp_frame(a, until, &f, err);

        if (rc == 0 || (rc > 0 && dx_clock_ms() >= until))
            rc = dx_fail(err, DX_E_IO, "%s: a message stops at byte %llu of %llu", a->shown,
                         (unsigned long long)got, (unsigned long long)m->size);
        if (rc > 0 &&
            (f.frame_type != AMQP_FRAME_BODY || f.payload.body_fragment.len > m->size - got))
            rc = dx_fail(err, DX_E_IO, "%s: a message is not what its header says", a->shown);
        if (rc < 0)
            return rc;
        got += f.payload.body_fragment.len;
        dx_buf_append(&a->body, f.payload.body_fragment.bytes, f.payload.body_fragment.len);
    }
    if (a->body.failed)
        return dx_buf_fail(&a->body, err, "a message");
    m->bytes = dx_span_of(a->body.data, a->body.size);
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
    do
        rc = dx_amqp_frame(a, until, &f, err);
    while (rc > 0 && !dx_amqp_is_method(&f, AMQP_BASIC_DELIVER_METHOD) && dx_clock_ms() < until);
    if (rc <= 0 || !dx_amqp_is_method(&f, AMQP_BASIC_DELIVER_METHOD))
        return rc < 0 ? rc : 0;
    d = f.payload.method.decoded;
    m->tag = d->delivery_tag;
    m->redelivered = d->redelivered;
    rc = dx_amqp_frame(a, dx_clock_ms() + DX_AMQP_CALL_MS, &f, err);
    if (rc >= 0 && (rc == 0 || f.frame_type != AMQP_FRAME_HEADER ||
                    f.payload.properties.class_id != AMQP_BASIC_CLASS))
        rc = dx_fail(err, DX_E_IO, "%s: a message without a header", a->shown);
    if (rc < 0)
        return rc;
    m->size = f.payload.properties.body_size;
    rc = read_properties(a, f.payload.properties.decoded, m, err);
    return rc < 0 ? rc : read_body(a, size_max, m, err);
}

int dx_amqp_ack(struct dx_amqp *a, uint64_t tag, struct dx_error *err)
{
    int status;

    (void)pthread_mutex_lock(&a->lock); /* while paused, heartbeats use the connection, too */
    status = amqp_basic_ack(a->state, DX_AMQP_CHANNEL, tag, 0);
    (void)pthread_mutex_unlock(&a->lock);
    return dx_amqp_sent_method(a, status, err);
}

int dx_amqp_requeue(struct dx_amqp *a, struct dx_error *err)
{
    /* Tag 0 with `multiple`: all that are not acked, and none is not an error as the last tag's
     * would be. */
    return dx_amqp_sent_method(a, amqp_basic_nack(a->state, DX_AMQP_CHANNEL, 0, 1, 1), err);
}

int dx_amqp_pause(struct dx_amqp *a, struct dx_error *err)
{
    amqp_basic_cancel_t cancel = { .consumer_tag = bytes_of(CONSUMER), .nowait = 0 };
    const struct dx_amqp_call call = { AMQP_BASIC_CANCEL_METHOD, &cancel,
                                       AMQP_BASIC_CANCEL_OK_METHOD, "pausing" };
    /* What is on its way is dropped here and put back by resume or close. */
    int rc = dx_amqp_call(a, &call, err);

    return rc < 0 ? rc : dx_amqp_beat_begin(a, err);
}

int dx_amqp_resume(struct dx_amqp *a, unsigned prefetch, struct dx_error *err)
{
    int rc;

    dx_amqp_beat_end(a);
    rc = dx_amqp_requeue(a, err);
    return rc < 0 ? rc : dx_amqp_consume(a, prefetch, err);
}

uint64_t dx_amqp_away_ms(const struct dx_amqp *a)
{
    return dx_amqp_beat_ms(a);
}
