/* SPDX-License-Identifier: Apache-2.0
 * Kept answers: found by their own question in their own state, and by no other; kept at the second
 * time; whole while they are sent, whatever becomes of the cache.
 */
#include "server/cache/body_cache.h"
#include "tests/support/damage.h"

#define SUMMARY ((struct dx_answer_summary){ .domain_id = 11, .has_domain_id = true, .rows = 12 })

static unsigned failures;
static uint64_t now_state[2] = { 7, 2 };
static bool exchanging;

static bool state(struct dx_version *v, uint64_t out[2])
{
    (void)v;
    memcpy(out, now_state, sizeof now_state);
    return !exchanging;
}

static struct dx_answers answers = { .state = state, .cursor_life_s = 900 };

static struct dx_ask base_ask(void)
{
    struct dx_ask ask = { .route = DX_ROUTE_URLS,
                          .dataset_id = 3,
                          .page = { 10, 1000 },
                          .field_bits = DX_FIELDS_DEFAULT,
                          .now_s = 1700000000 };

    ask.asked = dx_span_str("example.com");
    return ask;
}

static bool offer(struct dx_body_cache *c, const struct dx_ask *ask, const char *body)
{
    struct dx_body_key key;
    bool made = dx_body_key_make(&key, &answers, NULL, ask);

    if (made)
        dx_body_cache_offer(c, &key, &answers, NULL,
                            &(struct dx_hot_answer){
                                .body = dx_span_str(body), .etag = "\"e\"", .summary = SUMMARY });
    return made;
}

/* The body that is kept, or NULL. */
static const char *kept(struct dx_body_cache *c, const struct dx_ask *ask)
{
    static char text[64];
    struct dx_body_key key;
    struct dx_hot_answer hot;
    struct dx_cached *block;

    if (!dx_body_key_make(&key, &answers, NULL, ask))
        return NULL;
    block = dx_body_cache_get(c, &key, &hot);
    if (block == NULL)
        return NULL;
    EXPECT(hot.summary.domain_id == 11 && hot.summary.has_domain_id && hot.summary.datasets == 0 &&
               hot.summary.rows == 12,
           "summary of %s", text);
    EXPECT(strcmp(hot.etag, "\"e\"") == 0, "%s", hot.etag);
    (void)snprintf(text, sizeof text, "%.*s", (int)hot.body.size, (const char *)hot.body.data);
    dx_body_cache_put(c, &block);
    return text;
}

static void new_cache(struct dx_body_cache **c, uint64_t budget)
{
    struct dx_error err;

    if (dx_body_cache_new(c, budget, 5, &err) < 0)
        abort();
}

enum {
    OTHER_DATASET,
    OTHER_OFFSET,
    OTHER_LIMIT,
    OTHER_FIELDS,
    A_PLAN,
    A_TAG,
    A_MIME,
    A_PREFIX,
    OTHER_NAME,
    LONGER_NAME,
    ANOTHER_MINUTE,
    A_CURSOR,
    OTHER_VERSION,
    OTHER_RULES,
    OTHER_SCOPE,
    A_PRINCIPAL,
    OTHER_PRINCIPAL, /* cursors belong to it */
    OTHERS
};

static const struct dx_scope *some; /* two datasets */

static void change(unsigned what, struct dx_ask *ask)
{
    ask->dataset_id += what == OTHER_DATASET;
    ask->page.offset += what == OTHER_OFFSET;
    ask->page.limit -= what == OTHER_LIMIT;
    ask->field_bits ^= what == OTHER_FIELDS ? DX_FIELD_TS : 0;
    ask->plan += what == A_PLAN;
    ask->filter.tag = what == A_TAG ? dx_span_str("/") : ask->filter.tag;
    ask->filter.mime = what == A_MIME ? dx_span_str("/") : ask->filter.mime;
    ask->filter.prefix = what == A_PREFIX ? dx_span_str("/") : ask->filter.prefix;
    ask->asked = what == OTHER_NAME ? dx_span_str("example.org") : ask->asked;
    ask->asked = what == LONGER_NAME ? dx_span_str("example.com.") : ask->asked;
    ask->now_s += what == ANOTHER_MINUTE ? 60 : 0;
    ask->cursor = what == A_CURSOR ? dx_span_str("c") : ask->cursor;
    ask->scope = what == OTHER_SCOPE ? some : ask->scope;
    ask->principal = what == A_PRINCIPAL       ? "e"
                     : what == OTHER_PRINCIPAL ? "team-b"
                                               : ask->principal;
    now_state[0] += what == OTHER_VERSION;
    now_state[1] += what == OTHER_RULES ? 2 : 0;
}

static void change_cursor(unsigned what, struct dx_ask *ask)
{
    ask->from.next_row += what == 0;
    ask->from.end_row += what == 1;
    ask->from.began_s += what == 2;
    ask->from.domain_id += what == 3;
    ask->from.build.bytes[15] ^= what == 4; /* the version's name again, of another build */
}

static void check_keys(void)
{
    struct dx_ask ask = base_ask();
    struct dx_body_cache *c;
    const char *got;

    new_cache(&c, 1 << 20);
    (void)offer(c, &ask, "base");
    EXPECT(kept(c, &ask) == NULL, "kept at the first time");
    (void)offer(c, &ask, "base");
    for (unsigned what = 0; what < OTHERS; what++) {
        uint64_t before[2] = { now_state[0], now_state[1] };

        ask = base_ask();
        got = kept(c, &ask);
        EXPECT(got != NULL && strcmp(got, "base") == 0, "%u: %s", what, got);
        change(what, &ask);
        got = kept(c, &ask);
        EXPECT(got == NULL, "%u: another question gets '%s'", what, got);
        memcpy(now_state, before, sizeof before);
    }
    /* Cursors of the same question, and no minute of ours in what goes on. */
    ask = base_ask();
    ask.cursor = dx_span_str("c");
    (void)offer(c, &ask, "cursor");
    (void)offer(c, &ask, "cursor");
    ask.now_s += 60;
    got = kept(c, &ask);
    EXPECT(got != NULL && strcmp(got, "cursor") == 0, "%s", got);
    for (unsigned what = 0; what < 5; what++) {
        struct dx_ask other = ask;

        change_cursor(what, &other);
        EXPECT(kept(c, &other) == NULL, "cursor %u", what);
    }
    /* Principals that may see the same have the same answers, but for cursors. */
    ask = base_ask();
    ask.scope = some;
    ask.principal = "team-a";
    (void)offer(c, &ask, "scope");
    (void)offer(c, &ask, "scope");
    got = kept(c, &ask);
    EXPECT(got != NULL && strcmp(got, "scope") == 0, "%s", got);
    ask.principal = "team-b";
    EXPECT(kept(c, &ask) == NULL, "cursors of another principal");
    ask.principal = "team-a";
    ask.scope = NULL;
    EXPECT(kept(c, &ask) == NULL, "what he did not see before");
    dx_body_cache_free(&c);
}

/* What is not a listing, or has an invalid name, or no state, is not kept. */
static void check_none(void)
{
    static char longest[DX_ANSWER_ASKED_MAX + 2];
    struct dx_ask ask = base_ask();
    struct dx_body_cache *c;

    new_cache(&c, 1 << 20);
    memset(longest, 'a', sizeof longest - 1);
    ask.asked = dx_span_str(longest);
    EXPECT(!offer(c, &ask, "x"), "a name that is too long");
    ask.asked.size--;
    EXPECT(offer(c, &ask, "x"), "the longest");
    ask = base_ask();
    ask.route = DX_ROUTE_DOMAIN;
    EXPECT(!offer(c, &ask, "x"), "another route");
    ask = base_ask();
    exchanging = true;
    EXPECT(!offer(c, &ask, "x"), "while rules are exchanged");
    exchanging = false;
    answers.state = NULL;
    EXPECT(!offer(c, &ask, "x"), "without a state");
    answers.state = state;
    dx_body_cache_free(&c);
}

/* Rules or version changed between the key and the answer: it is of neither. */
static void check_changed_meanwhile(void)
{
    struct dx_ask ask = base_ask();
    struct dx_body_cache *c;
    struct dx_body_key key;

    new_cache(&c, 1 << 20);
    (void)offer(c, &ask, "old");
    for (unsigned i = 0; i < 3; i++) {
        (void)dx_body_key_make(&key, &answers, NULL, &ask);
        now_state[1] += i == 0 ? 2 : 0;
        now_state[0] += i == 1;
        exchanging = i == 2;
        dx_body_cache_offer(c, &key, &answers, NULL,
                            &(struct dx_hot_answer){ .body = dx_span_str("mixed"),
                                                     .etag = "\"e\"",
                                                     .summary = SUMMARY });
        exchanging = false;
        EXPECT(kept(c, &ask) == NULL, "%u: kept", i);
        memcpy(now_state, key.state, sizeof now_state);
        EXPECT(kept(c, &ask) == NULL, "%u: kept for those before", i);
    }
    dx_body_cache_free(&c);
}

/* One that is being sent stays as it is when others take its place; a single request drives out
 * none. */
static void check_budget(void)
{
    struct dx_ask ask = base_ask();
    struct dx_page_cache_stats stats;
    struct dx_body_cache *c;
    struct dx_body_key key;
    struct dx_hot_answer hot;
    struct dx_cached *block;

    new_cache(&c, 16384);
    (void)offer(c, &ask, "first");
    (void)offer(c, &ask, "first");
    (void)dx_body_key_make(&key, &answers, NULL, &ask);
    block = dx_body_cache_get(c, &key, &hot);
    EXPECT(block != NULL, "kept");
    for (uint32_t i = 0; i < 5000; i++) {
        ask.dataset_id = 100 + i;
        (void)offer(c, &ask, "once");
    }
    dx_body_cache_stats(c, &stats);
    EXPECT(stats.blocks == 1 && stats.evictions == 0, "%llu blocks",
           (unsigned long long)stats.blocks);
    for (uint32_t i = 0; i < 5000; i++) {
        ask.dataset_id = 100 + i;
        (void)offer(c, &ask, "often");
        (void)offer(c, &ask, "often");
        (void)kept(c, &ask);
    }
    dx_body_cache_stats(c, &stats);
    EXPECT(stats.evictions > 4000 && stats.bytes <= 16384, "%llu evictions",
           (unsigned long long)stats.evictions);
    ask = base_ask();
    EXPECT(kept(c, &ask) == NULL, "driven out");
    if (block != NULL)
        EXPECT(hot.body.size == 5 && memcmp(hot.body.data, "first", 5) == 0, "while it is sent");
    dx_body_cache_put(c, &block);
    dx_body_cache_free(&c);
}

int main(void)
{
    static const uint32_t ids[] = { 3, 9 };
    struct dx_scope *scope = NULL;

    if (dx_scope_more(&scope, NULL, ids, 2, NULL) < 0)
        abort();
    some = scope;
    check_keys();
    check_none();
    check_changed_meanwhile();
    check_budget();
    dx_scope_drop(&some);
    return failures > 0;
}
