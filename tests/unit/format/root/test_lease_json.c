/* SPDX-License-Identifier: Apache-2.0
 * Leases as text: what is written is read back, each bound is refused a step beyond it, and a byte that is another one is noticed.
 */
#include "format/root/lease_json.h"

#include "tests/support/damage.h"

static unsigned failures;

static struct dx_lease_text sound(void)
{
    return (struct dx_lease_text){ .server = "web-1.a_b",
                                   .instance = "0123456789abcdef0123456789abcdef",
                                   .serial = 7,
                                   .ttl_s = 60,
                                   .cursor_life_s = 3600,
                                   .request_s = 30 };
}

static void name_of(unsigned i, char name[DX_VERSION_NAME])
{
    EXPECT(dx_version_name_make(i + 1, INT64_C(1795256000000000), name), "version %u", i);
}

static void check_round(void)
{
    struct dx_lease_text t = sound();
    struct dx_lease_text back;
    struct dx_buf text = DX_BUF_INIT(DX_LEASE_TEXT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    char name[DX_VERSION_NAME];

    for (unsigned i = 0; i < DX_LEASE_VERSIONS_MAX; i++) {
        name_of(i, name);
        EXPECT(dx_lease_text_add(&t, name, &err) == DX_OK, "%u: %s", i, err.text);
    }
    EXPECT(dx_lease_text_add(&t, name, &err) == DX_OK && t.count == DX_LEASE_VERSIONS_MAX,
           "the same again: %s", err.text);
    name_of(DX_LEASE_VERSIONS_MAX, name);
    EXPECT(!dx_lease_text_names(&t, name) && dx_lease_text_add(&t, name, &err) == DX_E_LIMIT &&
               t.count == DX_LEASE_VERSIONS_MAX,
           "one too many: %s", err.text);
    EXPECT(dx_lease_text_write(&t, &text, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_lease_text_parse(&back, dx_span_of(text.data, text.size), "l", &err) == DX_OK, "%s",
           err.text);
    EXPECT(strcmp(back.server, t.server) == 0 && strcmp(back.instance, t.instance) == 0 &&
               back.serial == 7 && back.ttl_s == 60 && back.cursor_life_s == 3600 &&
               back.request_s == 30 && back.count == DX_LEASE_VERSIONS_MAX,
           "%s %s %llu, %zu versions", back.server, back.instance, (unsigned long long)back.serial,
           back.count);
    for (unsigned i = 0; i < DX_LEASE_VERSIONS_MAX; i++) {
        name_of(i, name);
        EXPECT(dx_lease_text_names(&back, name), "%s is not read back", name);
    }
    dx_lease_text_release(&back);
    for (size_t i = 0; i < text.size; i += 97) {
        text.data[i] ^= 1;
        EXPECT(dx_lease_text_parse(&back, dx_span_of(text.data, text.size), "l", &err) < 0,
               "byte %zu is another one", i);
        dx_lease_text_release(&back);
        text.data[i] ^= 1;
    }
    EXPECT(dx_lease_text_parse(&back, dx_span_of(text.data, DX_LEASE_TEXT_MAX + 1), "l", &err) ==
               DX_E_LIMIT,
           "%s", err.text);
    dx_lease_text_release(&t);
    dx_buf_release(&text);
}

static void check_names(void)
{
    static const char *const wrong[] = { "",
                                         "000001",
                                         "../../x",
                                         "000001-20261121T103000",
                                         "000001-20261121T103000Z/",
                                         "1-20261121T103000Z" };
    struct dx_lease_text t = sound();
    struct dx_error err = DX_ERROR_INIT;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        EXPECT(dx_lease_text_add(&t, wrong[i], &err) == DX_E_INVALID && t.count == 0, "'%s': %s",
               wrong[i], err.text);
    dx_lease_text_release(&t);
}

static void refuse(const struct dx_lease_text *t, const char *words)
{
    struct dx_buf text = DX_BUF_INIT(DX_LEASE_TEXT_MAX);
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_lease_text_write(t, &text, &err);

    if (words == NULL)
        EXPECT(rc == DX_OK, "%s", err.text);
    else
        EXPECT(rc == DX_E_INVALID && strstr(err.text, words) != NULL, "%s: %d %s", words, rc,
               err.text);
    dx_buf_release(&text);
}

static void check_bounds(void)
{
    static const struct {
        const char *server, *words;
    } servers[] = {
        { "a", NULL },
        { "0123456789012345678901234567890123456789012345678901234567890123", NULL },
        { "", "server is not" },
        { ".a", "server is not" },
        { "-a", "server is not" },
        { "a/b", "server is not" },
        { "a b", "server is not" },
    };
    static const struct {
        uint64_t serial;
        uint32_t ttl_s, cursor_life_s, request_s;
        const char *words;
    } numbers[] = {
        { 1, 1, 0, 0, NULL },
        { INT64_MAX, DX_LEASE_SECONDS_MAX, DX_LEASE_SECONDS_MAX, DX_LEASE_SECONDS_MAX, NULL },
        { 0, 1, 0, 0, "serial" },
        { (uint64_t)INT64_MAX + 1, 1, 0, 0, "serial" },
        { 1, 0, 0, 0, "ttl_s" },
        { 1, DX_LEASE_SECONDS_MAX + 1, 0, 0, "ttl_s" },
        { 1, 1, DX_LEASE_SECONDS_MAX + 1, 0, "cursor_life_s" },
        { 1, 1, 0, DX_LEASE_SECONDS_MAX + 1, "request_s" },
    };
    static const char *const instances[] = { "", "0123456789abcdef0123456789abcde",
                                             "0123456789abcdef0123456789abcdeg",
                                             "0123456789ABCDEF0123456789ABCDEF" };

    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
        struct dx_lease_text t = sound();

        strcpy(t.server, servers[i].server);
        refuse(&t, servers[i].words);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct dx_lease_text t = sound();

        t.serial = numbers[i].serial;
        t.ttl_s = numbers[i].ttl_s;
        t.cursor_life_s = numbers[i].cursor_life_s;
        t.request_s = numbers[i].request_s;
        refuse(&t, numbers[i].words);
    }
    for (size_t i = 0; i < sizeof instances / sizeof *instances; i++) {
        struct dx_lease_text t = sound();

        strcpy(t.instance, instances[i]);
        refuse(&t, "instance is not");
    }
}

int main(void)
{
    check_round();
    check_names();
    check_bounds();
    return failures > 0;
}
