/* SPDX-License-Identifier: Apache-2.0
 * Pins that loops lend: a holder has a version that lives, no pin keeps an old one for longer than
 * its users, and none is left. With threads, since versions flip beside the loops.
 */
#include "server/cache/loop_versions.h"
#include "tests/support/damage.h"
#include "tests/support/fake_answers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define USERS 12

static _Atomic unsigned failures;

struct user {
    struct dx_version *version;
    bool loop_ref;
};

static void give(struct dx_loop_versions *p, const struct dx_answers *answers, struct user *u)
{
    if (u->version != NULL && u->loop_ref)
        dx_loop_versions_give(p, answers, u->version);
    else if (u->version != NULL)
        answers->unpin(u->version);
    u->version = NULL;
}

static void take(struct dx_loop_versions *p, const struct dx_answers *answers, struct user *u)
{
    u->version = dx_loop_versions_take(p, answers, &u->loop_ref);
    EXPECT(u->version != NULL && strncmp(answers->version_name(u->version), "fake-", 5) == 0,
           "a version that is not there");
}

/* One flip after the other while each version still has a user. */
static void check_flips(void)
{
    struct dx_fake *fake = dx_fake_new();
    struct dx_answers answers = dx_fake_answers(fake);
    struct dx_loop_versions p = { .slots = { { NULL, 0 } } };
    struct user users[USERS] = { { NULL, false } };

    for (unsigned i = 0; i < USERS; i++) {
        take(&p, &answers, &users[i]);
        EXPECT(users[i].loop_ref == (i < DX_LOOP_REFS), "user %u: loop_ref %d", i,
               users[i].loop_ref);
        EXPECT(dx_fake_versions(fake) == (long)i + 1, "user %u: %ld versions", i,
               dx_fake_versions(fake));
        dx_fake_flip(fake);
    }
    for (unsigned i = 0; i < USERS; i++) {
        EXPECT(strcmp(answers.version_name(users[i].version), "#####") > 0, "user %u", i);
        give(&p, &answers, &users[i]);
    }
    dx_loop_versions_refresh(&p, &answers);
    EXPECT(dx_fake_versions(fake) == 1 && dx_fake_pins(fake) == 0,
           "%ld versions, %ld pins are left", dx_fake_versions(fake), dx_fake_pins(fake));
    take(&p, &answers, &users[0]);
    take(&p, &answers, &users[1]);
    EXPECT(dx_fake_pins(fake) == 1, "%ld pins for two users of one version", dx_fake_pins(fake));
    give(&p, &answers, &users[0]);
    give(&p, &answers, &users[1]);
    dx_loop_versions_refresh(&p, &answers);
    EXPECT(dx_loop_versions_now(&p) != NULL && dx_fake_pins(fake) == 1,
           "the current one was let go");
    dx_loop_versions_release(&p, &answers);
    EXPECT(dx_fake_free(&fake), "a pin is left");
}

static struct dx_version *two[2]; /* versions of check_return */
static struct dx_version *current;

static bool is_one_of_two(void *from, struct dx_version *held)
{
    (void)from;
    return held == current;
}

static struct dx_version *pin_one_of_two(void *from, struct dx_version *held)
{
    const struct dx_answers *answers = from;

    (void)held;
    return current == NULL ? NULL : answers->pin_again(current);
}

/* A version that comes back while it is still in use: a rollback (to the other one meanwhile), or
 * a lease that was lost for a moment (to none). */
static void check_return(bool rollback)
{
    struct dx_fake *fake = dx_fake_new();
    struct dx_answers real = dx_fake_answers(fake);
    struct dx_answers answers = real;
    struct dx_loop_versions p = { .slots = { { NULL, 0 } } };
    struct user users[4] = { { NULL, false } };

    two[0] = real.pin(real.from, NULL);
    dx_fake_flip(fake);
    two[1] = real.pin(real.from, NULL);
    answers.from = &real;
    answers.pin = pin_one_of_two;
    answers.is_current = is_one_of_two;
    current = two[0];
    take(&p, &answers, &users[0]);
    current = rollback ? two[1] : NULL;
    if (rollback)
        take(&p, &answers, &users[1]);
    else
        dx_loop_versions_refresh(&p, &answers);
    current = two[0];
    take(&p, &answers, &users[2]);
    EXPECT(users[2].version == two[0] && users[2].loop_ref, "not the one that came back");
    EXPECT(dx_loop_versions_now(&p) == two[0], "another one is the loop's now");
    take(&p, &answers, &users[3]);
    for (unsigned i = 0; i < 4; i++)
        give(&p, &answers, &users[i]);
    dx_loop_versions_refresh(&p, &answers);
    EXPECT(dx_fake_pins(fake) == 3, "%ld pins", dx_fake_pins(fake)); /* of ours, and the loop's */
    dx_loop_versions_release(&p, &answers);
    real.unpin(two[0]);
    real.unpin(two[1]);
    EXPECT(dx_fake_versions(fake) == 1, "%ld versions are left", dx_fake_versions(fake));
    EXPECT(dx_fake_free(&fake), "a pin is left");
}

struct loop {
    struct dx_fake *fake;
    uint64_t random;
    pthread_t thread;
    _Atomic bool *stop;
};

static void *run(void *argument)
{
    struct loop *l = argument;
    struct dx_answers answers = dx_fake_answers(l->fake);
    struct dx_loop_versions p = { .slots = { { NULL, 0 } } };
    struct user users[USERS] = { { NULL, false } };

    while (!atomic_load(l->stop)) {
        uint64_t r = random_next(&l->random);
        struct user *u = &users[r % USERS];

        if (u->version == NULL) {
            take(&p, &answers, u);
        } else {
            EXPECT(strncmp(answers.version_name(u->version), "fake-", 5) == 0,
                   "a version went while it was used");
            give(&p, &answers, u);
        }
        if ((r >> 40) % 16 == 0)
            dx_loop_versions_refresh(&p, &answers);
    }
    for (unsigned i = 0; i < USERS; i++)
        give(&p, &answers, &users[i]);
    dx_loop_versions_release(&p, &answers);
    return NULL;
}

static void check_threads(void)
{
    struct dx_fake *fake = dx_fake_new();
    _Atomic bool stop = false;
    struct loop loops[3];

    for (unsigned i = 0; i < 3; i++) {
        loops[i] = (struct loop){ .fake = fake, .random = i + 1, .stop = &stop };
        EXPECT(pthread_create(&loops[i].thread, NULL, run, &loops[i]) == 0, "no thread");
    }
    for (unsigned i = 0; i < 3000; i++)
        dx_fake_flip(fake);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < 3; i++)
        (void)pthread_join(loops[i].thread, NULL);
    EXPECT(dx_fake_versions(fake) == 1, "%ld versions are left", dx_fake_versions(fake));
    EXPECT(dx_fake_free(&fake), "a pin is left");
}

int main(void)
{
    check_flips();
    check_return(true);
    check_return(false);
    check_threads();
    return failures > 0;
}
