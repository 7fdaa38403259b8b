/* SPDX-License-Identifier: Apache-2.0
 * The access table: what is written is read, what is wrong is refused with the place, who sees what
 * against a slow restatement over random tables, scopes that stay the same from table to table.
 */
#include "format/root/access_table.h"
#include "format/root/access_token.h"
#include "format/root/registry_json.h"
#include "tests/support/damage.h"

static int failures;

static struct dx_span str(const char *s)
{
    return dx_span_str(s);
}

#define NOW_US (INT64_C(1795257000) * 1000000)

/* ---- tokens ---- */

static void test_tokens(void)
{
    /* Made once with python: int.from_bytes, divmod by 62, zlib.crc32. */
    static const struct {
        uint8_t first, step;
        const char *text;
    } rows[] = {
        { 0, 0, "dxk_00000000000000000000000000000000000000000002G1Tsm" },
        { 255, 0, "dxk_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp13p8lHM" },
        { 1, 1, "dxk_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno3mBpFX" },
    };
    uint8_t random[DX_ACCESS_TOKEN_RANDOM];
    char text[DX_ACCESS_TOKEN_TEXT];

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (size_t i = 0; i < sizeof random; i++)
            random[i] = (uint8_t)(rows[r].first + i * rows[r].step);
        dx_access_token_write(random, text);
        EXPECT(strcmp(text, rows[r].text) == 0, "row %zu: %s", r, text);
        EXPECT(dx_access_token_ok(str(text)), "row %zu is refused", r);
        for (size_t i = 0; i < DX_ACCESS_TOKEN_SIZE; i++) {
            char old = text[i];

            text[i] = old == 'x' ? 'y' : 'x';
            EXPECT(!dx_access_token_ok(str(text)), "row %zu: byte %zu changed", r, i);
            text[i] = old;
            EXPECT(!dx_access_token_ok(dx_span_of(text, i)), "row %zu: cut at %zu", r, i);
        }
        text[20] = '\0';
        EXPECT(!dx_access_token_ok(dx_span_of(text, DX_ACCESS_TOKEN_SIZE)), "a NUL inside");
    }
}

/* ---- the text ---- */

static void grant(struct dx_access_json *j, uint32_t id, const char *name, int want)
{
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_access_json_grant(j, id, str(name), &err);

    EXPECT(rc == want, "grant %u %s: %d, %s", id, name, rc, err.text);
}

static void small_table(struct dx_access_json *j)
{
    struct dx_access_principal *p = NULL;

    grant(j, 9, "team-a", 1);
    grant(j, 3, "*", 1);
    grant(j, 9, "auditor", 1);
    grant(j, 9, "team-a", 0);
    EXPECT(dx_access_json_add(j, str("team-a"), &p, NULL) == 1, "team-a");
    p->cost_per_s = 200;
    p->cost_burst = 2000;
    p->token_count = 2;
    memset(p->token[0].sha256, 0xa1, 32);
    p->token[0].created_s = 1795257000;
    memset(p->token[1].sha256, 0xb2, 32);
    p->token[1].created_s = 1795257001;
    p->token[1].expires_s = 1795258000;
    EXPECT(dx_access_json_add(j, str("boss"), &p, NULL) == 1, "boss");
    p->all = true;
    EXPECT(dx_access_json_note(j, NOW_US, "uid 0 at host", "init", NULL) == DX_OK, "note");
    EXPECT(dx_access_json_note(j, NOW_US, "uid 0 at host", "grant", NULL) == DX_OK, "note");
}

static const char small_text[] =
    "{\"format\":1,\"generation\":1795257000001,\"updated\":\"2026-11-21T10:30:00Z\",\n"
    "\"dataset_acl\":[\n"
    "{\"dataset_id\":3,\"principals\":[\"*\"]},\n"
    "{\"dataset_id\":9,\"principals\":[\"auditor\",\"team-a\"]}],\n"
    "\"principals\":[\n"
    "{\"name\":\"boss\",\"all\":true,\"tokens\":[]},\n"
    "{\"name\":\"team-a\",\"all\":false,\"cost_per_s\":200,\"cost_burst\":2000,\"tokens\":["
    "{\"sha256\":\"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1\","
    "\"created\":\"2026-11-21T10:30:00Z\"},"
    "{\"sha256\":\"b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2\","
    "\"created\":\"2026-11-21T10:30:01Z\",\"expires\":\"2026-11-21T10:46:40Z\"}]}],\n"
    "\"history\":[\n"
    "{\"generation\":1795257000000,\"time\":\"2026-11-21T10:30:00Z\",\"by\":\"uid 0 at host\","
    "\"did\":\"init\"},\n"
    "{\"generation\":1795257000001,\"time\":\"2026-11-21T10:30:00Z\",\"by\":\"uid 0 at host\","
    "\"did\":\"grant\"}]}\n";

static void test_text(void)
{
    struct dx_access_json j = DX_ACCESS_JSON_INIT;
    struct dx_access_json again;
    struct dx_buf text = DX_BUF_INIT(1u << 20);
    struct dx_error err = DX_ERROR_INIT;

    small_table(&j);
    EXPECT(dx_access_json_write(&j, &text, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_span_equal(dx_span_of(text.data, text.size), str(small_text)), "written: %.*s",
           (int)text.size, (const char *)text.data);
    EXPECT(dx_access_json_parse(&again, str(small_text), "a", &err) == DX_OK, "%s", err.text);
    dx_buf_clear(&text);
    EXPECT(dx_access_json_write(&again, &text, &err) == DX_OK &&
               dx_span_equal(dx_span_of(text.data, text.size), str(small_text)),
           "written again: %s", err.text);
    EXPECT(dx_access_json_revoke(&again, 9, str("auditor")) == 1 &&
               dx_access_json_revoke(&again, 9, str("auditor")) == 0 &&
               dx_access_json_revoke(&again, 4, str("auditor")) == 0,
           "revoke");
    EXPECT(dx_access_json_remove(&again, str("team-a")) == 1 &&
               dx_access_json_entry(&again, 9) == NULL &&
               dx_access_json_principal(&again, str("team-a")) == NULL &&
               dx_access_json_remove(&again, str("team-a")) == 0,
           "remove");
    dx_access_json_clear(&again);
    dx_buf_clear(&text);
    EXPECT(dx_access_json_write(&again, &text, &err) == DX_OK, "%s", err.text);
    dx_access_json_release(&again);
    EXPECT(dx_access_json_parse(&again, dx_span_of(text.data, text.size), "a", &err) == DX_OK &&
               again.open && again.history_count == 2,
           "cleared: %s", err.text);
    dx_access_json_release(&again);
    dx_access_json_release(&j);
    dx_buf_release(&text);
}

static void test_history(void)
{
    struct dx_access_json j = DX_ACCESS_JSON_INIT;
    struct dx_buf text = DX_BUF_INIT(1u << 20);
    char long_text[DX_ACCESS_HISTORY_TEXT + 2] = "";

    for (int i = 0; i < 1000; i++) {
        char did[32];

        (void)snprintf(did, sizeof did, "change %d", i);
        EXPECT(dx_access_json_note(&j, NOW_US, "somebody", did, NULL) == DX_OK, "note %d", i);
    }
    EXPECT(j.history_count == DX_ACCESS_HISTORY_MAX &&
               strcmp(j.history[DX_ACCESS_HISTORY_MAX - 1].did, "change 999") == 0 &&
               strcmp(j.history[0].did, "change 744") == 0,
           "%zu changes, the first is %s", j.history_count, j.history[0].did);
    EXPECT(j.generation == INT64_C(1795257000000) + 999, "generation");
    EXPECT(dx_access_json_note(&j, NOW_US + INT64_C(86400000000), "s", "later", NULL) == DX_OK &&
               j.generation == INT64_C(1795257000000) + 86400000,
           "the clock's");
    EXPECT(dx_access_json_note(&j, NOW_US, "a\nb", "x", NULL) == DX_E_INVALID, "a line break");
    memset(long_text, 'd', sizeof long_text - 1);
    EXPECT(dx_access_json_note(&j, NOW_US, "s", long_text, NULL) == DX_E_INVALID, "a long text");
    j.generation = INT64_MAX;
    EXPECT(dx_access_json_note(&j, NOW_US, "s", "x", NULL) == DX_E_LIMIT &&
               j.generation == INT64_MAX,
           "the last generation");
    dx_access_json_release(&j);
    dx_buf_release(&text);
}

#define HEAD "{\"format\":1,\"generation\":7,\"updated\":\"2026-11-22T04:00:00Z\","
#define NONE "\"principals\":[]}"
#define ACL(entries) HEAD "\"dataset_acl\":[" entries "]," NONE
#define WHO(principals) HEAD "\"dataset_acl\":[],\"principals\":[" principals "]}"
#define HEX62 "00000000000000000000000000000000000000000000000000000000000000"
#define TOKEN(end) "{\"sha256\":\"" HEX62 end "\",\"created\":\"2026-11-22T04:00:00Z\"}"
#define TOKENS(list) WHO("{\"name\":\"a\",\"all\":false,\"tokens\":[" list "]}")

#define CHANGE(number) \
    "{\"generation\":" number ",\"time\":\"2026-11-22T04:00:00Z\",\"by\":\"a\",\"did\":\"b\"}"

static void test_refusals(void)
{
    static const struct {
        const char *text, *word; /* word NULL: it is taken */
    } rows[] = {
        { ACL(""), NULL },
        { ACL("{\"dataset_id\":1,\"principals\":[\"*\"]}"), NULL },
        { TOKENS(TOKEN("01") "," TOKEN("02")), NULL },
        { "", "line 1" },
        { "[]", "not an object" },
        { "{\"format\":2}", "format 1" },
        { "{\"format\":1}", "'generation' is missing" },
        { HEAD "\"dataset_acl\":[]," NONE " x", "line 1" },
        { HEAD "\"dataset_acl\":[],\"dataset_acl\":[]," NONE, "uplicate" },
        { HEAD "\"dataset_acl\":[],\"more\":1," NONE, "'more' is a member that is not known" },
        { HEAD "\"dataset_acl\":{}," NONE, "'dataset_acl' is not an array" },
        { "{\"format\":1,\"generation\":0,\"updated\":\"2026-11-22T04:00:00Z\",\"dataset_acl\":[]"
          "," NONE,
          "'generation' is not a whole number" },
        { "{\"format\":1,\"generation\":-1,\"updated\":\"2026-11-22T04:00:00Z\",\"dataset_acl\":[]"
          "," NONE,
          "'generation' is not a whole number" },
        { "{\"format\":1,\"generation\":1.0,\"updated\":\"2026-11-22T04:00:00Z\",\"dataset_acl\":[]"
          "," NONE,
          "'generation' is not a whole number" },
        { "{\"format\":1,\"generation\":1,\"updated\":\"2026-11-22 "
          "04:00:00Z\",\"dataset_acl\":[]," NONE,
          "'updated' is not a time" },
        { "{\"format\":1,\"generation\":1,\"updated\":\"2026-11-22T04:00:00.5Z\",\"dataset_acl\":[]"
          "," NONE,
          "'updated' is not a time" },
        { ACL("7"), "dataset_acl[0]: not an object" },
        { ACL("{\"dataset_id\":1}"), "'principals' is missing" },
        { ACL("{\"dataset_id\":1,\"principals\":[\"*\"],\"x\":1}"), "'x' is a member" },
        { ACL("{\"dataset_id\":0,\"principals\":[\"*\"]}"),
          "dataset_acl[0]: 'dataset_id' is not a whole number of 1..2147483647" },
        { ACL("{\"dataset_id\":2147483648,\"principals\":[\"*\"]}"),
          "dataset_acl[0]: 'dataset_id' is not a whole number of 1..2147483647" },
        { ACL("{\"dataset_id\":\"1\",\"principals\":[\"*\"]}"),
          "dataset_acl[0]: 'dataset_id' is not a whole number of 1..2147483647" },
        { ACL("{\"dataset_id\":1,\"principals\":[]}"), "'principals' is empty" },
        { ACL("{\"dataset_id\":1,\"principals\":\"*\"}"), "'principals' is not an array" },
        { ACL("{\"dataset_id\":1,\"principals\":[1]}"), "principals[0]: not a text" },
        { ACL("{\"dataset_id\":1,\"principals\":[\"\"]}"),
          "dataset_acl[0].principals[0]: not a principal's name" },
        { ACL("{\"dataset_id\":1,\"principals\":[\"a b\"]}"),
          "dataset_acl[0].principals[0]: not a principal's name" },
        { ACL("{\"dataset_id\":1,\"principals\":[\"anonymous\"]}"),
          "dataset_acl[0].principals[0]: not a principal's name" },
        { ACL("{\"dataset_id\":1,\"principals\":[\"a\",\"a\"]}"), "'a' is not behind" },
        { ACL("{\"dataset_id\":1,\"principals\":[\"b\",\"a\"]}"), "'a' is not behind" },
        { ACL("{\"dataset_id\":1,\"principals\":[\"a\"]},{\"dataset_id\":1,\"principals\":[\"b\"]"
              "}"),
          "dataset_acl[1]: dataset_id 1 is not above" },
        { WHO("{\"name\":\"a\",\"all\":false}"), "'tokens' is missing" },
        { WHO("{\"name\":\"a\",\"all\":1,\"tokens\":[]}"), "neither true nor false" },
        { WHO("{\"name\":\"*\",\"all\":false,\"tokens\":[]}"), "not a principal's name" },
        { WHO("{\"name\":\"anonymous\",\"all\":false,\"tokens\":[]}"), "not a principal's name" },
        { WHO("{\"name\":\"a\",\"all\":false,\"tokens\":[]},{\"name\":\"a\",\"all\":true,"
              "\"tokens\":[]}"),
          "principals[1]: name 'a' is not behind" },
        { WHO("{\"name\":\"a\",\"all\":false,\"tokens\":[],\"cost_per_s\":0}"), "cost_per_s" },
        { WHO("{\"name\":\"a\",\"all\":false,\"tokens\":[],\"cost_burst\":1000000001}"),
          "cost_burst" },
        { TOKENS(TOKEN("0")), "principals[0].tokens[0]: 'sha256' is not 64" },
        { TOKENS(TOKEN("0A")), "principals[0].tokens[0]: 'sha256' is not 64" },
        { TOKENS(TOKEN("0g")), "principals[0].tokens[0]: 'sha256' is not 64" },
        { TOKENS(TOKEN("001")), "principals[0].tokens[0]: 'sha256' is not 64" },
        { TOKENS(TOKEN("01") "," TOKEN("02") "," TOKEN("03")),
          "'tokens' has 3 entries, at most 2" },
        { TOKENS(TOKEN("01") "," TOKEN("01")), "token 2: its sha256 stands twice" },
        { TOKENS("{\"sha256\":\"" HEX62 "01\",\"created\":\"soon\"}"),
          "principals[0].tokens[0]: 'created'" },
        { TOKENS("{\"sha256\":\"" HEX62
                 "01\",\"created\":\"2026-11-22T04:00:00Z\",\"expires\":null}"),
          "'expires' is not a time" },
        { HEAD "\"enforced\":1,\"dataset_acl\":[]," NONE, "'enforced' is neither" },
        { HEAD
          "\"enforced\":false,\"dataset_acl\":[{\"dataset_id\":1,\"principals\":[\"*\"]}]," NONE,
          "not enforced, but" },
        { HEAD
          "\"history\":[{\"generation\":8,\"time\":\"2026-11-22T04:00:00Z\",\"by\":\"a\",\"did\":"
          "\"b\"}],\"dataset_acl\":[]," NONE,
          "history[0]: 'generation'" },
        { HEAD
          "\"history\":[" CHANGE("5") "," CHANGE("6") "," CHANGE("7") "],\"dataset_acl\":[]," NONE,
          NULL },
        { HEAD
          "\"history\":[" CHANGE("5") "," CHANGE("6") "," CHANGE("6") "],\"dataset_acl\":[]," NONE,
          "history[2]: 'generation'" },
        { HEAD
          "\"history\":[" CHANGE("5") "," CHANGE("4") "," CHANGE("6") "],\"dataset_acl\":[]," NONE,
          "history[1]: 'generation'" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dx_access_table *t;
        struct dx_error err = DX_ERROR_INIT;
        int rc = dx_access_table_parse(&t, str(rows[i].text), "FILE", NULL, &err);

        if (rows[i].word == NULL)
            EXPECT(rc == DX_OK, "row %zu: %s", i, err.text);
        else
            EXPECT(rc < 0 && strncmp(err.text, "FILE: ", 6) == 0 &&
                       strstr(err.text, rows[i].word) != NULL,
                   "row %zu: %d, '%s' without '%s'", i, rc, err.text, rows[i].word);
        dx_access_table_drop(&t);
    }
}

/* Every cut, and each byte in turn made another: refused, or a table that says the same everywhere
 * else. */
static void test_damage(void)
{
    struct damaged d = damaged_copy(str(small_text));
    size_t taken = 0;

    for (size_t n = 0; n < d.size; n++) {
        const struct dx_access_table *t;

        if (n < d.size - 1)
            EXPECT(dx_access_table_parse(&t, dx_span_of(d.bytes + d.size - n, n), "x", NULL, NULL) <
                       0,
                   "the last %zu bytes", n);
        for (int bit = 0; bit < 8; bit++) {
            d.bytes[n] ^= (uint8_t)(1 << bit);
            if (dx_access_table_parse(&t, dx_span_of(d.bytes, d.size), "x", NULL, NULL) == DX_OK)
                taken++;
            dx_access_table_drop(&t);
            d.bytes[n] ^= (uint8_t)(1 << bit);
        }
    }
    EXPECT(taken > 0 && taken < 4 * d.size, "%zu of %zu flips are taken", taken, 8 * d.size);
    damaged_free(&d);
}

/* ---- who sees what ---- */

#define NAMES 12
#define IDS 40

struct model {
    bool granted[NAMES + 1][IDS]; /* the last: everybody */
    bool all[NAMES];
    bool known[NAMES];
};

static const char *name_of(size_t i)
{
    static const char *const names[NAMES + 1] = { "a", "aa", "b:1", "c@x", "d", "e", "f",
                                                  "g", "h",  "i",   "z",   "Z", "*" };
    return names[i];
}

static void random_table(struct model *m, struct dx_buf *text, uint64_t *seed)
{
    struct dx_access_json j = DX_ACCESS_JSON_INIT;

    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < NAMES; i++)
        if (random_below(seed, 2) == 0) {
            struct dx_access_principal *p = NULL;

            (void)dx_access_json_add(&j, str(name_of(i)), &p, NULL);
            m->known[i] = true;
            m->all[i] = p->all = random_below(seed, 5) == 0;
            p->token_count = 1;
            p->token[0].created_s = 1;
            memset(p->token[0].sha256, (int)i + 1, 32);
        }
    for (size_t k = random_below(seed, 60); k > 0; k--) {
        size_t i = random_below(seed, NAMES + 1);
        uint32_t id = (uint32_t)random_below(seed, IDS - 1) + 1;

        m->granted[i][id] = true;
        if (i < NAMES)
            m->known[i] = true;
        (void)dx_access_json_grant(&j, id, str(name_of(i)), NULL);
    }
    (void)dx_access_json_note(&j, NOW_US, "test", "random", NULL);
    dx_buf_clear(text);
    (void)dx_access_json_write(&j, text, NULL);
    dx_access_json_release(&j);
}

static void check_scope(const struct model *m, const struct dx_scope *scope, size_t i)
{
    for (uint32_t id = 0; id < IDS; id++) {
        bool want = m->granted[NAMES][id] || (i < NAMES && (m->granted[i][id] || m->all[i]));

        EXPECT(dx_scope_has(scope, id) == want, "%s and dataset %u: not %d", name_of(i), id, want);
    }
    EXPECT((scope == NULL) == (i < NAMES && m->all[i]), "%s: a list of all is not all", name_of(i));
}

static void check_table(const struct model *m, const struct dx_access_table *t)
{
    for (size_t i = 0; i < NAMES; i++) {
        const struct dx_principal *p = dx_access_table_named(t, str(name_of(i)));
        uint8_t sha[32];

        EXPECT((p != NULL) == m->known[i], "%s is known: %d", name_of(i), p != NULL);
        if (p != NULL)
            check_scope(m, p->scope, i);
        memset(sha, (int)i + 1, sizeof sha);
        EXPECT(dx_access_table_token(t, sha, 5) == NULL || dx_access_table_token(t, sha, 5) == p,
               "token of %s", name_of(i));
        sha[31] ^= 1;
        EXPECT(dx_access_table_token(t, sha, 5) == NULL, "no token of %s", name_of(i));
    }
    check_scope(m, dx_access_table_anonymous(t)->scope, NAMES);
    EXPECT(dx_access_table_named(t, str("*")) == NULL &&
               dx_access_table_named(t, str("anonymous")) == NULL,
           "nobody is called so");
}

/* Equal sets have one key, within a table and from one to the next; others have others. */
static void check_keys(const struct dx_access_table *a, const struct dx_access_table *b)
{
    for (size_t i = 0; i < NAMES; i++)
        for (size_t k = 0; k < NAMES; k++) {
            const struct dx_principal *p = dx_access_table_named(a, str(name_of(i)));
            const struct dx_principal *q = dx_access_table_named(b, str(name_of(k)));

            if (p != NULL && q != NULL)
                EXPECT(dx_scope_equal(p->scope, q->scope) ==
                           (dx_scope_key(p->scope) == dx_scope_key(q->scope)),
                       "keys of %s and %s", name_of(i), name_of(k));
        }
}

static void test_tables(void)
{
    struct dx_buf text = DX_BUF_INIT(1u << 20);
    const struct dx_access_table *former = NULL;
    uint64_t seed = 42;

    for (int round = 0; round < 400; round++) {
        const struct dx_access_table *t;
        struct dx_error err = DX_ERROR_INIT;
        struct model m;

        random_table(&m, &text, &seed);
        EXPECT(dx_access_table_parse(&t, dx_span_of(text.data, text.size), "t", former, &err) ==
                   DX_OK,
               "%s", err.text);
        check_table(&m, t);
        check_keys(t, t);
        if (former != NULL)
            check_keys(former, t);
        dx_access_table_drop(&former);
        former = t;
    }
    dx_access_table_drop(&former);
    dx_buf_release(&text);
}

static void test_expiry(void)
{
    const struct dx_access_table *t = NULL;
    uint8_t a[32];
    uint8_t b[32];

    memset(a, 0xa1, 32);
    memset(b, 0xb2, 32);
    EXPECT(dx_access_table_parse(&t, str(small_text), "t", NULL, NULL) == DX_OK, "small");
    EXPECT(dx_access_table_token(t, a, INT64_MAX) != NULL, "a token without an end ended");
    EXPECT(dx_access_table_token(t, b, 1795257999) != NULL, "too early");
    EXPECT(dx_access_table_token(t, b, 1795258000) == NULL, "too late");
    EXPECT(dx_access_table_token(t, b, 1795257999)->cost_per_s == 200 &&
               dx_access_table_generation(t) == INT64_C(1795257000001) &&
               dx_access_table_principals(t) == 3,
           "what the table says");
    dx_access_table_drop(&t);
}

/* A small text may not ask for much memory: many who each have one more than everybody has. */
static void test_caps(void)
{
    struct dx_buf text = DX_BUF_INIT(DX_ACCESS_MAX + 100);
    const struct dx_access_table *t;
    struct dx_error err = DX_ERROR_INIT;
    const char *comma = "";

    dx_buf_str(&text, HEAD "\"dataset_acl\":[");
    for (int i = 0; i < 150000; i++, comma = ",")
        dx_buf_fmt(&text, "%s{\"dataset_id\":%d,\"principals\":[\"%s%.0d\"]}", comma, 7 * i + 1,
                   i % 8 == 0 ? "p" : "*", i % 8 == 0 ? i : 0);
    dx_buf_str(&text, "]," NONE);
    EXPECT(!text.failed && dx_access_table_parse(&t, dx_span_of(text.data, text.size), "t", NULL,
                                                 &err) == DX_E_LIMIT,
           "%zu bytes: %s", text.size, err.text);
    EXPECT(strstr(err.text, "sets of datasets") != NULL || strstr(err.text, "at most") != NULL,
           "%s", err.text);
    text.size = DX_ACCESS_MAX + 1;
    EXPECT(dx_access_table_parse(&t, dx_span_of(text.data, text.size), "t", NULL, &err) ==
               DX_E_LIMIT,
           "%s", err.text);
    dx_buf_release(&text);
}

static void test_bounds(void)
{
    struct dx_access_json j = DX_ACCESS_JSON_INIT;
    struct dx_buf text = DX_BUF_INIT(2 * DX_ACCESS_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_access_principal *p;
    char name[DX_ACCESS_NAME_MAX + 2];

    EXPECT(dx_access_json_grant(&j, 0, str("a"), &err) == DX_E_INVALID, "%s", err.text);
    EXPECT(dx_access_json_grant(&j, DX_DATASET_ID_MAX, str("a"), &err) == 1 &&
               dx_access_json_grant(&j, DX_DATASET_ID_MAX, str("a"), &err) == 0,
           "%s", err.text);
    for (unsigned i = 0; i < DX_ACCESS_PRINCIPALS_MAX; i++) { /* in their order: none makes room */
        (void)snprintf(name, sizeof name, "p%06u", i);
        EXPECT(dx_access_json_add(&j, str(name), &p, &err) == 1, "%u: %s", i, err.text);
    }
    EXPECT(dx_access_json_add(&j, str("p000007"), &p, &err) == 0 && strcmp(p->name, "p000007") == 0,
           "one that is there: %s", err.text);
    EXPECT(dx_access_json_add(&j, str("more"), &p, &err) == DX_E_LIMIT, "one too many: %s",
           err.text);
    dx_access_json_clear(&j);
    EXPECT(j.principal_count == 0 && j.entry_count == 0 && j.open, "%zu left", j.principal_count);
    for (unsigned i = 0; i < 100 * 700; i++) { /* of 128 bytes each */
        (void)snprintf(name, sizeof name, "%0*u", DX_ACCESS_NAME_MAX, i % 100);
        EXPECT(dx_access_json_grant(&j, 1 + i / 100, str(name), &err) == 1, "%u: %s", i, err.text);
    }
    EXPECT(dx_access_json_write(&j, &text, &err) == DX_E_LIMIT &&
               strstr(err.text, "at most 8388608 are read") != NULL,
           "%s", err.text);
    dx_buf_release(&text);
    dx_access_json_release(&j);
}

int main(void)
{
    test_tokens();
    test_text();
    test_history();
    test_refusals();
    test_damage();
    test_tables();
    test_expiry();
    test_caps();
    test_bounds();
    return failures > 0;
}
