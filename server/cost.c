/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cost.h"

/* Measured, with pages in the caches; docs/notes/limits.md. */
static const struct {
    double base;
    double rows_a_unit; /* of the page that is asked for; 0: rows cost nothing */
} rows[DX_ROUTE_COUNT] = {
    [DX_ROUTE_DOMAIN] = { 1, 0 },   [DX_ROUTE_NORMALIZE] = { 1, 0 },
    [DX_ROUTE_DATASET] = { 1, 0 },  [DX_ROUTE_DATASETS] = { 1, 200 },
    [DX_ROUTE_VERSIONS] = { 1, 0 }, [DX_ROUTE_TOP_DOMAINS] = { 5, 100 },
    [DX_ROUTE_OVERLAP] = { 10, 0 }, [DX_ROUTE_URLS] = { 5, 50 },
    [DX_ROUTE_URL] = { 10, 50 },    [DX_ROUTE_URLID] = { 10, 0 },
    [DX_ROUTE_HOSTS] = { 10, 100 }, [DX_ROUTE_PATHS] = { 20, 0 },
    [DX_ROUTE_DIFF] = { 10, 0 },    [DX_ROUTE_CHANGES] = { 500, 10 },
    [DX_ROUTE_NAMES] = { 5, 0 },    [DX_ROUTE_KEYS] = { 2, 0 },
    [DX_ROUTE_RANGE] = { 20, 20 },  [DX_ROUTE_TAGS] = { 10, 10 },
    [DX_ROUTE_TAG] = { 20, 1 },
};

#define NAMES_A_UNIT 8.0
#define TAG_ROWS_A_UNIT \
    20.0               /* of rows with a tag; of its domains each costs a posting list or more */
#define PLAN_COST 20.0 /* a cursor each of 64 at most */
#define FILTER_COST \
    25.0 /* a prefix is searched for in half a millisecond; what takes longer is paid afterwards */
#define STORED_BYTES_A_UNIT 65536.0
#define BODY_BYTES_A_UNIT 16384.0
#define UNIT_US 20.0
#define LONG_US 2000 /* below, times tell of the machine and not of the question */

double dx_cost_of_ask(const struct dx_ask *ask)
{
    double cost = rows[ask->route].base;

    if (ask->plan > 0)
        return cost + PLAN_COST;
    if (ask->route == DX_ROUTE_TAG && ask->of_urls)
        return cost + (double)ask->page.limit / TAG_ROWS_A_UNIT;
    if (rows[ask->route].rows_a_unit > 0)
        cost += (double)ask->page.limit / rows[ask->route].rows_a_unit;
    if (dx_row_filter_any(&ask->filter))
        cost += FILTER_COST;
    return cost;
}

double dx_cost_of_names(uint64_t names)
{
    return (double)names / NAMES_A_UNIT;
}

double dx_cost_more(double paid, const struct dx_cost_seen *seen)
{
    double body = (double)seen->body_bytes / BODY_BYTES_A_UNIT;
    double time = seen->answer_us > LONG_US ? (double)seen->answer_us / UNIT_US : 0;
    double computing = body > time ? body : time;
    double reading = (double)seen->requests + (double)seen->bytes / STORED_BYTES_A_UNIT;

    if (paid <= 0) /* the server's own routes */
        return 0;
    return reading + (computing > paid ? computing - paid : 0);
}
