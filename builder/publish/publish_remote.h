/* SPDX-License-Identifier: Apache-2.0
 * publish_remote.h - publish.h for a root on object storage.
 *
 *   rc = dx_publish_remote(&job, &err);      by dx_publish only, which ends the job (publish_job.h)
 *
 * There is no lock; what is right comes from conditions:
 *
 *   index/store.json       the store was found to keep conditions     root_probe.h
 *   index/claims/VERSION   put if absent: whose the name is; stays    publish_upload.h
 *   index/VERSION/...      each put if absent; read back              publish_check.h
 *   index/manifest.json    put if absent, or if it is still the one   the flip
 *                          that was read at the beginning; if only a collector has changed it
 *                          since (its sequence is the same), again with what that one left
 *
 * What a reader sees: up to the last put the old manifest with its files, none of which is
 * touched; after it the new one, all of whose files are there. A publisher that is killed leaves
 * objects that no manifest names: the next one takes another number, and reports those that are
 * over a day old (result->leftovers). They are not removed here: a remover must first have
 * put another manifest, or a publisher that has slept all the time could still name them.
 *
 * If the outcome of the last put is unknown, the manifest is read back and says it. If that
 * fails too, the error is DX_E_UNKNOWN and all objects stay, because the manifest may name them.
 */
#ifndef DX_BUILDER_PUBLISH_PUBLISH_REMOTE_H
#define DX_BUILDER_PUBLISH_PUBLISH_REMOTE_H

#include "base/error.h"

struct dx_publish_job;

int dx_publish_remote(struct dx_publish_job *job, struct dx_error *err);

#endif
