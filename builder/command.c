/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/command.h"

#include <unistd.h>

unsigned dx_command_cores(unsigned most)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : cores > (long)most ? most : (unsigned)cores;
}
