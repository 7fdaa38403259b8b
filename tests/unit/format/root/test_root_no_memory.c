/* SPDX-License-Identifier: Apache-2.0
 * The texts beside the versions are parsed, changed and written while memory runs out. */
#include "format/root/access_json.h"
#include "format/root/lease_json.h"
#include "format/root/registry_json.h"
#include "format/root/rules.h"
#include "format/root/suppressions_floor.h"

#include <stdio.h>

#include "tests/runner/fail_alloc.h"

static int suppressions(void *ctx, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT, again = DX_SUPPRESSIONS_INIT;
    struct dx_rules *rules = NULL;
    uint64_t number;
    int rc = DX_OK;

    (void)ctx;
    for (unsigned i = 0; rc == DX_OK && i < 40; i++) {
        struct dx_suppress_rule rule = { .kind = DX_SUPPRESS_DOMAIN, .time_us = 0 };
        char name[32];

        (void)snprintf(name, sizeof name, "d%u.org", i);
        rule.value = dx_span_str(name);
        rc = dx_suppressions_add(&log, &rule, &number, err);
    }
    if (rc == DX_OK)
        rc = dx_suppressions_lift(&log, 0, 3, dx_span_str("a reason"), &number, err);
    if (rc == DX_OK)
        rc = dx_suppressions_write(&log, &text, err);
    if (rc == DX_OK)
        rc = dx_suppressions_parse(dx_span_of(text.data, text.size), "log", &again, err);
    if (rc == DX_OK)
        rc = dx_rules_new(&rules, &again, err);
    dx_rules_free(&rules);
    dx_suppressions_release(&log);
    dx_suppressions_release(&again);
    dx_buf_release(&text);
    return rc;
}

static int access_table(void *ctx, struct dx_error *err)
{
    struct dx_access_json j = DX_ACCESS_JSON_INIT, again = DX_ACCESS_JSON_INIT;
    struct dx_buf text = DX_BUF_INIT(DX_ACCESS_MAX);
    struct dx_access_principal *p;
    int rc = DX_OK;

    (void)ctx;
    for (unsigned i = 0; rc >= 0 && i < 20; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "p%u", i);
        rc = dx_access_json_add(&j, dx_span_str(name), &p, err);
        if (rc >= 0)
            rc = dx_access_json_grant(&j, i + 1, dx_span_str(name), err);
        if (rc >= 0)
            rc = dx_access_json_grant(&j, 7, dx_span_str(name), err);
    }
    if (rc >= 0)
        rc = dx_access_json_note(&j, 0, "me", "grant", err);
    if (rc >= 0)
        rc = dx_access_json_write(&j, &text, err);
    if (rc >= 0)
        rc = dx_access_json_parse(&again, dx_span_of(text.data, text.size), "access", err);
    dx_access_json_release(&j);
    dx_access_json_release(&again);
    dx_buf_release(&text);
    return rc;
}

static int registry(void *ctx, struct dx_error *err)
{
    struct dx_registry r = DX_REGISTRY_INIT, again = DX_REGISTRY_INIT;
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    int rc = DX_OK;

    (void)ctx;
    for (unsigned i = 0; rc >= 0 && i < 20; i++) {
        struct dx_dataset *d;
        char name[32];

        (void)snprintf(name, sizeof name, "set %u", i);
        rc = dx_registry_add(&r, dx_span_str(name), &d, err);
        if (rc >= 0)
            rc = dx_registry_meta(d, dx_span_str("licence"), dx_span_str("none"), err);
    }
    if (rc >= 0)
        rc = dx_registry_write(&r, &text, err);
    if (rc >= 0)
        rc = dx_registry_parse(&again, dx_span_of(text.data, text.size), "registry", err);
    dx_registry_release(&r);
    dx_registry_release(&again);
    dx_buf_release(&text);
    return rc;
}

static int lease(void *ctx, struct dx_error *err)
{
    struct dx_lease_text t = { .serial = 1,
                               .ttl_s = 600,
                               .server = "here",
                               .instance = "0123456789abcdef0123456789abcdef" },
                         again = { 0 };
    struct dx_buf text = DX_BUF_INIT(1 << 16);
    int rc = DX_OK;

    (void)ctx;
    for (unsigned i = 1; rc >= 0 && i < 20; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%06u-20261121T103000Z", i);
        rc = dx_lease_text_add(&t, name, err);
    }
    if (rc >= 0)
        rc = dx_lease_text_write(&t, &text, err);
    if (rc >= 0)
        rc = dx_lease_text_parse(&again, dx_span_of(text.data, text.size), "lease", err);
    dx_lease_text_release(&t);
    dx_lease_text_release(&again);
    dx_buf_release(&text);
    return rc;
}

static int floor_file(void *ctx, struct dx_error *err)
{
    const struct dx_suppressions_floor floor = { .lines = 3 };
    struct dx_suppressions_floor again;
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_FLOOR_MAX);
    int rc = dx_suppressions_floor_write(&floor, &text, err);

    (void)ctx;
    if (rc == DX_OK)
        rc = dx_suppressions_floor_parse(dx_span_of(text.data, text.size), "floor", &again, err);
    dx_buf_release(&text);
    return rc;
}

int main(void)
{
    size_t failures = fail_alloc_each("suppressions", 0, suppressions, NULL);

    failures += fail_alloc_each("access table", 0, access_table, NULL);
    failures += fail_alloc_each("registry", 0, registry, NULL);
    failures += fail_alloc_each("floor", 0, floor_file, NULL);
    failures += fail_alloc_each("lease", 0, lease, NULL);
    return failures > 0;
}
