/* SPDX-License-Identifier: Apache-2.0
 * locator_name.h - what the locators of an input call it.
 *
 *   n = dx_locator_name(input, name);      bytes; 0: it has no name that a locator can hold
 *
 * A path as it was given, without "." parts; one with ".." becomes an absolute one, as a locator is
 * read from other directories too. An address without user, password, query and fragment. Standard
 * input has no name. Looks at the file system where there is a "..". Any thread.
 */
#ifndef DX_BUILDER_INPUT_RECORDS_LOCATOR_NAME_H
#define DX_BUILDER_INPUT_RECORDS_LOCATOR_NAME_H

#include "format/text/locator.h"

size_t dx_locator_name(const char *input, char name[DX_LOCATOR_NAME_MAX + 1]);

#endif
