/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_probe.h"

#include <jansson.h>

#include "base/json_out.h"
#include "fetch/store.h"

#define TEXT_MAX (64u << 10)
#define TRIES 4

bool dx_publish_probed(struct dx_span text, const char *url)
{
    json_t *o = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
    const char *format = json_string_value(json_object_get(o, "format"));
    const char *found = json_string_value(json_object_get(o, "url"));
    bool probed = format != NULL && strcmp(format, "domaindex-store") == 0 && found != NULL &&
                  strcmp(found, url) == 0;

    json_decref(o);
    return probed;
}

static int note(const struct dx_remote_root *remote, const char *url, int64_t now_us,
                struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(TEXT_MAX);
    char etag[DX_SOURCE_ETAG];
    struct dx_put put = { .object = DX_PUBLISH_PROBE_FILE };
    struct dx_json j;
    int rc;

    dx_json_open(&j, &text);
    dx_json_object(&j);
    dx_json_key(&j, "format");
    dx_json_str(&j, "domaindex-store");
    dx_json_key(&j, "version");
    dx_json_u64(&j, 1);
    dx_json_key(&j, "url");
    dx_json_str(&j, url);
    dx_json_key(&j, "probed");
    dx_json_time_us(&j, now_us);
    dx_json_end(&j);
    dx_buf_u8(&text, '\n');
    put.bytes = dx_span_of(text.data, text.size);
    rc = text.failed ? dx_buf_fail(&text, err, DX_PUBLISH_PROBE_FILE)
                     : dx_store_put(remote->store, &put, etag, err);
    dx_buf_release(&text);
    return rc == DX_E_UNKNOWN ? DX_OK : rc; /* at worst the store is tried again the next time */
}

/* A write whose reply was lost leaves a probe undecided, and the next one has names of its own. */
static int probe(const struct dx_remote_root *remote, struct dx_error *err)
{
    int rc = DX_E_UNKNOWN;

    for (int i = 0; rc == DX_E_UNKNOWN && i < TRIES; i++)
        rc = dx_store_probe(remote->store, err);
    return rc;
}

int dx_publish_probe(const struct dx_remote_root *remote, const char *url, int64_t now_us,
                     struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(TEXT_MAX);
    char etag[DX_SOURCE_ETAG];
    int rc = dx_remote_root_get(remote, DX_PUBLISH_PROBE_FILE, TEXT_MAX, &text, etag, err);
    bool probed = rc == 1 && dx_publish_probed(dx_span_of(text.data, text.size), url);

    dx_buf_release(&text);
    if (rc < 0 || probed)
        return rc < 0 ? rc : DX_OK;
    rc = probe(remote, err);
    if (rc == DX_OK)
        rc = note(remote, url, now_us, err);
    return rc;
}
