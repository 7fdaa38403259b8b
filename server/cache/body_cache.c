/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cache/body_cache.h"

#include "base/hash.h"
#include "server/routes/route.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define KIND_ANSWER DX_KIND('A', 'N', 'S', 'W')
#define DOOR_SKIPS (3 * sizeof(uint64_t)) /* of a key: what changes by itself */
#define DOOR_SLOTS 16384                  /* questions that are remembered as asked once */

/* A block: this, the key, the subject, the body. */
struct head {
    size_t key_size;
    char etag[DX_ETAG_TEXT];
    struct dx_answer_summary summary;
    size_t subject_size;
    enum dx_coding coding;
    bool lasts;
};

struct dx_body_cache {
    struct dx_page_cache *blocks;
    uint64_t seed;
    uint64_t largest;                  /* block that is kept */
    _Atomic uint32_t door[DOOR_SLOTS]; /* the question that came last here; relaxed: a hint */
};

int dx_body_cache_new(struct dx_body_cache **c, uint64_t budget_bytes, uint64_t seed,
                      struct dx_error *err)
{
    int rc;

    *c = calloc(1, sizeof **c);
    if (*c == NULL)
        return dx_no_memory(err, "cache of answers");
    (*c)->seed = seed;
    (*c)->largest = budget_bytes / 16;
    rc = dx_page_cache_new(&(*c)->blocks, budget_bytes, DX_EVICT_SIEVE, err);
    if (rc < 0)
        dx_body_cache_free(c);
    return rc;
}

void dx_body_cache_free(struct dx_body_cache **c)
{
    if (*c != NULL)
        dx_page_cache_free(&(*c)->blocks);
    free(*c);
    *c = NULL;
}

/* ---- keys ---- */

static void put_u64(struct dx_body_key *key, uint64_t v)
{
    memcpy(key->bytes + key->size, &v, sizeof v);
    key->size += sizeof v;
}

bool dx_body_key_make(struct dx_body_key *key, const struct dx_answers *answers,
                      struct dx_version *v, const struct dx_ask *ask)
{
    bool goes_on = ask->cursor.data != NULL;
    const char *owner = answers->cursor_life_s == 0 || ask->principal == NULL ? "" : ask->principal;
    size_t owner_size = strnlen(owner, DX_ACCESS_NAME_MAX);
    uint8_t filter[DX_ROW_FILTER_MAX];
    size_t filter_size = dx_row_filter_pack(&ask->filter, filter);

    if (answers->state == NULL || !dx_routes[ask->route]->keeps_bodies ||
        ask->asked.size + filter_size > DX_ANSWER_ASKED_MAX || !answers->state(v, key->state))
        return false;
    key->size = 0;
    /* First what changes by itself, so that the door can leave it out. */
    put_u64(key, key->state[0]);
    put_u64(key, key->state[1]);
    put_u64(key,
            goes_on || answers->cursor_life_s == 0 ? 0 : (uint64_t)dx_ask_began_s(answers, ask));
    put_u64(key, (uint64_t)ask->route << 32 | ask->dataset_id);
    put_u64(key, ask->page.offset);
    put_u64(key, ask->page.limit);
    put_u64(key, (uint64_t)ask->field_bits << 32 | ask->plan);
    put_u64(key, goes_on);
    put_u64(key, goes_on ? (uint64_t)ask->from.began_s : 0);
    put_u64(key, goes_on ? ask->from.next_row : 0);
    put_u64(key, goes_on ? ask->from.end_row : 0);
    put_u64(key, goes_on ? ask->from.domain_id : 0);
    put_u64(key, goes_on ? ask->from.dataset_id : 0);
    /* Of another build a cursor is refused, whatever the version is called. */
    put_u64(key, goes_on ? dx_load_u64(ask->from.build.bytes) : 0);
    put_u64(key, goes_on ? dx_load_u64(ask->from.build.bytes + 8) : 0);
    put_u64(key, dx_scope_key(ask->scope));
    put_u64(key, ask->coding);
    put_u64(key, owner_size);
    memcpy(key->bytes + key->size, owner, owner_size);
    key->size += owner_size;
    put_u64(key, filter_size);
    memcpy(key->bytes + key->size, filter, filter_size);
    key->size += filter_size;
    memcpy(key->bytes + key->size, ask->asked.data, ask->asked.size);
    key->size += ask->asked.size;
    return true;
}

/* Where a key leads: its hash, as the name of a block, which only has to distinguish most of them.
 * Seeded, since strangers choose what they request: they cannot fill one chain. */
static struct dx_cache_key name_of(const struct dx_body_cache *c, const struct dx_body_key *key)
{
    struct dx_cache_key name = { .part = key->size, .kind = KIND_ANSWER };

    dx_store_u64(name.object, dx_hash64_seeded(dx_span_of(key->bytes, key->size), c->seed));
    return name;
}

/* ---- hits, and what is kept ---- */

struct dx_cached *dx_body_cache_get(struct dx_body_cache *c, const struct dx_body_key *key,
                                    struct dx_hot_answer *hot)
{
    struct dx_cache_key name = name_of(c, key);
    struct dx_cached *block = dx_page_cache_get(c->blocks, &name);
    const struct head *head;
    struct dx_span all;

    if (block == NULL)
        return NULL;
    head = (const struct head *)(const void *)block->bytes.data;
    all = dx_span_of(block->bytes.data + sizeof *head, block->bytes.size - sizeof *head);
    if (!dx_span_equal(dx_span_of(all.data, head->key_size), dx_span_of(key->bytes, key->size))) {
        dx_page_cache_put(c->blocks, &block); /* another question with this hash */
        return NULL;
    }
    all = dx_span_of(all.data + head->key_size, all.size - head->key_size);
    hot->subject = dx_span_of(all.data, head->subject_size);
    hot->body = dx_span_of(all.data + head->subject_size, all.size - head->subject_size);
    hot->coding = head->coding;
    hot->lasts = head->lasts;
    hot->etag = head->etag;
    hot->summary = head->summary;
    return block;
}

void dx_body_cache_put(struct dx_body_cache *c, struct dx_cached **block)
{
    dx_page_cache_put(c->blocks, block);
}

/* Whether the question stood at the door before; now it does. */
static bool came_before(struct dx_body_cache *c, const struct dx_body_key *key)
{
    uint64_t h = dx_hash64_seeded(dx_span_of(key->bytes + DOOR_SKIPS, key->size - DOOR_SKIPS),
                                  c->seed);
    _Atomic uint32_t *slot = &c->door[h % DOOR_SLOTS];
    uint32_t mark = (uint32_t)(h >> 32) | 1; /* 0: empty */

    if (atomic_load_explicit(slot, memory_order_relaxed) == mark)
        return true;
    atomic_store_explicit(slot, mark, memory_order_relaxed);
    return false;
}

void dx_body_cache_offer(struct dx_body_cache *c, const struct dx_body_key *key,
                         const struct dx_answers *answers, struct dx_version *v,
                         const struct dx_hot_answer *hot)
{
    struct head head = { .key_size = key->size,
                         .summary = hot->summary,
                         .subject_size = hot->subject.size,
                         .coding = hot->coding,
                         .lasts = hot->lasts };
    size_t size = sizeof head + key->size + hot->subject.size + hot->body.size;
    struct dx_cache_key name;
    struct dx_cached *block;
    uint64_t state[2];
    uint8_t *bytes;

    if (!came_before(c, key) || size > c->largest || !answers->state(v, state) ||
        memcmp(state, key->state, sizeof state) != 0)
        return;
    bytes = malloc(size);
    if (bytes == NULL)
        return;
    memcpy(head.etag, hot->etag, strlen(hot->etag) + 1);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, key->bytes, key->size);
    if (hot->subject.size > 0)
        memcpy(bytes + sizeof head + key->size, hot->subject.data, hot->subject.size);
    memcpy(bytes + sizeof head + key->size + hot->subject.size, hot->body.data, hot->body.size);
    name = name_of(c, key);
    block = dx_page_cache_add(c->blocks, &name, bytes, size);
    dx_page_cache_put(c->blocks, &block);
}

void dx_body_cache_stats(struct dx_body_cache *c, struct dx_page_cache_stats *out)
{
    dx_page_cache_stats(c->blocks, out);
}
