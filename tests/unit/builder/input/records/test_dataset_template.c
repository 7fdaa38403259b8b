/* SPDX-License-Identifier: Apache-2.0
 * Names of datasets by templates and paths, and that every profile has one that holds.
 */
#include "builder/input/records/dataset_template.h"

#include <stdlib.h>
#include <string.h>

#include "builder/input/records/profile.h"
#include "tests/support/fail.h"

static unsigned failures;

static const struct {
    const char *text;
    const char *prefix; /* NULL: refused */
    const char *column;
} templates[] = {
    { "c4", "c4", "" },
    { "{crawl}", "{crawl}", "" },
    { "a-{folder}-{file}.x", "a-{folder}-{file}.x", "" },
    { "fineweb-{dump}", "fineweb-", "dump" },
    { "{metadata.\"WARC-Type\"}", "", "metadata.\"WARC-Type\"" },
    { "{folder}/{lang}", "{folder}/", "lang" },
    { "", NULL, NULL },
    { "{}", NULL, NULL },
    { "a{", NULL, NULL },
    { "a{crawl", NULL, NULL },
    { "{a}{b}", NULL, NULL },
    { "{a}-", NULL, NULL },
    { "}", "}", "" },
};

static const struct {
    const char *prefix;
    const char *path;
    const char *want; /* NULL: refused */
} names[] = {
    { "c4", "x", "c4" },
    { "{file}", "a/b/part-00000.json.gz", "part-00000" },
    { "{file}", "fa.cdxj", "fa" },
    { "{file}", "a/CC-1.warc.wet.gz", "CC-1" },
    { "{file}", "a/.gz", ".gz" },
    { "{file}", "a/", NULL },
    { "x-{folder}", "a/b/c.parquet", "x-b" },
    { "x-{folder}", "/c.parquet", NULL },
    { "x-{folder}", "c.parquet", NULL },
    { "{folder}", "a//c.parquet", NULL },
    { "{crawl}", "s3://b/crawl=CC-MAIN-2024-10/subset=warc/a.parquet", "CC-MAIN-2024-10" },
    { "{crawl}", "CC-MAIN-2023-06/crawl=EOT-2020/a", "EOT-2020" },
    { "{crawl}", "crawl-data/CC-MAIN-2024-10/a/CC-MAIN-20240220211055-00000.warc.gz",
      "CC-MAIN-2024-10" },
    { "{crawl}", "2020-05/CC-MAIN-2024-10/a", "CC-MAIN-2024-10" },
    { "{crawl}", "CC-MAIN-20240220211055-20240221001055-00000.warc.gz", NULL },
    { "{crawl}", "CC-MAIN-2024-101/a", NULL },
    { "{crawl}", "CC-NEWS-20240131083045-01234.warc.gz", "CC-NEWS-2024-01" },
    { "rpj-{crawl}", "documents/2023-06/0000/en_head.json.gz", "rpj-2023-06" },
    { "{crawl}", "CC-NEWS-20240131/a.warc.gz", "CC-NEWS-2024-01" },
    { "{crawl}", "CC-NEWS-2024013/a.warc.gz", NULL },
    { "a-{crawl", "CC-MAIN-2024-10/a", NULL },
    { "{crawl}", "documents/2023-06", NULL },
    { "{crawl}", "letters/2023-0x/2023-06x/a", NULL },
    { "{crawl}", "CC-", NULL },
    { "{crawl}", "crawl=/a", NULL },
    { "x-{crawl}", "crawl=A%20B/a", "x-A B" }, /* as the column of the folder */
    { "x-{crawl}", "crawl=A%2fB%00%2x/a", "x-A/B%00%2x" },
    { "{crawl}", "CC-MAIN-2024-10/crawl=__HIVE_DEFAULT_PARTITION__/a", NULL },
    { "{crawl}-{file}-{folder}", "2023-06/a.csv", "2023-06-a-2023-06" },
};

static void parse_rows(void)
{
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        struct dx_dataset_template t;
        int rc = dx_dataset_template_parse(&t, templates[i].text, NULL);

        if ((rc == DX_OK) != (templates[i].prefix != NULL) ||
            (rc == DX_OK && (strcmp(t.prefix, templates[i].prefix) != 0 ||
                             strcmp(t.column, templates[i].column) != 0)))
            FAIL("template '%s': %d, '%s', '%s'", templates[i].text, rc, t.prefix, t.column);
    }
}

static void fill_rows(void)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char out[DX_DATASET_TEMPLATE_MAX];
        struct dx_error err = DX_ERROR_INIT;
        int rc = dx_dataset_template_fill(names[i].prefix, names[i].path, out, sizeof out, &err);

        if ((rc == DX_OK) != (names[i].want != NULL) ||
            (rc == DX_OK && strcmp(out, names[i].want) != 0))
            FAIL("'%s' of %s: %d '%s', want '%s'", names[i].prefix, names[i].path, rc,
                 rc == DX_OK ? out : err.text, names[i].want == NULL ? "-" : names[i].want);
    }
}

/* Names that just fit, and longer ones, in an exact buffer. */
static void long_names(void)
{
    for (size_t n = 1; n < 600; n++) {
        char path[1024] = "";
        char *out = malloc(DX_DATASET_TEMPLATE_MAX);
        int rc;

        memset(path, 'x', n);
        rc = dx_dataset_template_fill("a-{file}", path, out, DX_DATASET_TEMPLATE_MAX, NULL);
        if ((rc == DX_OK) != (n + 2 < DX_DATASET_TEMPLATE_MAX) ||
            (rc == DX_OK && strlen(out) != n + 2))
            FAIL("a file name of %zu bytes: %d", n, rc);
        free(out);
    }
}

/* A template is as long as a name may be. */
static void long_texts(void)
{
    char text[DX_DATASET_TEMPLATE_MAX + 1];

    memset(text, 'x', sizeof text);
    for (size_t n = DX_DATASET_TEMPLATE_MAX - 1; n <= DX_DATASET_TEMPLATE_MAX; n++) {
        struct dx_dataset_template t;
        struct dx_error err = DX_ERROR_INIT;
        int rc;

        text[n] = '\0';
        rc = dx_dataset_template_parse(&t, text, &err);
        CHECK((rc == DX_OK) == (n < DX_DATASET_TEMPLATE_MAX), "%zu bytes: %s", n, err.text);
        CHECK(rc == DX_OK || strstr(err.text, "a name of 1..255 bytes is expected") != NULL, "%s",
              err.text);
        text[n] = 'x';
    }
}

static void profiles(void)
{
    for (size_t i = 0; i < dx_profile_count; i++) {
        const struct dx_profile *p = &dx_profiles[i];
        struct dx_columns_want want = { .url = NULL };
        struct dx_dataset_template t;
        struct dx_error err = DX_ERROR_INIT;
        struct dx_json_path path;
        const struct dx_profile *found;

        if (dx_profile_get(&found, p->name, &err) < 0 || found != p)
            FAIL("profile %s is there twice", p->name);
        if (dx_dataset_template_parse(&t, p->dataset, &err) < 0)
            FAIL("profile %s: %s", p->name, err.text);
        dx_profile_apply(p, &want);
        if (dx_columns_want_check(&want, &err) < 0)
            FAIL("profile %s: %s", p->name, err.text);
        for (size_t k = 0; k < want.extra_count; k++)
            if (dx_json_path_parse(&path, want.extra[k], &err) < 0)
                FAIL("profile %s: %s", p->name, err.text);
        for (const char *const *c = p->url; *c != NULL; c++)
            if (dx_json_path_parse(&path, *c, &err) < 0)
                FAIL("profile %s: %s", p->name, err.text);
        for (const char *const *c = p->ts; *c != NULL; c++)
            if (dx_json_path_parse(&path, *c, &err) < 0)
                FAIL("profile %s: %s", p->name, err.text);
    }
}

/* Of a name that is near several profiles each is shown once, the nearest first. */
static void near_profiles(void)
{
    struct dx_error err = DX_ERROR_INIT;
    const struct dx_profile *found;

    if (dx_profile_get(&found, "wak", &err) != DX_E_INVALID ||
        strstr(err.text, "'wak'; did you mean wat? 'domaindex profiles' lists them") == NULL)
        FAIL("wak: %s", err.text);
    if (dx_profile_get(&found, "fineweb-3", &err) != DX_E_INVALID ||
        strstr(err.text, "; did you mean fineweb-2, fineweb, fineweb-edu? ") == NULL)
        FAIL("fineweb-3: %s", err.text);
}

int main(void)
{
    parse_rows();
    fill_rows();
    long_names();
    long_texts();
    profiles();
    near_profiles();
    return failures > 0;
}
