/* SPDX-License-Identifier: Apache-2.0
 * names.h - the names of the objects of a root, and of a version in it.
 *
 *   dx_name_of_version(object, version, DX_FILE_PAGES);     "index/000007-20261121T103000Z/pages.dxp"
 *
 * Their parts are of bounded length, so these cannot be cut: a longer part is an error of the
 * caller.
 */
#ifndef DX_FORMAT_VERSION_NAMES_H
#define DX_FORMAT_VERSION_NAMES_H

#include <stdint.h>

/* Of a root. What they hold is said where they are read and written. */
#define DX_INDEX_DIR "index"
#define DX_LAKE_DIR "urls"
#define DX_LEASE_DIR "leases"
#define DX_LEASE_FOLDER DX_LEASE_DIR "/"
#define DX_LAKE_PSL "psl.dat"
#define DX_DATASET_REGISTRY_FILE "registry.json"
#define DX_MANIFEST_FILE_BASE "manifest.json"
#define DX_MANIFEST_FILE DX_INDEX_DIR "/" DX_MANIFEST_FILE_BASE
#define DX_ACCESS_FILE DX_INDEX_DIR "/access.json"
#define DX_SUPPRESSIONS_FILE DX_INDEX_DIR "/suppressions.log"
#define DX_SUPPRESSIONS_FLOOR DX_INDEX_DIR "/suppressions.floor"
#define DX_NUMBER_FOLDER DX_INDEX_DIR "/domain64/"
#define DX_DOMAIN64_MANIFEST_FILE DX_NUMBER_FOLDER "registry.tsv"
#define DX_LAKE_CLAIMS DX_INDEX_DIR "/claims/"
#define DX_LAKE_CLAIM_SUFFIX ".lake"
#define DX_ROOT_PROBE_FILE DX_INDEX_DIR "/store.json"
#define DX_BACKUP_MARK_FILE DX_INDEX_DIR "/backup_of"

/* Of a version, below "index/" and its name. */
#define DX_VERSION_NAME 24 /* "000001-20261121T103000Z" and NUL */

/* Names of the files that each version has. */
#define DX_FILE_DOMAINS_TXT "domains.txt.zst" /* of older versions; nothing reads it */
#define DX_FILE_DOMAINS_MPHF "domains.mphf"
#define DX_FILE_DOMAINS_DICT "domains.dict"
#define DX_FILE_MEMBERSHIP "domain_to_datasets.roar"
#define DX_FILE_COUNTS "domain_counts.dxc"
#define DX_FILE_POSTINGS_DIR "postings.dxp"
#define DX_FILE_POSTINGS_IDX "postings.idx.zst"
#define DX_FILE_POSTINGS_DAT "postings.dat.zst"
#define DX_FILE_FILES_TSV "files.tsv.zst"
#define DX_FILE_PAGES "pages.dxp"
#define DX_FILE_DATASETS "datasets.json.zst"
#define DX_FILE_PSL "psl.dat.zst"
#define DX_FILE_DATASET_DOMAINS "dataset_domains.dxt"
#define DX_FILE_COLD "cold.dxp"
#define DX_FILE_FACTS "facts.dat.zst"
#define DX_FILE_SKETCHES "sketches.dat.zst"
#define DX_FILE_URL_IDS "url_ids.dat.zst"
/* May be missing: publish writes it for a root on a store that gives ETags. */
#define DX_FILE_ETAGS "etags.tsv.zst"
/* Of a version of which a lake file has the column `tags`. */
#define DX_FILE_TAGS "tags.dxt"
/* Of a version of several parts: domains of the older parts that its own has taken over. */
#define DX_FILE_DEAD "dead.dxb"
/* Of a version that lacks lake files which the user allowed to be missing: lines of files.tsv. The
 * version still has them, as far as collecting is concerned, and the next one takes those that are
 * back. */
#define DX_FILE_MISSING "missing.tsv.zst"
/* All of the above in one object, of a small version (docs/FORMAT.md 11.6). */
#define DX_FILE_PACK "part.pack"
#define DX_MANIFEST_FILE_NAME 40

/* "index/" version "/" name, and NUL */
#define DX_MANIFEST_FILE_PATH (sizeof DX_INDEX_DIR + DX_VERSION_NAME + DX_MANIFEST_FILE_NAME)

void dx_name_of_version(char object[DX_MANIFEST_FILE_PATH], const char *version, const char *name);

/* The registry and the suffix list of older versions, which are not compressed: dx_manifest_file
 * finds them by the names above, and the file has its own. */
#define DX_FILE_DATASETS_PLAIN "datasets.json"
#define DX_FILE_PSL_PLAIN "psl.dat"

#endif
