/* SPDX-License-Identifier: Apache-2.0
 * index/access.json: what is accepted is written and read again as the same text, and can be asked
 * and changed; the whole input is also taken as a name and as a token.
 */
#include "format/root/access_table.h"
#include "format/root/access_token.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void change(struct dx_access_json *j)
{
    struct dx_span name = dx_span_str("fuzz");
    struct dx_access_principal *p;

    if (j->open || j->generation == INT64_MAX)
        return;
    if (dx_access_json_grant(j, 7, name, NULL) >= 0)
        must(dx_access_json_entry(j, 7) != NULL && dx_access_json_grant(j, 7, name, NULL) == 0);
    if (dx_access_json_add(j, name, &p, NULL) >= 0)
        must(dx_access_json_remove(j, name) == 1 && dx_access_json_principal(j, name) == NULL);
    must(dx_access_json_revoke(j, 7, name) == 0);
    must(dx_access_json_note(j, 1000000, "fuzz", "change", NULL) == DX_OK);
}

static void ask(const struct dx_access_table *t, struct dx_span name)
{
    uint8_t sha256[32] = { 0 };
    const struct dx_principal *p = dx_access_table_named(t, name);

    must(p == NULL || dx_span_equal(dx_span_str(p->name), name));
    must(dx_access_table_anonymous(t)->scope != NULL);
    (void)dx_access_table_token(t, sha256, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dx_span text = dx_span_of(data, size);
    struct dx_buf once = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_buf twice = DX_BUF_INIT(SIZE_MAX / 2);
    const struct dx_access_table *t = NULL;
    struct dx_access_json j;

    must(!dx_access_token_ok(text) || size == DX_ACCESS_TOKEN_SIZE);
    (void)dx_access_name_ok(text);
    if (dx_access_json_parse(&j, text, "fuzz", NULL) == DX_OK) {
        must(dx_access_json_write(&j, &once, NULL) == DX_OK);
        dx_access_json_release(&j);
        must(dx_access_json_parse(&j, dx_span_of(once.data, once.size), "again", NULL) == DX_OK);
        must(dx_access_json_write(&j, &twice, NULL) == DX_OK);
        must(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
        change(&j);
    }
    dx_access_json_release(&j);
    if (dx_access_table_parse(&t, text, "fuzz", NULL, NULL) == DX_OK)
        ask(t, text);
    dx_access_table_drop(&t);
    dx_buf_release(&once);
    dx_buf_release(&twice);
    return 0;
}
