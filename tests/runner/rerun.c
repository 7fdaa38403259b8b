/* SPDX-License-Identifier: Apache-2.0
 * rerun.c - feeds every file of corpus folders to a fuzz target, without libFuzzer.
 *
 *   fuzz_reruns fuzz_url tests/fuzz/corpus/url build/dev/tests/seeds/url
 *
 * All targets in one executable: the build compiles each LLVMFuzzerTestOneInput as <name>_input and
 * writes a table.
 */
#include "base/file.h"
#include "tests/runner/runner.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct fuzz_target *find_target(const char *name)
{
    const struct fuzz_target *target = fuzz_targets;

    while (target->name != NULL && strcmp(target->name, name) != 0)
        target++;
    return target->name != NULL ? target : NULL;
}

static void feed(const struct fuzz_target *target, const char *path)
{
    struct dx_buf bytes = DX_BUF_INIT(64 << 20);
    struct dx_error err = DX_ERROR_INIT;
    uint8_t *exact;

    if (dx_file_read(path, bytes.max, &bytes, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    exact = malloc(bytes.size > 0 ? bytes.size : 1); /* so that ASan sees the end */
    if (exact == NULL)
        exit(1);
    if (bytes.size > 0)
        memcpy(exact, bytes.data, bytes.size);
    (void)target->input(exact, bytes.size);
    free(exact);
    dx_buf_release(&bytes);
}

/* How many there are. */
static size_t feed_all(const struct fuzz_target *target, const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char path[4096];
    size_t count = 0;

    if (dir == NULL) {
        fprintf(stderr, "%s: this folder cannot be read\n", folder);
        exit(1);
    }
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        feed(target, path);
        count++;
    }
    (void)closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    const struct fuzz_target *target = argc > 2 ? find_target(argv[1]) : NULL;

    if (target == NULL) {
        fprintf(stderr, "usage: %s TARGET CORPUS_FOLDER... (all must exist)\n", argv[0]);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        size_t count = feed_all(target, argv[i]);

        printf("%s: %zu inputs\n", argv[i], count);
        if (count == 0)
            return 1;
    }
    return 0;
}
