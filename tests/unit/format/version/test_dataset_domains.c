/* SPDX-License-Identifier: Apache-2.0
 * dataset_domains.dxt against lists in memory: cursors and seeks, ranks, the ranking in and beyond
 * the stored head; every flip and cut, each part damaged with its sums made true again; what the
 * writer refuses.
 */
#include "format/version/dataset_domains.h"
#include "tests/support/damage.h"

#define LISTS 7

static int failures;

struct model {
    uint64_t domains;
    uint64_t pairs;
    struct list {
        uint32_t id;
        size_t n;
        struct dx_domain_count *by_ordinal;
        struct dx_domain_count *by_rank;
    } lists[LISTS];
    unsigned flags;
};

static int by_rank(const void *a, const void *b)
{
    const struct dx_domain_count *x = a;
    const struct dx_domain_count *y = b;

    if (x->url_count != y->url_count)
        return x->url_count < y->url_count ? 1 : -1;
    return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static void make_list(struct list *l, uint32_t id, uint64_t domains, unsigned one_in, uint64_t seed)
{
    uint64_t large[] = { UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1, 4096, 4095, 1 << 20, 1 << 20 };
    uint64_t ordinal = random_below(&seed, one_in) % domains;

    l->id = id;
    l->n = 0;
    l->by_ordinal = malloc(domains * sizeof *l->by_ordinal);
    l->by_rank = malloc(domains * sizeof *l->by_rank);
    for (; ordinal < domains; ordinal += 1 + random_below(&seed, 2 * one_in - 1)) {
        uint64_t count = 1 + random_below(&seed, UINT64_C(1) << random_below(&seed, 9)) / 2;

        if (one_in > 1 && random_below(&seed, 300) == 0)
            count = large[random_below(&seed, 6)];
        l->by_ordinal[l->n++] = (struct dx_domain_count){ ordinal, count };
    }
    memcpy(l->by_rank, l->by_ordinal, l->n * sizeof *l->by_rank);
    qsort(l->by_rank, l->n, sizeof *l->by_rank, by_rank);
}

static void make_model(struct model *m, uint64_t domains)
{
    static const unsigned one_in[LISTS] = { 1, 3, 7, 40, 300, 2, 1 };
    static const uint32_t ids[LISTS] = { 0, 1, 2, 9, 4000, 4001, UINT32_MAX };

    memset(m, 0, sizeof *m);
    m->domains = domains;
    for (size_t i = 0; i < LISTS; i++) {
        make_list(&m->lists[i], ids[i], domains, one_in[i], i + 1);
        m->pairs += m->lists[i].n;
    }
}

static void free_model(struct model *m)
{
    for (size_t i = 0; i < LISTS; i++) {
        free(m->lists[i].by_ordinal);
        free(m->lists[i].by_rank);
    }
}

static void build(const struct model *m, struct dx_buf *out)
{
    struct dx_build_id id = { { 1 } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset_domains_writer w;
    int rc = dx_dataset_domains_writer_begin(&w, m->domains, m->pairs, &id, dx_envelope_sink_buf,
                                             out, &err);

    for (size_t i = 0; rc >= 0 && i < LISTS; i++) {
        const struct list *l = &m->lists[i];

        rc = dx_dataset_domains_writer_dataset(&w, l->id, &err);
        for (size_t k = 0; rc >= 0 && k < l->n; k++)
            rc = dx_dataset_domains_writer_add(&w, l->by_ordinal[k].ordinal,
                                               l->by_ordinal[k].url_count, &err);
        if (rc >= 0)
            rc = dx_dataset_domains_writer_counted(&w, &err);
        EXPECT(rc == (l->n > DX_DATASET_DOMAINS_NO_HEAD), "%zu domains: %d", l->n, rc);
        for (size_t k = 0; rc == 1 && k < l->n; k++) {
            int again = dx_dataset_domains_writer_rank(&w, l->by_ordinal[k].ordinal,
                                                       l->by_ordinal[k].url_count, &err);
            rc = again < 0 ? again : rc;
        }
    }
    if (rc >= 0)
        rc = dx_dataset_domains_writer_end(&w, &err);
    EXPECT(rc >= 0, "%s", err.text);
    dx_dataset_domains_writer_release(&w);
}

/* ---- answers ---- */

static enum verdict try_ranks(const struct dx_dataset_domains *d, const struct list *l,
                              const struct dx_domain_list *got)
{
    for (size_t k = 0; k < l->n; k += 1 + l->n / 50) {
        uint64_t count = l->by_rank[k].url_count;
        uint64_t want = 1;
        uint64_t rank;

        while (l->by_rank[want - 1].url_count > count)
            want++;
        if (dx_dataset_domains_rank(d, got, count, &rank, NULL) < 0)
            return REFUSED;
        if (rank != want)
            return WRONG_ANSWER;
    }
    return SAME_ANSWERS;
}

static enum verdict try_top(const struct dx_dataset_domains *d, const struct list *l,
                            const struct dx_domain_list *got)
{
    const size_t places[][2] = { { 0, 1 },           { 0, 3 },        { 0, l->n },
                                 { l->n, 0 },        { l->n - 1, 1 }, { l->n / 2, 5 },
                                 { l->n / 10, 700 }, { 990, 20 },     { l->n / 3, 100 } };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t first = places[i][0] > l->n ? 0 : places[i][0];
        size_t n = places[i][1] > l->n - first ? l->n - first : places[i][1];
        struct dx_domain_count *out = malloc(n * sizeof *out + 1);
        enum verdict v = SAME_ANSWERS;

        if (dx_dataset_domains_top(d, got, first, n, out, NULL) < 0)
            v = REFUSED;
        else if (n > 0 && memcmp(out, l->by_rank + first, n * sizeof *out) != 0)
            v = WRONG_ANSWER;
        free(out);
        if (v != SAME_ANSWERS)
            return v;
    }
    return SAME_ANSWERS;
}

static enum verdict try_cursor(const struct dx_dataset_domains *d, const struct list *l,
                               const struct dx_domain_list *got)
{
    struct dx_domain_cursor c;
    size_t k = 0;
    int rc;

    dx_domain_cursor_begin(&c, d, got);
    while ((rc = dx_domain_cursor_next(&c, NULL)) == 1) {
        if (k == l->n || c.ordinal != l->by_ordinal[k].ordinal ||
            c.url_count != l->by_ordinal[k].url_count)
            return WRONG_ANSWER;
        k++;
    }
    if (rc < 0)
        return REFUSED;
    return k == l->n ? SAME_ANSWERS : WRONG_ANSWER;
}

/* Seeks of growing width, with steps between them. */
static enum verdict try_seeks(const struct dx_dataset_domains *d, const struct list *l,
                              const struct dx_domain_list *got, uint64_t domains)
{
    for (uint64_t width = 1; width < domains * 2; width *= 3) {
        struct dx_domain_cursor c;
        uint64_t to = width / 2;
        size_t k = 0;
        int rc;

        dx_domain_cursor_begin(&c, d, got);
        for (;; to += width) {
            while (k < l->n && l->by_ordinal[k].ordinal < to)
                k++;
            rc = dx_domain_cursor_seek(&c, to, NULL);
            if (rc == 1 && k < l->n && width % 2 == 1 && c.ordinal == l->by_ordinal[k].ordinal &&
                ++k < l->n + 1)
                rc = dx_domain_cursor_next(&c, NULL);
            if (rc < 0)
                return REFUSED;
            if ((rc == 1) != (k < l->n))
                return WRONG_ANSWER;
            if (rc == 0)
                break;
            if (c.ordinal != l->by_ordinal[k].ordinal || c.url_count != l->by_ordinal[k].url_count)
                return WRONG_ANSWER;
            if (c.ordinal > to)
                to = c.ordinal;
        }
    }
    return SAME_ANSWERS;
}

static enum verdict worse(enum verdict a, enum verdict b)
{
    return a == WRONG_ANSWER || b == SAME_ANSWERS ? a : b;
}

static enum verdict try_file(void *ctx, struct dx_span file)
{
    const struct model *m = ctx;
    struct dx_dataset_domains d;
    struct dx_domain_list got;
    enum verdict v = SAME_ANSWERS;

    if (dx_dataset_domains_open(&d, file, m->flags, "d.dxt", NULL) < 0)
        return REFUSED;
    if (d.datasets != LISTS || d.domains != m->domains || d.pairs != m->pairs)
        v = WRONG_ANSWER;
    for (size_t i = 0; i < LISTS; i++) {
        const struct list *l = &m->lists[i];
        int rc = dx_dataset_domains_of(&d, l->id, &got, NULL);

        if (rc < 0) {
            v = worse(v, REFUSED);
            continue;
        }
        if (rc == 0 || got.domains != l->n) {
            v = WRONG_ANSWER;
            continue;
        }
        v = worse(v, dx_dataset_domains_check(&d, &got, NULL) < 0 ? REFUSED : SAME_ANSWERS);
        v = worse(v, try_ranks(&d, l, &got));
        v = worse(v, try_top(&d, l, &got));
        v = worse(v, try_cursor(&d, l, &got));
        v = worse(v, try_seeks(&d, l, &got, m->domains));
    }
    dx_dataset_domains_close(&d);
    return (m->flags & DX_OPEN_UNCHECKED) != 0 ? REFUSED : v;
}

static void test_absent(const struct model *m, const struct dx_buf *file)
{
    static const uint32_t absent[] = { 3, 8, 10, 3999, 4002, UINT32_MAX - 1 };
    struct dx_dataset_domains d;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_domain_list list;
    struct dx_domain_count out[2];
    uint64_t rank;

    EXPECT(dx_dataset_domains_open(&d, dx_span_of(file->data, file->size), 0, "d", &err) == DX_OK,
           "%s", err.text);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        EXPECT(dx_dataset_domains_of(&d, absent[i], &list, &err) == 0, "%u", absent[i]);
    EXPECT(dx_dataset_domains_at(&d, LISTS, &list, &err) == 0, "behind the last");
    for (size_t i = 0; i < LISTS; i++)
        EXPECT(dx_dataset_domains_at(&d, i, &list, &err) == 1 && list.dataset_id == m->lists[i].id,
               "%s", err.text);
    EXPECT(dx_dataset_domains_top(&d, &list, list.domains, 1, out, &err) == DX_E_INVALID, "beyond");
    EXPECT(dx_dataset_domains_top(&d, &list, UINT64_MAX, 2, out, &err) == DX_E_INVALID, "beyond");
    EXPECT(dx_dataset_domains_rank(&d, &list, 0, &rank, &err) == DX_OK && rank == list.domains + 1,
           "no URLs");
    EXPECT(dx_dataset_domains_rank(&d, &list, UINT64_MAX, &rank, &err) == DX_OK && rank == 1,
           "most URLs");
    dx_dataset_domains_close(&d);
}

static void test_damage(struct model *m, const struct dx_buf *file, size_t step)
{
    struct damaged d = damaged_copy(dx_span_of(file->data, file->size));
    struct verdicts v;

    v = damaged_flips(&d, 0, d.size, step, try_file, m);
    EXPECT(v.count[WRONG_ANSWER] == 0, "lazy: %zu wrong", v.count[WRONG_ANSWER]);
    m->flags = DX_OPEN_VERIFY_ALL;
    v = damaged_flips(&d, 0, d.size, step, try_file, m);
    EXPECT(v.count[REFUSED] == v.all, "verify: %zu refused", v.count[REFUSED]);
    if (d.size < 4096) {
        v = damaged_cuts(&d, try_file, m);
        EXPECT(v.count[REFUSED] == d.size, "cuts");
    }
    m->flags = DX_OPEN_UNCHECKED;
    (void)damaged_flips(&d, 0, d.size, step / 2, try_file, m); /* the sanitizers judge */
    m->flags = 0;
    printf("%zu bytes, %zu flips\n", d.size, d.size * 8);
    damaged_free(&d);
}

/* The first list of the small model: 600 domains with nothing between them, five blocks. */
static void test_sections(const struct dx_buf *file)
{
    static const struct {
        const char *tag;
        size_t at;
        uint8_t value;
        const char *say;
    } rows[] = {
        { NULL, 1, 'x', "does not begin" },
        { NULL, 13, 1, "domains have" },
        { NULL, 16, 0, NULL },
        { NULL, 24, 1, "reserved" },
        { NULL, 63, 1, "reserved" },
        { "LIST", 0, 33, "block 0" },
        { "LIST", 0, 32, "damaged" },
        { "LIST", 1, 0xff, NULL },
        { "DSET", 4, 0, NULL },
        { "DSET", 7, 1, "domains" },
        { "DSET", 15, 1, "URLs" },
        { "DSET", 23, 1, "outside LIST" },
        { "DSET", 31, 1, "outside LIST" },
        { "DSET", 26, 1, "LIST" },
        { "DSET", 34, 1, "DSET" },
        { "DSET", 38, 1, "counts" },
        { "DSET", 39, 65, "counts" },
        { "DSET", 39, 0, "counts" },
        { "DSET", 39, 11, NULL },
        { "DSET", 36, 1, "ranking" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct damaged d = damaged_copy(dx_span_of(file->data, file->size));
        struct dx_error err = DX_ERROR_INIT;
        struct dx_dataset_domains f;
        struct dx_domain_list list;
        uint64_t size;
        uint8_t *at = rows[i].tag == NULL ? d.bytes
                                          : envelope_find(d.bytes, d.size, rows[i].tag, &size);
        int rc;

        at[rows[i].at] = rows[i].value;
        envelope_resum(d.bytes, d.size);
        rc = dx_dataset_domains_open(&f, dx_span_of(d.bytes, d.size), 0, "d.dxt", &err);
        if (rc >= 0)
            rc = dx_dataset_domains_at(&f, 0, &list, &err);
        if (rc >= 0)
            rc = dx_dataset_domains_check(&f, &list, &err);
        EXPECT(rc < 0 || rows[i].at == 16, "row %zu: no error", i);
        if (rows[i].say != NULL)
            EXPECT(strstr(err.text, rows[i].say) != NULL, "row %zu (%s): '%s'", i, rows[i].say,
                   err.text);
        dx_dataset_domains_close(&f);
        damaged_free(&d);
    }
}

static void test_refused(void)
{
    struct dx_build_id id = { { 1 } };
    struct dx_dataset_domains_writer w;
    struct dx_buf out = DX_BUF_INIT(1 << 20);

    EXPECT(dx_dataset_domains_writer_begin(&w, 3000, 3001, &id, dx_envelope_sink_buf, &out, NULL) >=
               0,
           "begin");
    EXPECT(dx_dataset_domains_writer_add(&w, 0, 1, NULL) < 0, "no dataset");
    EXPECT(dx_dataset_domains_writer_dataset(&w, 5, NULL) >= 0, "dataset");
    EXPECT(dx_dataset_domains_writer_add(&w, 3000, 1, NULL) < 0, "no such domain");
    EXPECT(dx_dataset_domains_writer_add(&w, 7, 0, NULL) < 0, "no URLs");
    EXPECT(dx_dataset_domains_writer_add(&w, 7, 1, NULL) >= 0, "a pair");
    EXPECT(dx_dataset_domains_writer_add(&w, 7, 1, NULL) < 0, "twice");
    EXPECT(dx_dataset_domains_writer_rank(&w, 7, 1, NULL) < 0, "not counted");
    EXPECT(dx_dataset_domains_writer_dataset(&w, 5, NULL) < 0, "the same dataset");
    EXPECT(dx_dataset_domains_writer_dataset(&w, 6, NULL) >= 0, "the next dataset");
    for (uint64_t i = 0; i < 3000; i++)
        EXPECT(dx_dataset_domains_writer_add(&w, i, 1 + i % 2, NULL) >= 0, "a pair");
    EXPECT(dx_dataset_domains_writer_counted(&w, NULL) == 1, "again");
    EXPECT(dx_dataset_domains_writer_add(&w, 2999, 1, NULL) < 0, "counted");
    EXPECT(dx_dataset_domains_writer_rank(&w, 0, 1, NULL) >= 0, "the first");
    EXPECT(dx_dataset_domains_writer_rank(&w, 1, 3, NULL) < 0, "another count");
    EXPECT(dx_dataset_domains_writer_rank(&w, 0, 2, NULL) < 0, "backwards");
    EXPECT(dx_dataset_domains_writer_end(&w, NULL) < 0, "not all again");
    dx_dataset_domains_writer_release(&w);
    dx_buf_release(&out);
}

/* Counts of all sizes, and sums: what comes a second time must be what came at first. */
static void test_refused_ranks(void)
{
    static const uint64_t counts[] = { 1, 5000, 4096, 4095, 9000, 5000 };
    struct dx_build_id id = { { 1 } };
    struct dx_dataset_domains_writer w;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf out = DX_BUF_INIT(1 << 20);

    EXPECT(dx_dataset_domains_writer_begin(&w, 10, 6, &id, dx_envelope_sink_buf, &out, NULL) >= 0,
           "begin");
    EXPECT(dx_dataset_domains_writer_counted(&w, &err) == DX_E_INVALID, "no dataset is open");
    EXPECT(dx_dataset_domains_writer_dataset(&w, 5, NULL) >= 0, "dataset");
    for (uint64_t i = 0; i < 6; i++)
        EXPECT(dx_dataset_domains_writer_add(&w, i, counts[i], NULL) >= 0, "a pair");
    EXPECT(dx_dataset_domains_writer_add(&w, 7, UINT64_MAX, &err) == DX_E_INVALID,
           "URLs of over 64 bits");
    EXPECT(dx_dataset_domains_writer_counted(&w, &err) == 0, "%s", err.text);
    EXPECT(dx_dataset_domains_writer_counted(&w, &err) == DX_E_INVALID, "counted twice");
    EXPECT(dx_dataset_domains_writer_rank(&w, 0, 2, &err) == DX_E_INVALID, "no such count");
    EXPECT(dx_dataset_domains_writer_rank(&w, 0, 4097, &err) == DX_E_INVALID,
           "no such large count");
    EXPECT(dx_dataset_domains_writer_rank(&w, 0, 9001, &err) == DX_E_INVALID, "a larger one");
    EXPECT(dx_dataset_domains_writer_rank(&w, (uint64_t)UINT32_MAX + 1, 1, &err) == DX_E_INVALID,
           "a domain of over 32 bits");
    EXPECT(dx_dataset_domains_writer_rank(&w, 0, 1, &err) >= 0 &&
               dx_dataset_domains_writer_rank(&w, 1, 1, &err) == DX_E_INVALID,
           "one more domain with this count");
    for (uint64_t i = 1; i < 6; i++)
        EXPECT(dx_dataset_domains_writer_rank(&w, i, counts[i], &err) >= 0, "%s", err.text);
    EXPECT(dx_dataset_domains_writer_rank(&w, 6, 1, &err) == DX_E_INVALID, "one domain too many");
    EXPECT(dx_dataset_domains_writer_end(&w, &err) >= 0, "%s", err.text);
    dx_dataset_domains_writer_release(&w);
    dx_buf_clear(&out);
    EXPECT(dx_dataset_domains_writer_begin(&w, 10, 2, &id, dx_envelope_sink_buf, &out, NULL) >= 0 &&
               dx_dataset_domains_writer_dataset(&w, 5, NULL) >= 0 &&
               dx_dataset_domains_writer_add(&w, 3, 1, NULL) >= 0 &&
               dx_dataset_domains_writer_end(&w, &err) == DX_E_INVALID &&
               strstr(err.text, "1 pairs came, not 2") != NULL,
           "a pair is missing: %s", err.text);
    dx_dataset_domains_writer_release(&w);
    dx_buf_release(&out);
}

static void test_none(void)
{
    struct dx_build_id id = { { 1 } };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset_domains_writer w;
    struct dx_dataset_domains d;
    struct dx_domain_list list;
    struct dx_buf out = DX_BUF_INIT(1 << 20);

    EXPECT(dx_dataset_domains_writer_begin(&w, 0, 0, &id, dx_envelope_sink_buf, &out, NULL) >= 0 &&
               dx_dataset_domains_writer_dataset(&w, 5, &err) >= 0 &&
               dx_dataset_domains_writer_end(&w, &err) >= 0,
           "%s", err.text);
    dx_dataset_domains_writer_release(&w);
    EXPECT(dx_dataset_domains_open(&d, dx_span_of(out.data, out.size), 0, "d", &err) == DX_OK, "%s",
           err.text);
    EXPECT(dx_dataset_domains_of(&d, 5, &list, &err) == 0, "nothing");
    dx_dataset_domains_close(&d);
    dx_buf_release(&out);
}

int main(void)
{
    static const uint64_t domains[] = { 1, 130, 600, 12000 };

    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        struct dx_buf file = DX_BUF_INIT(1 << 24);
        struct model m;

        make_model(&m, domains[i]);
        build(&m, &file);
        EXPECT(try_file(&m, dx_span_of(file.data, file.size)) == SAME_ANSWERS,
               "whole file of %llu domains", (unsigned long long)domains[i]);
        test_absent(&m, &file);
        if (domains[i] == 600)
            test_sections(&file);
        if (domains[i] == 130)
            test_damage(&m, &file, 7);
        if (domains[i] == 12000)
            test_damage(&m, &file, 9001);
        free_model(&m);
        dx_buf_release(&file);
    }
    test_refused();
    test_refused_ranks();
    test_none();
    return failures > 0;
}
