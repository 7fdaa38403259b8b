/* SPDX-License-Identifier: Apache-2.0
 * A batch of names whose answers are more than one write: all of them come, one after the other.
 */
#include "builder/cli/lookup_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/asker.h"
#include "tests/support/fail.h"
#include "tests/support/small_root.h"

#define DATASETS 40
#define NAMES 1000       /* some batches */
#define LEAST (1u << 20) /* bytes of all answers: a batch has more than the 256 KiB of a write */

static int failures;

static unsigned rows_of(unsigned i, unsigned dataset)
{
    (void)i;
    (void)dataset;
    return 1;
}

int main(void)
{
    struct dx_test_shape shape;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;
    struct asker a;
    char *text = NULL;
    char name[64];
    size_t size = 0;
    size_t found = 0;
    struct dx_lookup_names l = { .out = open_memstream(&text, &size) };

    dx_test_root_usual(&shape);
    shape.rows = rows_of;
    dx_test_root_make_of(&r, 2, DATASETS, &shape);
    open_asker(&a, r.path);
    dx_test_root_domain(0, name);
    l.version = a.v;
    if (l.out == NULL)
        abort();
    CHECK(dx_lookup_names_begin(&l, &err) == DX_OK, "%s", err.text);
    for (unsigned i = 0; i < NAMES; i++)
        CHECK(dx_lookup_names_one(&l, dx_span_str(name), &err) == DX_OK, "name %u: %s", i,
              err.text);
    CHECK(dx_lookup_names_end(&l, &err) == DX_OK && l.counts.names == NAMES &&
              l.counts.found == NAMES,
          "%llu names, %llu found: %s", (unsigned long long)l.counts.names,
          (unsigned long long)l.counts.found, err.text);
    dx_lookup_names_release(&l);
    (void)fclose(l.out);
    for (const char *at = text; (at = strstr(at, "\"found\":true")) != NULL; at++)
        found++;
    CHECK(size > LEAST && found == NAMES, "%zu bytes, %zu names", size, found);
    free(text);
    close_asker(&a);
    dx_test_root_remove(&r);
    return failures > 0;
}
