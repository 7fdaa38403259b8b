/* SPDX-License-Identifier: Apache-2.0
 * process.h - what each of the programs asks of its process, before it does anything else.
 *
 *   dx_process_begin();              the first statement of main, before there are threads
 *   dx_process_bound_heap();         a server: behind it, before there are threads
 *   dx_process_trim_heap(all);       then every few seconds, by any thread; all: however little is free
 *   dx_process_raise_files();        as many open files as the hard limit allows
 *   bytes = dx_process_peak();       resident memory at its highest; 0: unknown
 *
 * A write over a limit of file size fails with EFBIG, as over a full disk with ENOSPC, where the
 * system's default is to end the process by SIGXFSZ. A SIGBUS names its file (base/command/lost_page.h). Threads have a stack of at least
 * DX_THREAD_STACK bytes: their default is the limit of the main thread's, which may be made for
 * programs with one thread (ulimit -s).
 *
 * A bounded heap has DX_HEAP_ARENAS arenas, not eight a core; blocks of DX_HEAP_BLOCK bytes and
 * more are mappings of their own and leave with their free, however large the freed ones before
 * were; and trim gives back what is free by the tens of megabytes, or all whole pages that are free
 * after a lot was freed. Else each arena keeps the room
 * of the largest answers that its threads ever made. A page of a listing is smaller than
 * DX_HEAP_BLOCK, and a free gives back less than trim: else each such answer is new memory from
 * the system, which costs more than writing it. docs/notes/memory.md has what was compared.
 * Variables of the environment (MALLOC_ARENA_MAX) count more.
 *
 * The peak is that of this program (VmHWM). ru_maxrss of getrusage is not: it begins with what the
 * process had that forked and executed us, so a large parent would be reported as our memory.
 */
#ifndef DX_BASE_COMMAND_PROCESS_H
#define DX_BASE_COMMAND_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DX_THREAD_STACK \
    ((size_t)1 << 20) /* several times what any of ours needs; only touched pages count */

#define DX_HEAP_ARENAS 2
#define DX_HEAP_BLOCK (1 << 20)
#define DX_HEAP_FREE_MAX ((size_t)16 << 20) /* more than that is given back */

void dx_process_begin(void);
void dx_process_bound_heap(void);
void dx_process_trim_heap(bool all);
void dx_process_raise_files(void);
uint64_t dx_process_peak(void);

#endif
