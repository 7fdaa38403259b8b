/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/psl.h"

#include <errno.h>
#include <libpsl.h>
#include <stdio.h>
#include <stdlib.h>

#include "canon/suffix_rules.h"

/* A registered domain and its dot are at the end, so a longer host is looked at from its
 * tail only; twice DX_DOMAIN_MAX leaves room to see that a domain is over it. */
enum { TAIL_MAX = 2 * DX_DOMAIN_MAX };

/* One of the two. */
struct dx_psl {
    struct dx_suffix_rules *table;
    psl_ctx_t *rules; /* of a text that has no table */
};

static int load_libpsl(psl_ctx_t **rules, struct dx_span text, struct dx_error *err)
{
    /* Mode "r" never writes through the pointer. */
    FILE *stream = fmemopen((void *)(uintptr_t)text.data, text.size, "r");

    if (stream == NULL)
        return dx_fail_errno(err, errno, "public suffix list: fmemopen");
    *rules = psl_load_fp(stream);
    (void)fclose(stream);
    return *rules == NULL ? dx_no_memory(err, "public suffix list: libpsl could not load it")
                          : DX_OK;
}

int dx_psl_new(struct dx_psl **psl, struct dx_span text, struct dx_error *err)
{
    return dx_psl_new_below(psl, text, (struct dx_span){ NULL, 0 }, err);
}

int dx_psl_new_below(struct dx_psl **psl, struct dx_span text, struct dx_span tail,
                     struct dx_error *err)
{
    struct dx_psl *made = NULL;
    int rc;

    *psl = NULL;
    if (text.size == 0)
        return dx_fail(err, DX_E_INVALID, "public suffix list: empty");
    if (text.size > DX_PSL_TEXT_MAX)
        return dx_fail(err, DX_E_LIMIT, "public suffix list: %zu bytes, at most %zu are read",
                       text.size, DX_PSL_TEXT_MAX);
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return dx_no_memory(err, "public suffix list");
    rc = dx_suffix_rules_new_below(&made->table, text, tail, err);
    if (rc == DX_OK && made->table == NULL)
        rc = load_libpsl(&made->rules, text, err);
    if (rc == DX_OK && (made->table != NULL ? dx_suffix_rules_count(made->table) == 0
                                            : psl_suffix_count(made->rules) <= 0))
        rc = dx_fail(err, DX_E_CORRUPT, "public suffix list: no rule in %zu bytes", text.size);
    if (rc < 0)
        dx_psl_free(&made);
    *psl = made;
    return rc;
}

void dx_psl_free(struct dx_psl **psl)
{
    if (*psl == NULL)
        return;
    psl_free((*psl)->rules);
    dx_suffix_rules_free(&(*psl)->table);
    free(*psl);
    *psl = NULL;
}

/* The last labels of name, at most TAIL_MAX bytes; empty if no label border is near enough. */
static struct dx_span tail_of(struct dx_span name)
{
    const uint8_t *dot;
    size_t skip;

    if (name.size <= TAIL_MAX)
        return name;
    skip = name.size - TAIL_MAX;
    dot = memchr(name.data + skip, '.', TAIL_MAX);
    if (dot == NULL)
        return (struct dx_span){ NULL, 0 };
    skip = (size_t)(dot + 1 - name.data);
    return dx_span_from(name, skip);
}

/* By the ICANN section alone, as psl_registrable_domain does by all rules. */
static const char *ask_icann(const struct dx_psl *psl, const char *name)
{
    const char *found = NULL;

    while (psl_is_public_suffix2(psl->rules, name, PSL_TYPE_ICANN) == 0) {
        found = name;
        name = strchr(name, '.');
        if (name == NULL)
            break;
        name++;
    }
    return found;
}

static int ask_libpsl(const struct dx_psl *psl, struct dx_span name, enum dx_suffix_section of,
                      struct dx_span *domain)
{
    char text[TAIL_MAX + 1];
    const char *found;

    memcpy(text, name.data, name.size);
    text[name.size] = '\0';
    found = of == DX_SUFFIX_ICANN ? ask_icann(psl, text) : psl_registrable_domain(psl->rules, text);
    if (found == NULL)
        return 0;
    domain->data = name.data + (found - text);
    domain->size = name.size - (size_t)(found - text);
    return 1;
}

static int find_domain(const struct dx_psl *psl, struct dx_span hostname, enum dx_suffix_section of,
                       struct dx_span *domain)
{
    struct dx_span name = hostname;
    struct dx_span found = { NULL, 0 };
    int rc;

    *domain = (struct dx_span){ NULL, 0 };
    if (name.size > 0 && name.data[name.size - 1] == '.')
        name.size--;
    name = tail_of(name);
    if (name.size == 0 || name.data[0] == '.' || name.data[name.size - 1] == '.' ||
        memchr(name.data, '\0', name.size) != NULL)
        return 0;
    rc = psl->table != NULL ? dx_suffix_rules_find(psl->table, name, of, &found)
                            : ask_libpsl(psl, name, of, &found);
    /* libpsl takes "a...com" for a name with the domain "..com". An empty label names nothing. */
    if (rc == 0 || found.data[0] == '.' || found.size > DX_DOMAIN_MAX)
        return 0;
    *domain = found;
    return 1;
}

int dx_psl_domain(const struct dx_psl *psl, struct dx_span hostname, struct dx_span *domain)
{
    return find_domain(psl, hostname, DX_SUFFIX_ALL, domain);
}

int dx_psl_icann_domain(const struct dx_psl *psl, struct dx_span hostname, struct dx_span *domain)
{
    return find_domain(psl, hostname, DX_SUFFIX_ICANN, domain);
}
