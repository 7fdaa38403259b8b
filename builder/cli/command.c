/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/cli/command.h"

#include <stdio.h>
#include <unistd.h>

int dx_command_fail(const char *name, int code, const struct dx_error *err)
{
    (void)fprintf(stderr, "domaindex %s: %s\n", name, err->text);
    return code;
}

unsigned dx_command_cores(unsigned most)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : cores > (long)most ? most : (unsigned)cores;
}
