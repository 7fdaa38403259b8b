/* SPDX-License-Identifier: Apache-2.0
 * verdict_row.c - a line of JSON as an input of ingest (builder/input/records/input_json.h): "no", or "ok" and a line for each path:
 * its kind (- absent, n null, s string, d number, b boolean, j array or object, l array on the way) and the text in hexadecimal.
 */
#include "builder/input/records/input_json.h"
#include "tests/differential/verdict.h"

#include <stdlib.h>

static const char *const paths[] = { "url", "a", "a.b", "a.b.c", "a.\"b.c\"", "\"\"", "a.url" };

#define PATHS (sizeof paths / sizeof *paths)

void dx_verdict_row(struct dx_span input, struct dx_buf *out)
{
    static const char kinds[] = "-nsdbjl";
    struct dx_buf scratch = DX_BUF_INIT((size_t)1 << 26);
    struct dx_json_path path[PATHS];
    struct dx_json_value value[PATHS];

    for (size_t i = 0; i < PATHS; i++)
        if (dx_json_path_parse(&path[i], paths[i], NULL) < 0)
            abort();
    if (dx_json_pick(input, path, PATHS, value, &scratch)) {
        dx_buf_str(out, "ok");
        for (size_t i = 0; i < PATHS; i++) {
            dx_buf_fmt(out, "\n%c", kinds[value[i].kind]);
            if (dx_json_has_text(&value[i]))
                dx_verdict_hex(out, value[i].text);
        }
    } else {
        dx_buf_str(out, "no");
    }
    dx_buf_release(&scratch);
}
