/* SPDX-License-Identifier: Apache-2.0
 * What memory there is by /proc and control groups of both versions, in files of a folder of the test.
 */
#include "loader/memory_room.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/support/fail.h"

#define MIB (UINT64_C(1) << 20)
#define MACHINE (1000 * MIB)
#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/memory"

static int failures;
static char top[64];

static void put(const char *path, const char *text)
{
    struct dx_error err = DX_ERROR_INIT;
    char whole[PATH_MAX];
    FILE *f;

    (void)snprintf(whole, sizeof whole, "%s%s", top, path);
    *strrchr(whole, '/') = '\0';
    if (dx_dir_make(whole, &err) < 0)
        FAIL("%s", err.text);
    (void)snprintf(whole, sizeof whole, "%s%s", top, path);
    f = fopen(whole, "w");
    if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0) {
        perror(whole);
        exit(1);
    }
}

struct file {
    const char *path, *text;
};

static const struct {
    const char *groups; /* /proc/self/cgroup; NULL: there is none */
    struct file files[7];
    uint64_t room;
    bool capped;
} rows[] = {
    { NULL, { { NULL, NULL } }, MACHINE, false },
    { "0::/\n", { { V2 "/memory.max", "max\n" } }, MACHINE, false },
    { "0::/\n", /* a container's root */
      { { V2 "/memory.max", "104857600\n" }, { V2 "/memory.current", "73400320\n" } },
      30 * MIB,
      true },
    { "0::/a/b\n", /* pages of files are free as well */
      { { V2 "/a/b/memory.max", "104857600\n" },
        { V2 "/a/b/memory.current", "73400320\n" },
        { V2 "/a/b/memory.stat",
          "anon 1\nfile 9\ninactive_file 10485760\nactive_file 20971520\n" } },
      60 * MIB,
      true },
    { "0::/a/b\n", /* the group above has less */
      { { V2 "/a/b/memory.max", "104857600\n" },
        { V2 "/a/memory.max", "52428800\n" },
        { V2 "/a/memory.current", "62914560\n" } },
      0,
      true },
    { "0::/a/b\n", { { V2 "/a/b/memory.max", "104857600000\n" } }, MACHINE, false },
    { "3:cpu:/x\n9:blkio,memory:/a\n0::/\n",
      { { V1 "/a/memory.limit_in_bytes", "104857600\n" },
        { V1 "/a/memory.usage_in_bytes", "104857600\n" },
        { V1 "/a/memory.stat",
          "inactive_file 1\ntotal_inactive_file 41943040\ntotal_active_file 0\n" } },
      40 * MIB,
      true },
    { "9:memory:/not/to/be/seen\n", /* of the host, from within a container */
      { { V1 "/memory.limit_in_bytes", "209715200\n" },
        { V1 "/memory.usage_in_bytes", "104857600\n" } },
      100 * MIB,
      true },
    { "9:memory:/\n",
      { { V1 "/memory.limit_in_bytes", "9223372036854771712\n" } },
      MACHINE,
      false },
    { "9:memoryless:/\n", { { V1 "/memory.limit_in_bytes", "1048576\n" } }, MACHINE, false },
    { "nonsense\n0\n0:\n0::\n0::x\n", { { V2 "/memory.max", "1\n" } }, MACHINE, false },
};

static void check_row(size_t i)
{
    struct dx_error err = DX_ERROR_INIT;
    uint64_t room;
    bool capped;

    put("/proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    1024000 kB\n");
    if (rows[i].groups != NULL)
        put("/proc/self/cgroup", rows[i].groups);
    for (const struct file *f = rows[i].files; f->path != NULL; f++)
        put(f->path, f->text);
    room = dx_memory_room(top, &capped);
    if (room != rows[i].room || capped != rows[i].capped)
        FAIL("row %zu: %llu bytes, capped %d", i, (unsigned long long)room, capped);
    if (dx_dir_remove(top, &err) < 0)
        FAIL("%s", err.text);
}

int main(void)
{
    uint64_t here = dx_memory_room("", NULL);

    (void)snprintf(top, sizeof top, "/tmp/dx-test-memory-room-XXXXXX");
    if (mkdtemp(top) == NULL)
        return 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(i);
    if (dx_memory_room(top, NULL) != UINT64_MAX)
        FAIL("%s", "nothing says how much there is");
    if (here < MIB)
        FAIL("this machine has %llu bytes", (unsigned long long)here);
    return failures > 0;
}
