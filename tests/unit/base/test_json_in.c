/* SPDX-License-Identifier: Apache-2.0
 * JSON documents read by members: types and bounds, the place in the error, and that the first
 * thing that is wrong stays.
 */
#include "base/json_in.h"
#include "tests/support/damage.h"

static int failures;

struct house {
    char names[64]; /* "a,b," */
    uint64_t sum;
    int64_t built_us;
    bool open;
    uint8_t key[2];
};

static void read_floor(struct dx_json_in *in, const struct dx_json_node *o, struct house *h)
{
    static const char *const names[] = { "rooms", "lamps" };
    const struct dx_json_node *entry;
    struct dx_json_list l;

    dx_json_in_members(in, o, names, 2, 1);
    dx_json_in_list(in, &l, o, "rooms", 3);
    while ((entry = dx_json_in_next(in, &l)) != NULL) {
        strncat(h->names, dx_json_in_entry_str(in, entry, 4), 4);
        strcat(h->names, ",");
    }
    if (!dx_json_in_has(o, "lamps"))
        return;
    dx_json_in_map(in, &l, o, "lamps", 3);
    while ((entry = dx_json_in_next(in, &l)) != NULL)
        h->sum += dx_json_in_entry_u64(in, entry, 1, 9) * strlen(l.key);
}

static int read_house(struct dx_span text, struct house *h, struct dx_error *err)
{
    struct dx_json_in in;
    const struct dx_json_node *root = dx_json_in_open(&in, text, 1000, "house.json");
    const struct dx_json_node *o;
    struct dx_json_list l;

    *h = (struct house){ .sum = 0 };
    h->open = dx_json_in_bool(&in, root, "open");
    dx_json_in_hex(&in, root, "key", h->key, sizeof h->key);
    h->built_us = dx_json_in_null(root, "built") ? -1
                                                 : dx_json_in_time(&in, root, "built", 1000000);
    h->sum = dx_json_in_u64(&in, root, "doors", 2, 5);
    dx_json_in_list(&in, &l, root, "floors", 2);
    while ((o = dx_json_in_next(&in, &l)) != NULL)
        read_floor(&in, o, h);
    if (in.rc == DX_OK)
        (void)dx_json_in_try(&in, h->sum == 100 ? dx_fail(&in.err, DX_E_INVALID, "a hundred") : 0);
    return dx_json_in_close(&in, err);
}

#define HOUSE(open, key, built, doors, floors)                                \
    "{\"open\":" open ",\"key\":" key ",\"built\":" built ",\"doors\":" doors \
    ",\"floors\":" floors "}"
#define FLOORS(floors) HOUSE("true", "\"0aff\"", "null", "2", floors)

static const struct {
    const char *text;
    const char *says; /* names and sum, or the error's end */
    int rc;
} rows[] = {
    { FLOORS("[]"), " 2", DX_OK },
    { FLOORS("[{\"rooms\":[\"a\",\"bcde\"]},{\"rooms\":[],\"lamps\":{\"xy\":9,\"z\":1}}]"),
      "a,bcde, 21", DX_OK },
    { HOUSE("false", "\"0000\"", "\"2026-11-21T10:30:00Z\"", "5", "[]"), " 5", DX_OK },
    { "", "line 1, column 1: a value is expected", DX_E_CORRUPT },
    { "[]", "house.json: not an object", DX_E_CORRUPT },
    { "{}", "'open' is neither true nor false", DX_E_CORRUPT },
    { "{\"open\":1,\"open\":1}", "line 1, column 19: duplicate member", DX_E_CORRUPT },
    { "{\"open\":\"\\u0000\"}", "line 1", DX_E_CORRUPT },
    { HOUSE("null", "\"0aff\"", "null", "2", "[]"), "'open' is neither", DX_E_CORRUPT },
    { HOUSE("true", "\"0aFf\"", "null", "2", "[]"), "'key' is not 4 lower-case", DX_E_CORRUPT },
    { HOUSE("true", "\"0aff0\"", "null", "2", "[]"), "'key' is not 4", DX_E_CORRUPT },
    { HOUSE("true", "7", "null", "2", "[]"), "'key' is not 4", DX_E_CORRUPT },
    { HOUSE("true", "\"0aff\"", "0", "2", "[]"), "'built' is not a time", DX_E_CORRUPT },
    { HOUSE("true", "\"0aff\"", "\"2026-11-21T10:30:00.5Z\"", "2", "[]"), "'built' is not a time",
      DX_E_CORRUPT },
    { HOUSE("true", "\"0aff\"", "\"2026-11-21 10:30:00Z\"", "2", "[]"), "'built' is not a time",
      DX_E_CORRUPT },
    { HOUSE("true", "\"0aff\"", "null", "1", "[]"), "'doors' is not a whole number of 2..5",
      DX_E_CORRUPT },
    { HOUSE("true", "\"0aff\"", "null", "6", "[]"), "'doors' is not", DX_E_CORRUPT },
    { HOUSE("true", "\"0aff\"", "null", "-3", "[]"), "'doors' is not", DX_E_CORRUPT },
    { HOUSE("true", "\"0aff\"", "null", "2.0", "[]"), "'doors' is not", DX_E_CORRUPT },
    { HOUSE("true", "\"0aff\"", "null", "\"2\"", "[]"), "'doors' is not", DX_E_CORRUPT },
    { FLOORS("{}"), "house.json: 'floors' is not an array", DX_E_CORRUPT },
    { FLOORS("[1,2,3]"), "'floors' has 3 entries, at most 2", DX_E_LIMIT },
    { FLOORS("[1]"), "house.json: floors[0]: not an object", DX_E_CORRUPT },
    { FLOORS("[{\"rooms\":[]},{}]"), "floors[1]: 'rooms' is missing", DX_E_CORRUPT },
    { FLOORS("[{\"rooms\":[],\"x\":1}]"), "floors[0]: 'x' is a member that is not known",
      DX_E_CORRUPT },
    { FLOORS("[{\"rooms\":[\"a\",\"bcdef\"]}]"),
      "house.json: floors[0].rooms[1]: not a text of at most 4 bytes", DX_E_CORRUPT },
    { FLOORS("[{\"rooms\":[7]}]"), "floors[0].rooms[0]: not a text", DX_E_CORRUPT },
    { FLOORS("[{\"rooms\":[],\"lamps\":[]}]"), "floors[0]: 'lamps' is not an object",
      DX_E_CORRUPT },
    { FLOORS("[{\"rooms\":[],\"lamps\":{\"a\":1,\"b c\":0}}]"),
      "house.json: floors[0].lamps.b c: not a whole number of 1..9", DX_E_CORRUPT },
    { FLOORS("[{\"rooms\":[]},{\"rooms\":[],\"lamps\":{"
             "\"0123456789012345678901234567890123456789012345678901234567890123456789\":10}}]"),
      "floors[1].lamps.012345678901234567890123456789012345678901234567890123456789: not",
      DX_E_CORRUPT },
    { FLOORS("[{\"rooms\":[],\"lamps\":{\"01234567890123\":7}}]"), "house.json: a hundred",
      DX_E_INVALID },
};

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct damaged d = damaged_copy(dx_span_str(rows[i].text));
        struct dx_error err = DX_ERROR_INIT;
        struct house h;
        char got[200];
        int rc = read_house(dx_span_of(d.bytes, d.size), &h, &err);

        (void)snprintf(got, sizeof got, "%s %llu", h.names, (unsigned long long)h.sum);
        if (rows[i].rc == DX_OK)
            EXPECT(rc == DX_OK && strcmp(got, rows[i].says) == 0, "row %zu: %d '%s' %s", i, rc, got,
                   err.text);
        else
            EXPECT(rc == rows[i].rc && (int)err.code == rc &&
                       strncmp(err.text, "house.json: ", 12) == 0 &&
                       strstr(err.text, rows[i].says) != NULL,
                   "row %zu: %d '%s', not '%s'", i, rc, err.text, rows[i].says);
        damaged_free(&d);
    }
}

static void test_first_failure(void)
{
    struct dx_json_in in;
    const struct dx_json_node *o = dx_json_in_open(&in, dx_span_str("{\"a\":1,\"l\":[1]}"), 100,
                                                   "F");
    struct dx_error err = DX_ERROR_INIT;
    struct dx_json_list l;

    EXPECT(dx_json_in_u64(&in, o, "a", 0, 1) == 1 && in.rc == DX_OK, "a number");
    EXPECT(dx_json_in_u64(&in, o, "b", 0, 1) == 0 && in.rc == DX_E_CORRUPT, "no number");
    EXPECT(dx_json_in_u64(&in, o, "a", 0, 1) == 0, "nothing after it");
    dx_json_in_list(&in, &l, o, "l", 9);
    EXPECT(dx_json_in_next(&in, &l) == NULL, "no list after it");
    EXPECT(strcmp(dx_json_in_str(&in, o, "c", 9), "") == 0, "no text after it");
    dx_json_in_fail(&in, DX_E_IO, "later");
    EXPECT(dx_json_in_close(&in, &err) == DX_E_CORRUPT && strstr(err.text, "F: 'b' is") != NULL,
           "%s", err.text);
    o = dx_json_in_open(&in, dx_span_str("{\"a\":1}"), 6, "F");
    EXPECT(o == NULL && dx_json_in_u64(&in, o, "a", 0, 1) == 0 && !dx_json_in_has(o, "a") &&
               dx_json_in_count(o) == 0,
           "nothing of nothing");
    EXPECT(dx_json_in_close(&in, &err) == DX_E_LIMIT && strstr(err.text, "F: 7 bytes") != NULL,
           "%s", err.text);
}

int main(void)
{
    test_rows();
    test_first_failure();
    return failures > 0;
}
