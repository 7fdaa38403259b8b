/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/input/files/input_shards.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "builder/input/archive/cluster_index.h"
#include "fetch/source.h"

#define LOC_LINE_MAX 8192

void dx_input_shards_release(struct dx_input_shards *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->shard[i].path);
    free(s->shard);
    *s = (struct dx_input_shards){ NULL, 0 };
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The folder of the index, with its slash; 0: it is the current one. */
static int folder_size(const char *index)
{
    const char *end = index + (dx_source_remote(index) ? strcspn(index, "?#") : strlen(index));

    while (end > index && end[-1] != '/')
        end--;
    return (int)(end - index);
}

/* The path that a line of FILE.loc has for a shard: 1 found, 0 the line is of another, or nothing is
 * there. */
static int find_in_line(char *line, const char *index, const char *name, char *path,
                        struct dx_error *err)
{
    char *save = NULL;
    char *word = strtok_r(line, "\t\r\n", &save);
    int rc = 0;

    if (word == NULL || strcmp(word, name) != 0)
        return 0;
    while (rc == 0 && (word = strtok_r(NULL, "\t\r\n", &save)) != NULL) {
        if (!dx_cluster_name_valid(dx_span_str(word)))
            return dx_fail(err, DX_E_INVALID,
                           "'%s': a shard's path is relative to the index, without '..'", word);
        rc = dx_path_format(path, PATH_MAX, err, "%.*s%s", folder_size(index), index, word);
        if (rc == DX_OK)
            rc = is_file(path);
    }
    return rc;
}

static int find_in_loc(FILE *f, const char *index, const char *name, char *path,
                       struct dx_error *err)
{
    char line[LOC_LINE_MAX];
    int rc = 0;

    rewind(f);
    while (rc == 0 && fgets(line, sizeof line, f) != NULL)
        rc = find_in_line(line, index, name, path, err);
    return rc;
}

static int find_shard(FILE *loc, const char *index, const char *name, char *path,
                      struct dx_error *err)
{
    int rc = dx_path_format(path, PATH_MAX, err, "%.*s%s", folder_size(index), index, name);

    if (rc < 0 || dx_source_remote(index) || is_file(path))
        return rc;
    rc = loc == NULL ? 0 : find_in_loc(loc, index, name, path, err);
    if (rc == 0)
        return dx_fail(err, DX_E_NOT_FOUND,
                       "the shard %s is not there; fetch it, or name the shards that there are "
                       "instead of their index",
                       name);
    return rc < 0 ? rc : DX_OK;
}

static int find_all(struct dx_input_shards *s, const struct dx_cluster_index *c, const char *index,
                    FILE *loc, struct dx_error *err)
{
    int rc = DX_OK;

    s->shard = calloc(c->count, sizeof *s->shard);
    if (s->shard == NULL)
        return dx_no_memory(err, "shards");
    for (size_t i = 0; rc == DX_OK && i < c->count; i++) {
        char path[PATH_MAX];

        rc = find_shard(loc, index, c->shard[i].name, path, err);
        if (rc < 0)
            break;
        s->shard[s->count] = (struct dx_input_shard){ strdup(path), c->shard[i].size };
        if (s->shard[s->count].path == NULL)
            rc = dx_no_memory(err, "shards");
        else
            s->count++;
    }
    return rc;
}

int dx_input_shards_find(struct dx_input_shards *s, const char *index, struct dx_error *err)
{
    struct dx_cluster_index c = DX_CLUSTER_INDEX_INIT;
    FILE *loc = NULL;
    char path[PATH_MAX];
    int rc = dx_cluster_index_read(&c, index, err);

    *s = (struct dx_input_shards){ NULL, 0 };
    if (rc > 0 && !dx_source_remote(index) &&
        dx_path_format(path, sizeof path, NULL, "%.*s.loc", (int)strlen(index) - 4, index) == DX_OK)
        loc = fopen(path, "re");
    if (rc > 0) {
        rc = find_all(s, &c, index, loc, err);
        rc = rc < 0 ? dx_fail_in(err, "%s", index) : 1;
    }
    if (loc != NULL)
        (void)fclose(loc);
    dx_cluster_index_release(&c);
    if (rc < 0)
        dx_input_shards_release(s);
    return rc;
}
