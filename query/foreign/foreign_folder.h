/* SPDX-License-Identifier: Apache-2.0
 * foreign_folder.h - Parquet files below one folder, by the names that locators give them.
 *
 *   rc = dx_foreign_folder_open(&folder, "/data", &err);
 *   rc = dx_foreign_file_open(&file, folder, &locator, footer_max, &err);    reads the footer, and closes it again
 *   ... file.footer ...
 *   rc = dx_foreign_file_again(&file, folder, &err);    { dx_foreign_file_read, &file, window } is a struct dx_pq_fetch
 *   rc = dx_foreign_file_end(&file, &err);          behind each `again`: so a request has one descriptor at a time
 *   dx_foreign_file_close(&file);                   safe at any time after an open
 *   dx_foreign_folder_close(&folder);
 *
 * A locator comes from a lake that anybody may have written. A relative name is taken from the folder on, an
 * absolute one must begin with the folder's; what leads out of it, by "..", a link or an address, is DX_E_INVALID.
 * Links that stay below are followed. A file must be what the locator says that it was, by its size and the hash of
 * its footer, and for `again` and `end` the same one with the same times: else DX_E_CONFLICT. One that is not there is
 * DX_E_NOT_FOUND. footer_max: bytes of it (DX_E_LIMIT).
 * Reads wait for the disk. The folder may be shared by threads, a file belongs to one.
 */
#ifndef DX_QUERY_FOREIGN_FOREIGN_FOLDER_H
#define DX_QUERY_FOREIGN_FOREIGN_FOLDER_H

#include "base/buf.h"
#include "base/error.h"
#include "parquet/footer.h"

#include <sys/stat.h>

struct dx_foreign_folder;
struct dx_locator;

struct dx_foreign_file {
    int fd;         /* <0: closed */
    bool known;     /* the footer was read */
    struct stat st; /* as it was then */
    /* Set after open, on the clock of dx_clock_ms: reads behind it are DX_E_TIMEOUT; 0: none. */
    uint64_t deadline_ms;
    char *name;
    struct dx_buf metadata;
    struct dx_pq_footer footer;
};

int dx_foreign_folder_open(struct dx_foreign_folder **folder, const char *path,
                           struct dx_error *err);
void dx_foreign_folder_close(struct dx_foreign_folder **folder);

/* locator: of a row, with what the file was. */
int dx_foreign_file_open(struct dx_foreign_file *file, const struct dx_foreign_folder *folder,
                         const struct dx_locator *locator, size_t footer_max, struct dx_error *err);
int dx_foreign_file_again(struct dx_foreign_file *file, const struct dx_foreign_folder *folder,
                          struct dx_error *err);
int dx_foreign_file_end(struct dx_foreign_file *file, struct dx_error *err);
int dx_foreign_file_read(void *file, uint64_t offset, size_t size, uint8_t *to,
                         struct dx_error *err);
void dx_foreign_file_close(struct dx_foreign_file *file);

#endif
