/* SPDX-License-Identifier: Apache-2.0
 * bus_fault.h - a mapped file that was cut short gives zeros and a mark instead of death.
 *
 *   rc = dx_bus_install(wake_fd, &err);                      before the process has threads
 *   rc = dx_bus_add(base, size, &word, value, &err);         a range of a mapping; not installed: nothing is done
 *   ... *word is `value` if it was 0 and a page of the range could not be read ...
 *   rc = dx_bus_check(&word, path, &err);                    DX_E_CORRUPT then, with the file's name
 *   dx_bus_remove(base);                                     before the range is unmapped; NULL is fine
 *   n = dx_bus_count();                                      signals of ranges so far
 *   dx_bus_uninstall();                                      the action that was there before
 *
 * A SIGBUS in a range puts anonymous zero pages in the place of all of it, marks the word and adds
 * one to the eventfd wake_fd (-1: none; a second install sets another one). A caller that computed from the range looks at the word before the
 * result is believed. A SIGBUS anywhere else, one that was sent by kill, and one for which no
 * zeros can be had, gets the action that was there before.
 *
 * The handler takes no lock and allocates nothing: the table is one of fixed size, read by sequence
 * numbers. Threads may add and remove at any time; a range stays as long as a thread may touch it.
 * System calls that are given a lost page fail with EFAULT, without a signal.
 */
#ifndef DX_LOADER_GUARD_BUS_FAULT_H
#define DX_LOADER_GUARD_BUS_FAULT_H

#include "base/error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define DX_BUS_RANGES 2048 /* of 6 to 8 files a version: more versions than a server holds */

int dx_bus_install(int wake_fd, struct dx_error *err);
void dx_bus_uninstall(void);
int dx_bus_add(void *base, size_t size, _Atomic unsigned *word, unsigned value,
               struct dx_error *err);
int dx_bus_check(const _Atomic unsigned *word, const char *path, struct dx_error *err);
void dx_bus_remove(const void *base);
uint64_t dx_bus_count(void);

#endif
