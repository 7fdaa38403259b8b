/* SPDX-License-Identifier: Apache-2.0
 * The log of suppressions: what is written is read, each flip and cut is refused, what continues
 * what. Its rules: against a slow restatement of what each kind hits, over random rules and rows.
 */
#include "format/root/rules.h"
#include "tests/support/damage.h"

static int failures;

static struct dx_span str(const char *s)
{
    return dx_span_str(s);
}

static uint64_t add(struct dx_suppressions *log, enum dx_suppress_kind kind,
                    enum dx_suppress_policy policy, const char *value, const char *reason)
{
    struct dx_suppress_rule rule = { .time_us = INT64_C(1795257000000000),
                                     .kind = kind,
                                     .policy = policy,
                                     .value = str(value),
                                     .reason = str(reason) };
    struct dx_error err = DX_ERROR_INIT;
    uint64_t number = 0;
    int rc = dx_suppressions_add(log, &rule, &number, &err);

    return rc == DX_OK ? number : 0;
}

static void small_log(struct dx_suppressions *log)
{
    uint64_t number;

    (void)add(log, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_WITHHELD, "example.com", "ticket 17");
    (void)add(log, DX_SUPPRESS_HOST, DX_SUPPRESS_ABSENT, "www.example.org:8080", "");
    (void)add(log, DX_SUPPRESS_PREFIX, DX_SUPPRESS_WITHHELD, "a.example.net/private/",
              "caf\xc3\xa9");
    (void)dx_suppressions_lift(log, 0, 1, str("mistake"), &number, NULL);
    (void)add(log, DX_SUPPRESS_URL, DX_SUPPRESS_ABSENT, "https://b.example.net/x?y=1", "");
}

static void test_round_trip(void)
{
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_suppressions again;
    struct dx_buf text = DX_BUF_INIT(1u << 20);
    struct dx_buf text2 = DX_BUF_INIT(1u << 20);
    struct dx_error err = DX_ERROR_INIT;

    small_log(&log);
    EXPECT(log.count == 5, "%zu lines", log.count);
    EXPECT(log.lines[0].other == 4 && log.lines[3].other == 1, "the lift is not known");
    EXPECT(dx_suppressions_write(&log, &text, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_suppressions_parse(dx_span_of(text.data, text.size), "log", &again, &err) == DX_OK,
           "%s", err.text);
    EXPECT(again.count == 5 && again.lines[0].other == 4, "%zu lines read", again.count);
    EXPECT(
        dx_span_equal(dx_suppression_value(&again, &again.lines[2]), str("a.example.net/private/")),
        "value");
    EXPECT(dx_span_equal(dx_suppression_reason(&again, &again.lines[2]), str("caf\xc3\xa9")),
           "reason");
    EXPECT(dx_suppressions_write(&again, &text2, &err) == DX_OK && text.size == text2.size &&
               memcmp(text.data, text2.data, text.size) == 0,
           "not the same bytes");
    dx_suppressions_release(&again);
    dx_suppressions_release(&log);
    dx_buf_release(&text);
    dx_buf_release(&text2);
}

static void test_continues(void)
{
    struct dx_suppressions none = DX_SUPPRESSIONS_INIT;
    struct dx_suppressions one = DX_SUPPRESSIONS_INIT;
    struct dx_suppressions two = DX_SUPPRESSIONS_INIT;
    struct dx_suppressions other = DX_SUPPRESSIONS_INIT;

    (void)add(&one, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, "a.com", "");
    (void)add(&two, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, "a.com", "");
    (void)add(&two, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, "b.com", "");
    (void)add(&other, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, "b.com", "");
    (void)add(&other, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, "a.com", "");
    EXPECT(dx_suppressions_continues(&one, &none), "one of none");
    EXPECT(dx_suppressions_continues(&one, &one), "one of itself");
    EXPECT(dx_suppressions_continues(&two, &one), "two of one");
    EXPECT(!dx_suppressions_continues(&one, &two), "one of two");
    EXPECT(!dx_suppressions_continues(&other, &one), "another log");
    EXPECT(!dx_suppressions_continues(&none, &one), "none of one");
    dx_suppressions_release(&one);
    dx_suppressions_release(&two);
    dx_suppressions_release(&other);
}

static const struct {
    enum dx_suppress_kind kind;
    const char *value;
    bool ok;
} values[] = {
    { DX_SUPPRESS_DOMAIN, "example.com", true },
    { DX_SUPPRESS_DOMAIN, "[::1]", true },
    { DX_SUPPRESS_DOMAIN, "", false },
    { DX_SUPPRESS_DOMAIN, "Example.com", false },
    { DX_SUPPRESS_DOMAIN, "example.com.", false },
    { DX_SUPPRESS_DOMAIN, ".example.com", false },
    { DX_SUPPRESS_DOMAIN, "example.com/", false },
    { DX_SUPPRESS_DOMAIN, "example com", false },
    { DX_SUPPRESS_DOMAIN, "ex\tample.com", false },
    { DX_SUPPRESS_DOMAIN, "ex\nample.com", false },
    { DX_SUPPRESS_DOMAIN, "m\xc3\xbcnchen.de", false },
    { DX_SUPPRESS_HOST, "www.example.com:8080", true },
    { DX_SUPPRESS_HOST, "u@example.com", false },
    { DX_SUPPRESS_PREFIX, "example.com/", true },
    { DX_SUPPRESS_PREFIX, "example.com/a?b", true },
    { DX_SUPPRESS_PREFIX, "example.com", false },
    { DX_SUPPRESS_PREFIX, "/a", false },
    { DX_SUPPRESS_URL, "https://example.com/a", true },
    { DX_SUPPRESS_URL, "https://example.com", false },
    { DX_SUPPRESS_URL, "https:/example.com/", false },
    { DX_SUPPRESS_URL, "://example.com/", false },
    { DX_SUPPRESS_URL, "example.com/a", false },
};

static void test_values(void)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
        bool ok = add(&log, values[i].kind, DX_SUPPRESS_ABSENT, values[i].value, "") == 1;

        EXPECT(ok == values[i].ok, "%s '%s': %d", dx_suppress_kind_name(values[i].kind),
               values[i].value, ok);
        EXPECT(log.count == (ok ? 1 : 0), "%zu lines after it", log.count);
        dx_suppressions_release(&log);
    }
}

static void test_refused_lifts(void)
{
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    uint64_t number;

    small_log(&log);
    EXPECT(dx_suppressions_lift(&log, 0, 1, str(""), &number, NULL) == DX_E_NOT_FOUND, "twice");
    EXPECT(dx_suppressions_lift(&log, 0, 4, str(""), &number, NULL) == DX_E_NOT_FOUND, "a lift");
    EXPECT(dx_suppressions_lift(&log, 0, 6, str(""), &number, NULL) == DX_E_NOT_FOUND, "no line");
    EXPECT(dx_suppressions_lift(&log, 0, 0, str(""), &number, NULL) == DX_E_NOT_FOUND, "0");
    EXPECT(add(&log, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, "a.com", "a\nb") == 0, "two lines");
    EXPECT(log.count == 5, "%zu lines", log.count);
    dx_suppressions_release(&log);
}

/* Lines with a right checksum that no writer makes. */
static const char *const bad_lines[] = {
    "2\t2026-11-21T10:30:00Z\tadd\tdomain\tabsent\ta.com\t\n",
    "01\t2026-11-21T10:30:00Z\tadd\tdomain\tabsent\ta.com\t\n",
    "1\t2026-11-21 10:30:00Z\tadd\tdomain\tabsent\ta.com\t\n",
    "1\t2026-11-21T10:30:00.5Z\tadd\tdomain\tabsent\ta.com\t\n",
    "1\t2026-11-21T10:30:00Z\tput\tdomain\tabsent\ta.com\t\n",
    "1\t2026-11-21T10:30:00Z\tadd\tdomains\tabsent\ta.com\t\n",
    "1\t2026-11-21T10:30:00Z\tadd\tdomain\thidden\ta.com\t\n",
    "1\t2026-11-21T10:30:00Z\tadd\tdomain\tabsent\tA.com\t\n",
    "1\t2026-11-21T10:30:00Z\tadd\tdomain\tabsent\ta.com\n",
    "1\t2026-11-21T10:30:00Z\tadd\tdomain\tabsent\ta.com\t\t\n",
    "1\t2026-11-21T10:30:00Z\tlift\trule\t-\t1\t\n",
    "1\t2026-11-21T10:30:00Z\tadd\tdomain\tabsent\ta.com\t",
    "\n",
};

static void test_bad_lines(void)
{
    for (size_t i = 0; i < sizeof bad_lines / sizeof *bad_lines; i++) {
        struct dx_suppressions log;
        struct dx_buf text = DX_BUF_INIT(1u << 20);
        struct dx_hash128 sum;
        char hex[DX_HASH128_TEXT];
        int rc;

        dx_buf_str(&text, "domaindex suppressions 1\n");
        dx_buf_str(&text, bad_lines[i]);
        sum = dx_hash128_of(dx_span_of(text.data, text.size));
        dx_hash128_text(&sum, hex);
        dx_buf_fmt(&text, "checksum\t%s\n", hex);
        rc = dx_suppressions_parse(dx_span_of(text.data, text.size), "log", &log, NULL);
        EXPECT(rc == DX_E_CORRUPT, "line %zu: %d", i, rc);
        dx_suppressions_release(&log);
        dx_buf_release(&text);
    }
}

static void test_damage(void)
{
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_suppressions again;
    struct dx_buf text = DX_BUF_INIT(1u << 20);

    small_log(&log);
    (void)dx_suppressions_write(&log, &text, NULL);
    for (size_t bit = 0; bit < text.size * 8; bit++) {
        text.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        EXPECT(dx_suppressions_parse(dx_span_of(text.data, text.size), "log", &again, NULL) < 0,
               "bit %zu", bit);
        dx_suppressions_release(&again);
        text.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t n = 0; n < text.size; n++) {
        EXPECT(dx_suppressions_parse(dx_span_of(text.data, n), "log", &again, NULL) < 0,
               "cut to %zu", n);
        dx_suppressions_release(&again);
    }
    dx_suppressions_release(&log);
    dx_buf_release(&text);
}

/* ---- rules ---- */

static const struct {
    const char *domain, *scheme, *host, *path;
    uint64_t number;
} rows[] = {
    { "a.com", "https", "a.com", "/", 1 },
    { "a.com", "http", "x.y.a.com:81", "/q", 1 },
    { "ba.com", "https", "ba.com", "/", 0 },
    { "b.com", "https", "w.b.com", "/", 2 },
    { "b.com", "https", "w.b.com:81", "/", 0 },
    { "b.com", "https", "b.com", "/", 0 },
    { "b.com", "https", "x.w.b.com", "/", 0 },
    { "c.com", "ftp", "c.com", "/p/q", 3 },
    { "c.com", "https", "c.com", "/p", 3 },
    { "c.com", "https", "c.com", "/P", 0 },
    { "c.com", "https", "c.com", "/", 0 },
    { "c.com", "https", "w.c.com", "/p", 0 },
    { "d.com", "https", "d.com", "/u?a=1", 4 },
    { "d.com", "http", "d.com", "/u?a=1", 0 },
    { "d.com", "https", "d.com", "/u?a=11", 0 },
    { "u.github.io", "https", "u.github.io", "/", 5 }, /* the rule is for what is a suffix now */
    { "long.e.com", "https", "e.long.e.com", "/", 0 }, /* lifted */
    { "f.com", "https", "deep.f.com", "/", 7 },        /* the rule is for a name below */
    { "f.com", "https", "f.com", "/", 0 },
    { "1.2.3.4", "http", "1.2.3.4", "/", 8 },
    { "9.1.2.3.4", "http", "9.1.2.3.4", "/", 0 }, /* an address has nothing below it */
    { "[::1]", "http", "[::1]:81", "/", 9 },
};

static void test_rows(void)
{
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_rules *rules;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t number;

    (void)add(&log, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_WITHHELD, "a.com", "");
    (void)add(&log, DX_SUPPRESS_HOST, DX_SUPPRESS_WITHHELD, "w.b.com", "");
    (void)add(&log, DX_SUPPRESS_PREFIX, DX_SUPPRESS_WITHHELD, "c.com/p", "");
    (void)add(&log, DX_SUPPRESS_URL, DX_SUPPRESS_WITHHELD, "https://d.com/u?a=1", "");
    (void)add(&log, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_WITHHELD, "github.io", "");
    (void)add(&log, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_WITHHELD, "long.e.com", "");
    (void)add(&log, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_ABSENT, "deep.f.com", "");
    (void)add(&log, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_WITHHELD, "1.2.3.4", "");
    (void)add(&log, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_WITHHELD, "[::1]", "");
    (void)dx_suppressions_lift(&log, 0, 6, str(""), &number, NULL);
    EXPECT(dx_rules_new(&rules, &log, &err) == DX_OK, "%s", err.text);
    EXPECT(rules->number == 10 && rules->count == 8, "%zu rules", rules->count);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        number = dx_rules_match(rules, str(rows[i].domain), str(rows[i].scheme), str(rows[i].host),
                                str(rows[i].path));
        EXPECT(number == rows[i].number, "row %zu, %s: rule %d", i, rows[i].host, (int)number);
    }
    EXPECT(dx_rules_whole(rules, str("a.com")).effect == DX_EFFECT_WITHHELD, "a.com");
    EXPECT(dx_rules_whole(rules, str("u.github.io")).number == 5, "u.github.io");
    EXPECT(dx_rules_whole(rules, str("f.com")).number == 0, "f.com");
    EXPECT(dx_rules_whole(NULL, str("a.com")).number == 0, "no rules");
    dx_rules_free(&rules);
    dx_suppressions_release(&log);
}

static void test_strongest(void)
{
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_rules *rules;
    struct dx_rules_of of;
    struct dx_rule_hit hit;

    (void)add(&log, DX_SUPPRESS_PREFIX, DX_SUPPRESS_WITHHELD, "a.com/p", "");
    (void)add(&log, DX_SUPPRESS_HOST, DX_SUPPRESS_ABSENT, "a.com", "");
    (void)add(&log, DX_SUPPRESS_DOMAIN, DX_SUPPRESS_WITHHELD, "b.com", "");
    (void)dx_rules_new(&rules, &log, NULL);
    EXPECT(dx_rules_of(rules, str("a.com"), &of) && of.last == 2, "a.com");
    hit = dx_rules_row(&of, str("http"), str("a.com"), str("/p"));
    EXPECT(hit.number == 1 && hit.effect == DX_EFFECT_ABSENT, "absent does not win");
    EXPECT(!dx_rules_of(rules, str("c.com"), &of), "c.com");
    dx_rules_free(&rules);
    dx_suppressions_release(&log);
}

/* ---- random rules and rows, against what each kind is said to hit ---- */

static uint64_t random_state = 4711;

static unsigned pick(unsigned n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((random_state >> 33) % n);
}

static const char *const domains[] = { "a.com", "b.com", "a.co.uk", "b.co.uk", "1.2.3.4" };
static const char *const fronts[] = { "", "", "w.", "x.w.", "w.w.w.w.w.w.w.w." };
static const char *const ports[] = { "", "", ":81" };
static const char *const paths[] = { "/",      "/a",   "/a/",     "/a/b",
                                     "/a/b/c", "/a/c", "/ab?c=1", "/ab?c=12" };
static const char *const schemes[] = { "http", "https" };

#define PICK(list) ((list)[pick(sizeof(list) / sizeof *(list))])

struct row {
    const char *domain, *scheme, *path;
    char host[80], name[80];
};

static struct row random_row(void)
{
    struct row r = { PICK(domains), PICK(schemes), PICK(paths), "", "" };
    const char *front = r.domain[0] == '1' ? "" : PICK(fronts);

    (void)snprintf(r.name, sizeof r.name, "%s%s", front, r.domain);
    (void)snprintf(r.host, sizeof r.host, "%s%s", r.name, PICK(ports));
    return r;
}

static bool slow_hit(enum dx_suppress_kind kind, const char *value, const struct row *r)
{
    char text[300];
    size_t n = strlen(value);

    switch (kind) {
    case DX_SUPPRESS_DOMAIN:
        (void)snprintf(text, sizeof text, ".%s", r->name);
        return strlen(text) > n && strcmp(text + strlen(text) - n, value) == 0 &&
               text[strlen(text) - n - 1] == '.';
    case DX_SUPPRESS_HOST:
        return strcmp(value, r->host) == 0;
    case DX_SUPPRESS_PREFIX:
        (void)snprintf(text, sizeof text, "%s%s", r->host, r->path);
        return strncmp(text, value, n) == 0;
    case DX_SUPPRESS_URL:
        (void)snprintf(text, sizeof text, "%s://%s%s", r->scheme, r->host, r->path);
        return strcmp(text, value) == 0;
    }
    return false;
}

static void random_value(enum dx_suppress_kind kind, char value[300])
{
    struct row r = random_row();

    (void)snprintf(value, 300, "%s%s%s%s", kind == DX_SUPPRESS_URL ? r.scheme : "",
                   kind == DX_SUPPRESS_URL ? "://" : "",
                   kind == DX_SUPPRESS_DOMAIN ? r.name : r.host,
                   kind == DX_SUPPRESS_DOMAIN || kind == DX_SUPPRESS_HOST ? "" : r.path);
}

#define RULES_MAX 60

static void test_random(unsigned round)
{
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    enum dx_suppress_kind kinds[RULES_MAX];
    char said[RULES_MAX][300];
    struct dx_rules *rules;
    unsigned n = pick(round % 2 == 0 ? RULES_MAX / 5 : RULES_MAX);

    for (unsigned i = 0; i < n; i++) {
        kinds[i] = (enum dx_suppress_kind)pick(4);
        random_value(kinds[i], said[i]);
        (void)add(&log, kinds[i], (enum dx_suppress_policy)pick(2), said[i], "");
    }
    (void)dx_rules_new(&rules, &log, NULL);
    for (unsigned i = 0; i < 50; i++) {
        struct row r = random_row();
        uint64_t want = 0;
        uint64_t got;

        for (unsigned k = n; k > 0; k--)
            want = slow_hit(kinds[k - 1], said[k - 1], &r) ? k : want;
        got = dx_rules_match(rules, str(r.domain), str(r.scheme), str(r.host), str(r.path));
        EXPECT(got == want, "round %u, %s://%s%s: rule %d, not %d", round, r.scheme, r.host, r.path,
               (int)got, (int)want);
    }
    dx_rules_free(&rules);
    dx_suppressions_release(&log);
}

/* A million rules may be of one domain (file stores give one for each deleted page): with a walk over the rules of the domain
 * for each of them, and for each row, this would take an hour, and servers would not start. */
static void test_many(void)
{
    const unsigned count = 200000;
    struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_rules *rules;
    char value[80];

    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(value, sizeof value, i % 2 == 0 ? "https://a.com/%u" : "a.com/p%u/", i);
        (void)add(&log, i % 2 == 0 ? DX_SUPPRESS_URL : DX_SUPPRESS_PREFIX, DX_SUPPRESS_WITHHELD,
                  value, "");
    }
    EXPECT(dx_rules_new(&rules, &log, &err) == DX_OK, "%s", err.text);
    for (unsigned i = 0; i < count; i++) {
        struct dx_rules_of of;

        (void)snprintf(value, sizeof value, i % 2 == 0 ? "/%u" : "/p%u/x", i);
        EXPECT(dx_rules_of(rules, str("a.com"), &of) && of.last == count, "rules of a.com");
        EXPECT(dx_rules_row(&of, str("https"), str("a.com"), str(value)).number == i + 1, "a.com%s",
               value);
    }
    dx_rules_free(&rules);
    dx_suppressions_release(&log);
}

int main(void)
{
    test_round_trip();
    test_continues();
    test_values();
    test_refused_lifts();
    test_bad_lines();
    test_damage();
    test_rows();
    test_strongest();
    test_many();
    for (unsigned round = 0; round < 2000; round++)
        test_random(round);
    return failures != 0;
}
