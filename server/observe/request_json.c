/* SPDX-License-Identifier: Apache-2.0 */
#include "server/observe/request_json.h"

#include "base/json_out.h"
#include "server/observe/record_names.h"

#include <stdio.h>
#include <string.h>

#define ESCAPED_BYTE_MAX 6 /* \u00XX; of ill-formed UTF-8 the three bytes of U+FFFD */

/* Only where there is something to say: most requests have no storage, and half no dataset. */
static void number(struct dx_json *j, const char *key, uint64_t n)
{
    if (n > 0)
        dx_json_key_u64(j, key, n);
}

static void text(struct dx_json *j, const char *key, const char *s)
{
    if (s != NULL && s[0] != '\0') {
        dx_json_key(j, key);
        dx_json_str(j, s);
    }
}

static void write_request(struct dx_json *j, const struct dx_request_record *r)
{
    char hex[17];

    (void)snprintf(hex, sizeof hex, "%016llx", (unsigned long long)r->number);
    dx_json_key(j, "time");
    dx_json_time_us(j, r->began_us);
    text(j, "request", hex);
    text(j, "trace", r->trace);
    text(j, "route", dx_route_name(r->route));
    text(j, "method", dx_method_name(r->method));
    dx_json_key(j, "status");
    dx_json_i64(j, r->status);
    text(j, "problem", r->refusal);
    dx_json_key_u64(j, "bytes", r->sent_bytes);
    number(j, "body_bytes", r->body_bytes);
    text(j, "version", r->version);
    text(j, "principal", r->principal);
    text(j, "from", dx_answer_from_name(r->from));
}

static void write_subject(struct dx_json *j, const struct dx_request_record *r)
{
    if (r->summary.has_domain_id) {
        dx_json_key(j, "domain_id");
        dx_json_hex64(j, r->summary.domain_id);
    }
    number(j, "dataset_id", r->dataset_id);
    number(j, "datasets", r->summary.datasets);
    number(j, "rows", r->summary.rows);
    number(j, "names", r->names);
}

static void write_stages(struct dx_json *j, const struct dx_request_record *r)
{
    for (unsigned i = 0; i < DX_STAGE_COUNT; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "%s_us", dx_stage_name((enum dx_stage)i));
        dx_json_key(j, key);
        dx_json_i64(j, r->stage_us[i]);
    }
    number(j, "storage_requests", r->storage_requests);
    number(j, "storage_retries", r->storage_retries);
    number(j, "storage_bytes", r->storage_bytes);
    number(j, "disk_reads", r->disk_reads);
    number(j, "disk_bytes", r->disk_bytes);
}

/* The longest beginning of which the escaped text has room. No byte behind that room is there. */
static size_t fitting(struct dx_span target)
{
    size_t room = DX_REQUEST_TARGET_MAX;
    size_t n = 0;

    while (n < target.size && room > 0) {
        uint8_t c = target.data[n];
        size_t needs = c >= 0x20 && c < 0x7f && c != '"' && c != '\\' ? 1 : ESCAPED_BYTE_MAX;

        if (needs > room)
            break;
        room -= needs;
        n++;
    }
    return n;
}

static void write_target(struct dx_json *j, struct dx_span target)
{
    size_t size = fitting(target);

    if (target.size == 0)
        return;
    dx_json_key(j, "target");
    dx_json_text(j, dx_span_of(target.data, size));
    if (size < target.size)
        dx_json_key_u64(j, "target_bytes", target.size);
}

void dx_request_json(const struct dx_request_record *r, struct dx_buf *out)
{
    struct dx_json j;

    dx_json_open(&j, out);
    dx_json_object(&j);
    write_request(&j, r);
    write_subject(&j, r);
    write_stages(&j, r);
    write_target(&j, r->target);
    dx_json_end(&j);
    dx_buf_u8(out, '\n');
}
