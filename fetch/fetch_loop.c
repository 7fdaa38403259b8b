/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetch_loop.h"

int dx_fetch_begin(struct dx_fetch_loop *loop, struct dx_source *src, const struct dx_wave *wave,
                   dx_fetch_done *done, void *ctx, struct dx_fetch **fetch, struct dx_error *err)
{
    return src->ops->begin(src, loop, wave, done, ctx, fetch, err);
}
