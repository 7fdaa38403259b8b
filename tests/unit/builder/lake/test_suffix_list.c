/* SPDX-License-Identifier: Apache-2.0
 * The suffix list of a lake: its own, a file, the system's, and one that is too large for any
 * version.
 */
#include "builder/lake/suffix_list.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "builder/lake/lake_layout.h"
#include "builder/root/root.h"
#include "tests/support/damage.h"

static unsigned failures;

static int of_lake(const char *name, struct dx_buf *text, struct dx_error *err)
{
    struct dx_root root = DX_ROOT_INIT;
    int rc = dx_root_open(&root, name, DX_ROOT_READ, err);

    dx_buf_clear(text);
    if (rc == DX_OK)
        rc = dx_suffix_list_of_lake(&root, text, err);
    dx_root_close(&root);
    return rc;
}

/* A lake keeps the list that it began with. */
static void check_begin(const char *name)
{
    struct dx_buf text = DX_SUFFIX_LIST_INIT;
    struct dx_root root = DX_ROOT_INIT;
    struct dx_error err = DX_ERROR_INIT;

    EXPECT(dx_root_open(&root, name, DX_ROOT_WRITE, &err) == DX_OK, "%s", err.text);
    for (int i = 0; i < 2; i++) /* the second time it is there */
        EXPECT(dx_suffix_list_begin(&root, dx_span_str("com\norg\n"), &err) == DX_OK &&
                   of_lake(name, &text, &err) == 1 &&
                   dx_span_equal(dx_span_of(text.data, text.size), dx_span_str("com\norg\n")),
               "%s", err.text);
    EXPECT(dx_suffix_list_begin(&root, dx_span_str("com\n"), &err) == DX_E_CONFLICT, "%s",
           err.text);
    EXPECT(of_lake(name, &text, &err) == 1 && text.size == 8, "it was replaced: %s", err.text);
    dx_root_close(&root);
    dx_buf_release(&text);
}

int main(void)
{
    char top[] = "/tmp/test_suffix_list_XXXXXX";
    struct dx_buf text = DX_SUFFIX_LIST_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char path[PATH_MAX];

    if (mkdtemp(top) == NULL)
        return 1;
    (void)dx_path_format(path, sizeof path, NULL, "%s/" DX_LAKE_PSL, top);
    EXPECT(of_lake(top, &text, &err) == 0, "a lake without a list: %s", err.text);
    EXPECT(dx_file_replace(path, dx_span_str("com\n"), &err) == DX_OK, "%s", err.text);
    EXPECT(of_lake(top, &text, &err) == 1 && text.size == 4, "its own: %s", err.text);
    dx_buf_clear(&text);
    EXPECT(dx_suffix_list_read(path, &text, &err) == DX_OK && text.size == 4, "%s", err.text);
    EXPECT(truncate(path, (off_t)DX_PSL_TEXT_MAX + 1) == 0, "a file of zeros");
    EXPECT(of_lake(top, &text, &err) == DX_E_LIMIT, "too large for a lake: %s", err.text);
    dx_buf_clear(&text);
    EXPECT(dx_suffix_list_read(path, &text, &err) == DX_E_LIMIT, "too large: %s", err.text);
    EXPECT(unlink(path) == 0, "gone");
    EXPECT(dx_suffix_list_read(path, &text, &err) == DX_E_NOT_FOUND &&
               strncmp(err.text, path, strlen(path)) == 0,
           "%s", err.text);
    dx_buf_release(&text);
    check_begin(top);
    EXPECT(dx_dir_remove(top, &err) == DX_OK, "%s", err.text);
    return failures > 0;
}
