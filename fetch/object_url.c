/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/object_url.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

static bool unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void dx_url_encode_span(struct dx_buf *out, struct dx_span text, bool slash_stays)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];

        if (unreserved(c) || (c == '/' && slash_stays))
            dx_buf_u8(out, c);
        else
            dx_buf_fmt(out, "%%%02X", c);
    }
}

void dx_url_encode(struct dx_buf *out, const char *text)
{
    dx_url_encode_span(out, dx_span_str(text), true);
}

void dx_url_encode_value(struct dx_buf *out, const char *text)
{
    dx_url_encode_span(out, dx_span_str(text), false);
}

void dx_object_url(struct dx_buf *out, const char *root, const char *object)
{
    dx_buf_str(out, root);
    dx_buf_u8(out, '/');
    dx_url_encode(out, object);
    dx_buf_u8(out, '\0');
}

static const char *forbidden_part(CURLU *u)
{
    static const struct {
        CURLUPart part;
        const char *name;
    } parts[] = { { CURLUPART_USER, "a user name" },
                  { CURLUPART_PASSWORD, "a password" },
                  { CURLUPART_QUERY, "a query" },
                  { CURLUPART_FRAGMENT, "a fragment" } };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *text = NULL;

        if (curl_url_get(u, parts[i].part, &text, 0) == CURLUE_OK) {
            curl_free(text);
            return parts[i].name;
        }
    }
    return NULL;
}

int dx_root_url(const char *root, char **url, struct dx_error *err)
{
    CURLU *u = curl_url();
    char *text = NULL;
    const char *part;
    CURLUcode bad;
    size_t n;
    int rc = DX_OK;

    *url = NULL;
    if (u == NULL)
        return dx_no_memory(err, "root URL");
    if (strlen(root) > DX_URL_MAX / 2) {
        rc = dx_fail(err, DX_E_INVALID, "the root's URL has more than %d bytes", DX_URL_MAX / 2);
        goto out;
    }
    if (strstr(root, ":///") != NULL) { /* which libcurl would mend */
        rc = dx_fail(err, DX_E_INVALID, "the root's URL has no host");
        goto out;
    }
    bad = curl_url_set(u, CURLUPART_URL, root, 0);
    if (bad != CURLUE_OK) {
        rc = dx_fail(err, bad == CURLUE_OUT_OF_MEMORY ? DX_E_NOMEM : DX_E_INVALID,
                     "the root's URL cannot be read: %s", curl_url_strerror(bad));
        goto out;
    }
    part = forbidden_part(u);
    if (part != NULL) {
        /* Without the URL: it may hold a secret. */
        rc = dx_fail(err, DX_E_INVALID, "the root's URL has %s: name it without", part);
        goto out;
    }
    if (curl_url_get(u, CURLUPART_URL, &text, CURLU_NO_DEFAULT_PORT) != CURLUE_OK ||
        (*url = strdup(text)) == NULL) {
        rc = dx_no_memory(err, "%s", root);
        goto out;
    }
    for (n = strlen(*url); n > 0 && (*url)[n - 1] == '/'; n--)
        (*url)[n - 1] = '\0';
out:
    curl_free(text);
    curl_url_cleanup(u);
    return rc;
}
