/* SPDX-License-Identifier: Apache-2.0
 * hive_folder.h - what the Hive partition folders of a path say: crawl=2024-10/.
 *
 *   rc = dx_hive_folder_value(path, "crawl", &value, &err);       1 found, 0 no such folder
 *   value: of the caller, to be freed; NULL with 1: the folder says null
 *
 * The first such folder counts; the last part of a path is a file. %XX is decoded, as Hive and Spark write it, but %00, which
 * no name can have. Any thread.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_HIVE_FOLDER_H
#define DX_BUILDER_INPUT_RECORDS_HIVE_FOLDER_H

#include "base/error.h"

int dx_hive_folder_value(const char *path, const char *name, char **value, struct dx_error *err);

#endif
