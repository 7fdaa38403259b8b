/* SPDX-License-Identifier: Apache-2.0
 * sim_store.h - the object store of a simulated world: in memory, consistent, with conditions, and with faults.
 *
 *   sim_store_begin(faults);                 empty; faults: how often requests fail, in thousandths
 *   ... dx_source_open and dx_store_open of "s3://sim/root" lead here (--wrap) ...
 *   sim_store_faults(0);                     from now on it answers well
 *   sim_store_end();
 *
 * Each request takes time and may: fail before it did anything; take effect and report an unknown outcome; take effect
 * later than it reported an unknown outcome; end its process (scheduler.h: sim_crash), before or behind its effect; be a
 * listing that leaves out objects without a word. ETags follow from the bytes, so the same bytes put again are the same object.
 *
 * Watchers see each change as it takes effect:
 *   sim_store_watch(put, removed)
 */
#ifndef DX_TESTS_SIMULATION_SIM_STORE_H
#define DX_TESTS_SIMULATION_SIM_STORE_H

#include "base/bytes.h"

#include <stdbool.h>

#define SIM_ROOT "s3://sim/root"

typedef void sim_store_change(const char *object,
                              struct dx_span bytes); /* of a removal: those that were there */

void sim_store_begin(unsigned faults);
void sim_store_faults(unsigned in_thousand);
void sim_store_watch(sim_store_change *put, sim_store_change *removed);
void sim_store_end(void);

/* How often an object that versions are made of was removed or became another one. While it stays, a version that was read can
 * be read again, with the same answers. */
unsigned sim_store_losses(void);

/* Within a watcher: the put is one that takes effect late, and the running actor is not the one who made it. */
bool sim_store_is_late(void);

/* Defects to plant, one at a time: each must be found. 0: none. */
enum sim_plant {
    SIM_PLANT_NONE,
    SIM_PLANT_NO_MATCH, /* a put on the condition of an ETag forgets it: two publishers, lost update */
    SIM_PLANT_NO_ABSENT,     /* a put of a free name takes one that is there */
    SIM_PLANT_NO_LEASES,     /* the collector sees no leases */
    SIM_PLANT_NO_CLAIM,      /* ingests do not wait for each other */
    SIM_PLANT_TRUST_LISTING, /* a file that a listing lacks is taken for one that is gone: publish is allowed to, and reads agree */
    SIM_PLANT_NEVER_COLLECT, /* removals of lake files do nothing, and say that they did */
    SIM_PLANT_EAGER_COLLECT, /* collectors and servers reckon with cursors that live for no time */
    SIM_PLANT_STALE_READ,    /* some reads of the manifest give the one before */
    SIM_PLANT_COUNT
};
extern enum sim_plant sim_planted;

#endif
