/* SPDX-License-Identifier: Apache-2.0
 * self_test.h - a version asked about itself, before it serves.
 *
 *   struct dx_self_test_options o = DX_SELF_TEST_OPTIONS_INIT;
 *   rc = dx_self_test(v, &o, &err);           DX_OK, or <0: what did not agree, and where
 *
 * Domains at even distances, the first and the last among them: dictionary -> MPHF must give the
 * same ordinal back; set and counts must decode, each dataset be in the registry; of some of them
 * the posting must be there with as many rows as the counts say, and of a few of those the first
 * row be read from the lake. Names that nobody registers must be
 * absent. It finds what is wrong everywhere or in many places (a file of another build, a reader
 * that is at odds with its writer, a store that does not answer); single bytes are for checksums.
 *
 * Blocking, with reads of the lake and of postings; any thread that has v pinned.
 */
#ifndef DX_QUERY_SELF_TEST_H
#define DX_QUERY_SELF_TEST_H

#include "base/error.h"

struct dx_version;

struct dx_self_test_options {
    unsigned domains;  /* looked up in mapped files */
    unsigned postings; /* of those, with their posting read */
    unsigned rows;     /* of those, with a row read */
    unsigned absent;   /* made-up names */
};

#define DX_SELF_TEST_OPTIONS_INIT \
    {                             \
        256, 16, 8, 64            \
    }

int dx_self_test(struct dx_version *v, const struct dx_self_test_options *options,
                 struct dx_error *err);

#endif
