/* SPDX-License-Identifier: Apache-2.0
 * library_example.c - a program with libdomaindex: what is known of some domains, with all their URLs.
 *
 *   cc library_example.c $(pkg-config --cflags --libs domaindex) -o library_example
 *   ./library_example ROOT DOMAIN...
 *
 * A line of JSON for each page. Exit status 1: some domain had no answer.
 */
#define _POSIX_C_SOURCE 200809L /* strndup */

#include <domaindex.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_answer(const struct domaindex_answer *answer)
{
    size_t size;
    const char *body = domaindex_answer_body(answer, &size);

    (void)fwrite(body, 1, size, stdout);
    (void)putchar('\n');
}

/* The value of next_cursor, to be freed; NULL: this was the last page. A program with a JSON library would ask that. */
static char *next_cursor(const struct domaindex_answer *answer)
{
    static const char member[] = "\"next_cursor\":\"";
    size_t size;
    const char *at = strstr(domaindex_answer_body(answer, &size), member);

    if (at == NULL)
        return NULL;
    at += sizeof member - 1;
    return strndup(at, strcspn(at, "\""));
}

static int print_urls(struct domaindex_root *root, const char *domain, struct domaindex_error *err)
{
    char *cursor = NULL;
    int rc;

    do {
        struct domaindex_answer *page;

        rc = domaindex_urls(root, domain, -1, cursor, 2, &page, err);
        free(cursor);
        cursor = NULL;
        if (rc < 0)
            return rc;
        print_answer(page);
        if (rc == 1)
            cursor = next_cursor(page);
        domaindex_answer_free(&page);
    } while (cursor != NULL);
    return rc;
}

static int print_canonical(struct domaindex_root *root, const char *text,
                           struct domaindex_error *err)
{
    struct domaindex_canon *canon;
    struct domaindex_url url;
    int rc = domaindex_canon_of(root, &canon, err);

    if (rc == DOMAINDEX_OK)
        rc = domaindex_canon_url(canon, text, strlen(text), &url, err);
    if (rc == 1)
        printf("%.*s of %.*s, url_id 0x%016" PRIx64 "\n", (int)url.url.size, url.url.data,
               (int)url.domain.size, url.domain.data, url.url_id);
    else if (rc == 0)
        printf("!%s\n", domaindex_reject_name(url.reject));
    domaindex_canon_free(&canon);
    return rc;
}

int main(int argc, char **argv)
{
    struct domaindex_root *root = NULL;
    struct domaindex_error err = { 0, "" };
    int missing = 0;
    int rc;

    if (argc < 3) {
        (void)fprintf(stderr, "usage: library_example ROOT DOMAIN...\n");
        return 2;
    }
    rc = domaindex_open(&root, argv[1], NULL, &err);
    for (int i = 2; rc >= 0 && i < argc; i++) {
        struct domaindex_answer *answer;

        rc = domaindex_lookup(root, argv[i], &answer, &err);
        if (rc >= 0)
            print_answer(answer);
        missing += rc == 0;
        domaindex_answer_free(&answer);
        if (rc == 1)
            rc = print_urls(root, argv[i], &err);
        if (rc >= 0)
            rc = print_canonical(root, argv[i], &err);
    }
    domaindex_close(&root);
    if (rc < 0)
        (void)fprintf(stderr, "%s\n", err.text);
    return rc < 0 || missing > 0 ? 1 : 0;
}
