/* SPDX-License-Identifier: Apache-2.0
 * file_origin.h - the files of a folder over HTTP, in threads of the test.
 *
 *   struct dx_file_origin *o = dx_file_origin_new(folder);     url: dx_file_origin_url(o)
 *   ... o->requests, o->not_modified ...                       what came since
 *   o->down = true;                                            connections are dropped
 *   dx_file_origin_free(&o);
 *
 * GET with Range, If-Match and If-None-Match, kept connections; nothing else. An ETag changes when
 * a file is replaced. dx_file_origin_etag gives that of a file as a reply would.
 */
#ifndef DX_TESTS_SUPPORT_FILE_ORIGIN_H
#define DX_TESTS_SUPPORT_FILE_ORIGIN_H

#include "tests/support/listener.h"

#include <stdatomic.h>
#include <stdbool.h>

struct dx_file_origin {
    struct dx_file_origin *next; /* of those that are through */
    char folder[200];
    char url[64];
    struct dx_listener listener;
    _Atomic bool down;
    _Atomic unsigned requests;
    _Atomic unsigned not_modified;
    _Atomic unsigned refused; /* by If-Match */
};

struct dx_file_origin *dx_file_origin_new(const char *folder);
void dx_file_origin_free(struct dx_file_origin **o);
bool dx_file_origin_etag(const struct dx_file_origin *o, const char *name, char etag[64]);

#endif
