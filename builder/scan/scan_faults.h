/* SPDX-License-Identifier: Apache-2.0
 * scan_faults.h - the lake files that a scan could not take, and why.
 *
 *   struct dx_scan_faults faults = DX_SCAN_FAULTS_INIT;
 *   options.faults = &faults;                        builder/scan/index_scan.h
 *   rc = dx_index_scan(&lake, &options, &err);       DX_INDEX_FAULTS: for (...) faults.list[i]
 *   dx_scan_faults_release(&faults);
 *
 *   rc = dx_scan_check_file(path, &file, form, skip_rows, of_counts, &err);
 *
 * dx_scan_of_machine: an error that the store, the way to it or this machine may be to blame for, and not the file.
 * dx_scan_check_file reads one file as a scan does, alone, and finds all that the scan would refuse
 * in it; of a file that the base knows (`known`), also other bytes than it says. Any thread; `form` is one thread's, or NULL: rows may have any form.
 */
#ifndef DX_BUILDER_SCAN_SCAN_FAULTS_H
#define DX_BUILDER_SCAN_SCAN_FAULTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dx_index_file;
struct dx_row_form;

struct dx_scan_fault {
    uint32_t file_id; /* of lake.files */
    struct dx_error err;
};

struct dx_scan_faults {
    struct dx_scan_fault *list; /* in no order */
    size_t count, capacity;
};

#define DX_SCAN_FAULTS_INIT \
    {                       \
        NULL, 0, 0          \
    }

bool dx_scan_of_machine(int rc);

int dx_scan_faults_add(struct dx_scan_faults *f, uint32_t file_id, const struct dx_error *fault,
                       struct dx_error *err);
void dx_scan_faults_release(struct dx_scan_faults *f);

int dx_scan_check_file(const char *path, const struct dx_index_file *file, struct dx_row_form *form,
                       bool skip_rows, bool of_counts, struct dx_error *err);

#endif
