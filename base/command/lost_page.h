/* SPDX-License-Identifier: Apache-2.0
 * lost_page.h - a page of a mapped file that cannot be read: the file is named before the process ends.
 *
 *   dx_lost_page_catch();      once a process, before there are threads
 *
 * A SIGBUS for a page of a mapped file (it was cut short, or the disk fails) writes
 *
 *   PROGRAM: PATH: a page of this file cannot be read: it was cut short while it was read, or the disk fails
 *
 * to standard error, and ends the process as it would have without. Where zeros and an error can take the place
 * of the page, loader/guard/bus_fault.h does that and comes here with all others only. The handler
 * takes no lock and allocates nothing.
 */
#ifndef DX_BASE_COMMAND_LOST_PAGE_H
#define DX_BASE_COMMAND_LOST_PAGE_H

void dx_lost_page_catch(void);

#endif
