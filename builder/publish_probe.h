/* SPDX-License-Identifier: Apache-2.0
 * publish_probe.h - whether a store keeps the conditions that publish and ingest rely on.
 *
 *   rc = dx_publish_probe(&remote, url, now_us, &err);     DX_E_UNSUPPORTED, with words: it does not
 *
 * url: dx_remote_root_url. The store is tried once (dx_store_probe), then index/store.json says so,
 * with the URL it was tried under: a root that was copied to another store is tried again there.
 *
 *   {"format": "domaindex-store", "version": 1, "url": "https://...", "probed": "2026-11-21T..."}
 */
#ifndef DX_BUILDER_PUBLISH_PROBE_H
#define DX_BUILDER_PUBLISH_PROBE_H

#include "builder/remote_root.h"

#define DX_PUBLISH_PROBE_FILE "index/store.json"

int dx_publish_probe(const struct dx_remote_root *remote, const char *url, int64_t now_us,
                     struct dx_error *err);

/* Whether text says that the store at url was tried. What makes no sense says it of none. */
bool dx_publish_probed(struct dx_span text, const char *url);

#endif
