/* SPDX-License-Identifier: Apache-2.0 */
#include "builder/cli/iceberg_tables.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Its standard output is our standard error: ours says which version is published, and nothing else. */
static int start(const char *python, const char *root, pid_t *pid)
{
    char *const argv[] = { (char *)python, "-m", "domaindex.iceberg", "--", (char *)root, NULL };
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed != 0)
        return failed;
    failed = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (failed == 0)
        failed = posix_spawnp(pid, python, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

int dx_iceberg_tables_update(const char *root, struct dx_error *err)
{
    const char *given = getenv("DOMAINDEX_PYTHON");
    const char *python = given != NULL && given[0] != '\0' ? given : "python3";
    pid_t pid;
    int status;
    int failed = start(python, root, &pid);

    if (failed != 0)
        return dx_fail_errno(err, failed,
                             "%s cannot be started (DOMAINDEX_PYTHON names another one)", python);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return dx_fail_errno(err, errno, "wait for %s", python);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return DX_OK;
    return dx_fail(err, DX_E_IO,
                   "%s -m domaindex.iceberg %s %d: the version is published, and the tables in "
                   "%s/iceberg are as they were; pip install './python[iceberg]' has what it needs",
                   python, WIFEXITED(status) ? "ended with status" : "was ended by signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), root);
}
