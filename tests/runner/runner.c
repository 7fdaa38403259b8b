/* SPDX-License-Identifier: Apache-2.0
 * runner.c - all test programs of one room in one executable.
 *
 *   unit_format_core test_pages [ARGUMENT...]   the name first
 *   test_pages [ARGUMENT...]                    or a link with its name (build/<preset>/tests/test_pages)
 *   unit_format_core                            lists the names
 *
 * Each test file keeps a main of its own, which the build renames to <name>_main: one link for a
 * room instead of one for a file, and still a process for each test.
 */
#include "tests/runner/runner.h"

#include <stdio.h>
#include <string.h>

static const struct test *find_test(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const struct test *test = tests;

    while (test->name != NULL && strcmp(test->name, name) != 0)
        test++;
    return test->name != NULL ? test : NULL;
}

int main(int argc, char **argv)
{
    const struct test *test = argc > 0 ? find_test(argv[0]) : NULL;

    if (test == NULL && argc > 1) {
        test = find_test(argv[1]);
        argc--;
        argv++;
    }
    if (test != NULL)
        return test->plain != NULL ? test->plain() : test->with_arguments(argc, argv);
    for (test = tests; test->name != NULL; test++)
        puts(test->name);
    return argc > 1 ? 2 : 0;
}
