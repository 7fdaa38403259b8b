/* SPDX-License-Identifier: Apache-2.0 */
#include "server/observe/record_names.h"

#include <stddef.h>

static const char *name_of(const char *const *names, size_t count, size_t i)
{
    return i < count && names[i] != NULL ? names[i] : "none";
}

const char *dx_method_name(enum dx_method method)
{
    static const char *const names[] = {
        [DX_METHOD_GET] = "GET", [DX_METHOD_HEAD] = "HEAD", [DX_METHOD_POST] = "POST"
    };

    return name_of(names, sizeof names / sizeof names[0], (size_t)method);
}

const char *dx_answer_from_name(enum dx_answer_from from)
{
    static const char *const names[] = { [DX_FROM_LOOP] = "loop",
                                         [DX_FROM_WORKER] = "worker",
                                         [DX_FROM_REPLY_CACHE] = "hot",
                                         [DX_FROM_BODY_CACHE] = "kept" };

    return name_of(names, sizeof names / sizeof names[0], (size_t)from);
}

const char *dx_stage_name(enum dx_stage stage)
{
    static const char *const names[DX_STAGE_COUNT] = { [DX_STAGE_HEAD] = "head",
                                                       [DX_STAGE_QUEUE] = "queue",
                                                       [DX_STAGE_ANSWER] = "answer",
                                                       [DX_STAGE_STORAGE] = "storage",
                                                       [DX_STAGE_SEND] = "send" };

    return name_of(names, DX_STAGE_COUNT, (size_t)stage);
}
