/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/accept.h"
#include "server/routes/answers.h"
#include "server/routes/route.h"

static const struct dx_route_words names_words = {
    .operation = "postDomains",
    .group = "domains",
    .summary = "Datasets that contain each name of a list",
    .text = "The answer is streamed while the body arrives: read while "
            "you send. Without its last chunk it is incomplete and must "
            "not be used.",
    .answer = "Names",
    .absent = "dataset-not-found",
    .too_much = "a matrix of over 2000 datasets",
};

static const struct dx_param names_format = {
    .name = "format",
    .member = offsetof(struct dx_ask, format),
    .schema = "\"type\":\"string\",\"enum\":[\"ndjson\",\"csv\",\"matrix\"]",
    .text = "Format of the answer; without it Accept says whether it is NDJSON or CSV.",
};

static const struct dx_param names_datasets = {
    .name = "datasets",
    .member = offsetof(struct dx_ask, datasets),
    .schema = "\"type\":\"string\",\"pattern\":\"^[^,]+(,[^,]+)*$\"",
    .text = "Only with format=matrix: its columns, ids or names of datasets separated "
            "by commas; default: all, up to 2000.",
};

static void choose(struct dx_span accept, struct dx_ask *ask)
{
    if (ask->format.data == NULL && accept.size > 0 &&
        dx_accept_weight(accept, "text/csv") > dx_accept_weight(accept, "application/x-ndjson"))
        ask->format = dx_span_str("csv");
}

const struct dx_route dx_route_names = {
    .name = "names",
    .pattern = "domains",
    .words = &names_words,
    .post = true,
    .params = DX_PARAMS(&dx_param_version, &names_format, &names_datasets),
    .cost = { .base = 5 },
    .choose = choose,
    .restart = dx_restart_path,
};
