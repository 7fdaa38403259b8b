/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/memory_room.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The number behind a word at the front of a line; of a file of one number the word is "". false: none, as "max". */
static bool read_number(const char *path, const char *word, uint64_t *n)
{
    FILE *f = fopen(path, "re");
    size_t size = strlen(word);
    bool found = false;
    char line[256];

    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
        found = strncmp(line, word, size) == 0 && sscanf(line + size, "%" SCNu64, n) == 1;
    if (f != NULL)
        (void)fclose(f);
    return found;
}

/* ---- control groups ---- */

struct hierarchy {
    const char *mount, *limit, *usage;
    const char *files[2]; /* of memory.stat: pages of files, which the kernel takes back */
};

static const struct hierarchy unified = {
    "/sys/fs/cgroup", "memory.max", "memory.current", { "active_file ", "inactive_file " }
};

static const struct hierarchy of_memory = { "/sys/fs/cgroup/memory",
                                            "memory.limit_in_bytes",
                                            "memory.usage_in_bytes",
                                            { "total_active_file ", "total_inactive_file " } };

static bool number_of(const char *folder, const char *name, const char *word, uint64_t *n)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);

    return size > 0 && (size_t)size < sizeof path && read_number(path, word, n);
}

/* What is left below the limit of a group; UINT64_MAX: it has none. */
static uint64_t room_of_group(const struct hierarchy *h, const char *folder)
{
    uint64_t limit;
    uint64_t used = 0;
    uint64_t files = 0;

    if (!number_of(folder, h->limit, "", &limit))
        return UINT64_MAX;
    (void)number_of(folder, h->usage, "", &used);
    for (int i = 0; i < 2; i++) {
        uint64_t n = 0;

        if (number_of(folder, "memory.stat", h->files[i], &n))
            files += n < UINT64_MAX - files ? n : 0;
    }
    used -= files < used ? files : used;
    return limit > used ? limit - used : 0;
}

/* Of a group and all above it. group begins with a slash, and is cut. */
static uint64_t room_of_groups(const struct hierarchy *h, const char *root, char *group)
{
    uint64_t room = UINT64_MAX;
    char folder[PATH_MAX];

    for (char *slash = group; slash != NULL;) {
        int size = snprintf(folder, sizeof folder, "%s%s%s", root, h->mount, group);
        uint64_t left = size > 0 && (size_t)size < sizeof folder ? room_of_group(h, folder)
                                                                 : UINT64_MAX;

        room = left < room ? left : room;
        slash = strrchr(group, '/');
        if (slash != NULL)
            *slash = '\0';
    }
    return room;
}

/* Whether a list of controllers, "cpu,memory", has this one. */
static bool has_controller(const char *list, const char *name)
{
    size_t size = strlen(name);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, size) == 0 && (at[size] == ',' || at[size] == '\0'))
            return true;
    }
    return false;
}

/* A line "number:controllers:/group"; version 2 has no controllers. */
static uint64_t room_of_line(const char *root, char *line)
{
    char *controllers = strchr(line, ':');
    char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');

    if (group == NULL || group[1] != '/')
        return UINT64_MAX;
    *group++ = '\0';
    controllers++;
    group[strcspn(group, "\n")] = '\0';
    if (*controllers == '\0')
        return room_of_groups(&unified, root, group);
    return has_controller(controllers, "memory") ? room_of_groups(&of_memory, root, group)
                                                 : UINT64_MAX;
}

static uint64_t room_of_all_groups(const char *root)
{
    uint64_t room = UINT64_MAX;
    char line[PATH_MAX];
    FILE *f;

    (void)snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    f = fopen(line, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        uint64_t left = room_of_line(root, line);

        room = left < room ? left : room;
    }
    if (f != NULL)
        (void)fclose(f);
    return room;
}

uint64_t dx_memory_room(const char *root, bool *capped)
{
    uint64_t groups = room_of_all_groups(root);
    uint64_t machine = UINT64_MAX;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (read_number(path, "MemAvailable:", &machine))
        machine = machine > UINT64_MAX / 1024 ? UINT64_MAX : machine * 1024;
    if (capped != NULL)
        *capped = groups < machine;
    return groups < machine ? groups : machine;
}
