/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/hot_keys.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define WORDS (DX_HOT_KEY_MAX / sizeof(uint64_t))

/* turn is odd while a thread writes, and another one after each writer. */
struct slot {
    _Atomic uint32_t turn;
    _Atomic uint32_t size; /* 0: empty */
    _Atomic uint64_t words[WORDS];
};

struct dx_hot_keys {
    _Atomic uint64_t next;
    struct slot slots[DX_HOT_KEYS];
};

int dx_hot_keys_new(struct dx_hot_keys **h, struct dx_error *err)
{
    *h = calloc(1, sizeof **h);
    return *h != NULL ? DX_OK : dx_no_memory(err, "hot keys");
}

void dx_hot_keys_free(struct dx_hot_keys **h)
{
    free(*h);
    *h = NULL;
}

static void write_slot(struct slot *s, struct dx_span domain)
{
    uint64_t words[WORDS] = { 0 };
    uint32_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed);

    if (turn % 2 == 1 || !atomic_compare_exchange_strong_explicit(
                             &s->turn, &turn, turn + 1, memory_order_acquire, memory_order_relaxed))
        return;
    memcpy(words, domain.data, domain.size);
    /* Release: a reader that sees one of these words sees the odd turn as well. */
    for (size_t i = 0; i < (domain.size + 7) / 8; i++)
        atomic_store_explicit(&s->words[i], words[i], memory_order_release);
    atomic_store_explicit(&s->size, (uint32_t)domain.size, memory_order_release);
    atomic_store_explicit(&s->turn, turn + 2, memory_order_release);
}

void dx_hot_keys_note(struct dx_hot_keys *h, struct dx_span domain)
{
    static _Thread_local unsigned seen;

    if (h == NULL || domain.size == 0 || domain.size > DX_HOT_KEY_MAX ||
        seen++ % DX_HOT_KEYS_EACH != 0)
        return;
    write_slot(
        &h->slots[atomic_fetch_add_explicit(&h->next, 1, memory_order_relaxed) % DX_HOT_KEYS],
        domain);
}

bool dx_hot_keys_get(const struct dx_hot_keys *h, size_t i, uint8_t domain[DX_HOT_KEY_MAX],
                     size_t *size)
{
    const struct slot *s = &h->slots[i];
    uint32_t turn = atomic_load_explicit(&s->turn, memory_order_acquire);
    uint64_t words[WORDS];

    *size = atomic_load_explicit(&s->size, memory_order_acquire);
    if (turn % 2 == 1 || *size == 0)
        return false;
    for (size_t k = 0; k < (*size + 7) / 8; k++)
        words[k] = atomic_load_explicit(&s->words[k], memory_order_acquire);
    if (atomic_load_explicit(&s->turn, memory_order_relaxed) != turn)
        return false;
    memcpy(domain, words, *size);
    return true;
}
