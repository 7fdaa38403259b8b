/* SPDX-License-Identifier: Apache-2.0
 * url_texts.h - the texts within a larger one that each may be a URL: what a string of a row, a line or a path holds.
 *
 *   rc = dx_url_texts_row(text, take, ctx);      of a string of a row: itself, and if it looks like JSON each string in it
 *   rc = dx_url_texts_line(line, take, ctx);     of a line: the same of JSON; else fields by tab, comma or blank, words, and what is in quotes
 *   rc = dx_url_texts_path(path, take, ctx);     of a file's path: the values of folders that are called name=value
 *
 * Strings of JSON (keys too) come decoded, fields in quotes without the quotes and their doubling, values of folders without
 * percent escapes. Some come twice, and pieces of longer ones too, as nothing says which form a line has. What is longer than a URL
 * may be does not come. Nothing is refused: bad JSON has the strings that can be found in it.
 *
 * take returns 0 to go on; anything else ends the walk and is its result, else 0. The text is valid during the call. No memory is
 * taken but 8 KiB of stack. Any thread.
 */
#ifndef DX_CANON_URL_TEXTS_H
#define DX_CANON_URL_TEXTS_H

#include "base/bytes.h"

typedef int dx_url_text_take(void *ctx, struct dx_span text);

int dx_url_texts_row(struct dx_span text, dx_url_text_take *take, void *ctx);
int dx_url_texts_line(struct dx_span line, dx_url_text_take *take, void *ctx);
int dx_url_texts_path(struct dx_span path, dx_url_text_take *take, void *ctx);

#endif
