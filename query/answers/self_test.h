/* SPDX-License-Identifier: Apache-2.0
 * self_test.h - a version asked about itself, before it serves.
 *
 *   struct dx_self_test_options o = DX_SELF_TEST_OPTIONS_INIT;
 *   struct dx_self_test_rows rows;
 *   rc = dx_self_test(v, &o, &rows, &err);    DX_OK, or <0: what did not agree, and where
 *
 * Domains at even distances, the first and the last among them: dictionary -> MPHF must give the
 * same ordinal back; set and counts must decode, each dataset be in the registry; of some of them
 * the posting must be there with as many rows as the counts say. Names that cannot be registered
 * must be absent. Of a few datasets at even distances a row is read from the lake. It finds what is
 * wrong everywhere or in many places (a file of another build, a reader that is at odds with its
 * writer, a store that does not answer); single bytes are for checksums. Of a version of several
 * parts that is asked of the newest alone, or with `older` of all in equal shares.
 *
 * Rows that cannot be read in one dataset do not keep the version back: otherwise a writer of one
 * dataset could stop all others with one file. `rows` says how many failed, and the caller logs it.
 * Only if the rows of all datasets fail that were tried, the version does. A row that is over a
 * limit counts as read.
 *
 * A publish runs it before the flip, servers before they serve.
 *
 * Blocking, with reads of the lake and of postings; any thread that has v pinned.
 */
#ifndef DX_QUERY_ANSWERS_SELF_TEST_H
#define DX_QUERY_ANSWERS_SELF_TEST_H

#include "base/error.h"

#include <stdbool.h>

struct dx_version;

struct dx_self_test_options {
    unsigned domains;  /* looked up in mapped files */
    unsigned postings; /* of those, with their posting read */
    unsigned rows;     /* datasets of which a row is read */
    unsigned absent;   /* made-up names */
    bool older;        /* the older parts too, which a publish takes as they are */
};

#define DX_SELF_TEST_OPTIONS_INIT \
    {                             \
        256, 16, 8, 64, false     \
    }

struct dx_self_test_rows {
    unsigned tried, failed;
    struct dx_error first; /* of the failed */
};

int dx_self_test(struct dx_version *v, const struct dx_self_test_options *options,
                 struct dx_self_test_rows *rows, struct dx_error *err);

#endif
