/* SPDX-License-Identifier: Apache-2.0 */
#include "query/view/tag_names.h"

#include "loader/version.h"

static const struct dx_tags *tags_of(const struct dx_tag_names *n, size_t part)
{
    return n->version->parts[part].part->tags;
}

static uint64_t count_of(const struct dx_version *v, size_t part)
{
    return v->parts[part].part->tags == NULL ? 0 : v->parts[part].part->tags->count;
}

static uint64_t all_of(const struct dx_version *v)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < v->part_count; i++)
        sum += count_of(v, i);
    return sum;
}

/* Where a tag stands in each part, or would. */
static int find_in_parts(const struct dx_tag_names *n, struct dx_span tag,
                         uint64_t at[DX_PARTS_MAX], struct dx_error *err)
{
    int rc = DX_OK;

    for (size_t i = 0; rc >= 0 && i < n->version->part_count; i++) {
        at[i] = 0;
        if (tags_of(n, i) != NULL)
            rc = dx_tags_find(tags_of(n, i), tag, &at[i], err);
    }
    return rc < 0 ? rc : DX_OK;
}

/* The first of them: 1 and the part that has it, 0 none is left. */
static int least_of(const struct dx_tag_names *n, const uint64_t at[DX_PARTS_MAX], bool bounded,
                    size_t *part, struct dx_span *tag, struct dx_error *err)
{
    bool any = false;

    for (size_t i = 0; i < n->version->part_count; i++) {
        struct dx_span name;
        int rc;

        if (at[i] >= (bounded ? n->end[i] : count_of(n->version, i)))
            continue;
        rc = dx_tags_name(tags_of(n, i), at[i], &name, err);
        if (rc < 0)
            return rc;
        if (!any || dx_span_compare(name, *tag) < 0) {
            *tag = name;
            *part = i;
        }
        any = true;
    }
    return any;
}

static uint64_t number_of(const struct dx_tag_names *n, size_t part, uint64_t at)
{
    for (size_t i = 0; i < part; i++)
        at += count_of(n->version, i);
    return at;
}

/* The tag with a number: 1, 0 behind the last. */
static int tag_of(const struct dx_tag_names *n, uint64_t number, struct dx_span *tag,
                  struct dx_error *err)
{
    for (size_t i = 0; i < n->version->part_count; i++) {
        if (number < count_of(n->version, i))
            return dx_tags_name(tags_of(n, i), number, tag, err) < 0 ? (int)err->code : 1;
        number -= count_of(n->version, i);
    }
    return 0;
}

/* The first tag that does not begin with it; its last byte may be raised, if it has one that can
 * be. */
static int find_behind(struct dx_tag_names *n, struct dx_span prefix, struct dx_error *err)
{
    uint8_t next[DX_TAG_MAX];
    size_t size = prefix.size;

    memcpy(next, prefix.data, size);
    while (size > 0 && next[size - 1] == 0xff)
        size--;
    if (size == 0)
        return DX_OK;
    next[size - 1]++;
    return find_in_parts(n, dx_span_of(next, size), n->end, err);
}

int dx_tag_names_begin(struct dx_tag_names *n, const struct dx_version *v, struct dx_span prefix,
                       struct dx_error *err)
{
    int rc;

    *n = (struct dx_tag_names){ .version = v };
    if (prefix.size > DX_TAG_MAX)
        return DX_OK;
    for (size_t i = 0; i < v->part_count; i++)
        n->end[i] = count_of(v, i);
    if (prefix.size == 0)
        return DX_OK;
    rc = find_in_parts(n, prefix, n->at, err);
    return rc < 0 ? rc : find_behind(n, prefix, err);
}

int dx_tag_names_next(struct dx_tag_names *n, struct dx_span *tag, uint64_t *number,
                      struct dx_error *err)
{
    size_t part;
    int rc = least_of(n, n->at, true, &part, tag, err);

    if (rc != 1)
        return rc;
    *number = number_of(n, part, n->at[part]);
    for (size_t i = 0; i < n->version->part_count; i++) {
        struct dx_span name;

        if (n->at[i] >= n->end[i])
            continue;
        rc = dx_tags_name(tags_of(n, i), n->at[i], &name, err);
        if (rc < 0)
            return rc;
        n->at[i] += dx_span_equal(name, *tag);
    }
    return 1;
}

int dx_tag_names_seek(struct dx_tag_names *n, struct dx_span tag, struct dx_error *err)
{
    return find_in_parts(n, tag, n->at, err);
}

int dx_tag_names_place(const struct dx_tag_names *n, uint64_t *number, uint64_t *end,
                       struct dx_error *err)
{
    struct dx_span tag;
    size_t part;
    int rc = least_of(n, n->end, false, &part, &tag, err);

    if (rc < 0)
        return rc;
    *end = rc == 1 ? number_of(n, part, n->end[part]) : all_of(n->version);
    rc = least_of(n, n->at, true, &part, &tag, err);
    *number = rc == 1 ? number_of(n, part, n->at[part]) : *end;
    return rc < 0 ? rc : DX_OK;
}

int dx_tag_names_resume(struct dx_tag_names *n, const struct dx_version *v, uint64_t number,
                        uint64_t end, struct dx_error *err)
{
    struct dx_span tag;
    int rc;

    *n = (struct dx_tag_names){ .version = v };
    if (number > all_of(v) || end > all_of(v))
        return 0;
    for (size_t i = 0; i < v->part_count; i++)
        n->at[i] = n->end[i] = count_of(v, i);
    rc = tag_of(n, number, &tag, err);
    if (rc == 1)
        rc = find_in_parts(n, tag, n->at, err);
    if (rc >= 0 && (rc = tag_of(n, end, &tag, err)) == 1)
        rc = find_in_parts(n, tag, n->end, err);
    return rc < 0 ? rc : 1;
}
