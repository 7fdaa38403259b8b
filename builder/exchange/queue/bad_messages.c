/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/exchange/queue/bad_messages.h"

#include "builder/exchange/queue/amqp.h"

#define CONFIRM_MS 30000

int dx_bad_messages_move(const struct dx_amqp_url *from, const char *queue,
                         const struct dx_amqp_message *m, const char *reason, struct dx_error *err)
{
    const struct dx_amqp_properties p = {
        .id = m->id, .dataset = m->dataset, .sum = m->sum, .reason = dx_span_str(reason)
    };
    struct dx_amqp_url to = *from;
    struct dx_amqp *amqp = NULL;
    int rc = dx_amqp_url_set_queue(&to, queue, err);

    if (rc == DX_OK)
        rc = dx_amqp_open(&amqp, &to, NULL, err);
    if (rc == DX_OK)
        rc = dx_amqp_begin_sending(amqp, err);
    if (rc == DX_OK)
        rc = dx_amqp_send(amqp, &p, m->bytes, err);
    if (rc == DX_OK) {
        rc = dx_amqp_confirmed(amqp, 1, CONFIRM_MS, err);
        if (rc == 0)
            rc = dx_fail(err, DX_E_IO, "%s: the broker confirms nothing", to.shown);
    }
    dx_amqp_close(&amqp);
    dx_amqp_url_release(&to);
    return rc == DX_E_NOT_FOUND ? DX_E_IO : rc < 0 ? rc : DX_OK;
}
