/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/cost.h"

#include "server/routes/route.h"

#define NAMES_A_UNIT 8.0
#define PLAN_COST 20.0 /* a cursor each of 64 at most */
#define FILTER_COST \
    25.0 /* a prefix is searched for in half a millisecond; what takes longer is paid afterwards */
/* Some rows of each file are looked at, or all rows; what takes longer is paid afterwards. */
#define ORDER_COST 50.0
#define RECEIPT_COST 5.0 /* a signature, and the hash of a page */
#define SCAN_COST 100.0  /* 100,000 names; the rest is paid afterwards */
#define VIEW_COST 20.0   /* some domains; the rest is paid afterwards */
#define STORED_BYTES_A_UNIT 65536.0
#define BODY_BYTES_A_UNIT 16384.0
#define UNIT_US 20.0
#define LONG_US 2000 /* below, times depend on the machine and not on the request */

double dx_cost_of_ask(const struct dx_ask *ask)
{
    const struct dx_route *route = dx_routes[ask->route];
    double rows_a_unit = ask->of_urls ? route->cost.url_rows_a_unit : route->cost.rows_a_unit;
    double cost = route->cost.base;

    if (ask->plan > 0)
        return cost + PLAN_COST;
    if (rows_a_unit > 0)
        cost += (double)ask->page.limit / rows_a_unit;
    if (dx_row_filter_any(&ask->filter))
        cost += FILTER_COST;
    if (ask->order.sort != 0)
        cost += ORDER_COST;
    if (ask->receipt)
        cost += RECEIPT_COST;
    if (ask->view_icann)
        cost += VIEW_COST;
    if (ask->match.data != NULL || ask->regex.data != NULL)
        cost += SCAN_COST;
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
