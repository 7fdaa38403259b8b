/* SPDX-License-Identifier: Apache-2.0
 * A path is whole, or it is an error that names it and leaves nothing to open.
 */
#include "base/path.h"

#include "tests/support/damage.h"

static unsigned failures;

static const struct {
    const char *root, *name;
    const char *want; /* NULL: it does not fit into 16 bytes */
} rows[] = {
    { "/srv", "a", "/srv/a" },
    { "", "a", "/a" },
    { "/srv", "1234567890", "/srv/1234567890" }, /* 15 and its end */
    { "/srv", "12345678901", NULL },
    { "/srv/a/very/long/root", "x", NULL },
};

int main(void)
{
    struct dx_error err = DX_ERROR_INIT;
    char wide[PATH_MAX];
    char name[PATH_MAX];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[16];
        int rc = dx_path_format(path, sizeof path, &err, "%s/%s", rows[i].root, rows[i].name);

        if (rows[i].want != NULL) {
            EXPECT(rc == DX_OK && strcmp(path, rows[i].want) == 0, "%s: %d '%s'", rows[i].want, rc,
                   path);
            continue;
        }
        EXPECT(rc == DX_E_INVALID && path[0] == '\0', "%s: %d '%s'", rows[i].root, rc, path);
        EXPECT(strncmp(err.text, rows[i].root, strlen(rows[i].root)) == 0 &&
                   strstr(err.text, "15 fit") != NULL,
               "'%s'", err.text);
    }
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    EXPECT(dx_path_format(wide, sizeof wide, &err, "/srv/%s", name) == DX_E_INVALID &&
               wide[0] == '\0' && strncmp(err.text, "/srv/xxx", 8) == 0 &&
               strstr(err.text, "...: path too long (4100 bytes, 4095 fit)") != NULL,
           "'%s'", err.text);
    EXPECT(dx_path_format(wide, sizeof wide, NULL, "%s", name) == DX_OK, "4095 bytes");
    EXPECT(dx_path_format(wide, 10, NULL, "%s", name) == DX_E_INVALID, "without an error");
    return failures > 0;
}
