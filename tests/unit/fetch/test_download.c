/* SPDX-License-Identifier: Apache-2.0
 * Downloads: every size around chunks and windows, resumed at each, and stores that fail, change,
 * are shorter or longer.
 */
#include "fetch/download.h"

#include "base/file.h"
#include "tests/support/damage.h"
#include "tests/support/fake_source.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK ((uint64_t)DX_DOWNLOAD_CHUNK)
#define WINDOW ((uint64_t)DX_DOWNLOAD_WINDOW)

static unsigned failures;
static char path[64];

static bool same_file(const struct dx_fake_source *f)
{
    struct dx_buf b = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_error err = DX_ERROR_INIT;
    bool same = dx_file_read(path, b.max, &b, &err) == DX_OK && b.size == f->size &&
                (b.size == 0 || memcmp(b.data, f->bytes, b.size) == 0);

    dx_buf_release(&b);
    return same;
}

static uint64_t file_size(void)
{
    struct stat st;

    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void put_file(const uint8_t *bytes, uint64_t size)
{
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_file_replace(path, dx_span_of(bytes, (size_t)size), &err) == DX_OK, "%s", err.text);
}

static struct dx_download download_of(struct dx_fake_source *f)
{
    return (struct dx_download){ .source = &f->source, .object = "index/v/x", .size = f->size };
}

static void check_sizes(void)
{
    static const uint64_t sizes[] = { 0,         1,      4095,       CHUNK - 1,     CHUNK,
                                      CHUNK + 1, WINDOW, WINDOW + 1, 2 * WINDOW - 1 };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct dx_fake_source *f = dx_fake_source_new(sizes[i]);
        struct dx_download d = download_of(f);
        struct dx_error err = DX_ERROR_INIT;
        _Atomic uint64_t bytes = 0;

        d.bytes = &bytes;
        (void)unlink(path);
        EXPECT(dx_download_run(&d, path, &err) == DX_OK && same_file(f), "size %llu: %s",
               (unsigned long long)sizes[i], err.text);
        EXPECT(d.resumed == 0 && bytes == sizes[i] && f->bytes_read == sizes[i],
               "size %llu: counts", (unsigned long long)sizes[i]);
        /* Whole already: not a byte more. */
        EXPECT(dx_download_run(&d, path, &err) == DX_OK && d.resumed == sizes[i] &&
                   f->bytes_read == sizes[i],
               "size %llu: again", (unsigned long long)sizes[i]);
        dx_fake_source_free(&f);
    }
}

static void check_resume(void)
{
    struct dx_fake_source *f = dx_fake_source_new(WINDOW + CHUNK + 7);
    static const uint64_t there[] = { 1, CHUNK - 1, CHUNK, CHUNK + 5, 3 * CHUNK, WINDOW + CHUNK };

    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++) {
        struct dx_download d = download_of(f);
        struct dx_error err = DX_ERROR_INIT;

        put_file(f->bytes, there[i]);
        f->bytes_read = 0;
        EXPECT(dx_download_run(&d, path, &err) == DX_OK && same_file(f), "from %llu: %s",
               (unsigned long long)there[i], err.text);
        EXPECT(d.resumed == there[i] / CHUNK * CHUNK && f->bytes_read == f->size - d.resumed,
               "from %llu: %llu kept", (unsigned long long)there[i], (unsigned long long)d.resumed);
    }
    dx_fake_source_free(&f);
}

static void check_longer_file(void)
{
    struct dx_fake_source *f = dx_fake_source_new(CHUNK + 9);
    struct dx_fake_source *other = dx_fake_source_new(2 * CHUNK);
    struct dx_download d = download_of(f);
    struct dx_error err = DX_ERROR_INIT;

    put_file(other->bytes, other->size);
    EXPECT(dx_download_run(&d, path, &err) == DX_OK && same_file(f) && d.resumed == 0, "%s",
           err.text);
    dx_fake_source_free(&f);
    dx_fake_source_free(&other);
}

static const struct {
    const char *words;
    unsigned fail_from, fail_count;
    int fail_code;
    unsigned change_from;
    uint64_t size; /* that is asked for; 0: the right one */
    int want;
    uint64_t left; /* of the file afterwards */
    unsigned batches;
} stores[] = {
    { "busy twice", 2, 2, DX_E_BUSY, 0, 0, DX_OK, 0, 5 },
    { "late once", 1, 1, DX_E_TIMEOUT, 0, 0, DX_OK, 0, 4 },
    { "cut in its body once", 2, 1, DX_E_IO, 0, 0, DX_OK, 0, 4 },
    { "an object that ends before", 2, 9, DX_E_TRUNCATED, 0, 0, DX_E_TRUNCATED, WINDOW, 2 },
    { "always busy", 2, 99, DX_E_BUSY, 0, 0, DX_E_BUSY, WINDOW, 5 },
    { "no replies to what was asked", 1, 99, DX_E_CORRUPT, 0, 0, DX_E_CORRUPT, 0, 2 },
    { "gone", 2, 1, DX_E_NOT_FOUND, 0, 0, DX_E_NOT_FOUND, WINDOW, 2 },
    { "replaced in the middle", 0, 0, 0, 3, 0, DX_E_CONFLICT, 2 * WINDOW, 3 },
    { "longer than it should be", 0, 0, 0, 0, 2 * WINDOW, DX_E_CONFLICT, 0, 1 },
    { "shorter than it should be", 0, 0, 0, 0, 3 * WINDOW, DX_E_CONFLICT, 0, 1 },
};

static void check_stores(void)
{
    struct dx_fake_source *f = dx_fake_source_new(2 * WINDOW + 3);

    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        struct dx_download d = download_of(f);
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        (void)unlink(path);
        f->batches = 0;
        f->fail_from = stores[i].fail_from;
        f->fail_count = stores[i].fail_count;
        f->fail_code = stores[i].fail_code;
        f->change_from = stores[i].change_from;
        d.size = stores[i].size != 0 ? stores[i].size : f->size;
        rc = dx_download_run(&d, path, &err);
        EXPECT(rc == stores[i].want, "%s: %d %s", stores[i].words, rc, err.text);
        EXPECT(f->batches == stores[i].batches, "%s: %u batches", stores[i].words, f->batches);
        if (rc == DX_OK)
            EXPECT(same_file(f), "%s: other bytes", stores[i].words);
        else
            EXPECT(file_size() == stores[i].left, "%s: %llu bytes left", stores[i].words,
                   (unsigned long long)file_size());
    }
    dx_fake_source_free(&f);
}

static void check_pins(void)
{
    struct dx_fake_source *f = dx_fake_source_new(100);
    struct dx_download d = download_of(f);
    struct dx_error err = DX_ERROR_INIT;

    (void)unlink(path);
    d.pin = (struct dx_pin){ 100, "\"old\"" };
    EXPECT(dx_download_run(&d, path, &err) == DX_E_CONFLICT, "%s", err.text);
    d.pin = (struct dx_pin){ 99, NULL };
    EXPECT(dx_download_run(&d, path, &err) == DX_E_INVALID, "%s", err.text);
    d.pin = (struct dx_pin){ 100, "\"etag\"" };
    EXPECT(dx_download_run(&d, path, &err) == DX_OK && same_file(f), "%s", err.text);
    f->etag[0] = '\0'; /* a store without ETags */
    f->batches = 0;
    d.pin = (struct dx_pin){ 0, NULL };
    (void)unlink(path);
    EXPECT(dx_download_run(&d, path, &err) == DX_OK && same_file(f), "%s", err.text);
    EXPECT(dx_download_run(&d, "/proc/domaindex/x", &err) == DX_E_NOT_FOUND, "%s", err.text);
    d.size = UINT64_MAX;
    EXPECT(dx_download_run(&d, path, &err) < 0, "2^64 bytes");
    dx_fake_source_free(&f);
}

/* A limit of the size of files refuses what a full disk refuses. */
static void check_no_room(void)
{
    struct dx_fake_source *f = dx_fake_source_new(2 * CHUNK);
    int status = 0;
    pid_t child;

    (void)unlink(path);
    child = fork();
    if (child == 0) {
        const struct rlimit limit = { CHUNK, CHUNK };
        struct dx_download d = download_of(f);
        struct dx_error err = DX_ERROR_INIT;

        (void)signal(SIGXFSZ, SIG_IGN);
        _exit(setrlimit(RLIMIT_FSIZE, &limit) == 0 && dx_download_run(&d, path, &err) == DX_E_IO &&
                      strstr(err.text, path) != NULL
                  ? 0
                  : 1);
    }
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0, "no room: %d", status);
    dx_fake_source_free(&f);
}

int main(void)
{
    char dir[] = "/tmp/domaindex-test-XXXXXX";

    if (mkdtemp(dir) == NULL)
        return 1;
    (void)snprintf(path, sizeof path, "%s/file", dir);
    check_sizes();
    check_resume();
    check_longer_file();
    check_stores();
    check_pins();
    check_no_room();
    (void)dx_dir_remove(dir, NULL);
    return failures > 0;
}
