/* SPDX-License-Identifier: Apache-2.0
 * Listings from a version whose checksums are right and whose places are not: an error, never
 * another URL and never bytes that are not there. Windows and answers as such: test_answers.c.
 */
#include "loader/version.h"
#include "query/answers/answer.h"
#include "query/view/view.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"
#include "tests/support/version_model.h"

#define DOMAINS 7
#define DATASETS 3
#define FILE_AT 1 /* file of dataset 2 */
#define DATASET 2
#define BODY_MAX (1u << 20)

static unsigned failures;

/* All listings of the dataset, with caches that outlive the version; counts those that fail and
 * keeps the words of the last one. */
struct asker {
    struct dx_version_options options;
    struct dx_caches *caches;
    unsigned found, failed;
    char words[1024];
};

static void ask_all(struct asker *a, const struct dx_test_root *r, unsigned fields)
{
    struct dx_buf body = DX_BUF_INIT(BODY_MAX);
    struct dx_error err = DX_ERROR_INIT;
    struct dx_version *v = NULL;
    struct dx_canon *canon = NULL;

    a->found = a->failed = 0;
    a->words[0] = '\0';
    EXPECT(dx_version_open_named(&v, r->path, NULL, a->caches, &a->options, &err) == DX_OK, "%s",
           err.text);
    if (v == NULL || dx_version_canon_new(v, &canon, &err) < 0)
        abort();
    for (unsigned i = 0; i < DOMAINS; i++) {
        struct dx_problem problem;
        char name[64];
        int rc;

        dx_test_root_domain(i, name);
        dx_buf_clear(&body);
        rc = dx_answer_urls(DX_VIEW_ALL(v), canon, dx_span_str(name), DATASET,
                            (struct dx_page_of){ 0, 1000 }, fields, &body, &problem);
        a->found += rc == 1;
        a->failed += rc < 0;
        EXPECT(rc >= 0 || body.size == 0, "a body of %zu bytes beside an error", body.size);
        if (rc < 0)
            (void)snprintf(a->words, sizeof a->words, "%s", problem.detail);
    }
    dx_canon_free(&canon);
    dx_version_unpin(v);
    dx_buf_release(&body);
}

/* The record says of a page more rows than it has; the postings name them. The page itself lies in
 * the cache from before, as its key is the file's hash and the offset. */
static void more_rows_than_cached(struct dx_test_version *m)
{
    dx_test_version_edit_record(m, FILE_AT, MODEL_MORE_ROWS);
    m->tsv[FILE_AT].rows = m->pages[FILE_AT].rows;
    for (unsigned i = 0, done = 0; i < m->ordinals; i++)
        for (unsigned k = 0; k < m->set_size[i] && !done; k++) {
            uint64_t id = dx_hash64(dx_span_str(m->text.name[i]));

            if (m->sets[i][k] != DATASET)
                continue;
            for (unsigned p = 0; p < m->posting_count; p++) {
                struct dx_run *run = &m->postings[p].runs[0];

                if (m->postings[p].domain_id != id || m->postings[p].dataset_id != DATASET)
                    continue;
                run->first_row = m->pages[FILE_AT].rows - MODEL_MORE;
                run->row_count = MODEL_MORE;
                m->counts[i][k].row_count += MODEL_MORE;
                done = 1;
            }
        }
    dx_test_version_retotal(m);
}

static void host_is_path(struct dx_test_version *m)
{
    dx_test_version_edit_record(m, FILE_AT, MODEL_ROLE);
}

static void wrong_sum(struct dx_test_version *m)
{
    dx_test_version_edit_record(m, FILE_AT, MODEL_SUM);
}

static void run_behind_group(struct dx_test_version *m)
{
    for (unsigned p = 0; p < m->posting_count; p++)
        if (m->postings[p].dataset_id == DATASET)
            m->postings[p].runs[0].first_row = UINT64_MAX - m->postings[p].runs[0].row_count;
}

static const struct {
    void (*damage)(struct dx_test_version *m);
    bool warm; /* with the pages of the sound version in the cache */
    unsigned fields;
    unsigned found; /* listings that need nothing of the damage */
    const char *words;
} rows[] = {
    { more_rows_than_cached, true, DX_FIELDS_DEFAULT, 0, "rows, pages.dxp says" },
    { more_rows_than_cached, false, DX_FIELDS_DEFAULT, 0, "rows, pages.dxp says" },
    { host_is_path, false, DX_FIELD_URL, 0, "scheme, host and path_query once each" },
    { host_is_path, true, DX_FIELD_URL_ID, 0, "scheme, host and path_query once each" },
    { host_is_path, false, DX_FIELD_TS, 5, "" },
    { wrong_sum, false, DX_FIELD_URL, 0, "page at offset" },
    { run_behind_group, false, DX_FIELD_URL, 0, "not in pages.dxp" },
    { run_behind_group, true, DX_FIELD_TS, 0, "" },
};

int main(void)
{
    struct dx_test_version *sound = malloc(sizeof *sound);
    struct dx_test_version *m = malloc(sizeof *m);
    struct dx_test_root r;
    unsigned members = 0;

    if (sound == NULL || m == NULL)
        abort();
    for (unsigned i = 0; i < DOMAINS; i++)
        members += dx_test_root_member(i, DATASET);
    dx_test_root_make(&r, DOMAINS, DATASETS);
    dx_test_version_read(sound, r.path);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct asker a = { .options = DX_VERSION_OPTIONS_DEFAULT };
        struct dx_error err = DX_ERROR_INIT;

        if (dx_caches_new(&a.caches, &a.options, &err) < 0)
            abort();
        dx_test_version_write(sound, r.path);
        if (rows[i].warm) {
            ask_all(&a, &r, rows[i].fields);
            EXPECT(a.found == members && a.failed == 0, "row %zu: sound: %u of %u: %s", i, a.found,
                   members, a.words);
        }
        *m = *sound;
        rows[i].damage(m);
        dx_test_version_write(m, r.path);
        ask_all(&a, &r, rows[i].fields);
        EXPECT(a.found == rows[i].found && a.found + a.failed == members &&
                   strstr(a.words, rows[i].words) != NULL,
               "row %zu: %u found, %u failed: %s", i, a.found, a.failed, a.words);
        dx_caches_free(&a.caches);
    }
    dx_test_root_remove(&r);
    free(sound);
    free(m);
    return failures == 0 ? 0 : 1;
}
