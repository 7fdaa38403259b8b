/* SPDX-License-Identifier: Apache-2.0 */
#include "base/civil_time.h"
#include "base/json_out.h"
#include "fetch/object_url.h"
#include "loader/version.h"
#include "query/cdx/cdx_task.h"
#include "query/view/view.h"

/* "2024-06-14T08:15:30", as Common Crawl has it. */
static void write_time(struct dx_json *j, const char *key, int64_t us)
{
    char text[DX_CIVIL_TEXT];

    (void)dx_civil_text_us(us, text);
    dx_json_key(j, key);
    dx_json_text(j, dx_span_of(text, sizeof "2024-06-14T08:15:30" - 1));
}

/* False: its address is not whole. */
static bool write_dataset(struct dx_json *j, const struct dx_dataset *d, struct dx_span base,
                          struct dx_buf *url)
{
    dx_buf_clear(url);
    dx_buf_append(url, base.data, base.size);
    dx_buf_u8(url, '/');
    dx_url_encode_span(url, dx_span_str(d->name), false);
    dx_buf_str(url, "-index");
    dx_json_object(j);
    dx_json_key(j, "id");
    dx_json_str(j, d->name);
    dx_json_key(j, "name");
    dx_json_str(j, d->name);
    dx_json_key(j, "cdx-api");
    dx_json_text(j, dx_span_of(url->data, url->size));
    if (d->has_ts && dx_civil_is_stored(d->first_us) && dx_civil_is_stored(d->last_us)) {
        write_time(j, "from", d->first_us);
        write_time(j, "to", d->last_us);
    }
    dx_json_end(j);
    return !url->failed;
}

int dx_answer_collinfo(const struct dx_view *view, struct dx_span base, struct dx_buf *body,
                       struct dx_problem *problem)
{
    const struct dx_view urls = dx_view_urls(view);
    const struct dx_registry *r = &view->version->registry;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_buf url = DX_BUF_INIT(65536);
    bool whole = true;
    struct dx_json j;

    dx_json_open(&j, body);
    dx_json_array(&j);
    for (size_t i = 0; i < r->count; i++)
        if (dx_view_shows(&urls, r->datasets[i].dataset_id))
            whole = write_dataset(&j, &r->datasets[i], base, &url) && whole;
    dx_json_end(&j);
    body->failed = body->failed || !whole;
    dx_buf_release(&url);
    if (!body->failed)
        return 1;
    (void)dx_buf_fail(body, &err, "answer");
    dx_buf_clear(body);
    return dx_problem_of_error(problem, &err);
}
