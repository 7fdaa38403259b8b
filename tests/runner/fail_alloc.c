/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/runner/fail_alloc.h"

#include <errno.h>
#include <execinfo.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVE_MAX (1u << 16) /* blocks that a run holds at a time */
#define FRAMES 14

/* Of the thread that runs. */
static _Thread_local bool armed;
static _Thread_local uint64_t asked; /* allocations of the run */
static _Thread_local uint64_t fail_at;
static _Thread_local bool failed;

/* What the run has allocated and not yet freed; open addressing, a freed place keeps TOMB. */
static uintptr_t live[LIVE_MAX];
static uint64_t live_number[LIVE_MAX];
static size_t live_count;
static void *place[FRAMES];
static int place_count;

#define TOMB ((uintptr_t)1)

/* The linker gives these names to the functions of libc, or of a sanitizer. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void __real_free(void *p);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void __wrap_free(void *p);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t max);
int __wrap_asprintf(char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int __wrap_vasprintf(char **out, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

static size_t slot_of(const void *p)
{
    return (size_t)((uintptr_t)p * UINT64_C(0x9E3779B97F4A7C15) >> 40) % LIVE_MAX;
}

static void keep(void *p)
{
    size_t at = slot_of(p);

    if (!armed || p == NULL)
        return;
    if (live_count > LIVE_MAX / 2)
        abort();
    while (live[at] > TOMB)
        at = (at + 1) % LIVE_MAX;
    live[at] = (uintptr_t)p;
    live_number[at] = asked;
    live_count++;
}

static void drop(const void *p)
{
    if (!armed || p == NULL)
        return;
    for (size_t at = slot_of(p); live[at] != 0; at = (at + 1) % LIVE_MAX)
        if (live[at] == (uintptr_t)p) {
            live[at] = TOMB;
            live_count--;
            return;
        }
}

static bool fails(void)
{
    if (!armed || ++asked != fail_at)
        return false;
    failed = true;
    armed = false; /* for what backtrace allocates */
    place_count = backtrace(place, FRAMES);
    armed = true;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    void *p = fails() ? NULL : __real_malloc(size);

    keep(p);
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *p = fails() ? NULL : __real_calloc(n, size);

    keep(p);
    return p;
}

void *__wrap_realloc(void *p, size_t size)
{
    void *bigger;

    if (fails())
        return NULL;
    drop(p);
    bigger = __real_realloc(p, size);
    keep(bigger);
    return bigger;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    void *p = fails() ? NULL : __real_aligned_alloc(alignment, size);

    keep(p);
    return p;
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
    int rc = fails() ? ENOMEM : __real_posix_memalign(out, alignment, size);

    keep(rc == 0 ? *out : NULL);
    return rc;
}

void __wrap_free(void *p)
{
    drop(p);
    __real_free(p);
}

char *__wrap_strndup(const char *text, size_t max)
{
    size_t n = strnlen(text, max);
    char *copy = __wrap_malloc(n + 1);

    if (copy != NULL) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, SIZE_MAX);
}

int __wrap_vasprintf(char **out, const char *fmt, va_list args)
{
    va_list again;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    *out = n < 0 ? NULL : __wrap_malloc((size_t)n + 1);
    return *out == NULL ? -1 : vsnprintf(*out, (size_t)n + 1, fmt, args);
}

int __wrap_asprintf(char **out, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = __wrap_vasprintf(out, fmt, args);
    va_end(args);
    return n;
}

/* ---- runs ---- */

static int run_once(uint64_t at, fail_alloc_run *run, void *ctx, struct dx_error *err)
{
    int rc;

    memset(live, 0, sizeof live);
    live_count = 0;
    asked = 0;
    fail_at = at;
    failed = false;
    armed = true;
    rc = run(ctx, err);
    armed = false;
    return rc;
}

static void tell_place(void)
{
    fflush(stderr);
    if (failed && place_count > 2)
        backtrace_symbols_fd(place + 2, place_count - 2, STDERR_FILENO);
}

static bool tell_leaks(const char *name, uint64_t at)
{
    if (live_count == 0)
        return false;
    fprintf(stderr, "%s: with allocation %llu failing %zu blocks are left:", name,
            (unsigned long long)at, live_count);
    for (size_t i = 0, shown = 0; i < LIVE_MAX && shown < 8; i++)
        if (live[i] > TOMB) {
            fprintf(stderr, " %llu", (unsigned long long)live_number[i]);
            shown++;
        }
    fprintf(stderr, "\n");
    return true;
}

/* What a run that met the failure has to say. */
static bool is_wrong(const char *name, uint64_t at, int rc, bool goes_on,
                     const struct dx_error *err)
{
    bool wrong = rc >= 0 ? !goes_on : rc != DX_E_NOMEM || err->code != DX_E_NOMEM;

    if (wrong)
        fprintf(stderr, "%s: with allocation %llu failing: %d, error %s: %s\n", name,
                (unsigned long long)at, rc, dx_code_name(err->code), err->text);
    return wrong;
}

size_t fail_alloc_each(const char *name, unsigned at_most, fail_alloc_run *run, void *ctx)
{
    bool goes_on = (at_most & FAIL_ALLOC_GOES_ON) != 0;
    unsigned runs_max = getenv("DX_WHOLE") != NULL ? 0 : at_most & ~FAIL_ALLOC_GOES_ON;
    struct dx_error err = DX_ERROR_INIT;
    size_t wrong = 0;
    uint64_t all, step;
    int rc;

    (void)run_once(0, run, ctx, &err);
    rc = run_once(0, run, ctx, &err);
    all = asked;
    if (rc < 0) {
        fprintf(stderr, "%s: fails without a reason: %s\n", name, err.text);
        return 1;
    }
    wrong += tell_leaks(name, 0);
    if (all == 0) {
        fprintf(stderr, "%s: allocates nothing\n", name);
        return wrong + 1;
    }
    step = runs_max == 0 || all <= runs_max ? 1 : (all + runs_max - 1) / runs_max;
    for (uint64_t at = 1; at <= all && wrong < 10; at += step) {
        bool bad;

        err = (struct dx_error)DX_ERROR_INIT;
        rc = run_once(at, run, ctx, &err);
        if (!failed)
            continue; /* fewer allocations this time: it went another way */
        bad = tell_leaks(name, at);
        bad = is_wrong(name, at, rc, goes_on, &err) || bad;
        if (bad)
            tell_place();
        wrong += bad;
    }
    printf("%s: %llu allocations, every %llu. failed\n", name, (unsigned long long)all,
           (unsigned long long)step);
    return wrong;
}
