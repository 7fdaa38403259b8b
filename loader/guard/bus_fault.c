/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/guard/bus_fault.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/map.h"

/* sequence is odd while the slot is written. A reader who finds it odd, or another one afterwards,
 * passes on: the range that it is looking for does not change, because it is in use. */
struct slot {
    _Atomic unsigned sequence;
    _Atomic uintptr_t begin, end; /* begin 0: free */
    _Atomic(_Atomic unsigned *) word;
    _Atomic unsigned value;
};

static struct {
    struct slot slots[DX_BUS_RANGES];
    _Atomic size_t used; /* no range in slots from here on */
    _Atomic uint64_t count;
    _Atomic int wake_fd;
    uintptr_t page_size; /* 0: not installed */
    struct sigaction before;
    pthread_mutex_t lock; /* of writers */
} table = { .wake_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

static_assert(ATOMIC_POINTER_LOCK_FREE == 2 && ATOMIC_LONG_LOCK_FREE == 2 &&
                  ATOMIC_INT_LOCK_FREE == 2,
              "a signal handler may use atomics only where they take no lock");

struct range {
    uintptr_t begin, end;
    _Atomic unsigned *word;
    unsigned value;
};

static bool find_range(uintptr_t address, struct range *found)
{
    size_t used = atomic_load(&table.used);

    for (size_t i = 0; i < used; i++) {
        struct slot *s = &table.slots[i];
        unsigned sequence = atomic_load(&s->sequence);

        found->begin = atomic_load(&s->begin);
        found->end = atomic_load(&s->end);
        if (address < found->begin || address >= found->end)
            continue;
        found->word = atomic_load(&s->word);
        found->value = atomic_load(&s->value);
        if (sequence % 2 == 0 && atomic_load(&s->sequence) == sequence)
            return true;
    }
    return false;
}

static void pass_on(int number, const siginfo_t *info)
{
    (void)sigaction(number, &table.before, NULL);
    if (info->si_code <= 0)
        (void)raise(number); /* was sent: it would not come again by itself */
}

/* The system call itself: what a library wraps around it is not for a handler, and ThreadSanitizer
 * would take the pages that come for a write under those who read. */
static bool map_zeros(uintptr_t begin, size_t size)
{
    return syscall(SYS_mmap, begin, size, PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == (long)begin;
}

/* What is marked before the zeros can be seen is seen by a thread that has read them. */
static void on_bus(int number, siginfo_t *info, void *context)
{
    uint64_t one = 1;
    int saved = errno;
    unsigned none = 0;
    struct range r;
    int wake_fd;

    (void)context;
    if (info->si_code <= 0 || !find_range((uintptr_t)info->si_addr, &r)) {
        pass_on(number, info);
        errno = saved;
        return;
    }
    (void)atomic_compare_exchange_strong(r.word, &none, r.value);
    atomic_fetch_add(&table.count, 1);
    if (!map_zeros(r.begin, r.end - r.begin))
        pass_on(number, info);
    wake_fd = atomic_load(&table.wake_fd);
    if (wake_fd >= 0 && write(wake_fd, &one, sizeof one) < 0)
        errno = saved; /* its counter is full: the waiter is awake */
    errno = saved;
}

int dx_bus_install(int wake_fd, struct dx_error *err)
{
    struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

    (void)sigemptyset(&action.sa_mask);
    atomic_store(&table.wake_fd, wake_fd);
    if (table.page_size != 0)
        return DX_OK;
    if (sigaction(SIGBUS, &action, &table.before) < 0)
        return dx_fail_errno(err, errno, "cannot take SIGBUS");
    table.page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    return DX_OK;
}

void dx_bus_uninstall(void)
{
    (void)sigaction(SIGBUS, &table.before, NULL);
    atomic_store(&table.wake_fd, -1);
    table.page_size = 0;
}

static void set_slot(struct slot *s, const struct range *r)
{
    atomic_fetch_add(&s->sequence, 1);
    atomic_store(&s->begin, r->begin);
    atomic_store(&s->end, r->end);
    atomic_store(&s->word, r->word);
    atomic_store(&s->value, r->value);
    atomic_fetch_add(&s->sequence, 1);
}

int dx_bus_add(void *base, size_t size, _Atomic unsigned *word, unsigned value,
               struct dx_error *err)
{
    uintptr_t begin = (uintptr_t)base;
    uintptr_t page = table.page_size;
    struct range r = { begin, 0, word, value };
    size_t i = 0;

    if (page == 0 || base == NULL)
        return DX_OK;
    r.end = begin + (size + page - 1) / page * page;
    (void)pthread_mutex_lock(&table.lock);
    while (i < DX_BUS_RANGES && atomic_load(&table.slots[i].begin) != 0)
        i++;
    if (i < DX_BUS_RANGES) {
        set_slot(&table.slots[i], &r);
        if (i >= atomic_load(&table.used))
            atomic_store(&table.used, i + 1);
    }
    (void)pthread_mutex_unlock(&table.lock);
    return i < DX_BUS_RANGES
               ? DX_OK
               : dx_fail(err, DX_E_LIMIT,
                         "%d files are mapped already; let older versions go first", DX_BUS_RANGES);
}

int dx_bus_check(const _Atomic unsigned *word, const char *path, struct dx_error *err)
{
    return atomic_load(word) == 0 ? DX_OK
                                  : dx_fail(err, DX_E_CORRUPT, "%s: " DX_MAP_LOST_PAGE, path);
}

void dx_bus_remove(const void *base)
{
    static const struct range none = { 0, 0, NULL, 0 };
    size_t used;

    if (base == NULL)
        return;
    (void)pthread_mutex_lock(&table.lock);
    used = atomic_load(&table.used);
    for (size_t i = 0; i < used; i++)
        if (atomic_load(&table.slots[i].begin) == (uintptr_t)base) {
            set_slot(&table.slots[i], &none);
            break;
        }
    while (used > 0 && atomic_load(&table.slots[used - 1].begin) == 0)
        used--;
    atomic_store(&table.used, used);
    (void)pthread_mutex_unlock(&table.lock);
}

uint64_t dx_bus_count(void)
{
    return atomic_load(&table.count);
}
