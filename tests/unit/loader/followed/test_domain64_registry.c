/* SPDX-License-Identifier: Apache-2.0
 * All names of a registry of two books by number, and a number that both of them give to a name.
 */
#include "loader/followed/domain64_registry.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/fail.h"

#define TLD \
    UINT64_C(0x0100000000000000) /* the number of the first; of the second twice that, and so on */

static int failures;

/* A book with one name. */
static void make_book(struct dx_domain64_segment *b, struct dx_buf *file, uint64_t number,
                      const char *name)
{
    const struct dx_number_info info = { DX_DOMAIN64_SUB8, 1, 1 };
    const struct dx_build_id build = { { 7 } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_number_writer w;
    int rc = dx_number_writer_begin(&w, &build, &info, 1, dx_envelope_sink_buf, file, &err);

    if (rc == DX_OK)
        rc = dx_number_writer_name(&w, number, dx_span_str(name), &err);
    if (rc == DX_OK)
        rc = dx_number_writer_hash(&w, dx_number_hash(DX_PART_TLD, 0, dx_span_str(name)), 0, &err);
    if (rc == DX_OK)
        rc = dx_number_writer_end(&w, &err);
    dx_number_writer_release(&w);
    if (rc == DX_OK)
        rc = dx_domain64_segment_open(b, dx_span_of(file->data, file->size), 0, name, &err);
    CHECK(rc == DX_OK, "%s: %s", name, err.text);
}

static void check_walk(uint64_t second, int want)
{
    struct dx_domain64_registry n = { .layout = DX_DOMAIN64_SUB8, .count = 2 };
    struct dx_buf files[2] = { DX_BUF_INIT(1 << 20), DX_BUF_INIT(1 << 20) };
    struct dx_domain64_registry_walk w;
    struct dx_error err = DX_ERROR_INIT;

    make_book(&n.book[0], &files[0], TLD, "com");
    make_book(&n.book[1], &files[1], second, "org");
    CHECK(dx_domain64_registry_walk_open(&w, &n, 0, &err) == DX_OK, "%s", err.text);
    CHECK(dx_domain64_registry_walk_next(&w, &err) == 1 && w.number == TLD &&
              dx_span_equal(w.name, dx_span_str("com")) && w.part == DX_PART_TLD,
          "the first name: %s", err.text);
    CHECK(dx_domain64_registry_walk_next(&w, &err) == want, "number %llx: %s",
          (unsigned long long)second, err.text);
    if (want == 1)
        CHECK(w.number == second && dx_span_equal(w.name, dx_span_str("org")) &&
                  dx_domain64_registry_walk_next(&w, &err) == 0,
              "the second, and the end: %s", err.text);
    else
        CHECK(strstr(err.text, "two names have the number 0x0100000000000000") != NULL, "%s",
              err.text);
    dx_domain64_registry_walk_close(&w);
    for (size_t i = 0; i < 2; i++) {
        dx_domain64_segment_close(&n.book[i]);
        dx_buf_release(&files[i]);
    }
}

int main(void)
{
    check_walk(2 * TLD, 1);
    check_walk(TLD, DX_E_CORRUPT);
    return failures > 0;
}
