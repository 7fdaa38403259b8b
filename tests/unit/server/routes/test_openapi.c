/* SPDX-License-Identifier: Apache-2.0
 * What can be seen of the document without a server; tests/e2e/http_openapi.py sees the rest.
 */
#include "server/routes/openapi.h"

#include "base/buf.h"
#include "server/routes/route.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(ok, ...)                             \
    do {                                           \
        if (!(ok)) {                               \
            printf("%s:%d: ", __func__, __LINE__); \
            printf(__VA_ARGS__);                   \
            printf("\n");                          \
            failures++;                            \
        }                                          \
    } while (0)

static json_t *load(void)
{
    struct dx_buf text = DX_BUF_INIT(1024 * 1024);
    json_t *document;

    dx_openapi_write(&text);
    CHECK(!text.failed, "too large");
    document = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
    CHECK(document != NULL, "no JSON");
    dx_buf_release(&text);
    return document;
}

static void test_each_route_is_in_it(void)
{
    json_t *document = load();
    json_t *paths = json_object_get(document, "paths");
    size_t known = 0;

    for (size_t r = 0; r < DX_ROUTE_COUNT; r++) {
        const struct dx_route *route = dx_routes[r];
        char path[200];
        json_t *operation;

        (void)snprintf(path, sizeof path, "%s%s", route->own || route->bare ? "/" : "/v1/",
                       route->pattern);
        operation = json_object_get(json_object_get(paths, path), route->post ? "post" : "get");
        CHECK((operation == NULL) == route->admin, "%s", path);
        if (operation != NULL)
            CHECK(strcmp(json_string_value(json_object_get(operation, "operationId")),
                         route->words->operation) == 0,
                  "%s", path);
        /* A path of two methods stands there once. */
        known += route->admin || (r > 0 && strcmp(route->pattern, dx_routes[r - 1]->pattern) == 0)
                     ? 0
                 : route->alias == NULL ? 1
                                        : 2;
    }
    CHECK(json_object_size(paths) == known, "%zu paths", json_object_size(paths));
    json_decref(document);
}

static void test_no_room_is_a_failure(void)
{
    for (size_t max = 1; max < 200000; max = max * 3 + 1) {
        struct dx_buf text = DX_BUF_INIT(max);

        dx_openapi_write(&text);
        CHECK(text.failed || text.size <= max, "%zu of %zu bytes", text.size, max);
        dx_buf_release(&text);
        dx_openapi_page(&text);
        dx_buf_release(&text);
    }
}

int main(void)
{
    test_each_route_is_in_it();
    test_no_room_is_a_failure();
    return failures > 0;
}
