/* SPDX-License-Identifier: Apache-2.0
 * Whether a version is a merge of another one: each thing that must be the same is changed in turn, since a publish beside it goes on
 * from the merge only then.
 */
#include "builder/publish/publish_merge.h"

#include <stdio.h>
#include <string.h>

#include "format/version/manifest.h"
#include "format/version/names.h"
#include "tests/support/fail.h"

#define BEFORE "000001-20240101T000000Z"
#define AFTER "000002-20240101T000001Z"

static int failures;

/* Files of a version in the order of their names; missing.tsv.zst only if there is `missing`. */
struct files {
    struct dx_manifest_file of[3];
    size_t count;
};

static void add(struct files *f, const char *name, uint8_t content)
{
    struct dx_manifest_file *file = &f->of[f->count++];

    *file = (struct dx_manifest_file){ .size = 1 };
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    memset(&file->hash, content, sizeof file->hash);
}

/* One of the numbers of version 2 that differs; content of a file, 0: it is not there. */
struct variant {
    const char *what;
    size_t offset; /* of a uint64_t in the version; 0: none */
    const char *base;
    size_t part_count;
    uint8_t datasets, missing[2], list;
    bool want;
};

#define AT(member) offsetof(struct dx_manifest_version, member)

static const struct variant variants[] = {
    { "the same in fewer parts", 0, BEFORE, 1, 1, { 2, 2 }, 3, true },
    { "and nothing is missing", 0, BEFORE, 1, 1, { 0, 0 }, 3, true },
    { "no parts at all", 0, BEFORE, 0, 1, { 2, 2 }, 3, true },
    { "as many parts", 0, BEFORE, 2, 1, { 2, 2 }, 3, false },
    { "more parts", 0, BEFORE, 3, 1, { 2, 2 }, 3, false },
    { "made from another one", 0, AFTER, 1, 1, { 2, 2 }, 3, false },
    { "made from the whole lake", 0, "", 1, 1, { 2, 2 }, 3, false },
    { "other datasets.json", 0, BEFORE, 1, 9, { 2, 2 }, 3, false },
    { "another list of what is missing", 0, BEFORE, 1, 1, { 2, 9 }, 3, false },
    { "a file is missing now", 0, BEFORE, 1, 1, { 0, 2 }, 3, false },
    { "a file is not missing now", 0, BEFORE, 1, 1, { 2, 0 }, 3, false },
    { "another suffix list", 0, BEFORE, 1, 1, { 2, 2 }, 9, false },
    { "numbers of files", AT(file_ids), BEFORE, 1, 1, { 2, 2 }, 3, false },
    { "lake files", AT(lake_files), BEFORE, 1, 1, { 2, 2 }, 3, false },
    { "pairs", AT(pairs), BEFORE, 1, 1, { 2, 2 }, 3, false },
    { "domains", AT(domains), BEFORE, 1, 1, { 2, 2 }, 3, false },
    { "cleansed", AT(cleansed), BEFORE, 1, 1, { 2, 2 }, 3, false },
    { "rows left out", AT(rows_left_out), BEFORE, 1, 1, { 2, 2 }, 3, false },
};

static void make(struct dx_manifest_version *v, struct files *f, const char *name, uint8_t datasets,
                 uint8_t missing, uint8_t list)
{
    *f = (struct files){ .count = 0 };
    add(f, DX_FILE_DATASETS, datasets);
    if (missing != 0)
        add(f, DX_FILE_MISSING, missing);
    add(f, DX_FILE_PSL, list);
    *v = (struct dx_manifest_version){ .file_ids = 7,
                                       .lake_files = 6,
                                       .pairs = 100,
                                       .domains = 50,
                                       .cleansed = 3,
                                       .rows_left_out = 1,
                                       .files = f->of,
                                       .file_count = f->count };
    (void)snprintf(v->version, sizeof v->version, "%s", name);
}

int main(void)
{
    static struct dx_manifest_version versions[2];
    struct dx_manifest m = { .versions = versions, .version_count = 2 };
    struct files files[2];

    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const struct variant *want = &variants[i];

        make(&versions[0], &files[0], BEFORE, 1, want->missing[0], 3);
        make(&versions[1], &files[1], AFTER, want->datasets, want->missing[1], want->list);
        versions[0].part_count = 2;
        versions[1].part_count = want->part_count;
        (void)snprintf(versions[1].base, sizeof versions[1].base, "%s", want->base);
        if (want->offset != 0)
            ++*(uint64_t *)(void *)((char *)&versions[1] + want->offset);
        (void)snprintf(m.current, sizeof m.current, "%s", AFTER);
        CHECK(dx_publish_is_merge_of(&m, BEFORE) == want->want, "%s", want->what);
        CHECK(!dx_publish_is_merge_of(&m, AFTER), "%s: of itself", want->what);
        CHECK(!dx_publish_is_merge_of(&m, "000003-20240101T000002Z"), "%s: of none", want->what);
        (void)snprintf(m.current, sizeof m.current, "%s", BEFORE);
        CHECK(!dx_publish_is_merge_of(&m, AFTER), "%s: the other way", want->what);
    }
    return failures > 0;
}
