/* SPDX-License-Identifier: Apache-2.0 */
#include "server/admin_routes.h"

#include "base/json_out.h"
#include "server/delivery.h"
#include "server/metrics.h"
#include "server/own_routes.h"

static void metrics(struct dx_connection *c)
{
    struct dx_buf *body = &c->stream.loop->body;

    dx_buf_clear(body);
    dx_metrics_write(c->stream.loop->serving, body);
    dx_deliver_body(c, "text/plain; version=0.0.4; charset=utf-8", body);
}

static void version(struct dx_connection *c)
{
    const struct dx_answers *answers = c->stream.loop->serving->answers;
    struct dx_buf *body = &c->stream.loop->body;
    struct dx_json j;

    dx_buf_clear(body);
    dx_json_open(&j, body);
    dx_json_object(&j);
    dx_json_key(&j, "program");
    dx_json_str(&j, "domaindexd");
    dx_json_key(&j, "version");
    dx_json_str(&j, DX_VERSION);
    dx_json_key(&j, "compiler");
    dx_json_str(&j, __VERSION__);
    dx_json_key(&j, "index_version");
    if (c->version == NULL)
        dx_json_null(&j);
    else
        dx_json_str(&j, answers->version_name(c->version));
    dx_json_end(&j);
    dx_deliver_body(c, "application/json", body);
}

static enum dx_route route_of(struct dx_span target)
{
    static const struct {
        const char *path;
        enum dx_route route;
    } rows[] = { { "/metrics", DX_ROUTE_METRICS },
                 { "/healthz", DX_ROUTE_HEALTHZ },
                 { "/readyz", DX_ROUTE_READYZ },
                 { "/version", DX_ROUTE_PROGRAM } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (dx_span_equal(target, dx_span_str(rows[i].path)))
            return rows[i].route;
    return DX_ROUTE_COUNT;
}

void dx_admin_answer(struct dx_connection *c, struct dx_span target)
{
    enum dx_route route = route_of(target);
    struct dx_problem problem;

    c->stream.loop->ask.route = c->record.route = route;
    c->record.from = DX_FROM_LOOP;
    if (c->head.method == DX_METHOD_POST) {
        c->closing = true; /* its body is not read */
        route = DX_ROUTE_COUNT;
    }
    if (route == DX_ROUTE_METRICS) {
        metrics(c);
    } else if (route == DX_ROUTE_PROGRAM) {
        version(c);
    } else if (route == DX_ROUTE_COUNT) {
        (void)dx_problem_set(&problem, DX_PROBLEM_NOT_FOUND, "no-such-resource", "No such resource",
                             "this listener has /metrics, /healthz, /readyz and /version");
        dx_deliver_problem(c, &problem);
    } else {
        (void)dx_own_routes_answer(c);
    }
}
