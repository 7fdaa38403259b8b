/* SPDX-License-Identifier: Apache-2.0
 * Stores: what a directory does. S3 is tried by tests/e2e/store_s3.py, which drives this program:
 *
 *   test_store ROOT [name=value...] < commands              fields by TAB
 *     put OBJECT absent|any|ETAG HEX|@PATH [parts] [may=N]
 *                                               ok MS ETAG | error MS CODE TEXT
 *     list PREFIX                               item NAME SIZE ETAG, for each; ok MS COUNT | error...
 *     remove OBJECT                             ok MS | error...
 *     probe                                     ok MS | error...
 */
#include "base/file.h"
#include "fetch/source_open.h"
#include "fetch/store/store.h"
#include "tests/support/damage.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned failures;

/* ------------------------------------------------------------------------------ the driver */

static void from_hex(const char *text, struct dx_buf *out)
{
    for (; text[0] != '\0' && text[1] != '\0'; text += 2) {
        unsigned byte = 0;

        (void)sscanf(text, "%2x", &byte);
        dx_buf_u8(out, (uint8_t)byte);
    }
}

/* Allows so many attempts, then says that the claim is lost. */
static int may(void *ctx, struct dx_error *err)
{
    unsigned *left = ctx;

    return (*left)-- > 0 ? DX_OK : dx_fail(err, DX_E_BUSY, "the claim is lost");
}

static int drive_put(struct dx_store *store, char **field, char etag[DX_SOURCE_ETAG],
                     struct dx_error *err)
{
    struct dx_buf bytes = DX_BUF_INIT(64u << 20);
    struct dx_put put = { .object = field[1] };
    const char *may_text = field[4] == NULL ? NULL : strstr(field[4], "may=");
    unsigned allowed = 0;
    int rc;

    put.in_parts = field[4] != NULL && strstr(field[4], "parts") != NULL;
    if (may_text != NULL) {
        allowed = (unsigned)strtoul(may_text + 4, NULL, 10);
        put.may = may;
        put.may_ctx = &allowed;
    }
    if (strcmp(field[2], "absent") == 0)
        put.if_absent = true;
    else if (strcmp(field[2], "any") != 0)
        put.if_match = field[2];
    if (field[3][0] == '@')
        put.path = field[3] + 1;
    else
        from_hex(field[3], &bytes);
    put.bytes = dx_span_of(bytes.data, bytes.size);
    rc = dx_store_put(store, &put, etag, err);
    dx_buf_release(&bytes);
    return rc;
}

static int print_item(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    (void)err;
    (*(size_t *)ctx)++;
    (void)printf("item\t%s\t%llu\t%s\n", listed->object, (unsigned long long)listed->size,
                 listed->etag);
    return DX_OK;
}

static void drive_one(struct dx_store *store, char *line)
{
    char *field[5] = { line, NULL, NULL, NULL, NULL };
    char etag[DX_SOURCE_ETAG] = "";
    char count_text[32] = "";
    struct dx_error err = DX_ERROR_INIT;
    uint64_t before = dx_clock_ms();
    size_t count = 0;
    int rc = DX_E_INVALID;

    for (size_t i = 1; i < 5; i++) {
        field[i] = field[i - 1] == NULL ? NULL : strchr(field[i - 1], '\t');
        if (field[i] != NULL)
            *field[i]++ = '\0';
    }
    if (strcmp(line, "put") == 0 && field[3] != NULL)
        rc = drive_put(store, field, etag, &err);
    else if (strcmp(line, "list") == 0 && field[1] != NULL) {
        rc = dx_store_list(store, field[1], print_item, &count, &err);
        (void)snprintf(count_text, sizeof count_text, "%zu", count);
    } else if (strcmp(line, "remove") == 0 && field[1] != NULL)
        rc = dx_store_remove(store, field[1], &err);
    else if (strcmp(line, "probe") == 0)
        rc = dx_store_probe(store, &err);
    if (rc < 0)
        (void)printf("error\t%llu\t%s\t%s\n", (unsigned long long)(dx_clock_ms() - before),
                     dx_code_name((enum dx_code)rc), err.text);
    else
        (void)printf("ok\t%llu\t%s%s\n", (unsigned long long)(dx_clock_ms() - before), etag,
                     count_text);
    (void)fflush(stdout);
}

static bool set_option(struct dx_source_options *options, char *argument)
{
    char *value = strchr(argument, '=');
    const struct {
        const char *name;
        unsigned *number;
    } numbers[] = { { "connect_ms", &options->connect_ms },
                    { "first_byte_ms", &options->first_byte_ms },
                    { "stall_ms", &options->stall_ms },
                    { "deadline_ms", &options->deadline_ms },
                    { "attempts_max", &options->attempts_max } };

    if (value == NULL)
        return false;
    *value++ = '\0';
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(argument, numbers[i].name) == 0) {
            *numbers[i].number = (unsigned)strtoul(value, NULL, 10);
            return true;
        }
    if (strcmp(argument, "ca_file") == 0)
        options->ca_file = value;
    else if (strcmp(argument, "endpoint") == 0)
        options->s3_endpoint = value;
    else
        return false;
    return true;
}

static int drive(int argc, char **argv)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_store *store;
    char *line = NULL;
    size_t room = 0;
    ssize_t n;

    for (int i = 2; i < argc; i++)
        if (!set_option(&options, argv[i])) {
            (void)fprintf(stderr, "%s: no such option\n", argv[i]);
            return 2;
        }
    if (dx_store_open(&store, argv[1], &options, &err) < 0) {
        (void)printf("error\t0\t%s\t%s\n", dx_code_name(err.code), err.text);
        return 0;
    }
    (void)printf("ok\t0\n");
    (void)fflush(stdout);
    while ((n = getline(&line, &room, stdin)) > 0) {
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        drive_one(store, line);
    }
    free(line);
    dx_store_close(&store);
    return 0;
}

/* --------------------------------------------------------------------------- a directory */

static char root[] =
    "/tmp/dx-store-XXXXXX"; /* ingest of a file store tidies up /tmp/domaindex-store-* */
static struct dx_store *store;
static struct dx_source *source;

static char *path_in_root(const char *object)
{
    static char path[4096];

    (void)snprintf(path, sizeof path, "%s/%s", root, object);
    return path;
}

static int put_text(const char *object, const char *text, bool if_absent, const char *if_match,
                    char etag[DX_SOURCE_ETAG])
{
    const struct dx_put put = {
        .object = object, .bytes = dx_span_str(text), .if_absent = if_absent, .if_match = if_match
    };
    struct dx_error err = DX_ERROR_INIT;
    int rc = dx_store_put(store, &put, etag, &err);

    EXPECT(rc == DX_OK || err.text[0] != '\0', "%s: an error without words", object);
    return rc;
}

static bool holds(const char *object, const char *text, const char *etag)
{
    struct dx_buf b = DX_BUF_INIT(1 << 20);
    struct dx_get get = { .object = object, .cap = 1 << 20 };
    struct dx_error err = DX_ERROR_INIT;
    char seen[DX_SOURCE_ETAG];
    bool same = dx_source_get(source, &get, &b, seen, &err) == 1 &&
                dx_span_equal(dx_span_of(b.data, b.size), dx_span_str(text)) &&
                (etag == NULL || strcmp(seen, etag) == 0);

    dx_buf_release(&b);
    return same;
}

static void check_conditions(void)
{
    char first[DX_SOURCE_ETAG];
    char second[DX_SOURCE_ETAG];
    char none[DX_SOURCE_ETAG];

    EXPECT(put_text("index/manifest.json", "one", true, NULL, first) == DX_OK, "free");
    EXPECT(holds("index/manifest.json", "one", first), "the ETag is the one of the source");
    EXPECT(put_text("index/manifest.json", "two", true, NULL, none) == DX_E_EXISTS, "taken");
    EXPECT(holds("index/manifest.json", "one", first), "it stays");
    EXPECT(put_text("index/manifest.json", "two", false, first, second) == DX_OK, "matches");
    EXPECT(strcmp(first, second) != 0 && holds("index/manifest.json", "two", second), "replaced");
    EXPECT(put_text("index/manifest.json", "six", false, first, none) == DX_E_CONFLICT, "old");
    EXPECT(put_text("index/nothing", "six", false, first, none) == DX_E_CONFLICT, "nothing");
    EXPECT(put_text("index/manifest.json", "any", false, NULL, none) == DX_OK, "unconditional");
    EXPECT(holds("index/manifest.json", "any", none), "its ETag");
    EXPECT(put_text("a/b/c/d", "", true, NULL, none) == DX_OK && holds("a/b/c/d", "", none),
           "an empty object, and folders");
    EXPECT(put_text("a/b/c", "x", false, NULL, none) < 0, "a folder is no object");
    EXPECT(put_text("../x", "x", false, NULL, none) == DX_E_INVALID, "outside");
    EXPECT(put_text("x", "x", true, first, none) == DX_E_INVALID, "both conditions");
    EXPECT(put_text("x", "x", false, "W/\"1\"", none) == DX_E_INVALID, "a weak ETag");
}

/* What replaces an object has its rights: check_rights of test_file.c says why. */
static void check_rights(void)
{
    char etag[DX_SOURCE_ETAG];
    char next[DX_SOURCE_ETAG];
    mode_t mask = umask(0077);
    struct stat st;

    EXPECT(put_text("rights", "one", true, NULL, etag) == DX_OK, "put");
    EXPECT(chmod(path_in_root("rights"), 0644) == 0, "chmod");
    EXPECT(put_text("rights", "two", false, NULL, etag) == DX_OK &&
               put_text("rights", "three", false, etag, next) == DX_OK,
           "put");
    EXPECT(stat(path_in_root("rights"), &st) == 0 && (st.st_mode & 0777) == 0644, "mode %o",
           (unsigned)st.st_mode & 0777);
    (void)umask(mask);
    EXPECT(unlink(path_in_root("rights")) == 0, "unlink");
}

static void check_may(void)
{
    unsigned allowed = 1;
    struct dx_put put = { .object = "may/x",
                          .bytes = dx_span_str("one"),
                          .in_parts = true,
                          .may = may,
                          .may_ctx = &allowed };
    struct dx_error err = DX_ERROR_INIT;
    char etag[DX_SOURCE_ETAG];

    EXPECT(dx_store_put(store, &put, etag, &err) == DX_OK, "%s", err.text);
    put.bytes = dx_span_str("two");
    EXPECT(dx_store_put(store, &put, etag, &err) == DX_E_BUSY &&
               strcmp(err.text, "the claim is lost") == 0 && holds("may/x", "one", NULL),
           "%s", err.text);
    EXPECT(dx_store_remove(store, "may/x", &err) == DX_OK, "%s", err.text);
}

static void check_files(void)
{
    struct dx_error err = DX_ERROR_INIT;
    char etag[DX_SOURCE_ETAG];
    char *big = malloc(3000001);
    char from[4200];
    struct dx_put put = { .object = "files/big", .path = from, .if_absent = true };

    if (big == NULL)
        abort();
    for (size_t i = 0; i < 3000000; i++)
        big[i] = (char)('a' + i % 23);
    big[3000000] = '\0';
    (void)snprintf(from, sizeof from, "%s", path_in_root("a/from"));
    (void)dx_file_replace(from, dx_span_str(big), &err);
    EXPECT(dx_store_put(store, &put, etag, &err) == DX_OK, "%s", err.text);
    {
        struct dx_buf b = DX_BUF_INIT(4u << 20);

        EXPECT(dx_file_read(path_in_root("files/big"), 4u << 20, &b, &err) == DX_OK &&
                   dx_span_equal(dx_span_of(b.data, b.size), dx_span_str(big)),
               "%s", err.text);
        dx_buf_release(&b);
    }
    EXPECT(dx_store_put(store, &put, etag, &err) == DX_E_EXISTS, "%s", err.text);
    put.object = "files/other";
    put.path = path_in_root("no/such");
    EXPECT(dx_store_put(store, &put, etag, &err) == DX_E_NOT_FOUND, "%s", err.text);
    put.path = "/dev/null";
    EXPECT(dx_store_put(store, &put, etag, &err) == DX_E_INVALID, "%s", err.text);
    EXPECT(access(path_in_root("files/other"), F_OK) < 0, "nothing of a put that failed");
    free(big);
}

struct names {
    char text[65536];
    size_t count;
    int stop_at;
};

static int keep_name(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct names *names = ctx;

    names->count++;
    if (names->stop_at > 0 && (int)names->count == names->stop_at)
        return dx_fail(err, DX_E_LIMIT, "enough");
    (void)strncat(names->text, listed->object, sizeof names->text - strlen(names->text) - 1);
    (void)strncat(names->text, " ", sizeof names->text - strlen(names->text) - 1);
    EXPECT(listed->etag[0] == '"', "%s has an ETag", listed->object);
    return 1; /* only what is negative ends it */
}

/* Instead of the C library's: a disk that fails after some entries. */
static int readable = INT_MAX;

struct dirent *readdir(DIR *dir)
{
    static struct dirent *(*next)(DIR *);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "readdir");
    if (readable == INT_MAX || readable-- > 0)
        return next(dir);
    errno = EIO;
    return NULL;
}

/* Names that could not be read are not taken for none. */
static void check_unreadable(void)
{
    for (int entries = 0; entries < 4; entries++) {
        struct names names = { .count = 0 };
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        readable = entries;
        rc = dx_store_list(store, "", keep_name, &names, &err);
        readable = INT_MAX;
        EXPECT(rc == DX_E_IO && strstr(err.text, "cannot read folder") != NULL,
               "after %d entries: %d, %zu names, %s", entries, rc, names.count, err.text);
    }
}

static void check_list_one(const char *prefix, int want, const char *text)
{
    static struct names names;
    struct dx_error err = DX_ERROR_INIT;
    int rc;

    memset(&names, 0, sizeof names);
    rc = dx_store_list(store, prefix, keep_name, &names, &err);
    EXPECT(rc == want, "'%s': %d %s", prefix, rc, err.text);
    EXPECT(rc < 0 || strcmp(names.text, text) == 0, "'%s': %s", prefix, names.text);
}

static void check_list(void)
{
    /* The order of whole names: '-' and '.' come before '/', letters after. */
    static const char *const objects[] = { "l/a/z", "l/a-b", "l/a.b", "l/a/0", "l/ab", "l/a/m/n" };
    static struct names names = { .stop_at = 3 };
    struct dx_error err = DX_ERROR_INIT;
    char etag[DX_SOURCE_ETAG];

    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
        EXPECT(put_text(objects[i], "x", true, NULL, etag) == DX_OK, "%s", objects[i]);
    (void)dx_file_replace(path_in_root("l/.tmp-0123"), dx_span_str("x"), &err);
    (void)dx_file_replace(path_in_root("l/a.tmp-123"), dx_span_str("x"), &err);
    (void)dx_dir_make(path_in_root("l/.tmp-77"), &err);
    (void)dx_file_replace(path_in_root("l/.tmp-77/x"), dx_span_str("x"), &err);
    (void)dx_file_replace(path_in_root("l/b.tmp-x"), dx_span_str("x"), &err);
    check_list_one("l/", DX_OK, "l/a-b l/a.b l/a/0 l/a/m/n l/a/z l/ab l/b.tmp-x ");
    check_list_one("l/a/", DX_OK, "l/a/0 l/a/m/n l/a/z ");
    check_list_one("none/", DX_OK, "");
    check_list_one("l", DX_E_INVALID, "");
    check_list_one("l/../", DX_E_INVALID, "");
    check_list_one("/", DX_E_INVALID, "");
    EXPECT(dx_store_list(store, "l/", keep_name, &names, &err) == DX_E_LIMIT && names.count == 3,
           "each ends it: %s", err.text);
    EXPECT(symlink("/etc", path_in_root("l/link")) == 0, "symlink");
    check_list_one("l/", DX_E_INVALID, "");
    check_list_one("l/link/", DX_E_IO, "");
    (void)unlink(path_in_root("l/link"));
    (void)dx_file_replace(path_in_root("l/a b"), dx_span_str("x"), &err);
    check_list_one("l/", DX_E_INVALID, "");
    (void)unlink(path_in_root("l/a b"));
    EXPECT(dx_store_remove(store, "l/a/m/n", &err) == DX_OK, "%s", err.text);
    EXPECT(dx_store_remove(store, "l/a/m/n", &err) == DX_OK, "again: %s", err.text);
    EXPECT(dx_store_remove(store, "none/at/all", &err) == DX_OK, "absent: %s", err.text);
    EXPECT(dx_store_remove(store, "l/a", &err) < 0, "a folder is not removed");
    check_list_one("l/a/", DX_OK, "l/a/0 l/a/z ");
    check_list_one("", DX_OK, "l/a-b l/a.b l/a/0 l/a/z l/ab l/b.tmp-x ");
}

static pthread_barrier_t both;

static void *race(void *arg)
{
    char etag[DX_SOURCE_ETAG];
    char object[32];
    unsigned won = 0;

    for (int i = 0; i < 200; i++) {
        (void)snprintf(object, sizeof object, "race/%d", i);
        (void)pthread_barrier_wait(&both);
        won += put_text(object, arg, true, NULL, etag) == DX_OK;
    }
    return (void *)(uintptr_t)won;
}

static void check_race(void)
{
    pthread_t thread;
    void *other;
    uintptr_t won;

    (void)pthread_barrier_init(&both, NULL, 2);
    if (pthread_create(&thread, NULL, race, "a") != 0)
        abort();
    won = (uintptr_t)race("b");
    (void)pthread_join(thread, &other);
    EXPECT(won + (uintptr_t)other == 200, "%zu and %zu of 200 won", (size_t)won,
           (size_t)(uintptr_t)other);
    (void)pthread_barrier_destroy(&both);
}

static void check_open(void)
{
    static const struct {
        const char *root;
        enum dx_code want;
    } rows[] = { { "http://h/x", DX_E_UNSUPPORTED },
                 { "https://h/x", DX_E_UNSUPPORTED },
                 { "ftp://h/x", DX_E_INVALID },
                 { "s4://h/x", DX_E_INVALID },
                 { "", DX_E_INVALID },
                 { "/proc/nothing", DX_E_NOT_FOUND } };
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_error err = DX_ERROR_INIT;
        struct dx_store *none = NULL;
        int rc = dx_store_open(&none, rows[i].root, &options, &err);

        EXPECT(rc == (int)rows[i].want && none == NULL, "%s: %d %s", rows[i].root, rc, err.text);
    }
}

int main(int argc, char **argv)
{
    struct dx_source_options options = DX_SOURCE_OPTIONS_INIT;
    struct dx_error err = DX_ERROR_INIT;

    if (argc > 1)
        return drive(argc, argv);
    if (mkdtemp(root) == NULL || dx_store_open(&store, root, &options, &err) < 0 ||
        dx_source_open(&source, root, &options, &err) < 0)
        abort();
    check_conditions();
    check_rights();
    check_may();
    check_files();
    check_race();
    (void)dx_dir_remove(path_in_root("race"), &err);
    (void)dx_dir_remove(path_in_root("may"), &err);
    (void)dx_dir_remove(path_in_root("a"), &err);
    (void)dx_dir_remove(path_in_root("files"), &err);
    (void)dx_dir_remove(path_in_root("index"), &err);
    EXPECT(dx_store_probe(store, &err) == DX_OK, "a directory keeps conditions: %s", err.text);
    check_list();
    check_unreadable();
    check_open();
    dx_source_close(&source);
    dx_store_close(&store);
    (void)dx_dir_remove(root, &err);
    return failures > 0;
}
