/* SPDX-License-Identifier: Apache-2.0
 * iceberg_tables.h - `publish --iceberg`: the Iceberg tables of a root, by the Python package.
 *
 *   rc = dx_iceberg_tables_update(root, &err);       waits for it; its messages go to standard error
 *
 * Runs `python3 -m domaindex.iceberg ROOT`, or another interpreter that $DOMAINDEX_PYTHON names. The tables are Avro and JSON, which
 * the package writes by libraries: docs/PYTHON.md. DX_E_IO or as dx_fail_errno: it could not be started, or
 * failed. One thread.
 */
#ifndef DX_BUILDER_CLI_ICEBERG_TABLES_H
#define DX_BUILDER_CLI_ICEBERG_TABLES_H

#include "base/error.h"

int dx_iceberg_tables_update(const char *root, struct dx_error *err);

#endif
