/* SPDX-License-Identifier: Apache-2.0
 * publish_command.h - the options that `publish` and `compact` have alike.
 *
 *   [OPT_MEMORY] = DX_PUBLISH_OPTION_MEMORY, ...            rows of the command's table
 *   static const struct dx_publish_option_ids ids = { OPT_ROOT, OPT_MEMORY, OPT_THREADS, OPT_WORK_DIR };
 *   rc = dx_publish_command_take(options, &ids, &o, &err);   root ... now_us of o; DX_E_INVALID
 */
#ifndef DX_BUILDER_PUBLISH_COMMAND_H
#define DX_BUILDER_PUBLISH_COMMAND_H

#include "base/options.h"
#include "builder/publish.h"

#define DX_PUBLISH_OPTION_ROOT                                                     \
    {                                                                              \
        "root", "ROOT", NULL,                                                      \
            "where the lake and the index live: a directory or s3://bucket/prefix" \
    }
#define DX_PUBLISH_OPTION_MEMORY                                               \
    {                                                                          \
        "memory", "SIZE", "1G", "memory budget; K, M, G, T are powers of 1024" \
    }
#define DX_PUBLISH_OPTION_THREADS                              \
    {                                                          \
        "threads", "N", "0", "threads; 0 is one for each core" \
    }
#define DX_PUBLISH_OPTION_WORK_DIR                                                             \
    {                                                                                          \
        "work-dir", "DIR", NULL, "for s3://: where temporary files go; else TMPDIR, else /tmp" \
    }

struct dx_publish_option_ids {
    int root, memory, threads, work_dir;
};

int dx_publish_command_take(const struct dx_options *options,
                            const struct dx_publish_option_ids *ids, struct dx_publish_options *o,
                            struct dx_error *err);

#endif
