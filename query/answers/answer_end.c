/* SPDX-License-Identifier: Apache-2.0 */
#include "query/answers/answer_end.h"

#include "base/json_out.h"
#include "loader/version.h"

void dx_answer_end(struct dx_json *j, const struct dx_version *v)
{
    dx_json_key(j, "version");
    dx_json_str(j, v->entry.version);
    dx_json_key(j, "complete");
    dx_json_bool(j, true);
    dx_json_end(j);
}
