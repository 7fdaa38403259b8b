/* SPDX-License-Identifier: Apache-2.0
 * Hosts and paths of a pair: there and back in each form, every flip and cut within what may be
 * said, and what the writer refuses.
 */
#include "format/version/facts.h"
#include "tests/support/damage.h"

static unsigned failures;

#define T(s)                                \
    {                                       \
        (const uint8_t *)(s), sizeof(s) - 1 \
    }
#define NO      \
    {           \
        NULL, 0 \
    }

struct list {
    struct dx_fact hosts[4];
    size_t host_count;
    struct dx_fact paths[3];
    size_t path_count;
};

static const struct list lists[] = {
    { { { T("a.com"), NO, 3, 5 } }, 1, { { NO, NO, 0, 0 } }, 0 },
    { { { T("www.a.com"), NO, 3, 5 } }, 1, { { NO, NO, 0, 0 } }, 0 },
    { { { T("a.com"), NO, 3, 5 }, { T("www.a.com"), NO, 1, 1 } }, 2, { { NO, NO, 0, 0 } }, 0 },
    { { { T("a.com"), NO, 3, 5 }, { T("a.com:81"), NO, 1, 9 }, { T("x.a.com"), NO, 7, 7 } },
      3,
      { { T("x.a.com"), T("/"), 7, 7 },
        { T("x.a.com"), T("/b"), 2, 12 },
        { T("a.com"), T("/"), 2, 2 } },
      3 },
    /* of another suffix list: not below the domain */
    { { { T("b.org"), NO, 2, 2 }, { T("b.org."), NO, 2, 2 } },
      2,
      { { T("b.org"), T(""), 4, 4 } },
      1 },
};

static struct dx_pair_count total_of(const struct list *l)
{
    struct dx_pair_count c = { .row_count = 0 };

    for (size_t i = 0; i < l->host_count; i++) {
        c.row_count += l->hosts[i].row_count;
        c.url_count += l->hosts[i].url_count;
    }
    return c;
}

static void write_list(const struct list *l, struct dx_buf *out)
{
    const uint64_t counts[DX_PATHS_KINDS] = { l->path_count, l->path_count };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_facts_writer w;
    int rc = DX_OK;

    dx_facts_writer_init(&w);
    dx_facts_writer_begin(&w, dx_span_str("a.com"));
    for (size_t i = 0; i < l->host_count && rc == DX_OK; i++)
        rc = dx_facts_writer_host(&w, &l->hosts[i], &err);
    for (size_t i = 0; i < l->path_count && rc == DX_OK; i++) {
        rc = dx_facts_writer_path(&w, DX_PATHS_EXACT, &l->paths[i], &err);
        if (rc == DX_OK)
            rc = dx_facts_writer_path(&w, DX_PATHS_SECTION, &l->paths[i], &err);
    }
    if (rc == DX_OK)
        rc = dx_facts_writer_end(&w, l->path_count > 0 ? counts : NULL, out, &err);
    EXPECT(rc == DX_OK, "%s", err.text);
    dx_facts_writer_release(&w);
}

static bool same(const struct dx_fact *a, const struct dx_fact *b, bool path)
{
    return dx_span_equal(a->host, b->host) && a->url_count == b->url_count &&
           a->row_count == b->row_count && (!path || dx_span_equal(a->path, b->path));
}

static enum verdict read_list(void *ctx, struct dx_span bytes)
{
    const struct list *l = ctx;
    const struct dx_pair_count counts = total_of(l);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_facts f;
    struct dx_fact one;
    size_t n = 0;
    bool ok = true;
    uint64_t urls = 0;
    int rc = dx_facts_open(&f, bytes, dx_span_str("a.com"), &counts, &err);

    if (rc < 0)
        return REFUSED;
    while ((rc = dx_facts_host(&f, &one, &err)) == 1) {
        ok = ok && n < l->host_count && same(&one, &l->hosts[n], false);
        urls += one.url_count;
        n++;
    }
    /* What is read is checked while it is read. */
    EXPECT(rc < 0 || urls == counts.url_count, "hosts have %llu URLs", (unsigned long long)urls);
    ok = ok && n == l->host_count;
    for (int kind = 0; kind < DX_PATHS_KINDS && rc == 0; kind++) {
        n = 0;
        while ((rc = dx_facts_path(&f, (enum dx_paths)kind, &one, &err)) == 1) {
            ok = ok && n < l->path_count && same(&one, &l->paths[n], true);
            n++;
        }
        ok = ok && n == l->path_count;
    }
    dx_facts_close(&f);
    return rc < 0 ? REFUSED : ok ? SAME_ANSWERS : WRONG_ANSWER;
}

static enum verdict read_any(void *ctx, struct dx_span bytes)
{
    return read_list(ctx, bytes) == REFUSED ? REFUSED : SAME_ANSWERS;
}

/* Sums of pages protect the bytes: of others only that no read leaves them, and that sums agree. */
static void check_lists(void)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct list l = lists[i];
        struct dx_buf out = DX_BUF_INIT(4096);
        struct damaged d;
        struct verdicts v;

        write_list(&l, &out);
        d = damaged_copy(dx_span_of(out.data, out.size));
        EXPECT(read_list(&l, dx_span_of(d.bytes, d.size)) == SAME_ANSWERS, "list %zu", i);
        (void)damaged_flips(&d, 0, d.size, 1, read_any, &l);
        v = damaged_cuts(&d, read_list, &l);
        EXPECT(v.count[REFUSED] == d.size, "list %zu: %zu of %zu cuts refused", i, v.count[REFUSED],
               d.size);
        damaged_free(&d);
        dx_buf_release(&out);
    }
}

static const struct {
    struct dx_fact first, then;
    const char *say; /* of the second host; NULL: it is taken */
} hosts[] = {
    { { T("a.com"), NO, 1, 1 }, { T("b.a.com"), NO, 1, 1 }, NULL },
    { { T("a.com"), NO, 1, 1 }, { T("a.com"), NO, 1, 1 }, "host a.com does not ascend" },
    { { T("b.a.com"), NO, 1, 1 }, { T("a.com"), NO, 1, 1 }, "host a.com does not ascend" },
    { { T("a.com"), NO, 1, 1 }, { T("b.a.com"), NO, 0, 1 }, "has no URL" },
    { { T("a.com"), NO, 1, 1 }, { T("b.a.com"), NO, 2, 1 }, "fewer rows than URLs" },
};

static void check_refused(void)
{
    struct dx_facts_writer w;
    struct dx_error err = DX_ERROR_INIT;
    static uint8_t text[DX_FACTS_HOST_MAX + 1];
    struct dx_fact path = { T("a.com"), T("/"), 5, 5 }, host = { NO, NO, 1, 1 };

    dx_facts_writer_init(&w);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        int rc;

        dx_facts_writer_begin(&w, dx_span_str("a.com"));
        EXPECT(dx_facts_writer_host(&w, &hosts[i].first, &err) == DX_OK, "%s", err.text);
        rc = dx_facts_writer_host(&w, &hosts[i].then, &err);
        EXPECT(hosts[i].say == NULL ? rc == DX_OK
                                    : rc == DX_E_INVALID && strstr(err.text, hosts[i].say) != NULL,
               "row %zu: %d, %s", i, rc, err.text);
    }
    dx_facts_writer_begin(&w, dx_span_str("a.com"));
    memset(text, 'a', sizeof text);
    host.host = dx_span_of(text, sizeof text);
    EXPECT(dx_facts_writer_host(&w, &host, &err) == DX_E_INVALID &&
               strstr(err.text, "is longer than a host may be") != NULL,
           "%s", err.text);
    for (int i = 0; i < 4; i++) {
        dx_facts_writer_begin(&w, dx_span_str("a.com"));
        EXPECT(dx_facts_writer_path(&w, DX_PATHS_EXACT, &path, &err) == DX_OK, "%s", err.text);
        host = path;
        host.url_count = i == 0 ? 0 : i == 1 ? 6 : 5; /* none; more than the path before */
        host.row_count = i == 2 ? 4 : 6;
        EXPECT(dx_facts_writer_path(&w, DX_PATHS_EXACT, &host, &err) ==
                   (i == 3 ? DX_OK : DX_E_INVALID),
               "path %d: %s", i, err.text);
    }
    dx_facts_writer_begin(&w, dx_span_str("a.com"));
    for (int i = 0; i < DX_FACTS_PATHS_MAX; i++)
        EXPECT(dx_facts_writer_path(&w, DX_PATHS_SECTION, &path, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_facts_writer_path(&w, DX_PATHS_SECTION, &path, &err) == DX_E_INVALID,
           "one path too many");
    dx_facts_writer_release(&w);
}

/* Paths of very many bytes are left out as a whole, and the answer says that there are none. */
static void check_long_paths(void)
{
    const struct list l = { { { T("a.com"), NO, 100, 100 } }, 1, { { NO, NO, 0, 0 } }, 0 };
    const struct dx_pair_count counts = total_of(&l);
    const uint64_t path_count[DX_PATHS_KINDS] = { 20, 1 };
    struct dx_fact path = { T("a.com"), NO, 5, 5 };
    struct dx_error err = DX_ERROR_INIT;
    struct dx_facts_writer w;
    struct dx_buf out = DX_BUF_INIT(DX_FACTS_BYTES_MAX);
    struct dx_facts f;
    uint8_t *text = calloc(1, 1u << 20);

    memset(text, '/', 1u << 20);
    path.path = dx_span_of(text, 1u << 20);
    dx_facts_writer_init(&w);
    dx_facts_writer_begin(&w, dx_span_str("a.com"));
    EXPECT(dx_facts_writer_host(&w, &l.hosts[0], &err) == DX_OK, "%s", err.text);
    for (int i = 0; i < 12; i++)
        EXPECT(dx_facts_writer_path(&w, DX_PATHS_EXACT, &path, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_facts_writer_end(&w, path_count, &out, &err) == DX_OK, "%s", err.text);
    EXPECT(dx_facts_open(&f, dx_span_of(out.data, out.size), dx_span_str("a.com"), &counts, &err) ==
               DX_OK,
           "%s", err.text);
    EXPECT(f.listed[DX_PATHS_EXACT] == 0 && out.size < 1000 &&
               dx_facts_path(&f, DX_PATHS_EXACT, &path, &err) == 0,
           "%u paths, %zu bytes", (unsigned)f.listed[DX_PATHS_EXACT], out.size);
    dx_facts_close(&f);
    dx_facts_writer_release(&w);
    dx_buf_release(&out);
    free(text);
}

int main(void)
{
    check_lists();
    check_refused();
    check_long_paths();
    return failures != 0;
}
