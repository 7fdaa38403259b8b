/* SPDX-License-Identifier: Apache-2.0
 * domaindexd.c - the server program: settings, signals, one reload at a time.
 *
 * Signals are taken by the main thread only, with sigwait: all other threads have them
 * blocked, so no handler runs anywhere but that of SIGBUS (loader/guard/guard.h). SIGHUP has the
 * reloader look for a newer version now; SIGTERM and SIGINT drain and stop, a second one stops at
 * once, and so does the first while a version is loaded.
 */
#include "base/clock.h"
#include "base/command/process.h"
#include "base/crypto/jws.h"
#include "base/crypto/secret.h"
#include "base/log.h"
#include "fetch/environment.h"
#include "fetch/fetch_limits.h"
#include "loader/build_info.h"
#include "loader/current.h"
#include "loader/followed/access.h"
#include "loader/followed/domain64_live.h"
#include "loader/guard/guard.h"
#include "loader/lease.h"
#include "loader/mirror.h"
#include "loader/version.h"
#include "query/answers/self_test.h"
#include "query/foreign/foreign_folder.h"
#include "query/suppression/suppression_view.h"
#include "server/engine/metrics.h"
#include "server/follow/watched.h"
#include "server/process/reloader.h"
#include "server/process/sandbox.h"
#include "server/process/sandbox_trial.h"
#include "server/process/settings.h"
#include "server/process/settings_check.h"
#include "server/process/settings_text.h"
#include "server/process/supervisor.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIM_MS 2000 /* between two looks at what the heap holds free */
#define SUPPRESSIONS_WAIT_MS 30000
#define RELOAD_S 600        /* that a supervisor waits for the end of a reload */
#define STOP_EXTRA_MS 10000 /* after drain delay and grace: threads, the lease, files */
#define LOADED SIGUSR2      /* to the thread that waits for signals while a version is loaded */

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2 };

static const char usage[] =
    "usage: domaindexd --root ROOT [--listen HOST:PORT] [--config FILE] [option ...]\n"
    "\n"
    "Serves the published index under ROOT (a directory, http(s)://… or s3://bucket/prefix) over\n"
    "HTTP, read-only.\n"
    "\n";

/* Whatever is on standard output is there, or the code says that it is not. */
static int flush_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    (void)fprintf(stderr, "domaindexd: cannot write to standard output: %s\n", strerror(errno));
    return EXIT_REFUSED;
}

/* All of the text, and releases it. */
static int print(struct dx_buf *text)
{
    bool failed = text->failed;

    if (failed)
        (void)fprintf(stderr, "domaindexd: out of memory\n");
    else
        (void)fwrite(text->data, 1, text->size, stdout);
    dx_buf_release(text);
    return failed ? EXIT_REFUSED : flush_output();
}

static int print_help(void)
{
    struct dx_buf text = DX_BUF_INIT(64 * 1024);

    dx_buf_str(&text, usage);
    dx_options_help(dx_settings_table, dx_settings_table_size, &text);
    dx_environment_help(&text);
    return print(&text);
}

static int print_version(void)
{
    struct dx_buf text = DX_BUF_INIT(64 * 1024);

    dx_build_info(&text, "domaindexd");
    return print(&text);
}

static int print_man(void)
{
    struct dx_buf text = DX_BUF_INIT(64 * 1024);

    dx_buf_str(&text, ".Dd $Mdocdate$\n.Dt DOMAINDEXD 8\n.Os\n"
                      ".Sh NAME\n.Nm domaindexd\n"
                      ".Nd answer which datasets contain a domain, and which of its pages\n"
                      ".Sh SYNOPSIS\n.Nm\n.Fl Fl root Ar ROOT\n.Op Fl Fl listen Ar HOST:PORT\n"
                      ".Op Fl Fl config Ar FILE\n.Op Ar option ...\n"
                      ".Sh DESCRIPTION\n.Nm\nserves the published version of the index under\n"
                      ".Ar ROOT\nover HTTP.\nIt reads; all that it writes is its lease.\n"
                      "With\n.Fl Fl tls-certificate\nit speaks HTTPS, else plain HTTP.\n"
                      "The options are:\n");
    dx_options_mdoc(dx_settings_table, dx_settings_table_size, &text);
    dx_buf_str(
        &text,
        ".Sh SIGNALS\n.Bl -tag -width SIGTERM\n"
        ".It Dv SIGHUP\nLoad the version that the manifest names now, check at once for\n"
        "new suppressions, a new access table and a new certificate, and log which keys of the "
        "settings file have\n"
        "changed since the start.\nSettings take effect at a start only.\n"
        "Requests in flight end on the version they began with; if loading fails, the old one\n"
        "stays.\n"
        ".It Dv SIGUSR1\nReopen the log of requests.\n"
        ".It Dv SIGTERM , SIGINT\nDrain, stop accepting, finish requests in flight\n"
        "and exit.\nA second one ends at once, and so does the first before a version is served.\n"
        ".El\n");
    dx_buf_str(
        &text,
        ".Sh SUPERVISION\nIf\n.Ev NOTIFY_SOCKET\nis set, the supervisor gets, as by\n.Xr sd_notify "
        "3 ,\n"
        ".Ql READY=1\nonce a verified version is served,\n.Ql RELOADING=1\naround SIGHUP,\n"
        ".Ql STOPPING=1 ,\n.Ql EXTEND_TIMEOUT_USEC\nwhile loading goes on, and\n.Ql WATCHDOG=1\n"
        "while all event loops turn and some worker ends its jobs.\nListening sockets are taken by "
        "the names\n"
        ".Ql http\nand\n.Ql admin\n(\n.Ev LISTEN_PID ,\n.Ev LISTEN_FDS ,\n.Ev LISTEN_FDNAMES ) .\n"
        ".Sh SANDBOX\nBefore it serves, the program gives up what it does not need: it can read "
        "the root and the\n"
        "folders of files that settings name, write its lease, its copies of a remote root and its "
        "log,\n"
        "and start threads.\nIt cannot start programs, reach other processes, make memory "
        "executable or change the\n"
        "system.\nThe kernel holds it to that as far as it has landlock and seccomp; the log says "
        "how far.\n");
    dx_environment_mdoc(&text);
    dx_buf_str(&text,
               ".Sh FILES\nA settings file holds lines\n.Ql key = value\n"
               "with the long options as keys.\nA line that begins with\n.Ql #\nor\n.Ql \\&;\n"
               "is a comment, and so is what stands behind white space and one of them.\n"
               "A value may stand in double or single quotes, and is then taken as it is.\n"
               "Unknown keys and bad values are refused with the line's number.\n"
               ".Fl Fl check\nlooks at a file without serving,\n.Fl Fl print-config\n"
               "prints one with all that is in force.\n"
               ".Sh EXIT STATUS\n0 after a stop by signal, 1 if it could not serve,\n"
               "2 for bad options.\n"
               ".Sh SEE ALSO\n.Xr domaindex 1\n");
    return print(&text);
}

static int print_completion(enum dx_shell shell)
{
    const struct dx_completion_command only = { NULL, NULL, NULL, dx_settings_table,
                                                dx_settings_table_size };
    const struct dx_completion completion = { "domaindexd", &only, 1, NULL, NULL };
    struct dx_buf text = DX_BUF_INIT(1024 * 1024);

    dx_completion_script(&completion, shell, &text);
    return print(&text);
}

static int print_config(const struct dx_settings *settings)
{
    struct dx_buf text = DX_BUF_INIT(1024 * 1024);

    dx_settings_print(settings, &text);
    return print(&text);
}

static int check(const struct dx_settings *settings, struct dx_error *err)
{
    int rc = dx_settings_check(settings, err);

    if (rc == DX_OK)
        (void)printf("%s%sthe settings are sound; the root was not opened%s%s\n",
                     settings->config_path == NULL ? "" : settings->config_path,
                     settings->config_path == NULL ? "" : ": ",
                     settings->access_required && settings->access_file == NULL
                         ? "; a start needs an access table there (--access require)"
                         : "",
                     settings->resident_bytes > 0
                         ? "; a start needs its version to fit into --resident-max"
                         : "");
    return rc;
}

/* ---- serving ---- */

static void block_signals(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGHUP);
    (void)sigaddset(set, SIGUSR1);
    (void)sigaddset(set, LOADED);
    (void)pthread_sigmask(SIG_BLOCK, set, NULL);
    (void)sigdelset(set, LOADED); /* no other thread waits for it */
    (void)signal(SIGPIPE, SIG_IGN);
}

/* The next signal of the set, or 0 after ms. */
static int signal_within(const sigset_t *set, unsigned ms)
{
    struct timespec wait = { ms / 1000, (long)(ms % 1000) * 1000000 };
    int got = sigtimedwait(set, NULL, &wait);

    return got < 0 ? 0 : got;
}

/* How long to wait for signals between two tellings: half of what the supervisor waits, and a
 * second less where that is long, for a machine may be busy. */
static unsigned period_ms(const struct dx_supervisor *s)
{
    unsigned half = s->watchdog_ms == 0 ? 60000 : s->watchdog_ms / 2;

    return half > 4000 ? half - 1000 : half < 1 ? 1 : half;
}

/* While it stops, loops end, so their turning says nothing; how long that may take is bounded. */
static void feed_watchdog_anyhow(struct dx_supervisor *s)
{
    if (s->watchdog_ms > 0)
        dx_supervisor_tell(s, "WATCHDOG=1");
}

/* Serves on meanwhile. True: a second wish to stop came. */
static bool delay_drain(struct dx_supervisor *supervisor, const sigset_t *signals, unsigned ms)
{
    uint64_t until = dx_clock_ms() + ms;
    uint64_t now;

    while ((now = dx_clock_ms()) < until) {
        unsigned most = period_ms(supervisor);
        int got = signal_within(signals, until - now < most ? (unsigned)(until - now) : most);

        if (got == SIGTERM || got == SIGINT)
            return true;
        feed_watchdog_anyhow(supervisor);
    }
    return false;
}

struct stopping {
    struct dx_server **server;
    unsigned grace_ms;
    bool clean;
    _Atomic bool done;
};

static void *stop_server(void *argument)
{
    struct stopping *s = argument;

    s->clean = dx_server_stop(s->server, s->grace_ms);
    atomic_store(&s->done, true);
    (void)kill(getpid(), SIGHUP); /* ends the wait of the main thread */
    return NULL;
}

/* Returns whether all threads have ended; false as well when a second signal came. */
static bool end_server(struct dx_server **server, const struct dx_settings *settings,
                       struct dx_supervisor *supervisor, const sigset_t *signals)
{
    struct stopping s = { server, settings->grace_ms, false, false };
    pthread_t thread;

    dx_server_drain(*server);
    if (delay_drain(supervisor, signals, settings->drain_delay_ms))
        s.grace_ms = 0;
    if (pthread_create(&thread, NULL, stop_server, &s) != 0)
        return dx_server_stop(server, 0);
    while (!atomic_load(&s.done)) {
        int got = signal_within(signals, period_ms(supervisor));

        if (got == SIGTERM || got == SIGINT) {
            dx_log(DX_LOG_WARN, "second signal: ending at once");
            (void)fflush(stdout);
            _exit(0);
        }
        feed_watchdog_anyhow(supervisor);
    }
    (void)pthread_join(thread, NULL);
    return s.clean;
}

static void announce(struct dx_current *current, const struct dx_server *server)
{
    struct dx_current_stats stats;

    dx_current_stats(current, &stats);
    (void)printf("domaindexd: serving version %s on http%s://%s\n", stats.resident[0],
                 dx_server_speaks_tls(server) ? "s" : "", dx_server_address(server));
    if (dx_server_admin_address(server) != NULL)
        (void)printf("domaindexd: admin listener on %s%s\n",
                     dx_server_admin_address(server)[0] == 'u' ? "" : "http://",
                     dx_server_admin_address(server));
    (void)fflush(stdout);
}

/* How far the copies of a remote version are. */
static void log_mirror(void *ctx, const struct dx_mirror_progress *progress)
{
    char text[DX_MIRROR_LINE];

    (void)ctx;
    dx_mirror_progress_text(progress, text);
    dx_log(DX_LOG_INFO, "%s", text);
}

static struct dx_version_options version_options(const struct dx_settings *settings)
{
    struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;

    options.cache_bytes_idx = settings->cache_bytes_idx;
    options.cache_bytes_payload = settings->cache_bytes_payload;
    options.cache_bytes_pages = settings->cache_bytes_pages;
    options.verify = options.whole = settings->verify;
    options.source = &settings->source;
    options.mirror_dir = settings->cache_dir;
    options.mirror_postings = settings->mirror_postings;
    options.tell = log_mirror;
    return options;
}

/* Of a version that can no longer be served, in the guard's thread. */
static void look_for_version(void *ctx, const struct dx_error *why)
{
    dx_log(DX_LOG_ERROR, "a file was changed: %s; its answers are refused", why->text);
    dx_reloader_ask(ctx);
}

static int test_itself(void *ctx, struct dx_version *v, struct dx_error *err)
{
    struct dx_self_test_options options = DX_SELF_TEST_OPTIONS_INIT;
    struct dx_self_test_rows rows;
    int rc;

    (void)ctx;
    options.older = true;
    rc = dx_self_test(v, &options, &rows, err);
    if (rc == DX_OK && rows.failed > 0)
        dx_log(
            DX_LOG_ERROR,
            "version %s: rows of %u of %u datasets that were tried cannot be read from the lake; "
            "requests for them fail, all others are answered; the first: %s",
            dx_version_name(v), rows.failed, rows.tried, rows.first.text);
    return rc;
}

/* Which rows are hidden is known before the first request asks. If that takes long, requests about
 * those domains get 503: that must not keep a version back. */
static int apply_suppressions(void *ctx, struct dx_version *v, struct dx_error *err)
{
    int rc = dx_suppression_view_prepare(v, dx_clock_ms() + SUPPRESSIONS_WAIT_MS, err);

    (void)ctx;
    if (rc == 0)
        dx_log(DX_LOG_WARN, "suppressions: what they hide of version %s is not all known yet",
               dx_version_name(v));
    return rc < 0 ? rc : DX_OK;
}

static struct dx_current_options current_options(const struct dx_settings *settings,
                                                 const struct dx_version_options *version)
{
    struct dx_current_options o = DX_CURRENT_OPTIONS_INIT;

    o.version = version;
    o.cursor_life_ms = (uint64_t)settings->cursor_life_s * 1000;
    o.resident_bytes = settings->resident_bytes;
    o.resident_versions = settings->resident_versions;
    o.warm = settings->warm;
    o.prepare[o.prepare_count++] = (struct dx_prepare){ "self_test", test_itself, NULL };
    o.prepare[o.prepare_count++] = (struct dx_prepare){ "suppressions", apply_suppressions, NULL };
    return o;
}

/* A directory without a manifest is perhaps no root at all: nothing is made in it, and to open it
 * says what is missing. */
static bool may_be_root(const char *root)
{
    char *path = NULL;
    bool there;

    if (dx_source_remote(root))
        return true;
    if (asprintf(&path, "%s/" DX_MANIFEST_FILE, root) < 0)
        return false;
    there = access(path, F_OK) == 0;
    free(path);
    return there;
}

/* *lease NULL: without one. */
static int open_lease(const struct dx_settings *settings, struct dx_lease **lease,
                      struct dx_error *err)
{
    const struct dx_lease_options o = {
        .server = settings->server_name,
        .ttl_s = settings->lease_ttl_s,
        .cursor_life_s = settings->cursor_life_s,
        .request_s = (uint32_t)((dx_settings_request_ms(settings) + 999) / 1000),
        .source = &settings->source,
    };
    int rc;

    if (settings->lease == DX_LEASE_NO || !may_be_root(settings->root))
        return DX_OK;
    rc = dx_lease_open(lease, settings->root, &o, err);
    if (settings->lease == DX_LEASE_YES || (rc != DX_E_UNSUPPORTED && rc != DX_E_DENIED))
        return rc;
    dx_log(DX_LOG_WARN,
           "no lease, so 'domaindex gc' knows nothing of this server, and only what it keeps "
           "anyway is safe: %s",
           err->text);
    *err = (struct dx_error)DX_ERROR_INIT;
    return DX_OK;
}

/* What runs while the program serves; neutral: not there. */
struct daemon {
    const struct dx_settings *settings;
    struct dx_supervisor *supervisor;
    struct dx_version_options version;
    struct dx_lease *lease;
    struct dx_current *current;
    struct dx_answers answers;
    struct dx_server *server;
    struct dx_jws_key *receipt_key;
    struct dx_reloader *reloader;
    struct dx_follower *lease_follower;
    struct dx_access *access;
    struct dx_follower *access_follower;
    struct dx_domain64_live *numbers;
    struct dx_foreign_folder *foreign;
    struct dx_follower *numbers_follower;
    struct dx_tls *tls;
    struct dx_follower *tls_follower;
    char numbers_dir[DX_MIRROR_PATH];
};

/* A key that all users can read protects nothing, but works. Without a file cursors of principals
 * have one of this process: an access table may come at any time. */
static int take_cursor_settings(const struct dx_settings *settings, struct dx_answers *answers,
                                struct dx_error *err)
{
    const char *path = settings->cursor_key_file;
    struct stat st;

    answers->cursor_life_s = settings->cursor_life_s;
    if (path == NULL)
        return dx_cursor_key_random(&answers->cursor_key, err);
    if (stat(path, &st) == 0 && (st.st_mode & S_IROTH) != 0)
        dx_log(DX_LOG_WARN, "%s: everybody on this machine can read the cursor key; chmod 600 it",
               path);
    return dx_cursor_key_read(&answers->cursor_key, path, err);
}

static int take_receipt_key(const char *path, struct dx_jws_key **key, struct dx_error *err)
{
    return dx_jws_private_key_read(key, path, err) < 0 ? dx_fail_in(err, "--receipt-key-file")
                                                       : DX_OK;
}

static int open_current(struct daemon *d, struct dx_error *err)
{
    struct dx_current_options options;
    int rc = open_lease(d->settings, &d->lease, err);

    if (rc < 0)
        return rc;
    d->version = version_options(d->settings);
    options = current_options(d->settings, &d->version);
    options.lease = d->lease;
    options.request_ms = dx_settings_request_ms(d->settings);
    rc = dx_current_open(&d->current, d->settings->root, &options, err);
    if (rc < 0)
        return rc;
    d->answers = dx_answers_of(d->current);
    d->answers.metrics = dx_metrics_live;
    rc = take_cursor_settings(d->settings, &d->answers, err);
    if (rc == DX_OK && d->settings->receipt_key_file != NULL)
        rc = take_receipt_key(d->settings->receipt_key_file, &d->receipt_key, err);
    if (rc == DX_OK && d->settings->foreign != NULL)
        rc = dx_foreign_folder_open(&d->foreign, d->settings->foreign, err);
    d->answers.foreign = d->foreign;
    return rc;
}

/* Before the server, and behind the manifest: it does not begin with a table that cannot be read, or was lost. */
static int open_access(struct daemon *d, struct dx_error *err)
{
    const struct dx_settings *settings = d->settings;
    const struct dx_access_where where = { .root = settings->root,
                                           .file = settings->access_file,
                                           .source = &settings->source,
                                           .required = settings->access_required,
                                           .least = settings->access_file == NULL
                                                        ? dx_current_access(d->current)
                                                        : NULL };
    bool remote = settings->access_file == NULL && dx_source_remote(settings->root);
    struct dx_access_health health;
    int rc = dx_access_open(&d->access, &where, dx_clock_ms(), err);

    if (rc < 0)
        return rc;
    dx_access_health(d->access, dx_clock_ms(), &health);
    if (health.present)
        dx_log(DX_LOG_INFO, "access: table of generation %llu, %llu principals",
               (unsigned long long)health.generation, (unsigned long long)health.principals);
    return dx_follower_start(&d->access_follower, &dx_watched_access, d->access, remote,
                             settings->poll_ms, err);
}

/* Books of a remote root go where its index goes: the sandbox allows no other place. One that is
 * damaged keeps nothing back but the numbers. */
static int open_numbers(struct daemon *d, struct dx_error *err)
{
    const struct dx_settings *settings = d->settings;
    bool remote = dx_source_remote(settings->root);
    struct dx_domain64_registry_where where = { .root = settings->root,
                                                .source = &settings->source,
                                                .options = { .whole = settings->verify },
                                                .keep_ms = (uint64_t)settings->cursor_life_s *
                                                           1000 };
    struct dx_domain64_registry_health health;
    int rc = remote ? dx_mirror_place(settings->cache_dir, d->numbers_dir, err) : DX_OK;

    where.options.dir = remote ? d->numbers_dir : NULL;
    if (rc == DX_OK)
        rc = dx_domain64_live_open(&d->numbers, &where, dx_clock_ms(), err);
    if (rc < 0)
        return rc;
    dx_domain64_live_health(d->numbers, &health);
    if (!health.sound)
        dx_log(DX_LOG_ERROR,
               "domain64: cannot read the registry; domain64 keys are unavailable: %s",
               health.text);
    else if (health.present)
        dx_log(DX_LOG_INFO, "domain64: registry after filling %u, %llu names",
               (unsigned)health.fillings, (unsigned long long)health.names);
    d->answers.numbers = d->numbers;
    return dx_follower_start(&d->numbers_follower, &dx_watched_domain64, d->numbers, remote,
                             settings->poll_ms, err);
}

static int open_tls(struct daemon *d, struct dx_error *err)
{
    const struct dx_settings *settings = d->settings;
    char text[DX_WATCHED_TEXT];
    struct dx_tls_health health;
    int rc = dx_tls_open(&d->tls, &settings->tls, (int64_t)time(NULL), err);

    if (rc < 0)
        return dx_fail_in(err, "--tls-certificate");
    dx_tls_health(d->tls, &health);
    dx_log((enum dx_log_level)dx_watched_certificate.describe(d->tls, 1, text), "certificate: %s",
           text);
    if (health.not_after_s <= (int64_t)time(NULL))
        dx_log(DX_LOG_ERROR, "certificate: it has expired; clients will refuse it");
    return dx_follower_start(&d->tls_follower, &dx_watched_certificate, d->tls, false,
                             settings->poll_ms, err);
}

static int start_server(struct daemon *d, struct dx_error *err)
{
    struct dx_server_options options = d->settings->server;

    options.access = d->access;
    options.receipt_key = d->receipt_key;
    options.tls = d->tls;
    options.listen_fd = dx_supervisor_listener(d->supervisor, "http");
    options.admin_fd = dx_supervisor_listener(d->supervisor, "admin");
    if (options.listen_fd >= 0)
        dx_log(DX_LOG_INFO, "a socket was handed over: --listen is not looked at");
    if (options.admin_fd >= 0)
        dx_log(DX_LOG_INFO, "an admin socket was handed over: --admin is not looked at");
    if (options.log_targets && options.log_requests != NULL)
        dx_log(DX_LOG_WARN,
               "--log-targets: the log of requests names the domains and URLs that are "
               "asked for");
    return dx_server_start(&d->server, &options, &d->answers, err);
}

/* All but the server. */
static int start_parts(struct daemon *d, struct dx_error *err)
{
    const struct dx_settings *settings = d->settings;
    const char *root = dx_source_remote(settings->root) ? NULL : settings->root;
    uint64_t ttl_ms = (uint64_t)settings->lease_ttl_s * 1000;
    int rc = dx_guard_start(0, err);

    if (rc == DX_OK)
        rc = open_current(d, err);
    if (rc == DX_OK && d->lease != NULL)
        rc = dx_follower_start_each(&d->lease_follower, &dx_watched_lease, d->current, ttl_ms / 3,
                                    dx_watched_lease_retry_ms(ttl_ms), err);
    if (rc == DX_OK)
        rc = dx_reloader_start(&d->reloader, d->current, root, settings->poll_ms, err);
    if (rc == DX_OK)
        rc = open_access(d, err);
    if (rc == DX_OK)
        rc = open_numbers(d, err);
    if (rc == DX_OK && settings->tls.certificate != NULL)
        rc = open_tls(d, err);
    return rc;
}

/* NULL, or what does not end: then what it uses stays. */
static const char *end_daemon(struct daemon *d, const sigset_t *signals)
{
    if (d->server != NULL && !end_server(&d->server, d->settings, d->supervisor, signals))
        return "read";
    if (d->reloader != NULL && !dx_reloader_stop(&d->reloader))
        return "reload";
    if (!dx_follower_stop(&d->access_follower))
        return "look at the access table";
    if (!dx_follower_stop(&d->numbers_follower))
        return "look at the domain64 registry";
    if (!dx_follower_stop(&d->lease_follower))
        return "renewal of the lease";
    if (!dx_follower_stop(&d->tls_follower))
        return "look at the certificate";
    dx_tls_close(&d->tls);
    dx_access_close(&d->access);
    dx_jws_key_free(&d->receipt_key);
    dx_domain64_live_close(&d->numbers);
    dx_foreign_folder_close(&d->foreign);
    dx_current_close(&d->current);
    dx_lease_close(&d->lease);
    dx_guard_stop();
    return NULL;
}

/* ---- notifications of the supervisor ---- */

static void tell_ready(void *ctx)
{
    struct daemon *d = ctx;
    struct dx_current_stats stats;

    dx_current_stats(d->current, &stats);
    dx_supervisor_tell(d->supervisor, "READY=1\nSTATUS=serving version %s on %s", stats.resident[0],
                       dx_server_address(d->server));
}

static void reload(struct daemon *d)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    dx_supervisor_tell(d->supervisor, "RELOADING=1\nMONOTONIC_USEC=%lld\nEXTEND_TIMEOUT_USEC=%lld",
                       (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000,
                       (long long)RELOAD_S * 1000000);
    dx_settings_log_changes(d->settings);
    dx_follower_ask(d->access_follower);
    dx_follower_ask(d->numbers_follower);
    if (d->tls_follower != NULL)
        dx_follower_ask(d->tls_follower);
    dx_reloader_ask(d->reloader);
}

/* That all is well, if it is. The main thread says it, so it lives too. */
static void feed_watchdog(struct daemon *d, bool *well)
{
    struct dx_error why = DX_ERROR_INIT;
    bool was = *well;

    *well = dx_server_lives(d->server, d->supervisor->watchdog_ms / 2, &why);
    if (*well)
        dx_supervisor_tell(d->supervisor, "WATCHDOG=1");
    else if (was)
        dx_log(DX_LOG_ERROR, "watchdog: %s: the supervisor gets no watchdog notification",
               why.text);
}

/* What a version had that went with a flip is spread over the heap, and would be touched again bit by bit. */
static void trim_heap(const struct daemon *d, uint64_t *flips)
{
    struct dx_current_stats stats;
    uint64_t before = *flips;

    dx_current_stats(d->current, &stats);
    *flips = stats.reloads[DX_RELOAD_OK];
    dx_process_trim_heap(*flips != before);
}

static void wait_for_stop(struct daemon *d, const sigset_t *set)
{
    bool watched = d->supervisor->watchdog_ms > 0;
    uint64_t flips = 0;
    bool well = true;
    int got = 0;

    while (got != SIGTERM && got != SIGINT) {
        unsigned ms = period_ms(d->supervisor);

        got = signal_within(set, ms < TRIM_MS ? ms : TRIM_MS);
        trim_heap(d, &flips);
        if (got == SIGHUP)
            reload(d);
        else if (got == SIGUSR1)
            dx_server_reopen_log(d->server);
        if (watched)
            feed_watchdog(d, &well);
    }
    dx_log(DX_LOG_INFO, "%s: draining", got == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void tell_stopping(const struct daemon *d)
{
    unsigned long long ms = (unsigned long long)d->settings->drain_delay_ms + d->settings->grace_ms;

    dx_supervisor_tell(d->supervisor, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%llu\nSTATUS=draining",
                       (ms + STOP_EXTRA_MS) * 1000);
}

static void serve_until_stopped(struct daemon *d, const sigset_t *signals)
{
    dx_reloader_tell(d->reloader, d->server);
    dx_reloader_when_done(d->reloader, tell_ready, d);
    dx_guard_tell(look_for_version, d->reloader);
    announce(d->current, d->server);
    tell_ready(d);
    wait_for_stop(d, signals);
    tell_stopping(d);
    dx_guard_tell(NULL, NULL);
    dx_reloader_when_done(d->reloader, NULL, NULL);
    dx_reloader_tell(d->reloader, NULL);
}

/* Loading may take many minutes, and a stop meanwhile need not wait for anything: no request has
 * come, incomplete copies are rebuilt, and a lease ends by itself. */
static void *stop_in_load(void *none)
{
    sigset_t set;
    int got;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, LOADED);
    do {
        got = sigwaitinfo(&set, NULL);
    } while (got < 0 && errno == EINTR);
    if (got == SIGTERM || got == SIGINT) {
        dx_log(DX_LOG_INFO, "%s: ending before anything was served",
               got == SIGTERM ? "SIGTERM" : "SIGINT");
        _exit(0);
    }
    return none;
}

static int load(struct daemon *d, struct dx_error *err)
{
    pthread_t stopper;
    bool stoppable = pthread_create(&stopper, NULL, stop_in_load, NULL) == 0;
    int rc;

    dx_supervisor_begin(d->supervisor);
    rc = start_parts(d, err);
    dx_supervisor_loaded(d->supervisor);
    if (stoppable) {
        (void)pthread_kill(stopper, LOADED);
        (void)pthread_join(stopper, NULL);
    }
    return rc;
}

static int serve_root(const struct dx_settings *settings, struct dx_supervisor *supervisor,
                      const struct dx_sandbox *sandbox, struct dx_error *err)
{
    struct daemon d = { .settings = settings, .supervisor = supervisor };
    const char *hangs;
    sigset_t signals;
    int rc;

    block_signals(&signals);
    rc = load(&d, err);
    if (rc == DX_OK)
        rc = start_server(&d, err);
    if (rc == DX_OK)
        rc = dx_sandbox_narrow(sandbox, err);
    if (rc >= 0) {
        rc = DX_OK;
        serve_until_stopped(&d, &signals);
    }
    hangs = end_daemon(&d, &signals);
    if (hangs != NULL) {
        dx_log(DX_LOG_WARN, "a %s does not end; ending without it", hangs);
        (void)fflush(stdout);
        _exit(rc == DX_OK ? 0 : EXIT_REFUSED);
    }
    if (rc == DX_OK)
        dx_log(DX_LOG_INFO, "stopped");
    return rc;
}

static int serve_supervised(const struct dx_settings *settings, struct dx_error *err)
{
    struct dx_supervisor supervisor;
    struct dx_sandbox sandbox;
    int rc;

    dx_log_never_wait(); /* also not for a pipe that is full at the start */
    rc = dx_supervisor_open(&supervisor, err);
    if (rc < 0)
        return rc;
    dx_process_raise_files();
    if (settings->tls.certificate != NULL)
        dx_tls_begin();
    rc = dx_sandbox_enter(&sandbox, settings, err);
    if (rc == DX_OK) {
        dx_sandbox_log(&sandbox);
        rc = serve_root(settings, &supervisor, &sandbox, err);
    }
    dx_supervisor_close(&supervisor);
    return rc;
}

/* Of a store that does not answer at the start, or where a lease is written. From any thread. */
static void log_silence(void *ctx, const struct dx_retry_silence *s)
{
    (void)ctx;
    if (s->what == NULL)
        dx_log(DX_LOG_INFO, "the store answers again");
    else
        dx_log(DX_LOG_WARN, "the store does not answer: %s; trying for up to %llu s", s->what,
               (unsigned long long)(s->left_ms + 999) / 1000);
}

int main(int argc, char **argv)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_settings settings;
    int code = 0;

    dx_process_begin();
    dx_secret_begin();
    dx_secret_held(); /* a key of cursors at least, and what requests carry */
    dx_process_bound_heap();
    dx_retry_watch_set(&dx_fetch_limits_shared()->watch, log_silence, NULL);
    if (dx_settings_parse(&settings, argc, argv, &err) < 0) {
        (void)fprintf(stderr, "domaindexd: %s\nTry 'domaindexd --help'.\n", err.text);
        return EXIT_USAGE;
    }
    if (settings.help) {
        code = print_help();
    } else if (settings.show_version) {
        code = print_version();
    } else if (settings.man) {
        code = print_man();
    } else if (settings.completion != DX_SHELL_NONE) {
        code = print_completion(settings.completion);
    } else if (settings.print_config) {
        code = print_config(&settings);
    } else if (settings.selftest_sandbox) {
        code = dx_sandbox_trial(&settings) ? 0 : EXIT_REFUSED;
    } else if ((settings.check ? check(&settings, &err) : serve_supervised(&settings, &err)) < 0) {
        (void)fprintf(stderr, "domaindexd: %s\n", err.text);
        code = EXIT_REFUSED;
    } else if (settings.check) {
        code = flush_output();
    }
    dx_settings_release(&settings);
    return code;
}
