/* SPDX-License-Identifier: Apache-2.0
 * interrupt.h - SIGINT and SIGTERM as a wish that a command ends in order.
 *
 *   dx_interrupt_catch();                from now on the first of them is noted, the second one ends
 *   o.stopped = dx_interrupted;          polled by long work; any thread
 */
#ifndef DX_BUILDER_ROOT_INTERRUPT_H
#define DX_BUILDER_ROOT_INTERRUPT_H

#include <stdbool.h>

void dx_interrupt_catch(void);
bool dx_interrupted(void);

#endif
