/* SPDX-License-Identifier: Apache-2.0
 * Options of sources by environment: what is taken, what is refused and how it is named; URLs of roots.
 */
#include "fetch/source.h"
#include "tests/support/damage.h"

#include <stdlib.h>

static unsigned failures;

static const struct {
    const char *name, *value;
    const char *refused; /* words; NULL: taken */
} rows[] = {
    { "DOMAINDEX_S3_ANONYMOUS", "0", NULL },
    { "DOMAINDEX_S3_ANONYMOUS", "1", NULL },
    { "DOMAINDEX_S3_ANONYMOUS", "", NULL },
    { "DOMAINDEX_S3_ANONYMOUS", "yes", "neither 0 nor 1" },
    { "DOMAINDEX_S3_ANONYMOUS", "01", "neither 0 nor 1" },
    { "DOMAINDEX_S3_ANONYMOUS", "10", "neither 0 nor 1" },
    { "DOMAINDEX_S3_VIRTUAL_HOST", "1", NULL },
    { "DOMAINDEX_S3_VIRTUAL_HOST", "true", "neither 0 nor 1" },
    { "DOMAINDEX_DEADLINE_MS", "1", NULL },
    { "DOMAINDEX_DEADLINE_MS", "3600000", NULL },
    { "DOMAINDEX_DEADLINE_MS", "3600001", "from 1 to 3600000" },
    { "DOMAINDEX_DEADLINE_MS", "99999999999999999999999", "from 1 to 3600000" },
    { "DOMAINDEX_DEADLINE_MS", "0", "from 1 to 3600000" },
    { "DOMAINDEX_DEADLINE_MS", "-5", "from 1 to 3600000" },
    { "DOMAINDEX_DEADLINE_MS", "+5", "from 1 to 3600000" },
    { "DOMAINDEX_DEADLINE_MS", "5s", "from 1 to 3600000" },
    { "DOMAINDEX_DEADLINE_MS", "x", "from 1 to 3600000" },
};

static void check_options(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_source_options o = { .deadline_ms = 7 };
        const char *why;

        (void)setenv(rows[i].name, rows[i].value, 1);
        why = dx_source_options_env(&o);
        (void)unsetenv(rows[i].name);
        EXPECT((why == NULL) == (rows[i].refused == NULL), "%s=%s: %s", rows[i].name, rows[i].value,
               why == NULL ? "taken" : why);
        EXPECT(why == NULL ||
                   (strstr(why, rows[i].refused) != NULL && strstr(why, rows[i].name) == why),
               "%s=%s: %s", rows[i].name, rows[i].value, why);
        if (why == NULL && strcmp(rows[i].name, "DOMAINDEX_DEADLINE_MS") == 0)
            EXPECT(o.deadline_ms == strtoul(rows[i].value, NULL, 10), "%u", o.deadline_ms);
        else
            EXPECT(why != NULL || o.deadline_ms == 7, "%u", o.deadline_ms);
        EXPECT(why != NULL || o.s3_anonymous == (strstr(rows[i].name, "ANONYMOUS") != NULL &&
                                                 strcmp(rows[i].value, "1") == 0),
               "%s=%s", rows[i].name, rows[i].value);
        EXPECT(why != NULL || o.s3_virtual_host == (strstr(rows[i].name, "VIRTUAL") != NULL),
               "%s=%s", rows[i].name, rows[i].value);
    }
}

static const struct {
    const char *root, *url; /* NULL: refused */
} roots[] = {
    { "https://example.org/lake///", "https://example.org/lake" },
    { "http://example.org:80", "http://example.org" },
    { "s3://bucket/a/", "https://bucket.s3.us-east-1.amazonaws.com/a" },
    { "/a/directory", NULL },
    { "directory", NULL },
    { "https:///lake", NULL },
    { "https://user:secret@example.org/", NULL },
    { "https://example.org/?q", NULL },
    { "https://example.org/#f", NULL },
    { "s3://B/a", NULL },
};

static void check_roots(void)
{
    const struct dx_source_options options = { .s3_region = "us-east-1" };
    static char large[5000];

    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        char *url = NULL;
        int rc = dx_source_root_url(roots[i].root, &options, &url, &err);

        EXPECT(rc == (roots[i].url == NULL ? DX_E_INVALID : DX_OK), "%s: %d %s", roots[i].root, rc,
               err.text);
        EXPECT((url == NULL) == (roots[i].url == NULL) &&
                   (url == NULL || strcmp(url, roots[i].url) == 0),
               "%s: %s", roots[i].root, url == NULL ? "none" : url);
        EXPECT(strstr(err.text, "secret") == NULL, "a secret is printed: %s", err.text);
        free(url);
    }
    memset(large, 'a', sizeof large - 1);
    memcpy(large, "https://a/", 10);
    {
        struct dx_error err = DX_ERROR_INIT;
        char *url = NULL;

        EXPECT(dx_source_root_url(large, &options, &url, &err) == DX_E_INVALID &&
                   strstr(err.text, "bytes") != NULL,
               "%s", err.text);
        memcpy(large, "s3://abc/x", 10);
        EXPECT(dx_source_root_url(large, &options, &url, &err) == DX_E_INVALID &&
                   strstr(err.text, "the prefix has more than") != NULL,
               "%s", err.text);
    }
}

int main(void)
{
    check_options();
    check_roots();
    return failures > 0;
}
