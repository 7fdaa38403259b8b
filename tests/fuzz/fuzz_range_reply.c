/* SPDX-License-Identifier: Apache-2.0
 * Replies: header lines from outside, then a body length. What is accepted is checked again by a
 * slow reading of the text; what is refused stays refused without the body.
 */
#include "fetch/range_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "accepted, but %s\n", what);
        abort();
    }
}

/* How many lines after the last status line begin with name; the last of them in *value. */
static unsigned lines_named(const char *text, const char *name, const char **value)
{
    unsigned count = 0;

    for (const char *p = text; *p != '\0';) {
        if (strncmp(p, "HTTP/", 5) == 0)
            count = 0;
        if (strncasecmp(p, name, strlen(name)) == 0) {
            count++;
            *value = p + strlen(name);
        }
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    return count;
}

static void check_accepted(const char *text, const struct dx_range_want *want, uint64_t body)
{
    const char *value = "";
    unsigned long long first = 0;
    unsigned long long last = 0;
    unsigned long long total = 0;

    need(body == want->size, "the body has another length");
    need(lines_named(text, "content-range:", &value) == 1, "not one Content-Range");
    value += strspn(value, " \t");
    need(strncasecmp(value, "bytes ", 6) == 0 &&
             sscanf(value + 6, "%llu-%llu/%llu", &first, &last, &total) == 3,
         "Content-Range is no range");
    need(first == want->offset && last == first + want->size - 1, "another range");
    need(last < total && (want->total == 0 || total == want->total), "another total");
    if (lines_named(text, "content-length:", &value) > 0)
        need(strtoull(value, NULL, 10) == want->size, "another Content-Length");
    need(lines_named(text, "content-length:", &value) <= 1, "two Content-Length");
    need(lines_named(text, "etag:", &value) == (want->etag != NULL) || want->etag == NULL,
         "not one ETag");
    if (want->etag != NULL)
        need(strncmp(value + strspn(value, " \t"), want->etag, strlen(want->etag)) == 0,
             "another ETag");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_range_want want = { 100, 100, 0, NULL };
    struct dx_reply r;
    uint64_t body = 0;
    char *text;

    if (size < 3)
        return 0;
    if (data[0] & 1)
        want.total = 1000;
    if (data[0] & 2)
        want.etag = "\"v1\"";
    body = (uint64_t)data[1] | (uint64_t)(data[2] & 1) << 8;
    data += 3;
    size -= 3;
    text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    dx_reply_begin(&r);
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t n = end == NULL ? size - at : (size_t)(end - data) + 1 - at;

        dx_reply_header(&r, dx_span_of(data + at, n));
        at += n;
    }
    if (body > 0)
        dx_reply_body(&r, (size_t)body);
    if (dx_range_reply_check(&r, &want) == DX_REPLY_ACCEPTED)
        check_accepted(text, &want, body);
    if (dx_range_reply_head(&r, &want) != DX_REPLY_ACCEPTED &&
        dx_range_reply_check(&r, &want) == DX_REPLY_ACCEPTED)
        abort();
    (void)dx_whole_reply_check(&r, &want);
    free(text);
    return 0;
}
