/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSIONS_MAX 512
#define PUBLISHERS_MAX 8

struct bounds {
    struct sim_rows must, may;
};

static struct version {
    char name[32];
    struct bounds bounds;
    bool seen;
    struct sim_rows rows;
    bool gone[SIM_DATASETS]; /* removed since: another dataset may have the name now */
} versions[VERSIONS_MAX];
static size_t version_count, current; /* current: 1 + place; 0: none */

static struct publish {
    const char *publisher; /* NULL: this place is free */
    struct bounds bounds;  /* may: only what is beside `tried` */
    struct sim_rows
        kept; /* of the version that was current when it began, as far as they were seen */
    bool is_merge;
} publishes[PUBLISHERS_MAX];

static struct sim_rows stored, tried;
static bool uncertain[SIM_DATASETS]; /* whether it was removed is not known */
static bool rolled_back;
static char words[400];

void sim_model_begin(void)
{
    version_count = current = 0;
    memset(publishes, 0, sizeof publishes);
    memset(&stored, 0, sizeof stored);
    memset(&tried, 0, sizeof tried);
    memset(uncertain, 0, sizeof uncertain);
    rolled_back = false;
}

const char *sim_dataset_name(unsigned dataset)
{
    static const char *const names[SIM_DATASETS] = { "alpha", "beta", "gamma" };

    return names[dataset];
}

void sim_domain(unsigned domain, char out[64])
{
    (void)snprintf(out, 64, "d%u.com", domain);
}

void sim_url(unsigned dataset, unsigned row, char out[64])
{
    (void)snprintf(out, 64, "https://d%u.com/%u-%u", row % SIM_DOMAINS, dataset, row);
}

bool sim_row_of(const char *url, unsigned dataset, unsigned *row)
{
    const char *dash = strrchr(url, '-');
    char want[64];

    *row = dash == NULL ? SIM_ROWS : (unsigned)strtoul(dash + 1, NULL, 10);
    if (*row >= SIM_ROWS)
        return false;
    sim_url(dataset, *row, want);
    return strcmp(url, want) == 0;
}

void sim_model_try(unsigned dataset, uint32_t rows)
{
    tried.of[dataset] |= rows;
}

void sim_model_store(unsigned dataset, uint32_t rows)
{
    if (!uncertain[dataset])
        stored.of[dataset] |= rows;
}

void sim_model_remove_begin(unsigned dataset)
{
    stored.of[dataset] = 0;
    for (size_t i = 0; i < PUBLISHERS_MAX; i++)
        publishes[i].bounds.must.of[dataset] = publishes[i].kept.of[dataset] = 0;
    for (size_t i = 0; i < version_count; i++)
        versions[i].gone[dataset] = true;
}

void sim_model_remove_end(unsigned dataset, bool certain)
{
    if (!certain) {
        uncertain[dataset] = true;
        return;
    }
    for (size_t i = 0; i < PUBLISHERS_MAX; i++)
        publishes[i].bounds.may.of[dataset] |= tried.of[dataset];
    if (!uncertain[dataset])
        tried.of[dataset] = 0;
}

void sim_model_rolled_back(void)
{
    rolled_back = true;
    for (size_t i = 0; i < PUBLISHERS_MAX; i++)
        memset(&publishes[i].bounds.must, 0, sizeof publishes[i].bounds.must);
}

static struct publish *publish_of(const char *publisher)
{
    for (size_t i = 0; i < PUBLISHERS_MAX; i++)
        if (publishes[i].publisher != NULL && strcmp(publishes[i].publisher, publisher) == 0)
            return &publishes[i];
    return NULL;
}

void sim_model_publish_begin(const char *publisher)
{
    size_t i = 0;

    while (publishes[i].publisher != NULL)
        if (++i == PUBLISHERS_MAX)
            abort();
    publishes[i] = (struct publish){ .publisher = publisher };
    if (!rolled_back)
        publishes[i].bounds.must = stored;
    for (unsigned d = 0; d < SIM_DATASETS; d++)
        if (current > 0 && versions[current - 1].seen && !versions[current - 1].gone[d])
            publishes[i].kept.of[d] = versions[current - 1].rows.of[d];
}

void sim_model_merge_begin(const char *publisher)
{
    sim_model_publish_begin(publisher);
    publish_of(publisher)->is_merge = true;
}

void sim_model_publish_end(const char *publisher)
{
    struct publish *p = publish_of(publisher);

    if (p != NULL)
        p->publisher = NULL;
}

static struct version *version_of(const char *name)
{
    for (size_t i = 0; i < version_count; i++)
        if (strcmp(versions[i].name, name) == 0)
            return &versions[i];
    return NULL;
}

void sim_model_flip(const char *publisher, const char *name, bool short_listing)
{
    const struct publish *p = publisher == NULL ? NULL : publish_of(publisher);
    struct version *v;

    v = version_of(name);
    if (v != NULL) { /* of a rollback, or of a collector's put */
        current = (size_t)(v - versions) + 1;
        return;
    }
    if (version_count == VERSIONS_MAX)
        abort();
    v = &versions[version_count++];
    if (p != NULL && p->is_merge && current > 0) {
        *v = versions[current - 1];
        current = version_count;
        (void)snprintf(v->name, sizeof v->name, "%s", name);
        return;
    }
    current = version_count;
    *v = (struct version){ .bounds.may = tried };
    (void)snprintf(v->name, sizeof v->name, "%s", name);
    for (unsigned d = 0; d < SIM_DATASETS; d++) {
        v->bounds.must.of[d] = p == NULL ? 0 : p->bounds.must.of[d];
        if (p != NULL && short_listing)
            v->bounds.must.of[d] &= p->kept.of[d];
        v->bounds.may.of[d] |= p == NULL ? UINT32_MAX : p->bounds.may.of[d];
        v->gone[d] = p == NULL; /* its writer may have begun before a removal */
    }
}

static const char *differ(const char *what, const char *version, unsigned d, uint32_t rows)
{
    (void)snprintf(words, sizeof words, "%s: version %s, dataset %s, rows %06x", what, version,
                   sim_dataset_name(d), rows);
    return words;
}

const char *sim_model_see(const char *name, const struct sim_rows *rows)
{
    struct version *v = version_of(name);

    if (v == NULL) {
        (void)snprintf(words, sizeof words, "a version that no manifest had: %s", name);
        return words;
    }
    for (unsigned d = 0; d < SIM_DATASETS; d++) {
        uint32_t lost = v->bounds.must.of[d] & ~rows->of[d];
        uint32_t extra = rows->of[d] & ~v->bounds.may.of[d];

        if (lost != 0)
            return differ("rows are lost", name, d, lost);
        if (extra != 0)
            return differ("rows that must not be there", name, d, extra);
        if (v->seen && v->rows.of[d] != rows->of[d])
            return differ("the version has changed", name, d, v->rows.of[d] ^ rows->of[d]);
    }
    v->seen = true;
    v->rows = *rows;
    return NULL;
}

const char *sim_model_see_last(const struct sim_rows *rows)
{
    for (unsigned d = 0; d < SIM_DATASETS && !rolled_back; d++)
        if ((stored.of[d] & ~rows->of[d]) != 0)
            return differ("rows are lost at the end", "last", d, stored.of[d] & ~rows->of[d]);
    return NULL;
}
