/* SPDX-License-Identifier: Apache-2.0 */
#include "server/route_name.h"

#include <stddef.h>

static const char *name_of(const char *const *names, size_t count, size_t i)
{
    return i < count && names[i] != NULL ? names[i] : "none";
}

const char *dx_route_name(enum dx_route route)
{
    static const char *const names[DX_ROUTE_COUNT] = {
        [DX_ROUTE_DOMAIN] = "domain",
        [DX_ROUTE_URLS] = "urls",
        [DX_ROUTE_DATASETS] = "datasets",
        [DX_ROUTE_DATASET] = "dataset",
        [DX_ROUTE_TOP_DOMAINS] = "top_domains",
        [DX_ROUTE_OVERLAP] = "overlap",
        [DX_ROUTE_NORMALIZE] = "normalize",
        [DX_ROUTE_URL] = "url",
        [DX_ROUTE_URLID] = "urlid",
        [DX_ROUTE_HOSTS] = "hosts",
        [DX_ROUTE_PATHS] = "paths",
        [DX_ROUTE_DIFF] = "diff",
        [DX_ROUTE_CHANGES] = "changes",
        [DX_ROUTE_VERSIONS] = "versions",
        [DX_ROUTE_TAGS] = "tags",
        [DX_ROUTE_TAG] = "tag",
        [DX_ROUTE_NAMES] = "names",
        [DX_ROUTE_KEYS] = "keys",
        [DX_ROUTE_RANGE] = "range",
        [DX_ROUTE_HEALTHZ] = "healthz",
        [DX_ROUTE_READYZ] = "readyz",
        [DX_ROUTE_METRICS] = "metrics",
        [DX_ROUTE_PROGRAM] = "version",
    };

    return name_of(names, DX_ROUTE_COUNT, (size_t)route);
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
                                         [DX_FROM_HOT] = "hot",
                                         [DX_FROM_KEPT] = "kept" };

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
