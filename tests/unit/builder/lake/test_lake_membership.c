/* SPDX-License-Identifier: Apache-2.0
 * Which files of a lake the next version has: those of the current one, those that no version
 * names, and none that an older version or a compaction names alone.
 */
#include "builder/lake/lake_membership.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "builder/root/root.h"
#include "fetch/source.h"
#include "fetch/store/store.h"
#include "format/version/manifest.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

static unsigned failures;

/* Each % stands for the root. */
static void sh(const struct dx_test_root *r, const char *text)
{
    struct dx_buf command = DX_BUF_INIT(4096);

    for (; *text != '\0'; text++)
        if (*text == '%')
            dx_buf_fmt(&command, "'%s'", r->path);
        else
            dx_buf_u8(&command, (uint8_t)*text);
    dx_buf_u8(&command, '\0');
    if (command.failed || system((const char *)command.data) != 0)
        abort();
    dx_buf_release(&command);
}

/* "C" current, "N" new, "O" out, in the order of the list. */
static void letters(const struct dx_lake_membership *n, char out[64])
{
    size_t i = 0;

    for (; i < n->list.count && i < 63; i++)
        out[i] = n->naming[i] == DX_LAKE_NEW ? 'N' : n->naming[i] == DX_LAKE_OUT ? 'O' : 'C';
    out[i] = '\0';
}

static void expect(const struct dx_test_root *r, bool through_store, const char *want, size_t gone,
                   const char *words)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_root root;
    struct dx_lake_membership n = DX_LAKE_MEMBERSHIP_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char got[64] = "failed";

    if (dx_version_manifest(r->path, &m, &err) < 0 ||
        dx_root_open(&root, r->path, DX_ROOT_WRITE, &err) < 0)
        abort();
    root.in_place = !through_store;
    if (dx_lake_membership_open(&n, &root, &m, &err) == DX_OK)
        letters(&n, got);
    EXPECT(strcmp(got, want) == 0, "%s: %s, expected %s: %s", words, got, want, err.text);
    EXPECT(n.is_published, "%s: %zu versions", words, m.version_count);
    EXPECT(n.missing.count == gone, "%s: %zu are gone", words, n.missing.count);
    if (strcmp(got, "failed") != 0) {
        dx_lake_membership_keep(&n);
        letters(&n, got);
        EXPECT(strchr(got, 'O') == NULL && n.list.count == n.current_count + n.new_count,
               "%s: kept %s", words, got);
    }
    dx_lake_membership_close(&n);
    dx_root_close(&root);
    dx_manifest_release(&m);
}

static void both(const struct dx_test_root *r, const char *want, size_t gone, const char *words)
{
    expect(r, false, want, gone, words);
    expect(r, true, want, gone, words);
}

/* The manifest changed by hand: another version is current, or one is dropped. */
static void change(const struct dx_test_root *r, size_t current, int dropped)
{
    struct dx_buf text = DX_BUF_INIT(1u << 20);
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char path[200];

    (void)snprintf(path, sizeof path, "%s/index/manifest.json", r->path);
    if (dx_version_manifest(r->path, &m, &err) < 0 ||
        (strcmp(m.current, m.versions[current].version) != 0 &&
         dx_manifest_flip(&m, m.versions[current].version, m.sequence + 1, 1000000, &err) < 0))
        abort();
    if (dropped >= 0) {
        m.versions[dropped].state = DX_VERSION_DROPPED;
        m.versions[dropped].condemned_us = 1000000;
    }
    if (dx_manifest_write(&m, &text, &err) < 0 ||
        dx_file_replace(path, dx_span_of(text.data, text.size), &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        abort();
    }
    dx_buf_release(&text);
    dx_manifest_release(&m);
}

#define LAKE "%/urls/dataset_id=1/domain_prefix=00-ff/part-0000"

static void test_claim_names(void)
{
    static const struct {
        const char *object;
        bool ok;
    } rows[] = {
        { "index/claims/000007-20261121T103000Z.lake", true },
        { "index/claims/000007-20261121T103000Z", false },
        { "index/claims/000007-20261121T103000Z.lakes", false },
        { "index/claims/000007-20261321T103000Z.lake", false },
        { "index/claims/../07-20261121T103000Z.lake", false },
        { "index/other_/000007-20261121T103000Z.lake", false },
        { "index/", false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char version[24];

        EXPECT(dx_lake_claim_version(rows[i].object, version) == rows[i].ok, "%s", rows[i].object);
    }
}

/* What a replacement took out comes back behind the others, once. */
static void check_hold(struct dx_lake_membership *n, const char *before, const char *after)
{
    struct dx_error err = DX_ERROR_INIT;
    size_t kept = 0, taken = 0;

    for (size_t k = 0; before[k] != '\0'; k++) {
        kept += after[k] != 'O';
        taken += before[k] == 'C' && after[k] == 'O';
    }
    dx_lake_membership_keep(n);
    EXPECT(n->list.count == kept && n->replaced.count == taken, "%s: %zu and %zu files", before,
           n->list.count, n->replaced.count);
    for (int again = 0; again < 2; again++)
        EXPECT(dx_lake_membership_hold(n, 2, &err) == DX_OK && n->list.count == kept + taken,
               "%s: %zu files when it is held: %s", before, n->list.count, err.text);
}

/* What the registry says on top: a list of one file a letter of `named`, their parts from 0; o: out, and no version has it. */
static void test_apply(void)
{
#define REGISTRY(members) \
    "{\"format\":\"domaindex-registry\",\"version\":1,\"next_dataset_id\":9," members "]}"
#define OF_2(members) REGISTRY("\"datasets\":[{\"dataset_id\":2,\"name\":\"a\"" members "}")
    static const struct {
        const char *registry, *named, *want; /* want NULL: refused */
    } rows[] = {
        { OF_2(""), "CCON", "CCON" },
        { REGISTRY("\"removed\":[2],\"datasets\":["), "CCON", "OOOO" },
        { REGISTRY("\"datasets\":["), "CCON", NULL },
        { REGISTRY("\"datasets\":["), "OO", "OO" },
        { OF_2(",\"replacing\":2"), "CCNN", "CCOO" },
        { OF_2(",\"replacing\":3"), "CCONN", "CCOOO" },
        { OF_2(",\"first_part\":2,\"end_part\":4"), "CCNN", "OONN" },
        { OF_2(",\"first_part\":2,\"end_part\":4"), "CCNNN", "OONNN" },
        { OF_2(",\"first_part\":2,\"end_part\":4"), "OOCCN", "OOCCN" }, /* published */
        { OF_2(",\"first_part\":2,\"end_part\":4"), "CCOO", "CCOO" },   /* rolled back */
        { OF_2(",\"first_part\":2,\"end_part\":4"), "CCOON", "CCOON" }, /* and ingested */
        { OF_2(",\"first_part\":2,\"end_part\":4"), "CNOOC", "COOOC" }, /* one that died */
        { OF_2(",\"first_part\":2,\"end_part\":4,\"replacing\":5"), "OOCCNN", "OOCCNO" },
        { OF_2(",\"first_part\":2,\"end_part\":4"), "CCON",
          "CCON" }, /* another version has a part of it */
        { OF_2(",\"first_part\":2,\"end_part\":4"), "CCoN", "OOON" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dx_lake_membership n = DX_LAKE_MEMBERSHIP_INIT;
        struct dx_registry registry = DX_REGISTRY_INIT;
        struct dx_error err = DX_ERROR_INIT;
        size_t count = strlen(rows[i].named);
        char got[64] = "";
        int rc = dx_registry_parse_root(&registry, dx_span_str(rows[i].registry), "R", &err);

        n.naming = calloc(count + 1, sizeof *n.naming);
        n.by_version = calloc(count + 1, sizeof *n.by_version);
        for (size_t k = 0; rc == DX_OK && k < count; k++) {
            char path[DX_LAKE_PATH_MAX];

            (void)dx_lake_path_format(&(struct dx_lake_path){ 2, 0, 255, (uint32_t)k }, path);
            rc = dx_lake_list_add(&n.list, &n.left_out, path, 1, "", &err) == 1 ? DX_OK
                                                                                : DX_E_INVALID;
            n.naming[k] = rows[i].named[k] == 'N'   ? DX_LAKE_NEW
                          : rows[i].named[k] == 'C' ? DX_LAKE_CURRENT
                                                    : DX_LAKE_OUT;
            n.by_version[k] = strchr("CO", rows[i].named[k]) != NULL;
        }
        EXPECT(rc == DX_OK, "row %zu: %s", i, err.text);
        rc = dx_lake_membership_apply(&n, &registry, &err);
        letters(&n, got);
        EXPECT(rows[i].want == NULL ? rc == DX_E_CORRUPT : strcmp(got, rows[i].want) == 0,
               "row %zu: %d, %s", i, rc, got);
        if (rc == DX_OK && strstr(rows[i].registry, "first_part") != NULL)
            check_hold(&n, rows[i].named, rows[i].want);
        dx_lake_membership_close(&n);
        dx_registry_release(&registry);
    }
}

int main(void)
{
    struct dx_test_root r;

    test_claim_names();
    test_apply();
    dx_test_root_make(&r, 40, 2); /* two datasets, a file each */
    both(&r, "CC", 0, "as published");
    dx_test_root_again(r.path, 1);
    both(&r, "CNC", 0, "a file more");
    /* A compaction that died: its list stands, and it is in no manifest. */
    sh(&r,
       "mkdir -p %/index/claims && echo urls/dataset_id=1/domain_prefix=00-ff/part-00001.parquet "
       "> %/index/claims/000009-20261121T103000Z.lake && touch %/index/claims/x.lake");
    both(&r, "COC", 0, "claimed");
    sh(&r, "rm -r %/index/claims");
    dx_test_root_publish(&r);
    both(&r, "CCC", 0, "published");
    /* Taken out, as a rollback does: the first version is current, the second has one file more. */
    change(&r, 0, -1);
    both(&r, "COC", 0, "rolled back");
    change(&r, 0, 1);
    both(&r, "COC", 0, "and the other is dropped");
    sh(&r,
       "rm " LAKE "0.parquet && echo > %/urls/dataset_id=2/domain_prefix=00-ff/part-00009.parquet");
    both(&r, "OCN", 1, "a file is gone");
    /* Without its list that is unknown. */
    sh(&r, "printf x | dd status=none conv=notrunc bs=1 seek=20 "
           "of=$(ls -d %/index/0* | tail -1)/files.tsv.zst");
    both(&r, "failed", 0, "a damaged list");
    dx_test_root_remove(&r);
    return failures == 0 ? 0 : 1;
}
