/* SPDX-License-Identifier: Apache-2.0
 * test_work_folder.c - a new work folder is held, or the message has the cause; those of dead processes are removed, and nothing else.
 */
#include "builder/root/work_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/damage.h"

static unsigned failures;
static char top[] = "/tmp/dx-test-work-XXXXXX";

static const char *below(const char *name)
{
    static char path[2][256];
    static unsigned n;

    n ^= 1;
    (void)snprintf(path[n], sizeof path[n], "%s/%s", top, name);
    return path[n];
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    EXPECT(fd >= 0, "%s", path);
    (void)close(fd);
}

static void make_others(void)
{
    EXPECT(mkdir(below("domaindex-test-dead"), 0700) == 0, "dead");
    make_file(below("domaindex-test-dead/run"));
    EXPECT(mkdir(below("domaindex-other-x"), 0700) == 0, "of another purpose");
    EXPECT(mkdir(below("domaindex-kept"), 0700) == 0, "of no process");
    EXPECT(symlink(below("domaindex-kept"), below("domaindex-test-link")) == 0, "link");
    make_file(below("domaindex-test-file"));
}

static void check_others(void)
{
    EXPECT(!is_there(below("domaindex-test-dead")), "the dead one is removed");
    EXPECT(is_there(below("domaindex-other-x")) && is_there(below("domaindex-kept")) &&
               is_there(below("domaindex-test-link")) && is_there(below("domaindex-test-file")),
           "nothing else is");
}

/* A folder is made, but cannot be opened: the message says why, and no folder remains. */
static void check_no_descriptor(void)
{
    struct dx_work_folder w = DX_WORK_FOLDER_INIT;
    struct dx_error err = DX_ERROR_INIT;
    struct rlimit before, none;

    EXPECT(mkdir(below("full"), 0700) == 0, "full");
    EXPECT(getrlimit(RLIMIT_NOFILE, &before) == 0, "getrlimit");
    none = before;
    none.rlim_cur = 0;
    EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0, "setrlimit");
    EXPECT(dx_work_folder_make(&w, below("full"), "test", &err) == DX_E_IO &&
               strstr(err.text, "Too many open files") != NULL,
           "%s", err.text);
    EXPECT(setrlimit(RLIMIT_NOFILE, &before) == 0, "setrlimit");
    EXPECT(rmdir(below("full")) == 0, "a folder remains");
}

int main(void)
{
    struct dx_work_folder first = DX_WORK_FOLDER_INIT, second = DX_WORK_FOLDER_INIT;
    struct dx_error err = DX_ERROR_INIT;
    char path[sizeof first.path];

    if (mkdtemp(top) == NULL)
        return 1;
    make_others();
    EXPECT(dx_work_folder_make(&first, top, "test", &err) == DX_OK, "%s", err.text);
    check_others();
    EXPECT(dx_work_folder_make(&second, top, "test", &err) == DX_OK, "%s", err.text);
    EXPECT(strcmp(first.path, second.path) != 0 && is_there(first.path), "two at once");
    memcpy(path, first.path, sizeof path);
    dx_work_folder_remove(&first);
    EXPECT(!is_there(path) && is_there(second.path), "one is removed");
    dx_work_folder_sweep(top, "test");
    EXPECT(is_there(second.path), "what is held stays");
    memcpy(path, second.path, sizeof path);
    (void)close(second.fd); /* as if the process had died */
    dx_work_folder_sweep(top, "test");
    EXPECT(!is_there(path), "what is no longer held goes");
    EXPECT(dx_work_folder_make(&first, below("none"), "test", &err) < 0 &&
               strstr(err.text, "--work-dir") != NULL,
           "%s", err.text);
    check_no_descriptor();
    EXPECT(dx_dir_remove(top, &err) == DX_OK, "%s", err.text);
    return failures > 0;
}
