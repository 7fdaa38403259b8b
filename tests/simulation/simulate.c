/* SPDX-License-Identifier: Apache-2.0
 * simulate.c - whole systems in one process, with a virtual clock and a virtual store, by seeds.
 *
 *   simulate --seeds N [--seed S] [--verbose]      seeds S .. S+N-1 (S is 1 if not given)
 *   simulate --plant N --seeds 1000                a defect on purpose: exit 0 if it is found
 *
 * Exit 0: every invariant held. 1: one broke; its seed is printed, and `simulate --seed S --seeds 1 --verbose` shows the
 * same run again. 2: usage.
 */
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/simulation/actors.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/sim_store.h"

#define SEEDS_A_PROCESS 100
#define KEPT_BYTES (32 << 20) /* the most that mallopt takes */

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
    struct dx_error err = DX_ERROR_INIT;

    if (dx_dir_remove(path, &err) < 0)
        (void)fprintf(stderr, "simulate: %s is left: %s\n", path, err.text);
}

/* Addresses are a source of chance too (base/periodic.c). */
static void fix_addresses(char **argv)
{
    int now = personality(0xffffffff);

    if (now != -1 && (now & ADDR_NO_RANDOMIZE) == 0 &&
        personality((unsigned long)now | ADDR_NO_RANDOMIZE) != -1)
        (void)execv("/proc/self/exe", argv);
}

/* 0, 1 a violation, which is printed, or 2. */
static int simulate(const struct arguments *a, unsigned long long seed,
                    unsigned long long *commands)
{
    char folder[] = "/dev/shm/simulate-XXXXXX";
    int code = 0;

    if (mkdtemp(folder) == NULL || setenv("XDG_CACHE_HOME", folder, 1) != 0 ||
        setenv("TMPDIR", folder, 1) != 0) {
        (void)fprintf(stderr, "simulate: cannot make a folder in /dev/shm\n");
        return 2;
    }
    sim_actors_begin(folder);
    run_seed(seed, a->verbose);
    *commands += sim_deeds();
    if (a->trace)
        (void)printf("seed %llu: trace %016llx, deeds %u\n", seed, (unsigned long long)sim_trace(),
                     sim_deeds());
    if (sim_violation() != NULL) {
        (void)printf("seed %llu: %s\n", seed, sim_violation());
        code = 1;
    }
    remove_folder(folder);
    return code;
}

static int simulate_some(const struct arguments *a, unsigned long long first,
                         unsigned long long *commands)
{
    int code = 0;

    for (unsigned long long n = 0; n < SEEDS_A_PROCESS && first + n < a->seed + a->seeds; n++)
        if ((code = simulate(a, first + n, commands)) != 0)
            break;
    (void)fflush(stdout);
    return code;
}

/* In a process of its own: actors that crash leave all they had. */
static int simulate_apart(const struct arguments *a, unsigned long long first,
                          unsigned long long *commands)
{
    int status;
    pid_t child;

    (void)fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(simulate_some(a, first, commands));
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    struct arguments a = { .seed = 1, .seeds = 0 };
    unsigned long long *commands = mmap(NULL, sizeof *commands, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int code = 0;

    fix_addresses(argv);
    /* One thread runs at a time, and each world needs what the one before had: no arenas, nothing given back. */
    (void)mallopt(M_ARENA_MAX, 1);
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a huge page is cleared whole for a few bytes */
    if (!parse(argc, argv, &a) || commands == MAP_FAILED) {
        (void)fprintf(
            stderr, "usage: simulate --seeds N [--seed S] [--plant 0..%d] [--verbose] [--trace]\n",
            SIM_PLANT_COUNT - 1);
        return 2;
    }
    sim_planted = (enum sim_plant)a.plant;
    for (unsigned long long seed = a.seed; seed < a.seed + a.seeds && code == 0;
         seed += SEEDS_A_PROCESS)
        code = a.seeds > SEEDS_A_PROCESS ? simulate_apart(&a, seed, commands)
                                         : simulate_some(&a, seed, commands);
    if (a.plant != SIM_PLANT_NONE) {
        (void)printf("planted defect %llu: %s\n", a.plant, code == 1 ? "found" : "NOT FOUND");
        return code == 1 ? 0 : 1;
    }
    if (code == 0)
        (void)printf("%llu seeds, %llu commands and answers: every invariant held\n", a.seeds,
                     *commands);
    return code;
}
