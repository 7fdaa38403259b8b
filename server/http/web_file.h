/* SPDX-License-Identifier: Apache-2.0
 * web_file.h - the files of the web page, which are part of the program (web/README.md).
 *
 *   file = dx_web_file_find(target);        of "/" or "/assets/NAME"; NULL: none. A query counts as part of the name
 *
 * Constants. Any thread.
 */
#ifndef DX_SERVER_HTTP_WEB_FILE_H
#define DX_SERVER_HTTP_WEB_FILE_H

#include "base/bytes.h"

#include <stdbool.h>

struct dx_web_file {
    const char *target;
    const char *content_type;
    const char *etag; /* of the plain bytes, as in a reply; the other's ends in -gzip */
    bool fixed;       /* its name changes when its bytes do */
    const unsigned char *plain, *gzip;
    size_t plain_size, gzip_size;
};

extern const struct dx_web_file
    dx_web_files[];                /* cmake/web.cmake writes them; the last has no target */
extern const char dx_web_policy[]; /* a Content-Security-Policy */

const struct dx_web_file *dx_web_file_find(struct dx_span target);

#endif
