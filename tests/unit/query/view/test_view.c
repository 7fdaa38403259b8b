/* SPDX-License-Identifier: Apache-2.0
 * Every answer of an index as a scope shows it, against the same answer of an index that was built
 * of the datasets of the scope alone: the same bytes but for the version's name, and the same words
 * where there is none.
 */
#include "query/view/view.h"

#include "canon/url.h"
#include "query/answers/answer.h"
#include "query/answers/answer_names.h"
#include "query/answers/task.h"
#include "query/rows/domain_pages.h"
#include "query/rows/listing.h"
#include "query/view/lookup.h"
#include "tests/support/asker.h"
#include "tests/support/damage.h"
#include "tests/support/sample.h"
#include "tests/support/small_root.h"

#include <stdio.h>
#include <stdlib.h>

#define DOMAINS 40
#define DATASETS 8
#define MANY 45 /* datasets of the second lake */

static unsigned failures;
static unsigned compared;

/* ---- a lake where datasets share URLs ----
 *
 * Domain 0 is in all of them with many rows (stored paths, dense sketches), domain 1 with more URLs
 * than an exact sketch holds in one of them; others have a few, and some are in one dataset
 * only. */

static unsigned rows_of(unsigned i, unsigned dataset)
{
    if (i == 0)
        return dataset <= 2 ? (unsigned)dx_sample(5000, 2100) : 700;
    if (i == 1)
        return dataset == 3 ? 600 : 40;
    if (i < 2 + DATASETS) /* of one dataset alone */
        return i - 1 == dataset ? 3 : 0;
    return (i * 7 + dataset * 5) % 4 == 0 ? 0 : 1 + (i * 3 + dataset) % 9;
}

/* Half of the URLs are those of the neighbour. */
static void row_of(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out)
{
    char domain[DX_TEST_TEXT];
    bool bare = i % 7 == 6 || row % 3 == 0; /* an address has no names below it */

    dx_test_root_domain(i, domain);
    (void)snprintf(out->host, sizeof out->host, "%s%.*s",
                   bare           ? ""
                   : row % 3 == 1 ? "www."
                                  : "m.",
                   DX_TEST_TEXT - 5, domain);
    (void)snprintf(out->path, sizeof out->path, "/s%u/%05u?k=%u", row % 5,
                   row + dataset * (rows_of(i, dataset) / 2), row % 2);
}

/* Domain 0 has sketches of several pages: lists as long as there are. */
static unsigned few_rows(unsigned i, unsigned dataset)
{
    if (i == 0)
        return 512;
    return (i + dataset) % 5 == 0 ? 0 : 1 + (i + dataset) % 6;
}

static void few_row(unsigned i, unsigned dataset, unsigned row, struct dx_test_row *out)
{
    dx_test_root_domain(i, out->host);
    (void)snprintf(out->path, sizeof out->path, "/%u", row + dataset % 7);
}

/* ---- two askers ---- */

struct side {
    struct asker asker;
    struct dx_view view;
    struct dx_buf body;
    struct dx_problem problem;
    int rc;
};

struct both {
    struct side hiding;  /* the whole index, as the scope shows it */
    struct side without; /* the index of the visible datasets */
    unsigned domains, datasets;
    const char *name;
};

static void clear(struct side *s)
{
    dx_buf_clear(&s->body);
    memset(&s->problem, 0, sizeof s->problem);
    s->rc = 0;
}

/* Takes the name of its version out of a text. */
static void rename_version(const struct side *s, char *text, size_t *size)
{
    const char *name = dx_version_name(s->view.version);
    size_t n = strlen(name);
    char *at = text;

    while ((at = memmem(at, *size - (size_t)(at - text), name, n)) != NULL) {
        memset(at, 'V', n); /* names have the same length */
        at += n;
    }
}

static void compare(struct both *b, const char *what, const char *about)
{
    struct side *sides[2] = { &b->hiding, &b->without };
    const struct dx_problem *p = &b->hiding.problem;
    const struct dx_problem *q = &b->without.problem;

    for (unsigned i = 0; i < 2; i++) {
        size_t words = strlen(sides[i]->problem.detail);

        if (sides[i]->body.size > 0)
            rename_version(sides[i], (char *)sides[i]->body.data, &sides[i]->body.size);
        rename_version(sides[i], sides[i]->problem.detail, &words);
    }
    compared++;
    EXPECT(b->hiding.rc == b->without.rc, "%s: %s of %s: %d (%s), without %d (%s)", b->name, what,
           about, b->hiding.rc, p->detail, b->without.rc, q->detail);
    if (b->hiding.rc != b->without.rc)
        return;
    EXPECT(dx_span_equal(dx_span_of(b->hiding.body.data, b->hiding.body.size),
                         dx_span_of(b->without.body.data, b->without.body.size)),
           "%s: %s of %s:\n%.*s\nwithout\n%.*s", b->name, what, about, (int)b->hiding.body.size,
           (const char *)b->hiding.body.data, (int)b->without.body.size,
           (const char *)b->without.body.data);
    if (b->hiding.rc != 1)
        EXPECT(p->kind == q->kind && strcmp(p->slug, q->slug) == 0 &&
                   strcmp(p->title, q->title) == 0 && strcmp(p->detail, q->detail) == 0,
               "%s: %s of %s: %s (%s), without %s (%s)", b->name, what, about, p->slug, p->detail,
               q->slug, q->detail);
}

/* call: with s for the side. */
#define BOTH(b, what, about, call)     \
    do {                               \
        struct side *s = &(b)->hiding; \
                                       \
        clear(s);                      \
        s->rc = call;                  \
        s = &(b)->without;             \
        clear(s);                      \
        s->rc = call;                  \
        compare(b, what, about);       \
    } while (0)

/* ---- the answers ---- */

static int top(struct side *s, uint32_t dataset, const char *share, struct dx_page_of page)
{
    const struct dx_top_ask ask = {
        .dataset_id = dataset,
        .share = share == NULL ? dx_span_of(NULL, 0) : dx_span_str(share),
        .page = page,
    };

    return dx_answer_top_domains(&s->view, s->asker.canon, &ask, &s->body, &s->problem);
}

static int hosts(struct side *s, const char *domain, const uint32_t *dataset, bool by_name,
                 struct dx_page_of page)
{
    const struct dx_hosts_ask ask = { .asked = dx_span_str(domain),
                                      .by_name = by_name,
                                      .one_dataset = dataset != NULL,
                                      .dataset_id = dataset == NULL ? 0 : *dataset,
                                      .page = page };
    struct dx_task *task;
    int rc = dx_task_hosts(&s->view, s->asker.canon, &ask, &task, NULL, &s->body, &s->problem);

    return dx_task_finish(&task, rc, &s->body, &s->problem);
}

static int paths(struct side *s, const char *domain, uint32_t dataset, bool sections)
{
    const struct dx_paths_ask ask = {
        .asked = dx_span_str(domain), .dataset_id = dataset, .sections = sections, .limit = 20
    };
    struct dx_task *task;
    int rc = dx_task_paths(&s->view, s->asker.canon, &ask, &task, NULL, &s->body, &s->problem);

    return dx_task_finish(&task, rc, &s->body, &s->problem);
}

static int tlds(struct side *s, const uint32_t *dataset)
{
    const struct dx_tlds_ask ask = { .one_dataset = dataset != NULL,
                                     .dataset_id = dataset == NULL ? 0 : *dataset,
                                     .limit = 100 };

    return dx_answer_tlds(&s->view, s->asker.canon, &ask, &s->body, &s->problem);
}

static int complete(struct side *s, const char *q, uint64_t limit)
{
    const struct dx_complete_ask ask = { dx_span_str(q), limit };

    return dx_answer_complete(&s->view, s->asker.canon, &ask, &s->body, &s->problem);
}

static int names(struct side *s, enum dx_names_format format, const char *columns, unsigned domains)
{
    const struct dx_names_ask ask = { .format = format,
                                      .datasets = columns == NULL ? dx_span_of(NULL, 0)
                                                                  : dx_span_str(columns) };
    struct dx_names *n;
    int rc = dx_names_new(&n, &s->view, &ask, &s->problem);

    if (rc != 1)
        return rc;
    dx_names_begin(n, &s->body);
    for (unsigned i = 0; i < domains + 2; i++) {
        char text[DX_TEST_TEXT];
        struct dx_name name = { .line = i + 1 };

        dx_test_root_domain(i, text); /* the last ones are not there */
        name.asked = dx_span_str(i == domains + 1 ? "com" : text);
        if (!dx_names_add(n, &name))
            abort();
    }
    do
        rc = dx_names_write(n, &s->body, SIZE_MAX, &s->problem);
    while (rc == DX_NAMES_MORE);
    dx_names_end(n, &s->body);
    dx_names_free(&n);
    return rc;
}

static void compare_domain(struct both *b, unsigned i)
{
    const struct dx_page_of page = { 1, 5 };
    const struct dx_page_of all = { 0, 1000 };
    const unsigned step = (unsigned)dx_sample(1, i < 2 && b->datasets < 20 ? 2 : 7);
    char name[DX_TEST_TEXT];

    dx_test_root_domain(i, name);
    BOTH(b, "domain", name,
         dx_answer_domain(&s->view, s->asker.canon, dx_span_str(name), DX_DOMAIN_FIELDS_ALL,
                          &s->body, &s->problem));
    BOTH(b, "domain's ranks", name,
         dx_answer_domain(&s->view, s->asker.canon, dx_span_str(name),
                          DX_DOMAIN_FIELD_RANK | DX_DOMAIN_FIELD_SHARE, &s->body, &s->problem));
    BOTH(b, "hosts", name, hosts(s, name, NULL, false, all));
    BOTH(b, "hosts by name", name, hosts(s, name, NULL, true, (struct dx_page_of){ 1, 1 }));
    BOTH(b, "completion", name, complete(s, name, 10));
    for (uint32_t d = i % step; d <= b->datasets + 1; d += step) {
        BOTH(b, "hosts in one", name, hosts(s, name, &d, false, all));
        BOTH(b, "paths", name, paths(s, name, d, false));
        BOTH(b, "sections", name, paths(s, name, d, true));
        BOTH(b, "urls", name,
             dx_answer_urls(&s->view, s->asker.canon, dx_span_str(name), d, page, DX_FIELDS_ALL,
                            &s->body, &s->problem));
    }
}

static void compare_datasets(struct both *b)
{
    const uint32_t step = (uint32_t)dx_sample(1, b->datasets < 20 ? 1 : 7);

    for (uint32_t d = 0; d <= b->datasets + 1; d++) {
        char about[32];

        (void)snprintf(about, sizeof about, "dataset %u", (unsigned)d);
        BOTH(b, "dataset", about, dx_answer_dataset(&s->view, d, NULL, &s->body, &s->problem));
        BOTH(b, "datasets", about,
             dx_answer_datasets(&s->view, (struct dx_page_of){ d, 2 }, &s->body, &s->problem));
        BOTH(b, "tlds", about, tlds(s, &d));
        BOTH(b, "top", about, top(s, d, NULL, (struct dx_page_of){ 0, 100 }));
        BOTH(b, "top, a page", about, top(s, d, NULL, (struct dx_page_of){ 3, 4 }));
        BOTH(b, "top, a share", about, top(s, d, "10%", (struct dx_page_of){ 0, 100 }));
        for (uint32_t other = d % step; other <= b->datasets + 1; other += step)
            BOTH(b, "overlap", about,
                 dx_answer_overlap(&s->view, s->asker.canon, d, other, &s->body, &s->problem));
    }
    BOTH(b, "tlds", "all", tlds(s, NULL));
    BOTH(b, "completion", "n", complete(s, "n", 100));
    BOTH(b, "completion", "name1", complete(s, "name1", 1));
    BOTH(b, "datasets", "all",
         dx_answer_datasets(&s->view, (struct dx_page_of){ 0, 100 }, &s->body, &s->problem));
}

static void compare_names(struct both *b)
{
    BOTH(b, "names", "lines", names(s, DX_NAMES_NDJSON, NULL, b->domains));
    BOTH(b, "names", "csv", names(s, DX_NAMES_CSV, NULL, b->domains));
    BOTH(b, "names", "matrix", names(s, DX_NAMES_MATRIX, NULL, b->domains));
    for (uint32_t d = 0; d <= b->datasets + 1; d++) {
        char columns[32];

        (void)snprintf(columns, sizeof columns, "%u,1", (unsigned)d);
        BOTH(b, "names", columns, names(s, DX_NAMES_MATRIX, columns, b->domains));
    }
}

static void compare_all(struct both *b)
{
    for (unsigned i = 0; i < b->domains + 1; i++)
        compare_domain(b, i);
    compare_datasets(b);
    compare_names(b);
    BOTH(b, "versions", "all", dx_answer_versions(&s->view, NULL, NULL, &s->body, &s->problem));
}

/* ---- scopes ---- */

static struct dx_scope *scope_of(uint64_t bits)
{
    struct dx_scope *scope;
    struct dx_error err = DX_ERROR_INIT;
    uint32_t ids[64];
    size_t n = 0;

    for (uint32_t d = 1; d < 64; d++)
        if ((bits >> d & 1) != 0)
            ids[n++] = d;
    if (dx_scope_more(&scope, NULL, ids, n, &err) < 0)
        abort();
    return scope;
}

/* What answers of `without` are if nothing is hidden there: the same again, but for the sums of
 * versions. */
static void compare_scope(const struct dx_test_root *whole, const struct dx_test_shape *shape,
                          uint64_t bits)
{
    struct dx_test_shape some = *shape;
    const struct dx_scope *scope = scope_of(bits);
    struct both b = { .domains = whole->domains, .datasets = whole->datasets };
    struct dx_test_root part;
    char name[64];

    some.without = ~bits;
    dx_test_root_make_of(&part, whole->domains, whole->datasets, &some);
    (void)snprintf(name, sizeof name, "scope %llx", (unsigned long long)bits);
    b.name = name;
    open_asker(&b.hiding.asker, whole->path);
    open_asker(&b.without.asker, part.path);
    b.hiding.view = (struct dx_view){ b.hiding.asker.v, scope, false };
    b.without.view = (struct dx_view){ b.without.asker.v, scope, false };
    dx_buf_init(&b.hiding.body, SIZE_MAX / 2);
    dx_buf_init(&b.without.body, SIZE_MAX / 2);
    compare_all(&b);
    b.without.view.scope = NULL;
    for (unsigned i = 0; i < b.domains + 1; i += (unsigned)dx_sample(3, 7))
        compare_domain(&b, i);
    compare_datasets(&b);
    compare_names(&b);
    dx_buf_release(&b.hiding.body);
    dx_buf_release(&b.without.body);
    close_asker(&b.hiding.asker);
    close_asker(&b.without.asker);
    dx_scope_drop(&scope);
    dx_test_root_remove(&part);
}

/* ---- what a scope does to a loop ---- */

static int begin(struct asker *a, const struct dx_scope *scope, bool brief, struct dx_task **task,
                 struct dx_buf *body)
{
    const struct dx_view view = { a->v, scope, false };
    char name[DX_TEST_TEXT];
    struct dx_domain_ask ask = { .fields = DX_DOMAIN_FIELDS_ALL, .brief = brief };
    struct dx_problem problem;

    dx_test_root_domain(1, name);
    ask.asked = dx_span_str(name);
    return dx_task_domain(&view, a->canon, &ask, task, NULL, body, &problem);
}

/* Sketches are waited for where some are hidden and several are shown, and never else; when they
 * are in memory, many of them are left to a worker. */
static void test_waits(const struct dx_test_root *r)
{
    static const struct {
        uint64_t bits;
        int first, warm, brief;
    } rows[] = {
        { 0, 1, 1, 1 },                                           /* everything */
        { ~UINT64_C(0), 1, 1, 1 },                                /* a list of everything */
        { UINT64_C(1) << 2, 1, 1, 1 },                            /* one */
        { UINT64_C(6), DX_TASK_WAITS, 1, 1 },                     /* two */
        { ~(UINT64_C(1) << 5), DX_TASK_WAITS, 1, DX_TASK_WAITS }, /* all but one */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dx_scope *scope = rows[i].bits == 0 ? NULL : scope_of(rows[i].bits);
        struct dx_buf body = DX_BUF_INIT(SIZE_MAX / 2);
        struct dx_task *task;
        struct dx_problem problem;
        struct asker a;
        int rc;

        open_asker(&a, r->path);
        rc = begin(&a, scope, false, &task, &body);
        EXPECT(rc == rows[i].first, "%zu: %d at first", i, rc);
        EXPECT(dx_task_finish(&task, rc, &body, &problem) == 1, "%zu: %s", i, problem.detail);
        dx_buf_clear(&body);
        rc = begin(&a, scope, false, &task, &body);
        EXPECT(rc == rows[i].warm, "%zu: %d of what is in memory", i, rc);
        dx_task_free(&task);
        dx_buf_clear(&body);
        rc = begin(&a, scope, true, &task, &body);
        EXPECT(rc == rows[i].brief, "%zu: %d on a loop", i, rc);
        if (rc == DX_TASK_WAITS)
            EXPECT(dx_read_batch_state(dx_task_reading(task)) == DX_READ_BATCH_DONE, "%zu: waits",
                   i);
        EXPECT(dx_task_finish(&task, rc, &body, &problem) == 1 && body.size > 0, "%zu: %s", i,
               problem.detail);
        dx_buf_release(&body);
        close_asker(&a);
        dx_scope_drop(&scope);
    }
}

/* ---- columns of a matrix ---- */

/* The limit is of what may be seen. A registry of thousands is put in place of the version's: no
 * more is looked at. */
static void test_columns(const struct dx_test_root *r)
{
    static const struct {
        unsigned seen; /* 0: everything */
        int rc;
        const char *words;
    } rows[] = {
        { 0, 0, "there are 2003 datasets" },
        { 2000, 1, "" },
        { 2001, 0, "there are 2001 datasets" },
    };
    const struct dx_names_ask ask = { .format = DX_NAMES_MATRIX };
    static struct dx_dataset datasets[DX_NAMES_COLUMNS_MAX + 3];
    static uint32_t ids[DX_NAMES_COLUMNS_MAX + 3];
    struct dx_registry kept;
    struct dx_problem problem;
    struct asker a;

    for (uint32_t i = 0; i < DX_NAMES_COLUMNS_MAX + 3; i++)
        ids[i] = datasets[i].dataset_id = i + 1;
    open_asker(&a, r->path);
    kept = a.v->registry;
    a.v->registry.datasets = datasets;
    a.v->registry.count = DX_NAMES_COLUMNS_MAX + 3;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_view view = { a.v, NULL, false };
        struct dx_scope *scope = NULL;
        struct dx_names *n = NULL;
        int rc = dx_scope_more(&scope, NULL, ids, rows[i].seen, NULL);

        view.scope = rows[i].seen == 0 ? NULL : scope;
        rc = rc < 0 ? rc : dx_names_new(&n, &view, &ask, &problem);
        EXPECT(rc == rows[i].rc && (rc == 1 || (problem.kind == DX_PROBLEM_TOO_MUCH &&
                                                strstr(problem.detail, rows[i].words) != NULL)),
               "%u: %d %s", rows[i].seen, rc, problem.detail);
        dx_names_free(&n);
        dx_scope_drop((const struct dx_scope **)&scope);
    }
    a.v->registry = kept;
    close_asker(&a);
}

/* ---- sketches that are damaged ---- */

/* An error of those answers that need them, and of no others: never another number. */
static void test_damage(const struct dx_test_root *r)
{
    const struct dx_scope *scope = scope_of(6);
    struct dx_buf body = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_problem problem;
    struct dx_domain_ask ask = { .fields = DX_DOMAIN_FIELDS_ALL };
    struct dx_view view;
    struct asker a;
    char name[DX_TEST_TEXT];
    char path[256];
    FILE *file;
    int rc;

    (void)snprintf(path, sizeof path, "%s/index/%s/%s", r->path, r->version, DX_FILE_SKETCHES);
    file = fopen(path, "r+b");
    EXPECT(file != NULL && fseek(file, 40, SEEK_SET) == 0 && fwrite("damage", 1, 6, file) == 6 &&
               fclose(file) == 0,
           "%s", path);
    dx_test_root_domain(0, name);
    ask.asked = dx_span_str(name);
    open_asker(&a, r->path);
    view = (struct dx_view){ a.v, scope, false };
    rc = dx_answer_domain(&view, a.canon, ask.asked, ask.fields, &body, &problem);
    EXPECT(rc < 0 && body.size == 0 && problem.kind == DX_PROBLEM_DAMAGED &&
               strstr(problem.detail, DX_FILE_SKETCHES) != NULL,
           "%d %s", rc, problem.detail);
    view.scope = NULL;
    rc = dx_answer_domain(&view, a.canon, ask.asked, ask.fields, &body, &problem);
    EXPECT(rc == 1, "%s", problem.detail);
    dx_buf_release(&body);
    close_asker(&a);
    dx_scope_drop(&scope);
}

/* ---- pages of a domain, as many at once as there is room for ---- */

static void walk_pages(struct asker *a, uint64_t ordinal, const uint32_t *ids, size_t count,
                       uint64_t bytes_max)
{
    const struct dx_domain_pages_of of = {
        a->v, dx_version_own(a->v), DX_COLD_SKETCHES, ordinal, ids, count
    };
    struct dx_domain_pages p;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_span bytes;
    unsigned batches = 0;
    size_t found = 0;
    uint32_t id;
    int rc = dx_domain_pages_init(&p, &of, bytes_max, 0, &err);

    while (rc == 0 || rc == 1) {
        while ((rc = dx_domain_pages_step(&p, &err)) == DX_LISTING_WAITS) {
            rc = dx_read_batch_perform(&p.reading, &err);
            (void)dx_domain_pages_fetched(&p, rc, &err);
        }
        while (rc >= 0 && (rc = dx_domain_pages_next(&p, &id, &bytes, &err)) == 1)
            found += found < count && id == ids[found] && bytes.size > 0;
        batches++;
        if (rc < 0 || (rc = dx_domain_pages_more(&p, &err)) == 0)
            break;
    }
    EXPECT(rc == 0 && found == count, "%zu of %zu: %s", found, count, err.text);
    EXPECT(bytes_max > 1 || count < 40 ? batches == 1 : batches > 1, "%u batches of %zu", batches,
           count);
    dx_domain_pages_release(&p);
}

static void test_pages(const struct dx_test_root *r)
{
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_found found;
    struct asker a;
    char name[DX_TEST_TEXT];

    open_asker(&a, r->path);
    dx_test_root_domain(0, name);
    EXPECT(dx_lookup_domain(DX_VIEW_ALL(a.v), a.canon, dx_span_str(name), &found, &problem) == 1 &&
               dx_view_pairs(&pairs, DX_VIEW_ALL(a.v), found.part, found.ordinal, &err) == 1 &&
               pairs.count == MANY,
           "%s", problem.detail);
    walk_pages(&a, found.ordinal, pairs.ids, pairs.count, UINT64_MAX);
    walk_pages(&a, found.ordinal, pairs.ids, pairs.count, 1);
    for (uint32_t d = 2; d <= MANY; d++) { /* also those that begin a page */
        const uint32_t two[] = { 1, d };

        walk_pages(&a, found.ordinal, two, 2, UINT64_MAX);
        walk_pages(&a, found.ordinal, two + 1, 1, 1);
    }
    dx_domain_pairs_release(&pairs);
    close_asker(&a);
}

/* ---- the lowest place ---- */

static void test_lookup(const struct dx_test_root *r)
{
    const struct dx_scope *scope = scope_of(UINT64_C(1) << 2);
    const struct dx_scope *others = scope_of(UINT64_C(7) << 2 | UINT64_C(1) << 60);
    struct dx_domain_pairs pairs = DX_DOMAIN_PAIRS_INIT;
    const struct dx_dataset *dataset;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_problem problem;
    struct dx_found found;
    struct dx_view view;
    struct asker a;
    char name[DX_TEST_TEXT];

    open_asker(&a, r->path);
    view = (struct dx_view){ a.v, scope, false };
    EXPECT(dx_view_datasets(&view) == 1 && dx_view_restricted(&view), "one dataset");
    EXPECT(dx_view_datasets(&view) == 1 && dx_view_datasets(DX_VIEW_ALL(a.v)) == DATASETS, "again");
    EXPECT(dx_view_datasets(&(struct dx_view){ a.v, others, false }) == 3, "of another scope");
    EXPECT(dx_view_datasets(&view) == 1, "of the first one");
    EXPECT(dx_view_shows(&view, 2) && !dx_view_shows(&view, 1), "which");
    dx_test_root_domain(2, name); /* of dataset 1 alone */
    EXPECT(dx_lookup_domain(&view, a.canon, dx_span_str(name), &found, &problem) == 0 &&
               strcmp(problem.slug, "domain-not-found") == 0,
           "a domain of a hidden dataset: %s", problem.slug);
    EXPECT(dx_lookup_domain(DX_VIEW_ALL(a.v), a.canon, dx_span_str(name), &found, &problem) == 1,
           "%s", problem.detail);
    EXPECT(dx_view_has(&view, found.part, found.ordinal, &err) == 0, "has it");
    EXPECT(dx_view_pairs(&pairs, &view, found.part, found.ordinal, &err) == 0 && pairs.count == 0,
           "pairs");
    EXPECT(dx_lookup_dataset(&view, 1, &dataset, &problem) == 0, "a hidden dataset");
    EXPECT(dx_lookup_dataset(&view, 2, &dataset, &problem) == 1, "a visible one");
    dx_test_root_domain(0, name);
    EXPECT(dx_lookup_domain(&view, a.canon, dx_span_str(name), &found, &problem) == 1, "%s",
           problem.detail);
    EXPECT(dx_view_pairs(&pairs, &view, found.part, found.ordinal, &err) == 1 && pairs.count == 1 &&
               pairs.ids[0] == 2 && pairs.counts[0].row_count == rows_of(0, 2),
           "its pairs");
    dx_domain_pairs_release(&pairs);
    close_asker(&a);
    dx_scope_drop(&scope);
    dx_scope_drop(&others);
}

/* There is no index without a dataset to compare with. */
static void test_nothing(const struct dx_test_root *r)
{
    const struct dx_scope *scope = scope_of(0);
    struct dx_buf body = DX_BUF_INIT(SIZE_MAX / 2);
    struct dx_problem problem;
    struct dx_view view;
    struct asker a;
    char name[DX_TEST_TEXT];
    int rc;

    open_asker(&a, r->path);
    view = (struct dx_view){ a.v, scope, false };
    for (unsigned i = 0; i < r->domains; i++) {
        dx_test_root_domain(i, name);
        rc = dx_answer_domain(&view, a.canon, dx_span_str(name), DX_DOMAIN_FIELDS_ALL, &body,
                              &problem);
        EXPECT(rc == 0 && strstr(problem.detail, " none of the 0 datasets ") != NULL, "%s: %d %s",
               name, rc, problem.detail);
    }
    rc = dx_answer_datasets(&view, (struct dx_page_of){ 0, 10 }, &body, &problem);
    dx_buf_u8(&body, '\0');
    EXPECT(rc == 1 && strncmp((char *)body.data, "{\"datasets\":[],\"total\":0,", 25) == 0, "%s",
           (char *)body.data);
    dx_buf_release(&body);
    close_asker(&a);
    dx_scope_drop(&scope);
}

int main(void)
{
    static const uint64_t scopes[] = { 1u << 2, 1u << 4 | 1u << 7, 0x0a, 0x1e, 0x154, 0x1fe };
    const struct dx_test_shape shape = { .rows = rows_of, .row = row_of };
    const struct dx_test_shape few = { .rows = few_rows, .row = few_row };
    struct dx_test_root whole;

    dx_test_root_make_of(&whole, DOMAINS, DATASETS, &shape);
    test_lookup(&whole);
    test_nothing(&whole);
    test_columns(&whole);
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        compare_scope(&whole, &shape, scopes[i]);
    dx_test_root_remove(&whole);
    dx_test_root_make_of(&whole, 12, MANY, &few);
    test_waits(&whole);
    test_pages(&whole);
    compare_scope(&whole, &few, UINT64_C(0x1555555555554));
    compare_scope(&whole, &few, ~(UINT64_C(1) << 9) & ((UINT64_C(2) << MANY) - 2));
    test_damage(&whole);
    dx_test_root_remove(&whole);
    printf("%u answers compared, %u failures\n", compared, failures);
    return failures == 0 ? 0 : 1;
}
