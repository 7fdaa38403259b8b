/* SPDX-License-Identifier: Apache-2.0
 * model.h - what a simulated root must hold, kept beside it as sets of bits.
 *
 * A row is a URL of one of SIM_DATASETS datasets; of each dataset SIM_ROWS URLs exist, a bit each.
 *
 *   sim_model_begin();
 *   sim_model_try(d, rows); ... ingest ...; sim_model_store(d, rows)        stored: it said so
 *   sim_model_publish_begin(name); ... publish ...; sim_model_publish_end(name)
 *   sim_model_flip(publisher, version)          as the manifest takes effect: what the version must and may hold
 *   sim_model_see(version, rows)                what an answer of it holds: NULL, or what is wrong
 *
 * What must be in a version: rows whose ingest had ended before the publish began; of a publish whose store left out objects of a
 * listing, those that the version before it has. What may be: rows that an ingest had
 * begun with when it took effect. Once seen, a version never changes. A removal takes a dataset out of both, for publishes
 * that begin behind it. After a rollback less is demanded: the next version has what that one had.
 */
#ifndef DX_TESTS_SIMULATION_MODEL_H
#define DX_TESTS_SIMULATION_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_DATASETS = 3, SIM_ROWS = 24, SIM_DOMAINS = 6 };

struct sim_rows {
    uint32_t of[SIM_DATASETS];
};

void sim_model_begin(void);
const char *sim_dataset_name(unsigned dataset);
/* "https://d3.com/0-9": row 9 of dataset 0 is of domain 9 % SIM_DOMAINS. */
void sim_url(unsigned dataset, unsigned row, char out[64]);
/* Which row of the dataset has this URL; false: none. */
bool sim_row_of(const char *url, unsigned dataset, unsigned *row);
void sim_domain(unsigned domain, char out[64]);

void sim_model_try(unsigned dataset, uint32_t rows);
void sim_model_store(unsigned dataset, uint32_t rows);
void sim_model_remove_begin(unsigned dataset);
void sim_model_remove_end(unsigned dataset, bool certain);
void sim_model_rolled_back(void);

void sim_model_publish_begin(const char *publisher);
/* Of a merge: what the version that is current when it takes effect has. */
void sim_model_merge_begin(const char *publisher);
void sim_model_publish_end(const char *publisher);
void sim_model_flip(const char *publisher, const char *version, bool short_listing);

const char *sim_model_see(const char *version, const struct sim_rows *rows);
/* Of a publish to which nothing happened any more: all rows that were stored. */
const char *sim_model_see_last(const struct sim_rows *rows);

#endif
