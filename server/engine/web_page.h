/* SPDX-License-Identifier: Apache-2.0
 * web_page.h - replies with the files of the web page (server/http/web_file.h).
 *
 *   done = dx_web_page_answer(c, accepted, target, match);      false: it is not served, or no file of it
 *   dx_web_page_has(c, target)                                  so GET and HEAD are what the target takes
 *
 * For everybody, like /docs: the page itself holds nothing of the index. match: value of
 * If-None-Match, size 0: none; accepted: of Accept-Encoding. Of the loop's thread.
 */
#ifndef DX_SERVER_ENGINE_WEB_PAGE_H
#define DX_SERVER_ENGINE_WEB_PAGE_H

#include "server/engine/exchange.h"

bool dx_web_page_has(const struct dx_connection *c, struct dx_span target);
bool dx_web_page_answer(struct dx_connection *c, struct dx_span accepted, struct dx_span target,
                        struct dx_span match);

#endif
