/* SPDX-License-Identifier: Apache-2.0
 * A log with fewer lines than a version was cleansed by is not gone on with: its new rules would be
 * taken for those that the version's rows have been rid of. */
#include "builder/policy/suppress.h"
#include "builder/policy/suppress_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "format/root/suppressions_floor.h"
#include "format/version/manifest.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

static unsigned failures;

static int add_host(void *ctx, struct dx_suppressions *log, struct dx_error *err)
{
    const struct dx_suppress_rule rule = { .kind = DX_SUPPRESS_HOST, .value = dx_span_str(ctx) };
    uint64_t number;
    int rc = dx_suppressions_add(log, &rule, &number, err);

    return rc < 0 ? rc : 1;
}

static int add(const struct dx_test_root *r, const char *host, struct dx_error *err)
{
    char value[64];

    (void)snprintf(value, sizeof value, "%s", host);
    return dx_suppress_change(r->path, add_host, value, err);
}

static void cleanse(const struct dx_test_root *r, uint64_t number)
{
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char path[200];

    (void)snprintf(path, sizeof path, "%s/index/manifest.json", r->path);
    if (dx_version_manifest(r->path, &m, &err) < 0)
        abort();
    m.versions[0].cleansed = number;
    if (dx_manifest_write(&m, &text, &err) < 0 ||
        dx_file_replace(path, dx_span_of(text.data, text.size), &err) < 0)
        abort();
    dx_buf_release(&text);
    dx_manifest_release(&m);
}

/* An older copy, another log of the same length, and a damaged floor: each is refused until it is
 * accepted. */
static void check_older(const struct dx_test_root *r, const char *path)
{
    struct dx_buf older = DX_BUF_INIT(DX_SUPPRESSIONS_MAX);
    struct dx_suppressions log;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t lines;
    char floor[200];

    (void)snprintf(floor, sizeof floor, "%s/" DX_SUPPRESSIONS_FLOOR, r->path);
    EXPECT(dx_file_read(path, older.max, &older, &err) == DX_OK, "%s", err.text);
    EXPECT(add(r, "e.example.com", &err) == 1, "%s", err.text);
    EXPECT(dx_file_replace(path, dx_span_of(older.data, older.size), &err) == DX_OK, "put back");
    EXPECT(dx_suppress_read(r->path, &log, &err) == DX_E_CORRUPT && strstr(err.text, "older"),
           "an older copy: %s", err.text);
    EXPECT(dx_suppress_accept(r->path, false, &lines, &err) == 1 && lines == 1, "%s", err.text);
    EXPECT(add(r, "other.example.com", &err) == 1, "%s", err.text);
    (void)unlink(path);
    EXPECT(dx_suppress_accept(r->path, false, &lines, &err) == 1 && lines == 0, "%s", err.text);
    EXPECT(add(r, "x.example.com", &err) == 1 && add(r, "y.example.com", &err) == 1, "%s",
           err.text);
    older.data[older.size - 5] ^= 1;
    EXPECT(dx_file_replace(floor, dx_span_of(older.data, older.size), &err) == DX_OK, "damage");
    EXPECT(add(r, "z.example.com", &err) == DX_E_CORRUPT && strstr(err.text, "accept") != NULL,
           "a damaged floor: %s", err.text);
    EXPECT(dx_suppress_accept(r->path, false, &lines, &err) == 1 && lines == 2, "%s", err.text);
    EXPECT(dx_suppress_read(r->path, &log, &err) == DX_OK && log.count == 2, "%s", err.text);
    dx_suppressions_release(&log);
    dx_buf_release(&older);
}

static void check_list(void)
{
    static const struct {
        const char *reason, *line;
    } rows[] = {
        { "", "     1  2024-11-21T10:20:00Z  host   withheld a.example.com\n" },
        { "x", "     1  2024-11-21T10:20:00Z  host   withheld a.example.com  # x\n" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dx_suppress_rule rule = { .time_us = 1732184400000000,
                                               .kind = DX_SUPPRESS_HOST,
                                               .value = dx_span_str("a.example.com"),
                                               .reason = dx_span_str(rows[i].reason) };
        struct dx_suppressions log = DX_SUPPRESSIONS_INIT;
        struct dx_buf out = DX_BUF_INIT(1000);
        struct dx_error err = DX_ERROR_INIT;
        uint64_t number;

        EXPECT(dx_suppressions_add(&log, &rule, &number, &err) == DX_OK, "%s", err.text);
        dx_suppress_list(&log, false, &out);
        EXPECT(dx_span_equal(dx_span_of(out.data, out.size), dx_span_str(rows[i].line)),
               "reason '%s': %.*s", rows[i].reason, (int)out.size, (const char *)out.data);
        dx_buf_release(&out);
        dx_suppressions_release(&log);
    }
}

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_root r;
    uint64_t lines;
    char path[200];

    dx_test_root_make(&r, 40, 2);
    EXPECT(add(&r, "a.example.com", &err) == 1, "%s", err.text);
    EXPECT(add(&r, "b.example.com", &err) == 1, "%s", err.text);
    cleanse(&r, 2);
    EXPECT(add(&r, "c.example.com", &err) == 1, "a version that knows them: %s", err.text);
    (void)snprintf(path, sizeof path, "%s/" DX_SUPPRESSIONS_FILE, r.path);
    if (unlink(path) < 0)
        abort();
    EXPECT(add(&r, "d.example.com", &err) == DX_E_CORRUPT && strstr(err.text, "lost") != NULL,
           "a lost log: %s", err.text);
    EXPECT(access(path, F_OK) < 0, "and it is not begun anew");
    cleanse(&r, 0);
    EXPECT(add(&r, "d.example.com", &err) == DX_E_CORRUPT && strstr(err.text, "3 were") != NULL,
           "no version is cleansed, but the floor has three lines: %s", err.text);
    EXPECT(dx_suppress_accept(r.path, false, &lines, &err) == 1 && lines == 0, "%s", err.text);
    EXPECT(add(&r, "d.example.com", &err) == 1, "accepted: %s", err.text);
    check_older(&r, path);
    check_list();
    dx_test_root_remove(&r);
    return failures == 0 ? 0 : 1;
}
