/* SPDX-License-Identifier: Apache-2.0
 * Roots behind HTTP: whole batches of reads or an error, retries, timers, what is sent. The origin
 * is a few lines in this process; real servers and the fault proxy are in tests/e2e/source_http.py,
 * which drives this program:
 *
 *   test_source_http ROOT [name=value...] < commands      a line out for each line in, fields by TAB
 *     batch DEADLINE_MS (OBJECT OFFSET SIZE TOTAL ETAG)... ok MS HEX... | error MS CODE TEXT
 *     get  DEADLINE_MS OBJECT CAP IF_NONE_MATCH           ok MS HEX ETAG | same MS ETAG | error ...
 * An ETAG of "-" means none, a DEADLINE_MS of 0 the source's own. With loop=1 batches are read on an
 * event loop, else by a thread that waits.
 */
#include "base/file.h"
#include "fetch/fetch_counts.h"
#include "fetch/fetch_loop.h"
#include "fetch/object_url.h"
#include "fetch/source_http.h"
#include "fetch/source_open.h"
#include "tests/support/damage.h"
#include "tests/support/http_origin.h"

#include <event2/event.h>
#include <pthread.h>
#include <unistd.h>

static unsigned failures;

static const struct {
    const char *root, *url;
} roots[] = {
    { "http://127.0.0.1:80/a/b//", "http://127.0.0.1/a/b" },
    { "https://Example.com", "https://example.com" },
    { "http://user@host/", NULL },
    { "http://user:secret@host/", NULL },
    { "http://host/?q=1", NULL },
    { "http://host/#f", NULL },
    { "http://host:99999/", NULL },
    { "http:///x", NULL },
    { "http://ho st/", NULL },
};

static void check_urls(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf out = DX_BUF_INIT(1000);
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_source *src;

    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        char *url = NULL;
        int rc = dx_root_url(roots[i].root, &url, &err);

        EXPECT((rc == DX_OK) == (roots[i].url != NULL), "%s: %d", roots[i].root, rc);
        EXPECT(rc < 0 || strcasecmp(url, roots[i].url) == 0, "%s: %s", roots[i].root, url);
        EXPECT(strstr(err.text, "secret") == NULL, "%s", err.text);
        free(url);
    }
    dx_object_url(&out, "http://h/r", "urls/dataset_id=7/a+b%~_-.c\xe1\x88\xb4?#&");
    EXPECT(!out.failed &&
               strcmp((char *)out.data,
                      "http://h/r/urls/dataset_id%3D7/a%2Bb%25~_-.c%E1%88%B4%3F%23%26") == 0,
           "%s", (char *)out.data);
    dx_buf_release(&out);
    EXPECT(dx_source_open(&src, "ftp://host/x", &options, &err) == DX_E_INVALID, "%s", err.text);
    EXPECT(dx_source_open(&src, "s3:/bucket", &options, &err) < 0, "%s", err.text);
    EXPECT(dx_source_open(&src, "/tmp", &options, &err) == DX_OK, "%s", err.text);
    dx_source_close(&src);
    EXPECT(dx_source_remote("S3://b/p") && dx_source_remote("https://x") &&
               !dx_source_remote("/s3://"),
           "schemes");
}

static struct dx_source *open_origin(struct dx_source_options *options)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_source *src = NULL;
    char root[64];

    (void)snprintf(root, sizeof root, "http://127.0.0.1:%u/root/", origin.port);
    EXPECT(dx_source_open(&src, root, options, &err) == DX_OK, "%s", err.text);
    if (src == NULL)
        exit(1);
    return src;
}

struct row {
    const char *object;
    uint64_t offset;
    struct dx_pin pin;
    int want;
    const char *words;    /* in the error */
    unsigned attempts;    /* requests that the origin sees */
    unsigned connections; /* new ones */
};

static const struct row rows[] = {
    { "plain", 5, { 0, NULL }, DX_OK, NULL, 1, 1 },
    { "plain", 5, { ORIGIN_TOTAL, "\"v1\"" }, DX_OK, NULL, 1, 0 },
    { "plain", ORIGIN_TOTAL - 100, { ORIGIN_TOTAL, NULL }, DX_OK, NULL, 1, 0 },
    { "plain", 5, { 0, "\"v0\"" }, DX_E_CONFLICT, "replaced", 1, 0 },
    { "plain", 5, { ORIGIN_TOTAL + 1, NULL }, DX_E_CONFLICT, "size", 3, 2 },
    { "plain", ORIGIN_TOTAL - 99, { ORIGIN_TOTAL, NULL }, DX_E_TRUNCATED, "of an object of", 0, 0 },
    { "plain", ORIGIN_TOTAL - 99, { 0, NULL }, DX_E_TRUNCATED, "ends before", 1, 0 },
    { "plain", UINT64_MAX - 5, { 0, NULL }, DX_E_INVALID, "2^64", 0, 0 },
    { "plain", 5, { 0, "W/\"v1\"" }, DX_E_INVALID, "strong", 0, 0 },
    { "plain", 5, { 0, "\"v1\r\nX: y\"" }, DX_E_INVALID, "strong", 0, 0 },
    { "once503", 0, { 0, NULL }, DX_OK, NULL, 2, 1 },
    { "down", 0, { 0, NULL }, DX_E_BUSY, "SlowDown", 3, 2 },
    { "once_wrong", 7, { 0, NULL }, DX_OK, NULL, 2, 1 },
    { "wrong", 7, { 0, NULL }, DX_E_CORRUPT, "bytes 7-106: Content-Range", 3, 2 },
    { "once_cut", 0, { 0, NULL }, DX_OK, NULL, 2, 1 },
    { "once_cut_head", 0, { ORIGIN_TOTAL, "\"v1\"" }, DX_OK, NULL, 2, 1 },
    { "cut_head", 0, { ORIGIN_TOTAL, "\"v1\"" }, DX_E_IO, "head", 3, 2 }, /* not: replaced */
    { "once_mute", 0, { 0, NULL }, DX_OK, NULL, 2, 1 },
    { "mute", 0, { 0, NULL }, DX_E_TIMEOUT, "no reply in time", 3, 2 },
    { "none", 0, { 0, NULL }, DX_E_NOT_FOUND, "no such object (HTTP 404)", 1, 0 },
    { "none_cut", 0, { 0, NULL }, DX_E_NOT_FOUND, "no such object (HTTP 404)", 1, 0 },
    { "moved", 0, { 0, NULL }, DX_E_IO, "redirection", 1, 0 },
};

static void check_rows(void)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_source *patient = open_origin(&options);
    struct dx_source *hasty; /* what does not answer is given up soon */
    uint8_t to[100];

    options.first_byte_ms = 200;
    options.connect_ms = 200;
    hasty = open_origin(&options);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_source *src = strstr(rows[i].object, "mute") != NULL ? hasty : patient;
        struct dx_error err = DX_ERROR_INIT;
        const struct dx_read read = { rows[i].object, rows[i].offset, sizeof to, to };
        struct dx_source_batch_report report = { .seen = NULL };
        const struct dx_source_batch batch = {
            .reads = &read, .pins = &rows[i].pin, .count = 1, .report = &report
        };
        int rc;

        memset(to, 0, sizeof to);
        origin_reset();
        rc = dx_source_read_batch(src, &batch, &err);
        EXPECT(rc == rows[i].want, "row %zu, %s: %d %s", i, rows[i].object, rc, err.text);
        EXPECT(rc < 0 || origin_right(&read), "row %zu, %s: wrong bytes", i, rows[i].object);
        EXPECT(rows[i].words == NULL || strstr(err.text, rows[i].words) != NULL, "row %zu: %s", i,
               err.text);
        EXPECT(origin.requests == rows[i].attempts, "row %zu, %s: %u requests", i, rows[i].object,
               origin.requests);
        EXPECT(report.requests == rows[i].attempts &&
                   report.retries == (rows[i].attempts > 0 ? rows[i].attempts - 1 : 0) &&
                   report.bytes == (rc == DX_OK ? sizeof to : 0),
               "row %zu, %s: %u requests reported, %u retries, %llu bytes", i, rows[i].object,
               report.requests, report.retries, (unsigned long long)report.bytes);
        EXPECT(origin.connections <= rows[i].connections + 1 &&
                   origin.connections >= rows[i].connections - (i == 0 ? 1 : 0),
               "row %zu, %s: %u connections", i, rows[i].object, origin.connections);
    }
    dx_source_close(&hasty);
    dx_source_close(&patient);
}

static void check_batch(void)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_fetch_limits limits;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_source *src;
    static uint8_t to[200][50];
    struct dx_read reads[200];
    const struct dx_read none = { "none", 0, 0, to[0] };

    dx_fetch_limits_init(&limits, 8);
    options.limits = &limits;
    src = open_origin(&options);
    origin_reset();
    for (size_t i = 0; i < 200; i++)
        reads[i] = (struct dx_read){ "many", i * ORIGIN_APART, sizeof to[0], to[i] };
    EXPECT(dx_source_read(src, reads, 200, &err) == DX_OK, "%s", err.text);
    for (size_t i = 0; i < 200; i++)
        EXPECT(origin_right(&reads[i]), "read %zu", i);
    EXPECT(origin.requests == 200 && origin.most <= 8 && origin.connections <= 9,
           "%u requests, %u at once, %u connections", origin.requests, origin.most,
           origin.connections);
    EXPECT(limits.in_flight == 0 && limits.in_flight_high <= 8, "%u in flight", limits.in_flight);
    /* One that fails ends the batch, and gives all places back. */
    reads[100].object = "none";
    EXPECT(dx_source_read(src, reads, 200, &err) == DX_E_NOT_FOUND, "%s", err.text);
    EXPECT(limits.in_flight == 0, "%u in flight", limits.in_flight);
    (void)usleep(100000); /* the origin has counted what was broken off */
    origin_reset();
    EXPECT(dx_source_read(src, &none, 1, &err) == DX_OK && origin.requests == 0, "no byte");
    reads[0].object = reads[1].object = "turning";
    EXPECT(dx_source_read(src, reads, 2, &err) == DX_E_CONFLICT &&
               strstr(err.text, "between two ranges") != NULL,
           "%s", err.text);
    dx_source_close(&src);
    dx_fetch_limits_release(&limits);
}

static void check_deadline(void)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_source *src = open_origin(&options);
    uint8_t to[10];
    const struct dx_read read = { "mute", 0, sizeof to, to };
    uint64_t begin = dx_clock_ms();
    const struct dx_source_batch batch = { .reads = &read, .count = 1, .deadline_ms = begin + 150 };
    uint64_t ms;

    EXPECT(dx_source_read_batch(src, &batch, &err) == DX_E_TIMEOUT, "%s", err.text);
    ms = dx_clock_ms() - begin;
    EXPECT(ms >= 150 && ms < 60000, "%llu ms: %s", (unsigned long long)ms, err.text);
    EXPECT(strstr(err.text, "deadline") != NULL, "%s", err.text);
    dx_source_close(&src);
}

static void check_get(void)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_source *src = open_origin(&options);
    struct dx_buf out = DX_BUF_INIT(100);
    char etag[DX_SOURCE_ETAG];
    struct dx_get get = { .object = "small", .cap = 5 };

    dx_buf_str(&out, "> ");
    EXPECT(dx_source_get(src, &get, &out, etag, &err) == 1, "%s", err.text);
    EXPECT(out.size == 7 && memcmp(out.data, "> hello", 7) == 0 && strcmp(etag, "\"s1\"") == 0,
           "%zu %s", out.size, etag);
    (void)pthread_mutex_lock(&origin.lock);
    EXPECT(strstr(origin.last, "\r\nRange:") == NULL && strncmp(origin.last, "GET ", 4) == 0 &&
               strstr(origin.last, "Accept-Encoding: identity\r\n") != NULL,
           "%s", origin.last);
    (void)pthread_mutex_unlock(&origin.lock);
    get.if_none_match = etag;
    EXPECT(dx_source_get(src, &get, &out, (char[DX_SOURCE_ETAG]){ 0 }, &err) == 0 && out.size == 7,
           "%s", err.text);
    get.if_none_match = "\"s0\"";
    get.cap = 4;
    EXPECT(dx_source_get(src, &get, &out, etag, &err) == DX_E_LIMIT, "%s", err.text);
    origin_reset();
    get = (struct dx_get){ .object = "small_once_cut", .cap = 5 };
    out.size = 2;
    EXPECT(dx_source_get(src, &get, &out, etag, &err) == 1 && out.size == 7 &&
               memcmp(out.data, "> world", 7) == 0 && etag[0] == '\0' && origin.requests == 2,
           "%s, %zu bytes", err.text, out.size);
    get = (struct dx_get){ .object = "none", .cap = 4 };
    EXPECT(dx_source_get(src, &get, &out, etag, &err) == DX_E_NOT_FOUND, "%s", err.text);
    get = (struct dx_get){ .object = "../x", .cap = 4 };
    EXPECT(dx_source_get(src, &get, &out, etag, &err) == DX_E_INVALID, "%s", err.text);
    dx_buf_release(&out);
    dx_source_close(&src);
}

static void check_local_get(void)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf out = DX_BUF_INIT(100);
    struct dx_source *src;
    char root[] = "/tmp/domaindex-get-XXXXXX";
    char path[64];
    char a[DX_SOURCE_ETAG];
    char b[DX_SOURCE_ETAG];
    struct dx_get get = { .object = "one", .cap = 10 };
    uint8_t to[2];
    const struct dx_read read = { "one", 1, 2, to };
    struct dx_pin pin = { 4, NULL };
    const struct dx_source_batch batch = { .reads = &read, .pins = &pin, .count = 1 };

    if (mkdtemp(root) == NULL)
        abort();
    (void)snprintf(path, sizeof path, "%s/one", root);
    (void)dx_file_replace(path, dx_span_str("1234"), &err);
    EXPECT(dx_source_open(&src, root, &options, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_source_get(src, &get, &out, a, &err) == 1 && out.size == 4, "%s", err.text);
    EXPECT(dx_etag_strong(a), "%s", a);
    get.if_none_match = a;
    EXPECT(dx_source_get(src, &get, &out, b, &err) == 0 && strcmp(a, b) == 0, "%s %s", a, b);
    (void)dx_file_replace(path, dx_span_str("5678"), &err);
    EXPECT(dx_source_get(src, &get, &out, b, &err) == 1 && out.size == 8, "%s %s", a, b);
    get.cap = 3;
    EXPECT(dx_source_get(src, &get, &out, b, &err) == DX_E_LIMIT, "%s", err.text);
    EXPECT(dx_source_read_batch(src, &batch, &err) == DX_OK && to[0] == '6', "%s", err.text);
    pin.total = 5;
    EXPECT(dx_source_read_batch(src, &batch, &err) == DX_E_CONFLICT, "%s", err.text);
    dx_source_close(&src);
    dx_buf_release(&out);
    (void)dx_dir_remove(root, &err);
}

/* Which read failed, of a directory too. */
static void check_local_report(void)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_source *src;
    char root[] = "/tmp/domaindex-get-XXXXXX";
    char path[64];
    uint8_t to[3][2];
    struct dx_read reads[3] = { { "one", 0, 2, to[0] },
                                { "one", 2, 2, to[1] },
                                { "one", 1, 2, to[2] } };
    struct dx_seen seen[3];
    struct dx_source_batch_report report = { .seen = seen, .failed = 7 };
    const struct dx_source_batch batch = { .reads = reads, .count = 3, .report = &report };

    if (mkdtemp(root) == NULL)
        abort();
    (void)snprintf(path, sizeof path, "%s/one", root);
    (void)dx_file_replace(path, dx_span_str("1234"), &err);
    EXPECT(dx_source_open_local(&src, root, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_source_read_batch(src, &batch, &err) == DX_OK && report.failed == 3 &&
               seen[2].etag[0] == '\0' && report.requests == 3 && report.bytes == 6,
           "%s, read %zu", err.text, report.failed);
    reads[1].offset = 3;
    EXPECT(dx_source_read_batch(src, &batch, &err) == DX_E_TRUNCATED && report.failed == 1,
           "%s, read %zu", err.text, report.failed);
    reads[1].object = "two";
    EXPECT(dx_source_read_batch(src, &batch, &err) == DX_E_NOT_FOUND && report.failed == 1,
           "%s, read %zu", err.text, report.failed);
    reads[2].object = "/one";
    EXPECT(dx_source_read_batch(src, &batch, &err) == DX_E_INVALID && report.failed == 2,
           "%s, read %zu", err.text, report.failed);
    dx_source_close(&src);
    (void)dx_dir_remove(root, &err);
}

static void *hammer(void *arg)
{
    struct dx_source *src = arg;
    uint8_t to[3][2000];
    uint64_t seed = (uint64_t)(uintptr_t)to;
    size_t bad = 0;

    for (int i = 0; i < 50; i++) {
        struct dx_read reads[3];
        struct dx_error err = DX_ERROR_INIT;

        for (size_t k = 0; k < 3; k++)
            reads[k] = (struct dx_read){ "plain", random_next(&seed) % (ORIGIN_TOTAL - 2000),
                                         1 + random_next(&seed) % 2000, to[k] };
        if (dx_source_read(src, reads, 3, &err) != DX_OK) {
            fprintf(stderr, "%s\n", err.text);
            bad++;
        } else {
            bad += !origin_right(&reads[0]) || !origin_right(&reads[1]) || !origin_right(&reads[2]);
        }
    }
    return (void *)bad;
}

static void check_threads(void)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_fetch_limits limits;
    struct dx_source *src;
    pthread_t threads[6];

    dx_fetch_limits_init(&limits, 4);
    options.limits = &limits;
    src = open_origin(&options);
    origin_reset();
    for (size_t i = 0; i < 6; i++)
        if (pthread_create(&threads[i], NULL, hammer, src) != 0)
            abort();
    for (size_t i = 0; i < 6; i++) {
        void *bad;

        (void)pthread_join(threads[i], &bad);
        EXPECT(bad == NULL, "thread %zu: %zu bad batches", i, (size_t)bad);
    }
    EXPECT(origin.requests <= 900 && origin.requests > 800 && origin.most <= 4,
           "%u requests, %u at once", origin.requests, origin.most);
    dx_source_close(&src);
    dx_fetch_limits_release(&limits);
}

static void print_hex(const uint8_t *data, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    (void)putchar('\t');
    for (size_t i = 0; i < n; i++) {
        (void)putchar(digits[data[i] >> 4]);
        (void)putchar(digits[data[i] & 15]);
    }
}

static const char *next_field(char **line)
{
    const char *field = strsep(line, "\t");

    return field != NULL ? field : "";
}

static const char *etag_or_none(const char *text)
{
    return strcmp(text, "-") == 0 ? NULL : text;
}

static void print_error(const struct dx_error *err, unsigned long long ms)
{
    printf("error\t%llu\t%s\t%s\n", ms, dx_code_name(err->code), err->text);
}

/* loop=1: batches are read on it. */
static struct {
    bool on;
    struct event_base *base;
    struct dx_fetch_loop *fetch;
} loop;

struct outcome {
    unsigned calls;
    int rc;
    struct dx_error *err;
};

static void on_done(void *ctx, int rc, const struct dx_error *err)
{
    struct outcome *outcome = ctx;

    outcome->calls++;
    outcome->rc = rc;
    *outcome->err = *err;
    (void)event_base_loopbreak(loop.base);
}

static int read_on_loop(struct dx_source *src, const struct dx_source_batch *batch,
                        struct dx_error *err)
{
    struct outcome outcome = { .err = err };
    struct dx_fetch *fetch;
    int rc = dx_fetch_begin(loop.fetch, src, batch, on_done, &outcome, &fetch, err);

    while (rc == DX_OK && outcome.calls == 0)
        (void)event_base_dispatch(loop.base);
    if (outcome.calls > 1)
        abort();
    return rc < 0 ? rc : outcome.rc;
}

static void drive_batch(struct dx_source *src, char *line, uint64_t deadline_ms)
{
    enum { MOST = 256 };
    struct dx_read reads[MOST];
    struct dx_pin pins[MOST];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_source_batch batch = { .reads = reads, .pins = pins, .deadline_ms = deadline_ms };
    uint64_t begin = dx_clock_ms();

    while (line != NULL && batch.count < MOST) {
        struct dx_read *read = &reads[batch.count];

        read->object = next_field(&line);
        read->offset = strtoull(next_field(&line), NULL, 10);
        read->size = strtoull(next_field(&line), NULL, 10);
        read->to = malloc(read->size + 1);
        pins[batch.count].total = strtoull(next_field(&line), NULL, 10);
        pins[batch.count].etag = etag_or_none(next_field(&line));
        batch.count++;
    }
    if ((loop.on ? read_on_loop(src, &batch, &err) : dx_source_read_batch(src, &batch, &err)) < 0) {
        print_error(&err, dx_clock_ms() - begin);
    } else {
        printf("ok\t%llu", (unsigned long long)(dx_clock_ms() - begin));
        for (size_t i = 0; i < batch.count; i++)
            print_hex(reads[i].to, reads[i].size);
        (void)putchar('\n');
    }
    for (size_t i = 0; i < batch.count; i++)
        free(reads[i].to);
}

static void drive_get(struct dx_source *src, char *line, uint64_t deadline_ms)
{
    struct dx_get get = { .object = next_field(&line), .deadline_ms = deadline_ms };
    struct dx_buf out = DX_BUF_INIT(64 << 20);
    struct dx_error err = DX_ERROR_INIT;
    char etag[DX_SOURCE_ETAG];
    uint64_t begin = dx_clock_ms();
    unsigned long long ms;
    int rc;

    get.cap = strtoull(next_field(&line), NULL, 10);
    get.if_none_match = etag_or_none(next_field(&line));
    rc = dx_source_get(src, &get, &out, etag, &err);
    ms = dx_clock_ms() - begin;
    if (rc < 0) {
        print_error(&err, ms);
    } else if (rc == 0) {
        printf("same\t%llu\t%s\n", ms, etag);
    } else {
        printf("ok\t%llu", ms);
        print_hex(out.data, out.size);
        printf("\t%s\n", etag);
    }
    dx_buf_release(&out);
}

static bool set_option(struct dx_source_options *options, const char *text)
{
    const struct {
        const char *name;
        unsigned *number;
        const char **words;
        bool *flag;
    } names[] = {
        { "connect_ms=", &options->connect_ms, NULL, NULL },
        { "first_byte_ms=", &options->first_byte_ms, NULL, NULL },
        { "stall_ms=", &options->stall_ms, NULL, NULL },
        { "deadline_ms=", &options->deadline_ms, NULL, NULL },
        { "attempts=", &options->attempts_max, NULL, NULL },
        { "ca_file=", NULL, &options->ca_file, NULL },
        { "endpoint=", NULL, &options->s3_endpoint, NULL },
        { "region=", NULL, &options->s3_region, NULL },
        { "virtual_host=", NULL, NULL, &options->s3_virtual_host },
        { "anonymous=", NULL, NULL, &options->s3_anonymous },
        { "hedge=", NULL, NULL, &options->hedge },
        { "loop=", NULL, NULL, &loop.on },
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = text + strlen(names[i].name);

        if (strncmp(text, names[i].name, strlen(names[i].name)) != 0)
            continue;
        if (names[i].number != NULL)
            *names[i].number = (unsigned)strtoul(value, NULL, 10);
        else if (names[i].words != NULL)
            *names[i].words = value;
        else
            *names[i].flag = value[0] == '1';
        return true;
    }
    return false;
}

static int drive(int argc, char **argv)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_source *src = NULL;
    char *line = NULL;
    size_t room = 0;

    for (int i = 2; i < argc; i++)
        if (!set_option(&options, argv[i])) {
            fprintf(stderr, "unknown: %s\n", argv[i]);
            return 2;
        }
    if (dx_source_open(&src, argv[1], &options, &err) < 0)
        print_error(&err, 0);
    if (loop.on) {
        loop.base = event_base_new();
        if (dx_fetch_loop_new(&loop.fetch, loop.base, &err) < 0)
            abort();
    }
    while (src != NULL && getline(&line, &room, stdin) > 0) {
        char *at = line;
        const char *verb;
        uint64_t deadline_ms;

        line[strcspn(line, "\n")] = '\0';
        verb = next_field(&at);
        deadline_ms = strtoull(next_field(&at), NULL, 10);
        deadline_ms = deadline_ms == 0 ? 0 : dx_clock_ms() + deadline_ms;
        if (strcmp(verb, "get") == 0)
            drive_get(src, at, deadline_ms);
        else
            drive_batch(src, at, deadline_ms);
        (void)fflush(stdout);
    }
    free(line);
    if (loop.on) {
        dx_fetch_loop_free(&loop.fetch);
        event_base_free(loop.base);
    }
    dx_source_close(&src);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return drive(argc, argv);
    (void)setenv("NO_PROXY", "127.0.0.1", 1);
    origin_begin();
    check_urls();
    check_rows();
    check_batch();
    check_deadline();
    check_get();
    check_local_get();
    check_local_report();
    check_threads();
    return failures > 0;
}
