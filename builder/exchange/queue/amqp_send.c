/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/queue/amqp.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <assert.h>

#include "base/clock.h"
#include "builder/exchange/queue/amqp_link.h"

static amqp_bytes_t bytes_of(struct dx_span s)
{
    union {
        const uint8_t *from;
        void *to;
    } plain = { .from = s.data }; /* the library does not write to it */

    return (amqp_bytes_t){ s.size, plain.to };
}

int dx_amqp_begin_sending(struct dx_amqp *a, struct dx_error *err)
{
    amqp_confirm_select_t arguments = { .nowait = 0 };
    const struct dx_amqp_call call = { AMQP_CONFIRM_SELECT_METHOD, &arguments,
                                       AMQP_CONFIRM_SELECT_OK_METHOD, "asking for confirmations" };

    return dx_amqp_call(a, &call, err);
}

static void add_header(amqp_table_t *t, const char *name, struct dx_span value)
{
    if (value.data == NULL)
        return;
    t->entries[t->num_entries++] = (amqp_table_entry_t){
        .key = amqp_cstring_bytes(name),
        .value = { .kind = AMQP_FIELD_KIND_UTF8, .value = { .bytes = bytes_of(value) } }
    };
}

int dx_amqp_send(struct dx_amqp *a, const struct dx_amqp_properties *p, struct dx_span body,
                 struct dx_error *err)
{
    amqp_table_entry_t entries[3];
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_HEADERS_FLAG,
        .headers = { 0, entries },
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
    };
    int status;

    assert(a->sent - a->confirmed < DX_AMQP_WINDOW);
    add_header(&properties.headers, "dataset", p->dataset);
    add_header(&properties.headers, "sha256", p->sum);
    add_header(&properties.headers, "reason", p->reason);
    if (p->id.data != NULL) {
        properties._flags |= AMQP_BASIC_MESSAGE_ID_FLAG;
        properties.message_id = bytes_of(p->id);
    }
    status = amqp_basic_publish(a->state, DX_AMQP_CHANNEL, amqp_empty_bytes,
                                amqp_cstring_bytes(a->queue), 1, 0, &properties, bytes_of(body));
    a->sent += status == AMQP_STATUS_OK;
    return dx_amqp_sent_method(a, status, err);
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

/* What the broker says of what was sent. */
static int hear(struct dx_amqp *a, const amqp_frame_t *f, struct dx_error *err)
{
    if (dx_amqp_is_method(f, AMQP_BASIC_RETURN_METHOD))
        return dx_fail(err, DX_E_NOT_FOUND, "%s: the queue has gone, a message came back",
                       a->shown);
    if (dx_amqp_is_method(f, AMQP_BASIC_NACK_METHOD))
        return dx_fail(err, DX_E_IO, "%s: the broker has refused a message", a->shown);
    if (dx_amqp_is_method(f, AMQP_BASIC_ACK_METHOD)) {
        const amqp_basic_ack_t *ack = f->payload.method.decoded;

        confirm(a, ack->delivery_tag, ack->multiple);
    }
    return 1;
}

int dx_amqp_ready(struct dx_amqp *a, uint64_t timeout_ms, struct dx_error *err)
{
    uint64_t until = dx_clock_ms() + timeout_ms;
    amqp_frame_t f;
    int rc;

    do {
        rc = dx_amqp_frame_any(a, a->blocked[0] != '\0' ? until : 0, &f, err);
        if (rc > 0)
            rc = hear(a, &f, err);
    } while (rc > 0);
    return rc < 0 ? rc : a->blocked[0] == '\0';
}

const char *dx_amqp_blocked(const struct dx_amqp *a)
{
    return a->blocked[0] != '\0' ? a->blocked : NULL;
}

int dx_amqp_confirmed(struct dx_amqp *a, uint64_t count, uint64_t timeout_ms, struct dx_error *err)
{
    uint64_t until = dx_clock_ms() + timeout_ms;

    assert(count <= a->sent && a->sent - a->confirmed <= DX_AMQP_WINDOW);
    while (a->confirmed < count) {
        amqp_frame_t f;
        int rc;

        rc = dx_amqp_frame(a, until, &f, err);
        if (rc > 0)
            rc = hear(a, &f, err);
        if (rc <= 0)
            return rc;
    }
    return 1;
}
