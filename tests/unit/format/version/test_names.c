/* SPDX-License-Identifier: Apache-2.0
 * Names of the objects of an index: as docs/FORMAT.md has them, and the longest fit.
 */
#include "format/version/names.h"

#include "tests/support/damage.h"

static unsigned failures;

int main(void)
{
    char object[DX_MANIFEST_FILE_PATH];
    char longest[DX_MANIFEST_FILE_NAME];

    dx_name_of_version(object, "000001-20261121T103000Z", DX_FILE_PAGES);
    EXPECT(strcmp(object, "index/000001-20261121T103000Z/pages.dxp") == 0, "'%s'", object);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    dx_name_of_version(object, "000001-20261121T103000Z", longest);
    EXPECT(strlen(object) == strlen("index/000001-20261121T103000Z/") + sizeof longest - 1, "'%s'",
           object);
    EXPECT(strcmp(DX_MANIFEST_FILE, "index/manifest.json") == 0, "the manifest");
    return failures > 0;
}
