/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/completion.h"

#include "canon/url.h"
#include "loader/part.h"

#include <assert.h>
#include <string.h>

/* Suffixes with many registered domains, the largest first. docs/API.md lists them. */
const char *const dx_completion_suffixes[] = {
    "com",   "org",    "net",    "de",     "co.uk",  "ru",     "nl",        "info",  "fr",
    "it",    "io",     "com.br", "eu",     "ch",     "pl",     "com.au",    "ca",    "es",
    "jp",    "co.jp",  "in",     "edu",    "us",     "at",     "be",        "se",    "cz",
    "dk",    "gov",    "cn",     "com.cn", "org.uk", "ac.uk",  "uk",        "no",    "fi",
    "hu",    "ro",     "gr",     "biz",    "me",     "co",     "tv",        "co.za", "kr",
    "co.kr", "com.tr", "com.mx", "com.ar", "com.ua", "sk",     "pt",        "ie",    "ir",
    "co.nz", "co.il",  "co.in",  "org.au", "xyz",    "online", "github.io", "app",   "dev",
    "ai",    NULL,
};

enum { RANK_DOMAIN, RANK_LABEL, RANK_LONGER = 1000 };

/* ---- what was typed ---- */

static size_t find_byte(struct dx_span s, const char *bytes)
{
    size_t i = 0;

    while (i < s.size && (s.data[i] == '\0' || strchr(bytes, s.data[i]) == NULL))
        i++;
    return i;
}

/* The host of a URL, or all of a name. */
static struct dx_span find_host(struct dx_span s)
{
    size_t n;

    while (s.size > 0 && s.data[0] <= ' ')
        s = dx_span_from(s, 1);
    while (s.size > 0 && s.data[s.size - 1] <= ' ')
        s.size--;
    n = find_byte(s, ":/?#@");
    if (s.size - n >= 3 && memcmp(s.data + n, "://", 3) == 0)
        s = dx_span_from(s, n + 3);
    else if (s.size >= 2 && memcmp(s.data, "//", 2) == 0)
        s = dx_span_from(s, 2);
    s.size = find_byte(s, "/?#\\");
    while ((n = find_byte(s, "@")) < s.size)
        s = dx_span_from(s, n + 1);
    s.size = find_byte(s, ":");
    return s;
}

/* Copied in lower case; false if it holds a byte that only the canonicaliser reads. */
static bool copy_plain(struct dx_completion_typed *t, struct dx_span host)
{
    for (size_t i = 0; i < host.size; i++) {
        uint8_t c = host.data[i];

        if (c >= 'A' && c <= 'Z')
            c |= 0x20;
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.'))
            return false;
        t->text[i] = c;
    }
    t->size = host.size;
    return true;
}

/* With a label behind it: a name that is not whole yet has no registered domain. */
static void copy_canonical(struct dx_completion_typed *t, struct dx_canon *canon,
                           struct dx_span host)
{
    static const char behind[] = ".example";
    const size_t more = sizeof behind - 1;
    uint8_t text[DX_SURT_MAX + sizeof behind];
    bool dot = host.data[host.size - 1] == '.';
    enum dx_reject why;
    struct dx_url url;

    memcpy(text, host.data, host.size);
    memcpy(text + host.size, behind + dot, more - dot);
    if (dx_canon_url(canon, dx_span_of(text, host.size + more - dot), &url, &why) != 1 ||
        url.hostname.size <= more || url.hostname.size - more + dot > DX_DOMAIN_MAX)
        return;
    t->size = url.hostname.size - more + dot;
    memcpy(t->text, url.hostname.data, t->size);
}

void dx_completion_read(struct dx_completion_typed *t, struct dx_canon *canon, struct dx_span asked)
{
    struct dx_span host = find_host(asked);
    enum dx_reject why;
    struct dx_span domain;

    *t = (struct dx_completion_typed){ .size = 0 };
    if (dx_canon_domain(canon, asked, &domain, &why) == 1 && domain.size <= DX_DOMAIN_MAX) {
        t->domain_size = domain.size;
        memcpy(t->domain, domain.data, domain.size);
    }
    if (host.size == 0 || host.size > DX_DOMAIN_MAX)
        return;
    if (!copy_plain(t, host))
        copy_canonical(t, canon, host);
    if (t->size > 4 && memcmp(t->text, "www.", 4) == 0) {
        t->size -= 4;
        memmove(t->text, t->text + 4, t->size);
    }
    t->label_size = find_byte(dx_span_of(t->text, t->size), ".");
    t->dotted = t->label_size < t->size;
    if (t->label_size == 0)
        t->size = 0;
}

/* ---- the search ---- */

struct search {
    const struct dx_part *part;
    const struct dx_completion_typed *typed;
    const struct dx_completion_filter *filter;
    struct dx_completion *found;
    size_t max;
    size_t n;
};

static bool has_already(const struct search *s, struct dx_span domain)
{
    for (size_t i = 0; i < s->n; i++)
        if (dx_span_equal(dx_span_of(s->found[i].domain, s->found[i].size), domain))
            return true;
    return false;
}

/* Adds the domain of an ordinal that the filter's next gave. */
static int add_found(struct search *s, unsigned rank, uint64_t ordinal, struct dx_span domain,
                     struct dx_error *err)
{
    int rc;

    if (has_already(s, domain))
        return DX_OK;
    rc = s->filter->shows(s->filter->ctx, s->part, ordinal, domain, err);
    if (rc <= 0)
        return rc;
    s->found[s->n].rank = rank;
    s->found[s->n].size = domain.size;
    memcpy(s->found[s->n++].domain, domain.data, domain.size);
    return DX_OK;
}

/* One domain, if the part has it. */
static int add_domain(struct search *s, unsigned rank, struct dx_span domain, struct dx_error *err)
{
    uint8_t key[DX_SURT_MAX];
    size_t size = dx_surt_key(domain, key);
    uint64_t ordinal;
    uint64_t visible;
    int rc;

    if (size == 0 || s->n == s->max)
        return DX_OK;
    rc = dx_dictionary_find(&s->part->dictionary, dx_span_of(key, size), &ordinal, err);
    if (rc <= 0)
        return rc;
    rc = s->filter->next(s->filter->ctx, s->part, ordinal, ordinal + 1, &visible, err);
    if (rc < 0 || visible != ordinal)
        return rc;
    return add_found(s, rank, ordinal, domain, err);
}

static bool suffix_fits(const struct dx_completion_typed *t, const char *suffix)
{
    size_t behind = t->dotted ? t->size - t->label_size - 1 : 0;

    return strlen(suffix) >= behind &&
           (behind == 0 || memcmp(t->text + t->label_size + 1, suffix, behind) == 0);
}

/* "LABEL.SUFFIX"; size 0: too long. */
static struct dx_span join_domain(const struct dx_completion_typed *t, const char *suffix,
                                  uint8_t out[DX_SURT_MAX])
{
    size_t n = strlen(suffix);

    if (t->label_size + 1 + n > DX_DOMAIN_MAX)
        return dx_span_of(out, 0);
    memcpy(out, t->text, t->label_size);
    out[t->label_size] = '.';
    memcpy(out + t->label_size + 1, suffix, n);
    return dx_span_of(out, t->label_size + 1 + n);
}

static int read_key(const struct search *s, uint64_t ordinal, uint8_t key[DX_SURT_MAX],
                    size_t *size, struct dx_error *err)
{
    struct dx_dictionary_cursor c;
    struct dx_span text;
    int rc;

    dx_dictionary_seek(&c, &s->part->dictionary, ordinal);
    rc = dx_dictionary_next(&c, &text, err);
    if (rc == 0)
        rc = dx_fail(err, DX_E_CORRUPT, "%s: there is no domain with ordinal %llu",
                     s->part->directory, (unsigned long long)ordinal);
    if (rc < 0)
        return rc;
    memcpy(key, text.data, text.size);
    *size = text.size;
    return DX_OK;
}

/* Those of one suffix with a label that goes on. Domains with more labels are of another suffix,
 * a private one below it (github.io below io): they lie together and are passed at once. */
static int add_longer(struct search *s, unsigned rank, struct dx_span domain, struct dx_error *err)
{
    const struct dx_dictionary *d = &s->part->dictionary;
    uint8_t key[DX_SURT_MAX + 1];
    uint8_t text[DX_SURT_MAX + 1];
    size_t prefix = dx_surt_key(domain, key);
    uint64_t ordinal;
    uint64_t end;
    int rc;

    if (prefix == 0)
        return DX_OK;
    rc = dx_dictionary_lower_bound(d, dx_span_of(key, prefix), &ordinal, err);
    key[prefix] = 0xff;
    if (rc >= 0)
        rc = dx_dictionary_lower_bound(d, dx_span_of(key, prefix + 1), &end, err);
    while (rc >= 0 && s->n < s->max && ordinal < end) {
        size_t size = 0;
        size_t label;

        rc = s->filter->next(s->filter->ctx, s->part, ordinal, end, &ordinal, err);
        if (rc < 0 || ordinal >= end)
            break;
        rc = read_key(s, ordinal, text, &size, err);
        if (rc < 0)
            break;
        label = prefix;
        while (label < size && text[label] != ' ')
            label++;
        if (label < size) {
            text[label] = ' ' + 1; /* labels have no byte between them and the space */
            rc = dx_dictionary_lower_bound(d, dx_span_of(text, label + 1), &ordinal, err);
            continue;
        }
        size = dx_surt_domain(dx_span_of(text, size), key);
        rc = add_found(s, rank, ordinal, dx_span_of(key, size), err);
        ordinal++;
    }
    return rc < 0 ? rc : DX_OK;
}

int dx_completion_search(const struct dx_part *part, const struct dx_completion_typed *t,
                         const struct dx_completion_filter *filter, struct dx_completion *found,
                         size_t max, size_t *n, struct dx_error *err)
{
    struct search s = { .part = part, .typed = t, .filter = filter, .found = found, .max = max };
    uint8_t text[DX_SURT_MAX];
    int rc = DX_OK;

    assert(max > 0);
    *n = 0;
    if (t->domain_size > 0)
        rc = add_domain(&s, RANK_DOMAIN, dx_span_of(t->domain, t->domain_size), err);
    for (unsigned i = 0; rc >= 0 && t->size > 0 && dx_completion_suffixes[i] != NULL; i++)
        if (suffix_fits(t, dx_completion_suffixes[i]))
            rc = add_domain(&s, RANK_LABEL + i, join_domain(t, dx_completion_suffixes[i], text),
                            err);
    for (unsigned i = 0; rc >= 0 && t->size > 0 && !t->dotted && dx_completion_suffixes[i] != NULL;
         i++)
        if (s.n < s.max)
            rc = add_longer(&s, RANK_LONGER + i, join_domain(t, dx_completion_suffixes[i], text),
                            err);
    *n = s.n;
    return rc < 0 ? rc : DX_OK;
}

int dx_completion_compare(const void *a, const void *b)
{
    const struct dx_completion *x = a;
    const struct dx_completion *y = b;
    size_t n = x->size < y->size ? x->size : y->size;
    int rc = memcmp(x->domain, y->domain, n);

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return rc != 0 ? rc : (x->size > y->size) - (x->size < y->size);
}
