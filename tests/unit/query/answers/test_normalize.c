/* SPDX-License-Identifier: Apache-2.0
 * What texts are reduced to: a bare name has no URL, what has more than a name has one.
 */
#include <jansson.h>

#include "canon/url.h"
#include "query/answers/answer.h"
#include "query/view/view.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

static unsigned failures;

static const struct {
    const char *asked, *domain, *url, *path_query, *rejected; /* NULL: null, or no such member */
} rows[] = {
    { "example.com", "example.com", NULL, NULL, NULL },
    { "www.Example.com", "example.com", NULL, NULL, NULL },
    { "http://www.example.com/a?b=1", "example.com", "http://www.example.com/a?b=1", "/a?b=1",
      NULL },
    { "example.com/", "example.com", "http://example.com/", "/", NULL },
    { "example.com?b", "example.com", "http://example.com/?b", "/?b", NULL },
    { "example.com#b", "example.com", "http://example.com/", "/", NULL },
    { "com", NULL, NULL, NULL, "public_suffix" },
    { "mailto:me@example.com", NULL, NULL, NULL, "scheme" },
};

static bool has(const json_t *answer, const char *member, const char *want)
{
    const json_t *value = json_object_get(answer, member);

    return want == NULL ? !json_is_string(value)
                        : json_is_string(value) && strcmp(json_string_value(value), want) == 0;
}

int main(void)
{
    struct dx_test_root r;
    struct asker a;

    dx_test_root_make(&r, 3, 1);
    open_asker(&a, r.path);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dx_view view = { a.v, NULL, false };
        struct dx_buf body = DX_BUF_INIT(1 << 16);
        struct dx_problem problem;
        json_t *answer = NULL;

        EXPECT(dx_answer_normalize(&view, a.canon, dx_span_str(rows[i].asked), &body, &problem) ==
                   1,
               "%s: no answer", rows[i].asked);
        answer = json_loadb((const char *)body.data, body.size, 0, NULL);
        EXPECT(has(answer, "q", rows[i].asked) && has(answer, "domain", rows[i].domain) &&
                   has(answer, "url", rows[i].url) &&
                   has(answer, "path_query", rows[i].path_query) &&
                   has(answer, "rejected", rows[i].rejected) &&
                   (json_object_get(answer, "url_id") != NULL) == (rows[i].url != NULL),
               "%s: %.*s", rows[i].asked, (int)body.size, (const char *)body.data);
        json_decref(answer);
        dx_buf_release(&body);
    }
    close_asker(&a);
    dx_test_root_remove(&r);
    return failures != 0;
}
