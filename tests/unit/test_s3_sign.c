/* SPDX-License-Identifier: Apache-2.0
 * s3:// roots: addresses, URLs, credentials. That the signatures are true is checked by
 * tests/e2e/source_http.py, with a second signer and real servers.
 */
#include "base/file.h"
#include "fetch/s3.h"
#include "tests/support/damage.h"

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
        struct dx_s3_credentials c;
        struct dx_error err = DX_ERROR_INIT;
        int rc = dx_s3_credentials_parse(&c, dx_span_of(text.bytes, text.size), files[i].profile,
                                         &err);

        EXPECT(rc == files[i].want, "row %zu: %d %s", i, rc, err.text);
        EXPECT(rc != 1 || files[i].want != 1 ||
                   (strcmp(c.key_id, files[i].key_id) == 0 &&
                    strcmp(c.secret, files[i].secret) == 0 && strcmp(c.token, files[i].token) == 0),
               "row %zu: %s %s %s", i, c.key_id, c.secret, c.token);
        damaged_free(&text);
    }
}

static void check_open(void)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_source *src = NULL;
    char path[] = "/tmp/domaindex-s3-XXXXXX";
    char file[64];

    if (mkdtemp(path) == NULL)
        abort();
    (void)snprintf(file, sizeof file, "%s/credentials", path);
    (void)unsetenv("AWS_ACCESS_KEY_ID");
    (void)unsetenv("AWS_SECRET_ACCESS_KEY");
    (void)unsetenv("AWS_SHARED_CREDENTIALS_FILE");
    (void)unsetenv("AWS_PROFILE");
    (void)setenv("HOME", path, 1);
    EXPECT(dx_source_open(&src, "s3://bucket/x", &options, &err) == DX_E_NOT_FOUND &&
               strstr(err.text, "AWS_ACCESS_KEY_ID") != NULL,
           "%s", err.text);
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", file, 1);
    EXPECT(dx_source_open(&src, "s3://bucket/x", &options, &err) == DX_E_NOT_FOUND, "%s", err.text);
    (void)dx_file_replace(
        file, dx_span_str("[me]\naws_access_key_id=A\naws_secret_access_key=hidden\n"), &err);
    EXPECT(dx_source_open(&src, "s3://bucket/x", &options, &err) == DX_E_NOT_FOUND, "%s", err.text);
    options.s3_profile = "me";
    EXPECT(dx_source_open(&src, "s3://bucket/x", &options, &err) == DX_OK, "%s", err.text);
    dx_source_close(&src);
    options.s3_profile = NULL;
    (void)setenv("AWS_ACCESS_KEY_ID", "A", 1);
    EXPECT(dx_source_open(&src, "s3://bucket/x", &options, &err) == DX_E_INVALID, "%s", err.text);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "hid den", 1);
    EXPECT(dx_source_open(&src, "s3://bucket/x", &options, &err) == DX_E_INVALID &&
               strstr(err.text, "hid") == NULL,
           "%s", err.text);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
    EXPECT(dx_source_open(&src, "s3://bucket/x", &options, &err) == DX_OK, "%s", err.text);
    dx_source_close(&src);
    options.s3_anonymous = true;
    (void)unsetenv("AWS_ACCESS_KEY_ID");
    EXPECT(dx_source_open(&src, "s3://bucket/x", &options, &err) == DX_OK, "%s", err.text);
    dx_source_close(&src);
    (void)dx_dir_remove(path, &err);
}

int main(void)
{
    check_urls();
    check_files();
    check_open();
    return failures > 0;
}
