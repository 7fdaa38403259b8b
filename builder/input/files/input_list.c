/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/files/input_list.h"

#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "builder/input/parquet/parquet_rows.h"
#include "builder/root/root.h"
#include "fetch/store.h"

#define LINE_MAX_BYTES 8192

static int add(struct dx_input_list *l, const char *path, struct dx_error *err)
{
    if (l->count == DX_INPUTS_MAX)
        return dx_fail(err, DX_E_LIMIT, "more than %d inputs; ingest them in several runs",
                       DX_INPUTS_MAX);
    if (l->count == l->room) {
        size_t room = l->room == 0 ? 16 : l->room * 2;
        const char **more = realloc(l->path, room * sizeof *more);

        if (more == NULL)
            return dx_no_memory(err, "inputs");
        l->path = more;
        l->room = room;
    }
    l->path[l->count] = strdup(path);
    if (l->path[l->count] == NULL)
        return dx_no_memory(err, "inputs");
    l->count++;
    return DX_OK;
}

void dx_input_list_release(struct dx_input_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free((void *)(uintptr_t)l->path[i]);
    free(l->path);
    *l = (struct dx_input_list){ .path = NULL };
}

/* ---- folders ---- */

static bool ends(const char *name, const char *with)
{
    size_t n = strlen(name), m = strlen(with);

    return n > m && strcasecmp(name + n - m, with) == 0;
}

/* What writers and hubs put beside data. */
static bool is_beside(const char *name)
{
    static const char *const names[] = {
        "README",      "README.md",          "LICENSE",           "LICENSE.md",
        "LICENSE.txt", "dataset_infos.json", "dataset_info.json", "dataset_dict.json",
        "state.json",  "MANIFEST",           "SHA256SUMS",        "MD5SUMS"
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return name[0] == '.' || name[0] == '_' || ends(name, ".crc") || ends(name, ".md5") ||
           ends(name, ".sha256") || ends(name, ".idx") || ends(name, ".loc") || ends(name, ".py");
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool matches(const char *path, const char *const *patterns)
{
    bool found = false;

    for (; !found && *patterns != NULL; patterns++) {
        char whole[LINE_MAX_BYTES];

        (void)snprintf(whole, sizeof whole, "*/%s", *patterns);
        found = fnmatch(*patterns, path, 0) == 0 || fnmatch(whole, path, 0) == 0;
    }
    return found;
}

static bool is_wanted(const struct dx_input_list *l, const char *path)
{
    const struct dx_input_filter *f = l->filter;

    return f == NULL ||
           ((f->include == NULL || f->include[0] == NULL || matches(path, f->include)) &&
            (f->exclude == NULL || !matches(path, f->exclude)));
}

/* Of the files [first, count) those that are inputs, sorted. */
static int choose(struct dx_input_list *l, size_t first, const char *folder, struct dx_error *err)
{
    size_t found = l->count - first;
    size_t to = first;
    bool parquet = false;

    for (size_t i = first; i < l->count; i++)
        if (is_wanted(l, l->path[i]))
            l->path[to++] = l->path[i];
        else
            free((void *)(uintptr_t)l->path[i]);
    l->count = to;
    to = first;
    for (size_t i = first; i < l->count; i++)
        parquet = parquet || dx_parquet_rows_named(l->path[i]);
    for (size_t i = first; i < l->count; i++)
        if (!parquet || dx_parquet_rows_named(l->path[i]))
            l->path[to++] = l->path[i];
        else
            free((void *)(uintptr_t)l->path[i]);
    l->count = to;
    l->taken += to - first;
    l->left_out += found - (to - first);
    if (to == first)
        return dx_fail(err, DX_E_NOT_FOUND,
                       found > 0 ? "%s: a folder without a file to read: --include and --exclude "
                                   "leave out what it has"
                                 : "%s: a folder without a file to read",
                       folder);
    qsort(l->path + first, to - first, sizeof *l->path, by_path);
    return DX_OK;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int add_folder(struct dx_input_list *l, const char *folder, struct dx_error *err)
{
    char *roots[] = { strdup(folder), NULL };
    size_t first = l->count;
    FTS *tree = roots[0] == NULL ? NULL : fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    int rc = tree == NULL ? dx_fail_errno(err, errno, "%s: cannot list", folder) : DX_OK;
    FTSENT *e = NULL;

    while (rc == DX_OK && (errno = 0, e = fts_read(tree)) != NULL) {
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS) {
            rc = dx_fail_errno(err, e->fts_errno, "%s: cannot list", e->fts_path);
        } else if (e->fts_info == FTS_D && e->fts_level > 0 && is_beside(e->fts_name)) {
            (void)fts_set(tree, e, FTS_SKIP);
            l->left_out++;
        } else if (e->fts_info == FTS_F || e->fts_info == FTS_SL) {
            struct stat st;

            if (is_beside(e->fts_name) || stat(e->fts_path, &st) < 0 || !S_ISREG(st.st_mode))
                l->left_out++;
            else
                rc = add(l, e->fts_path, err);
        }
    }
    if (rc == DX_OK && e == NULL && errno != 0)
        rc = dx_fail_errno(err, errno, "%s: cannot list", folder);
    if (tree != NULL)
        (void)fts_close(tree);
    free(roots[0]);
    return rc < 0 ? rc : choose(l, first, folder, err);
}

/* ---- object stores ---- */

struct listing {
    struct dx_input_list *list;
    const char *prefix;
};

static bool is_beside_path(const char *path)
{
    for (const char *name = path; name != NULL; name = strchr(name, '/')) {
        char part[256];
        size_t n;

        name += *name == '/';
        n = strcspn(name, "/");
        (void)snprintf(part, sizeof part, "%.*s", (int)(n < sizeof part ? n : sizeof part - 1),
                       name);
        if (is_beside(part))
            return true;
    }
    return false;
}

static int on_listed(void *ctx, const struct dx_listed *listed, struct dx_error *err)
{
    struct listing *l = ctx;
    char *path;
    int rc;

    if (is_beside_path(listed->object)) {
        l->list->left_out++;
        return DX_OK;
    }
    if (asprintf(&path, "%s%s", l->prefix, listed->object) < 0)
        return dx_no_memory(err, "inputs");
    rc = add(l->list, path, err);
    free(path);
    return rc;
}

/* url ends with a slash. */
static int add_prefix(struct dx_input_list *l, const char *url, struct dx_error *err)
{
    struct listing listing = { l, url };
    struct dx_root root = DX_ROOT_INIT;
    size_t first = l->count;
    char *without = strndup(url, strlen(url) - 1);
    char shown[DX_ROOT_SHOWN];
    int rc = without == NULL ? dx_no_memory(err, "inputs")
                             : dx_root_open(&root, without, DX_ROOT_LIST, err);

    if (rc == DX_OK && root.store == NULL)
        rc = dx_fail(err, DX_E_UNSUPPORTED,
                     "only s3:// can be listed; name the objects, or a list of them as @FILE");
    if (rc == DX_OK)
        rc = dx_store_list(root.store, "", on_listed, &listing, err);
    if (rc < 0)
        (void)dx_fail_in(err, "%s", dx_root_shown(url, shown));
    dx_root_close(&root);
    free(without);
    return rc < 0 ? rc : choose(l, first, dx_root_shown(url, shown), err);
}

/* ---- patterns and lists ---- */

static int add_path(struct dx_input_list *l, const char *path, struct dx_error *err)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? add_folder(l, path, err)
                                                       : add(l, path, err);
}

static int add_pattern(struct dx_input_list *l, const char *pattern, struct dx_error *err)
{
    glob_t found = { 0 };
    int rc = DX_OK;

    switch (glob(pattern, GLOB_ERR, NULL, &found)) {
    case 0:
        break;
    case GLOB_NOMATCH:
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: no file has that name or matches it", pattern);
        break;
    default:
        rc = dx_fail_errno(err, errno, "%s: cannot list", pattern);
    }
    for (size_t i = 0; rc == DX_OK && i < found.gl_pathc; i++)
        rc = add_path(l, found.gl_pathv[i], err);
    globfree(&found);
    return rc;
}

static int add_operand(struct dx_input_list *l, const char *text, bool in_list,
                       struct dx_error *err);

static int add_list(struct dx_input_list *l, const char *path, struct dx_error *err)
{
    FILE *f = fopen(path, "re");
    char line[LINE_MAX_BYTES];
    unsigned long number = 0;
    int rc = f == NULL ? dx_fail_errno(err, errno, "%s: cannot open", path) : DX_OK;

    while (rc == DX_OK && fgets(line, sizeof line, f) != NULL) {
        size_t n = strcspn(line, "\r\n");

        number++;
        if (line[n] == '\0' && n + 1 == sizeof line)
            rc = dx_fail(err, DX_E_LIMIT, "%s:%lu: a line of more than %d bytes", path, number,
                         LINE_MAX_BYTES);
        line[n] = '\0';
        if (rc == DX_OK && n > 0 && line[0] != '#' && (rc = add_operand(l, line, true, err)) < 0)
            (void)dx_fail_in(err, "%s:%lu", path, number);
    }
    if (rc == DX_OK && ferror(f))
        rc = dx_fail_errno(err, errno, "%s: cannot read", path);
    if (f != NULL)
        (void)fclose(f);
    return rc;
}

static int add_operand(struct dx_input_list *l, const char *text, bool in_list,
                       struct dx_error *err)
{
    size_t n = strlen(text);
    struct stat st;

    if (text[0] == '@' && stat(text, &st) < 0) {
        if (in_list)
            return dx_fail(err, DX_E_INVALID, "%s: a list cannot name a list", text);
        return add_list(l, text + 1, err);
    }
    if (dx_source_remote(text))
        return text[n - 1] == '/' ? add_prefix(l, text, err) : add(l, text, err);
    if (strpbrk(text, "*?[") != NULL && stat(text, &st) < 0)
        return add_pattern(l, text, err);
    return add_path(l, text, err);
}

int dx_input_list_make(struct dx_input_list *list, const char *const *operand, size_t count,
                       const struct dx_input_filter *filter, struct dx_error *err)
{
    int rc = DX_OK;

    *list = (struct dx_input_list){ .path = NULL, .filter = filter };
    for (size_t i = 0; rc == DX_OK && i < count; i++)
        rc = add_operand(list, operand[i], false, err);
    list->filter = NULL; /* the caller's */
    if (rc < 0)
        dx_input_list_release(list);
    return rc;
}
