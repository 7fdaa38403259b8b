/* SPDX-License-Identifier: Apache-2.0
 * When a failed request is tried again, and how much a store that is down gets of it.
 */
#include "fetch/retry.h"
#include "tests/support/damage.h"

#include <pthread.h>

static unsigned failures;

static const struct {
    const char *text;
    int64_t now;
    uint64_t ms;
} afters[] = {
    { "", 0, 0 },
    { "0", 0, 0 },
    { "1", 0, 1000 },
    { "120", 0, 120000 },
    { "86400", 0, 86400000 },
    { "86401", 0, 86400000 },
    { "99999999999999999999999999", 0, 86400000 },
    { "-1", 0, 0 },
    { "1.5", 0, 0 },
    { " 1", 0, 0 },
    { "1 ", 0, 0 },
    { "soon", 0, 0 },
    { "Sun, 06 Nov 1994 08:49:37 GMT", 784111770, 7000 },
    { "Sun, 06 Nov 1994 08:49:37 GMT", 784111777, 0 },
    { "Sun, 06 Nov 1994 08:49:37 GMT", 784111999, 0 },
    { "Sun, 06 Nov 2094 08:49:37 GMT", 784111770, 86400000 },
    { "Sun, 06 Nov 1994 08:49:37 +01", 784111770, 0 },
};

static const struct {
    const char *text;
    bool ok;
    int64_t unix_s;
} dates[] = {
    { "Sun, 06 Nov 1994 08:49:37 GMT", true, 784111777 },
    { "Thu, 01 Jan 1970 00:00:00 GMT", true, 0 },
    { "Fri, 31 Dec 1999 23:59:59 GMT", true, 946684799 },
    { "Tue, 29 Feb 2000 00:00:00 GMT", true, 951782400 },
    { "Wed, 01 Mar 2000 00:00:00 GMT", true, 951868800 },
    { "Sat, 21 Nov 2026 12:00:00 GMT", true, 1795262400 },
    { "Sun, 28 Feb 2100 12:00:00 GMT", true, 4107499200 },
    { "Mon, 01 Mar 2100 12:00:00 GMT", true, 4107585600 },
    { "Mon, 29 Feb 2100 12:00:00 GMT", false, 0 },
    { "Thu, 29 Feb 2001 00:00:00 GMT", false, 0 },
    { "Thu, 31 Apr 2001 00:00:00 GMT", false, 0 },
    { "Thu, 00 Jan 1970 00:00:00 GMT", false, 0 },
    { "Wed, 31 Dec 1969 23:59:59 GMT", false, 0 },
    { "Thu, 01 Jan 1970 24:00:00 GMT", false, 0 },
    { "Thu, 01 jan 1970 00:00:00 GMT", false, 0 },
    { "Thu, 01 Jan 1970 00:00:00 UTC", false, 0 },
    { "Thursday, 01-Jan-70 00:00:00 GMT", false, 0 },
    { "Thu  01 Jan 1970 00:00:00 GMT", false, 0 },
    { "", false, 0 },
};

static const struct {
    enum dx_retry_class failed;
    unsigned made;
    uint64_t now, deadline, after, random;
    int tokens;
    enum dx_retry_verdict want;
    uint64_t wait;
} decisions[] = {
    { DX_RETRY_TRANSIENT, 1, 0, 1000, 0, 0, 500, DX_RETRY_AGAIN, 0 },
    { DX_RETRY_TRANSIENT, 1, 0, 1000, 0, UINT64_MAX, 500, DX_RETRY_AGAIN, 49 },
    { DX_RETRY_TRANSIENT, 2, 0, 1000, 0, UINT64_MAX, 500, DX_RETRY_AGAIN, 99 },
    { DX_RETRY_WRONG, 2, 0, 1000, 0, UINT64_C(1) << 63, 500, DX_RETRY_AGAIN, 50 },
    { DX_RETRY_TRANSIENT, 3, 0, 1000, 0, 0, 500, DX_RETRY_ATTEMPTS, 0 },
    { DX_RETRY_NEVER, 1, 0, 1000, 0, 0, 500, DX_RETRY_NOT_THIS, 0 },
    { DX_RETRY_TRANSIENT, 1, 1000, 1000, 0, 0, 500, DX_RETRY_DEADLINE, 0 },
    { DX_RETRY_TRANSIENT, 1, 990, 1000, 0, UINT64_MAX, 500, DX_RETRY_DEADLINE, 0 },
    { DX_RETRY_TRANSIENT, 1, 0, 1000, 1000, 0, 500, DX_RETRY_DEADLINE, 0 },
    { DX_RETRY_TRANSIENT, 1, 0, 1001, 1000, 0, 500, DX_RETRY_AGAIN, 1000 },
    { DX_RETRY_TRANSIENT, 1, 0, UINT64_MAX, 86400000, 0, 500, DX_RETRY_AGAIN, 86400000 },
    { DX_RETRY_TRANSIENT, 1, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX, 500, DX_RETRY_DEADLINE, 0 },
    { DX_RETRY_TRANSIENT, 1, 0, 1000, 0, 0, 14, DX_RETRY_AGAIN, 0 },
    { DX_RETRY_TRANSIENT, 1, 0, 1000, 0, 0, 13, DX_RETRY_NO_BUDGET, 0 },
    { DX_RETRY_TRANSIENT, 1, 0, 1000, 0, 0, 0, DX_RETRY_NO_BUDGET, 0 },
};

static const struct {
    enum dx_refusal refusal;
    enum dx_retry_class want;
} classes[] = {
    { DX_REPLY_NOT_FOUND, DX_RETRY_NEVER },      { DX_REPLY_FORBIDDEN, DX_RETRY_NEVER },
    { DX_REPLY_CHANGED, DX_RETRY_NEVER },        { DX_REPLY_RANGE_IMPOSSIBLE, DX_RETRY_NEVER },
    { DX_REPLY_REDIRECT, DX_RETRY_NEVER },       { DX_REPLY_TOO_LARGE, DX_RETRY_NEVER },
    { DX_REPLY_THROTTLED, DX_RETRY_TRANSIENT },  { DX_REPLY_SERVER_ERROR, DX_RETRY_TRANSIENT },
    { DX_REPLY_BODY_SHORT, DX_RETRY_TRANSIENT }, { DX_REPLY_OTHER_RANGE, DX_RETRY_WRONG },
    { DX_REPLY_OTHER_ETAG, DX_RETRY_WRONG },     { DX_REPLY_RANGE_IGNORED, DX_RETRY_WRONG },
    { DX_REPLY_ENCODED, DX_RETRY_WRONG },        { DX_REPLY_ACCEPTED, DX_RETRY_NEVER },
    { DX_REPLY_NOT_MODIFIED, DX_RETRY_NEVER },   { DX_REPLY_NO_STATUS, DX_RETRY_TRANSIENT },
};

static void check_words(void)
{
    static const char *const words[] = {
        [DX_RETRY_AGAIN] = "tried again",
        [DX_RETRY_NOT_THIS] = "not retried",
        [DX_RETRY_ATTEMPTS] = "no attempts left",
        [DX_RETRY_DEADLINE] = "no time left to retry",
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        EXPECT(strcmp(dx_retry_verdict_words((enum dx_retry_verdict)i), words[i]) == 0, "%s",
               dx_retry_verdict_words((enum dx_retry_verdict)i));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        EXPECT(strcmp(dx_retry_verdict_words(DX_RETRY_NO_BUDGET), words[i]) != 0, "%s", words[i]);
}

static void check_tables(void)
{
    const struct dx_retry_policy policy = DX_RETRY_POLICY_INIT;

    for (size_t i = 0; i < sizeof afters / sizeof afters[0]; i++) {
        uint64_t got = dx_retry_after_ms(afters[i].text, afters[i].now);

        EXPECT(got == afters[i].ms, "'%s': %llu", afters[i].text, (unsigned long long)got);
    }
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        int64_t got = 0;
        bool ok = dx_retry_date(dates[i].text, &got);

        EXPECT(ok == dates[i].ok && (!ok || got == dates[i].unix_s), "'%s': %d, %lld",
               dates[i].text, ok, (long long)got);
    }
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        EXPECT(dx_retry_class_of(classes[i].refusal) == classes[i].want, "%s",
               dx_refusal_name(classes[i].refusal));
    for (size_t i = 0; i < sizeof decisions / sizeof decisions[0]; i++) {
        struct dx_retry_budget budget;
        const struct dx_retry_attempt attempt = {
            decisions[i].failed,   decisions[i].made,  decisions[i].now,
            decisions[i].deadline, decisions[i].after, decisions[i].random,
        };
        uint64_t wait = 7;
        enum dx_retry_verdict got;
        int left;

        atomic_init(&budget.tokens, decisions[i].tokens);
        got = dx_retry_decide(&policy, &budget, &attempt, &wait);
        left = atomic_load(&budget.tokens);
        EXPECT(got == decisions[i].want && wait == decisions[i].wait, "row %zu: %s, wait %llu", i,
               dx_retry_verdict_words(got), (unsigned long long)wait);
        EXPECT(left == decisions[i].tokens - (got == DX_RETRY_AGAIN ? DX_RETRY_BUDGET_COST : 0),
               "row %zu: %d tokens left", i, left);
    }
}

/* Full jitter: all of the range, none above it, the mean in the middle. */
static void check_jitter(void)
{
    const struct dx_retry_policy policy = { 100, 50, 2000 };
    static const uint64_t most[] = { 50, 100, 200, 400, 800, 1600, 2000, 2000 };
    uint64_t seed = 1;

    for (unsigned made = 1; made <= 8; made++) {
        uint64_t low = UINT64_MAX;
        uint64_t high = 0;
        uint64_t sum = 0;

        for (int i = 0; i < 100000; i++) {
            uint64_t ms = dx_retry_backoff_ms(&policy, made, random_next(&seed));

            low = ms < low ? ms : low;
            high = ms > high ? ms : high;
            sum += ms;
        }
        EXPECT(low == 0 && high == most[made - 1] - 1, "attempt %u: %llu to %llu", made,
               (unsigned long long)low, (unsigned long long)high);
        EXPECT(sum / 100000 + 1 >= most[made - 1] * 48 / 100 &&
                   sum / 100000 <= most[made - 1] * 51 / 100,
               "attempt %u: mean %llu", made, (unsigned long long)(sum / 100000));
    }
    EXPECT(dx_retry_backoff_ms(&policy, 4000000000u, UINT64_MAX) == 1999, "no overflow");
}

/* 10,000 requests, a share of attempts fails: what goes to the store for each request offered. */
static void check_amplification(void)
{
    static const struct {
        unsigned failing_permille;
        unsigned most_permille;
        unsigned least_success_permille;
    } rows[] = { { 1000, 1004, 0 }, { 500, 1100, 0 }, { 50, 1060, 999 }, { 10, 1015, 1000 } };
    const struct dx_retry_policy policy = DX_RETRY_POLICY_INIT;
    uint64_t seed = 7;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_retry_budget budget = DX_RETRY_BUDGET_INIT;
        unsigned sent = 0;
        unsigned done = 0;

        for (unsigned request = 0; request < 10000; request++) {
            enum dx_retry_verdict verdict = DX_RETRY_AGAIN;

            for (unsigned made = 1; verdict == DX_RETRY_AGAIN; made++) {
                struct dx_retry_attempt attempt = { DX_RETRY_TRANSIENT, made, 0, 100000, 0, 0 };
                uint64_t wait;

                sent++;
                if (random_next(&seed) % 1000 >= rows[i].failing_permille) {
                    dx_retry_budget_success(&budget);
                    done++;
                    break;
                }
                verdict = dx_retry_decide(&policy, &budget, &attempt, &wait);
            }
        }
        printf("%u/1000 fail: %u attempts, %u of 10000 done\n", rows[i].failing_permille, sent,
               done);
        EXPECT(sent <= 10 * rows[i].most_permille, "%u sent", sent);
        EXPECT(done >= 10 * rows[i].least_success_permille - (rows[i].failing_permille == 10),
               "%u done", done);
    }
}

static void *spend(void *arg)
{
    struct dx_retry_budget *budget = arg;
    const struct dx_retry_policy policy = DX_RETRY_POLICY_INIT;
    const struct dx_retry_attempt attempt = { DX_RETRY_TRANSIENT, 1, 0, 1000, 0, 0 };
    uint64_t wait;
    size_t taken = 0;

    for (int i = 0; i < 1000; i++)
        taken += dx_retry_decide(&policy, budget, &attempt, &wait) == DX_RETRY_AGAIN;
    return (void *)taken;
}

static void check_threads(void)
{
    struct dx_retry_budget budget = DX_RETRY_BUDGET_INIT;
    pthread_t threads[4];
    size_t taken = 0;

    for (size_t i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, spend, &budget) != 0)
            abort();
    for (size_t i = 0; i < 4; i++) {
        void *n;

        (void)pthread_join(threads[i], &n);
        taken += (size_t)n;
    }
    EXPECT(taken == DX_RETRY_BUDGET_FULL / DX_RETRY_BUDGET_COST, "%zu retries", taken);
    for (int i = 0; i < 1000; i++)
        dx_retry_budget_success(&budget);
    EXPECT(atomic_load(&budget.tokens) == DX_RETRY_BUDGET_FULL, "full again, not more");
}

/* ---- the watch ---- */

struct reports {
    unsigned silent, over;
    struct dx_retry_silence last;
};

static void note(void *ctx, const struct dx_retry_silence *s)
{
    struct reports *t = ctx;

    t->silent += s->what != NULL;
    t->over += s->what == NULL;
    t->last = *s;
}

static void check_watch(void)
{
    struct dx_retry_watch w = { .report = NULL };
    struct reports t = { 0 };

    dx_retry_watch_silent(&w, "no report function", 1000, 9000, 20000);
    dx_retry_watch_answered(&w);
    dx_retry_watch_set(&w, note, &t);
    dx_retry_watch_silent(&w, "a", 10000, 10100, 30000);
    dx_retry_watch_silent(&w, "b", 11000, 11900, 30000);
    EXPECT(t.silent == 0, "not before two seconds");
    dx_retry_watch_silent(&w, "c", 12000, 12000, 30000);
    EXPECT(t.silent == 1 && strcmp(t.last.what, "c") == 0 && t.last.silent_ms == 2000 &&
               t.last.left_ms == 18000,
           "after two seconds, and for how long");
    dx_retry_watch_silent(&w, "d", 12000, 41999, 30000);
    EXPECT(t.silent == 1, "not again within half a minute");
    dx_retry_watch_silent(&w, "e", 12000, 42000, 30000);
    EXPECT(t.silent == 2 && t.last.left_ms == 0, "again");
    dx_retry_watch_answered(&w);
    dx_retry_watch_answered(&w);
    EXPECT(t.over == 1 && atomic_load(&w.answered), "the end is reported once");
    dx_retry_watch_silent(&w, "f", 50000, 51000, 60000);
    dx_retry_watch_answered(&w);
    dx_retry_watch_silent(&w, "g", 52500, 53000, 60000);
    EXPECT(t.silent == 2 && t.over == 1, "an answer between: from the start");
}

int main(void)
{
    check_watch();
    check_tables();
    check_words();
    check_jitter();
    check_amplification();
    check_threads();
    return failures > 0;
}
