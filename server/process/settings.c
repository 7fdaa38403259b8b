/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process/settings.h"

#include "loader/open_versions.h"
#include "server/http/listening.h"
#include "server/http/reply.h"

#include <stdlib.h>
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
    OPT_ADDRESS_STREAMS,
    OPT_PRINCIPAL_COST,
    OPT_PRINCIPAL_BURST,
    OPT_PRINCIPAL_STREAMS,
    OPT_POLL,
    OPT_DRAIN_DELAY,
    OPT_GRACE,
    OPT_TLS_CERTIFICATE,
    OPT_TLS_KEY,
    OPT_TLS_CLIENT_CA,
    OPT_CURSOR_KEY_FILE,
    OPT_RECEIPT_KEY_FILE,
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
    OPT_FOREIGN,
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
    OPT_PROXY_PROTOCOL,
    OPT_ADMIN,
    OPT_SOCKET_MODE,
    OPT_LOG_REQUESTS,
    OPT_LOG_TARGETS,
    OPT_WEB,
    OPT_SERVER_TIMING,
    OPT_COMPRESS,
    OPT_CORS_ORIGIN,
    OPT_VERSION_MAX_AGE,
    OPT_PUBLIC_URL,
    OPT_SANDBOX,
    OPT_SELFTEST_SANDBOX,
    OPT_CHECK,
    OPT_PRINT_CONFIG,
    OPT_HELP,
    OPT_VERSION,
    OPT_MAN,
    OPT_COMPLETION,
    OPT_COUNT
};

#define MS_DAY 86400000u
#define RATE_MAX 1000000000u
#define MIB (UINT64_C(1) << 20)
#define SIZE_MOST (UINT64_C(1) << 40)
#define REQUEST_EXTRA_MS 1000 /* for the loop to notice, and for the clock */
#define AT(member) DX_OPT_PLACE(struct dx_settings, member)
#define AT_RULES .offset = offsetof(struct dx_settings, server.identity)
/* A cache of less than 64 KiB holds no whole answer. */
#define CACHE_SIZE DX_OPT_SIZE(UINT64_C(64) << 10, SIZE_MOST), .or_zero = true

/* ---- values that are more than their kind says ---- */

static int read_text(const struct dx_option *option, const char *text, void *at,
                     struct dx_error *err)
{
    *(const char **)at = text;
    return text[0] != '\0' ? DX_OK : dx_fail(err, DX_E_INVALID, "--%s: empty", option->name);
}

static int read_address(const struct dx_option *option, const char *text, void *at,
                        struct dx_error *err)
{
    *(const char **)at = text;
    return dx_listening_check(text, err) == DX_OK ? DX_OK : dx_fail_in(err, "--%s", option->name);
}

static int read_admin(const struct dx_option *option, const char *text, void *at,
                      struct dx_error *err)
{
    return text[0] == '\0' ? DX_OK : read_address(option, text, at, err);
}

/* The server's own user can always connect: to see whether a server is alive, it has to. */
static int read_mode(const struct dx_option *option, const char *text, void *at,
                     struct dx_error *err)
{
    size_t size = strlen(text);
    unsigned long mode = strtoul(text, NULL, 8);

    if (size < 3 || size > 4 || text[strspn(text, "01234567")] != '\0' || mode > 0777 ||
        (mode & 0600) != 0600)
        return dx_fail(
            err, DX_E_INVALID,
            "--%s: '%s' is not a mode from 0600 to 0777 in octal that lets the owner read "
            "and write",
            option->name, text);
    *(unsigned *)at = (unsigned)mode;
    return DX_OK;
}

static int read_log(const struct dx_option *option, const char *text, void *at,
                    struct dx_error *err)
{
    int rc = read_text(option, text, at, err);

    if (strcmp(text, "no") == 0)
        *(const char **)at = NULL;
    return rc;
}

static int read_completion(const struct dx_option *option, const char *text, void *at,
                           struct dx_error *err)
{
    uint64_t place;
    int rc = dx_option_value(option, text, &place, err);

    if (rc == DX_OK)
        *(enum dx_shell *)at = dx_shell_parse(text);
    return rc;
}

/* 0 keeps what is there: by the number of cores. */
static int read_count(const struct dx_option *option, const char *text, void *at,
                      struct dx_error *err)
{
    uint64_t count = 0;
    int rc = dx_option_value(option, text, &count, err);

    if (count > 0)
        *(unsigned *)at = (unsigned)count;
    return rc;
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

static int read_header(const struct dx_option *option, const char *text, void *at,
                       struct dx_error *err)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    if (text[0] == '\0' || strlen(text) > 64 || text[strspn(text, letters)] != '\0')
        return dx_fail(err, DX_E_INVALID,
                       "--%s: '%s' is not the name of a header: 1 to 64 letters, digits, - and _",
                       option->name, text);
    if (header_is_taken(text))
        return dx_fail(err, DX_E_INVALID, "--%s: '%s' means something else", option->name, text);
    *(const char **)at = text;
    return DX_OK;
}

static int read_origin(const struct dx_option *option, const char *text, void *at,
                       struct dx_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.:[]";
    const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                                                          : "";

    if (strcmp(text, "*") != 0 &&
        (host[0] == '\0' || strlen(text) > DX_ORIGIN_MAX || host[strspn(host, letters)] != '\0'))
        return dx_fail(err, DX_E_INVALID,
                       "--%s: '%s' is not an origin; give * or scheme, host and port as a browser "
                       "writes them, like https://example.org:8443",
                       option->name, text);
    *(const char **)at = text;
    return DX_OK;
}

static int read_public_url(const struct dx_option *option, const char *text, void *at,
                           struct dx_error *err)
{
    size_t size = strlen(text);
    bool ok = strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0;

    for (size_t i = 0; i < size; i++)
        ok = ok && text[i] > ' ' && text[i] < 0x7f && strchr("\"<>?#\\^`{|}", text[i]) == NULL;
    if (!ok || size > DX_ORIGIN_MAX || text[size - 1] == '/')
        return dx_fail(
            err, DX_E_INVALID,
            "--%s: '%s' is not an address; give scheme, host and port, and a path without "
            "a slash at its end, like https://example.org/index",
            option->name, text);
    *(const char **)at = text;
    return DX_OK;
}

static int add_proxies(const struct dx_option *option, const char *text, void *at,
                       struct dx_error *err)
{
    struct dx_identity_rules *rules = at;
    struct dx_span rest = dx_span_str(text);
    struct dx_span one;
    size_t before = rules->proxy_count;

    (void)option;
    while (dx_head_list_next(&rest, &one)) {
        if (rules->proxy_count == DX_PROXIES_MAX)
            return dx_fail(err, DX_E_INVALID, "--trusted-proxy: over %d networks", DX_PROXIES_MAX);
        if (!dx_network_parse(one, &rules->proxies[rules->proxy_count]))
            return dx_fail(
                err, DX_E_INVALID,
                "--trusted-proxy: '%.*s' is neither an address nor a network like 10.1.0.0/16 "
                "(without bits behind the prefix)",
                (int)one.size, (const char *)one.data);
        rules->proxy_count++;
    }
    return rules->proxy_count > before
               ? DX_OK
               : dx_fail(err, DX_E_INVALID, "--trusted-proxy: '%s' names no network", text);
}

/* ---- the table ---- */

const struct dx_option dx_settings_table[OPT_COUNT] = {
    [OPT_ROOT] = { "root", "ROOT", NULL, "where the lake and the index live", DX_OPT_TEXT, AT(root),
                   .read = read_text },
    [OPT_LISTEN] = { "listen", "HOST:PORT", "127.0.0.1:8080",
                     "where to serve HTTP, or HTTPS with --tls-certificate; [::1]:8080 for IPv6, "
                     "port 0 for any free one",
                     DX_OPT_TEXT, AT(server.listen), .read = read_address },
    [OPT_CONFIG] = { "config", "FILE", NULL,
                     "settings, 'key = value' lines with these options as keys; the command line "
                     "wins. Read at the start; SIGHUP logs what has changed in it since",
                     DX_OPT_TEXT },
    [OPT_THREADS] = { "threads", "NUMBER", "0", "event loops, one thread each; 0: one a core",
                      DX_OPT_NUMBER(0, DX_SERVER_LOOPS_MAX), AT(server.loops), .read = read_count },
    [OPT_WORKERS] = { "workers", "NUMBER", "0",
                      "threads that read pages of URLs; 0: one a core, at least two",
                      DX_OPT_NUMBER(0, 1024), AT(server.workers), .read = read_count },
    [OPT_QUEUE] = { "queue", "NUMBER", "1024",
                    "listings that may wait for a worker or a store; further ones get 503",
                    DX_OPT_NUMBER(1, 1000000), AT(server.queue_max) },
    [OPT_CONNECTIONS] = { "connections", "NUMBER", "10000",
                          "open connections at most; fewer if the limit of descriptors is lower",
                          DX_OPT_NUMBER(1, 10000000), AT(server.connections_max) },
    [OPT_CACHE_IDX] = { "cache-idx", "SIZE", "64M", "cache of postings index pages",
                        DX_OPT_SIZE(MIB, SIZE_MOST), AT(cache_bytes_idx) },
    [OPT_CACHE_PAYLOAD] = { "cache-payload", "SIZE", "64M", "cache of postings payloads",
                            DX_OPT_SIZE(MIB, SIZE_MOST), AT(cache_bytes_payload) },
    [OPT_CACHE_PAGES] = { "cache-pages", "SIZE", "256M", "cache of decoded lake pages",
                          DX_OPT_SIZE(MIB, SIZE_MOST), AT(cache_bytes_pages) },
    [OPT_CACHE_ANSWERS] = { "cache-answers", "SIZE", "64M",
                            "cache of whole answers, of listings that are asked for again and "
                            "again; 0: none",
                            CACHE_SIZE, AT(server.answer_cache) },
    [OPT_READ_MEMORY] = { "read-memory", "SIZE", "512M",
                          "stored bytes that listings under way may hold, all together",
                          DX_OPT_SIZE(MIB, SIZE_MOST), AT(server.read_memory) },
    [OPT_REPLY_MEMORY] = { "reply-memory", "SIZE", "256M",
                           "replies that may wait for slow clients, all together",
                           DX_OPT_SIZE(MIB, SIZE_MOST), AT(server.reply_memory) },
    [OPT_HOT_MEMORY] = { "cache-domains", "SIZE", "64M",
                         "cache of whole replies about domains that are asked for again and "
                         "again; a part for each event loop; 0: none",
                         CACHE_SIZE, AT(server.hot_memory) },
    [OPT_HEAD_TIMEOUT] = { "head-timeout-ms", "NUMBER", "5000",
                           "for a whole request head, from the connection's or its first byte on",
                           DX_OPT_NUMBER(100, 60000), AT(server.head_timeout_ms) },
    [OPT_IDLE_TIMEOUT] = { "idle-timeout-ms", "NUMBER", "60000",
                           "for the next request on a connection kept alive",
                           DX_OPT_NUMBER(100, MS_DAY), AT(server.idle_timeout_ms) },
    [OPT_JOB_TIMEOUT] = { "job-timeout-ms", "NUMBER", "30000", "for an answer from a worker",
                          DX_OPT_NUMBER(100, 600000), AT(server.job_timeout_ms) },
    [OPT_QUEUE_TIMEOUT] = { "queue-timeout-ms", "NUMBER", "3000",
                            "of that, until a worker begins with it: then 503; 0: all of it",
                            DX_OPT_NUMBER(0, 600000), AT(server.queue_timeout_ms) },
    [OPT_STORAGE_TIMEOUT] = { "storage-timeout-ms", "NUMBER", "10000",
                              "and for each round of reads from a store; 0: all of it",
                              DX_OPT_NUMBER(0, 600000), AT(server.storage_timeout_ms) },
    [OPT_WRITE_TIMEOUT] = { "write-timeout-ms", "NUMBER", "30000",
                            "for the client to take a whole reply", DX_OPT_NUMBER(100, 600000),
                            AT(server.write_timeout_ms) },
    [OPT_ADDRESS_COST] = { "address-cost-per-s", "NUMBER", "0",
                           "what one address may spend, in the units of docs/API.md; above it, "
                           "429; "
                           "an IPv6 network of 64 bits is one address; 0: no limit",
                           DX_OPT_NUMBER(0, RATE_MAX), AT(server.admission.address_cost_per_s) },
    [OPT_ADDRESS_BURST] = { "address-burst", "NUMBER", "0",
                            "what an address may have saved up; 0: ten seconds of it",
                            DX_OPT_NUMBER(0, RATE_MAX), AT(server.admission.address_burst) },
    [OPT_ADDRESS_CONNECTIONS] = { "address-connections", "NUMBER", "0",
                                  "open connections of one address; 0: no limit",
                                  DX_OPT_NUMBER(0, RATE_MAX),
                                  AT(server.admission.address_connections) },
    [OPT_ADDRESS_STREAMS] = { "address-streams", "NUMBER", "64",
                              "streams of rows and lists of names of one address in progress; "
                              "above it, 429; 0: no limit",
                              DX_OPT_NUMBER(0, RATE_MAX), AT(server.admission.address_streams) },
    [OPT_PRINCIPAL_COST] = { "principal-cost-per-s", "NUMBER", "0",
                             "what one principal may spend, where the access table says nothing; "
                             "0: no limit",
                             DX_OPT_NUMBER(0, RATE_MAX),
                             AT(server.admission.principal_cost_per_s) },
    [OPT_PRINCIPAL_BURST] = { "principal-burst", "NUMBER", "0",
                              "what a principal may have saved up; 0: ten seconds of it",
                              DX_OPT_NUMBER(0, RATE_MAX), AT(server.admission.principal_burst) },
    [OPT_PRINCIPAL_STREAMS] = { "principal-streams", "NUMBER", "64",
                                "streams of rows and lists of names of one principal in progress; "
                                "above it, 429; 0: no limit",
                                DX_OPT_NUMBER(0, RATE_MAX),
                                AT(server.admission.principal_streams) },
    [OPT_POLL] = { "poll-ms", "NUMBER", "2000",
                   "between two looks for a newer version, more or less; 0: only at SIGHUP",
                   DX_OPT_NUMBER(0, MS_DAY), AT(poll_ms) },
    [OPT_DRAIN_DELAY] = { "drain-delay-ms", "NUMBER", "0",
                          "after SIGTERM, serve on with /readyz at 503 for this long",
                          DX_OPT_NUMBER(0, 600000), AT(drain_delay_ms) },
    [OPT_GRACE] = { "grace-ms", "NUMBER", "10000", "then, for requests in flight to finish",
                    DX_OPT_NUMBER(0, 600000), AT(grace_ms) },
    [OPT_TLS_CERTIFICATE] = { "tls-certificate", "FILE", NULL,
                              "serve HTTPS, with this certificate and the chain behind it (PEM). "
                              "It is read "
                              "again when the file changes and on SIGHUP; one that is not sound "
                              "leaves the "
                              "old one in use",
                              DX_OPT_TEXT, AT(tls.certificate), .read = read_text },
    [OPT_TLS_KEY] = { "tls-key", "FILE", NULL,
                      "its private key (PEM, no passphrase); else it is in the certificate's file",
                      DX_OPT_TEXT, AT(tls.key), .read = read_text },
    [OPT_TLS_CLIENT_CA] = { "tls-client-ca", "FILE", NULL,
                            "PEM of authorities: clients must show a certificate that one of them "
                            "signed",
                            DX_OPT_TEXT, AT(tls.client_ca), .read = read_text },
    [OPT_CURSOR_KEY_FILE] = { "cursor-key-file", "FILE", NULL,
                              "32 bytes or more that cursors are sealed with; the same for all "
                              "servers behind one balancer. Without it the key is of this process "
                              "where an access table is in force; else it is made of the build "
                              "id, and cursors can be read and forged",
                              DX_OPT_TEXT, AT(cursor_key_file) },
    [OPT_RECEIPT_KEY_FILE] = { "receipt-key-file", "FILE", NULL,
                               "private Ed25519 key in PEM that answers to receipt=1 are signed "
                               "with; /receipt-key has the public one. Without it there are none",
                               DX_OPT_TEXT, AT(receipt_key_file) },
    [OPT_CURSOR_LIFE] = { "cursor-life", "SECONDS", "900",
                          "from the first page of a listing to its last one by cursors, and that a "
                          "version stays open after another took its place; 0: give no cursors",
                          DX_OPT_NUMBER(0, 86400), AT(cursor_life_s) },
    [OPT_VERIFY] = { "verify", "YES|NO", "yes",
                     "read and check every byte of a version's index before it serves; no: each "
                     "block when it is first read",
                     DX_OPT_YES_NO, AT(verify) },
    [OPT_WARM] = { "warm", "YES|NO", "yes",
                   "before a new version serves, read its mapped files into memory; one that is "
                   "larger than the memory that is available is refused",
                   DX_OPT_YES_NO, AT(warm) },
    [OPT_RESIDENT_VERSIONS] = { "resident-versions", "NUMBER", "8",
                                "versions that stay open at most: the current one, older ones for "
                                "cursors, and those that requests name",
                                DX_OPT_NUMBER(DX_RESIDENT_MIN, DX_RESIDENT_MAX),
                                AT(resident_versions) },
    [OPT_RESIDENT_MAX] = { "resident-max", "SIZE", "0",
                           "mapped files of all open versions together, the one to be loaded "
                           "included; older ones give way, then it is refused; 0: no cap",
                           DX_OPT_SIZE(0, SIZE_MOST), AT(resident_bytes) },
    [OPT_LEASE] = { "lease", "AUTO|YES|NO", "auto",
                    "hold a lease in the root, leases/NAME.json, which keeps 'domaindex gc' from "
                    "the versions that are open here; auto: not where it cannot be written",
                    DX_OPT_CHOICE, AT(lease) },
    [OPT_LEASE_TTL] = { "lease-ttl", "SECONDS", "600",
                        "that a lease holds; it is renewed in a third of that. When it ends, all "
                        "answers are 503 until there is a new one",
                        DX_OPT_NUMBER(1, 86400), AT(lease_ttl_s) },
    [OPT_SERVER_NAME] = { "server-name", "NAME", NULL,
                          "of the lease; each server of a root has one of its own; else the "
                          "machine's",
                          DX_OPT_TEXT, AT(server_name) },
    [OPT_CACHE_DIR] = { "cache-dir", "DIR", NULL,
                        "local copies of the mapped files of a remote root; else "
                        "$CACHE_DIRECTORY, $XDG_CACHE_HOME/domaindex or ~/.cache/domaindex",
                        DX_OPT_TEXT, AT(cache_dir) },
    [OPT_MIRROR_POSTINGS] = { "mirror-postings", "YES|NO", "no",
                              "of a remote root, copy postings, facts and url_ids too and not only "
                              "what is mapped",
                              DX_OPT_YES_NO, AT(mirror_postings) },
    [OPT_FOREIGN] = { "foreign", "DIR", NULL,
                      "rows of Parquet files that were indexed in place may be read, but below "
                      "this "
                      "folder alone, whatever the root's locators say",
                      DX_OPT_TEXT, AT(foreign) },
    [OPT_CA_FILE] = { "ca-file", "FILE", NULL,
                      "certificates that https:// and s3:// roots are checked with; else the "
                      "system's",
                      DX_OPT_TEXT, AT(source.ca_file) },
    [OPT_S3_ENDPOINT] = { "s3-endpoint", "URL", NULL,
                          "of an s3:// root; else AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or "
                          "Amazon's",
                          DX_OPT_TEXT, AT(source.s3_endpoint) },
    [OPT_S3_REGION] = { "s3-region", "NAME", NULL, "else AWS_REGION, or us-east-1", DX_OPT_TEXT,
                        AT(source.s3_region) },
    [OPT_S3_PROFILE] = { "s3-profile", "NAME", NULL,
                         "of the shared credentials file; else AWS_PROFILE, or default",
                         DX_OPT_TEXT, AT(source.s3_profile) },
    [OPT_S3_ANONYMOUS] = { "s3-anonymous", "YES|NO", NULL,
                           "do not sign requests; else as DOMAINDEX_S3_ANONYMOUS says, or no",
                           DX_OPT_YES_NO, AT(source.s3_anonymous) },
    [OPT_HEDGE] = { "hedge", "YES|NO", "no",
                    "request a late range from a store a second time, over another connection",
                    DX_OPT_YES_NO, AT(source.hedge) },
    [OPT_ACCESS] = { "access", "AUTO|REQUIRE", "auto",
                     "access control ('domaindex access'); require: do not start without a table "
                     "in force; auto: without one everybody may see all",
                     DX_OPT_CHOICE, AT(access_required) },
    [OPT_ACCESS_FILE] = { "access-file", "FILE", NULL,
                          "that table, of this machine; else index/access.json of the root",
                          DX_OPT_TEXT, AT(access_file) },
    [OPT_PRINCIPAL_HEADER] = { "principal-header", "NAME", NULL,
                               "a request header that names the principal; accepted from "
                               "--trusted-proxy addresses only",
                               DX_OPT_TEXT, AT(server.identity.names.principal),
                               .read = read_header },
    [OPT_ADDRESS_HEADER] = { "address-header", "NAME", NULL,
                             "a request header that lists the addresses a request came by, like "
                             "X-Forwarded-For; believed from --trusted-proxy addresses only",
                             DX_OPT_TEXT, AT(server.identity.names.address), .read = read_header },
    [OPT_TRUSTED_PROXY] = { "trusted-proxy", "NETWORK,...", NULL,
                            "addresses of proxies, like 10.1.0.0/16, ::1 or unix (a local socket), "
                            "that the two headers are believed from; may be given again",
                            DX_OPT_TEXT, AT_RULES, .read = add_proxies },
    [OPT_PROXY_PROTOCOL] = { "proxy-protocol", "YES|NO", "no",
                             "connections from --trusted-proxy addresses begin with a header of "
                             "the "
                             "PROXY protocol, version 1 or 2, which says whose they are; others "
                             "must not",
                             DX_OPT_YES_NO, AT(server.proxy_protocol) },
    [OPT_ADMIN] = { "admin", "HOST:PORT|unix:PATH", NULL,
                    "a listener of its own for /metrics, /healthz, /readyz and /version, for those "
                    "who run the server: it asks for no token",
                    DX_OPT_TEXT, AT(server.admin), .read = read_admin },
    [OPT_SOCKET_MODE] = { "socket-mode", "MODE", "0660",
                          "of the file of a listener unix:PATH, in octal: which users may connect; "
                          "its "
                          "group "
                          "is the process's",
                          DX_OPT_TEXT, AT(server.socket_mode), .read = read_mode },
    [OPT_LOG_REQUESTS] = { "log-requests", "NO|STDERR|FILE", "no",
                           "a line of JSON for each request: ids, counts and times, not the "
                           "target. SIGUSR1 reopens the file",
                           DX_OPT_TEXT, AT(server.log_requests), .read = read_log },
    [OPT_LOG_TARGETS] = { "log-targets", "YES|NO", "no",
                          "write into it what was asked too: domains, URLs, cursors", DX_OPT_YES_NO,
                          AT(server.log_targets) },
    [OPT_WEB] = { "web", "YES|NO", "no",
                  "a page for browsers at /: search, sites, datasets. Everybody may load it; what "
                  "it "
                  "shows it asks of the API",
                  DX_OPT_YES_NO, AT(server.web) },
    [OPT_SERVER_TIMING] = { "server-timing", "YES|NO", "no",
                            "say in a Server-Timing field what the stages of an answer took. Times "
                            "tell something of what others asked",
                            DX_OPT_YES_NO, AT(server.server_timing) },
    [OPT_COMPRESS] = { "compress", "AUTO|YES|NO", "auto",
                       "answers of 1 KiB and more as gzip or zstd for clients that accept it; "
                       "auto: "
                       "not where an access table is in force, since lengths could then tell what "
                       "others may not see",
                       DX_OPT_CHOICE, AT(server.compress) },
    [OPT_VERSION_MAX_AGE] = { "version-max-age", "SECONDS", "0",
                              "caches may keep the answer of a request that names its version for "
                              "so long (max-age, immutable); what is suppressed meanwhile stays in "
                              "them. 0, and with an access table: they ask again each time",
                              DX_OPT_NUMBER(0, 31536000), AT(server.version_max_age_s) },
    [OPT_CORS_ORIGIN] = { "cors-origin", "ORIGIN", NULL,
                          "whose scripts may read replies in a browser, like https://example.org, "
                          "or *: all; without it no other origin's",
                          DX_OPT_TEXT, AT(server.origin), .read = read_origin },
    [OPT_PUBLIC_URL] = { "public-url", "URL", NULL,
                         "where clients find this server, like https://index.example.org; the "
                         "addresses in "
                         "/collinfo.json begin with it; without it with http:// and the Host of "
                         "the request",
                         DX_OPT_TEXT, AT(server.public_url), .read = read_public_url },
    [OPT_SANDBOX] = { "sandbox", "AUTO|YES|NO", "auto",
                      "give up all rights that serving does not need, by landlock and seccomp; "
                      "auto: as "
                      "far as the kernel has them; yes: do not start without both",
                      DX_OPT_CHOICE, AT(sandbox) },
    [OPT_SELFTEST_SANDBOX] = { "selftest-sandbox", NULL, NULL,
                               "enter the sandbox that these settings make, try what it forbids, "
                               "print "
                               "what came of it, and exit; 1 if something was not refused",
                               DX_OPT_FLAG, AT(selftest_sandbox) },
    [OPT_CHECK] = { "check", NULL, NULL,
                    "check the settings and the files that they name, and exit: 0 if all are "
                    "sound; "
                    "serves nothing and does not open the root",
                    DX_OPT_FLAG, AT(check) },
    [OPT_PRINT_CONFIG] = { "print-config", NULL, NULL,
                           "print the settings in force as a settings file, each with where it "
                           "comes "
                           "from, and exit",
                           DX_OPT_FLAG, AT(print_config) },
    [OPT_HELP] = { "help", NULL, NULL, "print this and exit", DX_OPT_FLAG, AT(help) },
    [OPT_VERSION] = { "version", NULL, NULL, "print the program's version and exit", DX_OPT_FLAG,
                      AT(show_version) },
    [OPT_MAN] = { "man", NULL, NULL, "print the manual page (mdoc) and exit", DX_OPT_FLAG,
                  AT(man) },
    [OPT_COMPLETION] = { "completion", "BASH|ZSH|FISH", NULL,
                         "print the completion script of this shell and exit", DX_OPT_CHOICE,
                         AT(completion), .read = read_completion },
};
const size_t dx_settings_table_size = OPT_COUNT;

/* ---- what they mean together ---- */

/* Where a setting of the file stands, in front of words that are about it. */
static int fail_at(const struct dx_settings *s, size_t index, struct dx_error *err)
{
    const struct dx_config_entry *e = dx_config_file_find(&s->file, index);

    return e == NULL || dx_options_has(&s->options, index)
               ? err->code
               : dx_fail_in(err, "%s:%u", s->config_path, e->line);
}

/* A header without trusted proxies, or one for two purposes, is a mistake. */
static int check_access(const struct dx_settings *s, struct dx_error *err)
{
    const struct dx_identity_rules *rules = &s->server.identity;
    const char *principal = rules->names.principal;
    const char *address = rules->names.address;

    if (principal != NULL && address != NULL && dx_span_is_word(dx_span_str(principal), address)) {
        (void)dx_fail(err, DX_E_INVALID, "--principal-header and --address-header are both '%s'",
                      principal);
        return fail_at(s, OPT_ADDRESS_HEADER, err);
    }
    if ((principal != NULL || address != NULL) && rules->proxy_count == 0) {
        (void)dx_fail(
            err, DX_E_INVALID,
            "--%s '%s': a header is believed from --trusted-proxy addresses only, and none "
            "is given",
            principal != NULL ? "principal-header" : "address-header",
            principal != NULL ? principal : address);
        return fail_at(s, principal != NULL ? OPT_PRINCIPAL_HEADER : OPT_ADDRESS_HEADER, err);
    }
    if (s->server.proxy_protocol && rules->proxy_count == 0) {
        (void)dx_fail(err, DX_E_INVALID,
                      "--proxy-protocol: it is spoken by --trusted-proxy addresses only, and none "
                      "is given");
        return fail_at(s, OPT_PROXY_PROTOCOL, err);
    }
    return DX_OK;
}

static int check_tls(const struct dx_settings *s, struct dx_error *err)
{
    if (s->tls.certificate != NULL || (s->tls.key == NULL && s->tls.client_ca == NULL))
        return DX_OK;
    (void)dx_fail(err, DX_E_INVALID, "--%s: without --tls-certificate the server speaks plain HTTP",
                  s->tls.key != NULL ? "tls-key" : "tls-client-ca");
    return fail_at(s, s->tls.key != NULL ? OPT_TLS_KEY : OPT_TLS_CLIENT_CA, err);
}

static int check_lease(const struct dx_settings *s, struct dx_error *err)
{
    if (s->lease == DX_LEASE_NO || (uint64_t)s->lease_ttl_s * 1000 >= 3 * dx_settings_request_ms(s))
        return DX_OK;
    (void)dx_fail(err, DX_E_INVALID,
                  "--lease-ttl: %u s is less than three times the longest request (%llu ms by "
                  "head-timeout-ms and job-timeout-ms)",
                  s->lease_ttl_s, (unsigned long long)dx_settings_request_ms(s));
    return fail_at(s, OPT_LEASE_TTL, err);
}

static int set_from_file(struct dx_settings *s, const char *path, struct dx_error *err)
{
    int rc = dx_config_file_read(&s->file, path, dx_settings_table, OPT_COUNT, err);

    for (size_t i = 0; i < s->file.count && rc == DX_OK; i++) {
        const struct dx_config_entry *e = &s->file.entries[i];

        if (e->index == OPT_CONFIG || e->index == OPT_COMPLETION)
            return dx_fail(err, DX_E_INVALID, "%s:%u: --%s is for the command line only", path,
                           e->line, dx_settings_table[e->index].name);
        if (dx_option_store(&dx_settings_table[e->index], e->text, s, err) < 0)
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
            rc = dx_option_store(&dx_settings_table[i], dx_settings_table[i].fallback, s, err);
    return rc;
}

uint64_t dx_settings_request_ms(const struct dx_settings *s)
{
    return (uint64_t)s->server.head_timeout_ms + s->server.job_timeout_ms + REQUEST_EXTRA_MS;
}

static int take_given(struct dx_settings *s, struct dx_error *err)
{
    int rc;

    s->config_path = dx_options_text(&s->options, OPT_CONFIG);
    rc = s->config_path == NULL ? DX_OK : set_from_file(s, s->config_path, err);

    if (dx_options_has(&s->options, OPT_TRUSTED_PROXY))
        s->server.identity.proxy_count = 0; /* instead of those of the file */
    for (size_t i = 0; i < s->options.given_count && rc == DX_OK; i++)
        rc = dx_option_store(&dx_settings_table[s->options.given[i].index],
                             s->options.given[i].text, s, err);
    if (rc == DX_OK && s->options.operand_count > 0)
        rc = dx_fail(err, DX_E_INVALID, "'%s': there are only options", s->options.operand[0]);
    if (rc == DX_OK && s->root == NULL)
        rc = dx_fail(err, DX_E_INVALID, "--root is needed: where the lake and the index live");
    if (rc == DX_OK)
        rc = check_access(s, err);
    if (rc == DX_OK)
        rc = check_tls(s, err);
    return rc == DX_OK ? check_lease(s, err) : rc;
}

int dx_settings_parse(struct dx_settings *s, int argc, char **argv, struct dx_error *err)
{
    int rc;

    *s = (struct dx_settings){ .argc = argc, .argv = argv };
    rc = dx_options_parse(&s->options, dx_settings_table, OPT_COUNT, argc, argv, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->options.given_count; i++)
        if (dx_settings_table[s->options.given[i].index].kind == DX_OPTION_FLAG ||
            s->options.given[i].index == OPT_COMPLETION)
            rc = dx_option_store(&dx_settings_table[s->options.given[i].index],
                                 s->options.given[i].text, s, err);
    if (rc == DX_OK)
        rc = take_defaults(s, err);
    if (rc == DX_OK && !s->help && !s->show_version && !s->man && s->completion == DX_SHELL_NONE)
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
