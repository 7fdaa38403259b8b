/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/retry.h"

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

static bool two_digits(const char *p, int *value)
{
    if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9')
        return false;
    *value = (p[0] - '0') * 10 + (p[1] - '0');
    return true;
}

/* Days from 1970-01-01 to the first of a month; year >= 1970. */
static int64_t days_before(int year, int month, bool *leap)
{
    static const int before[12] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
    int64_t y = year - 1;

    *leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return 365 * (int64_t)(year - 1970) + (y / 4 - 1969 / 4) - (y / 100 - 1969 / 100) +
           (y / 400 - 1969 / 400) + before[month] + (*leap && month > 1);
}

bool dx_retry_date(const char *text, int64_t *unix_s)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    static const int month_days[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int day, century, years, hour, minute, second;
    int month = 0;
    bool leap;

    /* 0    5  8   12   17 20 23 26
     * Sun, 06 Nov 1994 08:49:37 GMT; the name of the day adds nothing and is not looked at. */
    if (strlen(text) != 29 || memcmp(text + 3, ", ", 2) != 0 || text[7] != ' ' || text[11] != ' ' ||
        text[16] != ' ' || text[19] != ':' || text[22] != ':' || strcmp(text + 25, " GMT") != 0)
        return false;
    if (!two_digits(text + 5, &day) || !two_digits(text + 12, &century) ||
        !two_digits(text + 14, &years) || !two_digits(text + 17, &hour) ||
        !two_digits(text + 20, &minute) || !two_digits(text + 23, &second))
        return false;
    while (month < 12 && memcmp(months + 3 * (size_t)month, text + 8, 3) != 0)
        month++;
    years += 100 * century;
    if (month == 12 || years < 1970 || hour > 23 || minute > 59 || second > 60 || day < 1)
        return false;
    *unix_s = days_before(years, month, &leap);
    if (day > month_days[month] + (leap && month == 1))
        return false;
    *unix_s = (*unix_s + day - 1) * 86400 + hour * 3600 + minute * 60 + second;
    return true;
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
    /* Jitter on top: else all who were told the same second come back in it. */
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
