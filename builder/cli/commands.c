/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/cli/commands.h"

const struct dx_command *const dx_commands[] = {
    &dx_command_ingest,   &dx_command_profiles,  &dx_command_publish,  &dx_command_verify,
    &dx_command_inspect,  &dx_command_normalize, &dx_command_lookup,   &dx_command_top_domains,
    &dx_command_versions, &dx_command_gc,        &dx_command_remove,   &dx_command_rollback,
    &dx_command_diff,     &dx_command_suppress,  &dx_command_compact,  &dx_command_overlap,
    &dx_command_key,      &dx_command_access,    &dx_command_domain64, &dx_command_export,
    &dx_command_ship,     &dx_command_backup,    &dx_command_files,    &dx_command_fetch_record,
    &dx_command_capacity, &dx_command_receipt,   &dx_command_doctor,   &dx_command_completion,
    &dx_command_datasets, &dx_command_adopt,     &dx_command_bench,    &dx_command_commit_table,
};
const size_t dx_command_count = sizeof dx_commands / sizeof dx_commands[0];
