/* SPDX-License-Identifier: Apache-2.0
 * rerun.c - feeds every file of a corpus folder to a fuzz target, without libFuzzer.
 *
 *   fuzz_reruns fuzz_url tests/fuzz/corpus/url
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

int main(int argc, char **argv)
{
    const struct fuzz_target *target = argc == 3 ? find_target(argv[1]) : NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dirent *entry;
    size_t count = 0;
    DIR *dir;

    dir = target != NULL ? opendir(argv[2]) : NULL;
    if (dir == NULL) {
        fprintf(stderr, "usage: %s TARGET CORPUS_FOLDER (both must exist)\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(dir)) != NULL) {
        struct dx_buf bytes = DX_BUF_INIT(64 << 20);
        char path[4096];
        uint8_t *exact;

        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", argv[2], entry->d_name);
        if (dx_file_read(path, bytes.max, &bytes, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        exact = malloc(bytes.size > 0 ? bytes.size : 1); /* so that ASan sees the end */
        if (exact == NULL)
            return 1;
        if (bytes.size > 0)
            memcpy(exact, bytes.data, bytes.size);
        (void)target->input(exact, bytes.size);
        free(exact);
        dx_buf_release(&bytes);
        count++;
    }
    (void)closedir(dir);
    printf("%zu inputs\n", count);
    return count == 0 ? 1 : 0;
}
