/* SPDX-License-Identifier: Apache-2.0
 * foreign_rows.h - a page of a listing, with the rows of foreign files that it leads to.
 *
 *   struct dx_foreign_ask ask = { .folder = folder, .urls = { ... }, .columns = "text,language" };
 *   rc = dx_task_foreign_rows(&view, canon, &ask, &task, &summary, &body, &problem);
 *
 * GET /v1/domain/{d}/datasets/{id}/rows. The listing is that of dx_task_urls, with its filter and cursors, which
 * decides what may be seen; then the row of each locator with `was=` is read (query/foreign/foreign_folder.h)
 * and becomes the member `row` of its item, with the columns that are asked for, or all. Items without such a
 * locator have null, and so have those whose row has a URL that a rule hides, as one of its strings or as one in their JSON. Rows are read in the order of the files, each page of theirs once.
 *
 * What has to be read is known from locators and footers: over DX_FOREIGN_FILES files, DX_FOREIGN_FOOTERS bytes of
 * footers, DX_FOREIGN_CHUNKS column chunks or DX_LISTING_READ_MAX bytes of them is DX_E_LIMIT, which is 422, before one
 * is read. A file that is gone, was replaced, or is damaged, is a problem that names it; the answer never leaves out its rows. The
 * same holds for a row of which neither a string, nor one in its JSON, nor a folder of its file is the URL of its item, if the request asks for all columns. Reads behind the
 * deadline fail: pages of such a file may decompress to much more than they are stored in.
 *
 * Steps wait for the disk, so they belong to a worker: the ask is never brief. Otherwise as query/answers/task.h;
 * `columns` is copied, the folder must stay.
 */
#ifndef DX_QUERY_FOREIGN_FOREIGN_ROWS_H
#define DX_QUERY_FOREIGN_FOREIGN_ROWS_H

#include "query/answers/task.h"

#define DX_FOREIGN_FILES 64
#define DX_FOREIGN_FOOTERS ((size_t)16 << 20)
#define DX_FOREIGN_CHUNKS 4096
#define DX_FOREIGN_COLUMNS 64
#define DX_FOREIGN_LIMIT_DEFAULT 100
#define DX_FOREIGN_LIMIT_MAX 1000

struct dx_foreign_folder;

struct dx_foreign_ask {
    const struct dx_foreign_folder *folder; /* NULL: 403 */
    struct dx_urls_ask urls;                /* its fields are not looked at */
    struct dx_span columns;                 /* names with commas between; data NULL: all */
};

int dx_task_foreign_rows(const struct dx_view *view, struct dx_canon *canon,
                         const struct dx_foreign_ask *ask, struct dx_task **task,
                         struct dx_answer_summary *summary, struct dx_buf *body,
                         struct dx_problem *problem);

#endif
