/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/scan/scan_faults.h"

#include <stdlib.h>

#include "base/array.h"
#include "builder/lake/lake_files.h"
#include "builder/scan/scan_cursor.h"
#include "builder/scan/scan_pages.h"

bool dx_scan_of_machine(int rc)
{
    return rc == DX_E_IO || rc == DX_E_TIMEOUT || rc == DX_E_BUSY || rc == DX_E_NOMEM;
}

int dx_scan_faults_add(struct dx_scan_faults *f, uint32_t file_id, const struct dx_error *fault,
                       struct dx_error *err)
{
    struct dx_scan_fault *to = dx_array_room(f->list, f->count, &f->capacity, sizeof *to);

    if (to == NULL)
        return dx_no_memory(err, "scan");
    f->list = to;
    f->list[f->count++] = (struct dx_scan_fault){ file_id, *fault };
    return DX_OK;
}

void dx_scan_faults_release(struct dx_scan_faults *f)
{
    free(f->list);
    *f = (struct dx_scan_faults)DX_SCAN_FAULTS_INIT;
}

/* Also where no page of what a scan decodes is damaged. */
static int check_hash(const struct dx_lake_scan *s, const struct dx_index_file *file,
                      struct dx_error *err)
{
    struct dx_hash128 hash;
    int rc = dx_lake_scan_hash(s, &hash, err);

    return rc < 0 || dx_hash128_equal(&hash, &file->hash)
               ? rc
               : dx_fail(err, DX_E_CORRUPT,
                         "%s: was replaced in place, or damaged: its bytes have another hash than "
                         "the current version says",
                         file->path);
}

static int check_pages(const char *path, const struct dx_index_file *file, struct dx_error *err)
{
    struct dx_lake_scan *s = malloc(sizeof *s); /* too large for a small stack */
    struct dx_buf record = DX_BUF_INIT(DX_SCAN_GROUP_MAX);
    int rc;

    if (s == NULL)
        return dx_no_memory(err, "%s", path);
    *s = (struct dx_lake_scan)DX_LAKE_SCAN_INIT;
    rc = dx_lake_scan_open(s, path, err);
    if (rc == DX_OK && file->known)
        rc = check_hash(s, file, err);
    while (rc == DX_OK && (rc = dx_lake_scan_group(s, err)) == 1) {
        dx_buf_clear(&record);
        rc = dx_scan_pages(s, file, &record, err);
    }
    dx_lake_scan_close(s);
    free(s);
    dx_buf_release(&record);
    return rc;
}

int dx_scan_check_file(const char *path, const struct dx_index_file *file, struct dx_row_form *form,
                       bool skip_rows, bool of_counts, struct dx_error *err)
{
    struct dx_scan_cursor *c; /* too large for a small stack */
    int rc = check_pages(path, file, err);

    if (rc < 0)
        return rc;
    c = malloc(sizeof *c);
    if (c == NULL)
        return dx_no_memory(err, "%s", path);
    dx_scan_cursor_init(c, file, 0);
    c->form = form;
    c->skips = skip_rows && !of_counts;
    c->of_counts = of_counts;
    rc = dx_scan_cursor_open(c, path, err);
    while (rc >= 0 && (rc = dx_scan_cursor_next(c, err)) == 1)
        ;
    dx_scan_cursor_close(c);
    free(c);
    return rc;
}
