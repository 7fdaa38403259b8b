/* SPDX-License-Identifier: Apache-2.0
 * Threads ask one root while it is published again and refreshed: each answer is that of the version it names.
 */
#include "builder/publish/publish.h"
#include "lib/domaindex.h"
#include "tests/support/small_root.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DOMAINS 60
#define DATASETS 3
#define THREADS 4
#define FLIPS 3

static atomic_int failures;
static atomic_bool over;
static struct domaindex_root *root;

static void check(bool ok, const char *what, const char *more)
{
    if (!ok) {
        atomic_fetch_add(&failures, 1);
        printf("%s: %s\n", what, more);
    }
}

static int status_of(const char *target)
{
    struct domaindex_error err = { 0, "" };
    struct domaindex_answer *a;
    size_t size;
    int status;

    if (domaindex_get(root, target, &a, &err) < 0) {
        check(false, target, err.text);
        return -1;
    }
    status = domaindex_answer_status(a);
    check(domaindex_answer_body(a, &size)[0] == '{' && domaindex_answer_body(a, &size)[size] == 0,
          target, "a JSON text");
    domaindex_answer_free(&a);
    return status;
}

static void test_status(void)
{
    static const struct {
        const char *target;
        int status;
    } rows[] = {
        { "/v1/datasets", 200 },
        { "/v1/versions", 200 },
        { "/v1/normalize?q=WWW.Example.com", 200 },
        { "/v1/domain/stranger.example", 404 },
        { "/v1/domain/com", 400 },
        { "/v1/datasets?limit=0", 400 },
        { "/v1/nothing", 404 },
        { "/healthz", 404 },
        { "/metrics", 404 },
        { "v1/datasets", 400 },
        { "/v1/domain/a b", 400 },
        { "/v1/datasets?version=000009-20261121T111712Z", 503 },
        { "/v1/datasets?cursor=x", 400 },
        { "", 400 },
        { "/v1/domain/a\x7f", 400 },
        { "/v1/domain/\xc3\xa4", 400 },
        { "/v1/domain/a#b", 400 },
        { "/v1/domains", 200 },
        { "/version", 404 },
        { "/v1/datasets?format=xlsx", 400 },
    };
    char *target = malloc(10000);
    char said[40];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int status = status_of(rows[i].target);

        (void)snprintf(said, sizeof said, "status %d", status);
        check(status == rows[i].status, rows[i].target, said);
    }
    memset(target, 'a', 9999);
    target[0] = '/';
    target[9999] = '\0';
    check(status_of(target) == 414, "a long target", "414");
    free(target);
}

static void test_list(void)
{
    struct domaindex_error err = { 0, "" };
    struct domaindex_answer *a;
    char text[64];
    char list[200];
    const char *body;
    size_t size;

    dx_test_root_domain(0, text);
    (void)snprintf(list, sizeof list, "%s\nstranger.example\n", text);
    check(domaindex_post(root, "/v1/domains?format=ndjson", list, strlen(list), &a, &err) == 1,
          "a list", err.text);
    body = domaindex_answer_body(a, &size);
    check(strstr(body, text) != NULL && strstr(body, "stranger.example") != NULL, "a list", body);
    domaindex_answer_free(&a);
    for (int matrix = 0; matrix < 2; matrix++) {
        check(domaindex_post(root,
                             matrix ? "/v1/domains?format=matrix&datasets=1,2"
                                    : "/v1/domains?format=csv",
                             list, strlen(list), &a, &err) == 1 &&
                  strcmp(domaindex_answer_type(a), "text/csv; charset=utf-8") == 0,
              "a list as a table", a == NULL ? err.text : domaindex_answer_type(a));
        body = domaindex_answer_body(a, &size);
        check(strstr(body, text) != NULL && size > 0, "a list as a table", body);
        domaindex_answer_free(&a);
    }
    check(domaindex_post(root, "/v1/domains", list, 0, &a, &err) == 1, "an empty list", err.text);
    body = domaindex_answer_body(a, &size);
    check(strncmp(body, "{\"summary\":{\"names\":0,", 22) == 0 && strlen(body) == size &&
              domaindex_answer_retry_s(a) == 0,
          "an empty list", body);
    domaindex_answer_free(&a);
    domaindex_answer_free(&a);
    check(domaindex_post(root, "/v1/datasets", list, strlen(list), &a, &err) == 0 &&
              domaindex_answer_status(a) == 400,
          "a list for another resource", err.text);
    domaindex_answer_free(&a);
    check(domaindex_post(root, "/v1/domains?format=xml", list, strlen(list), &a, &err) == 0 &&
              domaindex_answer_status(a) == 400,
          "a list", "format");
    domaindex_answer_free(&a);
}

/* Listings: pages without and with a cursor, of one dataset and of all; names that need escapes. */
static void test_pages(void)
{
    struct domaindex_error err = { 0, "" };
    struct domaindex_answer *a = NULL;
    char domain[64], cursor[3000] = "";
    char *huge;
    size_t size;

    dx_test_root_domain(0, domain);
    for (int64_t dataset = -1; dataset <= 1; dataset += 2) {
        const char *at;

        check(domaindex_urls(root, domain, dataset, NULL, 0, &a, &err) == 1, domain, err.text);
        check(strstr(domaindex_answer_body(a, &size), "\"items\":[{") != NULL, domain, "items");
        domaindex_answer_free(&a);
        check(domaindex_urls(root, domain, dataset, NULL, 1, &a, &err) == 1, domain, err.text);
        at = strstr(domaindex_answer_body(a, &size), "\"next_cursor\":\"");
        cursor[0] = '\0';
        if (at != NULL)
            (void)snprintf(cursor, sizeof cursor, "%.*s", (int)strcspn(at + 15, "\""), at + 15);
        domaindex_answer_free(&a);
        check(cursor[0] != '\0', domain, "a cursor");
        check(domaindex_urls(root, domain, dataset, cursor, 0, &a, &err) == 1 &&
                  strstr(domaindex_answer_body(a, &size), "\"items\":[{") != NULL,
              "the next page", a == NULL ? err.text : domaindex_answer_body(a, &size));
        domaindex_answer_free(&a);
    }
    check(domaindex_urls(root, domain, -1, "a~b/?&", 2, &a, &err) == 0 &&
              domaindex_answer_status(a) == 400 &&
              strstr(domaindex_answer_body(a, &size), "bad-cursor") != NULL,
          "no cursor", "400");
    domaindex_answer_free(&a);
    check(domaindex_lookup(root, "https://WWW.stranger.example/~a?b=c#d", &a, &err) == 0 &&
              domaindex_answer_status(a) == 404,
          "a URL", "404");
    domaindex_answer_free(&a);
    huge = malloc(200000);
    memset(huge, '/', 199999);
    huge[199999] = '\0';
    check(domaindex_lookup(root, huge, &a, &err) < 0 && a == NULL &&
              strstr(err.text, "too long") != NULL,
          "a name of 200 kB", err.text);
    free(huge);
}

static void *ask(void *number)
{
    unsigned i = *(unsigned *)number;

    while (!atomic_load(&over)) {
        struct domaindex_error err = { 0, "" };
        struct domaindex_answer *a;
        char domain[64];
        size_t size;

        dx_test_root_domain(i++ % DOMAINS, domain);
        if (i % 2 == 0 ? domaindex_urls(root, domain, 1, NULL, 3, &a, &err) != 1
                       : domaindex_lookup(root, domain, &a, &err) != 1) {
            check(false, domain, a != NULL ? domaindex_answer_body(a, &size) : err.text);
            domaindex_answer_free(&a);
            break;
        }
        check(strstr(domaindex_answer_body(a, &size), domaindex_answer_version(a)) != NULL, domain,
              "the version is that of the body");
        domaindex_answer_free(&a);
    }
    return NULL;
}

/* The same lake as another version. */
static void publish_again(struct dx_test_root *r)
{
    struct dx_publish_options options = { .root = r->path,
                                          .memory = DX_PUBLISH_MEMORY_MIN,
                                          .threads = 1,
                                          .force = true,
                                          .now_us = 1763719200000000 };
    struct dx_publish_result result;
    struct dx_error err = DX_ERROR_INIT;

    check(dx_publish(&options, &result, &err) >= 0, "publish", err.text);
    (void)snprintf(r->version, sizeof r->version, "%s", result.version);
    dx_publish_result_release(&result);
}

static void test_flips(struct dx_test_root *r)
{
    struct domaindex_error err = { 0, "" };
    pthread_t threads[THREADS];
    unsigned first[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        first[i] = i * 7;
        (void)pthread_create(&threads[i], NULL, ask, &first[i]);
    }
    check(domaindex_refresh(root, &err) == 0, "a refresh without a new version", err.text);
    for (int i = 0; i < FLIPS; i++) {
        struct domaindex_answer *a = NULL;

        publish_again(r);
        check(domaindex_refresh(root, &err) == 1, "a refresh", err.text);
        check(domaindex_get(root, "/v1/datasets", &a, &err) == 1 &&
                  strcmp(domaindex_answer_version(a), r->version) == 0,
              "the new version answers", r->version);
        domaindex_answer_free(&a);
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

static void test_named(struct dx_test_root *r, const char *old)
{
    struct domaindex_options options = { .size = sizeof options, .version = old };
    struct domaindex_error err = { 0, "" };
    struct domaindex_answer *a = NULL;
    struct domaindex_root *named;
    struct domaindex_canon *canon = NULL;
    char longer[100] = "";

    check(domaindex_open(&named, r->path, &options, &err) == DOMAINDEX_OK, "a named version",
          err.text);
    check(domaindex_get(named, "/v1/datasets", &a, &err) == 1 &&
              strcmp(domaindex_answer_version(a), old) == 0,
          "the named version answers", old);
    domaindex_answer_free(&a);
    domaindex_close(&named);
    options.version = "000777-20261121T111712Z";
    check(domaindex_open(&named, r->path, &options, &err) < 0 && named == NULL, "no version",
          err.text);
    memset(longer, '1', sizeof longer - 1);
    options.version = longer;
    check(domaindex_open(&named, r->path, &options, &err) < 0 && named == NULL &&
              strstr(err.text, "neither name nor number") != NULL,
          "a long name", err.text);
    /* A program that was built with fewer options: what is behind is not read. */
    options = (struct domaindex_options){ .size = offsetof(struct domaindex_options, version),
                                          .version = longer };
    check(domaindex_open(&named, r->path, &options, &err) == DOMAINDEX_OK, "fewer options",
          err.text);
    domaindex_close(&named);
    options = (struct domaindex_options){ .size = sizeof options,
                                          .version = "1",
                                          .cache_dir = r->path,
                                          .cache_bytes = 3 << 20,
                                          .verify = 1 };
    check(domaindex_open(&named, r->path, &options, &err) == DOMAINDEX_OK, "all options", err.text);
    check(domaindex_get(named, "/v1/datasets", &a, &err) == 1 &&
              strcmp(domaindex_answer_version(a), old) == 0,
          "version 1", old);
    domaindex_answer_free(&a);
    check(domaindex_canon_of(named, &canon, &err) == DOMAINDEX_OK, "its canonical form", err.text);
    domaindex_canon_free(&canon);
    check(domaindex_refresh(named, &err) == 0, "a named version does not change", err.text);
    domaindex_close(&named);
    check(domaindex_open(&named, "/nowhere/at-all", NULL, &err) < 0 && err.code < 0, "no root",
          err.text);
}

/* A manifest that cannot be read is said, and the root goes on with what it has. */
static void test_damaged(struct dx_test_root *r)
{
    struct domaindex_error err = { 0, "" };
    struct domaindex_answer *a = NULL;
    char path[200];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/index/manifest.json", r->path);
    f = fopen(path, "r+");
    check(f != NULL && fputs("{]", f) >= 0 && fclose(f) == 0, path, "damaged");
    check(domaindex_refresh(root, &err) < 0 && err.code < 0 && err.text[0] != '\0', "a refresh",
          err.text);
    check(domaindex_get(root, "/v1/datasets", &a, &err) == 1, "the version before", err.text);
    domaindex_answer_free(&a);
}

int main(void)
{
    struct domaindex_error err = { 0, "" };
    struct dx_test_root r;
    char old[32];

    dx_test_root_make(&r, DOMAINS, DATASETS);
    memcpy(old, r.version, sizeof old);
    if (domaindex_open(&root, r.path, NULL, &err) != DOMAINDEX_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    test_status();
    test_list();
    test_pages();
    test_flips(&r);
    test_named(&r, old);
    test_damaged(&r);
    domaindex_close(&root);
    dx_test_root_remove(&r);
    return atomic_load(&failures) > 0;
}
