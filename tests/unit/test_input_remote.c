/* SPDX-License-Identifier: Apache-2.0
 * test_input_remote.c - an address in its root and its object. The bytes: tests/e2e/ingest_s3.py.
 */
#include "builder/input_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
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
        { "https://host", NULL, NULL },
        { "https://host/", NULL, NULL },
        { "https://host/a/", NULL, NULL },
        { "https:///a", NULL, NULL },
        { "https://host/a?b=c", NULL, NULL },
        { "https://host/a#b", NULL, NULL },
        { "https://host/a%2", NULL, NULL },
        { "https://host/a%zz", NULL, NULL },
        { "https://host/a%00b", NULL, NULL },
        { "https://host/a%20b", NULL, NULL },
        { "https://host/%2e%2e", NULL, NULL },
        { "https://host/..", NULL, NULL },
        { "s3://bucket", NULL, NULL },
    };
    int failures = 0;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        char *root = NULL;
        char *object = NULL;
        int rc = dx_input_remote_split(rows[i].url, &root, &object, &err);

        if (rows[i].root == NULL ? rc >= 0 || root != NULL || object != NULL
                                 : rc < 0 || strcmp(root, rows[i].root) != 0 ||
                                       strcmp(object, rows[i].object) != 0) {
            failures++;
            fprintf(stderr, "%s: %s, %s: %s\n", rows[i].url, root == NULL ? "-" : root,
                    object == NULL ? "-" : object, err.text);
        }
        free(root);
        free(object);
    }
    return failures == 0 ? 0 : 1;
}
