/* SPDX-License-Identifier: Apache-2.0
 * test_index_tags.c - what publish puts into tags.dxt against a recount of the rows. */
#include "builder/scan/index_tags.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "builder/publish/publish.h"
#include "format/version/manifest.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

#define DOMAINS 300
#define DATASETS 5
#define ROWS_MAX 40000

static int failures;
static struct dx_test_root root;
static struct dx_test_shape shape;

static void must(int rc, const struct dx_error *err, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

/* Which of these a row has; the value says some of them twice, or in other words. */
static const char *const names[] = { "a b", "news", "nur einmal", "\xc3\xa9" };
#define NAMES (sizeof names / sizeof *names)

static unsigned kind_of(unsigned i, unsigned dataset, unsigned row)
{
    return i == 7 && dataset == 1 && row == 0 ? 6 : (i * 31 + dataset * 17 + row * 5) % 6;
}

static const struct {
    const char *value;
    bool has[NAMES];
} kinds[] = {
    { NULL, { false } },
    { "[\"news\"]", { false, true, false, false } },
    { "[\"news\",\"a b\",\"news\"]", { true, true, false, false } },
    { "no list", { false } },
    { "[\"\\u00e9\",\"\"]", { false, false, false, true } },
    { "[\"a b\",\"news\"", { false } },
    { "[\"nur einmal\"]", { false, false, true, false } },
};

static const char *tags_of(unsigned i, unsigned dataset, unsigned row)
{
    return kinds[kind_of(i, dataset, row)].value;
}

static int by_domain(const void *a, const void *b)
{
    char x[64];
    char y[64];

    dx_test_root_domain(*(const unsigned *)a, x);
    dx_test_root_domain(*(const unsigned *)b, y);
    return strcmp(x, y);
}

/* What the file of a dataset says of a tag, by the shape. */
struct wanted {
    uint32_t rows[ROWS_MAX];
    size_t row_count;
    bool domain[DOMAINS];
    size_t domain_count;
    uint64_t unread, unfit;
};

static void recount(unsigned dataset, size_t tag, struct wanted *w)
{
    unsigned order[DOMAINS];
    uint32_t at = 0;

    memset(w, 0, sizeof *w);
    for (unsigned i = 0; i < DOMAINS; i++)
        order[i] = i;
    qsort(order, DOMAINS, sizeof *order, by_domain);
    for (unsigned k = 0; k < DOMAINS; k++)
        for (unsigned row = 0; row < shape.rows(order[k], dataset); row++, at++) {
            unsigned kind = kind_of(order[k], dataset, row);

            w->unread += kind == 3 || kind == 5;
            w->unfit += kind == 4;
            if (!kinds[kind].has[tag])
                continue;
            w->rows[w->row_count++] = at;
            w->domain_count += !w->domain[order[k]];
            w->domain[order[k]] = true;
        }
}

static void check_domains(const struct dx_version *v, const struct dx_dataset_set *set,
                          const struct wanted *w, const char *tag)
{
    struct dx_error err = DX_ERROR_INIT;

    for (unsigned i = 0; i < DOMAINS; i++) {
        char domain[64];
        uint64_t ordinal = 0;
        uint64_t id = 0;
        uint32_t rank;

        dx_test_root_domain(i, domain);
        if (dx_mphf_find(&dx_version_own(v)->mphf, &dx_version_own(v)->dictionary,
                         dx_span_str(domain), &ordinal, &id, &err) != 1)
            EXPECT(!w->domain[i], "%s: %s is not there", tag, domain);
        else
            EXPECT(dx_dataset_set_rank(set, (uint32_t)ordinal, &rank) == w->domain[i], "%s: %s",
                   tag, domain);
    }
}

static void check_file(const struct dx_version *v, size_t tag, struct dx_tag_cursor *c,
                       unsigned dataset)
{
    static struct wanted w;
    static uint32_t ids[ROWS_MAX];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset_set rows;
    struct dx_dataset_set domains;
    struct dx_tag_file f;

    recount(dataset, tag, &w);
    if (w.row_count == 0)
        return;
    must(dx_tag_cursor_next(c, &f, &err), &err, "next");
    must(dx_tag_file_sets(dx_version_own(v)->tags, &f, &rows, &domains, &err), &err, "sets");
    EXPECT(f.file_id == dataset - 1 && f.row_count == w.row_count &&
               f.domain_count == w.domain_count &&
               dx_dataset_set_ids(&rows, ids, ROWS_MAX) == w.row_count &&
               memcmp(ids, w.rows, w.row_count * sizeof *ids) == 0,
           "%s in dataset %u: %u rows of %u domains, not %zu of %zu", names[tag], dataset,
           (unsigned)f.row_count, (unsigned)f.domain_count, w.row_count, w.domain_count);
    check_domains(v, &domains, &w, names[tag]);
}

static void check_version(const struct dx_version *v)
{
    static struct wanted w;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_version_own(v)->tags != NULL && dx_version_own(v)->tags->count == NAMES &&
               dx_version_own(v)->tags->left_count == DATASETS,
           "header");
    if (dx_version_own(v)->tags == NULL)
        return;
    for (size_t i = 0; i < NAMES; i++) {
        struct dx_tag_cursor c;
        struct dx_tag_file f;
        uint64_t at = 0;

        EXPECT(dx_tags_find(dx_version_own(v)->tags, dx_span_str(names[i]), &at, &err) == 1 &&
                   at == i,
               "%s", names[i]);
        must(dx_tags_files(dx_version_own(v)->tags, i, &c, &err), &err, "files");
        for (unsigned d = 1; d <= DATASETS; d++)
            check_file(v, i, &c, d);
        EXPECT(dx_tag_cursor_next(&c, &f, &err) == 0, "%s: a file too many", names[i]);
    }
    for (unsigned d = 1; d <= DATASETS; d++) {
        struct dx_tags_left left;

        recount(d, 0, &w);
        EXPECT(dx_tags_left_at(dx_version_own(v)->tags, d - 1, &left, &err) == 1 &&
                   left.rows == w.unread && left.tags == w.unfit,
               "left of dataset %u: %llu and %llu, not %llu and %llu", d,
               (unsigned long long)left.rows, (unsigned long long)left.tags,
               (unsigned long long)w.unread, (unsigned long long)w.unfit);
    }
}

static struct dx_version *open_current(struct dx_caches *caches)
{
    const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v = NULL;

    must(dx_version_open_named(&v, root.path, NULL, caches, &options, &err), &err, "open");
    return v;
}

int main(void)
{
    const struct dx_version_options options = DX_VERSION_OPTIONS_DEFAULT;
    struct dx_caches *caches = NULL;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v;

    dx_test_root_usual(&shape);
    shape.tags = tags_of;
    dx_test_root_make_of(&root, DOMAINS, DATASETS, &shape);
    must(dx_caches_new(&caches, &options, &err), &err, "caches");
    v = open_current(caches);
    check_version(v);
    dx_version_unpin(v);
    dx_caches_free(&caches);
    dx_test_root_remove(&root);
    return failures > 0;
}
