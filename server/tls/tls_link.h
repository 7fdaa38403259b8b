/* SPDX-License-Identifier: Apache-2.0
 * tls_link.h - the TLS of one accepted connection, over a socket that does not block.
 *
 *   link = dx_tls_link_new(tls, fd);              NULL: no memory; fd stays the caller's
 *   switch (dx_tls_link_shake(link)) {            each time that the socket is ready
 *   case DX_SHAKE_READS:   more has to come from the client
 *   case DX_SHAKE_WRITES:  the socket has to take more
 *   case DX_SHAKE_DONE:    dx_tls_link_resumed(link)
 *   case DX_SHAKE_HTTP:    the client speaks HTTP without TLS; nothing was sent
 *   case DX_SHAKE_FAILED:  an alert was sent where there is one
 *   }
 *   n = dx_tls_link_read(link, to, size);         as recv: 0: the client's close_notify; <0: errno
 *   n = dx_tls_link_write(link, head, body);      as writev; what it took
 *   dx_tls_link_end(link);                        close_notify, if all before it is out
 *   dx_tls_link_free(&link);
 *
 * errno EAGAIN: again when the socket is readable, or writable. A client that ends without
 * close_notify is ECONNRESET: what it sent may be cut short. A read takes whole records as long as size is
 * DX_TLS_RECORD at least, so nothing is left here that the socket does not show. After a write that
 * took less than all, the next one has to begin with the rest, and nothing is to be read before
 * that. One thread.
 */
#ifndef DX_SERVER_TLS_TLS_LINK_H
#define DX_SERVER_TLS_TLS_LINK_H

#include "base/bytes.h"

#include <stdbool.h>
#include <sys/types.h>

#define DX_TLS_RECORD 16384 /* bytes in a record at most */

struct dx_tls;
struct dx_tls_link;

enum dx_shake { DX_SHAKE_READS, DX_SHAKE_WRITES, DX_SHAKE_DONE, DX_SHAKE_HTTP, DX_SHAKE_FAILED };

struct dx_tls_link *dx_tls_link_new(struct dx_tls *tls, int fd);
enum dx_shake dx_tls_link_shake(struct dx_tls_link *link);
bool dx_tls_link_resumed(const struct dx_tls_link *link);
ssize_t dx_tls_link_read(struct dx_tls_link *link, uint8_t *to, size_t size);
ssize_t dx_tls_link_write(struct dx_tls_link *link, struct dx_span head, struct dx_span body);
void dx_tls_link_end(struct dx_tls_link *link);
void dx_tls_link_free(struct dx_tls_link **link); /* NULL is fine */

#endif
