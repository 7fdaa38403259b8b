/* SPDX-License-Identifier: Apache-2.0 */
#include "server/process/settings_check.h"

#include "base/crypto/certificate.h"
#include "base/crypto/jws.h"
#include "base/path.h"
#include "fetch/source.h"
#include "format/version/manifest.h"
#include "loader/followed/access.h"
#include "loader/mirror.h"
#include "loader/version.h"
#include "query/foreign/foreign_folder.h"
#include "query/rows/cursor.h"
#include "server/http/listening.h"
#include "server/observe/request_log.h"
#include "server/process/settings.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int check_cursor_key(const struct dx_settings *s, struct dx_error *err)
{
    struct dx_cursor_key key;
    int rc = dx_cursor_key_read(&key, s->cursor_key_file, err);

    explicit_bzero(&key, sizeof key);
    return rc;
}

static int check_receipt_key(const struct dx_settings *s, struct dx_error *err)
{
    struct dx_jws_key *key;
    int rc = dx_jws_private_key_read(&key, s->receipt_key_file, err);

    dx_jws_key_free(&key);
    return rc;
}

static int check_access(const struct dx_settings *s, struct dx_error *err)
{
    const struct dx_access_where where = { .root = s->root,
                                           .file = s->access_file,
                                           .required = true };

    return dx_access_check(&where, err);
}

/* Of a directory whose manifest names a table. All else of a root shows at a start. */
static int check_root_access(const struct dx_settings *s, struct dx_error *err)
{
    struct dx_manifest m = DX_MANIFEST_INIT;
    _Atomic uint64_t least = 0;
    const struct dx_access_where where = { .root = s->root, .least = &least };

    if (dx_version_manifest(s->root, &m, NULL) == DX_OK)
        least = m.access;
    dx_manifest_release(&m);
    return least == 0 ? DX_OK : dx_access_check(&where, err);
}

/* One that has expired is refused here: a server would start with it, but no client would accept it. */
static int check_tls(const struct dx_settings *s, struct dx_error *err)
{
    int64_t now_s = (int64_t)time(NULL);
    struct dx_tls_health health;
    struct dx_tls *tls;
    int rc = dx_tls_open(&tls, &s->tls, now_s, err);

    if (rc < 0)
        return dx_fail_in(err, "--tls-certificate");
    dx_tls_health(tls, &health);
    if (health.not_after_s <= now_s)
        rc = dx_fail(err, DX_E_INVALID, "--tls-certificate: %s: has expired", s->tls.certificate);
    else if (health.key_is_open)
        rc = dx_fail(err, DX_E_INVALID,
                     "--tls-key: %s: everybody on this machine can read it; chmod 600 it",
                     s->tls.key != NULL ? s->tls.key : s->tls.certificate);
    dx_tls_close(&tls);
    return rc;
}

static int check_ca_file(const struct dx_settings *s, struct dx_error *err)
{
    return dx_certificates_check(s->source.ca_file, err);
}

static int check_foreign(const struct dx_settings *s, struct dx_error *err)
{
    struct dx_foreign_folder *folder = NULL;
    int rc = dx_foreign_folder_open(&folder, s->foreign, err);

    dx_foreign_folder_close(&folder);
    return rc;
}

static int check_log(const struct dx_settings *s, struct dx_error *err)
{
    return dx_request_log_check(s->server.log_requests, err);
}

static int check_listen(const struct dx_settings *s, struct dx_error *err)
{
    return dx_listening_look(s->server.listen, err);
}

static int check_admin(const struct dx_settings *s, struct dx_error *err)
{
    return dx_listening_look(s->server.admin, err);
}

/* The first folder of `path` that is not there can be made; it is removed again, since this may be another user. */
static int try_folder(const char *path, struct dx_error *err)
{
    char part[DX_MIRROR_PATH];
    struct stat st;
    size_t size = 0;

    do {
        size += strspn(path + size, "/");
        size += strcspn(path + size, "/");
        if (dx_path_format(part, sizeof part, err, "%.*s", (int)size, path) < 0)
            return err->code;
        if (stat(part, &st) != 0) {
            if (errno != ENOENT || mkdir(part, 0700) != 0)
                return dx_fail_errno(err, errno, "%s", part);
            (void)rmdir(part);
            return DX_OK;
        }
        if (!S_ISDIR(st.st_mode))
            return dx_fail_errno(err, ENOTDIR, "%s", part);
    } while (path[size + strspn(path + size, "/")] != '\0');
    return access(path, W_OK | X_OK) == 0 ? DX_OK : dx_fail_errno(err, errno, "%s", path);
}

static int check_cache(const struct dx_settings *s, struct dx_error *err)
{
    char place[DX_MIRROR_PATH];
    int rc = dx_mirror_place(s->cache_dir, place, err);

    return rc == DX_OK ? try_folder(place, err) : rc;
}

int dx_settings_check(const struct dx_settings *s, struct dx_error *err)
{
    const struct {
        const char *option; /* NULL: the check names it */
        bool holds;
        int (*check)(const struct dx_settings *s, struct dx_error *err);
    } checks[] = {
        { "listen", true, check_listen },
        { "admin", s->server.admin != NULL, check_admin },
        { "cursor-key-file", s->cursor_key_file != NULL, check_cursor_key },
        { "receipt-key-file", s->receipt_key_file != NULL, check_receipt_key },
        { "access-file", s->access_file != NULL, check_access },
        { "root", s->access_file == NULL && !dx_source_remote(s->root), check_root_access },
        { NULL, s->tls.certificate != NULL, check_tls },
        { "ca-file", s->source.ca_file != NULL, check_ca_file },
        { "foreign", s->foreign != NULL, check_foreign },
        { "log-requests", s->server.log_requests != NULL, check_log },
        { "cache-dir", dx_source_remote(s->root), check_cache },
    };

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (checks[i].holds && checks[i].check(s, err) < 0)
            return checks[i].option == NULL ? err->code : dx_fail_in(err, "--%s", checks[i].option);
    return DX_OK;
}
