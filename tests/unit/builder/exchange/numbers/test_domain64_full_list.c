/* SPDX-License-Identifier: Apache-2.0
 * test_domain64_full_list.c - a registry with as many books as its list can name, none of which was merged: the next filling makes
 * them one and goes on. Each filling meets one domain more, since rules hide those behind it.
 */
#include "base/file.h"
#include "builder/exchange/numbers/domain64_commit.h"
#include "builder/exchange/numbers/domain64_fill.h"
#include "format/root/suppressions.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOMAINS (DX_DOMAIN64_SEGMENTS_MAX + 2)

static unsigned failures;

static void must(int rc, const struct dx_error *err)
{
    if (rc >= 0)
        return;
    (void)fprintf(stderr, "%s\n", err->text);
    abort();
}

static void make_registry(const struct dx_test_root *r)
{
    struct dx_domain64_manifest list = DX_DOMAIN64_MANIFEST_INIT;
    struct dx_root remote = DX_ROOT_INIT;
    struct dx_error err = DX_ERROR_INIT;

    must(dx_root_open(&remote, r->path, DX_ROOT_WRITE, &err), &err);
    must(dx_domain64_init(r->path, &remote, DX_DOMAIN64_SUB8, &list, &err), &err);
    dx_root_close(&remote);
}

/* A root without a floor takes any log. */
static void hide_from(const struct dx_test_root *r, unsigned first)
{
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_buf text = DX_BUF_INIT(DX_SUPPRESSIONS_MAX);
    struct dx_error err = DX_ERROR_INIT;
    char path[160];

    for (unsigned i = first; i < DOMAINS; i++) {
        char name[64];
        struct dx_suppress_rule rule = { .kind = DX_SUPPRESS_DOMAIN };
        uint64_t number;

        dx_test_root_domain(i, name);
        rule.value = dx_span_str(name);
        must(dx_suppressions_add(&log, &rule, &number, &err), &err);
    }
    must(dx_suppressions_write(&log, &text, &err), &err);
    (void)snprintf(path, sizeof path, "%s/" DX_SUPPRESSIONS_FILE, r->path);
    must(dx_file_replace(path, dx_span_of(text.data, text.size), &err), &err);
    dx_suppressions_release(&log);
    dx_buf_release(&text);
}

int main(void)
{
    struct dx_test_root r;

    dx_test_root_make(&r, DOMAINS, 1);
    make_registry(&r);
    for (unsigned i = 1; i <= DOMAINS; i++) {
        struct dx_domain64_fill f = { .root = r.path,
                                      .memory = 16 << 20,
                                      .merge_above = DX_DOMAIN64_SEGMENTS_MAX };
        struct dx_error err = DX_ERROR_INIT;

        hide_from(&r, i);
        EXPECT(dx_domain64_fill_run(&f, &err) == DX_OK, "filling %u: %s", i, err.text);
        EXPECT(f.added[DX_PART_DOMAIN] == 1, "filling %u added %u domains", i,
               (unsigned)f.added[DX_PART_DOMAIN]);
        EXPECT(f.merged == (i == DX_DOMAIN64_SEGMENTS_MAX + 1 ? DX_DOMAIN64_SEGMENTS_MAX : 0),
               "filling %u merged %zu books", i, f.merged);
    }
    dx_test_root_remove(&r);
    return failures > 0;
}
