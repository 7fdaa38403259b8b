/* SPDX-License-Identifier: Apache-2.0
 * test_tags_damage.c - questions about tags, asked of a tags.dxt each byte of which is another one:
 * with checksums each answer is the true one or an error; where they are believed no byte may lead
 * out of what is mapped (for the sanitizers to say).
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/answers/task.h"
#include "query/rows/cursor.h"
#include "query/view/view.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#define DOMAINS 12
#define DATASETS 3
#define QUESTIONS 6
#define BODY_MAX (1u << 20)

enum { SAME, REFUSED, OTHER, VERDICTS };

struct bench {
    struct dx_test_root root;
    struct dx_version_options options;
    struct dx_cursor_key key;
    struct dx_buf truth[QUESTIONS];
    struct dx_buf body;
};

static const char *tags_of(unsigned i, unsigned dataset, unsigned row)
{
    static const char *const some[] = { "[\"all\"]", "[\"all\",\"b\"]", "[\"b\",\"c d\"]", "[]" };

    return some[(i + dataset + row) % 4];
}

static uint64_t limit = 100; /* of tags; 1: nothing else is asked for */

static int ask(struct bench *b, struct dx_version *v, struct dx_canon *canon, unsigned question,
               struct dx_problem *problem)
{
    static const char *const of[] = { "all", "b", "c d" };
    struct dx_task *task = NULL;
    int rc;

    dx_buf_clear(&b->body);
    if (question == 0) {
        const struct dx_tags_ask tags = { .limit = limit,
                                          .paging.cursors = &b->key,
                                          .paging.principal = "" };

        rc = dx_task_tags(DX_VIEW_ALL(v), canon, &tags, &task, &b->body, problem);
    } else {
        const struct dx_tag_ask tag = { .tag = dx_span_str(of[question / 2]),
                                        .urls = question % 2 == 0,
                                        .limit = 1000,
                                        .fields = DX_FIELDS_DEFAULT,
                                        .paging.principal = "" };

        rc = dx_task_tag(DX_VIEW_ALL(v), canon, &tag, &task, NULL, &b->body, problem);
    }
    return dx_task_finish(&task, rc, &b->body, problem);
}

static unsigned ask_all(struct bench *b, struct dx_version *v, struct dx_canon *canon, bool record)
{
    unsigned worst = SAME;

    for (unsigned i = 0; i < (limit == 1 ? 1 : QUESTIONS); i++) {
        struct dx_problem problem;
        int rc = ask(b, v, canon, i, &problem);
        unsigned got = rc < 0 ? REFUSED
                       : rc == 1 && b->body.size == b->truth[i].size &&
                               memcmp(b->body.data, b->truth[i].data, b->body.size) == 0
                           ? SAME
                           : OTHER;

        if (record) {
            dx_buf_clear(&b->truth[i]);
            dx_buf_append(&b->truth[i], b->body.data, b->body.size);
            got = rc == 1 ? SAME : OTHER;
        }
        worst = got > worst ? got : worst;
    }
    return worst;
}

/* With caches of its own: nothing is left from before. */
static unsigned attempt(struct bench *b, bool record)
{
    struct dx_caches *caches = NULL;
    struct dx_version *v = NULL;
    struct dx_canon *canon = NULL;
    struct dx_error err = DX_ERROR_INIT;
    unsigned got = REFUSED;
    int rc = dx_caches_new(&caches, &b->options, &err);

    if (rc == DX_OK)
        rc = dx_version_open_named(&v, b->root.path, NULL, caches, &b->options, &err);
    if (rc == DX_OK)
        rc = dx_version_canon_new(v, &canon, &err);
    if (rc == DX_OK)
        got = ask_all(b, v, canon, record);
    dx_canon_free(&canon);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    return got;
}

/* The name behind those of a page cannot be a tag's. It is read for the cursor: the page is refused, and not empty. */
static bool check_next_tag(struct bench *b)
{
    static const char sound[] = "allbc d"; /* the names as they stand in the file */
    struct dx_buf file = DX_BUF_INIT(BODY_MAX);
    struct dx_error err = DX_ERROR_INIT;
    char path[PATH_MAX];
    uint8_t *names;
    bool ok = false;

    (void)snprintf(path, sizeof path, "%s/index/%s/" DX_FILE_TAGS, b->root.path, b->root.version);
    if (dx_file_read(path, BODY_MAX, &file, &err) < 0)
        return false;
    names = memmem(file.data, file.size, sound, strlen(sound));
    b->options.open_flags = DX_OPEN_UNCHECKED;
    limit = 1;
    if (names != NULL) {
        names[strlen("allbc")] = 1;
        ok = dx_file_replace(path, dx_span_of(file.data, file.size), &err) == DX_OK &&
             attempt(b, false) == REFUSED;
        names[strlen("allbc")] = ' ';
        ok = dx_file_replace(path, dx_span_of(file.data, file.size), &err) == DX_OK && ok &&
             attempt(b, false) == OTHER; /* two tags less */
    }
    b->options.open_flags = 0;
    limit = 100;
    dx_buf_release(&file);
    return ok;
}

static bool damage(struct bench *b, unsigned flags, unsigned verdicts[VERDICTS])
{
    static const uint8_t changes[] = { 0x01, 0x80, 0xff };
    char path[PATH_MAX];
    off_t size;
    int fd;

    (void)snprintf(path, sizeof path, "%s/index/%s/" DX_FILE_TAGS, b->root.path, b->root.version);
    fd = open(path, O_RDWR | O_CLOEXEC);
    size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    b->options.open_flags = flags;
    for (off_t at = 0; at < size; at += (off_t)dx_sample(1, 11)) {
        uint8_t byte;

        if (pread(fd, &byte, 1, at) != 1)
            abort();
        for (size_t i = 0; i < sizeof changes; i++) {
            uint8_t damaged = byte ^ changes[i];

            if (pwrite(fd, &damaged, 1, at) != 1)
                abort();
            verdicts[attempt(b, false)]++;
        }
        if (pwrite(fd, &byte, 1, at) != 1)
            abort();
    }
    if (fd >= 0)
        (void)close(fd);
    printf("%s: %lld bytes: same %u, refused %u, other %u\n", flags == 0 ? "checked" : "believed",
           (long long)size, verdicts[SAME], verdicts[REFUSED], verdicts[OTHER]);
    b->options.open_flags = 0;
    return size > 0 && attempt(b, false) == SAME;
}

int main(void)
{
    struct bench b = { .options = DX_VERSION_OPTIONS_DEFAULT, .key = DX_CURSOR_KEY_INIT };
    unsigned checked[VERDICTS] = { 0 };
    unsigned believed[VERDICTS] = { 0 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_test_shape shape;
    bool ok;

    dx_test_root_usual(&shape);
    shape.tags = tags_of;
    dx_test_root_make_of(&b.root, DOMAINS, DATASETS, &shape);
    dx_buf_init(&b.body, BODY_MAX);
    for (unsigned i = 0; i < QUESTIONS; i++)
        dx_buf_init(&b.truth[i], BODY_MAX);
    ok = dx_cursor_key_random(&b.key, &err) == DX_OK && attempt(&b, true) == SAME &&
         attempt(&b, false) == SAME;
    ok = ok && check_next_tag(&b);
    ok = ok && damage(&b, 0, checked) && damage(&b, DX_OPEN_UNCHECKED, believed);
    ok = ok && checked[OTHER] == 0 && checked[REFUSED] > 0 && believed[REFUSED] > 0;
    dx_test_root_remove(&b.root);
    for (unsigned i = 0; i < QUESTIONS; i++)
        dx_buf_release(&b.truth[i]);
    dx_buf_release(&b.body);
    if (!ok)
        fprintf(stderr, "answers that are not those of the rows, or none at all\n");
    return ok ? 0 : 1;
}
