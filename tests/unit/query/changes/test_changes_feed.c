/* SPDX-License-Identifier: Apache-2.0
 * The document of an Atom feed: the whole text, for names that XML and URLs write otherwise. The ids are those of SHA-256 as
 * Python computes it.
 */
#include "query/changes/changes_feed.h"

#include <string.h>

#include "base/buf.h"
#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *domain;
    const char *id, *title, *path;
} rows[] = {
    { "example.com", "f9c62d6a-ff95-8a60-b36f-b03e32e31561", "example.com", "example.com" },
    { "[2001:db8::1]", "195b08fa-e166-8b51-8221-7fc3615862d6", "[2001:db8::1]",
      "%5B2001%3Adb8%3A%3A1%5D" },
    { "a&b.com", "15da53cd-0372-89d2-855b-2f88f16715c9", "a&amp;b.com", "a&amp;b.com" },
};

static void check_documents(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_buf body = DX_BUF_INIT(4096);
        char want[1024];

        dx_changes_feed_write(&body, dx_span_of(NULL, 0), dx_span_str(rows[i].domain),
                              INT64_C(1704164645000000), dx_span_str("<entry/>\n"));
        (void)snprintf(want, sizeof want,
                       "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                       "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>urn:uuid:%s</id>"
                       "<title>Datasets that contain %s</title>"
                       "<updated>2024-01-02T03:04:05Z</updated>"
                       "<author><name>domaindex</name></author>"
                       "<link rel=\"self\" type=\"application/atom+xml\" "
                       "href=\"/v1/domain/%s/changes?format=atom\"/>\n"
                       "<entry/>\n</feed>\n",
                       rows[i].id, rows[i].title, rows[i].path);
        EXPECT(!body.failed && dx_span_equal(dx_span_of(body.data, body.size), dx_span_str(want)),
               "row %zu:\n%.*s\nwant:\n%s", i, (int)body.size, (const char *)body.data, want);
        dx_buf_release(&body);
    }
}

/* A document that does not fit says so. */
static void check_room(void)
{
    struct dx_buf body = DX_BUF_INIT(100);

    dx_changes_feed_write(&body, dx_span_of(NULL, 0), dx_span_str("example.com"), 0,
                          dx_span_of(NULL, 0));
    EXPECT(body.failed, "%zu bytes", body.size);
    dx_buf_release(&body);
}

int main(void)
{
    check_documents();
    check_room();
    return failures > 0;
}
