/* SPDX-License-Identifier: Apache-2.0
 * file.h - whole files: read with a cap, written so that a crash leaves old or new.
 *
 *   rc = dx_file_read(path, cap, &buf, &err);            small files only
 *   fd = dx_file_open(AT_FDCWD, path, 0, &st, &err);     a regular file; never waits
 *   rc = dx_file_replace(path, bytes, &err);             tmp + fsync + rename + fsync dir; with the rights of the file before
 *
 *   struct dx_file_out out;                              large files, in pieces
 *   rc = dx_file_out_open(&out, tmp_path, &err);
 *   rc = dx_file_out_write(&out, bytes, &err);           buffered; counts and hashes
 *   rc = dx_file_out_close(&out, DX_SYNC_NOW, &err);     flush + fsync; out.size, out.hash valid
 *   dx_file_out_abort(&out);                             safe on a closed or half-made one
 *
 * Who makes a new name durable also calls dx_dir_sync on its directory.
 *
 * Many files: an fsync each waits for the journal each time. DX_SYNC_LATER closes without;
 * before any of the files gets its final name
 *   struct dx_sync_all all = DX_SYNC_ALL_INIT;
 *   rc = dx_sync_all_open(&all, dir, &err);              before the first file is written
 *   rc = dx_sync_all_flush(&all, &err);                  the file system's bytes and names
 *   rc = dx_file_sync(path, &err);                       each file: quick by then
 *   dx_sync_all_close(&all);
 * Both, because each can miss an error alone: a flush reports write errors since Linux 5.8 only and
 * not through overlayfs; an fsync on a file opened again not if the kernel has forgotten the file
 * meanwhile. One thread at a time for one dx_file_out.
 */
#ifndef DX_BASE_FILE_H
#define DX_BASE_FILE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

#include <sys/stat.h>
#include <sys/types.h>

/* Opens for reading, and never waits: a FIFO in the place of a file is an error that says so. The
 * descriptor, or <0; *st, which may be NULL, is of what was opened. flags: O_NOFOLLOW, or 0. */
int dx_file_open(int directory, const char *path, int flags, struct stat *st, struct dx_error *err);

/* The same for an input that may also be a pipe or a device. A FIFO gets DX_FILE_WRITER_MS to be
 * opened by a writer. */
#define DX_FILE_WRITER_MS 10000
int dx_file_open_input(const char *path, struct stat *st, struct dx_error *err);

int dx_file_read(const char *path, size_t cap, struct dx_buf *out, struct dx_error *err);
/* Of an open file or folder: 1 path is its name, 0 that of another one or of none. */
int dx_file_is_at(int fd, const char *path, struct dx_error *err);
/* This user may not have it: mode as for access(). */
bool dx_file_is_closed(const char *path, int mode);
int dx_file_size(const char *path, uint64_t *size, struct dx_error *err);
int dx_file_replace(const char *path, struct dx_span bytes, struct dx_error *err);

/* Gives what will replace path the owner, group and mode of what is there, whatever the umask is: the same users may read it as before.
 * A group that cannot be given gets what other users have. */
int dx_file_keep_rights(int fd, const char *path, struct dx_error *err);

int dx_dir_make(const char *path, struct dx_error *err); /* with parents; existing is fine */
/* is_new: it was not there, so nothing is in it. */
int dx_dir_make_or_find(const char *path, bool *is_new, struct dx_error *err);
int dx_dir_make_private(const char *path,
                        struct dx_error *err); /* those that are made: for the owner alone */
int dx_dir_sync(const char *path, struct dx_error *err);
int dx_dir_remove(const char *path, struct dx_error *err); /* with all below; absent is fine */

/* pread until size bytes are there; a short file is DX_E_TRUNCATED naming path and offset. */
int dx_file_pread(int fd, const char *path, uint64_t offset, size_t size, uint8_t *to,
                  struct dx_error *err);
int dx_file_write(int fd, const char *path, struct dx_span bytes, struct dx_error *err);

int dx_file_sync(const char *path, struct dx_error *err);

enum dx_sync { DX_SYNC_NOW, DX_SYNC_LATER };

struct dx_sync_all {
    int fd; /* from before the writes: it reports errors that come after it was opened */
    char *dir;
};

#define DX_SYNC_ALL_INIT \
    {                    \
        -1, NULL         \
    }

int dx_sync_all_open(struct dx_sync_all *all, const char *dir, struct dx_error *err);
int dx_sync_all_flush(struct dx_sync_all *all, struct dx_error *err);
void dx_sync_all_close(struct dx_sync_all *all);

struct dx_file_out {
    int fd;
    char *path;
    uint8_t *pending;
    size_t pending_size;
    size_t pending_cap;
    uint64_t size; /* bytes accepted so far */
    struct dx_hash_state *hashing;
    struct dx_hash128 hash; /* of all bytes, valid after close */
};

int dx_file_out_open(struct dx_file_out *out, const char *path, struct dx_error *err); /* O_EXCL */
/* Before the first write, for a file that will be mapped: it is written by 2 MiB, which file systems with large folios (XFS; ext4
 * since Linux 6.16) keep in the page cache as one page: base/map.h. 2 MiB of memory at most. */
int dx_file_out_mapped(struct dx_file_out *out, struct dx_error *err);
int dx_file_out_write(struct dx_file_out *out, struct dx_span bytes, struct dx_error *err);
int dx_file_out_close(struct dx_file_out *out, enum dx_sync sync, struct dx_error *err);
void dx_file_out_abort(struct dx_file_out *out); /* also unlinks what open made */

#endif
