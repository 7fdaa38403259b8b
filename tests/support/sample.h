/* SPDX-License-Identifier: Apache-2.0
 * sample.h - how many rounds a test does: all, or a part under ThreadSanitizer, which takes ten times as long for each.
 *
 *   for (int round = 0; round < DX_ROUNDS(50000, 10000); round++)
 */
#ifndef DX_TESTS_SUPPORT_SAMPLE_H
#define DX_TESTS_SUPPORT_SAMPLE_H

#ifdef __SANITIZE_THREAD__
#define DX_ROUNDS(all, some) (some)
#else
#define DX_ROUNDS(all, some) (all)
#endif

#endif
