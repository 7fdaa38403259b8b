/* SPDX-License-Identifier: Apache-2.0
 * What the manifest says of the access table: written with the first change, raised, taken away, given up; and
 * that no command goes on with a table that was lost, or is an older copy.
 */
#include "builder/policy/access_binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "builder/policy/access_edit.h"
#include "builder/root/root_lock.h"
#include "format/version/manifest.h"
#include "loader/version.h"
#include "tests/support/damage.h"
#include "tests/support/small_root.h"

static unsigned failures;
static struct dx_test_root root;
static char path[200]; /* of the table */

static int put_in_force(struct dx_access_edit *e, struct dx_access_json *j, struct dx_error *err)
{
    (void)err;
    if (j->generation > 0 && !j->open)
        return 0;
    j->open = false;
    dx_buf_str(&e->did, "init");
    return 1;
}

static int grant(struct dx_access_edit *e, struct dx_access_json *j, struct dx_error *err)
{
    dx_buf_str(&e->did, "grant");
    return dx_access_json_grant(j, 1, dx_span_str(e->ctx), err);
}

static int take_out_of_force(struct dx_access_edit *e, struct dx_access_json *j,
                             struct dx_error *err)
{
    (void)err;
    dx_access_json_clear(j);
    dx_buf_str(&e->did, "remove");
    return 1;
}

static int edit(int (*how)(struct dx_access_edit *e, struct dx_access_json *j,
                           struct dx_error *err),
                const char *name, bool hides_all, struct dx_error *err)
{
    struct dx_access_edit e = { .root = root.path,
                                .kind = how == grant ? DX_ACCESS_EDIT_CHANGES
                                                     : DX_ACCESS_EDIT_BEGINS,
                                .edit = how,
                                .hides_all = hides_all,
                                .ctx = (void *)(uintptr_t)name };

    return dx_access_edit_run(&e, err);
}

static uint64_t generation(void)
{
    struct dx_access_json j;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t is;

    EXPECT(dx_access_table_read(root.path, &j, &err) == DX_OK, "%s", err.text);
    is = j.generation;
    dx_access_json_release(&j);
    return is;
}

static uint64_t sequence(void)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    uint64_t is = dx_version_manifest(root.path, &m, NULL) < 0 ? 0 : m.sequence;

    dx_manifest_release(&m);
    return is;
}

static void put_text(const struct dx_buf *text)
{
    EXPECT(dx_file_replace(path, dx_span_of(text->data, text->size), NULL) == DX_OK, "put");
}

/* Bound by the first change, and by each one after it; not while another command has the lock. */
static void check_raised(void)
{
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t before = sequence();
    uint64_t first;

    EXPECT(dx_access_least(root.path) == 0, "no table, and nothing of it");
    EXPECT(edit(put_in_force, NULL, true, &err) == 1, "%s", err.text);
    first = generation();
    EXPECT(first > 0 && dx_access_least(root.path) == first, "the first change");
    EXPECT(edit(grant, "a", false, &err) == 1 && dx_access_least(root.path) == generation() &&
               generation() > first,
           "the next: %s", err.text);
    EXPECT(dx_root_lock_take(&lock, root.path, &err) == DX_OK, "%s", err.text);
    first = generation();
    EXPECT(edit(grant, "b", false, &err) == 1 && dx_access_least(root.path) == first,
           "beside another command: %s", err.text);
    dx_root_lock_drop(&lock);
    EXPECT(edit(grant, "b", false, &err) == 0 && dx_access_least(root.path) == generation() &&
               generation() > first,
           "the same again: %s", err.text);
    EXPECT(sequence() == before, "no flip");
}

/* A publish raises what was left behind. */
static void check_published(void)
{
    struct dx_root_lock lock = DX_ROOT_LOCK_INIT;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_root_lock_take(&lock, root.path, &err) == DX_OK, "%s", err.text);
    EXPECT(edit(grant, "c", false, &err) == 1 && dx_access_least(root.path) < generation(), "%s",
           err.text);
    dx_root_lock_drop(&lock);
    dx_test_root_grow(&root, 3);
    EXPECT(dx_access_least(root.path) == generation(), "by the flip");
}

/* Each command refuses it, and changes nothing. */
static void check_refused(const char *word, const char *words)
{
    struct dx_access_json j;
    struct dx_error err = DX_ERROR_INIT;
    uint64_t was = generation();
    uint64_t least = dx_access_least(root.path);

    EXPECT(edit(grant, "d", false, &err) == DX_E_CORRUPT && strstr(err.text, word) != NULL &&
               strstr(err.text, "access accept --root ") != NULL,
           "%s: grant: %s", words, err.text);
    EXPECT(edit(put_in_force, NULL, false, &err) == DX_E_CORRUPT, "%s: init --public", words);
    EXPECT(edit(take_out_of_force, NULL, false, &err) == DX_E_CORRUPT, "%s: remove", words);
    EXPECT(dx_access_edit_read(root.path, &j, &err) == DX_E_CORRUPT &&
               strstr(err.text, word) != NULL,
           "%s: list: %s", words, err.text);
    EXPECT(generation() == was && dx_access_least(root.path) == least, "%s: changed", words);
}

static void check_older(void)
{
    struct dx_access_accept accept = { .dry_run = true };
    struct dx_buf older = DX_BUF_INIT(DX_ACCESS_MAX);
    struct dx_buf newer = DX_BUF_INIT(DX_ACCESS_MAX);
    struct dx_error err = DX_ERROR_INIT;
    uint64_t before = generation();
    uint64_t least;

    EXPECT(dx_file_read(path, older.max, &older, &err) == DX_OK, "%s", err.text);
    EXPECT(edit(grant, "e", false, &err) == 1, "%s", err.text);
    EXPECT(dx_file_read(path, newer.max, &newer, &err) == DX_OK, "%s", err.text);
    least = generation();
    put_text(&older);
    check_refused("older copy", "an older copy");
    EXPECT(edit(put_in_force, NULL, true, &err) == DX_E_CORRUPT, "init of an older copy");
    dx_test_root_grow(&root, 3);
    EXPECT(dx_access_least(root.path) == least, "a publish does not lower it");
    put_text(&newer);
    EXPECT(edit(grant, "e", false, &err) == 0, "restored: %s", err.text);
    put_text(&older);
    EXPECT(dx_access_accept(root.path, &accept, &err) == 1 && accept.generation == before &&
               dx_access_least(root.path) == least,
           "a dry run: %s", err.text);
    accept.dry_run = false;
    EXPECT(dx_access_accept(root.path, &accept, &err) == 1 && accept.generation == before &&
               dx_access_least(root.path) == before,
           "accepted: %s", err.text);
    EXPECT(dx_access_accept(root.path, &accept, &err) == 0, "it is so already");
    EXPECT(edit(grant, "f", false, &err) == 1 && dx_access_least(root.path) > least,
           "and goes on: %s", err.text);
    dx_buf_release(&older);
    dx_buf_release(&newer);
}

static void check_lost(void)
{
    struct dx_access_accept accept = { .dry_run = false };
    struct dx_buf text = DX_BUF_INIT(DX_ACCESS_MAX);
    struct dx_error err = DX_ERROR_INIT;
    uint64_t least = dx_access_least(root.path);

    EXPECT(dx_file_read(path, text.max, &text, &err) == DX_OK && unlink(path) == 0, "%s", err.text);
    check_refused("the table was lost", "lost");
    EXPECT(edit(put_in_force, NULL, true, &err) == 1 && generation() > least &&
               dx_access_least(root.path) == generation(),
           "one that grants nothing may take its place: %s", err.text);
    EXPECT(unlink(path) == 0, "unlink");
    EXPECT(dx_access_accept(root.path, &accept, &err) == DX_E_INVALID &&
               strstr(err.text, "--yes") != NULL && dx_access_least(root.path) > least,
           "everybody would see all: %s", err.text);
    accept.shows_all = true;
    EXPECT(dx_access_accept(root.path, &accept, &err) == 1 && accept.generation == 0 &&
               dx_access_least(root.path) == 0,
           "given up: %s", err.text);
    text.data[0] = 'x';
    put_text(&text);
    EXPECT(dx_access_accept(root.path, &accept, &err) < 0 && strstr(err.text, "line 1") != NULL,
           "a damaged one is not accepted: %s", err.text);
    EXPECT(unlink(path) == 0, "unlink");
    dx_buf_release(&text);
}

/* A table out of force was not lost, nor was a file that is removed after that. */
static void check_out_of_force(void)
{
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(edit(put_in_force, NULL, true, &err) == 1 && dx_access_least(root.path) > 0, "%s",
           err.text);
    EXPECT(edit(take_out_of_force, NULL, false, &err) == 1 && dx_access_least(root.path) == 0, "%s",
           err.text);
    dx_test_root_grow(&root, 3);
    EXPECT(dx_access_least(root.path) == 0 && unlink(path) == 0, "nor by a publish");
    EXPECT(edit(put_in_force, NULL, false, &err) == 1 && dx_access_least(root.path) == generation(),
           "a new one: %s", err.text);
}

/* The clock of a machine that begins a table in place of one that was lost may be behind. */
static void check_clock(void)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    struct dx_buf text = DX_BUF_INIT(DX_MANIFEST_MAX);
    struct dx_error err = DX_ERROR_INIT;
    char manifest[200];

    (void)snprintf(manifest, sizeof manifest, "%s/" DX_MANIFEST_FILE, root.path);
    if (dx_version_manifest(root.path, &m, &err) < 0)
        abort();
    m.access = UINT64_C(1) << 50;
    EXPECT(dx_manifest_write(&m, &text, &err) == DX_OK &&
               dx_file_replace(manifest, dx_span_of(text.data, text.size), &err) == DX_OK &&
               unlink(path) == 0,
           "%s", err.text);
    EXPECT(edit(put_in_force, NULL, true, &err) == 1 && generation() == (UINT64_C(1) << 50) + 1 &&
               dx_access_least(root.path) == generation(),
           "%s", err.text);
    dx_buf_release(&text);
    dx_manifest_release(&m);
}

int main(void)
{
    dx_test_root_make(&root, 40, 2);
    (void)snprintf(path, sizeof path, "%s/" DX_ACCESS_FILE, root.path);
    check_raised();
    check_published();
    check_older();
    check_lost();
    check_out_of_force();
    check_clock();
    dx_test_root_remove(&root);
    return failures == 0 ? 0 : 1;
}
