/* SPDX-License-Identifier: Apache-2.0
 * simulate.c - whole systems in one process, with a virtual clock and a virtual store, by seeds.
 *
 *   simulate --seeds N [--seed S] [--verbose]      seeds S .. S+N-1 (S is 1 if not given)
 *   simulate --plant N --seeds 1000                a defect on purpose: exit 0 if it is found
 *
 * Exit 0: every invariant held. 1: one broke; its seed is printed, and `simulate --seed S --seeds 1 --verbose` shows the
 * same run again. 2: usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "tests/simulation/actors.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/sim_store.h"

struct arguments {
    unsigned long long seed, seeds, plant;
    bool verbose, trace;
};

static bool parse(int argc, char **argv, struct arguments *a)
{
    for (int i = 1; i < argc; i++) {
        unsigned long long *number = strcmp(argv[i], "--seed") == 0    ? &a->seed
                                     : strcmp(argv[i], "--seeds") == 0 ? &a->seeds
                                     : strcmp(argv[i], "--plant") == 0 ? &a->plant
                                                                       : NULL;
        char *rest = NULL;

        if (strcmp(argv[i], "--verbose") == 0)
            a->verbose = true;
        else if (strcmp(argv[i], "--trace") == 0)
            a->trace = true;
        else if (number == NULL || ++i == argc)
            return false;
        else if (*number = strtoull(argv[i], &rest, 10), *rest != '\0' || argv[i][0] == '\0')
            return false;
    }
    return a->plant < SIM_PLANT_COUNT && a->seeds > 0;
}

static void run_seed(unsigned long long seed, bool verbose)
{
    sim_begin(seed);
    sim_store_begin((unsigned)sim_random(3) * 4); /* a third of the worlds has no faults */
    sim_actors_add(verbose);
    sim_run();
    sim_store_end();
}

static void remove_folder(const char *path)
{
    char command[300];

    (void)snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (system(command) != 0)
        (void)fprintf(stderr, "simulate: %s is left\n", path);
}

/* Addresses are a source of chance too (base/periodic.c). */
static void fix_addresses(char **argv)
{
    int now = personality(0xffffffff);

    if (now != -1 && (now & ADDR_NO_RANDOMIZE) == 0 &&
        personality((unsigned long)now | ADDR_NO_RANDOMIZE) != -1)
        (void)execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    struct arguments a = { .seed = 1, .seeds = 0 };
    char base[] = "/dev/shm/simulate-XXXXXX";
    unsigned long long deeds = 0;
    int code = 0;

    fix_addresses(argv);
    if (!parse(argc, argv, &a)) {
        (void)fprintf(
            stderr, "usage: simulate --seeds N [--seed S] [--plant 0..%d] [--verbose] [--trace]\n",
            SIM_PLANT_COUNT - 1);
        return 2;
    }
    sim_planted = (enum sim_plant)a.plant;
    for (unsigned long long seed = a.seed; seed < a.seed + a.seeds && code == 0; seed++) {
        char folder[sizeof base];

        memcpy(folder, base, sizeof base);
        if (mkdtemp(folder) == NULL || setenv("XDG_CACHE_HOME", folder, 1) != 0 ||
            setenv("TMPDIR", folder, 1) != 0) {
            (void)fprintf(stderr, "simulate: cannot make a folder in /dev/shm\n");
            return 1;
        }
        sim_actors_begin(folder);
        run_seed(seed, a.verbose);
        deeds += sim_deeds();
        if (a.trace)
            (void)printf("seed %llu: trace %016llx, deeds %u\n", seed,
                         (unsigned long long)sim_trace(), sim_deeds());
        if (sim_violation() != NULL) {
            (void)printf("seed %llu: %s\n", seed, sim_violation());
            code = 1;
        }
        remove_folder(folder);
    }
    if (a.plant != SIM_PLANT_NONE) {
        (void)printf("planted defect %llu: %s\n", a.plant, code == 1 ? "found" : "NOT FOUND");
        return code == 1 ? 0 : 1;
    }
    if (code == 0)
        (void)printf("%llu seeds, %llu commands and answers: every invariant held\n", a.seeds,
                     deeds);
    return code;
}
