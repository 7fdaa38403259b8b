/* SPDX-License-Identifier: Apache-2.0
 * Replies to the load generator. What is accepted is looked at again, line by line, in another way.
 */
#include "builder/load/reply_head.h"

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

static void check_accepted(const char *text, size_t size, const struct dx_reply_head *head)
{
    unsigned lengths = 0, encodings = 0, status = 0;

    need(strlen(text) == size, "it has a NUL");
    need(sscanf(text, "HTTP/1.%*1[01] %3u", &status) == 1 && status == head->status,
         "the status is another one");
    for (const char *p = strchr(text, '\n') + 1; *p != '\r'; p = strchr(p, '\n') + 1) {
        need(strcspn(p, ":") < strcspn(p, "\r\n \t"), "a line is no field");
        need(p[strcspn(p, "\r\n")] == '\r' && p[strcspn(p, "\r\n") + 1] == '\n',
             "a line does not end with CRLF");
        encodings += strncasecmp(p, "transfer-encoding:", 18) == 0;
        if (strncasecmp(p, "content-length:", 15) != 0)
            continue;
        lengths++;
        need(head->status == 204 || head->status == 304 ||
                 strtoull(p + 15, NULL, 10) == head->body_size,
             "the length is another one");
    }
    need(lengths == 1 || (lengths == 0 && head->body_size == 0), "not one length");
    need(encodings <= 1 && lengths + encodings <= 1, "its length is said twice");
    need(!head->chunked || encodings == 1, "it is not chunked");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_span bytes = { data, size };
    struct dx_reply_head head;
    size_t whole = dx_reply_head_size(bytes, 0), found = 0;
    char *text;

    for (size_t n = 1; n <= size && found == 0; n++)
        found = dx_reply_head_size((struct dx_span){ data, n }, n - 1);
    need(found == whole, "byte for byte its end is elsewhere");
    if (whole == 0 || dx_reply_head_parse((struct dx_span){ data, whole }, &head, NULL) < 0)
        return 0;
    text = malloc(whole + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, whole);
    text[whole] = '\0';
    check_accepted(text, whole, &head);
    free(text);
    return 0;
}
