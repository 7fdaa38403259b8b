/* SPDX-License-Identifier: Apache-2.0
 * rerun.c - feeds every file of a corpus folder to a fuzz target, without libFuzzer.
 */
#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dirent *entry;
    size_t count = 0;
    DIR *dir;

    dir = argc == 2 ? opendir(argv[1]) : NULL;
    if (dir == NULL) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER (which must exist)\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(dir)) != NULL) {
        struct dx_buf bytes = DX_BUF_INIT(64 << 20);
        char path[4096];
        uint8_t *exact;

        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (dx_file_read(path, bytes.max, &bytes, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        exact = malloc(bytes.size > 0 ? bytes.size : 1); /* so that ASan sees the end */
        if (exact == NULL)
            return 1;
        if (bytes.size > 0)
            memcpy(exact, bytes.data, bytes.size);
        (void)LLVMFuzzerTestOneInput(exact, bytes.size);
        free(exact);
        dx_buf_release(&bytes);
        count++;
    }
    (void)closedir(dir);
    printf("%zu inputs\n", count);
    return count == 0 ? 1 : 0;
}
