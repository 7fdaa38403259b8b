/* SPDX-License-Identifier: Apache-2.0
 * A loop has the table that is in force as soon as the poller says so, also the first one there is.
 */
#include "server/cache/loop_access.h"

#include "base/file.h"
#include "format/root/access_table.h"
#include "loader/followed/access.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS 50

static int failures;
static char root[] = "/tmp/dx_loop_access.XXXXXX";
static char path[64];

static struct dx_access *access_of_now;
static _Atomic unsigned in_force; /* generation that a loop must have */
static _Atomic bool over;

static void put_table(unsigned generation)
{
    struct dx_error err = DX_ERROR_INIT;
    char text[160];

    (void)snprintf(text, sizeof text,
                   "{\"format\":1,\"generation\":%u,\"updated\":\"2026-11-22T04:00:00Z\","
                   "\"dataset_acl\":[],\"principals\":[]}",
                   generation);
    if (dx_file_replace(path, dx_span_str(text), &err) < 0) {
        printf("%s\n", err.text);
        abort();
    }
}

/* A loop that has nothing else to do. */
static void *look(void *argument)
{
    struct dx_loop_access l = { NULL, 0 };
    uintptr_t wrong = 0;

    (void)argument;
    while (!atomic_load(&over)) {
        unsigned least = atomic_load(&in_force);
        const struct dx_access_table *t = dx_loop_access_now(&l, access_of_now);

        wrong += (t == NULL ? 0 : dx_access_table_generation(t)) < least;
    }
    dx_loop_access_release(&l);
    return (void *)wrong;
}

/* Begins without a table; then comes one, and another. */
static bool is_right(void)
{
    const struct dx_access_where where = { .root = root };
    struct dx_error err = DX_ERROR_INIT;
    pthread_t loop;
    void *wrong = NULL;

    (void)remove(path);
    if (dx_access_open(&access_of_now, &where, 1, &err) < 0) {
        printf("%s\n", err.text);
        abort();
    }
    atomic_store(&in_force, 0);
    atomic_store(&over, false);
    if (pthread_create(&loop, NULL, look, NULL) != 0)
        abort();
    for (unsigned generation = 5; generation < 7; generation++) {
        put_table(generation);
        if (dx_access_poll(access_of_now, generation, &err) != 1) {
            printf("generation %u: %s\n", generation, err.text);
            failures++;
        }
        atomic_store(&in_force, generation);
        (void)usleep(200);
    }
    atomic_store(&over, true);
    (void)pthread_join(loop, &wrong);
    dx_access_close(&access_of_now);
    return wrong == NULL;
}

static void test_no_access(void)
{
    struct dx_loop_access l = { NULL, 0 };

    if (dx_loop_access_now(&l, NULL) != NULL) {
        printf("a table of nobody\n");
        failures++;
    }
    dx_loop_access_release(&l);
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    unsigned wrong = 0;

    if (mkdtemp(root) == NULL)
        abort();
    (void)snprintf(path, sizeof path, "%s/index", root);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/index/access.json", root);
    test_no_access();
    for (unsigned i = 0; i < ROUNDS; i++)
        wrong += !is_right();
    if (wrong > 0) {
        printf("in %u of %d rounds a loop went on with an older table, or with none\n", wrong,
               ROUNDS);
        failures++;
    }
    if (dx_dir_remove(root, &err) < 0) {
        printf("%s\n", err.text);
        failures++;
    }
    printf("%d rounds, %d failures\n", ROUNDS, failures);
    return failures != 0;
}
