/* SPDX-License-Identifier: Apache-2.0
 * release.h - the version of these programs, as CMakeLists.txt names it.
 *
 *   dx_release()            "1.0.0-rc1"
 *   dx_release_agent()      "domaindex/1.0.0-rc1", as HTTP requests name the program
 *   dx_release_writer()     "domaindex version 1.0.0-rc1", as Parquet files name their writer
 *
 * Static texts; any thread. Only release.c is compiled again when the version changes.
 */
#ifndef DX_BASE_RELEASE_H
#define DX_BASE_RELEASE_H

const char *dx_release(void);
const char *dx_release_agent(void);
const char *dx_release_writer(void);

#endif
