/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/publish_command.h"

#include "builder/command.h"
#include "builder/publish_time.h"

#define MEMORY_MAX (1ull << 46)
#define THREADS_MAX 64

int dx_publish_command_take(const struct dx_options *options,
                            const struct dx_publish_option_ids *ids, struct dx_publish_options *o,
                            struct dx_error *err)
{
    uint64_t memory = 0;
    uint64_t threads = 0;
    int rc;

    o->root = dx_options_text(options, ids->root);
    if (o->root == NULL)
        return dx_fail(err, DX_E_INVALID, "--root ROOT is needed");
    if (options->operand_count > 0)
        return dx_fail(err, DX_E_INVALID, "%s: no operand is expected", options->operand[0]);
    rc = dx_options_size(options, ids->memory, DX_PUBLISH_MEMORY_MIN, MEMORY_MAX, &memory, err);
    if (rc == DX_OK)
        rc = dx_options_number(options, ids->threads, 0, THREADS_MAX, &threads, err);
    if (rc == DX_OK)
        rc = dx_publish_time(&o->now_us, &o->fixed_time, err);
    if (threads == 0)
        threads = dx_command_cores(THREADS_MAX);
    o->memory = (size_t)memory;
    o->threads = (unsigned)threads;
    o->work_dir = dx_options_text(options, ids->work_dir);
    return rc;
}
