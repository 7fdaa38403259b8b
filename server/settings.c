/* SPDX-License-Identifier: Apache-2.0 */
#include "server/settings.h"

#include "loader/residents.h"

#include <string.h>

enum {
    OPT_ROOT,
    OPT_LISTEN,
    OPT_CONFIG,
    OPT_THREADS,
    OPT_WORKERS,
    OPT_QUEUE,
    OPT_CONNECTIONS,
    OPT_CACHE_IDX,
    OPT_CACHE_PAYLOAD,
    OPT_CACHE_PAGES,
    OPT_CACHE_ANSWERS,
    OPT_READ_MEMORY,
    OPT_REPLY_MEMORY,
    OPT_HOT_MEMORY,
    OPT_HEAD_TIMEOUT,
    OPT_IDLE_TIMEOUT,
    OPT_JOB_TIMEOUT,
    OPT_QUEUE_TIMEOUT,
    OPT_STORAGE_TIMEOUT,
    OPT_WRITE_TIMEOUT,
    OPT_ADDRESS_COST,
    OPT_ADDRESS_BURST,
    OPT_ADDRESS_CONNECTIONS,
    OPT_PRINCIPAL_COST,
    OPT_PRINCIPAL_BURST,
    OPT_POLL,
    OPT_DRAIN_DELAY,
    OPT_GRACE,
    OPT_CURSOR_KEY_FILE,
    OPT_CURSOR_LIFE,
    OPT_VERIFY,
    OPT_WARM,
    OPT_RESIDENT_VERSIONS,
    OPT_RESIDENT_MAX,
    OPT_LEASE,
    OPT_LEASE_TTL,
    OPT_SERVER_NAME,
    OPT_CACHE_DIR,
    OPT_MIRROR_POSTINGS,
    OPT_CA_FILE,
    OPT_S3_ENDPOINT,
    OPT_S3_REGION,
    OPT_S3_PROFILE,
    OPT_S3_ANONYMOUS,
    OPT_HEDGE,
    OPT_ACCESS,
    OPT_ACCESS_FILE,
    OPT_PRINCIPAL_HEADER,
    OPT_ADDRESS_HEADER,
    OPT_TRUSTED_PROXY,
    OPT_ADMIN,
    OPT_LOG_REQUESTS,
    OPT_LOG_TARGETS,
    OPT_SERVER_TIMING,
    OPT_SANDBOX,
    OPT_SELFTEST_SANDBOX,
    OPT_HELP,
    OPT_VERSION,
    OPT_MAN,
    OPT_COUNT
};

const struct dx_option dx_settings_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live" },
    [OPT_LISTEN] = { "listen", "HOST:PORT", "127.0.0.1:8080",
                     "where to serve plain HTTP; [::1]:8080 for IPv6, port 0 for any free one" },
    [OPT_CONFIG] = { "config", "FILE", NULL,
                     "settings, 'key = value' lines with these options as keys; the command line "
                     "wins" },
    [OPT_THREADS] = { "threads", "NUMBER", "0", "event loops, one thread each; 0: one a core" },
    [OPT_WORKERS] = { "workers", "NUMBER", "0",
                      "threads that read pages of URLs; 0: one a core, at least two" },
    [OPT_QUEUE] = { "queue", "NUMBER", "1024",
                    "listings that may wait for a worker or a store; further ones are told 503" },
    [OPT_CONNECTIONS] = { "connections", "NUMBER", "10000",
                          "open connections at most; fewer if the limit of descriptors is lower" },
    [OPT_CACHE_IDX] = { "cache-idx", "SIZE", "64M", "cache of postings index pages" },
    [OPT_CACHE_PAYLOAD] = { "cache-payload", "SIZE", "64M", "cache of postings payloads" },
    [OPT_CACHE_PAGES] = { "cache-pages", "SIZE", "64M", "cache of decoded lake pages" },
    [OPT_CACHE_ANSWERS] = { "cache-answers", "SIZE", "64M",
                            "cache of whole answers, of listings that are asked for again and "
                            "again; 0: none" },
    [OPT_READ_MEMORY] = { "read-memory", "SIZE", "512M",
                          "stored bytes that listings under way may hold, all together" },
    [OPT_REPLY_MEMORY] = { "reply-memory", "SIZE", "256M",
                           "replies that may wait for slow clients, all together" },
    [OPT_HOT_MEMORY] = { "cache-domains", "SIZE", "64M",
                         "cache of whole replies about domains that are asked for again and "
                         "again; a part for each event loop; 0: none" },
    [OPT_HEAD_TIMEOUT] = { "head-timeout-ms", "NUMBER", "5000",
                           "for a whole request head, from the connection's or its first byte on" },
    [OPT_IDLE_TIMEOUT] = { "idle-timeout-ms", "NUMBER", "60000",
                           "for the next request on a connection kept alive" },
    [OPT_JOB_TIMEOUT] = { "job-timeout-ms", "NUMBER", "30000", "for an answer from a worker" },
    [OPT_QUEUE_TIMEOUT] = { "queue-timeout-ms", "NUMBER", "3000",
                            "of that, until a worker begins with it: then 503; 0: all of it" },
    [OPT_STORAGE_TIMEOUT] = { "storage-timeout-ms", "NUMBER", "10000",
                              "and for each round of reads from a store; 0: all of it" },
    [OPT_WRITE_TIMEOUT] = { "write-timeout-ms", "NUMBER", "30000",
                            "for the client to take a whole reply" },
    [OPT_ADDRESS_COST] = { "address-cost-per-s", "NUMBER", "0",
                           "what one address may spend, in the units of docs/API.md; above it, "
                           "429; "
                           "an IPv6 network of 64 bits is one address; 0: no limit" },
    [OPT_ADDRESS_BURST] = { "address-burst", "NUMBER", "0",
                            "what an address may have saved up; 0: ten seconds of it" },
    [OPT_ADDRESS_CONNECTIONS] = { "address-connections", "NUMBER", "0",
                                  "open connections of one address; 0: no limit" },
    [OPT_PRINCIPAL_COST] = { "principal-cost-per-s", "NUMBER", "0",
                             "what one principal may spend, where the access table says nothing; "
                             "0: no limit" },
    [OPT_PRINCIPAL_BURST] = { "principal-burst", "NUMBER", "0",
                              "what a principal may have saved up; 0: ten seconds of it" },
    [OPT_POLL] = { "poll-ms", "NUMBER", "2000",
                   "between two looks for a newer version, more or less; 0: only at SIGHUP" },
    [OPT_DRAIN_DELAY] = { "drain-delay-ms", "NUMBER", "0",
                          "after SIGTERM, serve on with /readyz at 503 for this long" },
    [OPT_GRACE] = { "grace-ms", "NUMBER", "10000", "then, for requests in flight to finish" },
    [OPT_CURSOR_KEY_FILE] = { "cursor-key-file", "FILE", NULL,
                              "32 bytes or more that cursors are sealed with; the same for all "
                              "servers behind one balancer. Without it the key is of this process "
                              "where a table of access is in force; else it is made of the build "
                              "id, and cursors can be read and forged" },
    [OPT_CURSOR_LIFE] = { "cursor-life", "SECONDS", "900",
                          "from the first page of a listing to its last one by cursors, and that a "
                          "version stays open after another took its place; 0: give no cursors" },
    [OPT_VERIFY] = { "verify", "YES|NO", "yes",
                     "read and check every byte of a version's index before it serves; no: each "
                     "block when it is first read" },
    [OPT_WARM] = { "warm", "YES|NO", "yes",
                   "before a new version serves, read its mapped files into memory; one that is "
                   "larger than the memory that is available is refused" },
    [OPT_RESIDENT_VERSIONS] = { "resident-versions", "NUMBER", "8",
                                "versions that stay open at most: the current one, older ones for "
                                "cursors, and those that requests name" },
    [OPT_RESIDENT_MAX] = { "resident-max", "SIZE", "0",
                           "mapped files of all open versions together, the one to be loaded "
                           "included; older ones give way, then it is refused; 0: no cap" },
    [OPT_LEASE] = { "lease", "AUTO|YES|NO", "auto",
                    "hold a lease in the root, leases/NAME.json, which keeps 'domaindex gc' from "
                    "the versions that are open here; auto: not where it cannot be written" },
    [OPT_LEASE_TTL] = { "lease-ttl", "SECONDS", "600",
                        "that a lease holds; it is renewed in a third of that. When it ends, all "
                        "answers are 503 until there is a new one" },
    [OPT_SERVER_NAME] = { "server-name", "NAME", NULL,
                          "of the lease; each server of a root has one of its own; else the "
                          "machine's" },
    [OPT_CACHE_DIR] = { "cache-dir", "DIR", NULL,
                        "local copies of the mapped files of a remote root; else "
                        "$CACHE_DIRECTORY, $XDG_CACHE_HOME/domaindex or ~/.cache/domaindex" },
    [OPT_MIRROR_POSTINGS] = { "mirror-postings", "YES|NO", "no",
                              "of a remote root, copy postings, facts and url_ids too and not only "
                              "what is mapped" },
    [OPT_CA_FILE] = { "ca-file", "FILE", NULL,
                      "certificates that https:// and s3:// roots are checked with; else the "
                      "system's" },
    [OPT_S3_ENDPOINT] = { "s3-endpoint", "URL", NULL,
                          "of an s3:// root; else AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or "
                          "Amazon's" },
    [OPT_S3_REGION] = { "s3-region", "NAME", NULL, "else AWS_REGION, or us-east-1" },
    [OPT_S3_PROFILE] = { "s3-profile", "NAME", NULL,
                         "of the shared credentials file; else AWS_PROFILE, or default" },
    [OPT_S3_ANONYMOUS] = { "s3-anonymous", "YES|NO", NULL,
                           "do not sign requests; else as DOMAINDEX_S3_ANONYMOUS says, or no" },
    [OPT_HEDGE] = { "hedge", "YES|NO", "no",
                    "ask a store a second time, over another connection, for a range that is "
                    "late" },
    [OPT_ACCESS] = { "access", "AUTO|REQUIRE", "auto",
                     "who may see which datasets ('domaindex access'); require: no start without a "
                     "table in force; auto: without one everybody may see all" },
    [OPT_ACCESS_FILE] = { "access-file", "FILE", NULL,
                          "that table, of this machine; else index/access.json of the root" },
    [OPT_PRINCIPAL_HEADER] = { "principal-header", "NAME", NULL,
                               "a request header that says who asks; believed from --trusted-proxy "
                               "addresses only" },
    [OPT_ADDRESS_HEADER] = { "address-header", "NAME", NULL,
                             "a request header that lists the addresses a request came by, like "
                             "X-Forwarded-For; believed from --trusted-proxy addresses only" },
    [OPT_TRUSTED_PROXY] = { "trusted-proxy", "NETWORK,...", NULL,
                            "addresses of proxies, like 10.1.0.0/16, ::1 or unix (a local socket), "
                            "that the two headers are believed from; may be given again" },
    [OPT_ADMIN] = { "admin", "HOST:PORT|unix:PATH", NULL,
                    "a listener of its own for /metrics, /healthz, /readyz and /version, for those "
                    "who run the server: it asks for no token. The file of a unix: one has mode "
                    "0660" },
    [OPT_LOG_REQUESTS] = { "log-requests", "NO|STDERR|FILE", "no",
                           "a line of JSON for each request: ids, counts and times, not what was "
                           "asked. SIGUSR1 opens the file anew" },
    [OPT_LOG_TARGETS] = { "log-targets", "YES|NO", "no",
                          "write into it what was asked too: domains, URLs, cursors" },
    [OPT_SERVER_TIMING] = { "server-timing", "YES|NO", "no",
                            "say in a Server-Timing field what the stages of an answer took. Times "
                            "tell something of what others asked" },
    [OPT_SANDBOX] = { "sandbox", "AUTO|YES|NO", "auto",
                      "give up all rights that serving does not need, by landlock and seccomp; "
                      "auto: as "
                      "far as the kernel has them; yes: do not start without both" },
    [OPT_SELFTEST_SANDBOX] = { "selftest-sandbox", NULL, NULL,
                               "enter the sandbox that these settings make, try what it forbids, "
                               "print "
                               "what came of it, and exit; 1 if something was not refused" },
    [OPT_HELP] = { "help", NULL, NULL, "print this and exit" },
    [OPT_VERSION] = { "version", NULL, NULL, "print the program's version and exit" },
    [OPT_MAN] = { "man", NULL, NULL, "print the manual page (mdoc) and exit" },
};
const size_t dx_settings_table_size = OPT_COUNT;

#define MS_DAY 86400000u
#define RATE_MAX 1000000000u
#define REQUEST_EXTRA_MS 1000 /* for the loop to notice, and for the clock */

/* One option given, as a table of its own for base/options.h to read and bound. */
static int number(size_t index, const char *text, uint64_t min, uint64_t max, unsigned *value,
                  struct dx_error *err)
{
    struct dx_option_value given = { index, text };
    struct dx_options one = {
        .table = dx_settings_table, .table_size = OPT_COUNT, .given = &given, .given_count = 1
    };
    uint64_t v = 0;
    int rc = dx_options_number(&one, index, min, max, &v, err);

    if (rc == DX_OK)
        *value = (unsigned)v;
    return rc;
}

static int size(size_t index, const char *text, uint64_t min, uint64_t *value, struct dx_error *err)
{
    struct dx_option_value given = { index, text };
    struct dx_options one = {
        .table = dx_settings_table, .table_size = OPT_COUNT, .given = &given, .given_count = 1
    };

    return dx_options_size(&one, index, min, (uint64_t)1 << 40, value, err);
}

static int count(size_t index, const char *text, unsigned max, unsigned *value,
                 struct dx_error *err)
{
    unsigned v = 0;
    int rc = number(index, text, 0, max, &v, err);

    if (rc == DX_OK && v > 0) /* 0 keeps the default: by the number of cores */
        *value = v;
    return rc;
}

static int yes_no(size_t index, const char *text, bool *value, struct dx_error *err)
{
    *value = strcmp(text, "yes") == 0;
    if (*value || strcmp(text, "no") == 0)
        return DX_OK;
    return dx_fail(err, DX_E_INVALID, "--%s: '%s' is neither yes nor no",
                   dx_settings_table[index].name, text);
}

/* What is said of remote roots; false: it is another option. */
static bool set_remote(struct dx_settings *s, size_t index, const char *text, int *rc,
                       struct dx_error *err)
{
    *rc = DX_OK;
    switch (index) {
    case OPT_CACHE_DIR:
        s->cache_dir = text;
        return true;
    case OPT_MIRROR_POSTINGS:
        *rc = yes_no(index, text, &s->mirror_postings, err);
        return true;
    case OPT_CA_FILE:
        s->source.ca_file = text;
        return true;
    case OPT_S3_ENDPOINT:
        s->source.s3_endpoint = text;
        return true;
    case OPT_S3_REGION:
        s->source.s3_region = text;
        return true;
    case OPT_S3_PROFILE:
        s->source.s3_profile = text;
        return true;
    case OPT_S3_ANONYMOUS:
        *rc = yes_no(index, text, &s->source.s3_anonymous, err);
        return true;
    case OPT_HEDGE:
        *rc = yes_no(index, text, &s->source.hedge, err);
        return true;
    default:
        return false;
    }
}

/* One of "auto", "yes" and "no", in the order of the enums. */
static int mode(size_t index, const char *text, unsigned *value, struct dx_error *err)
{
    static const char *const names[] = { "auto", "yes", "no" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i]) == 0) {
            *value = (unsigned)i;
            return DX_OK;
        }
    return dx_fail(err, DX_E_INVALID, "--%s: '%s' is neither auto, yes nor no",
                   dx_settings_table[index].name, text);
}

/* What is said of versions; false: it is another option. */
static bool set_versions(struct dx_settings *s, size_t index, const char *text, int *rc,
                         struct dx_error *err)
{
    unsigned which = 0;

    switch (index) {
    case OPT_POLL:
        *rc = number(index, text, 0, MS_DAY, &s->poll_ms, err);
        return true;
    case OPT_VERIFY:
        *rc = yes_no(index, text, &s->verify, err);
        return true;
    case OPT_WARM:
        *rc = yes_no(index, text, &s->warm, err);
        return true;
    case OPT_RESIDENT_VERSIONS:
        *rc = number(index, text, DX_RESIDENT_MIN, DX_RESIDENT_MAX, &s->resident_versions, err);
        return true;
    case OPT_LEASE:
        *rc = mode(index, text, &which, err);
        s->lease = (enum dx_lease_mode)which;
        return true;
    case OPT_LEASE_TTL:
        *rc = number(index, text, 1, 86400, &s->lease_ttl_s, err);
        return true;
    case OPT_SERVER_NAME:
        s->server_name = text;
        return true;
    case OPT_RESIDENT_MAX:
        *rc = size(index, text, 0, &s->resident_bytes, err);
        return true;
    case OPT_CURSOR_LIFE:
        *rc = number(index, text, 0, 86400, &s->cursor_life_s, err);
        return true;
    default:
        return false;
    }
}

static int rate(size_t index, const char *text, double *value, struct dx_error *err)
{
    unsigned v = 0;
    int rc = number(index, text, 0, RATE_MAX, &v, err);

    *value = v;
    return rc;
}

/* What is said of how much somebody may ask for, and how long it may take; false: it is another option. */
static bool set_limits(struct dx_settings *s, size_t index, const char *text, int *rc,
                       struct dx_error *err)
{
    struct dx_server_options *o = &s->server;

    switch (index) {
    case OPT_HEAD_TIMEOUT:
        *rc = number(index, text, 100, 60000, &o->head_timeout_ms, err);
        return true;
    case OPT_IDLE_TIMEOUT:
        *rc = number(index, text, 100, MS_DAY, &o->idle_timeout_ms, err);
        return true;
    case OPT_JOB_TIMEOUT:
        *rc = number(index, text, 100, 600000, &o->job_timeout_ms, err);
        return true;
    case OPT_WRITE_TIMEOUT:
        *rc = number(index, text, 100, 600000, &o->write_timeout_ms, err);
        return true;
    case OPT_QUEUE_TIMEOUT:
        *rc = number(index, text, 0, 600000, &o->queue_timeout_ms, err);
        return true;
    case OPT_STORAGE_TIMEOUT:
        *rc = number(index, text, 0, 600000, &o->storage_timeout_ms, err);
        return true;
    case OPT_ADDRESS_COST:
        *rc = rate(index, text, &o->admission.address_cost_per_s, err);
        return true;
    case OPT_ADDRESS_BURST:
        *rc = rate(index, text, &o->admission.address_burst, err);
        return true;
    case OPT_ADDRESS_CONNECTIONS:
        *rc = number(index, text, 0, RATE_MAX, &o->admission.address_connections, err);
        return true;
    case OPT_PRINCIPAL_COST:
        *rc = rate(index, text, &o->admission.principal_cost_per_s, err);
        return true;
    case OPT_PRINCIPAL_BURST:
        *rc = rate(index, text, &o->admission.principal_burst, err);
        return true;
    default:
        return false;
    }
}

static int access_mode(const char *text, bool *required, struct dx_error *err)
{
    *required = strcmp(text, "require") == 0;
    return *required || strcmp(text, "auto") == 0
               ? DX_OK
               : dx_fail(err, DX_E_INVALID, "--access: '%s' is neither auto nor require", text);
}

/* Headers that say something else already, or that no proxy may be asked to set. */
static bool header_is_taken(const char *name)
{
    static const char *const taken[] = {
        "authorization", "connection", "content-encoding", "content-length", "content-type",
        "expect",        "host",       "if-none-match",    "traceparent",    "transfer-encoding"
    };

    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (dx_span_is_word(dx_span_str(name), taken[i]))
            return true;
    return false;
}

static int header_name(size_t index, const char *text, const char **name, struct dx_error *err)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    if (text[0] == '\0' || strlen(text) > 64 || text[strspn(text, letters)] != '\0')
        return dx_fail(err, DX_E_INVALID,
                       "--%s: '%s' is no name of a header: 1 to 64 letters, digits, - and _",
                       dx_settings_table[index].name, text);
    if (header_is_taken(text))
        return dx_fail(err, DX_E_INVALID, "--%s: '%s' means something else",
                       dx_settings_table[index].name, text);
    *name = text;
    return DX_OK;
}

static int add_proxies(struct dx_identity_rules *rules, const char *text, struct dx_error *err)
{
    struct dx_span rest = dx_span_str(text);
    struct dx_span one;
    size_t before = rules->proxy_count;

    while (dx_head_list_next(&rest, &one)) {
        if (rules->proxy_count == DX_PROXIES_MAX)
            return dx_fail(err, DX_E_INVALID, "--trusted-proxy: over %d networks", DX_PROXIES_MAX);
        if (!dx_network_parse(one, &rules->proxies[rules->proxy_count]))
            return dx_fail(err, DX_E_INVALID,
                           "--trusted-proxy: '%.*s' is no address and no network like 10.1.0.0/16 "
                           "(without bits behind the prefix)",
                           (int)one.size, (const char *)one.data);
        rules->proxy_count++;
    }
    return rules->proxy_count > before
               ? DX_OK
               : dx_fail(err, DX_E_INVALID, "--trusted-proxy: '%s' names no network", text);
}

/* What is said of who may see what; false: it is another option. */
static bool set_access(struct dx_settings *s, size_t index, const char *text, int *rc,
                       struct dx_error *err)
{
    struct dx_identity_rules *rules = &s->server.identity;

    *rc = DX_OK;
    switch (index) {
    case OPT_ACCESS:
        *rc = access_mode(text, &s->access_required, err);
        return true;
    case OPT_ACCESS_FILE:
        s->access_file = text;
        return true;
    case OPT_PRINCIPAL_HEADER:
        *rc = header_name(index, text, &rules->names.principal, err);
        return true;
    case OPT_ADDRESS_HEADER:
        *rc = header_name(index, text, &rules->names.address, err);
        return true;
    case OPT_TRUSTED_PROXY:
        *rc = add_proxies(rules, text, err);
        return true;
    default:
        return false;
    }
}

/* A header that nobody is believed with, or that would be two at once, is a mistake. */
static int check_access(const struct dx_identity_rules *rules, struct dx_error *err)
{
    const char *principal = rules->names.principal;
    const char *address = rules->names.address;

    if (principal != NULL && address != NULL && dx_span_is_word(dx_span_str(principal), address))
        return dx_fail(err, DX_E_INVALID, "--principal-header and --address-header are both '%s'",
                       principal);
    if ((principal != NULL || address != NULL) && rules->proxy_count == 0)
        return dx_fail(
            err, DX_E_INVALID,
            "--%s: a header is believed from --trusted-proxy addresses only, and none is "
            "given",
            principal != NULL ? "principal-header" : "address-header");
    return DX_OK;
}

/* What is shown of the server; false: it is another option. */
static bool set_observed(struct dx_server_options *o, size_t index, const char *text, int *rc,
                         struct dx_error *err)
{
    switch (index) {
    case OPT_ADMIN:
        o->admin = text[0] == '\0' ? NULL : text; /* looked at when it is opened */
        return true;
    case OPT_LOG_REQUESTS:
        o->log_requests = strcmp(text, "no") == 0 ? NULL : text;
        if (text[0] == '\0')
            *rc = dx_fail(err, DX_E_INVALID, "--log-requests: empty");
        return true;
    case OPT_LOG_TARGETS:
        *rc = yes_no(index, text, &o->log_targets, err);
        return true;
    case OPT_SERVER_TIMING:
        *rc = yes_no(index, text, &o->server_timing, err);
        return true;
    default:
        return false;
    }
}

static int set(struct dx_settings *s, size_t index, const char *text, struct dx_error *err)
{
    struct dx_server_options *o = &s->server;
    unsigned which = 0;
    uint64_t bytes = 0;
    int rc = DX_OK;

    switch (index) {
    case OPT_ROOT:
        s->root = text;
        return text[0] != '\0' ? DX_OK : dx_fail(err, DX_E_INVALID, "--root: empty");
    case OPT_LISTEN:
        o->listen = text;
        return DX_OK; /* looked at when it is opened */
    case OPT_THREADS:
        return count(index, text, DX_SERVER_LOOPS_MAX, &o->loops, err);
    case OPT_WORKERS:
        return count(index, text, 1024, &o->workers, err);
    case OPT_QUEUE:
        return number(index, text, 1, 1000000, &o->queue_max, err);
    case OPT_CONNECTIONS:
        return number(index, text, 1, 10000000, &o->connections_max, err);
    case OPT_CACHE_IDX:
        return size(index, text, 1 << 20, &s->cache_bytes_idx, err);
    case OPT_CACHE_PAYLOAD:
        return size(index, text, 1 << 20, &s->cache_bytes_payload, err);
    case OPT_CACHE_PAGES:
        return size(index, text, 1 << 20, &s->cache_bytes_pages, err);
    case OPT_CACHE_ANSWERS:
        return size(index, text, 0, &o->answer_cache, err);
    case OPT_READ_MEMORY:
        rc = size(index, text, 1 << 20, &bytes, err);
        if (rc == DX_OK)
            o->read_memory = bytes;
        return rc;
    case OPT_REPLY_MEMORY:
        rc = size(index, text, 1 << 20, &bytes, err);
        if (rc == DX_OK)
            o->reply_memory = bytes;
        return rc;
    case OPT_HOT_MEMORY:
        rc = size(index, text, 0, &bytes, err);
        if (rc == DX_OK)
            o->hot_memory = bytes;
        return rc;
    case OPT_DRAIN_DELAY:
        return number(index, text, 0, 600000, &s->drain_delay_ms, err);
    case OPT_GRACE:
        return number(index, text, 0, 600000, &s->grace_ms, err);
    case OPT_SANDBOX:
        rc = mode(index, text, &which, err);
        s->sandbox = (enum dx_sandbox_mode)which;
        return rc;
    case OPT_CURSOR_KEY_FILE:
        s->cursor_key_file = text;
        return DX_OK;
    default:
        if (!set_versions(s, index, text, &rc, err) && !set_limits(s, index, text, &rc, err) &&
            !set_access(s, index, text, &rc, err) &&
            !set_observed(&s->server, index, text, &rc, err))
            (void)set_remote(s, index, text, &rc, err);
        return rc; /* config and the flags are taken before */
    }
}

static int set_from_file(struct dx_settings *s, const char *path, struct dx_error *err)
{
    int rc = dx_config_file_read(&s->file, path, dx_settings_table, OPT_COUNT, err);

    for (size_t i = 0; i < s->file.count && rc == DX_OK; i++) {
        const struct dx_config_entry *e = &s->file.entries[i];

        if (e->index == OPT_CONFIG)
            return dx_fail(err, DX_E_INVALID, "%s:%u: a file names no other file", path, e->line);
        if (set(s, e->index, e->text, err) < 0)
            rc = dx_fail_in(err, "%s:%u", path, e->line);
    }
    return rc;
}

static int take_defaults(struct dx_settings *s, struct dx_error *err)
{
    const char *trouble;
    int rc = DX_OK;

    s->server = dx_server_options_default();
    s->source = (struct dx_source_options)DX_SOURCE_OPTIONS_INIT;
    trouble = dx_source_options_env(&s->source);
    if (trouble != NULL)
        return dx_fail(err, DX_E_INVALID, "%s", trouble);
    for (size_t i = 0; i < OPT_COUNT && rc == DX_OK; i++)
        if (dx_settings_table[i].fallback != NULL)
            rc = set(s, i, dx_settings_table[i].fallback, err);
    return rc;
}

uint64_t dx_settings_request_ms(const struct dx_settings *s)
{
    return (uint64_t)s->server.head_timeout_ms + s->server.job_timeout_ms + REQUEST_EXTRA_MS;
}

static int take_given(struct dx_settings *s, struct dx_error *err)
{
    const char *path = dx_options_text(&s->options, OPT_CONFIG);
    int rc = path == NULL ? DX_OK : set_from_file(s, path, err);

    if (dx_options_has(&s->options, OPT_TRUSTED_PROXY))
        s->server.identity.proxy_count = 0; /* instead of those of the file */
    for (size_t i = 0; i < s->options.given_count && rc == DX_OK; i++)
        rc = set(s, s->options.given[i].index, s->options.given[i].text, err);
    if (rc == DX_OK && s->options.operand_count > 0)
        rc = dx_fail(err, DX_E_INVALID, "'%s': there are only options", s->options.operand[0]);
    if (rc == DX_OK && s->root == NULL)
        rc = dx_fail(err, DX_E_INVALID, "--root is needed: where the lake and the index live");
    if (rc == DX_OK)
        rc = check_access(&s->server.identity, err);
    if (rc == DX_OK && s->lease != DX_LEASE_NO &&
        (uint64_t)s->lease_ttl_s * 1000 < 3 * dx_settings_request_ms(s))
        rc = dx_fail(err, DX_E_INVALID,
                     "--lease-ttl: %u s is less than three times the longest request (%llu ms by "
                     "head-timeout-ms and job-timeout-ms)",
                     s->lease_ttl_s, (unsigned long long)dx_settings_request_ms(s));
    return rc;
}

int dx_settings_parse(struct dx_settings *s, int argc, char **argv, struct dx_error *err)
{
    int rc;

    *s = (struct dx_settings){ .root = NULL };
    rc = dx_options_parse(&s->options, dx_settings_table, OPT_COUNT, argc, argv, err);
    if (rc < 0)
        return rc;
    s->help = dx_options_has(&s->options, OPT_HELP);
    s->show_version = dx_options_has(&s->options, OPT_VERSION);
    s->man = dx_options_has(&s->options, OPT_MAN);
    s->selftest_sandbox = dx_options_has(&s->options, OPT_SELFTEST_SANDBOX);
    rc = take_defaults(s, err);
    if (rc == DX_OK && !s->help && !s->show_version && !s->man)
        rc = take_given(s, err);
    if (rc < 0)
        dx_settings_release(s);
    return rc;
}

void dx_settings_release(struct dx_settings *s)
{
    dx_config_file_release(&s->file);
    dx_options_release(&s->options);
}
