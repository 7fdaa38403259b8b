/* SPDX-License-Identifier: Apache-2.0
 * Which reads become one GET: the edges of the rule in a table, and random reads against the rule
 * said again without sorting.
 */
#include "fetch/range_join.h"
#include "tests/support/damage.h"

static unsigned failures;

#define GAP ((uint64_t)DX_JOIN_GAP)
#define MOST ((uint64_t)DX_JOIN_MAX)

static const struct {
    const char *name;
    struct {
        uint64_t offset, size;
    } reads[4];
    struct {
        uint64_t offset, size;
    } joins[4];
} rows[] = {
    { "alone", { { 5, 7 } }, { { 5, 7 } } },
    { "no byte", { { 5, 0 } }, { { 0, 0 } } },
    { "touching", { { 0, 10 }, { 10, 10 } }, { { 0, 20 } } },
    { "in any order", { { 10, 10 }, { 0, 10 } }, { { 0, 20 } } },
    { "equal", { { 3, 10 }, { 3, 10 }, { 3, 10 } }, { { 3, 10 } } },
    { "overlapping", { { 0, 10 }, { 5, 10 } }, { { 0, 15 } } },
    { "inside", { { 0, 100 }, { 5, 10 }, { 20, 3 } }, { { 0, 100 } } },
    { "the widest gap", { { 0, 10 }, { 10 + GAP, 10 } }, { { 0, 20 + GAP } } },
    { "a wider gap", { { 0, 10 }, { 11 + GAP, 10 } }, { { 0, 10 }, { 11 + GAP, 10 } } },
    { "a gap behind the longest, not the last",
      { { 0, 2 * GAP }, { 1, 1 }, { 3 * GAP, 1 } },
      { { 0, 3 * GAP + 1 } } },
    { "no byte between",
      { { 0, 10 }, { 11, 0 }, { 12 + GAP, 10 } },
      { { 0, 10 }, { 12 + GAP, 10 } } },
    { "the largest", { { 0, MOST - 9 }, { MOST - 9, 9 } }, { { 0, MOST } } },
    { "too large", { { 0, MOST - 9 }, { MOST - 9, 10 } }, { { 0, MOST - 9 }, { MOST - 9, 10 } } },
    { "too large alone is as it is", { { 0, 3 * MOST } }, { { 0, 3 * MOST } } },
    { "inside of what is too large", { { 0, 3 * MOST }, { MOST, MOST } }, { { 0, 3 * MOST } } },
    { "over the end of what is too large",
      { { 0, 3 * MOST }, { 3 * MOST - 1, 2 } },
      { { 0, 3 * MOST }, { 3 * MOST - 1, 2 } } },
    { "at the end of all",
      { { UINT64_MAX - 20, 5 }, { UINT64_MAX - 10, 10 } },
      { { UINT64_MAX - 20, 20 } } },
};

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dx_read reads[4];
        struct dx_join joins[4];
        size_t order[4];
        size_t want = 0;
        size_t n;

        for (size_t k = 0; k < 4; k++) {
            reads[k] = (struct dx_read){ "a", rows[i].reads[k].offset,
                                         (size_t)rows[i].reads[k].size, NULL };
            want += rows[i].joins[k].size > 0;
        }
        n = dx_range_join(reads, NULL, 4, joins, order);
        EXPECT(n == want, "%s: %zu joins", rows[i].name, n);
        for (size_t k = 0; k < n && k < want; k++)
            EXPECT(joins[k].offset == rows[i].joins[k].offset &&
                       joins[k].size == rows[i].joins[k].size,
                   "%s: join %zu is %llu, %zu", rows[i].name, k,
                   (unsigned long long)joins[k].offset, joins[k].size);
    }
}

/* What is demanded of a reply must be the same for all who share it. */
static void check_pins(void)
{
    static const struct {
        struct dx_pin a, b;
        size_t joins;
    } pairs[] = {
        { { 9, "\"x\"" }, { 9, "\"x\"" }, 1 }, { { 0, NULL }, { 0, NULL }, 1 },
        { { 9, "\"x\"" }, { 9, "\"y\"" }, 2 }, { { 9, "\"x\"" }, { 0, "\"x\"" }, 2 },
        { { 9, NULL }, { 9, "\"x\"" }, 2 },
    };
    struct dx_join joins[2];
    size_t order[2];

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct dx_read reads[2] = { { "a", 0, 2, NULL }, { "a", 2, 2, NULL } };
        const struct dx_pin pins[2] = { pairs[i].a, pairs[i].b };

        EXPECT(dx_range_join(reads, pins, 2, joins, order) == pairs[i].joins, "pair %zu", i);
    }
    for (size_t i = 0; i < 2; i++) {
        const struct dx_read reads[2] = { { i == 0 ? "a" : "b", 0, 2, NULL },
                                          { i == 0 ? "b" : "a", 2, 2, NULL } };

        EXPECT(dx_range_join(reads, NULL, 2, joins, order) == 2, "two objects");
    }
}

enum { SPACE = 4 << 20, READS = 40, OBJECTS = 3 };

static uint8_t image[SPACE + OBJECTS * 77]; /* random; the objects are parts of it */

static void make_image(void)
{
    uint64_t seed = 5;

    for (size_t i = 0; i < sizeof image; i += 8) {
        const uint64_t some = random_next(&seed);

        memcpy(image + i, &some, i + 8 <= sizeof image ? 8 : sizeof image - i);
    }
}

static const uint8_t *object_bytes(unsigned object, uint64_t at)
{
    return image + (size_t)object * 77 + at;
}

static uint64_t end_of(const struct dx_read *r)
{
    return r->offset + r->size;
}

static uint64_t bridge(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

/* The rule, said of each join by itself, without the order in which it was made. */
static void check_join(const struct dx_read *reads, const size_t *order, const struct dx_join *join)
{
    uint64_t covered = join->offset;
    uint64_t largest = 0;

    for (size_t k = join->first; k < join->first + join->count; k++) {
        const struct dx_read *r = &reads[order[k]];

        EXPECT(strcmp(r->object, reads[order[join->first]].object) == 0, "one object");
        EXPECT(r->offset >= join->offset && end_of(r) <= join->offset + join->size, "inside");
        EXPECT(bridge(covered, r->offset) <= DX_JOIN_GAP, "gap");
        covered = end_of(r) > covered ? end_of(r) : covered;
        largest = r->size > largest ? r->size : largest;
    }
    EXPECT(covered == join->offset + join->size, "no byte behind the last");
    EXPECT(join->size <= DX_JOIN_MAX || join->size == largest, "size");
}

/* Two joins of one object that follow each other could not have been one. */
static void check_apart(const struct dx_read *reads, const size_t *order, const struct dx_join *a,
                        const struct dx_join *b)
{
    const struct dx_read *next = &reads[order[b->first]];

    if (strcmp(reads[order[a->first]].object, next->object) != 0)
        return;
    EXPECT(a->offset <= b->offset, "in order");
    EXPECT(bridge(a->offset + a->size, next->offset) > DX_JOIN_GAP ||
               end_of(next) - a->offset > DX_JOIN_MAX,
           "%llu+%zu and %llu+%zu could be one", (unsigned long long)a->offset, a->size,
           (unsigned long long)next->offset, next->size);
}

static void check_random(void)
{
    static const char *const names[OBJECTS] = { "a", "b", "c" };
    uint8_t *bytes = malloc(SPACE);
    uint64_t seed = 3;
    size_t joined = 0;

    for (unsigned round = 0; round < 100; round++) {
        struct dx_read reads[READS];
        struct dx_join joins[READS];
        size_t order[READS];
        unsigned in_joins[READS] = { 0 };
        size_t count = 1 + random_below(&seed, READS);
        size_t n;

        for (size_t i = 0; i < count; i++) {
            size_t size = random_below(&seed, 8) == 0 ? random_below(&seed, 2 * DX_JOIN_MAX)
                                                      : random_below(&seed, 3 * DX_JOIN_GAP);

            reads[i] = (struct dx_read){ names[random_below(&seed, OBJECTS)],
                                         random_below(&seed, SPACE - size), size,
                                         malloc(size + 1) };
            reads[i].to[size] = 0xaa;
        }
        n = dx_range_join(reads, NULL, count, joins, order);
        for (size_t j = 0; j < n; j++) {
            unsigned object = (unsigned)(reads[order[joins[j].first]].object[0] - 'a');

            check_join(reads, order, &joins[j]);
            if (j > 0)
                check_apart(reads, order, &joins[j - 1], &joins[j]);
            for (size_t k = joins[j].first; k < joins[j].first + joins[j].count; k++)
                in_joins[order[k]]++;
            memcpy(bytes, object_bytes(object, joins[j].offset), joins[j].size);
            dx_range_join_hand_out(reads, order, &joins[j], bytes);
            joined += joins[j].count - 1;
        }
        for (size_t i = 0; i < count; i++) {
            const uint8_t *want = object_bytes((unsigned)(reads[i].object[0] - 'a'),
                                               reads[i].offset);
            bool right = reads[i].to[reads[i].size] == 0xaa &&
                         memcmp(reads[i].to, want, reads[i].size) == 0;

            EXPECT(in_joins[i] == (reads[i].size > 0), "read %zu is in %u joins", i, in_joins[i]);
            EXPECT(right, "round %u, read %zu: bytes", round, i);
            free(reads[i].to);
        }
    }
    EXPECT(joined > 100, "%zu reads were joined", joined);
    free(bytes);
}

int main(void)
{
    check_rows();
    check_pins();
    make_image();
    check_random();
    return failures > 0;
}
