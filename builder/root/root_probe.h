/* SPDX-License-Identifier: Apache-2.0
 * root_probe.h - whether a store keeps the conditions that publish and ingest rely on.
 *
 *   rc = dx_root_probe(source, store, url, now_us, &err);     DX_E_UNSUPPORTED: it does not
 *
 * Commands call dx_root_enter (root.h). url: dx_root.url. The store is tried once
 * (dx_store_probe), then index/store.json says so, with the URL it was tried under: a root that was
 * copied to another store is tried again there.
 *
 *   {"format": "domaindex-store", "version": 1, "url": "https://...", "probed": "2026-11-21T..."}
 *
 * One thread at a time.
 */
#ifndef DX_BUILDER_ROOT_ROOT_PROBE_H
#define DX_BUILDER_ROOT_ROOT_PROBE_H

#include "fetch/source.h"
#include "format/version/names.h"

struct dx_store;

int dx_root_probe(struct dx_source *source, struct dx_store *store, const char *url, int64_t now_us,
                  struct dx_error *err);

/* Whether text says that the store at url was tried. What makes no sense says it of none. */
bool dx_root_probed(struct dx_span text, const char *url);

#endif
