/* SPDX-License-Identifier: Apache-2.0
 * reject.h - why a URL or a name is not taken.
 *
 * The names are stable: they stand in rejects files, in `domaindex normalize` output
 * ("!name") and in counts that ingest prints.
 */
#ifndef DX_CANON_REJECT_H
#define DX_CANON_REJECT_H

enum dx_reject {
    DX_REJECT_NONE = 0,
    DX_REJECT_EMPTY,         /* nothing but white space */
    DX_REJECT_TOO_LONG,      /* over DX_URL_MAX bytes, as given or after encoding */
    DX_REJECT_SCHEME,        /* a scheme other than http, https, ftp */
    DX_REJECT_HOST_MISSING,  /* no host */
    DX_REJECT_HOST_INVALID,  /* forbidden code point, bad IDNA, bad IP literal */
    DX_REJECT_PORT_INVALID,  /* not a number, or over 65535 */
    DX_REJECT_UTF8_INVALID,  /* host is not UTF-8 */
    DX_REJECT_PUBLIC_SUFFIX, /* the host is itself a public suffix: it has no domain */
    DX_REJECT_COUNT
};

/* "empty", "too_long", "scheme", "host_missing", "host_invalid", "port_invalid",
 * "utf8_invalid", "public_suffix" */
const char *dx_reject_name(enum dx_reject why);

#endif
