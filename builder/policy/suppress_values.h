/* SPDX-License-Identifier: Apache-2.0
 * suppress_values.h - what people give to `domaindex suppress add`, in canonical form.
 *
 *   struct dx_suppress_values v;
 *   rc = dx_suppress_values_open(&v, root, &err);               by the suffix list of the lake
 *   rc = dx_suppress_values_add(&v, DX_SUPPRESS_HOST, text, &err);
 *   rc = dx_suppress_values_read(&v, "-", &err);                lines "host www.example.com"
 *   ... v.value[i].kind, .text ...
 *   dx_suppress_values_release(&v);
 *
 * A value that has no canonical form, or is of another kind than was said (a host for a domain), is
 * DX_E_INVALID, and the message says what to write instead. So is, for _add and _read, one whose
 * canonical form would hide other URLs than its text says: a dot segment, a fragment, a user name,
 * a path behind a domain, a port that is dropped, a URL without a scheme, blanks.
 * One thread at a time.
 */
#ifndef DX_BUILDER_POLICY_SUPPRESS_VALUES_H
#define DX_BUILDER_POLICY_SUPPRESS_VALUES_H

#include "format/root/suppressions.h"

struct dx_canon;
struct dx_psl;

struct dx_suppress_value {
    enum dx_suppress_kind kind;
    char *text;
};

struct dx_suppress_values {
    struct dx_suppress_value *value;
    size_t count;
    size_t capacity;

    /* private */
    struct dx_psl *psl;
    struct dx_canon *canon;
};

int dx_suppress_values_open(struct dx_suppress_values *v, const char *root, struct dx_error *err);
int dx_suppress_values_add(struct dx_suppress_values *v, enum dx_suppress_kind kind,
                           struct dx_span text, struct dx_error *err);
/* The canonical form alone, valid until the next call of any kind; DX_E_INVALID as above. */
int dx_suppress_values_canonical(struct dx_suppress_values *v, enum dx_suppress_kind kind,
                                 struct dx_span text, struct dx_span *out, struct dx_error *err);
int dx_suppress_values_read(struct dx_suppress_values *v, const char *path, struct dx_error *err);
void dx_suppress_values_release(struct dx_suppress_values *v);

#endif
