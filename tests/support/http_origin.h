/* SPDX-License-Identifier: Apache-2.0
 * http_origin.h - a few lines of HTTP in threads of the test, with objects that misbehave by name.
 *
 *   origin_begin();                        http://127.0.0.1:<origin.port>/root/<object>
 *   origin_reset();  ... reads ...  origin.requests, origin.connections
 *
 * Every object has ORIGIN_TOTAL bytes, origin_byte(i) at i, and the ETag "v1", but for:
 *   once503 once_wrong once_cut once_mute    the 1st, 3rd, 5th... request since the reset fails
 *   down wrong mute                          all fail: 503; another range; no reply for 0.7 s
 *   none none_cut moved turning              404; 404 without the body that it names; 307; another ETag each time
 *   slow stuck drip                          0.15 s late; a head and then nothing for 0.7 s; a byte
 *                                            each 20 ms
 *   late_some                                each 10th reply is 1 s late
 *   (once_cut is for bytes 0-99)
 *   once_cut_head cut_head                   the end of the connection after a status and a field
 *   small small_once_cut                     for GETs of a whole object
 *   many                                     2 ms late
 */
#ifndef DX_TESTS_HTTP_ORIGIN_H
#define DX_TESTS_HTTP_ORIGIN_H

#include "fetch/source.h"
#include "tests/support/listener.h"

#include <pthread.h>
#include <stdatomic.h>

#define ORIGIN_TOTAL 6000000
#define ORIGIN_APART 20011 /* too far for ranges to be joined */

struct origin {
    struct dx_listener listener;
    unsigned port;
    pthread_mutex_t lock;
    atomic_uint requests, connections, now, most;
    char last[4096]; /* the head of the last request; under lock */
};

extern struct origin origin;

void origin_begin(void);
void origin_reset(void);
uint8_t origin_byte(uint64_t i);

/* Whether the bytes of a read are those of an object. */
bool origin_right(const struct dx_read *read);

#endif
