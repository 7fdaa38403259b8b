/* SPDX-License-Identifier: Apache-2.0 */
#include "base/command/process.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/command/lost_page.h"

static void raise_thread_stacks(void)
{
    pthread_attr_t attr;
    size_t size = 0;

    if (pthread_getattr_default_np(&attr) != 0)
        return;
    if (pthread_attr_getstacksize(&attr, &size) == 0 && size < DX_THREAD_STACK &&
        pthread_attr_setstacksize(&attr, DX_THREAD_STACK) == 0)
        (void)pthread_setattr_default_np(&attr);
    (void)pthread_attr_destroy(&attr);
}

void dx_process_begin(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
    dx_lost_page_catch();
    raise_thread_stacks();
}

void dx_process_raise_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

#ifdef __GLIBC__
void dx_process_bound_heap(void)
{
    if (getenv("MALLOC_ARENA_MAX") == NULL)
        (void)mallopt(M_ARENA_MAX, DX_HEAP_ARENAS);
    if (getenv("MALLOC_MMAP_THRESHOLD_") == NULL)
        (void)mallopt(M_MMAP_THRESHOLD, DX_HEAP_BLOCK);
    if (getenv("MALLOC_TRIM_THRESHOLD_") == NULL)
        (void)mallopt(M_TRIM_THRESHOLD, (int)DX_HEAP_FREE_MAX);
}

void dx_process_trim_heap(bool all)
{
    if (all || mallinfo2().fordblks > DX_HEAP_FREE_MAX)
        (void)malloc_trim(DX_HEAP_FREE_MAX / 4);
}
#else
void dx_process_bound_heap(void)
{
}

void dx_process_trim_heap(bool all)
{
    (void)all;
}
#endif

uint64_t dx_process_peak(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    unsigned long long kb = 0;
    char line[256];

    while (f != NULL && kb == 0 && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kb = strtoull(line + 6, NULL, 10);
    if (f != NULL)
        (void)fclose(f);
    return kb * 1024;
}
