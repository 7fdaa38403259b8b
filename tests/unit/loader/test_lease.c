/* SPDX-License-Identifier: Apache-2.0
 * Leases: their text, and in a directory what holding one does: the manifest is read after it, a
 * lease that runs out, names that are let go, a process of the same name that died, one that
 * lives. What happens beside collectors, and on a store that loses replies, is in
 * tests/e2e/gc_beside.py and lease_faults.py, which drive this program:
 *
 *   test_lease ROOT name=value... < commands                fields by TAB
 *     hold VERSION...        ok MS VERSION=UNTIL... | error MS CODE TEXT
 *                            how long it took, then those that are held, until when on dx_clock_ms
 *     held VERSION...        ok 0 VERSION=UNTIL...
 *     rival                  ok TEXT | ok
 *     sleep MS               ok
 */
#include "loader/lease.h"

#include "base/file.h"
#include "fetch/store/store.h"
#include "tests/support/damage.h"

#include <time.h>
#include <unistd.h>

#define V1 "000001-20261121T103000Z"
#define V2 "000002-20261121T103001Z"
#define V3 "000003-20261121T103002Z"

static unsigned failures;
static char base[] = "/tmp/domaindex-test-lease-XXXXXX";

static void sleep_ms(long ms)
{
    const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    (void)nanosleep(&t, NULL);
}

/* ---- the text ---- */

static enum verdict try_text(void *ctx, struct dx_span bytes)
{
    struct dx_lease_text t;
    int rc = dx_lease_text_parse(&t, bytes, "lease", NULL);

    (void)ctx;
    dx_lease_text_release(&t);
    return rc < 0 ? REFUSED : SAME_ANSWERS;
}

/* The text without its last brace, and with it, and a true checksum. */
static void summed(const char *text, struct dx_buf *out)
{
    struct dx_hash128 sum;
    char hex[DX_HASH128_TEXT];

    dx_buf_append(out, text,
                  strrchr(text, '}') == NULL ? strlen(text) : (size_t)(strrchr(text, '}') - text));
    sum = dx_hash128_of(dx_span_of(out->data, out->size));
    dx_hash128_text(&sum, hex);
    dx_buf_fmt(out, ",\"checksum\":\"%s\"}\n", hex);
}

static void test_text(void)
{
    static const struct {
        const char *text, *says; /* NULL: accepted */
    } rows[] = {
        { "{\"format\":\"domaindex-lease\",\"format_version\":1,\"server\":\"a\",\"instance\":"
          "\"0123456789abcdef0123456789abcdef\",\"serial\":1,\"ttl_s\":600,\"cursor_life_s\":900,"
          "\"request_s\":60,\"versions\":[\"" V1 "\"]}\n",
          NULL },
        { "{\"a\":1}", "format" },
        { "[1", "lease: line" },
        { "{\"format\":\"domaindex-lease\",\"format_version\":2,\"server\":\"a\",\"instance\":"
          "\"0123456789abcdef0123456789abcdef\",\"serial\":1,\"ttl_s\":600,\"cursor_life_s\":900,"
          "\"request_s\":60,\"versions\":[]}",
          "newer" },
        { "{\"format\":\"domaindex-lease\",\"format_version\":1,\"server\":\"../"
          "a\",\"instance\":\"0123456789abcdef0123456789abcdef\",\"serial\":1,\"ttl_s\":600,"
          "\"cursor_life_s\":900,\"request_s\":60,\"versions\":[]}",
          "server" },
        { "{\"format\":\"domaindex-lease\",\"format_version\":1,\"server\":\"a\",\"instance\":"
          "\"0123456789ABCDEF0123456789abcdef\",\"serial\":1,\"ttl_s\":600,\"cursor_life_s\":900,"
          "\"request_s\":60,\"versions\":[]}",
          "instance" },
        { "{\"format\":\"domaindex-lease\",\"format_version\":1,\"server\":\"a\",\"instance\":"
          "\"0123456789abcdef0123456789abcdef\",\"serial\":0,\"ttl_s\":600,\"cursor_life_s\":900,"
          "\"request_s\":60,\"versions\":[]}",
          "serial" },
        { "{\"format\":\"domaindex-lease\",\"format_version\":1,\"server\":\"a\",\"instance\":"
          "\"0123456789abcdef0123456789abcdef\",\"serial\":1,\"ttl_s\":0,\"cursor_life_s\":900,"
          "\"request_s\":60,\"versions\":[]}",
          "ttl_s" },
        { "{\"format\":\"domaindex-lease\",\"format_version\":1,\"server\":\"a\",\"instance\":"
          "\"0123456789abcdef0123456789abcdef\",\"serial\":1,\"ttl_s\":600,\"cursor_life_s\":"
          "604801,\"request_s\":60,\"versions\":[]}",
          "cursor_life_s" },
        { "{\"format\":\"domaindex-lease\",\"format_version\":1,\"server\":\"a\",\"instance\":"
          "\"0123456789abcdef0123456789abcdef\",\"serial\":1,\"ttl_s\":600,\"cursor_life_s\":900,"
          "\"request_s\":60,\"versions\":[\"" V1 "\",\"" V1 "\"]}",
          "twice" },
        { "{\"format\":\"domaindex-lease\",\"format_version\":1,\"server\":\"a\",\"instance\":"
          "\"0123456789abcdef0123456789abcdef\",\"serial\":1,\"ttl_s\":600,\"cursor_life_s\":900,"
          "\"request_s\":60,\"versions\":[\"000001\"]}",
          "versions[0]" },
        { "{\"format\":\"domaindex-lease\",\"format_version\":1,\"server\":\"a\",\"instance\":"
          "\"0123456789abcdef0123456789abcdef\",\"serial\":1,\"ttl_s\":600,\"cursor_life_s\":900,"
          "\"request_s\":60,\"versions\":[],\"x\":1}",
          "members" },
    };
    struct dx_buf in = DX_BUF_INIT(DX_LEASE_TEXT_MAX);
    struct dx_buf out = DX_BUF_INIT(DX_LEASE_TEXT_MAX);
    struct verdicts v;
    struct damaged d;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_lease_text t;
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        dx_buf_clear(&in);
        summed(rows[i].text, &in);
        rc = dx_lease_text_parse(&t, dx_span_of(in.data, in.size), "lease", &err);

        EXPECT(rows[i].says == NULL ? rc == DX_OK
                                    : rc < 0 && strstr(err.text, rows[i].says) != NULL,
               "%zu: %d %s", i, rc, err.text);
        if (rc == DX_OK) {
            EXPECT(dx_lease_text_names(&t, V1) && !dx_lease_text_names(&t, V2), "%zu", i);
            EXPECT(dx_lease_text_write(&t, &out, &err) == DX_OK &&
                       dx_span_equal(dx_span_of(out.data, out.size), dx_span_of(in.data, in.size)),
                   "written: %.*s", (int)out.size, (const char *)out.data);
        }
        dx_lease_text_release(&t);
    }
    d = damaged_copy(dx_span_of(out.data, out.size));
    v = damaged_cuts(&d, try_text, NULL);
    EXPECT(v.count[REFUSED] == d.size, "cuts");
    v = damaged_flips(&d, 0, d.size, 1, try_text, NULL);
    EXPECT(v.count[REFUSED] == v.all, "flips");
    damaged_free(&d);
    dx_buf_release(&in);
    dx_buf_release(&out);
}

/* ---- a directory ---- */

static void add(struct dx_manifest *m, const char *version)
{
    static const char *const files[] = {
        DX_FILE_DATASETS,     DX_FILE_COUNTS,          DX_FILE_MEMBERSHIP,   DX_FILE_DOMAINS_DICT,
        DX_FILE_DOMAINS_MPHF, DX_FILE_FILES_TSV,       DX_FILE_PAGES,        DX_FILE_POSTINGS_DIR,
        DX_FILE_PSL,          DX_FILE_DATASET_DOMAINS, DX_FILE_COLD,         DX_FILE_FACTS,
        DX_FILE_SKETCHES,     DX_FILE_URL_IDS,         DX_FILE_POSTINGS_IDX, DX_FILE_POSTINGS_DAT
    };
    struct dx_hash128 hash = { { 1 } };
    struct dx_manifest_version *v = NULL;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_manifest_add(m, version, &v, &err);

    for (size_t i = 0; rc == DX_OK && i < sizeof files / sizeof files[0]; i++)
        rc = dx_manifest_file_add(v, files[i], 10, &hash, &err);
    if (rc == DX_OK) {
        v->published_us = 1795257000000000 + (int64_t)v->sequence * 1000000;
        v->canon_version = 1;
        (void)snprintf(v->parquet_root, sizeof v->parquet_root, "urls/");
        rc = dx_manifest_flip(m, version, v->sequence, v->published_us, &err);
    }
    EXPECT(rc == DX_OK, "%s", err.text);
}

static void publish(const char *root, const struct dx_manifest *m)
{
    struct dx_buf text = DX_BUF_INIT(1 << 20);
    struct dx_error err = DX_ERROR_INIT;
    char path[256];
    int rc = dx_manifest_write(m, &text, &err);

    (void)snprintf(path, sizeof path, "%s/index", root);
    if (rc == DX_OK)
        rc = dx_dir_make(path, &err);
    (void)snprintf(path, sizeof path, "%s/index/manifest.json", root);
    if (rc == DX_OK)
        rc = dx_file_replace(path, dx_span_of(text.data, text.size), &err);
    EXPECT(rc == DX_OK, "%s", err.text);
    dx_buf_release(&text);
}

static struct dx_lease *opened(const char *root, const char *server, uint32_t ttl_s)
{
    const struct dx_lease_options o = { server, ttl_s, 1, 1, NULL };
    struct dx_lease *l = NULL;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_lease_open(&l, root, &o, &err) == DX_OK, "%s", err.text);
    return l;
}

/* What the object says of a version. */
static bool leased(const char *root, const char *server, const char *version)
{
    struct dx_buf text = DX_BUF_INIT(DX_LEASE_TEXT_MAX);
    struct dx_lease_text t = DX_LEASE_TEXT_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char path[256];
    bool yes;

    (void)snprintf(path, sizeof path, "%s/leases/%s.json", root, server);
    yes = dx_file_read(path, DX_LEASE_TEXT_MAX, &text, &err) == DX_OK &&
          dx_lease_text_parse(&t, dx_span_of(text.data, text.size), path, &err) == DX_OK &&
          dx_lease_text_names(&t, version);
    dx_lease_text_release(&t);
    dx_buf_release(&text);
    return yes;
}

static int hold(struct dx_lease *l, const char *a, const char *b)
{
    const char *names[] = { a, b };
    struct dx_manifest m;
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_lease_hold(l, names, b == NULL ? 1 : 2, &m, &err);

    EXPECT((rc == DX_OK) == (m.version_count > 0), "%d %s", rc, err.text);
    dx_manifest_release(&m);
    return rc;
}

static void test_hold(const char *root)
{
    char path[128];
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_lease *l;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t begin = dx_clock_ms();

    add(&m, V1);
    add(&m, V2);
    publish(root, &m);
    l = opened(root, "web-1", 2);
    EXPECT(hold(l, V1, V2) == DX_OK, "hold");
    EXPECT(dx_lease_until(l, V1) >= begin + 2000 && dx_lease_until(l, V1) <= dx_clock_ms() + 2000 &&
               dx_lease_until(l, V3) == 0 && leased(root, "web-1", V1),
           "held");
    /* Dropped, and then gone: held on, since it was held before; what was not is not. */
    m.versions[0].state = DX_VERSION_DROPPED;
    m.versions[0].condemned_us = 1795257000000000;
    publish(root, &m);
    EXPECT(hold(l, V1, V2) == DX_OK && dx_lease_until(l, V1) > 0, "dropped, but ours");
    EXPECT(dx_manifest_remove(&m, V1, &err) == DX_OK, "%s", err.text);
    publish(root, &m);
    EXPECT(hold(l, V1, V2) == DX_OK && dx_lease_until(l, V1) > 0, "gone, but ours");
    EXPECT(hold(l, V2, NULL) == DX_OK && dx_lease_until(l, V1) == 0, "let go");
    EXPECT(!leased(root, "web-1", V1), "let go in the object");
    EXPECT(hold(l, V1, V2) == DX_OK && dx_lease_until(l, V1) == 0, "it was let go, and is gone");
    /* After the lease nothing that is gone is held. */
    add(&m, V3);
    publish(root, &m);
    EXPECT(hold(l, V3, V2) == DX_OK && dx_lease_until(l, V3) > 0, "hold");
    m.versions[0].state = DX_VERSION_DROPPED;
    m.versions[0].condemned_us = 1795257000000000;
    publish(root, &m);
    sleep_ms(2100);
    EXPECT(dx_lease_until(l, V2) < dx_clock_ms(), "run out");
    EXPECT(hold(l, V3, V2) == DX_OK && dx_lease_until(l, V3) > dx_clock_ms() &&
               dx_lease_until(l, V2) == 0,
           "dropped while no lease held it");
    dx_lease_close(&l);
    EXPECT(!leased(root, "web-1", V3), "taken back");
    (void)snprintf(path, sizeof path, "%s/leases/web-1.json", root);
    EXPECT(access(path, F_OK) < 0, "%s is left", path);
    dx_manifest_release(&m);
}

static void test_same_name(const char *root)
{
    struct dx_lease *a = opened(root, "twin", 2);
    struct dx_lease *b;
    const char *words;

    EXPECT(hold(a, V3, NULL) == DX_OK && dx_lease_rival(a) == NULL, "first");
    b = opened(root, "twin", 2);
    EXPECT(leased(root, "twin", V3), "what the first holds is kept");
    EXPECT(hold(b, V3, NULL) == DX_OK && dx_lease_rival(b) == NULL, "second");
    EXPECT(hold(a, V3, NULL) == DX_OK, "the first again");
    words = dx_lease_rival(a);
    EXPECT(words != NULL && strstr(words, "twin") != NULL && dx_lease_rival(a) == NULL, "not told");
    EXPECT(strncmp(dx_lease_server(a), "twin-", 5) == 0 && leased(root, dx_lease_server(a), V3),
           "%s", dx_lease_server(a));
    EXPECT(hold(b, V3, NULL) == DX_OK && dx_lease_rival(b) == NULL, "the second has the name");
    sleep_ms(2100);
    EXPECT(hold(b, V1, NULL) == DX_OK && !leased(root, "twin", V3), "inherited for ever");
    dx_lease_close(&a);
    dx_lease_close(&b);
}

static void test_refusals(const char *root)
{
    static const struct {
        const char *root, *server;
        enum dx_code code;
        const char *says;
    } rows[] = {
        { "http://127.0.0.1:9/x", "a", DX_E_UNSUPPORTED, "HTTP" },
        { NULL, "a/b", DX_E_INVALID, "'a/b'" },
        { NULL, "..", DX_E_INVALID, "'..'" },
        { NULL, "odd", DX_E_CORRUPT, "leases/odd.json" },
    };
    char path[256];
    struct dx_error err = DX_ERROR_INIT;

    (void)snprintf(path, sizeof path, "%s/leases/odd.json", root);
    EXPECT(dx_file_replace(path,
                           dx_span_str("{\"format\": 7, \"what\": \"somebody put another thing "
                                       "there, long enough to be a lease\"}"),
                           &err) == DX_OK,
           "%s", err.text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct dx_lease_options o = { rows[i].server, 2, 1, 1, NULL };
        struct dx_lease *l = NULL;
        int rc = dx_lease_open(&l, rows[i].root != NULL ? rows[i].root : root, &o, &err);

        EXPECT(rc == (int)rows[i].code && strstr(err.text, rows[i].says) != NULL && l == NULL,
               "%zu: %d %s", i, rc, err.text);
    }
    if (geteuid() == 0)
        return; /* may write everywhere */
    (void)snprintf(path, sizeof path, "chmod 555 %s/leases", root);
    EXPECT(system(path) == 0, "chmod");
    {
        const struct dx_lease_options o = { "a", 2, 1, 1, NULL };
        struct dx_lease *l = NULL;

        EXPECT(dx_lease_open(&l, root, &o, &err) == DX_E_UNSUPPORTED, "%s", err.text);
    }
    (void)snprintf(path, sizeof path, "chmod 755 %s/leases", root);
    EXPECT(system(path) == 0, "chmod");
}

/* ---- the driver ---- */

static void drive_held(struct dx_lease *l, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t until = dx_lease_until(l, names[i]);

        if (until > dx_clock_ms())
            printf("\t%s=%llu", names[i], (unsigned long long)until);
    }
    printf("\n");
}

static void drive_hold(struct dx_lease *l, const char *const *names, size_t count)
{
    struct dx_manifest m;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t begin = dx_clock_ms();
    int rc = dx_lease_hold(l, names, count, &m, &err);
    uint64_t now = dx_clock_ms();

    if (rc < 0) {
        printf("error\t%llu\t%s\t%s\n", (unsigned long long)(now - begin),
               dx_code_name((enum dx_code)rc), err.text);
    } else {
        printf("ok\t%llu", (unsigned long long)(now - begin));
        drive_held(l, names, count);
    }
    dx_manifest_release(&m);
}

static void drive_line(struct dx_lease *l, char *line)
{
    const char *fields[64] = { NULL };
    size_t count = 0;
    char *rest = NULL;

    line[strcspn(line, "\n")] = '\0';
    for (char *f = strtok_r(line, "\t", &rest); f != NULL && count < 64;
         f = strtok_r(NULL, "\t", &rest))
        fields[count++] = f;
    if (count == 0)
        return;
    if (strcmp(fields[0], "hold") == 0) {
        drive_hold(l, fields + 1, count - 1);
    } else if (strcmp(fields[0], "held") == 0) {
        printf("ok\t0");
        drive_held(l, fields + 1, count - 1);
    } else if (strcmp(fields[0], "rival") == 0) {
        const char *words = dx_lease_rival(l);

        printf("ok\t%s\n", words == NULL ? "" : words);
    } else if (strcmp(fields[0], "sleep") == 0 && count == 2) {
        sleep_ms(strtol(fields[1], NULL, 10));
        printf("ok\n");
    } else {
        printf("error\t0\tusage\t%s\n", fields[0]);
    }
    (void)fflush(stdout);
}

static int drive(int argc, char **argv)
{
    struct dx_lease_options o = { "driver", 2, 1, 1, NULL };
    struct dx_lease *l = NULL;
    struct dx_error err = DX_ERROR_INIT;
    char line[8192];
    int rc;

    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "server=", 7) == 0)
            o.server = argv[i] + 7;
        else if (strncmp(argv[i], "ttl=", 4) == 0)
            o.ttl_s = (uint32_t)strtoul(argv[i] + 4, NULL, 10);
        else if (strncmp(argv[i], "life=", 5) == 0)
            o.cursor_life_s = (uint32_t)strtoul(argv[i] + 5, NULL, 10);
        else if (strncmp(argv[i], "request=", 8) == 0)
            o.request_s = (uint32_t)strtoul(argv[i] + 8, NULL, 10);
    }
    rc = dx_lease_open(&l, argv[1], &o, &err);
    if (rc < 0)
        printf("error\t0\t%s\t%s\n", dx_code_name((enum dx_code)rc), err.text);
    else
        printf("ok\t%s\n", dx_lease_server(l));
    (void)fflush(stdout);
    while (rc == DX_OK && fgets(line, sizeof line, stdin) != NULL)
        drive_line(l, line);
    dx_lease_close(&l);
    return rc < 0;
}

int main(int argc, char **argv)
{
    char command[128];

    if (argc > 1)
        return drive(argc, argv);
    if (mkdtemp(base) == NULL)
        return 1;
    test_text();
    test_hold(base);
    test_same_name(base);
    test_refusals(base);
    (void)snprintf(command, sizeof command, "rm -rf %s", base);
    failures += system(command) != 0;
    return failures > 0;
}
