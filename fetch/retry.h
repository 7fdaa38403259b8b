/* SPDX-License-Identifier: Apache-2.0
 * retry.h - whether and when a failed request is tried again.
 *
 *   class = dx_retry_class_of(refusal);            what a refused reply calls for
 *   verdict = dx_retry_decide(&policy, budget, &attempt, &wait_ms);
 *   DX_RETRY_AGAIN: sleep wait_ms, try again; else give up, and the verdict says why
 *   dx_retry_budget_success(budget);               once for each request that succeeds
 *
 * Back-off is exponential with full jitter: the n-th wait is uniform in [0, min(cap, base 2^n)),
 * but never before the time that Retry-After names. What cannot end before the deadline is given
 * up at once: the time is better spent on an answer.
 *
 * The budget is shared by all requests of a process. It begins full; a retry takes `cost` tokens,
 * a success puts one back. When a store is down altogether, the retries stop after
 * full / cost = 35, and a fleet does not finish off a store that struggles.
 *
 * A watch is what a process knows of stores that do not answer; it reports this by one function:
 *
 *   dx_retry_watch_set(&watch, report, ctx);        report: from any thread; before the first request
 *   dx_retry_watch_silent(&watch, what, since_ms, now_ms, until_ms);
 *                                                   a request has failed, or waits for a reply; it is tried again
 *                                                   until then. The watch calls report after two seconds of
 *                                                   this, and each half minute from there
 *   dx_retry_watch_waiting(&watch, "GET", url, since_ms, now_ms, until_ms);    the same of a request that waits for a reply, if the
 *                                                   process has had no answer at all; watch may be NULL
 *   first = dx_retry_watch_answered(&watch);        a request was answered, whatever the answer; true: the first of the process
 *
 * Time and randomness are arguments. Pure but for budget and watch, which are atomic: any thread.
 */
#ifndef DX_FETCH_RETRY_H
#define DX_FETCH_RETRY_H

#include "base/bytes.h"
#include "fetch/range_reply.h"

#include <stdatomic.h>

#define DX_RETRY_BUDGET_FULL 500
#define DX_RETRY_BUDGET_COST 14

enum dx_retry_class {
    DX_RETRY_NEVER,     /* asking again gives the same: 403, 404, 412, 416, redirections */
    DX_RETRY_TRANSIENT, /* the store or the network failed */
    DX_RETRY_WRONG      /* the reply was wrong: another connection may lead to another answer */
};

enum dx_retry_verdict {
    DX_RETRY_AGAIN,
    DX_RETRY_NOT_THIS,  /* of a class that is never retried */
    DX_RETRY_ATTEMPTS,  /* tried often enough */
    DX_RETRY_DEADLINE,  /* there is no time left for another attempt */
    DX_RETRY_NO_BUDGET, /* the process has spent its retries */
};

struct dx_retry_policy {
    unsigned attempts_max; /* with the first one */
    uint64_t base_ms;
    uint64_t cap_ms;
};

#define DX_RETRY_POLICY_INIT \
    {                        \
        3, 50, 2000          \
    }

struct dx_retry_budget {
    atomic_int tokens;
};

struct dx_retry_silence {
    const char *what;   /* the last failure; NULL: the store answers again */
    uint64_t silent_ms; /* for so long */
    uint64_t left_ms;   /* tried for so long from now on */
};

typedef void dx_retry_report(void *ctx, const struct dx_retry_silence *silence);

/* Zeroed: nothing is reported. */
struct dx_retry_watch {
    atomic_bool answered;         /* once: the name, the way and the store are there */
    atomic_bool given_up;         /* a request was, before any was answered */
    _Atomic uint64_t silent_ms;   /* since then no request was answered; 0: they are */
    _Atomic uint64_t reported_ms; /* 0: this silence was not reported */
    dx_retry_report *report;
    void *ctx;
};

#define DX_RETRY_BUDGET_INIT \
    {                        \
        DX_RETRY_BUDGET_FULL \
    }

/* The end of one failed attempt. */
struct dx_retry_attempt {
    enum dx_retry_class failed;
    unsigned made;           /* attempts so far, with this one */
    uint64_t now_ms;         /* on the clock of the deadline */
    uint64_t deadline_ms;    /* UINT64_MAX: none */
    uint64_t retry_after_ms; /* 0: not said */
    uint64_t random;         /* 64 uniform bits */
};

enum dx_retry_class dx_retry_class_of(enum dx_refusal refusal);

/* The wait before attempt `made` + 1. */
uint64_t dx_retry_backoff_ms(const struct dx_retry_policy *policy, unsigned made, uint64_t random);

/* Retry-After: seconds, or a date as HTTP writes it; milliseconds from unix_s on, 0 if it is past,
 * absent or not to be read; at most a day. */
uint64_t dx_retry_after_ms(const char *text, int64_t unix_s);

/* An HTTP date in the form that is sent today, "Sun, 06 Nov 1994 08:49:37 GMT". */
bool dx_retry_date(const char *text, int64_t *unix_s);

/* Takes the cost from the budget only if the verdict is DX_RETRY_AGAIN. */
enum dx_retry_verdict dx_retry_decide(const struct dx_retry_policy *policy,
                                      struct dx_retry_budget *budget,
                                      const struct dx_retry_attempt *attempt, uint64_t *wait_ms);

void dx_retry_budget_success(struct dx_retry_budget *budget);

const char *dx_retry_verdict_words(enum dx_retry_verdict verdict);

void dx_retry_watch_set(struct dx_retry_watch *watch, dx_retry_report *report, void *ctx);
void dx_retry_watch_silent(struct dx_retry_watch *watch, const char *what, uint64_t since_ms,
                           uint64_t now_ms, uint64_t until_ms);
void dx_retry_watch_waiting(struct dx_retry_watch *watch, const char *method, const char *url,
                            uint64_t since_ms, uint64_t now_ms, uint64_t until_ms);
bool dx_retry_watch_answered(struct dx_retry_watch *watch);

#endif
