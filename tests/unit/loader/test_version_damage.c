/* SPDX-License-Identifier: Apache-2.0
 * Every single bit and every truncation of every file of a small version, and of one of its
 * lake files: all answers are the true ones or refusals. Then the same bits with
 * checksums believed, where answers may be wrong but nothing may crash (for sanitizers).
 *
 * DX_DAMAGE_STEP=n takes every n-th bit only of the first, DX_BELIEVED_STEP=n of the second; the
 * full run is the default.
 */
#include "base/file.h"
#include "base/map.h"
#include "loader/cold_walk.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/view/view.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DOMAINS 7
#define DATASETS 3
#define STRANGERS 20
#define CHILDREN 2
#define BODY_MAX (1u << 20)

struct bench {
    struct dx_test_root root;
    struct dx_version_options options;
    struct dx_buf truth; /* all answers of the undamaged version, one behind the other */
    struct dx_buf body;
    bool checked;
};

/* One answer against its place in the truth (or into it, while that is made). */
static enum verdict take(struct bench *b, int rc, size_t *at, bool record)
{
    uint32_t size;

    if (record) {
        dx_buf_u32(&b->truth, rc == 1 ? (uint32_t)b->body.size : UINT32_MAX);
        dx_buf_append(&b->truth, b->body.data, rc == 1 ? b->body.size : 0);
        return SAME_ANSWERS;
    }
    size = dx_load_u32(b->truth.data + *at);
    *at += 4;
    if (size == UINT32_MAX)
        return rc == 0 ? SAME_ANSWERS : rc < 0 ? REFUSED : WRONG_ANSWER;
    *at += size;
    if (rc < 0)
        return REFUSED;
    if (rc == 1 && b->body.size == size &&
        memcmp(b->truth.data + *at - size, b->body.data, size) == 0)
        return SAME_ANSWERS;
    return WRONG_ANSWER;
}

/* Cold files whole, as answers about hosts, paths and URLs take their pages. */
static int ask_cold(struct bench *b, struct dx_version *v, enum dx_cold_file file)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_cold_walk w;
    int rc = dx_cold_walk_begin(&w, dx_version_own(v), file, &err);

    dx_buf_clear(&b->body);
    while (rc >= 0 && (rc = dx_cold_walk_next(&w, &err)) == 1)
        dx_buf_append(&b->body, w.plain.data, w.plain.size);
    dx_cold_walk_close(&w);
    return rc < 0 ? rc : 1;
}

static int ask_ranking(struct bench *b, struct dx_version *v, uint32_t dataset_id)
{
    struct dx_domain_count top[DOMAINS];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_domain_list list;
    int rc = dx_dataset_domains_of(&dx_version_own(v)->dataset_domains, dataset_id, &list, &err);

    dx_buf_clear(&b->body);
    if (rc == 1 && list.domains <= DOMAINS)
        rc = dx_dataset_domains_top(&dx_version_own(v)->dataset_domains, &list, 0,
                                    (size_t)list.domains, top, &err);
    else if (rc == 1)
        rc = DX_E_CORRUPT;
    if (rc < 0)
        return rc;
    for (uint64_t i = 0; i < list.domains; i++) {
        uint64_t rank;

        rc = dx_dataset_domains_rank(&dx_version_own(v)->dataset_domains, &list, top[i].url_count,
                                     &rank, &err);
        if (rc < 0)
            return rc;
        dx_buf_fmt(&b->body, "%llu %llu %llu\n", (unsigned long long)top[i].ordinal,
                   (unsigned long long)top[i].url_count, (unsigned long long)rank);
    }
    return 1;
}

static enum verdict ask_more(struct bench *b, struct dx_version *v, size_t *at, bool record)
{
    enum verdict worst = SAME_ANSWERS;

    for (unsigned i = 0; i < DX_COLD_FILES + DATASETS; i++) {
        enum verdict got = take(b,
                                i < DX_COLD_FILES ? ask_cold(b, v, (enum dx_cold_file)i)
                                                  : ask_ranking(b, v, i - DX_COLD_FILES + 1),
                                at, record);

        if (got == WRONG_ANSWER || (got == REFUSED && worst == SAME_ANSWERS))
            worst = got;
    }
    return worst;
}

static enum verdict ask_all(struct bench *b, struct dx_version *v, struct dx_canon *canon,
                            bool record)
{
    enum verdict worst = SAME_ANSWERS;
    struct dx_problem problem;
    char name[64];
    size_t at = 0;

    for (unsigned i = 0; i < DOMAINS + STRANGERS; i++) {
        enum verdict got;

        if (i < DOMAINS)
            dx_test_root_domain(i, name);
        else
            (void)snprintf(name, sizeof name, "stranger%u.com", i);
        dx_buf_clear(&b->body);
        got = take(b,
                   dx_answer_domain(DX_VIEW_ALL(v), canon, dx_span_str(name), DX_DOMAIN_FIELDS_ALL,
                                    &b->body, &problem),
                   &at, record);
        if (got == WRONG_ANSWER || (got == REFUSED && worst == SAME_ANSWERS))
            worst = got;
        for (unsigned d = 1; i < DOMAINS && d <= DATASETS; d++) {
            dx_buf_clear(&b->body);
            got = take(b,
                       dx_answer_urls(DX_VIEW_ALL(v), canon, dx_span_str(name), d,
                                      (struct dx_page_of){ 0, 99 },
                                      DX_FIELDS_DEFAULT | DX_FIELD_RAW_URL, &b->body, &problem),
                       &at, record);
            if (got == WRONG_ANSWER || (got == REFUSED && worst == SAME_ANSWERS))
                worst = got;
        }
    }
    enum verdict more = ask_more(b, v, &at, record);
    if (more == WRONG_ANSWER || (more == REFUSED && worst == SAME_ANSWERS))
        worst = more;
    dx_buf_clear(&b->body);
    enum verdict got = take(
        b, dx_answer_datasets(DX_VIEW_ALL(v), (struct dx_page_of){ 0, 99 }, &b->body, &problem),
        &at, record);
    return got == WRONG_ANSWER ? got : worst;
}

/* Opens and asks everything, with caches of its own: nothing good is left from before. */
static enum verdict attempt(struct bench *b, bool record)
{
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;
    struct dx_canon *canon = NULL;
    struct dx_error err = DX_ERROR_INIT;
    enum verdict got = REFUSED;
    int rc = dx_caches_new(&caches, &b->options, &err);

    if (rc == DX_OK)
        rc = dx_version_open_named(&v, b->root.path, NULL, caches, &b->options, &err);
    if (rc == DX_OK)
        rc = dx_version_canon_new(v, &canon, &err);
    if (rc == DX_OK)
        got = ask_all(b, v, canon, record);
    else if (err.text[0] == '\0') {
        fprintf(stderr, "refused without words\n");
        got = WRONG_ANSWER;
    }
    dx_canon_free(&canon);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    return got;
}

static void flip(struct bench *b, int fd, const char *path, uint64_t size, uint64_t begin,
                 uint64_t step, struct verdicts *count)
{
    for (uint64_t bit = begin; bit < size * 8; bit += step) {
        uint8_t byte;
        uint8_t damaged;
        enum verdict got;

        if (pread(fd, &byte, 1, (off_t)(bit / 8)) != 1)
            abort();
        damaged = (uint8_t)(byte ^ 1u << (bit & 7));
        if (pwrite(fd, &damaged, 1, (off_t)(bit / 8)) != 1)
            abort();
        got = attempt(b, false);
        if (pwrite(fd, &byte, 1, (off_t)(bit / 8)) != 1)
            abort();
        if (got == WRONG_ANSWER && b->checked)
            fprintf(stderr, "wrong answer: %s byte %llu bit %llu\n", path,
                    (unsigned long long)bit / 8, (unsigned long long)bit & 7);
        count->count[got]++;
    }
}

static void cut(struct bench *b, const char *path, struct dx_span bytes, uint64_t begin,
                uint64_t step, struct verdicts *count)
{
    for (uint64_t n = begin; n < bytes.size; n += step) {
        enum verdict got;

        if (truncate(path, (off_t)n) != 0)
            abort();
        got = attempt(b, false);
        if (got != REFUSED && b->checked)
            fprintf(stderr, "%s cut to %llu of %zu bytes: not refused\n", path,
                    (unsigned long long)n, bytes.size);
        count->count[got]++;
    }
    int fd = open(path, O_WRONLY | O_TRUNC);
    if (fd < 0 || write(fd, bytes.data, bytes.size) != (ssize_t)bytes.size)
        abort();
    (void)close(fd);
}

/* The share of one child: every CHILDREN-th bit. */
static bool damage_file(struct bench *b, const char *path, uint64_t begin, uint64_t step)
{
    struct verdicts flips = { { 0, 0, 0 }, 0 };
    struct verdicts cuts = { { 0, 0, 0 }, 0 };
    struct dx_buf bytes = DX_BUF_INIT(64u << 20);
    struct dx_error err = DX_ERROR_INIT;
    int fd;

    if (dx_file_read(path, bytes.max, &bytes, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    fd = open(path, O_RDWR);
    if (fd < 0)
        abort();
    flip(b, fd, path, bytes.size, begin, step, &flips);
    (void)close(fd);
    if (b->checked)
        cut(b, path, dx_span_of(bytes.data, bytes.size), begin, step, &cuts);
    if (begin == 0)
        printf("%s: %zu bytes; of %zu flips %zu refused, %zu without effect\n",
               strrchr(path, '/') + 1, bytes.size, flips.count[0] + flips.count[1] + flips.count[2],
               flips.count[REFUSED], flips.count[SAME_ANSWERS]);
    dx_buf_release(&bytes);
    return !b->checked || (flips.count[WRONG_ANSWER] == 0 && cuts.count[WRONG_ANSWER] == 0 &&
                           cuts.count[SAME_ANSWERS] == 0);
}

static bool by_range(const char *name)
{
    return strcmp(name, DX_FILE_POSTINGS_IDX) == 0 || strcmp(name, DX_FILE_POSTINGS_DAT) == 0 ||
           strcmp(name, DX_FILE_FACTS) == 0 || strcmp(name, DX_FILE_SKETCHES) == 0 ||
           strcmp(name, DX_FILE_URL_IDS) == 0;
}

/* Files that answers are made of; files.tsv is for people and `verify`. */
static bool damage_all(struct bench *b, unsigned number, uint64_t every)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_manifest_version *v;
    char path[256];
    bool ok = true;

    if (dx_version_manifest(b->root.path, &manifest, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    v = dx_manifest_current(&manifest);
    for (size_t i = 0; i < v->file_count; i++) {
        if (strcmp(v->files[i].name, DX_FILE_FILES_TSV) == 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/index/%s/%s", b->root.path, v->version,
                       v->files[i].name);
        /* Bytes of a paged file or the lake that no answer needs may be cut off without harm,
         * but not unseen where the loader compares sizes. */
        bool whole = b->checked;

        if (by_range(v->files[i].name))
            b->checked = false; /* seek tables behind the frames are not read by the server */
        ok = damage_file(b, path, number * every, CHILDREN * every) && ok;
        b->checked = whole;
    }
    dx_manifest_release(&manifest);
    (void)snprintf(path, sizeof path, "%s/index/manifest.json", b->root.path);
    ok = damage_file(b, path, number * every, CHILDREN * every) && ok;
    return ok;
}

/* Paged files and the lake are read by range: a flip gives the truth or a refusal, a cut too. */
static bool damage_ranges(struct bench *b, unsigned number, uint64_t every)
{
    struct dx_manifest manifest = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_manifest_version *v;
    struct verdicts count = { { 0, 0, 0 }, 0 };
    struct dx_buf bytes = DX_BUF_INIT(64u << 20);
    char path[256];

    if (dx_version_manifest(b->root.path, &manifest, &err) < 0)
        return false;
    v = dx_manifest_current(&manifest);
    for (size_t i = 0; i <= v->file_count; i++) {
        if (i < v->file_count && !by_range(v->files[i].name))
            continue;
        if (i < v->file_count)
            (void)snprintf(path, sizeof path, "%s/index/%s/%s", b->root.path, v->version,
                           v->files[i].name);
        else
            (void)snprintf(path, sizeof path,
                           "%s/urls/dataset_id=2/domain_prefix=00-ff/part-00000.parquet",
                           b->root.path);
        dx_buf_clear(&bytes);
        if (dx_file_read(path, bytes.max, &bytes, &err) < 0)
            abort();
        int fd = open(path, O_RDWR);
        if (fd < 0)
            abort();
        flip(b, fd, path, bytes.size, number * every, CHILDREN * every, &count);
        (void)close(fd);
    }
    dx_manifest_release(&manifest);
    dx_buf_release(&bytes);
    if (number == 0)
        printf("files read by range: %zu flips refused, %zu without effect, %zu wrong\n",
               count.count[REFUSED], count.count[SAME_ANSWERS], count.count[WRONG_ANSWER]);
    return count.count[WRONG_ANSWER] == 0;
}

static int child(unsigned number, uint64_t every, bool checked)
{
    struct bench b = { .options = DX_VERSION_OPTIONS_DEFAULT,
                       .truth = DX_BUF_INIT(BODY_MAX),
                       .body = DX_BUF_INIT(BODY_MAX),
                       .checked = checked };
    bool ok;

    dx_test_root_make(&b.root, DOMAINS, DATASETS);
    if (attempt(&b, true) != SAME_ANSWERS || attempt(&b, false) != SAME_ANSWERS) {
        fprintf(stderr, "the undamaged version does not answer\n");
        return 1;
    }
    b.options.open_flags = checked ? 0 : DX_OPEN_UNCHECKED;
    ok = damage_all(&b, number, every);
    if (checked)
        ok = damage_ranges(&b, number, every) && ok;
    if (b.options.open_flags == 0 && attempt(&b, false) != SAME_ANSWERS) {
        fprintf(stderr, "the files were not put back\n");
        ok = false;
    }
    dx_test_root_remove(&b.root);
    dx_buf_release(&b.truth);
    dx_buf_release(&b.body);
    return ok ? 0 : 1;
}

/* CHILDREN processes, each with a root of its own. */
static bool run(uint64_t every, bool checked)
{
    pid_t pids[CHILDREN];
    bool ok = true;

    (void)fflush(stdout);
    for (unsigned i = 0; i < CHILDREN; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            abort();
        if (pids[i] == 0)
            exit(child(i, every, checked));
    }
    for (unsigned i = 0; i < CHILDREN; i++) {
        int status = 1;

        (void)waitpid(pids[i], &status, 0);
        ok = ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return ok;
}

/* How many bits it goes on by. */
static uint64_t step_of(const char *name)
{
    const char *text = getenv(name);
    uint64_t step = text == NULL || atoi(text) < 1 ? 1 : (uint64_t)atoi(text);

    if (step > 1)
        printf("every %llu-th bit only: %s is set\n", (unsigned long long)step, name);
    return step;
}

int main(void)
{
    bool ok = run(step_of("DX_DAMAGE_STEP"), true);

    ok = run(step_of("DX_BELIEVED_STEP"), false) && ok;
    return ok ? 0 : 1;
}
