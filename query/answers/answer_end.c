/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/answer_end.h"

#include "base/json_out.h"
#include "loader/version.h"
#include "query/view/suppressed.h"

void dx_answer_cost(struct dx_json *j, const struct dx_version *v, uint64_t rows, uint64_t pages,
                    uint64_t bytes)
{
    if (dx_suppressed_count(v) > 0)
        return;
    dx_json_key(j, "cost");
    dx_json_object(j);
    dx_json_key_u64(j, "rows", rows);
    dx_json_key_u64(j, "pages", pages);
    dx_json_key_u64(j, "bytes", bytes);
    dx_json_end(j);
}

void dx_answer_end(struct dx_json *j, const struct dx_version *v)
{
    dx_json_key(j, "version");
    dx_json_str(j, v->entry.version);
    dx_json_key(j, "complete");
    dx_json_bool(j, true);
    dx_json_end(j);
}
