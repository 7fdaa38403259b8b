/* SPDX-License-Identifier: Apache-2.0
 * backup.h - a sound copy of a root, in another directory or store.
 *
 *   struct dx_backup_options o = DX_BACKUP_OPTIONS_INIT;
 *   o.root = "/srv/domaindex";  o.to = "s3://bucket/backup";
 *   rc = dx_backup(&o, &result, &err);
 *
 * The copy is a root: it is read, verified, published to and backed up like any other; what fetches
 * a backup back is a backup of the backup. It has the current version, one that is named, or all
 * that can be read, beside those that it had before; and with each version the older ones whose files are
 * parts of it, which are versions of the copy too.
 *
 * Versions are held by a lease of our own while they are copied, so that no collector takes them
 * away; where none can be written (http://, a directory that is only read) a version may go under
 * our hands, which is an error and nothing worse. Each object is held against the size and hash
 * that its version says before it is written. An object that the destination's own manifest names
 * with the same hash, and that is there in this size, is not copied again; one that it does not
 * name, left by a backup that was killed, is read and kept if it is right.
 *
 * Order, and what a reader of the destination sees: index/backup_of, whose backup this is; the
 * lists index/claims/VERSION.lake, which keep a publish there from taking lake files of an
 * unfinished backup for new ones; lake and index; then the access table, the suffix list, the
 * registry, numbers of names and suppressions, each read after the source's manifest and so no
 * older than it; the manifest last, by one write. Killed anywhere, the versions of before are there
 * and sound.
 *
 * Refused (DX_E_INVALID): a destination that is another root or another root's backup, or has files and is neither,
 * unless `force`; one that has published on its own; a log of suppressions, an access table, a registry of datasets or
 * numbers of names in it that are newer than the source's or others, or that the source has lost.
 *
 * A collector of the destination may run beside a backup and between two: what it has condemned or
 * dropped stays so unless it is wanted again; a wanted version that it is removing is DX_E_BUSY. A
 * version that is not above the destination's sequence is held there by a lease while it is copied, or
 * its files would be leftovers for the collector; DX_E_BUSY if some are gone in the end all the same.
 *
 * A directory that is written is locked for as long; two backups into one store race for the
 * manifest, and one fails with DX_E_CONFLICT. Not copied: lake files that no version has, leases,
 * locks, spools, claims and what is known of the store.
 */
#ifndef DX_BUILDER_MAINTAIN_BACKUP_H
#define DX_BUILDER_MAINTAIN_BACKUP_H

#include "base/error.h"
#include "format/version/manifest.h"

#include <stdatomic.h>

struct dx_backup_progress {
    _Atomic uint64_t bytes; /* of objects that are done with */
    _Atomic uint64_t objects;
    _Atomic uint64_t bytes_total; /* 0: not known yet */
};

struct dx_backup_options {
    const char *root;
    const char *to;
    const char *version; /* NULL: the current one */
    bool all;            /* every version that can be read */
    bool recheck;        /* read what is there already, and mend it */
    bool force;          /* a destination that is not known to be a backup of root */
    bool dry_run;
    unsigned threads;
    uint32_t lease_ttl_s;
    const char *work_dir; /* NULL: TMPDIR, /tmp */
    bool (*stopped)(void);
    void (*say)(const char *line); /* may be NULL */
    struct dx_backup_progress *progress;
};

#define DX_BACKUP_OPTIONS_INIT           \
    {                                    \
        .threads = 8, .lease_ttl_s = 600 \
    }

struct dx_backup_result {
    char version[DX_VERSION_NAME]; /* that is current in the copy */
    size_t versions;               /* that were asked for, and their parts */
    size_t versions_new;           /* of them, that the copy did not have */
    uint64_t objects, bytes;       /* that they have */
    uint64_t objects_copied, bytes_copied;
    bool unchanged; /* the manifest was right already */
};

int dx_backup(const struct dx_backup_options *o, struct dx_backup_result *result,
              struct dx_error *err);

#endif
