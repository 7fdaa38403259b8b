/* SPDX-License-Identifier: Apache-2.0
 * s3:// roots: addresses, URLs, and signatures against the AWS test suite; real servers are in
 * tests/e2e/source_http.py and store_s3.py.
 */
#include "base/civil_time.h"
#include "base/crypto/sha256.h"
#include "base/file.h"
#include "fetch/s3.h"
#include "fetch/sigv4.h"
#include "fetch/store/s3_upload.h"
#include "tests/support/damage.h"

#include <dirent.h>
#include <strings.h>

static unsigned failures;

static const struct {
    const char *text, *endpoint, *region;
    bool virtual_host;
    const char *url; /* NULL: refused */
} urls[] = {
    { "s3://bucket/a/b", NULL, "eu-west-1", false,
      "https://bucket.s3.eu-west-1.amazonaws.com/a/b" },
    { "S3://bucket", NULL, "us-east-1", false, "https://bucket.s3.us-east-1.amazonaws.com" },
    { "s3://bucket/", NULL, "us-east-1", false, "https://bucket.s3.us-east-1.amazonaws.com" },
    { "s3://bucket/a///", NULL, "us-east-1", false, "https://bucket.s3.us-east-1.amazonaws.com/a" },
    { "s3://my.bucket/a", NULL, "us-east-1", false,
      "https://s3.us-east-1.amazonaws.com/my.bucket/a" },
    { "s3://bucket/a", NULL, "cn-north-1", false,
      "https://bucket.s3.cn-north-1.amazonaws.com.cn/a" },
    { "s3://bucket/a", "http://127.0.0.1:9000", "us-east-1", false,
      "http://127.0.0.1:9000/bucket/a" },
    { "s3://bucket/a", "https://minio.example:443/", "us-east-1", false,
      "https://minio.example/bucket/a" },
    { "s3://bucket/a", "https://store.example", "garage", true, "https://bucket.store.example/a" },
    { "s3://bucket/v=1/a+b", "http://h", "us-east-1", false, "http://h/bucket/v%3D1/a%2Bb" },
    { "s3://bucket/a", "h:9000", "us-east-1", false, NULL },
    { "s3://bucket/a", "ftp://h", "us-east-1", false, NULL },
    { "s3://bucket/a", "http://user:pw@h", "us-east-1", false, NULL },
    { "s3://bucket/a", NULL, "", false, NULL },
    { "s3://bucket/a", NULL, "us-east-1/../x", false, NULL },
    { "s3://bucket/a", NULL, "US", false, NULL },
    { "s3://bucket/a", NULL, "evil.example#", false, NULL },
    { "s3://bucket/a", NULL, "us_east", false, NULL },
    { "s3://bucket/a", NULL, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklm",
      false, NULL },
    { "s3://1bucket9/a", NULL, "us-east-1", false,
      "https://1bucket9.s3.us-east-1.amazonaws.com/a" },
    { "s3://abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl", NULL, "us-east-1",
      false, NULL },
    { "s3://{abc", NULL, "us-east-1", false, NULL },
    { "s3://abc~", NULL, "us-east-1", false, NULL },
    { "s3:///a", NULL, "us-east-1", false, NULL },
    { "s3://", NULL, "us-east-1", false, NULL },
    { "s3://ab", NULL, "us-east-1", false, NULL },
    { "s3://Bucket", NULL, "us-east-1", false, NULL },
    { "s3://a..b", NULL, "us-east-1", false, NULL },
    { "s3://-abc", NULL, "us-east-1", false, NULL },
    { "s3://abc.", NULL, "us-east-1", false, NULL },
    { "s3://user@host", NULL, "us-east-1", false, NULL },
    { "s3://bucket?x", NULL, "us-east-1", false, NULL },
    { "s3://bucket/a/../b", NULL, "us-east-1", false, NULL },
    { "s3://bucket//a", NULL, "us-east-1", false, NULL },
    { "s3://bucket/a b", NULL, "us-east-1", false, NULL },
    { "http://bucket/a", NULL, "us-east-1", false, NULL },
};

static void check_urls(void)
{
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        const struct dx_s3_place place = { urls[i].endpoint, urls[i].region, urls[i].virtual_host };
        struct dx_s3_address address;
        struct dx_error err = DX_ERROR_INIT;
        char *url = NULL;
        int rc = dx_s3_address_parse(urls[i].text, &address, &err);

        if (rc == DX_OK)
            rc = dx_s3_root_url(&address, &place, &url, &err);
        EXPECT((rc == DX_OK) == (urls[i].url != NULL), "%s: %d %s %s", urls[i].text, rc, err.text,
               url != NULL ? url : "");
        EXPECT(rc < 0 || urls[i].url == NULL || strcmp(url, urls[i].url) == 0, "%s: %s",
               urls[i].text, url);
        EXPECT(rc == DX_OK || rc == DX_E_INVALID, "%s: %d", urls[i].text, rc);
        free(url);
    }
}

/* The AWS test suite: what is signed is put together from the request as it stands there, in any
 * order and case; path and query are taken in their canonical form, in which dx_object_url writes
 * them. */
#define SUITE "conformance/sigv4/tests/aws-signing-test-suite/v4"

static bool read_case(const char *suite, const char *name, const char *file, struct dx_buf *to)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/%s/%s", suite, name, file);
    dx_buf_clear(to);
    if (dx_file_read(path, 1 << 20, to, NULL) < 0)
        return false;
    dx_buf_u8(to, '\0');
    return true;
}

/* "Name:value" lines up to the empty one; a line that begins with a blank goes on the one before,
 * which nothing here sends: such a case is left out. */
static bool split_headers(char *text, struct dx_sigv4_header *to, size_t *count)
{
    char *line = strchr(text, '\n');

    *count = 0;
    while (line != NULL && line[1] != '\n' && line[1] != '\0' && line[1] != '\r') {
        char *end = strchr(++line, '\n');
        char *colon = strchr(line, ':');

        if (end != NULL)
            *end = '\0';
        if (line[0] == ' ' || colon == NULL || *count == DX_SIGV4_HEADERS_MAX)
            return false;
        to[*count].name = dx_span_of(line, (size_t)(colon - line));
        to[(*count)++].value = dx_span_str(colon + 1);
        line = end;
    }
    return true;
}

static const char *member(const struct dx_buf *json, const char *name, char to[256])
{
    const char *at = strstr((const char *)json->data, name);

    to[0] = '\0';
    at = at == NULL ? NULL : strchr(at + strlen(name) + 1, '"');
    if (at != NULL)
        (void)sscanf(at, "\"%255[^\"]\"", to);
    return to;
}

/* What the suite's own signer adds, as the test of each case says. */
static void add_headers(const char *canonical, struct dx_sigv4_header *headers, size_t *count)
{
    static char value[4][4096];
    static const char *const names[] = { "x-amz-date", "x-amz-security-token",
                                         "x-amz-content-sha256" };

    for (size_t i = 0; i < 3; i++) {
        char line[64];
        const char *at;

        (void)snprintf(line, sizeof line, "\n%s:", names[i]);
        at = strstr(canonical, line);
        for (size_t k = 0; k < *count; k++)
            if (strncasecmp((const char *)headers[k].name.data, names[i], headers[k].name.size) ==
                0)
                at = NULL;
        if (at == NULL)
            continue;
        (void)sscanf(at + strlen(line), "%4095[^\n]", value[i]);
        headers[*count].name = dx_span_str(names[i]);
        headers[(*count)++].value = dx_span_str(value[i]);
    }
}

static bool check_case(const char *suite, const char *name)
{
    struct dx_buf request = DX_BUF_INIT(1 << 20);
    struct dx_buf canonical = DX_BUF_INIT(1 << 20);
    struct dx_buf context = DX_BUF_INIT(1 << 20);
    struct dx_buf want = DX_BUF_INIT(1 << 20);
    struct dx_buf names = DX_BUF_INIT(1 << 20);
    struct dx_buf got = DX_BUF_INIT(1 << 20);
    struct dx_sigv4_header headers[DX_SIGV4_HEADERS_MAX];
    struct dx_sigv4_request r = { .headers = headers };
    char id[256], secret[256], region[256], service[256], time[256], method[16];
    struct dx_sigv4 sign = { id, secret, region, service, 0 };
    int64_t us = 0;
    bool done = read_case(suite, name, "context.json", &context) &&
                read_case(suite, name, "header-canonical-request.txt", &canonical) &&
                read_case(suite, name, "header-signature.txt", &want) &&
                read_case(suite, name, "request.txt", &request) &&
                split_headers((char *)request.data, headers, &r.header_count);

    if (done) {
        const char *text = (const char *)canonical.data;
        size_t line = strcspn(text, "\n");
        size_t path = strcspn(text + line + 1, "\n");

        (void)member(&context, "access_key_id", id);
        (void)member(&context, "secret_access_key", secret);
        (void)member(&context, "region", region);
        (void)member(&context, "service", service);
        EXPECT(dx_civil_parse(dx_span_str(member(&context, "timestamp", time)), &us), "%s", name);
        sign.unix_s = us / 1000000;
        (void)snprintf(method, sizeof method, "%.*s", (int)line, text);
        r.method = method;
        r.path = dx_span_of(text + line + 1, path);
        r.query = dx_span_of(text + line + path + 2, strcspn(text + line + path + 2, "\n"));
        r.payload_sha256 = strrchr(text, '\n') + 1;
        add_headers(text, headers, &r.header_count);
        EXPECT(dx_sigv4_canonical(&r, &got, &names) &&
                   dx_span_equal(dx_span_of(got.data, got.size),
                                 dx_span_of(canonical.data, canonical.size - 1)),
               "%s:\n%.*s\nwanted:\n%s", name, (int)got.size, (const char *)got.data, text);
        dx_buf_clear(&got);
        EXPECT(dx_sigv4_authorization(&sign, &r, &got), "%s", name);
        dx_buf_u8(&got, '\0');
        EXPECT(strstr((const char *)got.data, "Signature=") != NULL &&
                   strncmp(strstr((const char *)got.data, "Signature=") + 10,
                           (const char *)want.data, 64) == 0,
               "%s: %s, wanted %s", name, (const char *)got.data, (const char *)want.data);
    }
    dx_buf_release(&got);
    dx_buf_release(&names);
    dx_buf_release(&want);
    dx_buf_release(&context);
    dx_buf_release(&canonical);
    dx_buf_release(&request);
    return done;
}

static void check_suite(void)
{
    const char *data = getenv("DX_SHARED_DATA");
    char suite[4096];
    unsigned count = 0;
    const struct dirent *d;
    DIR *dir;

    (void)snprintf(suite, sizeof suite, "%s/" SUITE, data != NULL ? data : "../shared/data");
    dir = opendir(suite);
    if (dir == NULL) {
        (void)printf("SKIP the AWS signing suite: %s is not there (DX_SHARED_DATA)\n", suite);
        return;
    }
    while ((d = readdir(dir)) != NULL)
        if (d->d_name[0] != '.')
            count += check_case(suite, d->d_name);
    (void)closedir(dir);
    (void)printf("%u cases of the AWS signing suite\n", count);
    EXPECT(count >= 35, "only %u cases of the AWS suite", count);
}

/* The sum that a body is signed with, of a file and of a range of it. */
static void check_file_sum(void)
{
    enum { SIZE = 3 << 20 };
    uint8_t *bytes = malloc(SIZE);
    FILE *f = tmpfile();

    if (bytes == NULL || f == NULL)
        abort();
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 13));
    if (fwrite(bytes, 1, SIZE, f) != SIZE || fflush(f) != 0)
        abort();
    for (size_t at = 0; at < 20; at += 10) {
        uint8_t want[DX_SHA256_SIZE], got[DX_SHA256_SIZE];
        struct dx_error err = DX_ERROR_INIT;

        EXPECT(dx_sha256(dx_span_of(bytes + at, SIZE - 2 * at), want), "no sum");
        EXPECT(dx_s3_hash_file(fileno(f), "f", at, SIZE - 2 * at, got, &err) == DX_OK &&
                   memcmp(got, want, sizeof got) == 0,
               "from %zu: another sum %s", at, err.text);
    }
    (void)fclose(f);
    free(bytes);
}

int main(void)
{
    check_file_sum();
    check_urls();
    check_suite();
    return failures > 0;
}
