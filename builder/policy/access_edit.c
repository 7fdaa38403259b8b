/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/policy/access_edit.h"

#include <assert.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "builder/lake/dataset_registry.h"
#include "builder/policy/access_binding.h"
#include "builder/root/index_text.h"
#include "builder/root/root.h"

/* "uid 0 (root) at builder-1, process 4711". What is not plain text is left out. */
static void who(char out[DX_ACCESS_HISTORY_TEXT])
{
    char host[64] = "";
    const struct passwd *user = getpwuid(geteuid());

    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(out, DX_ACCESS_HISTORY_TEXT, "uid %ld (%.60s) at %s, process %ld",
                   (long)geteuid(), user == NULL ? "?" : user->pw_name, host, (long)getpid());
    if (!dx_dataset_text_ok(dx_span_str(out), DX_ACCESS_HISTORY_TEXT))
        (void)snprintf(out, DX_ACCESS_HISTORY_TEXT, "uid %ld, process %ld", (long)geteuid(),
                       (long)getpid());
}

static int parse(struct dx_access_json *j, struct dx_span text, const char *root,
                 struct dx_error *err)
{
    int rc;

    *j = (struct dx_access_json)DX_ACCESS_JSON_INIT;
    if (text.data == NULL)
        return DX_OK;
    rc = dx_access_json_parse(j, text, DX_ACCESS_FILE, err);
    return rc < 0 ? dx_fail_in(err, "%s", root) : rc;
}

static int check_table(const struct dx_access_edit *e, const struct dx_access_json *j,
                       struct dx_error *err)
{
    if (j->generation > 0 || !e->hides_all) {
        int rc = dx_access_check_least(j->generation, e->least, e->root, err);

        if (rc < 0)
            return rc;
    }
    if (e->kind == DX_ACCESS_EDIT_BEGINS || (j->generation > 0 && !j->open))
        return DX_OK;
    return dx_fail(
        err, DX_E_NOT_FOUND,
        "%s: no access table is in force, and everybody may see all. 'domaindex access init' puts "
        "one in force; from then on principals see only what is granted to them",
        e->root);
}

/* What does not fit is cut, at a character's end. */
static const char *did_text(struct dx_buf *did)
{
    size_t most = DX_ACCESS_HISTORY_TEXT;

    if (did->size > most) {
        most -= 3;
        while (most > 0 && (did->data[most] & 0xc0) == 0x80)
            most--;
        did->size = most;
        dx_buf_str(did, "...");
    }
    dx_buf_u8(did, '\0');
    return did->failed ? "?" : (const char *)did->data;
}

static int edit_text(void *ctx, struct dx_span text, struct dx_buf *out, struct dx_error *err)
{
    struct dx_access_edit *e = ctx;
    char by[DX_ACCESS_HISTORY_TEXT];
    struct dx_access_json j;
    int rc = parse(&j, text, e->root, err);

    dx_buf_clear(&e->did);
    if (rc == DX_OK)
        rc = check_table(e, &j, err);
    if (rc == DX_OK)
        rc = e->edit(e, &j, err);
    assert(rc != 1 || e->did.size > 0 || e->did.failed);
    if (rc == 1) {
        who(by);
        if (j.generation < e->least)
            j.generation = e->least; /* of one that was lost: our clock may be behind it */
        rc = dx_access_json_note(&j, e->now_us, by, did_text(&e->did), err);
        if (rc == DX_OK)
            rc = dx_access_json_write(&j, out, err);
        rc = rc < 0 ? rc : 1;
    }
    e->generation = j.generation;
    dx_access_json_release(&j);
    return rc;
}

/* Before the table is read. */
static void begin(void *ctx)
{
    struct dx_access_edit *e = ctx;

    e->least = dx_access_least(e->root);
}

static int try_edit(struct dx_access_edit *e, struct dx_error *err)
{
    struct dx_buf text = DX_BUF_INIT(DX_ACCESS_MAX);
    struct dx_buf edited = DX_BUF_INIT(DX_ACCESS_MAX);
    int rc;

    begin(e);
    rc = dx_index_text_read(e->root, DX_ACCESS_FILE, DX_ACCESS_MAX, &text, err);
    if (rc >= 0)
        rc = edit_text(e, rc == 1 ? dx_span_of(text.data, text.size) : dx_span_of(NULL, 0), &edited,
                       err);
    dx_buf_release(&edited);
    dx_buf_release(&text);
    return rc;
}

int dx_access_edit_run(struct dx_access_edit *e, struct dx_error *err)
{
    const struct dx_index_text_change change = {
        .object = DX_ACCESS_FILE, .cap = DX_ACCESS_MAX, .begin = begin, .edit = edit_text, .ctx = e
    };
    struct timespec now;
    int rc;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    e->now_s = now.tv_sec;
    e->now_us = now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
    e->did = (struct dx_buf)DX_BUF_INIT(DX_ACCESS_MAX);
    rc = e->dry_run ? try_edit(e, err) : dx_index_text_change(e->root, &change, err);
    dx_buf_release(&e->did);
    if (rc >= 0 && !e->dry_run)
        dx_access_bind_root(e->root);
    return rc;
}

int dx_access_edit_read(const char *root, struct dx_access_json *j, struct dx_error *err)
{
    uint64_t least = dx_access_least(root);
    int rc = dx_access_table_read(root, j, err);

    if (rc == DX_OK)
        rc = dx_access_check_least(j->generation, least, root, err);
    if (rc < 0)
        dx_access_json_release(j);
    return rc;
}

/* ---- datasets ---- */

int dx_access_datasets_open(struct dx_dataset_registry **datasets, const char *name,
                            struct dx_error *err)
{
    struct dx_root root;
    int rc = dx_root_open(&root, name, DX_ROOT_READ, err);

    *datasets = NULL;
    if (rc == DX_OK)
        rc = dx_dataset_registry_read(datasets, &root, err);
    dx_root_close(&root);
    return rc < 0 ? rc : DX_OK;
}

const char *dx_access_datasets_name(const struct dx_dataset_registry *datasets, uint32_t dataset_id)
{
    const struct dx_dataset *d = dx_dataset_registry_get(datasets, dataset_id);

    return d == NULL ? NULL : d->name;
}

/* 0: it is not an id. */
static uint32_t id_of(const char *text)
{
    char *end;
    unsigned long v;

    if (text[0] < '1' || text[0] > '9' || strlen(text) > 10)
        return 0;
    v = strtoul(text, &end, 10);
    return *end == '\0' && v <= DX_DATASET_ID_MAX ? (uint32_t)v : 0;
}

int dx_access_datasets_find(const struct dx_dataset_registry *datasets, const char *text,
                            bool known, uint32_t *dataset_id, struct dx_error *err)
{
    bool by_id = strncmp(text, "id:", 3) == 0;
    bool by_name = strncmp(text, "name:", 5) == 0;
    uint32_t id = by_name ? 0 : id_of(text + (by_id ? 3 : 0));
    uint32_t named = dx_dataset_registry_find(datasets, dx_span_str(text + (by_name ? 5 : 0)));

    *dataset_id = 0;
    if (!by_id && id != 0 && named != 0 && named != id)
        return dx_fail(
            err, DX_E_INVALID,
            "'%.255s' is the id of one dataset and the name of another: say id:%.255s or "
            "name:%.255s",
            text, text, text);
    *dataset_id = !by_id && named != 0 ? named : id;
    if (*dataset_id == 0)
        return dx_fail(err, DX_E_INVALID, "'%.255s' is neither a dataset's name nor an id", text);
    if (known && dx_dataset_registry_get(datasets, *dataset_id) == NULL)
        return dx_fail(err, DX_E_INVALID, "no dataset has the id %" PRIu32, *dataset_id);
    return DX_OK;
}
