/* SPDX-License-Identifier: Apache-2.0
 * How a dataset's object begins in answers: names that have to be escaped, ids with gaps, places of ranks.
 */
#include "loader/dataset_heads.h"

#include <stdio.h>

#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *name, *head;
    uint64_t urls;
} rows[] = {
    { "plain", "{\"dataset_id\":1,\"name\":\"plain\",", 1 },
    { "removed", NULL, 0 },
    { "a \"b\" \\c/", "{\"dataset_id\":3,\"name\":\"a \\\"b\\\" \\\\c/\",", 16 },
    { "gr\xc3\xb6\xc3\x9f"
      "er",
      "{\"dataset_id\":4,\"name\":\"gr\xc3\xb6\xc3\x9f"
      "er\",",
      17 },
};

static void add_all(struct dx_registry *r)
{
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset *d;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EXPECT(dx_registry_add(r, dx_span_str(rows[i].name), &d, &err) == 1, "%s", err.text);
        d->urls = rows[i].urls;
    }
    EXPECT(dx_registry_remove(r, 2, &err) == DX_OK, "%s", err.text);
}

int main(void)
{
    struct dx_registry registry = DX_REGISTRY_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct dx_dataset_heads h;
    size_t longest = 0;

    add_all(&registry);
    EXPECT(dx_dataset_heads_new(&h, &registry, &err) == DX_OK, "%s", err.text);
    for (uint32_t id = 0; id <= sizeof rows / sizeof *rows + 1; id++) {
        const struct dx_dataset_head *head = dx_dataset_heads_get(&h, id);
        const char *want = id - 1 < sizeof rows / sizeof *rows ? rows[id - 1].head : NULL;
        struct dx_span text = head == NULL ? dx_span_of(NULL, 0) : dx_dataset_head_text(&h, head);

        EXPECT((head != NULL) == (want != NULL) &&
                   (want == NULL || dx_span_equal(text, dx_span_str(want))),
               "dataset %u: '%.*s'", (unsigned)id, (int)text.size, (const char *)text.data);
        longest = text.size > longest ? text.size : longest;
        if (head == NULL)
            continue;
        EXPECT(head->dataset_id == id && head->urls == rows[id - 1].urls &&
                   dx_dataset_heads_kept(&h, head, head->urls) == 0 &&
                   (dx_dataset_heads_rank(&h, head, head->urls) != NULL) ==
                       (head->urls <= DX_RANKS_KEPT),
               "dataset %u: its URLs and their rank", (unsigned)id);
    }
    EXPECT(h.longest == longest, "the longest has %u bytes, not %zu", (unsigned)h.longest, longest);
    dx_dataset_heads_release(&h);
    dx_registry_release(&registry);
    return failures > 0;
}
