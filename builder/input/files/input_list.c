/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/files/input_list.h"

#include <dirent.h>
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

#include "base/array.h"
#include "builder/input/archive/cluster_index.h"
#include "builder/input/bytes/input.h"
#include "builder/input/files/input_shards.h"
#include "builder/input/parquet/parquet_rows.h"
#include "builder/input/records/input_records.h"
#include "builder/root/root.h"
#include "fetch/store/store.h"

#define LINE_MAX_BYTES 8192
#define PART_MAX 1025 /* a name in a path; a whole one of an object */
#define LIST_WINDOW_MAX (8u << 20)

struct dx_input_entry {
    char *path;
    uint64_t size; /* that it must have; 0: any */
};

static int add_sized(struct dx_input_list *l, const char *path, uint64_t size, struct dx_error *err)
{
    struct dx_input_entry *more;

    if (l->count == DX_INPUTS_MAX)
        return dx_fail(err, DX_E_LIMIT, "more than %d inputs; ingest them in several runs",
                       DX_INPUTS_MAX);
    more = dx_array_room(l->entry, l->count, &l->room, sizeof *more);
    if (more == NULL)
        return dx_no_memory(err, "inputs");
    l->entry = more;
    l->entry[l->count] = (struct dx_input_entry){ strdup(path), size };
    if (l->entry[l->count].path == NULL)
        return dx_no_memory(err, "inputs");
    l->count++;
    return DX_OK;
}

static int add(struct dx_input_list *l, const char *path, struct dx_error *err)
{
    return add_sized(l, path, 0, err);
}

static void forget_clusters(struct dx_input_list *l)
{
    for (size_t i = 0; i < l->cluster_count; i++)
        free(l->cluster[i]);
    free(l->cluster);
    l->cluster = NULL;
    l->cluster_count = 0;
}

void dx_input_list_release(struct dx_input_list *l)
{
    forget_clusters(l);
    for (size_t i = 0; i < l->count; i++)
        free(l->entry[i].path);
    free(l->entry);
    free(l->odd);
    free(l->path);
    free(l->size);
    *l = (struct dx_input_list){ .path = NULL };
}

/* ---- cluster indexes ---- */

/* 1: the shards of the index were added; 0: it is something else. */
static int add_shards(struct dx_input_list *l, const char *index, struct dx_error *err)
{
    struct dx_input_shards s;
    int rc = dx_input_shards_find(&s, index, err);

    for (size_t i = 0; rc > 0 && i < s.count; i++)
        if (add_sized(l, s.shard[i].path, s.shard[i].size, err) < 0)
            rc = (int)err->code;
    if (rc != 0)
        dx_input_shards_release(&s);
    return rc;
}

static int remember_cluster(struct dx_input_list *l, const char *path, struct dx_error *err)
{
    char **more = realloc(l->cluster, (l->cluster_count + 1) * sizeof *more);

    if (more == NULL)
        return dx_no_memory(err, "inputs");
    l->cluster = more;
    l->cluster[l->cluster_count] = strdup(path);
    if (l->cluster[l->cluster_count] == NULL)
        return dx_no_memory(err, "inputs");
    l->cluster_count++;
    return DX_OK;
}

static int by_path(const void *a, const void *b)
{
    const struct dx_input_entry *x = a, *y = b;

    return strcmp(x->path, y->path);
}

/* Of the sorted files [first, count) each that an index of their folder names gets the size that it
 * says; one that the folder lacks is an error. */
static int apply_cluster(struct dx_input_list *l, size_t first, const char *index,
                         struct dx_error *err)
{
    struct dx_input_shards s;
    int rc = dx_input_shards_find(&s, index, err);

    if (rc <= 0)
        return rc;
    rc = DX_OK;
    for (size_t i = 0; rc == DX_OK && i < s.count; i++) {
        struct dx_input_entry key = { s.shard[i].path, 0 };
        struct dx_input_entry *found = l->count == first
                                           ? NULL
                                           : bsearch(&key, l->entry + first, l->count - first,
                                                     sizeof key, by_path);

        if (found != NULL)
            found->size = s.shard[i].size;
        else
            rc = dx_fail(err, DX_E_NOT_FOUND,
                         "%s: names the shard %s, which is not among the files of the folder; "
                         "fetch it, or name the shards that there are",
                         index, s.shard[i].path);
    }
    dx_input_shards_release(&s);
    return rc;
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

/* The folder name ** of a pattern, which stands for any number of folders. */
static bool is_deep(const char *part)
{
    return strncmp(part, "**", 2) == 0 && (part[2] == '/' || part[2] == '\0');
}

static const char *next_part(const char *path)
{
    const char *slash = strchr(path, '/');

    return slash == NULL ? NULL : slash + 1;
}

static bool has_deep(const char *pattern)
{
    const char *at = pattern;

    while (at != NULL && !is_deep(at))
        at = next_part(at);
    return at != NULL;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* One name of a path; those that begin with '.' are hidden from * and ?. */
static bool matches_part(const char *pattern, const char *path)
{
    char p[PART_MAX], s[PART_MAX];
    size_t n = strcspn(pattern, "/"), m = strcspn(path, "/");

    if (n >= sizeof p || m >= sizeof s)
        return false;
    (void)snprintf(p, sizeof p, "%.*s", (int)n, pattern);
    (void)snprintf(s, sizeof s, "%.*s", (int)m, path);
    return fnmatch(p, s, FNM_PERIOD) == 0;
}

/* Part by part; behind a ** that did not fit the next folder is tried. */
static bool matches_deep(const char *pattern, const char *path)
{
    const char *behind = NULL, *tried = NULL;

    while (pattern != NULL || path != NULL) {
        if (pattern != NULL && is_deep(pattern)) {
            behind = next_part(pattern);
            if (behind == NULL)
                return true;
            pattern = behind;
            tried = path;
        } else if (pattern != NULL && path != NULL && matches_part(pattern, path)) {
            pattern = next_part(pattern);
            path = next_part(path);
        } else if (tried != NULL && *tried != '.' && (tried = next_part(tried)) != NULL) {
            pattern = behind;
            path = tried;
        } else {
            return false;
        }
    }
    return true;
}

static bool is_wanted(const struct dx_input_list *l, const char *path)
{
    const struct dx_input_filter *f = l->filter;

    return f == NULL ||
           ((f->include == NULL || f->include[0] == NULL || matches(path, f->include)) &&
            (f->exclude == NULL || !matches(path, f->exclude)));
}

/* Without memory for its name it is counted alone. */
static void note_odd(struct dx_input_list *l, const char *path, const char *why)
{
    if (l->odd != NULL)
        return;
    l->odd = strdup(path);
    l->odd_why = why;
}

/* Of the files [first, count) those that `takes` says, in their order. */
static void keep_files(struct dx_input_list *l, size_t first,
                       bool (*takes)(const struct dx_input_list *, const char *))
{
    size_t to = first;

    for (size_t i = first; i < l->count; i++)
        if (takes(l, l->entry[i].path))
            l->entry[to++] = l->entry[i];
        else
            free(l->entry[i].path);
    l->count = to;
}

static bool is_parquet(const struct dx_input_list *l, const char *path)
{
    (void)l;
    return dx_parquet_rows_named(path);
}

static void note_other_formats(struct dx_input_list *l, size_t first)
{
    for (size_t i = first; l->odd == NULL && i < l->count; i++)
        if (!dx_parquet_rows_named(l->entry[i].path))
            note_odd(l, l->entry[i].path, "its name is not that of a Parquet file, as others are");
}

/* Of the files [first, count) those that are inputs, sorted. */
static int choose_files(struct dx_input_list *l, size_t first, const char *folder,
                        struct dx_error *err)
{
    size_t found = l->count - first;
    bool parquet = false;
    int rc = DX_OK;

    if (found > 0)
        qsort(l->entry + first, found, sizeof *l->entry, by_path);
    for (size_t i = 0; rc == DX_OK && i < l->cluster_count; i++)
        rc = apply_cluster(l, first, l->cluster[i], err);
    forget_clusters(l);
    if (rc < 0)
        return rc;
    keep_files(l, first, is_wanted);
    for (size_t i = first; i < l->count; i++)
        parquet = parquet || dx_parquet_rows_named(l->entry[i].path);
    if (parquet) {
        note_other_formats(l, first);
        keep_files(l, first, is_parquet);
    }
    l->taken += l->count - first;
    l->left_out += found - (l->count - first);
    if (l->count == first)
        return dx_fail(err, DX_E_NOT_FOUND,
                       found > 0 ? "%s: a folder without a file to read: --include and --exclude "
                                   "leave out what it has"
                                 : "%s: a folder without a file to read",
                       folder);
    return DX_OK;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Whether a folder beside this one has that name. */
static bool has_sibling(const FTSENT *e, const char *name)
{
    char path[LINE_MAX_BYTES];
    struct stat st;
    int n = snprintf(path, sizeof path, "%.*s%s", (int)(e->fts_pathlen - e->fts_namelen),
                     e->fts_path, name);

    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Hugging Face's cache has the bytes in blobs/, and names for them in a folder a revision. */
static bool is_hub_store(const FTSENT *e)
{
    return (strcmp(e->fts_name, "blobs") == 0 || strcmp(e->fts_name, "refs") == 0) &&
           has_sibling(e, "snapshots");
}

static size_t count_entries(const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    size_t n = 0;

    while (d != NULL && (e = readdir(d)) != NULL)
        n += e->d_name[0] != '.';
    if (d != NULL)
        (void)closedir(d);
    return n;
}

static int check_snapshots(const FTSENT *e, struct dx_error *err)
{
    if (strcmp(e->fts_name, "snapshots") != 0 || !has_sibling(e, "refs") ||
        count_entries(e->fts_path) <= 1)
        return DX_OK;
    return dx_fail(err, DX_E_INVALID,
                   "%s: has several revisions of the data set; name one of its folders",
                   e->fts_path);
}

static int take_folder(struct dx_input_list *l, FTS *tree, FTSENT *e, struct dx_error *err)
{
    if (e->fts_level > 0 && (is_beside(e->fts_name) || is_hub_store(e))) {
        (void)fts_set(tree, e, FTS_SKIP);
        l->left_out++;
        return DX_OK;
    }
    return e->fts_level > 0 ? check_snapshots(e, err) : DX_OK;
}

static int take_file(struct dx_input_list *l, const FTSENT *e, struct dx_error *err)
{
    struct stat st;
    bool is_file = stat(e->fts_path, &st) == 0 && S_ISREG(st.st_mode);

    if (is_file && !is_beside(e->fts_name))
        return add(l, e->fts_path, err);
    l->left_out++;
    if (!is_file && !is_beside(e->fts_name))
        note_odd(l, e->fts_path, "a link to something else than a file is not followed");
    return dx_cluster_index_named(e->fts_name) && e->fts_name[0] != '.' && e->fts_name[0] != '_'
               ? remember_cluster(l, e->fts_path, err)
               : DX_OK;
}

static int add_folder(struct dx_input_list *l, const char *folder, struct dx_error *err)
{
    char *roots[] = { strdup(folder), NULL };
    size_t first = l->count;
    FTS *tree = roots[0] == NULL
                    ? NULL
                    : fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
    int rc = tree == NULL ? dx_fail_errno(err, errno, "%s: cannot list", folder) : DX_OK;
    FTSENT *e = NULL;

    while (rc == DX_OK && (errno = 0, e = fts_read(tree)) != NULL) {
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
            rc = dx_fail_errno(err, e->fts_errno, "%s: cannot list", e->fts_path);
        else if (e->fts_info == FTS_D)
            rc = take_folder(l, tree, e, err);
        else if (e->fts_info == FTS_F || e->fts_info == FTS_SL)
            rc = take_file(l, e, err);
    }
    if (rc == DX_OK && e == NULL && errno != 0)
        rc = dx_fail_errno(err, errno, "%s: cannot list", folder);
    if (tree != NULL)
        (void)fts_close(tree);
    free(roots[0]);
    return rc < 0 ? rc : choose_files(l, first, folder, err);
}

/* ---- object stores ---- */

struct listing {
    struct dx_input_list *list;
    const char *prefix;  /* address of what is listed, with its slash */
    const char *pattern; /* of the paths below; NULL: all */
    size_t named;        /* files that the pattern itself names */
};

/* The first bytes of a path, as many parts as the pattern has; 0: the path has fewer. */
static size_t as_deep(const char *path, const char *pattern)
{
    const char *end = strchr(path, '/');

    for (; (pattern = strchr(pattern, '/')) != NULL; pattern++) {
        if (end == NULL)
            return 0;
        end = strchr(end + 1, '/');
    }
    return end == NULL ? strlen(path) : (size_t)(end - path);
}

/* The same of a pattern with a ** in it: the file, or a folder above it. */
static int match_deep_object(const char *pattern, const char *object, struct dx_error *err)
{
    char *front = strdup(object);
    int rc;

    if (front == NULL)
        return dx_no_memory(err, "inputs");
    rc = matches_deep(pattern, front);
    if (rc == 1 && is_deep(last_part(pattern)))
        rc = 2; /* a ** at the end is the folder before it */
    for (char *slash; rc == 0 && (slash = strrchr(front, '/')) != NULL;) {
        *slash = '\0';
        rc = matches_deep(pattern, front) ? 2 : 0;
    }
    free(front);
    return rc;
}

/* 0: the pattern does not match; 1: it is a file that it names; 2: a file below what it names. */
static int match_object(const struct listing *l, const char *object, struct dx_error *err)
{
    size_t n;
    char *front;
    int rc;

    if (l->pattern == NULL)
        return 2;
    if (strcmp(l->pattern, object) == 0) /* a name with a star in it */
        return 1;
    if (has_deep(l->pattern))
        return match_deep_object(l->pattern, object, err);
    n = as_deep(object, l->pattern);
    front = n == 0 ? NULL : strndup(object, n);
    if (front == NULL)
        return n == 0 ? 0 : dx_no_memory(err, "inputs");
    rc = fnmatch(l->pattern, front, FNM_PATHNAME) != 0 ? 0 : object[n] == '\0' ? 1 : 2;
    free(front);
    return rc;
}

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
    int rc = match_object(l, listed->object, err);
    bool is_named = rc == 1;
    char *path;

    if (rc <= 0)
        return rc;
    if (asprintf(&path, "%s%s", l->prefix, listed->object) < 0)
        return dx_no_memory(err, "inputs");
    rc = DX_OK;
    if (is_named || !is_beside_path(listed->object)) {
        rc = add(l->list, path, err);
        l->named += is_named && rc == DX_OK;
    } else {
        l->list->left_out++;
        if (dx_cluster_index_named(listed->object))
            rc = remember_cluster(l->list, path, err);
    }
    free(path);
    return rc;
}

/* url ends with a slash. */
static int list_prefix(struct listing *l, struct dx_error *err)
{
    struct dx_root root = DX_ROOT_INIT;
    char *without = strndup(l->prefix, strlen(l->prefix) - 1);
    char shown[DX_ROOT_SHOWN];
    int rc = without == NULL ? dx_no_memory(err, "inputs")
                             : dx_root_open(&root, without, DX_ROOT_LIST, err);

    if (rc == DX_OK && root.store == NULL)
        rc = dx_fail(err, DX_E_UNSUPPORTED,
                     "only s3:// can be listed; name the objects, or a list of them as @FILE");
    if (rc == DX_OK)
        rc = dx_store_list(root.store, "", on_listed, l, err);
    if (rc < 0)
        (void)dx_fail_in(err, "%s", dx_root_shown(l->prefix, shown));
    dx_root_close(&root);
    free(without);
    return rc;
}

static int add_prefix(struct dx_input_list *l, const char *url, struct dx_error *err)
{
    struct listing listing = { .list = l, .prefix = url };
    size_t first = l->count;
    char shown[DX_ROOT_SHOWN];
    int rc = list_prefix(&listing, err);

    return rc < 0 ? rc : choose_files(l, first, dx_root_shown(url, shown), err);
}

/* s3://bucket/PATTERN: what is listed is the folder before its first star. */
static int add_store_pattern(struct dx_input_list *l, const char *url, struct dx_error *err)
{
    struct listing listing = { .list = l };
    size_t first = l->count;
    size_t n = strcspn(url, "*?[");
    char shown[DX_ROOT_SHOWN];
    char *prefix;
    int rc;

    while (n > 0 && url[n - 1] != '/')
        n--;
    prefix = strndup(url, n);
    if (prefix == NULL)
        return dx_no_memory(err, "inputs");
    listing.prefix = prefix;
    listing.pattern = url + n;
    rc = n <= strlen("s3://") ? dx_fail(err, DX_E_INVALID, "%s: a bucket has no pattern", url)
                              : list_prefix(&listing, err);
    if (rc == DX_OK && l->count == first)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: no object has that name or matches it",
                     dx_root_shown(url, shown));
    /* Files that the pattern names are taken as they are, if it names nothing else. */
    if (rc == DX_OK && listing.named == l->count - first)
        qsort(l->entry + first, l->count - first, sizeof *l->entry, by_path);
    else if (rc == DX_OK)
        rc = choose_files(l, first, dx_root_shown(url, shown), err);
    forget_clusters(l);
    free(prefix);
    return rc;
}

/* ---- patterns and lists ---- */

static int add_file(struct dx_input_list *l, const char *path, struct dx_error *err)
{
    int rc = dx_cluster_index_named(path) ? add_shards(l, path, err) : 0;

    return rc == 0 ? add(l, path, err) : rc < 0 ? rc : DX_OK;
}

static int add_path(struct dx_input_list *l, const char *path, struct dx_error *err)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? add_folder(l, path, err)
                                                       : add_file(l, path, err);
}

/* What the entry of a tree is for a pattern of paths below its folder. */
static int take_deep(struct dx_input_list *l, FTS *tree, FTSENT *e, const char *pattern,
                     size_t folder, struct dx_error *err)
{
    bool matched;

    if (e->fts_level == 0)
        return DX_OK;
    matched = matches_deep(pattern, e->fts_path + folder);
    if (e->fts_info != FTS_D)
        return matched ? take_file(l, e, err) : DX_OK;
    if (is_beside(e->fts_name) || is_hub_store(e))
        return take_folder(l, tree, e, err);
    if (!matched)
        return DX_OK;
    (void)fts_set(tree, e, FTS_SKIP);
    return add_folder(l, e->fts_path, err);
}

/* All that matches below a folder. Links to folders are not followed, so that a loop of them has an end. */
static int add_deep(struct dx_input_list *l, const char *folder, const char *pattern,
                    struct dx_error *err)
{
    char *roots[] = { strdup(folder), NULL };
    size_t n = strlen(folder), below = n + (n > 0 && folder[n - 1] != '/');
    FTS *tree = roots[0] == NULL
                    ? NULL
                    : fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
    int rc = tree == NULL ? dx_fail_errno(err, errno, "%s: cannot list", folder) : DX_OK;
    FTSENT *e = NULL;

    while (rc == DX_OK && (errno = 0, e = fts_read(tree)) != NULL) {
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
            rc = dx_fail_errno(err, e->fts_errno, "%s: cannot list", e->fts_path);
        else if (e->fts_info == FTS_D || e->fts_info == FTS_F || e->fts_info == FTS_SL)
            rc = take_deep(l, tree, e, pattern, below, err);
    }
    if (rc == DX_OK && e == NULL && errno != 0)
        rc = dx_fail_errno(err, errno, "%s: cannot list", folder);
    if (tree != NULL)
        (void)fts_close(tree);
    free(roots[0]);
    return rc;
}

/* FRONT/ and what begins with the first ** of the pattern. A ** at its end is the folder before it. */
static int add_deep_pattern(struct dx_input_list *l, const char *pattern, struct dx_error *err)
{
    size_t first = l->count;
    const char *deep = pattern;
    glob_t found = { 0 };
    char *front;
    int rc = DX_OK;

    while (!is_deep(deep))
        deep = next_part(deep);
    front = deep == pattern ? strdup(".") : strndup(pattern, (size_t)(deep - pattern));
    if (front == NULL)
        return dx_no_memory(err, "inputs");
    if (glob(front, GLOB_ERR | GLOB_ONLYDIR, NULL, &found) == GLOB_ABORTED)
        rc = dx_fail_errno(err, errno, "%s: cannot list", pattern);
    for (size_t i = 0; rc == DX_OK && i < found.gl_pathc; i++)
        rc = next_part(deep) == NULL ? add_folder(l, found.gl_pathv[i], err)
                                     : add_deep(l, found.gl_pathv[i], deep, err);
    globfree(&found);
    free(front);
    if (rc == DX_OK && l->count == first)
        rc = dx_fail(err, DX_E_NOT_FOUND, "%s: no file has that name or matches it", pattern);
    if (rc == DX_OK)
        qsort(l->entry + first, l->count - first, sizeof *l->entry, by_path);
    return rc;
}

static int add_pattern(struct dx_input_list *l, const char *pattern, struct dx_error *err)
{
    glob_t found = { 0 };
    int rc = DX_OK;

    if (has_deep(pattern))
        return add_deep_pattern(l, pattern, err);
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

/* A line of a list: an address, a path, or with a base what is below that. */
static int add_line(struct dx_input_list *l, const char *list, const char *line,
                    struct dx_error *err)
{
    const char *base = l->filter != NULL ? l->filter->base : NULL;
    char whole[2 * LINE_MAX_BYTES];
    int n;

    if (dx_source_remote(line) || line[0] == '@' || (line[0] == '/' && !dx_source_remote(list)))
        return add_operand(l, line, true, err);
    if (base != NULL && strlen(base) < LINE_MAX_BYTES) {
        n = snprintf(whole, sizeof whole, "%s%s%s", base,
                     base[0] != '\0' && base[strlen(base) - 1] == '/' ? "" : "/",
                     line + strspn(line, "/"));
        if (strstr(line, "..") != NULL && dx_source_remote(list))
            return dx_fail(err, DX_E_INVALID, "%s: a remote list cannot have '..'", line);
        return n < 0 ? dx_no_memory(err, "inputs") : add_operand(l, whole, true, err);
    }
    if (dx_source_remote(list))
        return dx_fail(err, DX_E_INVALID,
                       "%s: a remote list names addresses (https://, s3://); --base ADDRESS says "
                       "where relative paths are",
                       line);
    return add_operand(l, line, true, err);
}

static struct dx_span trimmed(struct dx_span s)
{
    while (s.size > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
        s = dx_span_of(s.data + 1, s.size - 1);
    while (s.size > 0 && memchr(" \t\r", s.data[s.size - 1], 3) != NULL)
        s.size--;
    return s;
}

static int take_line(struct dx_input_list *l, const char *list, const struct dx_batch *batch,
                     size_t i, struct dx_error *err)
{
    struct dx_span s = trimmed(dx_batch_record(batch, i));
    char line[LINE_MAX_BYTES];
    int rc = DX_OK;

    if (batch->records[i].flaw != DX_FLAW_NONE || s.size >= sizeof line)
        rc = dx_fail(err, DX_E_LIMIT, "a line of more than %d bytes", LINE_MAX_BYTES);
    else if (memchr(s.data, '\0', s.size) != NULL)
        rc = dx_fail(err, DX_E_INVALID, "a line with a NUL byte: is this a list?");
    if (rc == DX_OK) {
        memcpy(line, s.data, s.size);
        line[s.size] = '\0';
        if (line[0] != '#' && line[0] != '\0')
            rc = add_line(l, list, line, err);
    }
    return rc < 0 ? dx_fail_in(err, "line %llu", (unsigned long long)batch->records[i].line)
                  : DX_OK;
}

static int add_list(struct dx_input_list *l, const char *path, struct dx_error *err)
{
    struct dx_records *records = NULL;
    struct dx_batch batch = { 0 };
    struct dx_input *in = NULL;
    int rc = dx_input_open(&in, path, LIST_WINDOW_MAX, err);

    if (rc < 0)
        return rc;
    rc = dx_records_new(&records, in, LINE_MAX_BYTES, err);
    if (rc == DX_OK) {
        dx_records_set_format(records, DX_RECORD_TSV);
        while (rc >= 0 && (rc = dx_records_fill(records, &batch, err)) > 0)
            for (size_t i = 0; rc > 0 && rc != DX_RECORDS_GROW && i < batch.count; i++)
                if (take_line(l, path, &batch, i, err) < 0)
                    rc = (int)err->code;
        if (rc < 0)
            (void)dx_fail_in(err, "%s", dx_input_name(in));
    }
    dx_batch_release(&batch);
    dx_records_free(&records);
    dx_input_close(&in);
    return rc;
}

/* {a,b}, as shells expand it. */
static bool has_braces(const char *text)
{
    const char *open = strchr(text, '{');

    return open != NULL && (open == text || open[-1] != '[') && strchr(open, ',') != NULL &&
           strchr(strchr(open, ','), '}') != NULL;
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
    if (strncmp(text, "hf://", 5) == 0)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: hf:// is not read; download the data set (huggingface-cli download) "
                       "and name its folder, or name https://huggingface.co/.../resolve/... files",
                       text);
    if (has_braces(text) &&
        (strncmp(text, "s3://", 5) == 0 || (!dx_source_remote(text) && stat(text, &st) < 0)))
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: braces are for a shell, and stand for nothing here: name each pattern "
                       "by itself, or leave out the quotes around paths; a brace in a name is [{]",
                       text);
    if (strncmp(text, "s3://", 5) == 0 && strpbrk(text, "*?[") != NULL)
        return add_store_pattern(l, text, err);
    if (!dx_source_remote(text) && strstr(text, "://") != NULL && stat(text, &st) < 0)
        return dx_fail(err, DX_E_UNSUPPORTED,
                       "%s: such an address is not read; name a path without it (file://), "
                       "https://... or s3://... (other stores that speak S3: "
                       "AWS_ENDPOINT_URL_S3)",
                       text);
    if (dx_source_remote(text))
        return text[n - 1] == '/' ? add_prefix(l, text, err) : add_file(l, text, err);
    if (strpbrk(text, "*?[") != NULL && stat(text, &st) < 0)
        return add_pattern(l, text, err);
    return add_path(l, text, err);
}

/* What callers see. */
static int give_paths(struct dx_input_list *l, struct dx_error *err)
{
    l->path = calloc(l->count + 1, sizeof *l->path);
    l->size = calloc(l->count + 1, sizeof *l->size);
    if (l->path == NULL || l->size == NULL)
        return dx_no_memory(err, "inputs");
    for (size_t i = 0; i < l->count; i++) {
        l->path[i] = l->entry[i].path;
        l->size[i] = l->entry[i].size;
    }
    return DX_OK;
}

int dx_input_list_make(struct dx_input_list *list, const char *const *operand, size_t count,
                       const struct dx_input_filter *filter, struct dx_error *err)
{
    struct dx_error unsaid = DX_ERROR_INIT;
    int rc = DX_OK;

    if (err == NULL)
        err = &unsaid;
    *list = (struct dx_input_list){ .path = NULL, .filter = filter };
    for (size_t i = 0; rc == DX_OK && i < count; i++)
        rc = add_operand(list, operand[i], false, err);
    if (rc == DX_OK)
        rc = give_paths(list, err);
    list->filter = NULL; /* the caller's */
    if (rc < 0)
        dx_input_list_release(list);
    return rc;
}

/* ---- each once ---- */

struct known {
    dev_t device; /* 0: of none, distinguished by the path */
    ino_t number;
    const char *path;
};

static int by_file(const void *a, const void *b)
{
    const struct known *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->device == 0 ? strcmp(x->path, y->path) : 0;
}

static struct known known_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (struct known){ st.st_dev, st.st_ino, path }
                                : (struct known){ 0, 0, path };
}

int dx_input_list_check_once(const struct dx_input_list *l, struct dx_error *err)
{
    struct known *file = calloc(l->count + 1, sizeof *file);
    char one[DX_ROOT_SHOWN], other[DX_ROOT_SHOWN];
    int rc = DX_OK;

    if (file == NULL)
        return dx_no_memory(err, "inputs");
    for (size_t i = 0; i < l->count; i++)
        file[i] = known_of(l->path[i]);
    qsort(file, l->count, sizeof *file, by_file);
    for (size_t i = 1; rc == DX_OK && i < l->count; i++)
        if (by_file(&file[i - 1], &file[i]) == 0)
            rc = dx_fail(err, DX_E_INVALID, "inputs %s and %s are the same",
                         dx_root_shown(file[i - 1].path, one), dx_root_shown(file[i].path, other));
    free(file);
    return rc;
}
