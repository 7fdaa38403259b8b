/* SPDX-License-Identifier: Apache-2.0
 * zstd_context.h - decompression contexts of zstd that a thread keeps.
 *
 *   ZSTD_DCtx *c = dx_zstd_context_take();      NULL: out of memory
 *   ... ZSTD_decompressDCtx(c, ...) ...
 *   dx_zstd_context_give(c);                    NULL is fine; any thread
 *
 * A context has 95 kB, which come from the kernel and are cleared each time that one is made: more than it takes to
 * decompress a page. Each thread keeps the last ones that it gave back, DX_ZSTD_CONTEXTS_KEPT at most, until it ends.
 */
#ifndef DX_BASE_ZSTD_CONTEXT_H
#define DX_BASE_ZSTD_CONTEXT_H

struct ZSTD_DCtx_s;

#define DX_ZSTD_CONTEXTS_KEPT 2 /* of pages of the index and of pages of the lake, at once */

struct ZSTD_DCtx_s *dx_zstd_context_take(void);
void dx_zstd_context_give(struct ZSTD_DCtx_s *c);

#endif
