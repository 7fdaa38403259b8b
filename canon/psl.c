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

struct dx_psl {
    psl_ctx_t *rules;
    struct dx_suffix_rules *quick; /* NULL: libpsl is asked about all names */
};

int dx_psl_new(struct dx_psl **psl, struct dx_span text, struct dx_error *err)
{
    struct dx_psl *made = NULL;
    FILE *stream = NULL;
    int rc = DX_OK;

    *psl = NULL;
    if (text.size == 0)
        return dx_fail(err, DX_E_INVALID, "public suffix list: empty");
    if (text.size > DX_PSL_TEXT_MAX)
        return dx_fail(err, DX_E_LIMIT, "public suffix list: %zu bytes, at most %zu are read",
                       text.size, DX_PSL_TEXT_MAX);
    made = calloc(1, sizeof *made);
    if (made == NULL) {
        rc = dx_no_memory(err, "public suffix list");
        goto out;
    }
    /* Mode "r" never writes through the pointer. */
    stream = fmemopen((void *)(uintptr_t)text.data, text.size, "r");
    if (stream == NULL) {
        rc = dx_fail_errno(err, errno, "public suffix list: fmemopen");
        goto out;
    }
    made->rules = psl_load_fp(stream);
    if (made->rules == NULL) {
        rc = dx_no_memory(err, "public suffix list: libpsl could not load it");
        goto out;
    }
    if (psl_suffix_count(made->rules) <= 0) {
        rc = dx_fail(err, DX_E_CORRUPT, "public suffix list: no rule in %zu bytes", text.size);
        goto out;
    }
    rc = dx_suffix_rules_new(&made->quick, text, err);
    if (rc < 0)
        goto out;
    *psl = made;
    made = NULL;
out:
    if (stream != NULL)
        (void)fclose(stream);
    dx_psl_free(&made);
    return rc;
}

void dx_psl_free(struct dx_psl **psl)
{
    if (*psl == NULL)
        return;
    psl_free((*psl)->rules);
    dx_suffix_rules_free(&(*psl)->quick);
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
    return (struct dx_span){ name.data + skip, name.size - skip };
}

static bool ask_libpsl(const struct dx_psl *psl, struct dx_span name, struct dx_span *domain)
{
    char text[TAIL_MAX + 1];
    const char *found;

    memcpy(text, name.data, name.size);
    text[name.size] = '\0';
    found = psl_registrable_domain(psl->rules, text);
    /* libpsl takes "a...com" for a name with the domain "..com". An empty label names nothing. */
    if (found == NULL || found[0] == '.')
        return false;
    domain->data = name.data + (found - text);
    domain->size = name.size - (size_t)(found - text);
    return true;
}

int dx_psl_domain(const struct dx_psl *psl, struct dx_span hostname, struct dx_span *domain)
{
    struct dx_span name = hostname;
    struct dx_span found = { NULL, 0 };
    int rc = DX_SUFFIX_UNKNOWN;

    *domain = (struct dx_span){ NULL, 0 };
    if (name.size > 0 && name.data[name.size - 1] == '.')
        name.size--;
    name = tail_of(name);
    if (name.size == 0 || name.data[0] == '.' || name.data[name.size - 1] == '.' ||
        memchr(name.data, '\0', name.size) != NULL)
        return 0;
    if (psl->quick != NULL)
        rc = dx_suffix_rules_find(psl->quick, name, &found);
    if (rc == DX_SUFFIX_UNKNOWN)
        rc = ask_libpsl(psl, name, &found);
    if (rc == 0 || found.size > DX_DOMAIN_MAX)
        return 0;
    *domain = found;
    return 1;
}
