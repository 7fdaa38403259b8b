/* SPDX-License-Identifier: Apache-2.0
 * Which keys the URLs between two others may have, against the keys of all URLs between them: NOTHING and ALL are always right, and they are often said.
 */
#include "query/cdx/cdx_between.h"

#include <stdlib.h>

#include "canon/psl.h"
#include "canon/url.h"
#include "tests/support/damage.h"

#define PATHS 500
#define QUESTIONS 60000

static unsigned failures;
static uint64_t seed = 7;

struct entry {
    char path[200], key[400];
    bool strays; /* nothing is said of it */
};

static const char *const tokens[] = {
    "a",
    "b",
    "A",
    "B",
    "/",
    "/",
    "/",
    "%20",
    "%D0%9C",
    "%d1",
    "%2F",
    "%41",
    "%5E",
    "%25",
    "(",
    ")",
    "-",
    "_",
    "~",
    "?",
    "&",
    "=",
    "z",
    "Z",
    "%zz",
    "%C",
    "%7C",
    "%28",
    "b/b",
    "a/b",
    "a/b",
    "%2f",
    "%2Fa",
    "a/",
    "b/?",
    "é",
    ".a",
    "%3F",
    "+",
    "sid=0123456789abcdef0123456789abcdef",
    "(0123456789abcdefghijklmn)/",
    "x.aspx",
    "..%2F",
    "%2E.%2f",
    "%252e%2e/",
};

static uint64_t below(uint64_t n)
{
    return random_below(&seed, n);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static bool make(struct dx_canon *canon, struct dx_urlkey *k, struct entry *e)
{
    char text[300] = "http://example.com/";
    struct dx_url url;
    enum dx_reject why;

    for (uint64_t n = below(9); n > 0; n--)
        (void)strcat(text, tokens[below(sizeof tokens / sizeof *tokens)]);
    if (dx_canon_url(canon, dx_span_str(text), &url, &why) != 1 ||
        !dx_urlkey_make(k, url.host, url.path_query) || url.path_query.size >= sizeof e->path ||
        k->key.size >= sizeof e->key)
        return false;
    (void)snprintf(e->path, sizeof e->path, "%.*s", (int)url.path_query.size,
                   (const char *)url.path_query.data);
    e->strays = dx_urlkey_strays(k, url.path_query) == 1;
    (void)snprintf(e->key, sizeof e->key, "%.*s", (int)k->key.size, (const char *)k->key.data);
    return true;
}

/* A key, or one cut, with a byte more. */
static void make_bound(const struct entry *entries, char *out)
{
    const char *key = entries[below(PATHS)].key;
    size_t size = below(2) == 0 ? strlen(key) : 12 + below(strlen(key) - 11);

    (void)snprintf(out, 410, "%.*s%s", (int)size, key, below(3) == 0 ? "!" : "");
    if (below(4) == 0)
        out[strlen(out) - 1]++;
}

static void check(struct dx_cdx_between *b, const struct entry *entries, size_t *nothing,
                  size_t *said)
{
    char low[420], high[420];
    size_t first = below(PATHS);
    size_t last = first + below(below(2) == 0 ? 20 : PATHS - first);
    struct dx_cdx_keys keys;
    enum dx_cdx_answer answer;
    size_t within = 0;
    size_t count = 0;

    if (last >= PATHS)
        last = PATHS - 1;
    make_bound(entries, low);
    make_bound(entries, high);
    if (below(3) == 0)
        (void)snprintf(high, sizeof high, "%.409s!", low);
    keys = (struct dx_cdx_keys){ dx_span_str(low), dx_span_str(below(9) == 0 ? "" : high) };
    answer = dx_cdx_between(b, &keys, dx_span_str("www.example.com"),
                            dx_span_str(entries[first].path), dx_span_str(entries[last].path));
    for (size_t i = first; i <= last; i++) {
        count += !entries[i].strays;
        within += !entries[i].strays && dx_cdx_keys_has(&keys, dx_span_str(entries[i].key));
    }
    EXPECT(answer != DX_CDX_NOTHING || within == 0, "%zu URLs of [%s, %s) between %s and %s",
           within, low, high, entries[first].path, entries[last].path);
    EXPECT(answer != DX_CDX_ALL || within == count, "%zu URLs of %zu of [%s, %s) between %s and %s",
           within, count, low, high, entries[first].path, entries[last].path);
    *nothing += within == 0;
    *said += within == 0 && answer == DX_CDX_NOTHING;
}

int main(void)
{
    static struct entry entries[PATHS];
    struct dx_error err = DX_ERROR_INIT;
    struct dx_canon *canon = NULL;
    struct dx_psl *psl = NULL;
    struct dx_cdx_between b;
    struct dx_urlkey k;
    size_t nothing = 0;
    size_t said = 0;

    if (dx_psl_new(&psl, dx_span_str("com\n"), &err) < 0 || dx_canon_new(&canon, psl, &err) < 0)
        return 1;
    dx_urlkey_init(&k);
    dx_cdx_between_init(&b);
    for (unsigned round = 0; round < 10; round++) {
        for (size_t i = 0; i < PATHS;)
            i += make(canon, &k, &entries[i]);
        qsort(entries, PATHS, sizeof *entries, by_path);
        for (unsigned i = 0; i < QUESTIONS / 10; i++)
            check(&b, entries, &nothing, &said);
    }
    EXPECT(said > nothing / 2, "NOTHING was said of %zu of %zu", said, nothing);
    printf("NOTHING was said of %zu of %zu\n", said, nothing);
    dx_cdx_between_release(&b);
    dx_urlkey_release(&k);
    dx_canon_free(&canon);
    dx_psl_free(&psl);
    return failures > 0;
}
