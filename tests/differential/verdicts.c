/* SPDX-License-Identifier: Apache-2.0
 * verdicts.c - verdicts of our parsers on inputs from standard input, for tests/e2e/differential.py.
 *
 *   verdicts url /usr/share/publicsuffix/public_suffix_list.dat <inputs >verdicts
 *   verdicts head|json|row|zseek|parquet|regex <inputs >verdicts
 *
 * An input is a little-endian u32, its length, and so many bytes; so is a verdict (verdict.h). Each verdict is written before the next
 * input is read: how many there are says which input a crash is about. The input ends where its memory does, so that ASan sees a read behind it.
 */
#include "tests/differential/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX (64u << 20)

static const struct {
    const char *name;
    void (*judge)(struct dx_span input, struct dx_buf *out);
} kinds[] = {
    { "url", dx_verdict_url },     { "head", dx_verdict_head },   { "json", dx_verdict_json },
    { "row", dx_verdict_row },     { "zseek", dx_verdict_zseek }, { "parquet", dx_verdict_parquet },
    { "regex", dx_verdict_regex },
};

/* 1, 0 at the end; -1: the input is cut short, or memory is. */
static int read_input(uint8_t **bytes, size_t *size)
{
    uint8_t head[4];
    size_t n = fread(head, 1, sizeof head, stdin);

    if (n == 0)
        return 0;
    *size = dx_load_u32(head);
    if (n < sizeof head || *size > INPUT_MAX)
        return -1;
    *bytes = malloc(*size > 0 ? *size : 1);
    return *bytes != NULL && fread(*bytes, 1, *size, stdin) == *size ? 1 : -1;
}

static bool write_verdict(const struct dx_buf *out)
{
    uint8_t head[4];

    if (out->failed)
        return false;
    dx_store_u32(head, (uint32_t)out->size);
    return fwrite(head, 1, sizeof head, stdout) == sizeof head &&
           fwrite(out->data, 1, out->size, stdout) == out->size && fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    void (*judge)(struct dx_span input, struct dx_buf * out) = NULL;
    struct dx_buf out = DX_BUF_INIT(DX_VERDICT_MAX);
    uint8_t *bytes = NULL;
    size_t size = 0;
    int rc = 1;

    for (size_t i = 0; argc >= 2 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            judge = kinds[i].judge;
    if (judge == NULL || argc != (judge == dx_verdict_url ? 3 : 2)) {
        (void)fprintf(stderr, "usage: verdicts url SUFFIX_LIST, or verdicts KIND\n");
        return 2;
    }
    if (argc == 3 && !dx_verdict_suffixes(argv[2]))
        return 1;
    while (rc > 0 && (rc = read_input(&bytes, &size)) > 0) {
        dx_buf_clear(&out);
        judge(dx_span_of(bytes, size), &out);
        if (!write_verdict(&out))
            rc = -1;
        free(bytes);
        bytes = NULL;
    }
    free(bytes);
    dx_buf_release(&out);
    if (rc < 0)
        (void)fprintf(
            stderr, "verdicts: an input that is cut short, or a verdict that cannot be written\n");
    return rc < 0 ? 1 : 0;
}
