/* SPDX-License-Identifier: Apache-2.0
 * Files of the web page: those that there are, by their whole target alone.
 */
#include "server/http/web_file.h"

#include <stdio.h>
#include <string.h>

#define CHECK(condition, ...)                                                     \
    do {                                                                          \
        if (!(condition)) {                                                       \
            (void)fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            (void)fprintf(stderr, __VA_ARGS__);                                   \
            (void)fprintf(stderr, "\n");                                          \
            failures++;                                                           \
        }                                                                         \
    } while (0)

static unsigned failures;

int main(void)
{
    static const char *const none[] = {
        "", "/a", "/assets/", "//", "/?", "/index.html", "/assets/x"
    };
    size_t n = 0;

    for (; dx_web_files[n].target != NULL; n++) {
        const struct dx_web_file *f = &dx_web_files[n];
        size_t size = strlen(f->target);

        CHECK(dx_web_file_find(dx_span_str(f->target)) == f, "%s", f->target);
        CHECK(dx_web_file_find(dx_span_of(f->target, size - 1)) == NULL, "%s, cut", f->target);
        CHECK(f->fixed == (size > 1), "%s", f->target);
        CHECK(f->plain_size > 0 && f->gzip_size > 18 && memcmp(f->gzip, "\x1f\x8b", 2) == 0, "%s",
              f->target);
        CHECK(strlen(f->etag) == 18 && f->etag[0] == '"', "%s", f->etag);
    }
    CHECK(n >= 3, "%zu files", n);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(dx_web_file_find(dx_span_str(none[i])) == NULL, "%s", none[i]);
    return failures > 0;
}
