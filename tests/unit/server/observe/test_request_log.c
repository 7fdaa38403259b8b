/* SPDX-License-Identifier: Apache-2.0
 * The log of requests: a line's members, that it is one line of JSON whatever the target's bytes
 * are, the ring beside a queue in memory, and targets that are full, blocked, moved away and gone:
 * no put waits, and what is lost is counted.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/json_out.h"
#include "base/log.h"
#include "server/http/trace_id.h"
#include "server/observe/record_ring.h"
#include "server/observe/request_json.h"
#include "server/observe/request_log.h"

#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/fail.h"
#include "tests/support/sample.h"

/* jansson's own limits: numbers of 63 bits, which is why those below are no longer. */
#define JSON_FLAGS (JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)

#define SMALL_RING 65536

static unsigned failures;
static char folder[] = "/tmp/domaindex-test-XXXXXX";

static struct dx_request_record sample(uint64_t number)
{
    return (struct dx_request_record){
        .number = number,
        .began_us = 1795312800123456,
        .stage_us = { 1, 2, 3, 4, 5 },
        .route = DX_ROUTE_URLS,
        .method = DX_METHOD_GET,
        .from = DX_FROM_WORKER,
        .status = 200,
        .sent_bytes = 1234,
        .version = "000001-20261121T103000Z",
        .summary.domain_id = 0xffeeddccbbaa9988,
        .summary.has_domain_id = true,
        .dataset_id = 7,
        .summary.datasets = 1,
        .summary.rows = 50,
        .storage_requests = 2,
        .storage_bytes = 4096,
    };
}

static json_t *parsed(const struct dx_request_record *r, size_t *size)
{
    struct dx_buf b = DX_BUF_INIT(DX_REQUEST_LINE_MAX);
    json_error_t why;
    json_t *doc;

    dx_request_json(r, &b);
    CHECK(!b.failed, "a line has more than %d bytes", DX_REQUEST_LINE_MAX);
    CHECK(b.size > 0 && memchr(b.data, '\n', b.size) == b.data + b.size - 1, "one line");
    doc = json_loadb((const char *)b.data, b.size, JSON_FLAGS, &why);
    CHECK(doc != NULL, "no JSON: %s: %.*s", why.text, (int)b.size, (const char *)b.data);
    *size = b.size;
    dx_buf_release(&b);
    return doc;
}

static void test_members(void)
{
    static const struct {
        const char *key, *text;
        long long number;
    } rows[] = {
        { "time", "2026-11-22T02:00:00.123456Z", 0 },
        { "request", "00000000000000ff", 0 },
        { "route", "urls", 0 },
        { "method", "GET", 0 },
        { "status", NULL, 200 },
        { "bytes", NULL, 1234 },
        { "version", "000001-20261121T103000Z", 0 },
        { "from", "worker", 0 },
        { "domain_id", "0xffeeddccbbaa9988", 0 },
        { "dataset_id", NULL, 7 },
        { "datasets", NULL, 1 },
        { "rows", NULL, 50 },
        { "head_us", NULL, 1 },
        { "queue_us", NULL, 2 },
        { "answer_us", NULL, 3 },
        { "storage_us", NULL, 4 },
        { "send_us", NULL, 5 },
        { "storage_requests", NULL, 2 },
        { "storage_bytes", NULL, 4096 },
    };
    struct dx_request_record r = sample(255);
    size_t size;
    json_t *doc = parsed(&r, &size);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *value = json_object_get(doc, rows[i].key);

        if (rows[i].text != NULL)
            CHECK(json_is_string(value) && strcmp(json_string_value(value), rows[i].text) == 0,
                  "%s: '%s', expected '%s'", rows[i].key, json_string_value(value), rows[i].text);
        else
            CHECK(json_is_integer(value) && json_integer_value(value) == rows[i].number,
                  "%s: %lld, expected %lld", rows[i].key, (long long)json_integer_value(value),
                  rows[i].number);
    }
    CHECK(json_object_size(doc) == sizeof rows / sizeof rows[0], "%zu members, expected %zu",
          json_object_size(doc), sizeof rows / sizeof rows[0]);
    json_decref(doc);
}

/* Every byte, alone and among others, and lengths around the cut. */
static void test_targets(void)
{
    static uint8_t target[DX_TARGET_MAX];
    struct dx_request_record r = sample(1);
    size_t size;

    memset(r.principal, 0xff, sizeof r.principal - 1);
    memset(r.version, '\n', sizeof r.version - 1);
    r.number = r.summary.domain_id = r.summary.datasets = r.summary.rows = r.names = INT64_MAX;
    r.sent_bytes = r.body_bytes = r.storage_bytes = r.disk_bytes = INT64_MAX;
    r.dataset_id = r.storage_requests = r.storage_retries = r.disk_reads = UINT32_MAX;
    for (unsigned i = 0; i < DX_STAGE_COUNT; i++)
        r.stage_us[i] = INT64_MIN;
    r.refusal = "suppressions-not-applied-and-more";
    (void)dx_trace_id(dx_span_str("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
                      r.trace);
    for (unsigned byte = 0; byte < 256; byte++) {
        static const size_t sizes[] = {
            1, 400, 499, 500, 501, 1500, 2999, 3000, 3001, DX_TARGET_MAX
        };

        memset(target, (int)byte, sizeof target);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            json_t *doc;

            r.target = dx_span_of(target, sizes[i]);
            doc = parsed(&r, &size);
            CHECK(json_is_string(json_object_get(doc, "target")), "byte %u: no target", byte);
            if (byte == 'a')
                CHECK((json_string_length(json_object_get(doc, "target")) == sizes[i]) ==
                          (sizes[i] <= 3000),
                      "%zu bytes: %zu shown", sizes[i],
                      json_string_length(json_object_get(doc, "target")));
            CHECK((json_object_get(doc, "target_bytes") == NULL) ==
                      (sizes[i] <= (byte > ' ' && byte < 0x7f && byte != '"' && byte != '\\' ? 3000
                                    : byte == ' '                                            ? 3000
                                                  : 500)),
                  "byte %u, %zu bytes: whether it was cut", byte, sizes[i]);
            json_decref(doc);
        }
    }
}

/* A record that was kept has the beginning of its target alone, under its whole length. */
static void test_cut_target(void)
{
    uint8_t *kept = malloc(DX_REQUEST_TARGET_MAX);
    struct dx_request_record r = sample(1);
    size_t size;
    json_t *doc;

    if (kept == NULL)
        abort();
    memset(kept, 'a', DX_REQUEST_TARGET_MAX);
    r.target = dx_span_of(kept, DX_TARGET_MAX);
    doc = parsed(&r, &size);
    CHECK(json_string_length(json_object_get(doc, "target")) == DX_REQUEST_TARGET_MAX, "%zu bytes",
          json_string_length(json_object_get(doc, "target")));
    CHECK(json_integer_value(json_object_get(doc, "target_bytes")) == DX_TARGET_MAX, "its length");
    json_decref(doc);
    free(kept);
}

static void test_trace(void)
{
    static const struct {
        const char *value, *want;
    } rows[] = {
        { "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
          "0af7651916cd43dd8448eb211c80319c" },
        { "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what.ever",
          "0af7651916cd43dd8448eb211c80319c" },
        { "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", "" },
        { "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "" },
        { "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01", "" },
        { "00-00000000000000000000000000000000-b7ad6b7169203331-01", "" },
        { "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "" },
        { "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01", "" },
        { "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0", "" },
        { "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x", "" },
        { "my-secret-my-secret-my-secret-my-secret-my-secret-my-se", "" },
        { "", "" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char trace[DX_TRACE_TEXT];
        bool ok = dx_trace_id(dx_span_str(rows[i].value), trace);

        CHECK(strcmp(trace, rows[i].want) == 0 && ok == (rows[i].want[0] != '\0'), "%s: '%s'",
              rows[i].value, trace);
    }
}

/* Records and targets of all lengths through a ring of few bytes, by turns at random. */
static void test_ring(void)
{
    struct dx_record_ring ring;
    uint8_t room[DX_RING_TARGET_MAX];
    static uint8_t target[DX_TARGET_MAX];
    uint64_t put = 0;
    uint64_t got = 0;
    uint64_t full = 0;

    (void)dx_record_ring_init(&ring, 16384, NULL);
    srand(7);
    while (got < 20000) {
        struct dx_request_record r = sample(put);
        bool keep = put % 3 != 0;

        r.target = dx_span_of(target, (size_t)put * 37 % (put % 100 == 0 ? DX_TARGET_MAX : 100));
        memset(target, (int)(put % 251), r.target.size);
        if (rand() % 5 < 3) {
            if (dx_record_ring_put(&ring, &r, keep))
                put++;
            else
                full++;
        } else if (dx_record_ring_get(&ring, &r, room)) {
            size_t asked = (size_t)got * 37 % (got % 100 == 0 ? DX_TARGET_MAX : 100);

            CHECK(r.number == got && r.summary.rows == 50, "record %llu came for %llu",
                  (unsigned long long)r.number, (unsigned long long)got);
            if (got % 3 == 0)
                CHECK(r.target.size == 0, "a target that was not to be kept");
            else
                CHECK(r.target.size == asked &&
                          (asked == 0 ||
                           (r.target.data[0] == (uint8_t)(got % 251) &&
                            r.target.data[(asked < sizeof room ? asked : sizeof room) - 1] ==
                                (uint8_t)(got % 251))),
                      "target of %llu", (unsigned long long)got);
            got++;
        }
    }
    CHECK(full > 0 && atomic_load(&ring.dropped) == full, "the ring was full %llu times",
          (unsigned long long)full);
    dx_record_ring_release(&ring);
}

static struct dx_request_log *open_log(const char *target, bool targets, unsigned rings,
                                       size_t ring_bytes)
{
    const struct dx_request_log_options o = {
        .target = target, .targets = targets, .rings = rings, .ring_bytes = ring_bytes
    };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_request_log *log;

    if (dx_request_log_open(&log, &o, &err) < 0) {
        printf("cannot open: %s\n", err.text);
        exit(1);
    }
    return log;
}

static void settle(void)
{
    const struct timespec t = { 0, 120000000 };

    (void)nanosleep(&t, NULL);
}

static size_t lines_of(const char *path, bool all_parse)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    size_t n = 0;

    while (f != NULL && getline(&line, &room, f) > 0) {
        json_t *doc = json_loads(line, JSON_FLAGS, NULL);

        CHECK(doc != NULL || !all_parse, "%s: line %zu: %s", path, n + 1, line);
        n += doc != NULL;
        json_decref(doc);
    }
    free(line);
    if (f != NULL)
        (void)fclose(f);
    return n;
}

struct producer {
    struct dx_request_log *log;
    unsigned ring;
    uint64_t count;
    const atomic_bool *moved; /* the second half is put after this */
};

static void rest(void)
{
    const struct timespec t = { 0, 12000000 };

    (void)nanosleep(&t, NULL);
}

/* Until so many lines are written or dropped, or 12 seconds are over. */
static void await_lines(struct dx_request_log *log, uint64_t lines,
                        struct dx_request_log_counts *counts)
{
    for (unsigned looks = 0; looks < 6000; looks++) {
        dx_request_log_counts_read(log, counts);
        if (counts->written + counts->dropped >= lines)
            break;
        rest();
    }
}

static void *produce(void *argument)
{
    struct producer *p = argument;
    const char target[] = "/v1/domain/example.com";

    for (uint64_t i = 0; i < p->count; i++) {
        struct dx_request_record r = sample(i);

        while (i == p->count / 2 && !atomic_load(p->moved))
            rest();
        r.target = dx_span_str(target);
        dx_request_log_put(p->log, p->ring, &r);
        if (i % 100 == 99) /* as fast as the writer is thought to be */
            rest();
    }
    return NULL;
}

/* Three loops into one file, which is moved away meanwhile. */
static void test_file(void)
{
    enum { THREADS = 3, EACH = 2000 };
    char path[300], moved[300];
    pthread_t threads[THREADS];
    struct producer p[THREADS];
    struct dx_request_log_counts counts;
    struct stat st;
    struct dx_request_log *log;
    atomic_bool renamed = false;
    size_t lines;

    (void)snprintf(path, sizeof path, "%s/requests", folder);
    (void)snprintf(moved, sizeof moved, "%s/requests.1", folder);
    log = open_log(path, false, THREADS, 0); /* rings that hold all there is */
    for (unsigned i = 0; i < THREADS; i++) {
        p[i] = (struct producer){ log, i, EACH, &renamed };
        (void)pthread_create(&threads[i], NULL, produce, &p[i]);
    }
    await_lines(log, 1, &counts);
    CHECK(rename(path, moved) == 0, "rename");
    dx_request_log_reopen(log);
    atomic_store(&renamed, true);
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    await_lines(log, THREADS * EACH, &counts);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640, "mode %o", st.st_mode & 0777);
    CHECK(dx_request_log_close(&log) && log == NULL, "it ends");
    lines = lines_of(path, true) + lines_of(moved, true);
    CHECK(lines == counts.written && counts.written + counts.dropped == THREADS * EACH &&
              lines_of(path, true) > 0 && lines_of(moved, true) > 0,
          "%zu lines, %llu written, %llu dropped", lines, (unsigned long long)counts.written,
          (unsigned long long)counts.dropped);
    CHECK(counts.dropped == 0, "%llu lines were dropped", (unsigned long long)counts.dropped);
}

/* A ring with many records keeps neither the file nor another ring waiting until it is empty. */
static void test_long_ring(void)
{
    enum { COUNT = DX_ROUNDS(60000, 20000) };
    char path[300], moved[300];
    struct dx_request_record r = sample(2);
    struct dx_request_log_counts counts;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf text = DX_BUF_INIT(1 << 30);
    struct dx_request_log *log;
    const uint8_t *last;
    size_t old;

    (void)snprintf(path, sizeof path, "%s/long", folder);
    (void)snprintf(moved, sizeof moved, "%s/long.1", folder);
    log = open_log(path, false, 2, 64 << 20);
    for (unsigned i = 0; i < COUNT; i++)
        dx_request_log_put(log, 0, &r);
    r.status = 599;
    dx_request_log_put(log, 1, &r);
    await_lines(log, 1, &counts);
    CHECK(rename(path, moved) == 0, "rename");
    dx_request_log_reopen(log);
    await_lines(log, COUNT + 1, &counts);
    CHECK(dx_request_log_close(&log), "it ends");
    CHECK(counts.written == COUNT + 1, "%llu written", (unsigned long long)counts.written);
    CHECK(dx_file_read(moved, 1 << 30, &text, &err) >= 0, "%s", err.text);
    old = text.size;
    CHECK(dx_file_read(path, 1 << 30, &text, &err) >= 0, "%s", err.text);
    CHECK(text.size > old, "the old file took all lines");
    last = memmem(text.data, text.size, "\"status\":599", 12);
    CHECK(last != NULL && memchr(last, '\n', text.size - (size_t)(last - text.data)) !=
                              text.data + text.size - 1,
          "the other ring came last");
    dx_buf_release(&text);
}

/* As fast as it goes, at a target that takes nothing: no put waits, all that is lost is counted. */
static void flood(const char *target, const char *name, bool blocks)
{
    enum { COUNT = DX_ROUNDS(20000, 5000) };
    struct dx_request_log *log = open_log(target, true, 1, SMALL_RING);
    struct dx_request_record r = sample(1);
    struct dx_request_log_counts counts;
    double begin = dx_clock_s();

    r.target = dx_span_str("/v1/domain/example.com");
    for (unsigned i = 0; i < COUNT; i++)
        dx_request_log_put(log, 0, &r);
    CHECK(dx_clock_s() - begin < 60, "%s: %.3f s for all", name, dx_clock_s() - begin);
    settle();
    dx_request_log_counts_read(log, &counts);
    CHECK(counts.dropped > COUNT / 2, "%s: %llu dropped", name, (unsigned long long)counts.dropped);
    begin = dx_clock_s();
    CHECK(dx_request_log_close(&log), "%s: it ends", name);
    CHECK(dx_clock_s() - begin < 60, "%s: ending took %.1f s", name, dx_clock_s() - begin);
    CHECK(blocks || counts.written == 0, "%s: %llu written", name,
          (unsigned long long)counts.written);
}

static void test_unwilling(void)
{
    char path[300];
    struct dx_request_log_counts counts;
    struct dx_request_log *log;
    struct dx_request_record r = sample(1);
    static char bytes[65536 + DX_LOG_BYTES_MAX];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_request_log_options o = { .target = "/nowhere/log", .rings = 1 };
    ssize_t got;
    int reader;

    flood("/dev/full", "a full disk", false);
    (void)snprintf(path, sizeof path, "%s/pipe", folder);
    CHECK(mkfifo(path, 0600) == 0, "mkfifo");
    o.target = path;
    CHECK(dx_request_log_open(&log, &o, &err) == DX_E_IO && strstr(err.text, path) != NULL,
          "a pipe without a reader: %s", err.text);
    o.target = "/nowhere/log";
    CHECK(dx_request_log_open(&log, &o, &err) < 0 && log == NULL, "no such folder");
    reader = open(path, O_RDONLY | O_NONBLOCK);
    flood(path, "a pipe that nobody reads", true);
    while (read(reader, bytes, sizeof bytes) > 0)
        ;
    /* Blocked, then read: it goes on with whole lines. */
    log = open_log(path, false, 1, SMALL_RING);
    for (unsigned i = 0; i < 300; i++)
        dx_request_log_put(log, 0, &r);
    settle();
    got = read(reader, bytes, sizeof bytes);
    dx_request_log_put(log, 0, &r);
    settle();
    dx_request_log_counts_read(log, &counts);
    CHECK(got > 0 && counts.written + counts.dropped == 301 && counts.written > 100,
          "%zd bytes, %llu written, %llu dropped", got, (unsigned long long)counts.written,
          (unsigned long long)counts.dropped);
    /* Its reader goes away: an error to be counted, no signal to die of. */
    (void)close(reader);
    dx_request_log_put(log, 0, &r);
    settle();
    dx_request_log_counts_read(log, &counts);
    CHECK(counts.dropped > 0, "a reader that is gone");
    CHECK(dx_request_log_close(&log), "it ends");
}

/* Standard error as a pipe without a reader: neither the program's log nor this one waits. */
static void test_stderr(void)
{
    int old = dup(STDERR_FILENO);
    int ends[2];
    static char bytes[1 << 20];
    struct dx_request_log *log;
    struct dx_request_log_counts counts;
    struct dx_request_record r = sample(1);
    double begin;
    size_t size = 0;
    size_t ours = 0;
    ssize_t n;

    CHECK(pipe(ends) == 0, "pipe");
    (void)dup2(ends[1], STDERR_FILENO);
    (void)close(ends[1]);
    dx_log_never_wait();
    log = open_log("stderr", false, 1, SMALL_RING);
    dx_request_log_put(log, 0, &r);
    settle();
    begin = dx_clock_s();
    for (unsigned i = 0; i < 3000; i++) {
        dx_log(DX_LOG_WARN, "line %u", i);
        dx_request_log_put(log, 0, &r);
    }
    CHECK(dx_clock_s() - begin < 60, "%.1f s", dx_clock_s() - begin);
    settle();
    dx_request_log_counts_read(log, &counts);
    CHECK(dx_log_dropped() > 0, "the program's lines are counted");
    CHECK(counts.dropped > 0, "and those of requests");
    CHECK(dx_request_log_close(&log), "it ends");
    (void)dup2(old, STDERR_FILENO);
    (void)close(old);
    while ((n = read(ends[0], bytes + size, sizeof bytes - size)) > 0)
        size += (size_t)n;
    (void)close(ends[0]);
    for (size_t at = 0; at < size;) {
        size_t end = at;

        while (end < size && bytes[end] != '\n')
            end++;
        CHECK(end < size && (bytes[at] == '{' ? bytes[end - 1] == '}' : bytes[at] == '2'),
              "a torn line: %.*s", (int)(end - at), bytes + at);
        ours += bytes[at] == '{';
        at = end + 1;
    }
    CHECK(ours > 0, "lines of requests");
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    if (mkdtemp(folder) == NULL)
        return 1;
    test_members();
    test_targets();
    test_cut_target();
    test_trace();
    test_ring();
    test_file();
    test_long_ring();
    test_unwilling();
    test_stderr();
    {
        static const char *const left[] = { "requests", "requests.1", "long", "long.1", "pipe" };
        char path[300];

        for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
            (void)snprintf(path, sizeof path, "%s/%s", folder, left[i]);
            (void)unlink(path);
        }
        (void)rmdir(folder);
    }
    printf("%u failures\n", failures);
    return failures > 0;
}
