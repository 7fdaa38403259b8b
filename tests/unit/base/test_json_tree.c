/* SPDX-License-Identifier: Apache-2.0
 * JSON texts as arrays of values: what is refused and where, and against jansson: mutations of a document are
 * taken by both or by none, with the same values.
 */
#include "base/json_tree.h"

#include "tests/support/damage.h"
#include "tests/support/sample.h"

#include <jansson.h>

static int failures;

static const struct {
    const char *text;
    const char *says; /* NULL: taken */
} rows[] = {
    { "{}", NULL },
    { " [ ] \n", NULL },
    { "7", NULL },
    { "\"\"", NULL },
    { "-0", NULL },
    { "[9223372036854775807,-9223372036854775807,-9223372036854775808]", NULL },
    { "[1.5,1e9,-0.5E-7,123456789012345678901234]", NULL },
    { "\"\\ud83d\\ude00\\u00e9\\u20ac\\\"\\\\\\/\\b\\f\\n\\r\\t\x7f\"", NULL },
    { "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]"
      "]]]]]"
      "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
      NULL },
    { "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]"
      "]]]]]"
      "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
      "line 1, column 65: too many levels" },
    { "", "line 1, column 1: a value is expected" },
    { "[1,\n  2,\n  ]", "line 3, column 3: a value is expected" },
    { "[1 2]", "line 1, column 4: ',' or ']' is expected" },
    { "{\"a\":1;}", "line 1, column 7: ',' or '}' is expected" },
    { "{\"a\" 1}", "line 1, column 6: ':' is expected" },
    { "{a:1}", "line 1, column 2: a member's name is expected" },
    { "{\"a\":1,}", "line 1, column 8: a member's name is expected" },
    { "{} x", "line 1, column 4: end of file is expected" },
    { "01", "line 1, column 2: end of file is expected" },
    { "-", "line 1, column 2: a value is expected" },
    { "1.", "line 1, column 3: a number without digits behind the point" },
    { "1e+", "line 1, column 4: a number without digits in its exponent" },
    { "tru", "line 1, column 1: a value is expected" },
    { "\"abc", "line 1, column 5: a text without its end" },
    { "\"a\nb\"", "line 1, column 3: a control character in a text" },
    { "\"\\x\"", "line 1, column 2: an escape that JSON does not have" },
    { "\"\\", "line 1, column 2: an escape that JSON does not have" },
    { "\"\\u12g4\"", "line 1, column 4: '\\u' without four digits" },
    { "\"\\u0000\"", "line 1, column 4: a NUL in a text" },
    { "\"\\ud83d\"", "line 1, column 4: half of a surrogate pair" },
    { "\"\\ude00\\ud83d\"", "line 1, column 4: half of a surrogate pair" },
    { "\"\xc3\x28\"", "line 1, column 2: not UTF-8" },
    { "\"\xed\xa0\x80\"", "line 1, column 2: not UTF-8" },
    { "{\"a\":1,\"b\":{},\"a\":1}", "line 1, column 20: duplicate member" },
    { "{\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"a\":0,\"b\":0,"
      "\"c\":0,"
      "\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0}",
      NULL },
    { "{\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"a\":0,\"b\":0,"
      "\"c\":0,"
      "\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"\\u0061\":0}",
      "duplicate member" },
};

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_str(rows[i].text));
        struct dx_error err = DX_ERROR_INIT;
        struct dx_json_tree tree;
        int rc = dx_json_tree_parse(&tree, dx_span_of(d.bytes, d.size), &err);

        EXPECT(rows[i].says == NULL ? rc == DX_OK
                                    : rc == DX_E_CORRUPT && strstr(err.text, rows[i].says) != NULL,
               "row %zu: %d '%s'", i, rc, err.text);
        dx_json_tree_release(&tree);
        damaged_free(&d);
    }
}

static bool same(const struct dx_json_node *v, const json_t *j);

static bool same_members(const struct dx_json_node *o, const json_t *j)
{
    const struct dx_json_node *key = dx_json_first(o);
    bool equal = json_object_size(j) == o->size;

    for (uint32_t i = 0; i < o->size && equal; i++, key = dx_json_after(key + 1)) {
        const json_t *member = json_object_get(j, key->text);

        equal = member != NULL && key->kind == DX_JSON_TEXT && key->nodes == 1 &&
                same(key + 1, member);
    }
    return equal && dx_json_after(o) == key;
}

static bool same_entries(const struct dx_json_node *a, const json_t *j)
{
    const struct dx_json_node *v = dx_json_first(a);
    bool equal = json_array_size(j) == a->size;

    for (uint32_t i = 0; i < a->size && equal; i++, v = dx_json_after(v))
        equal = same(v, json_array_get(j, i));
    return equal && dx_json_after(a) == v;
}

static bool same(const struct dx_json_node *v, const json_t *j)
{
    switch (v->kind) {
    case DX_JSON_NULL:
        return json_is_null(j);
    case DX_JSON_FALSE:
        return json_is_false(j);
    case DX_JSON_TRUE:
        return json_is_true(j);
    case DX_JSON_WHOLE:
        return json_is_integer(j) && json_integer_value(j) == v->number;
    case DX_JSON_OTHER:
        return json_is_real(j);
    case DX_JSON_TEXT:
        return json_is_string(j) && json_string_length(j) == v->size &&
               memcmp(json_string_value(j), v->text, v->size + 1) == 0;
    case DX_JSON_ARRAY:
        return json_is_array(j) && same_entries(v, j);
    case DX_JSON_OBJECT:
        return json_is_object(j) && same_members(v, j);
    }
    return false;
}

/* jansson refuses numbers that do not fit; here they have a kind and no value. */
static bool has_large(const struct dx_json_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->node[i].kind == DX_JSON_OTHER)
            return true;
    return false;
}

static void compare(struct dx_span text)
{
    struct dx_json_tree tree;
    json_error_t where;
    json_t *j = json_loadb((const char *)text.data, text.size,
                           JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    int rc = dx_json_tree_parse(&tree, text, NULL);

    EXPECT(rc == DX_OK ? j == NULL ? has_large(&tree) : same(tree.node, j) : j == NULL,
           "'%.*s': %d, jansson: %s", (int)text.size, (const char *)text.data, rc,
           j == NULL ? where.text : "taken");
    json_decref(j);
    dx_json_tree_release(&tree);
}

static void test_mutations(void)
{
    static const char document[] =
        "{\"datasets\":[\n{\"dataset_id\":1,\"name\":\"a\\u00e9\\ud83d\\ude00b\\n\",\"metadata\":{"
        "\"k\":"
        "\"v\xc3\xa9\",\"kk\":null},\"rows\":1234567890123456789,\"x\":-1.5e+3,\"first_ts\":"
        "\"2012-01-01T00:00:00Z\"},\n{\"dataset_id\":20,\"list\":[true,false,[],{},\"\"]}\n]}\n";
    static const char bytes[] = "\"\\{}[]:,0159.eE+-utfnd \n\t\xc3\xa9\xed\x01x";
    const size_t times = dx_sample(100000, 30000);
    uint64_t state = 11;

    for (size_t n = 0; n < times; n++) {
        uint8_t text[sizeof document + 8];
        size_t size = sizeof document - 1;

        memcpy(text, document, size);
        for (size_t changes = 1 + n % 3; changes > 0; changes--) {
            size_t at;

            state = state * 6364136223846793005u + 1442695040888963407u;
            at = (state >> 33) % size;
            if (state >> 62 == 0)
                memmove(text + at, text + at + 1, --size - at);
            else if (state >> 62 == 1)
                memmove(text + at + 1, text + at, size++ - at);
            else
                text[at] = (uint8_t)bytes[(state >> 20) % (sizeof bytes - 1)];
        }
        compare(dx_span_of(text, size));
    }
}

int main(void)
{
    test_rows();
    test_mutations();
    return failures > 0;
}
