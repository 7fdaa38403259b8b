/* SPDX-License-Identifier: Apache-2.0
 * secret.h - keeps core files from showing what this process holds secret.
 *
 *   dx_secret_begin();     a program, in main, before there are threads: the process is its own
 *   dx_secret_held();      before a secret is read or made, by any thread, as often as it likes
 *
 * From then on the kernel writes no core file of the process and lets only root trace it, and what
 * root's debugger writes (gcore) has no memory in it. All copies are covered: ours, those in
 * libcurl, libpq, librabbitmq and libcrypto, arguments and environment. Not covered: root's
 * debugger with coredump_filter ignored, and memory that is swapped out.
 *
 * begin also looks whether the environment has a secret. Without begin, as in a program that uses
 * the library, held does nothing: what is dumped is for the owner of the process to say. A process
 * that holds no secret is dumped as ever: a core file of a crash is worth having.
 *
 * Rejected: pages of their own with MADV_DONTDUMP, which libraries do not use and the environment
 * is not in; RLIMIT_CORE, which a core_pattern with a pipe need not heed.
 */
#ifndef DX_BASE_CRYPTO_SECRET_H
#define DX_BASE_CRYPTO_SECRET_H

void dx_secret_begin(void);
void dx_secret_held(void);

#endif
