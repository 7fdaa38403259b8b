/* SPDX-License-Identifier: Apache-2.0
 * Credentials: where they are found, hostile services, renewal while others sign, refusals, the
 * store's clock. The metadata service is a few lines in this process.
 */
#include "base/civil_time.h"
#include "base/file.h"
#include "fetch/credentials.h"
#include "fetch/credentials_service.h"
#include "fetch/signing.h"
#include "fetch/source.h"
#include "tests/support/damage.h"
#include "tests/support/listener.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static unsigned failures;

/* --------------------------------------------------------------------------- the service */

static struct {
    struct dx_listener listener;
    char url[64];
    pthread_mutex_t lock; /* of what the tests set */
    char body[80000];     /* of the credentials; "" with status 500: the service is down */
    size_t body_size;
    unsigned status;
    unsigned late_ms;
    char role[128];
    char authorization[128]; /* demanded of containers; "": none */
    atomic_uint tokens, roles, asked;
} service = { .lock = PTHREAD_MUTEX_INITIALIZER, .role = "my-role\n", .status = 200 };

static void serve_text(int fd, unsigned status, const char *body, size_t size)
{
    char head[128];
    int n = snprintf(head, sizeof head, "HTTP/1.1 %u x\r\nContent-Length: %zu\r\n\r\n", status,
                     size);

    (void)dx_listener_send(fd, head, (size_t)n);
    (void)dx_listener_send(fd, body, size);
}

static void serve_credentials(int fd, const char *head, bool container)
{
    static __thread char body[sizeof service.body];
    char demanded[160];
    unsigned status, late_ms;
    size_t size;
    bool may;

    (void)pthread_mutex_lock(&service.lock);
    status = service.status;
    late_ms = service.late_ms;
    size = service.body_size;
    memcpy(body, service.body, size);
    (void)snprintf(demanded, sizeof demanded, "Authorization: %s\r\n", service.authorization);
    may = container ? service.authorization[0] == '\0' || strstr(head, demanded) != NULL
                    : strstr(head, "X-aws-ec2-metadata-token: TOKEN\r\n") != NULL;
    (void)pthread_mutex_unlock(&service.lock);
    (void)atomic_fetch_add(&service.asked, 1);
    (void)usleep(late_ms * 1000);
    serve_text(fd, may ? status : 401, body, may ? size : 0);
}

static bool serve_request(void *ctx, int fd, const char *head)
{
    static const char roles[] = "GET /latest/meta-data/iam/security-credentials/ ";
    static const char creds[] = "GET /latest/meta-data/iam/security-credentials/my-role ";

    (void)ctx;
    if (strncmp(head, "PUT /latest/api/token ", 22) == 0 &&
        strstr(head, "X-aws-ec2-metadata-token-ttl-seconds: ") != NULL) {
        (void)atomic_fetch_add(&service.tokens, 1);
        serve_text(fd, 200, "TOKEN", 5);
    } else if (strncmp(head, roles, sizeof roles - 1) == 0) {
        char role[sizeof service.role];

        (void)atomic_fetch_add(&service.roles, 1);
        (void)pthread_mutex_lock(&service.lock);
        memcpy(role, service.role, sizeof role);
        (void)pthread_mutex_unlock(&service.lock);
        serve_text(fd, strstr(head, "token: TOKEN\r\n") != NULL ? 200 : 401, role, strlen(role));
    } else if (strncmp(head, creds, sizeof creds - 1) == 0) {
        serve_credentials(fd, head, false);
    } else if (strncmp(head, "GET /container?id=1 ", 20) == 0) {
        serve_credentials(fd, head, true);
    } else {
        serve_text(fd, 404, "", 0);
    }
    return true;
}

static void service_begin(void)
{
    service.listener.head = serve_request;
    dx_listener_begin(&service.listener);
    (void)snprintf(service.url, sizeof service.url, "http://127.0.0.1:%u", service.listener.port);
}

static void service_says(unsigned status, const char *body, size_t size, unsigned late_ms)
{
    (void)pthread_mutex_lock(&service.lock);
    service.status = status;
    service.late_ms = late_ms;
    memcpy(service.body, body, size);
    service.body_size = size;
    (void)pthread_mutex_unlock(&service.lock);
}

static void service_has(const char *key_id, int64_t lives_s, unsigned late_ms)
{
    char expires[DX_CIVIL_TEXT];
    char body[512];
    int n;

    (void)dx_civil_text_us((int64_t)(time(NULL) + lives_s) * 1000000, expires);
    n = snprintf(body, sizeof body,
                 "{\"Code\": \"Success\", \"Type\": \"AWS-HMAC\", \"AccessKeyId\": \"%s\", "
                 "\"SecretAccessKey\": \"hidden\", \"Token\": \"t/%s==\", \"Expiration\": \"%s\"}",
                 key_id, key_id, expires);
    service_says(200, body, (size_t)n, late_ms);
}

static void service_role(const char *role)
{
    (void)pthread_mutex_lock(&service.lock);
    (void)snprintf(service.role, sizeof service.role, "%s", role);
    (void)pthread_mutex_unlock(&service.lock);
}

static void service_demands(const char *authorization)
{
    (void)pthread_mutex_lock(&service.lock);
    (void)snprintf(service.authorization, sizeof service.authorization, "%s", authorization);
    (void)pthread_mutex_unlock(&service.lock);
}

static void service_is_down(void)
{
    service_says(500, "", 0, 0);
}

static void counts_reset(void)
{
    atomic_store(&service.tokens, 0);
    atomic_store(&service.roles, 0);
    atomic_store(&service.asked, 0);
}

/* ------------------------------------------------------------------------------ parsing */

static const struct {
    const char *text, *profile;
    int want;
    const char *key_id, *secret, *token;
} files[] = {
    { "[default]\naws_access_key_id = A\naws_secret_access_key=S/+=\n", "default", 1, "A",
      "S/+=", "" },
    { "# c\n; c\n\n[other]\naws_access_key_id=B\naws_secret_access_key=T\r\n[ default ]\r\n"
      "aws_access_key_id\t=\tA\r\naws_secret_access_key = S\r\naws_session_token = U==",
      "default", 1, "A", "S", "U==" },
    { "[default]\naws_access_key_id=A\n[x]\naws_secret_access_key=S\n", "default", 0, NULL, NULL,
      NULL },
    { "[defaults]\naws_access_key_id=A\naws_secret_access_key=S\n", "default", 0, NULL, NULL,
      NULL },
    { "aws_access_key_id=A\naws_secret_access_key=S\n", "default", 0, NULL, NULL, NULL },
    { "", "default", 0, NULL, NULL, NULL },
    { "[default]\nnonsense\naws_access_key_id=A\naws_secret_access_key=S\n", "default", 1, "A", "S",
      "" },
    { "[default\naws_access_key_id=A\n", "default", DX_E_INVALID, NULL, NULL, NULL },
    { "[", "default", DX_E_INVALID, NULL, NULL, NULL },
    { "[default]\naws_access_key_id=A B\n", "default", DX_E_INVALID, NULL, NULL, NULL },
    { "[default]\naws_secret_access_key=\x01\n", "default", DX_E_INVALID, NULL, NULL, NULL },
};

static void check_files(void)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct damaged text = damaged_copy(dx_span_str(files[i].text)); /* ends at a guard page */
        struct dx_credentials c;
        struct dx_error err = DX_ERROR_INIT;
        int rc = dx_credentials_parse_file(&c, dx_span_of(text.bytes, text.size), files[i].profile,
                                           &err);

        EXPECT(rc == files[i].want, "row %zu: %d %s", i, rc, err.text);
        EXPECT(rc != 1 || files[i].want != 1 ||
                   (strcmp(c.key_id, files[i].key_id) == 0 &&
                    strcmp(c.secret, files[i].secret) == 0 && strcmp(c.token, files[i].token) == 0),
               "row %zu: %s %s %s", i, c.key_id, c.secret, c.token);
        damaged_free(&text);
    }
}

#define GOOD "\"AccessKeyId\": \"A\", \"SecretAccessKey\": \"S\""

static const struct {
    const char *text;
    int want;
} replies[] = {
    { "{" GOOD "}", DX_OK },
    { "{" GOOD ", \"Token\": \"T\", \"Expiration\": \"2026-11-21T10:00:00Z\"}", DX_OK },
    { "{\"Code\": \"Success\", " GOOD ", \"Other\": [1, {\"x\": null}]}", DX_OK },
    { "{\"Code\": \"AssumeRoleUnauthorizedAccess\", " GOOD "}", DX_E_IO },
    { "{" GOOD ", \"Expiration\": \"tomorrow\"}", DX_E_CORRUPT },
    { "{" GOOD ", \"AccessKeyId\": \"B\"}", DX_E_CORRUPT },
    { "{\"AccessKeyId\": \"A\"}", DX_E_CORRUPT },
    { "{\"AccessKeyId\": \"\", \"SecretAccessKey\": \"S\"}", DX_E_CORRUPT },
    { "{\"AccessKeyId\": 7, \"SecretAccessKey\": \"S\"}", DX_E_CORRUPT },
    { "{\"AccessKeyId\": \"A\\r\\nX: y\", \"SecretAccessKey\": \"S\"}", DX_E_CORRUPT },
    { "{\"AccessKeyId\": \"\\u00fc\", \"SecretAccessKey\": \"S\"}", DX_E_CORRUPT },
    { "{" GOOD ", \"Token\": \"a b\"}", DX_E_CORRUPT },
    { "[" GOOD "]", DX_E_CORRUPT },
    { "{" GOOD, DX_E_CORRUPT },
    { "<html>Welcome</html>", DX_E_CORRUPT },
    { "null", DX_E_CORRUPT },
    { "", DX_E_CORRUPT },
    { "\xff\xfe{}", DX_E_CORRUPT },
};

static void check_replies(void)
{
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        struct damaged text = damaged_copy(dx_span_str(replies[i].text));
        struct dx_credentials c;
        struct dx_error err = DX_ERROR_INIT;
        int rc = dx_credentials_parse_json(&c, dx_span_of(text.bytes, text.size), &err);

        EXPECT(rc == replies[i].want, "%s: %d %s", replies[i].text, rc, err.text);
        EXPECT(rc == DX_OK || c.secret[0] == '\0', "%s: nothing is kept", replies[i].text);
        damaged_free(&text);
    }
}

static const struct {
    const char *url;
    bool allowed;
} urls[] = {
    { "https://example.org/creds", true },
    { "http://169.254.170.2/v2", true },
    { "http://169.254.170.23/v1", true },
    { "http://[fd00:ec2::23]/v1", true },
    { "http://127.0.0.1:8080/x", true },
    { "http://127.0.0.53", true },
    { "http://localhost:1/x", true },
    { "HTTP://LOCALHOST/x", true },
    { "http://[::1]:80/x", true },
    { "http://example.org/creds", false },
    { "http://127.0.0.1.example.org/", false },
    { "http://127.example.org/", false },
    { "http://localhost.example.org/", false },
    { "http://localhost@example.org/", false },
    { "http://127.0.0.1:80@example.org/", false },
    { "http://169.254.169.254/", false },
    { "http://169.254.170.2.example.org/", false },
    { "http:///x", false },
    { "file:///etc/passwd", false },
    { "ftp://localhost/", false },
    { "localhost", false },
};

static void check_urls(void)
{
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++)
        EXPECT(dx_credentials_url_allowed(urls[i].url) == urls[i].allowed, "%s", urls[i].url);
}

/* ------------------------------------------------------------------------------ finding */

static void clear_environment(void)
{
    static const char *const names[] = { "AWS_ACCESS_KEY_ID",
                                         "AWS_SECRET_ACCESS_KEY",
                                         "AWS_SESSION_TOKEN",
                                         "AWS_SHARED_CREDENTIALS_FILE",
                                         "AWS_PROFILE",
                                         "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                         "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                         "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                                         "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                                         "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                         "http_proxy",
                                         "HTTP_PROXY" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unsetenv(names[i]);
    (void)setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
}

static int try_open(const char *profile, const char *words)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_signing *s = NULL;
    int rc = dx_signing_open(&s, "us-east-1", profile, &err);

    EXPECT((rc == DX_OK) == (s != NULL), "%d %s", rc, err.text);
    EXPECT(words == NULL || strstr(err.text, words) != NULL, "'%s' has no '%s'", err.text, words);
    EXPECT(strstr(err.text, "hid") == NULL, "a secret is printed: %s", err.text);
    dx_signing_close(&s);
    return rc;
}

static void check_environment_and_file(const char *dir)
{
    struct dx_error err = DX_ERROR_INIT;
    char file[64];

    clear_environment();
    (void)snprintf(file, sizeof file, "%s/credentials", dir);
    (void)setenv("HOME", dir, 1);
    EXPECT(try_open(NULL, "AWS_ACCESS_KEY_ID") == DX_E_NOT_FOUND, "nothing");
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", file, 1);
    EXPECT(try_open(NULL, file) == DX_E_NOT_FOUND, "no file");
    (void)dx_file_replace(
        file, dx_span_str("[me]\naws_access_key_id=A\naws_secret_access_key=hidden\n"), &err);
    EXPECT(try_open(NULL, "'default'") == DX_E_NOT_FOUND, "no profile");
    EXPECT(try_open("me", NULL) == DX_OK, "the profile");
    (void)setenv("AWS_PROFILE", "me", 1);
    EXPECT(try_open(NULL, NULL) == DX_OK, "the profile by environment");
    (void)unsetenv("AWS_EC2_METADATA_DISABLED");
    (void)setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.url, 1);
    service_has("KEY1", 3600, 0);
    EXPECT(try_open("you", "'you'") == DX_E_NOT_FOUND, "no other role for a named profile");
    (void)setenv("AWS_ACCESS_KEY_ID", "A", 1);
    EXPECT(try_open(NULL, "both") == DX_E_INVALID, "half of them");
    (void)setenv("AWS_SECRET_ACCESS_KEY", "hid den", 1);
    EXPECT(try_open(NULL, "odd") == DX_E_INVALID, "a blank");
    (void)setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
    EXPECT(try_open(NULL, NULL) == DX_OK, "the environment");
    (void)setenv("AWS_SESSION_TOKEN", "to ken", 1);
    EXPECT(try_open(NULL, "odd") == DX_E_INVALID, "a blank in the token");
    (void)setenv("AWS_SESSION_TOKEN", "token", 1);
    (void)setenv("AWS_ACCESS_KEY_ID", "A\n", 1);
    EXPECT(try_open(NULL, "odd") == DX_E_INVALID, "a line end in the id");
    (void)setenv("AWS_ACCESS_KEY_ID", "A", 1);
    EXPECT(try_open(NULL, NULL) == DX_OK, "with a token");
    clear_environment();
}

static void check_container(const char *dir)
{
    struct dx_error err = DX_ERROR_INIT;
    char url[128];
    char file[64];

    clear_environment();
    (void)snprintf(url, sizeof url, "%s/container?id=1", service.url);
    (void)snprintf(file, sizeof file, "%s/token", dir);
    (void)setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
    service_demands("Bearer abc");
    service_has("KEYC", 3600, 0);
    EXPECT(try_open(NULL, NULL) < 0, "no token");
    (void)setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer abc", 1);
    EXPECT(try_open(NULL, NULL) == DX_OK, "a token");
    (void)setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer abc\r\nX: y", 1);
    EXPECT(try_open(NULL, NULL) == DX_E_INVALID, "a token with a line end");
    (void)setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file, 1);
    EXPECT(try_open(NULL, file) == DX_E_NOT_FOUND, "no file");
    (void)dx_file_replace(file, dx_span_str("Bearer abc\n"), &err);
    EXPECT(try_open(NULL, NULL) == DX_OK, "the file comes first");
    (void)dx_file_replace(file, dx_span_str("Bearer other\n"), &err);
    EXPECT(try_open(NULL, "401") < 0, "another token");
    service_demands("");
    (void)setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/x", 1);
    EXPECT(try_open(NULL, "this machine") == DX_E_INVALID, "a strange host");
    (void)setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "no-slash", 1);
    EXPECT(try_open(NULL, "slash") == DX_E_INVALID, "a relative URI");
    clear_environment();
}

static void use_instance(void)
{
    clear_environment();
    (void)setenv("HOME", "/nonexistent", 1);
    (void)unsetenv("AWS_EC2_METADATA_DISABLED");
    (void)setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.url, 1);
    counts_reset();
}

static void check_hostile(void)
{
    static char huge[70000];
    static const char *const roles[] = { "", "\n", "a/../b\n", "a b\n", "a?x=1\n", "\x01\n" };
    struct dx_credentials c;
    struct dx_error err = DX_ERROR_INIT;

    use_instance();
    service_has("KEY1", 3600, 0);
    EXPECT(dx_credentials_of_instance(&c, &err) == 1 && strcmp(c.key_id, "KEY1") == 0 &&
               strcmp(c.token, "t/KEY1==") == 0 && c.expires_s > time(NULL),
           "%s", err.text);
    memset(huge, ' ', sizeof huge);
    service_says(200, huge, sizeof huge, 0);
    EXPECT(dx_credentials_of_instance(&c, &err) == DX_E_LIMIT, "huge: %s", err.text);
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        service_says(200, replies[i].text, strlen(replies[i].text), 0);
        EXPECT((dx_credentials_of_instance(&c, &err) == 1) == (replies[i].want == DX_OK), "%s: %s",
               replies[i].text, err.text);
    }
    service_has("KEY1", 3600, 0);
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        service_role(roles[i]);
        EXPECT(dx_credentials_of_instance(&c, &err) == DX_E_CORRUPT &&
                   strstr(err.text, "name of the role") != NULL,
               "role '%s': %s", roles[i], err.text);
    }
    service_role("my-role\r\nanother\n");
    EXPECT(dx_credentials_of_instance(&c, &err) == 1, "the first line: %s", err.text);
    (void)setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://user:hidden@h/", 1);
    EXPECT(dx_credentials_of_instance(&c, &err) == DX_E_INVALID && strstr(err.text, "hid") == NULL,
           "%s", err.text);
}

/* ------------------------------------------------------------------------------ signing */

static bool signs(struct dx_signing *s, bool at_once, const char *key_id, char date[32],
                  struct dx_error *err)
{
    const struct dx_signing_request r = { "GET", "http://h/b/x", DX_SHA256_OF_NOTHING, at_once };
    struct curl_slist *headers = NULL;
    char want[128];
    bool found = false;

    (void)snprintf(want, sizeof want, "Authorization: AWS4-HMAC-SHA256 Credential=%s/", key_id);
    if (dx_signing_apply(s, &r, &headers, err) < 0) {
        EXPECT(headers == NULL, "no headers after an error");
        return false;
    }
    for (const struct curl_slist *h = headers; h != NULL; h = h->next) {
        found = found || strncmp(h->data, want, strlen(want)) == 0;
        if (date != NULL && strncmp(h->data, "x-amz-date: ", 12) == 0)
            (void)snprintf(date, 32, "%s", h->data + 12);
    }
    curl_slist_free_all(headers);
    return found;
}

static bool signed_by(struct dx_signing *s, const char *key_id, char date[32], struct dx_error *err)
{
    return signs(s, false, key_id, date, err);
}

struct burst {
    struct dx_signing *s;
    const char *first, *then;
    unsigned rounds;
    atomic_uint of_first, of_then, failed;
    atomic_ulong slowest_ms;
};

static void *burst_thread(void *arg)
{
    struct burst *b = arg;

    for (unsigned i = 0; i < b->rounds; i++) {
        uint64_t before = dx_clock_ms();
        struct dx_error err = DX_ERROR_INIT;
        uint64_t took;

        if (signed_by(b->s, b->then, NULL, &err))
            (void)atomic_fetch_add(&b->of_then, 1);
        else if (err.code == DX_OK && signed_by(b->s, b->first, NULL, &err))
            (void)atomic_fetch_add(&b->of_first, 1);
        else if (!signed_by(b->s, b->then, NULL, &err)) /* renewed between the two questions */
            (void)atomic_fetch_add(&b->failed, 1);
        took = dx_clock_ms() - before;
        if (took > atomic_load(&b->slowest_ms))
            atomic_store(&b->slowest_ms, took);
        (void)usleep(1000);
    }
    return NULL;
}

static void run_burst(struct burst *b)
{
    pthread_t threads[8];

    for (size_t i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, burst_thread, b) != 0)
            abort();
    for (size_t i = 0; i < 8; i++)
        (void)pthread_join(threads[i], NULL);
}

static struct dx_signing *open_instance(const char *key_id, int64_t lives_s)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_signing *s = NULL;

    use_instance();
    service_role("my-role\n");
    service_has(key_id, lives_s, 0);
    EXPECT(dx_signing_open(&s, "us-east-1", NULL, &err) == DX_OK, "%s", err.text);
    EXPECT(atomic_load(&service.asked) == 1, "asked %u times", atomic_load(&service.asked));
    return s;
}

static void check_early_renewal(void)
{
    struct burst b = {
        .s = open_instance("OLD", 200), .first = "OLD", .then = "NEW", .rounds = 400
    };

    service_has("NEW", 3600, 300); /* 0.3 s late: the others go on */
    run_burst(&b);
    EXPECT(b.failed == 0 && b.of_first > 100 && b.of_then > 100, "%u failed, %u old, %u new",
           b.failed, b.of_first, b.of_then);
    EXPECT(b.slowest_ms < 700, "one waited for %lu ms", b.slowest_ms);
    EXPECT(atomic_load(&service.asked) == 2, "asked %u times", atomic_load(&service.asked));
    EXPECT(dx_signing_expires_s(b.s) > time(NULL) + 3000, "the new time");
    dx_signing_close(&b.s);
}

static void check_expired(void)
{
    struct burst b = { .s = open_instance("OLD", -5), .first = "OLD", .then = "NEW", .rounds = 20 };

    service_has("NEW", 3600, 100);
    run_burst(&b);
    EXPECT(b.failed == 0 && b.of_first == 0 && b.of_then == 160, "%u failed, %u old, %u new",
           b.failed, b.of_first, b.of_then);
    EXPECT(atomic_load(&service.asked) == 2, "asked %u times", atomic_load(&service.asked));
    dx_signing_close(&b.s);
}

/* As an event loop asks: it never waits, and comes again. */
static void check_expired_at_once(void)
{
    struct dx_signing *s = open_instance("OLD", -5);
    uint64_t before = dx_clock_ms();
    struct dx_error err = DX_ERROR_INIT;
    unsigned asked = 0;
    uint64_t slowest = 0;
    bool is_signed = false;

    service_has("NEW", 3600, 300);
    while (!is_signed && asked++ < 500) {
        uint64_t at = dx_clock_ms();

        is_signed = signs(s, true, "NEW", NULL, &err);
        EXPECT(is_signed || err.code == DX_E_BUSY, "%s", err.text);
        slowest = dx_clock_ms() - at > slowest ? dx_clock_ms() - at : slowest;
        (void)usleep(10000);
    }
    EXPECT(is_signed && dx_clock_ms() - before >= 300, "after %u looks", asked);
    EXPECT(asked > 3 && slowest < 200, "one look took %lu ms", (unsigned long)slowest);
    EXPECT(atomic_load(&service.asked) == 2, "asked %u times", atomic_load(&service.asked));
    dx_signing_close(&s);
}

static void check_service_down(void)
{
    struct burst b = {
        .s = open_instance("OLD", 200), .first = "OLD", .then = "NEW", .rounds = 400
    };
    struct dx_error err = DX_ERROR_INIT;

    service_is_down();
    run_burst(&b);
    EXPECT(b.failed == 0 && b.of_first == 3200, "%u failed, %u old", b.failed, b.of_first);
    EXPECT(atomic_load(&service.asked) <= 4, "asked %u times", atomic_load(&service.asked));
    /* The store has had enough of them: words on what to do, and the service is left alone. */
    EXPECT(!dx_signing_refused(b.s, "ExpiredToken", ""), "the service has just been asked");
    EXPECT(!signed_by(b.s, "OLD", NULL, &err) && strstr(err.text, "see to the service") != NULL &&
               strstr(err.text, "HTTP 500") != NULL,
           "%s", err.text);
    EXPECT(atomic_load(&service.asked) <= 4, "asked %u times", atomic_load(&service.asked));
    dx_signing_close(&b.s);
}

static void check_down_and_expired(void)
{
    struct dx_signing *s = open_instance("OLD", 0);
    struct dx_error err = DX_ERROR_INIT;

    service_is_down();
    EXPECT(signed_by(s, "OLD", NULL, &err), "used until they are refused: %s", err.text);
    EXPECT(signed_by(s, "OLD", NULL, &err), "and once more: %s", err.text);
    EXPECT(atomic_load(&service.asked) <= 4, "asked %u times", atomic_load(&service.asked));
    dx_signing_close(&s);
}

static void check_refused(void)
{
    struct dx_signing *s = open_instance("OLD", 3600);
    struct dx_error err = DX_ERROR_INIT;

    service_has("NEW", 7200, 0);
    EXPECT(signed_by(s, "OLD", NULL, &err), "%s", err.text);
    EXPECT(!dx_signing_refused(s, "AccessDenied", ""), "that is no matter of time");
    EXPECT(!dx_signing_refused(s, "SignatureDoesNotMatch", ""), "nor that");
    EXPECT(dx_signing_refused(s, "ExpiredToken", ""), "once more");
    EXPECT(dx_signing_refused(s, "ExpiredToken", ""), "so are the others of the burst told");
    EXPECT(signed_by(s, "NEW", NULL, &err), "%s", err.text);
    EXPECT(dx_signing_refused(s, "ExpiredToken", ""), "a late one: there are new ones");
    EXPECT(signed_by(s, "NEW", NULL, &err) && atomic_load(&service.asked) == 2, "asked %u times",
           atomic_load(&service.asked));
    dx_signing_close(&s);
}

static void check_file_again(const char *dir)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_signing *s = NULL;
    char file[64];

    clear_environment();
    (void)snprintf(file, sizeof file, "%s/session", dir);
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", file, 1);
    (void)dx_file_replace(
        file, dx_span_str("[default]\naws_access_key_id=A\naws_secret_access_key=hidden\n"), &err);
    EXPECT(dx_signing_open(&s, "us-east-1", NULL, &err) == DX_OK, "%s", err.text);
    (void)dx_file_replace(
        file, dx_span_str("[default]\naws_access_key_id=B\naws_secret_access_key=hidden\n"), &err);
    EXPECT(signed_by(s, "A", NULL, &err), "read once");
    EXPECT(dx_signing_refused(s, "ExpiredToken", "") && signed_by(s, "B", NULL, &err), "%s",
           err.text);
    dx_signing_close(&s);
    EXPECT(dx_signing_open(&s, "us-east-1", NULL, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_signing_refused(s, "ExpiredToken", "") && !signed_by(s, "B", NULL, &err) &&
               strstr(err.text, "still the same") != NULL,
           "%s", err.text);
    dx_signing_close(&s);
}

static void http_date(char text[64], int64_t unix_s)
{
    time_t t = (time_t)unix_s;
    struct tm tm;

    (void)strftime(text, 64, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&t, &tm));
}

static int64_t unix_of(const char *date)
{
    struct tm tm = { 0 };

    EXPECT(strptime(date, "%Y%m%dT%H%M%SZ", &tm) != NULL, "%s", date);
    return (int64_t)timegm(&tm);
}

static void check_clock(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_signing *s = NULL;
    char date[32] = "";
    char store[64];

    clear_environment();
    (void)setenv("AWS_ACCESS_KEY_ID", "A", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
    EXPECT(dx_signing_open(&s, "us-east-1", NULL, &err) == DX_OK, "%s", err.text);
    EXPECT(!dx_signing_refused(s, "RequestTimeTooSkewed", "") &&
               !dx_signing_refused(s, "RequestTimeTooSkewed", "yesterday"),
           "without a date nothing is learnt");
    http_date(store, time(NULL));
    EXPECT(!dx_signing_refused(s, "RequestTimeTooSkewed", store), "that clock is ours");
    for (int64_t ahead = -7200; ahead <= 7200; ahead += 14400) {
        http_date(store, time(NULL) + ahead);
        EXPECT(dx_signing_refused(s, "RequestTimeTooSkewed", store), "learnt");
        EXPECT(signed_by(s, "A", date, &err) && llabs(unix_of(date) - time(NULL) - ahead) < 5,
               "%s at %lld", date, (long long)ahead);
        EXPECT(!dx_signing_refused(s, "RequestTimeTooSkewed", store), "not a second time");
        EXPECT(llabs(dx_signing_offset_s(s) - ahead) < 5, "the offset");
    }
    EXPECT(!dx_signing_refused(s, "ExpiredToken", ""), "an environment does not change");
    dx_signing_close(&s);
}

int main(void)
{
    char dir[] = "/tmp/domaindex-credentials-XXXXXX";
    struct dx_error err = DX_ERROR_INIT;

    if (mkdtemp(dir) == NULL)
        abort();
    service_begin();
    check_files();
    check_replies();
    check_urls();
    check_environment_and_file(dir);
    check_container(dir);
    check_hostile();
    check_early_renewal();
    check_expired();
    check_expired_at_once();
    check_service_down();
    check_down_and_expired();
    check_refused();
    check_file_again(dir);
    check_clock();
    (void)dx_dir_remove(dir, &err);
    return failures > 0;
}
