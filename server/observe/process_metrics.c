/* SPDX-License-Identifier: Apache-2.0 */
#include "server/observe/process_metrics.h"

#include "server/observe/metric_text.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* When this began: the process, but for what the linker took. Not from /proc, where it
 * hangs on the time of boot, which a sandbox may hide. */
static double began_s;

__attribute__((constructor)) static void note_begin(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    began_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void write_usage(struct dx_buf *out)
{
    struct rusage u;

    if (getrusage(RUSAGE_SELF, &u) != 0)
        return;
    dx_metric_one_seconds(out, DX_METRIC_PROCESS_CPU_SECONDS_TOTAL,
                          seconds(u.ru_utime) + seconds(u.ru_stime));
    dx_metric_one(out, DX_METRIC_PROCESS_MAJOR_PAGE_FAULTS_TOTAL, (uint64_t)u.ru_majflt);
}

/* What a leak adds to, where the resident memory also has what the allocator keeps free. */
static void write_heap(struct dx_buf *out)
{
#ifdef __GLIBC__
    struct mallinfo2 heap = mallinfo2();

    dx_metric_one(out, DX_METRIC_HEAP_USED_BYTES, heap.uordblks + heap.hblkhd);
#else
    (void)out;
#endif
}

static void write_memory(struct dx_buf *out)
{
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char text[128];
    unsigned long long size, resident, shared;
    ssize_t n;

    if (fd < 0)
        return;
    n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    if (n <= 0)
        return;
    text[n] = '\0';
    if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3 || shared > resident)
        return;
    dx_metric_one(out, DX_METRIC_PROCESS_VIRTUAL_MEMORY_BYTES,
                  size * (uint64_t)sysconf(_SC_PAGESIZE));
    dx_metric_one(out, DX_METRIC_PROCESS_RESIDENT_MEMORY_BYTES,
                  resident * (uint64_t)sysconf(_SC_PAGESIZE));
    dx_metric_one(out, DX_METRIC_RESIDENT_ANONYMOUS_BYTES,
                  (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void write_descriptors(struct dx_buf *out)
{
    DIR *dir = opendir("/proc/self/fd");
    struct rlimit limit;
    uint64_t n = 0;

    if (dir != NULL) {
        const struct dirent *entry;

        while ((entry = readdir(dir)) != NULL)
            n += entry->d_name[0] != '.';
        (void)closedir(dir);
        dx_metric_one(out, DX_METRIC_PROCESS_OPEN_FDS,
                      n - 1); /* but for the one that was read here */
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        dx_metric_one(out, DX_METRIC_PROCESS_MAX_FDS, limit.rlim_cur);
    }
}

void dx_process_metrics_write(struct dx_buf *out)
{
    write_usage(out);
    write_memory(out);
    write_heap(out);
    write_descriptors(out);
    dx_metric_one_seconds(out, DX_METRIC_PROCESS_START_TIME_SECONDS, began_s);
}
