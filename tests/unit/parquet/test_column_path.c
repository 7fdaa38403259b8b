/* SPDX-License-Identifier: Apache-2.0
 * Which leaf a dotted path means: in structs, lists and maps of each layout that writers make.
 */
#include "parquet/column_path.h"
#include "tests/support/damage.h"

static unsigned failures;

enum { GROUP = -1, INT = DX_PQ_INT64, TEXT = DX_PQ_BYTE_ARRAY };
enum { ONE = DX_PQ_REQUIRED, MAYBE = DX_PQ_OPTIONAL, MANY = DX_PQ_REPEATED };
enum { NONE = DX_PQ_LOGICAL_NONE, LIST = DX_PQ_LOGICAL_LIST, MAP = DX_PQ_LOGICAL_MAP };

/* Depth first; the parents and levels follow from the counts of children. */
static const struct {
    const char *name;
    int type;
    uint32_t children;
    int repetition, logical;
} schema[] = {
    { "schema", GROUP, 9, ONE, NONE },
    { "url", TEXT, 0, ONE, NONE },
    { "a.b", INT, 0, MAYBE, NONE },
    { "meta", GROUP, 2, MAYBE, NONE },
    { "Lang", TEXT, 0, MAYBE, NONE },
    { "url", TEXT, 0, MAYBE, NONE },
    { "links", GROUP, 1, MAYBE, LIST },
    { "list", GROUP, 1, MANY, NONE },
    { "element", GROUP, 2, MAYBE, NONE },
    { "href", TEXT, 0, MAYBE, NONE },
    { "rel", TEXT, 0, MAYBE, NONE },
    { "words", GROUP, 1, MAYBE, LIST },
    { "array", TEXT, 0, MANY, NONE },
    { "headers", GROUP, 1, MAYBE, MAP },
    { "key_value", GROUP, 2, MANY, NONE },
    { "key", TEXT, 0, ONE, NONE },
    { "value", TEXT, 0, MAYBE, NONE },
    { "people", GROUP, 1, MAYBE, MAP },
    { "key_value", GROUP, 2, MANY, NONE },
    { "key", TEXT, 0, ONE, NONE },
    { "value", GROUP, 2, MAYBE, NONE },
    { "name", TEXT, 0, MAYBE, NONE },
    { "age", INT, 0, MAYBE, NONE },
    { "numbers", GROUP, 1, MAYBE, MAP }, /* keys that are not text */
    { "key_value", GROUP, 2, MANY, NONE },
    { "key", INT, 0, ONE, NONE },
    { "value", TEXT, 0, MAYBE, NONE },
    { "url", INT, 0, ONE, NONE },
};

#define NODES (sizeof schema / sizeof schema[0])

static struct dx_pq_node node[NODES];
static uint32_t leaves[NODES];
static struct dx_pq_footer footer;

static void make_footer(void)
{
    uint32_t left[NODES];

    footer = (struct dx_pq_footer){ .node = node, .node_count = NODES, .leaf = leaves };
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t up = i == 0 ? 0 : i - 1;

        while (i > 0 && left[up] == 0)
            up = node[up].parent;
        node[i] = (struct dx_pq_node){ .name = dx_span_str(schema[i].name),
                                       .parent = up,
                                       .child_count = schema[i].children,
                                       .type = (int8_t)schema[i].type,
                                       .repetition = (uint8_t)schema[i].repetition,
                                       .logical = (uint8_t)schema[i].logical };
        left[i] = schema[i].children;
        if (i > 0) {
            left[up]--;
            node[i].max_def = (uint8_t)(node[up].max_def + (schema[i].repetition != ONE));
            node[i].max_rep = (uint8_t)(node[up].max_rep + (schema[i].repetition == MANY));
        }
        if (schema[i].children == 0)
            leaves[footer.leaf_count++] = i;
    }
}

/* "a.b.c" as its parts; with '|' as the parts of two texts. */
static size_t split(const char *path, char copy[2][64], struct dx_span part[8])
{
    size_t count = 0;
    const char *bar = strchr(path, '|');
    size_t first = bar == NULL ? strlen(path) : (size_t)(bar - path);

    (void)snprintf(copy[1], 64, "%.*s", (int)first, path);
    (void)snprintf(copy[0], 64, "%s", bar == NULL ? "" : bar + 1);
    for (int text = 1; text >= 0; text--)
        for (char *at = copy[text]; *at != '\0';) {
            size_t n = strcspn(at, ".");

            part[count++] = dx_span_of(at, n);
            at += n + (at[n] == '.');
        }
    return count;
}

static const struct {
    const char *path;
    bool any_case;
    int node; /* 0: none */
    size_t used;
    int repeated_at;
} paths[] = {
    { "url", false, 1, 1, 0 },
    { "URL", false, 0, 0, 0 },
    { "URL", true, 1, 1, 0 },
    { "url.host", false, 1, 1, 0 }, /* goes on in its values */
    { "a.b", false, 2, 2, 0 },
    { "a", false, 0, 0, 0 },
    { "a|b", false, 0, 0, 0 }, /* of two texts it is not a name with a dot */
    { "meta.url", false, 5, 2, 0 },
    { "meta.lang", false, 0, 0, 0 },
    { "meta.lang", true, 4, 2, 0 },
    { "meta", false, 0, 0, 0 }, /* two leaves lie below */
    { "meta|url", false, 5, 2, 0 },
    { "links.href", false, 9, 2, 7 },
    { "links.list.element.rel", false, 10, 4, 7 },
    { "links", false, 0, 0, 0 },
    { "words", false, 12, 1, 12 },
    { "words.array", false, 12, 2, 12 },
    { "headers.key", false, 15, 2, 14 },
    { "headers.value", false, 16, 2, 14 },
    { "other", false, 0, 0, 0 },
    { "", false, 0, 0, 0 },
};

static void check_paths(void)
{
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char copy[2][64];
        struct dx_span part[8];
        size_t count = split(paths[i].path, copy, part);
        struct dx_pq_column_found found;
        bool ok = dx_pq_column_path(&footer, part, count, paths[i].any_case, &found);

        EXPECT(ok == (paths[i].node > 0), "'%s': %d", paths[i].path, ok);
        EXPECT(!ok || ((int)leaves[found.leaf] == paths[i].node && found.used == paths[i].used &&
                       (int)found.repeated_at == paths[i].repeated_at),
               "'%s': node %u, %zu parts, repeated at %u", paths[i].path,
               (unsigned)leaves[found.leaf], found.used, (unsigned)found.repeated_at);
        EXPECT(!ok || found.repeated_at == 0 ||
                   found.element_def == node[found.repeated_at].max_def,
               "'%s': elements from level %u on", paths[i].path, (unsigned)found.element_def);
    }
}

static const struct {
    const char *path;
    int value; /* node; 0: none */
    size_t used;
    const char *key;
} maps[] = {
    { "headers.date", 16, 2, "date" },
    { "headers.last.modified", 16, 3, "last.modified" }, /* keys have dots */
    { "headers|date", 16, 2, "date" },
    { "headers", 0, 0, NULL },
    { "headers.a\"b", 0, 0, NULL },
    { "people.ann.name", 21, 3, "ann" },
    { "people.ann.age", 22, 3, "ann" },
    { "people.ann.other", 0, 0, NULL },
    { "people.ann", 0, 0, NULL },
    { "numbers.7", 0, 0, NULL },
    { "meta.url", 0, 0, NULL }, /* no map */
    { "other.x", 0, 0, NULL },
};

static void check_maps(void)
{
    struct dx_pq_column_found found;
    struct dx_pq_column_map map;
    char copy[2][64];
    struct dx_span part[8];

    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        size_t count = split(maps[i].path, copy, part);
        bool ok = dx_pq_column_map(&footer, part, count, false, &found, &map);

        EXPECT(ok == (maps[i].value > 0), "'%s': %d", maps[i].path, ok);
        EXPECT(!ok || ((int)leaves[found.leaf] == maps[i].value && found.used == maps[i].used &&
                       dx_span_equal(map.key, dx_span_str(maps[i].key)) &&
                       dx_span_equal(node[leaves[map.key_leaf]].name, dx_span_str("key"))),
               "'%s': node %u, %zu parts, key '%.*s'", maps[i].path, (unsigned)leaves[found.leaf],
               found.used, ok ? (int)map.key.size : 0, (const char *)map.key.data);
    }
    /* The parts of a key must be of one text, and in their order. */
    part[0] = dx_span_str("headers");
    (void)snprintf(copy[0], 64, "one.two");
    part[1] = dx_span_of(copy[0] + 4, 3);
    part[2] = dx_span_of(copy[0], 3);
    EXPECT(!dx_pq_column_map(&footer, part, 3, false, &found, &map), "parts out of order");
}

static void check_others(void)
{
    struct dx_pq_column_found found;
    char copy[2][64];
    struct dx_span part[8];
    uint32_t other = 0;
    size_t count = split("url", copy, part);

    EXPECT(dx_pq_column_other(&footer, part, count, false, 0, &other) && leaves[other] == 27,
           "the other url");
    EXPECT(!dx_pq_column_other(&footer, part, 0, false, 0, &other), "no path");
    count = split("a.b", copy, part);
    EXPECT(!dx_pq_column_other(&footer, part, count, false, 1, &other), "another a.b");
    EXPECT(dx_pq_column_twin(&footer, 0, false, &other) && leaves[other] == 27, "its twin");
    EXPECT(dx_pq_column_number_of(&footer, other) == 9, "the ninth column");
    EXPECT(!dx_pq_column_twin(&footer, 1, false, &other), "a twin of a.b");
    EXPECT(dx_pq_column_number(&footer, 9, &found) && leaves[found.leaf] == 27 && found.used == 0,
           "column 9");
    EXPECT(dx_pq_column_number(&footer, 5, &found) && leaves[found.leaf] == 12 &&
               found.repeated_at == 12,
           "column 5, a list");
    EXPECT(!dx_pq_column_number(&footer, 3, &found), "column 3 has two leaves");
    EXPECT(!dx_pq_column_number(&footer, 10, &found), "column 10");
    EXPECT(!dx_pq_column_number(&footer, 0, &found), "column 0");
}

/* A map of another form than the format's own is not one: its names lead on. */
static void check_odd_maps(void)
{
    struct dx_pq_column_found found;
    struct dx_pq_column_map map;
    char copy[2][64];
    struct dx_span part[8];
    size_t count = split("headers.date", copy, part);

    for (unsigned odd = 0; odd < 5; odd++) {
        make_footer();
        if (odd == 0)
            node[13].child_count = 2;
        if (odd == 1)
            node[14].repetition = ONE;
        if (odd == 2)
            node[14].child_count = 3;
        if (odd == 3)
            node[15].child_count = 1;
        if (odd == 4)
            footer.node_count = 16; /* cut behind the key */
        EXPECT(!dx_pq_column_map(&footer, part, count, false, &found, &map), "form %u", odd);
    }
    make_footer();
    for (unsigned i = 14; i < 17; i++)
        node[i].max_rep++; /* as in a list */
    EXPECT(!dx_pq_column_map(&footer, part, count, false, &found, &map), "a map in a list");
}

int main(void)
{
    make_footer();
    check_paths();
    check_maps();
    check_others();
    check_odd_maps();
    return failures != 0;
}
