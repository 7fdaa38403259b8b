/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/root/root_probe.h"

#include "base/json_in.h"
#include "base/json_out.h"
#include "fetch/store/store.h"

#define TEXT_MAX (64u << 10)
#define TRIES 4

bool dx_root_probed(struct dx_span text, const char *url)
{
    struct dx_json_in in;
    const struct dx_json_node *o = dx_json_in_open(&in, text, TEXT_MAX, DX_ROOT_PROBE_FILE);
    bool probed = strcmp(dx_json_in_str(&in, o, "format", TEXT_MAX), "domaindex-store") == 0 &&
                  strcmp(dx_json_in_str(&in, o, "url", TEXT_MAX), url) == 0;

    return dx_json_in_close(&in, NULL) == DX_OK && probed;
}

static int note_probe(struct dx_store *store, const char *url, int64_t now_us, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(TEXT_MAX);
    char etag[DX_SOURCE_ETAG];
    struct dx_put put = { .object = DX_ROOT_PROBE_FILE };
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
    rc = text.failed ? dx_buf_fail(&text, err, DX_ROOT_PROBE_FILE)
                     : dx_store_put(store, &put, etag, err);
    dx_buf_release(&text);
    return rc == DX_E_UNKNOWN ? DX_OK : rc; /* at worst the store is tried again the next time */
}

/* A write whose reply was lost leaves a probe undecided, and the next one has names of its own. */
static int probe(struct dx_store *store, struct dx_error *err)
{
    int rc = DX_E_UNKNOWN;

    for (int i = 0; rc == DX_E_UNKNOWN && i < TRIES; i++)
        rc = dx_store_probe(store, err);
    return rc;
}

int dx_root_probe(struct dx_source *source, struct dx_store *store, const char *url, int64_t now_us,
                  struct dx_error *err)
{
    const struct dx_get get = { .object = DX_ROOT_PROBE_FILE, .cap = TEXT_MAX };
    struct dx_buf text = DX_BUF_INIT(TEXT_MAX);
    struct dx_error why = DX_ERROR_INIT;
    char etag[DX_SOURCE_ETAG];
    int rc = dx_source_get(source, &get, &text, etag, &why);
    bool probed = rc == 1 && dx_root_probed(dx_span_of(text.data, text.size), url);

    dx_buf_release(&text);
    if (rc < 0 && rc != DX_E_NOT_FOUND && err != NULL)
        *err = why;
    if ((rc < 0 && rc != DX_E_NOT_FOUND) || probed)
        return rc < 0 ? rc : DX_OK;
    rc = probe(store, err);
    return rc == DX_OK ? note_probe(store, url, now_us, err) : rc;
}
