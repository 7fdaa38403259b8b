/* SPDX-License-Identifier: Apache-2.0 */
#include "server/follow/watched.h"

#include "base/clock.h"
#include "base/log.h"
#include "loader/current.h"
#include "loader/followed/access.h"
#include "loader/followed/domain64_live.h"
#include "loader/followed/suppressions_live.h"
#include "loader/version.h"
#include "query/suppression/suppression_view.h"
#include "server/tls/tls_context.h"

#include <stdio.h>
#include <time.h>

#define RETRY_MAX_MS 5000
#define RETRY_MIN_MS 100

/* ---- access ---- */

static int look_access(void *of, bool asked, struct dx_error *err)
{
    (void)asked;
    return dx_access_poll(of, dx_clock_ms(), err);
}

static int describe_access(void *of, int rc, char text[DX_WATCHED_TEXT])
{
    struct dx_access_health health;

    dx_access_health(of, dx_clock_ms(), &health);
    if (rc < 0) {
        (void)snprintf(
            text, DX_WATCHED_TEXT, "%s",
            !health.known
                ? "the access table has been unreadable for too long; all requests are refused"
            : health.generation > 0
                ? "the table that was read before stays in force"
                : "no table was read before, and everybody may see all for the time being");
        return DX_LOG_ERROR;
    }
    if (health.present)
        (void)snprintf(text, DX_WATCHED_TEXT, "table of generation %llu, %llu principals",
                       (unsigned long long)health.generation,
                       (unsigned long long)health.principals);
    else
        (void)snprintf(text, DX_WATCHED_TEXT, "no table is in force: everybody may see all");
    return health.present ? DX_LOG_INFO : DX_LOG_WARN;
}

const struct dx_watched dx_watched_access = { "access", 250, look_access, describe_access };

/* ---- suppressions ---- */

static void prepare(struct dx_current *current)
{
    struct dx_version *v = dx_current_pin(current);
    struct dx_error err = DX_ERROR_INIT;

    if (v != NULL && dx_suppression_view_prepare(v, 0, &err) < 0)
        dx_log(DX_LOG_ERROR, "suppressions: %s", err.text);
    dx_version_unpin(v);
}

static int look_suppressions(void *of, bool asked, struct dx_error *err)
{
    int rc = dx_suppression_view_follow(dx_current_caches(of), err);

    (void)asked;
    if (rc == 1)
        prepare(of);
    return rc;
}

static int describe_suppressions(void *of, int rc, char text[DX_WATCHED_TEXT])
{
    struct dx_suppressions_live_health health;

    if (rc < 0) {
        (void)snprintf(text, DX_WATCHED_TEXT, "kept those that were known");
        return DX_LOG_ERROR;
    }
    dx_suppressions_live_health(dx_current_caches(of)->suppressions, &health);
    (void)snprintf(text, DX_WATCHED_TEXT, "%llu rule%s, log of %llu line%s",
                   (unsigned long long)health.rules, dx_plural(health.rules),
                   (unsigned long long)health.number, dx_plural(health.number));
    return DX_LOG_INFO;
}

const struct dx_watched dx_watched_suppressions = { "suppressions", 500, look_suppressions,
                                                    describe_suppressions };

/* ---- domain64 ---- */

static int look_domain64(void *of, bool asked, struct dx_error *err)
{
    return dx_domain64_live_poll(of, asked, dx_clock_ms(), err);
}

static int describe_domain64(void *of, int rc, char text[DX_WATCHED_TEXT])
{
    struct dx_domain64_registry_health health;

    dx_domain64_live_health(of, &health);
    if (rc < 0) {
        (void)snprintf(text, DX_WATCHED_TEXT, "%s",
                       health.present ? "the registry that was read before stays in use"
                                      : "cannot read the registry; domain64 keys are unavailable");
        return health.sound ? -1 : DX_LOG_ERROR;
    }
    if (health.present)
        (void)snprintf(text, DX_WATCHED_TEXT, "registry after filling %u, %llu names",
                       (unsigned)health.fillings, (unsigned long long)health.names);
    else
        (void)snprintf(text, DX_WATCHED_TEXT, "the registry is gone");
    return health.present ? DX_LOG_INFO : rc == 1 ? DX_LOG_WARN : -1;
}

const struct dx_watched dx_watched_domain64 = { "domain64", 1000, look_domain64,
                                                describe_domain64 };

/* ---- lease ---- */

static int look_lease(void *of, bool asked, struct dx_error *err)
{
    char rival[DX_RIVAL_TEXT];
    int rc = dx_current_renew(of, rival, err);

    (void)asked;
    if (rival[0] != '\0')
        dx_log(DX_LOG_WARN, "lease: %s", rival);
    return rc < 0 ? rc : 0;
}

static int describe_lease(void *of, int rc, char text[DX_WATCHED_TEXT])
{
    (void)of;
    (void)snprintf(text, DX_WATCHED_TEXT, rc < 0 ? "not renewed" : "renewed again");
    return rc < 0 ? DX_LOG_ERROR : DX_LOG_INFO;
}

const struct dx_watched dx_watched_lease = { "lease", 0, look_lease, describe_lease };

uint64_t dx_watched_lease_retry_ms(uint64_t ttl_ms)
{
    uint64_t retry = ttl_ms / 30;

    return retry > RETRY_MAX_MS ? RETRY_MAX_MS : retry < RETRY_MIN_MS ? RETRY_MIN_MS : retry;
}

/* ---- certificate ---- */

static int look_certificate(void *of, bool asked, struct dx_error *err)
{
    return dx_tls_poll(of, asked, (int64_t)time(NULL), err);
}

static int describe_certificate(void *of, int rc, char text[DX_WATCHED_TEXT])
{
    struct dx_tls_health health;
    char day[16] = "?";
    struct tm tm;
    time_t end;

    dx_tls_health(of, &health);
    end = (time_t)health.not_after_s;
    if (gmtime_r(&end, &tm) != NULL)
        (void)strftime(day, sizeof day, "%Y-%m-%d", &tm);
    if (rc < 0)
        (void)snprintf(text, DX_WATCHED_TEXT, "the one in use stays, until %s", day);
    else
        (void)snprintf(
            text, DX_WATCHED_TEXT, "in use, until %s%s", day,
            health.key_is_open ? "; everybody on this machine can read its key: chmod 600 it" : "");
    return rc < 0 ? DX_LOG_ERROR : health.key_is_open ? DX_LOG_WARN : DX_LOG_INFO;
}

const struct dx_watched dx_watched_certificate = { "certificate", 1000, look_certificate,
                                                   describe_certificate };
