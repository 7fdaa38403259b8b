/* SPDX-License-Identifier: Apache-2.0
 * What the access commands print of a table: every line of the text, and the JSON that says the same, whole and of one principal or
 * one dataset.
 */
#include "builder/policy/access_report.h"

#include "builder/lake/dataset_registry.h"
#include "tests/support/damage.h"

#define DAY_S INT64_C(86400)
#define NOW_S INT64_C(1700000000) /* 2023-11-14T22:13:20Z */

static unsigned failures;

static void must(int rc, const struct dx_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

/* ann sees all and has an expired token and one that never ends, bob one that ends tomorrow; dataset 1 is bob's and carl's, 2 is
 * everybody's, 3 is not in the registry and ann's. */
static void make(struct dx_access_json *j)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_access_principal *ann;
    struct dx_access_principal *bob;

    must(dx_access_json_grant(j, 1, dx_span_str("bob"), &err), &err);
    must(dx_access_json_grant(j, 1, dx_span_str("carl"), &err), &err);
    must(dx_access_json_grant(j, 2, dx_span_str("*"), &err), &err);
    must(dx_access_json_grant(j, 3, dx_span_str("ann"), &err), &err);
    must(dx_access_json_add(j, dx_span_str("bob"), &bob, &err), &err);
    bob->token[bob->token_count++] = (struct dx_access_token){ .sha256 = { 0xb0, 0xb1 },
                                                               .created_s = NOW_S - DAY_S,
                                                               .expires_s = NOW_S + DAY_S };
    must(dx_access_json_add(j, dx_span_str("ann"), &ann, &err), &err);
    ann->all = true;
    ann->token[ann->token_count++] = (struct dx_access_token){ .sha256 = { 0xa0 },
                                                               .created_s = NOW_S - 2 * DAY_S,
                                                               .expires_s = NOW_S };
    ann->token[ann->token_count++] = (struct dx_access_token){ .sha256 = { 0xa1 },
                                                               .created_s = NOW_S - DAY_S };
    must(dx_access_json_note(j, NOW_S * 1000000, "root@host", "grant 1 bob", &err), &err);
}

static void expect(const struct dx_buf *got, const char *want, const char *what)
{
    EXPECT(dx_span_equal(dx_span_of(got->data, got->size), dx_span_str(want)), "%s:\n%.*snot\n%s",
           what, (int)got->size, (const char *)got->data, want);
}

static void check_list(const struct dx_access_json *j, const struct dx_dataset_registry *datasets)
{
    static const struct {
        struct dx_access_of of;
        const char *text, *json;
    } rows[] = {
        { { 0, NULL },
          "       all  (every dataset)  ann\n"
          "         1  one  bob, carl\n"
          "         2  two  *\n"
          "         3  (not known)  ann\n",
          "{\"generation\":1700000000000,\"all\":[\"ann\"],\"datasets\":["
          "{\"dataset_id\":1,\"name\":\"one\",\"principals\":[\"bob\",\"carl\"]},"
          "{\"dataset_id\":2,\"name\":\"two\",\"principals\":[\"*\"]},"
          "{\"dataset_id\":3,\"name\":null,\"principals\":[\"ann\"]}]}\n" },
        { { 0, "carl" },
          "         1  one  bob, carl\n         2  two  *\n",
          "{\"generation\":1700000000000,\"all\":[],\"datasets\":["
          "{\"dataset_id\":1,\"name\":\"one\",\"principals\":[\"bob\",\"carl\"]},"
          "{\"dataset_id\":2,\"name\":\"two\",\"principals\":[\"*\"]}]}\n" },
        { { 3, "bob" }, "", "{\"generation\":1700000000000,\"all\":[],\"datasets\":[]}\n" },
        { { 3, "ann" },
          "       all  (every dataset)  ann\n         3  (not known)  ann\n",
          "{\"generation\":1700000000000,\"all\":[\"ann\"],\"datasets\":["
          "{\"dataset_id\":3,\"name\":null,\"principals\":[\"ann\"]}]}\n" },
    };
    struct dx_buf out = DX_BUF_INIT(10000);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dx_buf_clear(&out);
        dx_access_list(j, datasets, &rows[i].of, false, &out);
        expect(&out, rows[i].text, "list");
        dx_buf_clear(&out);
        dx_access_list(j, datasets, &rows[i].of, true, &out);
        expect(&out, rows[i].json, "list --json");
    }
    dx_buf_release(&out);
}

static void check_tokens(const struct dx_access_json *j)
{
    struct dx_buf out = DX_BUF_INIT(10000);

    dx_access_tokens(j, NULL, NOW_S, false, &out);
    expect(&out,
           "a000000000000000  ann  created 2023-11-12T22:13:20Z  expired 2023-11-14T22:13:20Z\n"
           "a100000000000000  ann  created 2023-11-13T22:13:20Z\n"
           "b0b1000000000000  bob  created 2023-11-13T22:13:20Z  expires 2023-11-15T22:13:20Z\n",
           "tokens");
    dx_buf_clear(&out);
    dx_access_tokens(j, "ann", NOW_S - 1, false, &out);
    expect(&out,
           "a000000000000000  ann  created 2023-11-12T22:13:20Z  expires 2023-11-14T22:13:20Z\n"
           "a100000000000000  ann  created 2023-11-13T22:13:20Z\n",
           "tokens of ann, a second before");
    dx_buf_clear(&out);
    dx_access_tokens(j, "bob", NOW_S, true, &out);
    expect(&out,
           "{\"tokens\":[{\"principal\":\"bob\",\"token\":\"b0b1000000000000\","
           "\"created\":\"2023-11-13T22:13:20Z\",\"expires\":\"2023-11-15T22:13:20Z\","
           "\"expired\":false}]}\n",
           "tokens --json");
    dx_buf_clear(&out);
    dx_access_tokens(j, "carl", NOW_S, false, &out);
    expect(&out, "", "tokens of a name that is no principal");
    dx_buf_release(&out);
}

static void check_status(struct dx_access_json *j)
{
    static const char *const sums =
        "3 datasets are granted, 1 of them to everybody; 4 grants\n"
        "2 principals, 1 of them see all; 3 tokens, 1 of them expired\n";
    const struct dx_access_json none = DX_ACCESS_JSON_INIT;
    struct dx_buf out = DX_BUF_INIT(10000);
    char want[400];

    for (int open = 0; open < 2; open++) {
        j->open = open == 1;
        (void)snprintf(want, sizeof want, "%s\ngeneration 1700000000000, 2023-11-14T22:13:20Z\n%s",
                       open == 0 ? "in force: principals see only what is granted to them"
                                 : "not in force: everybody may see all",
                       sums);
        dx_buf_clear(&out);
        dx_access_status(j, NOW_S, false, &out);
        expect(&out, want, "status");
        (void)snprintf(want, sizeof want,
                       "{\"enforced\":%s,\"generation\":1700000000000,\"updated\":"
                       "\"2023-11-14T22:13:20Z\",\"datasets\":3,\"datasets_for_everybody\":1,"
                       "\"grants\":4,\"principals\":2,\"principals_that_see_all\":1,\"tokens\":3,"
                       "\"tokens_expired\":1}\n",
                       open == 0 ? "true" : "false");
        dx_buf_clear(&out);
        dx_access_status(j, NOW_S, true, &out);
        expect(&out, want, "status --json");
    }
    dx_buf_clear(&out);
    dx_access_status(&none, NOW_S, false, &out);
    expect(&out, "no access table: everybody may see all\n", "status of no table");
    dx_buf_release(&out);
}

static void check_log(const struct dx_access_json *j)
{
    struct dx_buf out = DX_BUF_INIT(10000);

    dx_access_log(j, false, &out);
    expect(&out, "1700000000000  2023-11-14T22:13:20Z  root@host: grant 1 bob\n", "log");
    dx_buf_clear(&out);
    dx_access_log(j, true, &out);
    expect(&out,
           "{\"history\":[{\"generation\":1700000000000,\"time\":\"2023-11-14T22:13:20Z\","
           "\"by\":\"root@host\",\"did\":\"grant 1 bob\"}]}\n",
           "log --json");
    dx_buf_release(&out);
}

int main(void)
{
    static struct dx_access_json j = DX_ACCESS_JSON_INIT;
    struct dx_dataset_registry *datasets;
    struct dx_error err = DX_ERROR_INIT;
    uint32_t id;

    must(dx_dataset_registry_new(&datasets, &err), &err);
    must(dx_dataset_registry_add(datasets, dx_span_str("one"), &id, &err), &err);
    must(dx_dataset_registry_add(datasets, dx_span_str("two"), &id, &err), &err);
    make(&j);
    check_list(&j, datasets);
    check_tokens(&j);
    check_status(&j);
    check_log(&j);
    dx_access_json_release(&j);
    dx_dataset_registry_free(&datasets);
    return failures > 0;
}
