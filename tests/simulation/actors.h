/* SPDX-License-Identifier: Apache-2.0
 * actors.h - those who use a simulated root: ingests, publishers, a compaction, a librarian who removes a dataset, a
 * collector, servers with leases; each runs the commands' own code, and what it sees is held against model.h.
 *
 *   sim_actors_begin(folder);       of inputs and work files, on this machine
 *   sim_actors_add(seed);           which of them, with which habits
 *   sim_run();
 *   words = sim_violation();        NULL: every invariant held
 *
 * Invariants: an answer of a version is always the same and within the bounds of the model; no row stands twice; what a
 * lease holds, and what is current, can be read; no command waits for more than SIM_PATIENCE_MS without a fault of its own
 * machine; when the faults end, a publish succeeds, all stored rows are in the version, it passes verify, and a collector leaves
 * nothing of versions that are gone.
 */
#ifndef DX_TESTS_SIMULATION_ACTORS_H
#define DX_TESTS_SIMULATION_ACTORS_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_PATIENCE_MS (UINT64_C(4) * 3600 * 1000)

void sim_actors_begin(const char *folder);
void sim_actors_add(bool verbose);
const char *sim_violation(void);
/* What was done: commands that succeeded, and answers that were compared. */
unsigned sim_deeds(void);

#endif
