/* SPDX-License-Identifier: Apache-2.0 */
#include "base/release.h"

const char *dx_release(void)
{
    return DX_RELEASE;
}

const char *dx_release_agent(void)
{
    return "domaindex/" DX_RELEASE;
}

const char *dx_release_writer(void)
{
    return "domaindex version " DX_RELEASE;
}
