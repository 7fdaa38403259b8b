/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/retry.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS (86400u * UINT64_C(1000))

enum dx_retry_class dx_retry_class_of(enum dx_refusal refusal)
{
    switch (refusal) {
    case DX_REPLY_ACCEPTED:
    case DX_REPLY_NOT_MODIFIED:
    case DX_REPLY_REDIRECT:
    case DX_REPLY_NOT_FOUND:
    case DX_REPLY_FORBIDDEN:
    case DX_REPLY_CHANGED:
    case DX_REPLY_RANGE_IMPOSSIBLE:
    case DX_REPLY_TOO_LARGE:
        return DX_RETRY_NEVER;
    case DX_REPLY_NO_STATUS:
    case DX_REPLY_THROTTLED:
    case DX_REPLY_SERVER_ERROR:
    case DX_REPLY_BODY_SHORT:
        return DX_RETRY_TRANSIENT;
    default:
        return DX_RETRY_WRONG;
    }
}

/* random scaled to [0, n), n below 2^32: a wait has no more than 49 days. */
static uint64_t below(uint64_t n, uint64_t random)
{
    return (random >> 32) * n >> 32;
}

uint64_t dx_retry_backoff_ms(const struct dx_retry_policy *policy, unsigned made, uint64_t random)
{
    unsigned doublings = made > 0 ? made - 1 : 0;
    uint64_t most = policy->base_ms;

    while (doublings-- > 0 && most < policy->cap_ms)
        most *= 2;
    if (most > policy->cap_ms)
        most = policy->cap_ms;
    return below(most < UINT32_MAX ? most : UINT32_MAX, random);
}

bool dx_retry_date(const char *text, int64_t *unix_s)
{
    time_t at = curl_getdate(text, NULL);
    struct tm tm;
    char same[32];

    /* libcurl reads many forms, and the 30th of February. HTTP allows one to be sent:
     * "Sun, 06 Nov 1994 08:49:37 GMT". The name of the day adds nothing. */
    *unix_s = at;
    return at >= 0 && strlen(text) == 29 && memcmp(text + 3, ", ", 2) == 0 &&
           gmtime_r(&at, &tm) != NULL &&
           strftime(same, sizeof same, "%d %b %Y %H:%M:%S GMT", &tm) == 24 &&
           strcmp(same, text + 5) == 0;
}

uint64_t dx_retry_after_ms(const char *text, int64_t unix_s)
{
    uint64_t ms = 0;
    size_t n = strspn(text, "0123456789");
    int64_t at;

    if (n > 0 && text[n] == '\0') {
        for (size_t i = 0; i < n && ms < DAY_MS; i++)
            ms = ms * 10 + (uint64_t)(text[i] - '0') * 1000;
    } else if (dx_retry_date(text, &at) && at > unix_s) {
        ms = at - unix_s < 86400 ? (uint64_t)(at - unix_s) * 1000 : DAY_MS;
    }
    return ms < DAY_MS ? ms : DAY_MS;
}

static bool budget_take(struct dx_retry_budget *budget)
{
    int tokens = atomic_load_explicit(&budget->tokens, memory_order_relaxed);

    while (tokens >= DX_RETRY_BUDGET_COST)
        if (atomic_compare_exchange_weak_explicit(&budget->tokens, &tokens,
                                                  tokens - DX_RETRY_BUDGET_COST,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    return false;
}

void dx_retry_budget_success(struct dx_retry_budget *budget)
{
    int tokens = atomic_load_explicit(&budget->tokens, memory_order_relaxed);

    while (tokens < DX_RETRY_BUDGET_FULL)
        if (atomic_compare_exchange_weak_explicit(&budget->tokens, &tokens, tokens + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return;
}

enum dx_retry_verdict dx_retry_decide(const struct dx_retry_policy *policy,
                                      struct dx_retry_budget *budget,
                                      const struct dx_retry_attempt *attempt, uint64_t *wait_ms)
{
    uint64_t wait = dx_retry_backoff_ms(policy, attempt->made, attempt->random);

    *wait_ms = 0;
    if (attempt->failed == DX_RETRY_NEVER)
        return DX_RETRY_NOT_THIS;
    if (attempt->made >= policy->attempts_max)
        return DX_RETRY_ATTEMPTS;
    /* Jitter on top: else all clients that got the same second return in it. */
    if (__builtin_add_overflow(wait, attempt->retry_after_ms, &wait))
        wait = UINT64_MAX;
    if (attempt->now_ms >= attempt->deadline_ms || wait >= attempt->deadline_ms - attempt->now_ms)
        return DX_RETRY_DEADLINE;
    if (!budget_take(budget))
        return DX_RETRY_NO_BUDGET;
    *wait_ms = wait;
    return DX_RETRY_AGAIN;
}

const char *dx_retry_verdict_words(enum dx_retry_verdict verdict)
{
    switch (verdict) {
    case DX_RETRY_AGAIN:
        return "tried again";
    case DX_RETRY_NOT_THIS:
        return "not retried";
    case DX_RETRY_ATTEMPTS:
        return "no attempts left";
    case DX_RETRY_DEADLINE:
        return "no time left to retry";
    default:
        return "the retry budget of this process is spent";
    }
}

/* ---- the watch ---- */

#define WAITING_MS 1000 /* before a request counts as waiting */
#define WAITING_TEXT 1024
#define REPORT_AFTER_MS 2000
#define REPORT_EVERY_MS 30000

void dx_retry_watch_set(struct dx_retry_watch *watch, dx_retry_report *report, void *ctx)
{
    watch->report = report;
    watch->ctx = ctx;
}

void dx_retry_watch_silent(struct dx_retry_watch *watch, const char *what, uint64_t since_ms,
                           uint64_t now_ms, uint64_t until_ms)
{
    uint64_t since = 0;
    uint64_t reported = atomic_load(&watch->reported_ms);

    if (atomic_compare_exchange_strong(&watch->silent_ms, &since, since_ms))
        since = since_ms;
    if (watch->report == NULL || now_ms < since + REPORT_AFTER_MS ||
        (reported != 0 && now_ms < reported + REPORT_EVERY_MS) ||
        !atomic_compare_exchange_strong(&watch->reported_ms, &reported, now_ms))
        return; /* or another thread reports it */
    watch->report(watch->ctx,
                  &(struct dx_retry_silence){ what, now_ms - since,
                                              until_ms > now_ms ? until_ms - now_ms : 0 });
}

void dx_retry_watch_waiting(struct dx_retry_watch *watch, const char *method, const char *url,
                            uint64_t since_ms, uint64_t now_ms, uint64_t until_ms)
{
    char what[WAITING_TEXT];

    if (watch == NULL || now_ms - since_ms < WAITING_MS ||
        atomic_load_explicit(&watch->answered, memory_order_relaxed))
        return;
    (void)snprintf(what, sizeof what, "%s %.*s: no reply for %llu s", method,
                   (int)strcspn(url, "?"), url, (unsigned long long)(now_ms - since_ms) / 1000);
    dx_retry_watch_silent(watch, what, since_ms, now_ms, until_ms);
}

bool dx_retry_watch_answered(struct dx_retry_watch *watch)
{
    bool first = !atomic_load_explicit(&watch->answered, memory_order_relaxed) &&
                 !atomic_exchange(&watch->answered, true);

    if (atomic_load_explicit(&watch->silent_ms, memory_order_relaxed) == 0)
        return first;
    atomic_store(&watch->silent_ms, 0);
    if (atomic_exchange(&watch->reported_ms, 0) != 0 && watch->report != NULL)
        watch->report(watch->ctx, &(struct dx_retry_silence){ NULL, 0, 0 });
    return first;
}
