/* SPDX-License-Identifier: Apache-2.0
 * ingest_json.h - what came of an ingest, as one line of JSON.
 *
 *   rc = dx_ingest_json_print(stdout, &options, &stats, &failure, &err);    failure.code DX_OK: none
 *
 * {"root":…,"dry_run":…,"records":…,"rows_stored":…,"duplicates":…,"rejected":{"total":…,"reasons":
 * [{"reason":…,"count":…,"examples":[{"input":…,"line":…,"text":…}]}]},…,"error":…}. `error` is there
 * where the run failed. The first three rejected records of each reason are its examples.
 */
#ifndef DX_BUILDER_CLI_INGEST_JSON_H
#define DX_BUILDER_CLI_INGEST_JSON_H

#include <stdio.h>

#include "base/error.h"
#include "builder/ingest/ingest_options.h"

int dx_ingest_json_print(FILE *to, const struct dx_ingest_options *options,
                         const struct dx_ingest_stats *stats, const struct dx_error *failure,
                         struct dx_error *err);

#endif
