/* SPDX-License-Identifier: Apache-2.0
 * What `ingest --json` says of rejected records: how many of each reason, and the first of them.
 */
#include "builder/cli/ingest_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fail.h"

static int failures;

static void reject(struct dx_ingest_stats *s, int why, uint64_t line, const char *text)
{
    dx_ingest_samples_reject(&s->samples, why, "in.tsv", line, dx_span_str(text));
    s->rejected[why]++;
    s->rejected_total++;
}

int main(void)
{
    const struct dx_ingest_options options = { .root = "R" };
    const struct dx_error none = DX_ERROR_INIT;
    struct dx_ingest_stats *stats = calloc(1, sizeof *stats);
    struct dx_error err = DX_ERROR_INIT;
    char *text = NULL;
    char want[400];
    size_t size;
    FILE *to = open_memstream(&text, &size);

    if (stats == NULL || to == NULL)
        abort();
    reject(stats, 1, 3, "a");
    reject(stats, 1, 4, "b");
    reject(stats, 2, 5, "c");
    CHECK(dx_ingest_json_print(to, &options, stats, &none, &err) == DX_OK, "%s", err.text);
    (void)fclose(to);
    (void)snprintf(
        want, sizeof want,
        "\"rejected\":{\"total\":3,\"reasons\":[{\"reason\":\"%s\",\"count\":2,\"examples\":["
        "{\"input\":\"in.tsv\",\"line\":3,\"text\":\"a\"},{\"input\":\"in.tsv\",\"line\":4,"
        "\"text\":\"b\"}]},{\"reason\":\"%s\",\"count\":1,\"examples\":[{\"input\":\"in.tsv\","
        "\"line\":5,\"text\":\"c\"}]}],",
        dx_row_reject_name(1), dx_row_reject_name(2));
    CHECK(strstr(text, want) != NULL, "%s\nhas no %s", text, want);
    free(text);
    free(stats);
    return failures > 0;
}
