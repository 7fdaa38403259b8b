/* SPDX-License-Identifier: Apache-2.0
 * fuzz_input_detect.c - what `ingest --detect` makes of any file: columns, profile and first rows, or
 * words. First byte: the format that is asked for, and whether a profile is.
 */
#include "builder/input/files/input_detect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *why)
{
    fprintf(stderr, "fuzz_input_detect: %s\n", why);
    abort();
}

static void check_text(const char *text, size_t size)
{
    size_t n = strnlen(text, size);

    if (n == size)
        die("a text without an end");
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            die("a text that is not fit for a terminal");
}

static void check(const struct dx_detected *d)
{
    for (size_t i = 0; i < d->column_count && i < DX_DETECT_COLUMNS; i++) {
        const struct dx_detected_column *c = &d->column[i];

        check_text(c->type, sizeof c->type);
        if (strnlen(c->name, sizeof c->name) == sizeof c->name)
            die("a name without an end");
        if (c->urls > c->values || c->times > c->values)
            die("more URLs or times than values");
    }
    if (d->row_count > DX_DETECT_ROWS)
        die("too many rows");
    for (size_t i = 0; i < d->row_count; i++)
        check_text(d->row[i], sizeof d->row[i]);
}

static void detect(const char *path, enum dx_record_format format, const struct dx_profile *profile)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_detected *d = NULL;
    int rc = dx_input_detect(&d, path, format, profile, &err);

    if (d == NULL)
        die("nothing");
    if (rc < 0 ? err.text[0] == '\0' : d->url[0] == '\0')
        die("neither a URL column nor words");
    check(d);
    dx_input_detect_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct dx_profile *profile = NULL;
    char path[64];
    int fd;

    if (size < 1 || size > 1 << 16)
        return 0;
    fd = memfd_create("input", 0);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (data[0] >= 128 && dx_profile_get(&profile, "oscar-23", NULL) < 0)
        die("no profile");
    detect(path, (enum dx_record_format)(data[0] % (DX_RECORD_WARC + 1)), profile);
    (void)close(fd);
    return 0;
}
