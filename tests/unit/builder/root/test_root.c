/* SPDX-License-Identifier: Apache-2.0
 * test_root.c - the URL of an object in its root and its name, also where memory runs out, and how URLs are shown.
 */
#include "builder/root/root.h"

#include <stdlib.h>
#include <string.h>

#include "tests/runner/fail_alloc.h"
#include "tests/support/fail.h"

static unsigned failures;

static void test_split(void)
{
    static const struct {
        const char *url;
        const char *root; /* NULL: refused */
        const char *object;
    } rows[] = {
        { "https://host/a/b.tsv.gz", "https://host/a", "b.tsv.gz" },
        { "http://host:81/b", "http://host:81", "b" },
        { "https://host/a%2Fb/c%2Bd%C3%A9", "https://host/a%2Fb", "c+d\xC3\xA9" },
        { "s3://bucket/key", "s3://bucket", "key" },
        { "s3://bucket/a/b%2Bc?d", "s3://bucket/a", "b%2Bc?d" },
        { "s3://bucket/a/index/manifest.json", "s3://bucket/a/index", "manifest.json" },
        { "s3://bucket/a%20b.dat", "s3://bucket", "a%20b.dat" },
        { "https://h:8443/x.zst", "https://h:8443", "x.zst" },
        { "s3://bucket/.json", "s3://bucket", ".json" },
        { "https://host", NULL, NULL },
        { "https://host/", NULL, NULL },
        { "https://host/a/", NULL, NULL },
        { "https:///a", NULL, NULL },
        { "https://host/a?b=secret", NULL, NULL },
        { "https://me:secret@host/a?b=c", NULL, NULL },
        { "https://me:secret@host/a/", NULL, NULL },
        { "https://host/a#b", NULL, NULL },
        { "https://host/a%2", NULL, NULL },
        { "https://host/a%zz", NULL, NULL },
        { "https://host/a%00b", NULL, NULL },
        { "https://host/a%20b", NULL, NULL },
        { "https://host/%2e%2e", NULL, NULL },
        { "https://host/..", NULL, NULL },
        { "s3://bucket", NULL, NULL },
        { "s3://bucket/", NULL, NULL },
        { "s3://me:secret@bucket", NULL, NULL },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        char *root = NULL;
        char *object = NULL;
        int rc = dx_root_split(rows[i].url, &root, &object, &err);

        if (rows[i].root == NULL
                ? rc >= 0 || root != NULL || object != NULL
                : rc < 0 || strcmp(root, rows[i].root) != 0 || strcmp(object, rows[i].object) != 0)
            FAIL("%s: %s, %s: %s", rows[i].url, root == NULL ? "-" : root,
                 object == NULL ? "-" : object, err.text);
        if (strstr(err.text, "secret") != NULL)
            FAIL("%s: said: %s", rows[i].url, err.text);
        free(root);
        free(object);
    }
}

static void test_shown(void)
{
    static const struct {
        const char *url, *want;
    } rows[] = {
        { "https://host/a/b", "https://host/a/b" },
        { "https://me:pass@host/a", "https://host/a" },
        { "https://me:p@ss@host:81/a@b", "https://host:81/a@b" },
        { "https://host/a?sig=x", "https://host/a" },
        { "https://host?sig=x@y", "https://host" },
        { "https://host/a#x", "https://host/a" },
        { "s3://key:secret@bucket/a?b#c", "s3://bucket/a?b#c" },
        { "no url", "no url" },
    };
    char out[DX_ROOT_SHOWN];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(dx_root_shown(rows[i].url, out), rows[i].want) != 0)
            FAIL("%s is shown as %s", rows[i].url, out);
}

static int split(void *url, struct dx_error *err)
{
    char *root;
    char *object;
    int rc = dx_root_split(url, &root, &object, err);

    free(root);
    free(object);
    return rc;
}

int main(void)
{
    char url[] = "https://host/a/b%2Bc";

    test_split();
    test_shown();
    failures += (unsigned)fail_alloc_each("split", 0, split, url);
    return failures == 0 ? 0 : 1;
}
