/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/policy/access_binding.h"

#include "builder/root/index_text.h"
#include "builder/root/manifest_edit.h"
#include "builder/root/root.h"
#include "format/version/manifest.h"

#define BIND_LOCK_MS 200u /* others that bind hold it for a moment; not for the end of a publish */
#define ACCEPT_LOCK_MS \
    60000u /* for the end of a publish, whose lock the manifest is written under */

uint64_t dx_access_least(const char *root)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    uint64_t least = dx_root_manifest(root, &m, NULL) < 0 ? 0 : m.access;

    dx_manifest_release(&m);
    return least;
}

int dx_access_table_read(const char *root, struct dx_access_json *j, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_ACCESS_MAX);
    int rc = dx_index_text_read(root, DX_ACCESS_FILE, DX_ACCESS_MAX, &text, err);

    *j = (struct dx_access_json)DX_ACCESS_JSON_INIT;
    if (rc == 1) {
        rc = dx_access_json_parse(j, dx_span_of(text.data, text.size), DX_ACCESS_FILE, err);
        rc = rc < 0 ? dx_fail_in(err, "%s", root) : rc;
    }
    dx_buf_release(&text);
    return rc < 0 ? rc : DX_OK;
}

/* What a manifest says of the table that is there. */
static uint64_t binding_of(const struct dx_access_json *j)
{
    return j->open ? 0 : j->generation;
}

bool dx_access_bind(const char *root, struct dx_manifest *m)
{
    uint64_t before = m->access;
    struct dx_access_json j;

    if (dx_access_table_read(root, &j, NULL) == DX_OK && j.generation >= before)
        m->access = binding_of(&j);
    dx_access_json_release(&j);
    return m->access != before;
}

/* ---- the manifest of a root ---- */

struct binding {
    const char *root;
    struct dx_access_accept *accept; /* NULL: not below what the manifest says */
    uint64_t to;
};

static int check_meant(const struct binding *b, uint64_t before, struct dx_error *err)
{
    if (b->to > 0 || before == 0 || b->accept->shows_all)
        return DX_OK;
    return dx_fail(
        err, DX_E_INVALID,
        "%s: no access table is in force, and generation %llu was: from then on everybody "
        "sees every dataset. If that is meant, say --yes",
        b->root, (unsigned long long)before);
}

static int edit_binding(void *ctx, struct dx_manifest_edit *e, struct dx_error *err)
{
    struct binding *b = ctx;
    uint64_t before = e->manifest.access;
    struct dx_access_json j;
    int rc;

    if (e->etag[0] == '\0')
        return 0;
    if (b->accept == NULL) {
        rc = dx_access_bind(b->root, &e->manifest);
        b->to = e->manifest.access;
        return rc;
    }
    rc = dx_access_table_read(b->root, &j, err);
    b->to = binding_of(&j);
    dx_access_json_release(&j);
    if (rc == DX_OK)
        rc = check_meant(b, before, err);
    e->manifest.access = b->to;
    return rc < 0 ? rc : b->to != before;
}

static bool is_bound(void *ctx, const struct dx_manifest *m)
{
    const struct binding *b = ctx;

    return m->access == b->to;
}

/* The sequence stays, as with marks of collectors. */
static int change_binding(struct binding *b, uint64_t lock_ms, struct dx_error *err)
{
    const struct dx_manifest_change change = {
        .edit = edit_binding, .is_ours = is_bound, .ctx = b, .version = "of this access table"
    };

    return dx_manifest_edit_root(b->root, &change, lock_ms, err);
}

void dx_access_bind_root(const char *root)
{
    (void)change_binding(&(struct binding){ .root = root }, BIND_LOCK_MS, NULL);
}

static int try_accept(struct binding *b, struct dx_error *err)
{
    uint64_t before = dx_access_least(b->root);
    struct dx_access_json j;
    int rc = dx_access_table_read(b->root, &j, err);

    b->to = binding_of(&j);
    dx_access_json_release(&j);
    return rc < 0 ? rc : b->to != before;
}

int dx_access_accept(const char *root, struct dx_access_accept *a, struct dx_error *err)
{
    struct binding b = { .root = root, .accept = a };
    int rc = a->dry_run ? try_accept(&b, err) : change_binding(&b, ACCEPT_LOCK_MS, err);

    a->generation = b.to;
    return rc;
}
