/* SPDX-License-Identifier: Apache-2.0 */
#include "canon/idna.h"

#include "base/utf8.h"
#include "canon/idna_table.h"

#include <limits.h>

/* Why not libidn2: of web-platform-tests' 87 rows of toascii.json its best flags answer 49.
 * With UTS #46 it still refuses "--" in places 3 and 4, hyphens around and labels over 63
 * bytes, and it takes spaces. It and ICU also carry the Unicode version of the system, so one
 * name would have two canonical forms on two machines. */

enum { STATUS_VALID, STATUS_IGNORED, STATUS_MAPPED, STATUS_DISALLOWED };
enum {
    BIDI_OTHER,
    BIDI_L,
    BIDI_R,
    BIDI_AL,
    BIDI_AN,
    BIDI_EN,
    BIDI_ES,
    BIDI_CS,
    BIDI_ET,
    BIDI_ON,
    BIDI_BN,
    BIDI_NSM
};
enum { JOINING_U, JOINING_L, JOINING_R, JOINING_D, JOINING_T };
enum { SPLIT_MAX = 4 }; /* code points of the longest canonical decomposition */
enum { VIRAMA = 9 };    /* canonical combining class */
enum { ZWNJ = 0x200c, ZWJ = 0x200d };
enum {
    HANGUL = 0xac00,
    HANGUL_COUNT = 11172,
    JAMO_L = 0x1100,
    JAMO_V = 0x1161,
    JAMO_T = 0x11a7,
    JAMO_LS = 19,
    JAMO_VS = 21,
    JAMO_TS = 28
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct text {
    uint32_t *cp;
    size_t size;
    size_t room;
};

/* Index of the last entry <= key among `count` rows of `width` numbers sorted by their first;
 * table[0] <= key. */
static size_t last_not_after(const uint32_t *table, size_t count, size_t width, uint32_t key)
{
    size_t low = 0;
    size_t high = count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (table[middle * width] <= key)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t kind_of(uint32_t cp)
{
    size_t at = last_not_after(idna_ranges, COUNT(idna_ranges), 1, cp << 8 | 0xff);

    return idna_ranges[at] & 0xff;
}

static bool push(struct text *t, uint32_t cp)
{
    if (t->size == t->room)
        return false;
    t->cp[t->size++] = cp;
    return true;
}

/* One code point of well-formed UTF-8 (no surrogates, shortest form), or -1. */
static int32_t decode_utf8(struct dx_bytes *r)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    uint8_t first = dx_bytes_u8(r);
    size_t size = first < 0x80   ? 1
                  : first < 0xc2 ? 0
                  : first < 0xe0 ? 2
                  : first < 0xf0 ? 3
                  : first < 0xf5 ? 4
                                 : 0;
    uint32_t cp;

    if (size < 2)
        return size == 1 ? first : -1;
    cp = first & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        uint8_t next = dx_bytes_u8(r);

        if (r->failed || (next & 0xc0) != 0x80)
            return -1;
        cp = cp << 6 | (next & 0x3fu);
    }
    if (cp < least[size] || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return -1;
    return (int32_t)cp;
}

/* Step 1 of UTS #46 section 4. Disallowed code points stay: the label check finds them. */
static bool map_one(struct text *to, uint32_t cp)
{
    uint8_t status = idna_kinds[kind_of(cp)].status;
    uint32_t target;

    if (status == STATUS_IGNORED)
        return true;
    if (status != STATUS_MAPPED)
        return push(to, cp);
    target = idna_targets[last_not_after(idna_mapped, COUNT(idna_mapped), 1, cp)];
    for (size_t i = 0; i < (target & 31); i++)
        if (!push(to, idna_pool[(target >> 5) + i]))
            return false;
    return true;
}

static bool split_one(struct text *to, uint32_t cp)
{
    const uint32_t *row;

    if (cp - HANGUL < HANGUL_COUNT) {
        uint32_t s = cp - HANGUL;
        uint32_t t = s % JAMO_TS;

        return push(to, JAMO_L + s / (JAMO_VS * JAMO_TS)) &&
               push(to, JAMO_V + s % (JAMO_VS * JAMO_TS) / JAMO_TS) &&
               (t == 0 || push(to, JAMO_T + t));
    }
    row = idna_splits + 3 * last_not_after(idna_splits, COUNT(idna_splits) / 3, 3, cp);
    if (row[0] != cp)
        return push(to, cp);
    return split_one(to, row[1]) && (row[2] == 0 || push(to, row[2]));
}

static uint8_t ccc_of(uint32_t cp)
{
    return idna_kinds[kind_of(cp)].ccc;
}

/* Canonical ordering: a stable insertion sort of each run of non-starters. Leaves the
 * combining class in the top byte of each code point, for join_all. */
static void order_marks(struct text *t)
{
    for (size_t i = 0; i < t->size; i++) {
        uint32_t ccc = ccc_of(t->cp[i]);
        uint32_t packed = ccc << 24 | t->cp[i];
        size_t at = i;

        for (; ccc != 0 && at > 0 && t->cp[at - 1] >> 24 > ccc; at--)
            t->cp[at] = t->cp[at - 1];
        t->cp[at] = packed;
    }
}

/* The composition of a and b, or 0. */
static uint32_t join_two(uint32_t a, uint32_t b)
{
    size_t low = 0;
    size_t high = COUNT(idna_joins) / 3;

    if (a - JAMO_L < JAMO_LS && b - JAMO_V < JAMO_VS)
        return HANGUL + ((a - JAMO_L) * JAMO_VS + (b - JAMO_V)) * JAMO_TS;
    if (a - HANGUL < HANGUL_COUNT && (a - HANGUL) % JAMO_TS == 0 && b > JAMO_T &&
        b < JAMO_T + JAMO_TS)
        return a + (b - JAMO_T);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const uint32_t *row = idna_joins + 3 * middle;

        if (row[0] == a && row[1] == b)
            return row[2];
        if (row[0] < a || (row[0] == a && row[1] < b))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static void join_all(struct text *t)
{
    size_t starter = SIZE_MAX;
    size_t out = 0;
    uint32_t last = 0; /* class of what stands before, when something does since the starter */

    for (size_t i = 0; i < t->size; i++) {
        uint32_t cp = t->cp[i] & 0xffffff;
        uint32_t ccc = t->cp[i] >> 24;
        bool blocked = starter == SIZE_MAX || (out > starter + 1 && last >= ccc);
        uint32_t joined = blocked ? 0 : join_two(t->cp[starter], cp);

        if (joined != 0) {
            t->cp[starter] = joined;
            continue;
        }
        if (ccc == 0)
            starter = out;
        last = ccc;
        t->cp[out++] = cp;
    }
    t->size = out;
}

/* to = NFC(from); false when it does not fit. */
static bool to_nfc(struct text *to, const uint32_t *from, size_t size)
{
    to->size = 0;
    for (size_t i = 0; i < size; i++)
        if (!split_one(to, from[i]))
            return false;
    order_marks(to);
    join_all(to);
    return true;
}

static uint32_t adapt_bias(uint32_t delta, uint32_t count, bool first)
{
    uint32_t k = 0;

    delta = first ? delta / 700 : delta / 2;
    delta += delta / count;
    for (; delta > 455; k += 36)
        delta /= 35;
    return k + 36 * delta / (delta + 38);
}

static uint32_t threshold(uint32_t k, uint32_t bias)
{
    return k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
}

/* RFC 3492; false on bytes that are not the Punycode of code points, or on too many of them. */
static bool punycode_decode(const uint32_t *from, size_t size, struct text *to)
{
    uint32_t n = 128;
    uint32_t bias = 72;
    uint32_t i = 0;
    size_t at = 0;

    to->size = 0;
    for (size_t b = size; b > 1; b--) /* a delimiter in front of all delimits nothing */
        if (from[b - 1] == '-') {
            for (size_t j = 0; j + 1 < b; j++)
                if (!push(to, from[j]))
                    return false;
            at = b;
            break;
        }
    while (at < size) {
        uint32_t before = i;
        uint32_t weight = 1;

        for (uint32_t k = 36;; k += 36) {
            uint32_t c = at < size ? from[at++] : 0;
            uint32_t digit = c - 'a' < 26   ? c - 'a'
                             : c - 'A' < 26 ? c - 'A'
                             : c - '0' < 10 ? c - '0' + 26
                                            : UINT32_MAX;
            uint32_t t = threshold(k, bias);

            if (digit == UINT32_MAX || digit > (INT32_MAX - i) / weight)
                return false;
            i += digit * weight;
            if (digit < t)
                break;
            if (weight > INT32_MAX / (36 - t))
                return false;
            weight *= 36 - t;
        }
        bias = adapt_bias(i - before, (uint32_t)to->size + 1, before == 0);
        n += i / ((uint32_t)to->size + 1);
        i %= (uint32_t)to->size + 1;
        if (n > 0x10ffff || !push(to, 0))
            return false;
        memmove(to->cp + i + 1, to->cp + i, (to->size - 1 - i) * sizeof *to->cp);
        to->cp[i++] = n;
    }
    return true;
}

struct sink {
    uint8_t *bytes;
    size_t size;
    size_t room;
};

static bool put(struct sink *s, uint32_t ascii)
{
    if (s->size == s->room)
        return false;
    s->bytes[s->size++] = (uint8_t)ascii;
    return true;
}

static bool put_delta(struct sink *out, uint32_t delta, uint32_t bias)
{
    for (uint32_t k = 36;; k += 36) {
        uint32_t t = threshold(k, bias);
        uint32_t digit = delta < t ? delta : t + (delta - t) % (36 - t);

        if (!put(out, digit < 26 ? 'a' + digit : '0' + (digit - 26)))
            return false;
        if (delta < t)
            return true;
        delta = (delta - t) / (36 - t);
    }
}

/* With at most DX_IDNA_MAX code points no delta leaves 32 bits: 0x110000 * 513 < 2^32. */
static bool punycode_encode(const uint32_t *label, size_t size, struct sink *out)
{
    uint32_t n = 128;
    uint32_t delta = 0;
    uint32_t bias = 72;
    uint32_t done = 0;
    uint32_t basic;

    for (size_t i = 0; i < size; i++)
        if (label[i] < 128) {
            if (!put(out, label[i]))
                return false;
            done++;
        }
    basic = done;
    if (basic > 0 && !put(out, '-'))
        return false;
    while (done < size) {
        uint32_t next = UINT32_MAX;

        for (size_t i = 0; i < size; i++)
            if (label[i] >= n && label[i] < next)
                next = label[i];
        delta += (next - n) * (done + 1);
        n = next;
        for (size_t i = 0; i < size; i++) {
            if (label[i] < n)
                delta++;
            if (label[i] != n)
                continue;
            if (!put_delta(out, delta, bias))
                return false;
            bias = adapt_bias(delta, done + 1, done == basic);
            delta = 0;
            done++;
        }
        delta++;
        n++;
    }
    return true;
}

/* RFC 5892 A.1: between joining letters ZWNJ breaks a ligature; elsewhere it is invisible. */
static bool zwnj_between_letters(const uint32_t *label, size_t size, size_t at)
{
    size_t left = at;
    size_t right = at + 1;
    uint8_t type = JOINING_U;

    while (left > 0 && (type = idna_kinds[kind_of(label[left - 1])].joining) == JOINING_T)
        left--;
    if (left == 0 || (type != JOINING_L && type != JOINING_D))
        return false;
    while (right < size && (type = idna_kinds[kind_of(label[right])].joining) == JOINING_T)
        right++;
    return right < size && (type == JOINING_R || type == JOINING_D);
}

static bool joiner_allowed(const uint32_t *label, size_t size, size_t at)
{
    if (at > 0 && ccc_of(label[at - 1]) == VIRAMA)
        return true;
    return label[at] == ZWNJ && zwnj_between_letters(label, size, at);
}

static bool has_ace_prefix(const uint32_t *label, size_t size)
{
    return size >= 4 && label[0] == 'x' && label[1] == 'n' && label[2] == '-' && label[3] == '-';
}

/* Validity of a label, UTS #46 section 4.1, without the Bidi rule. */
static bool label_valid(const uint32_t *label, size_t size)
{
    if (size > 0 && idna_kinds[kind_of(label[0])].mark)
        return false;
    if (has_ace_prefix(label, size)) /* once decoded, it must not look encoded again */
        return false;
    for (size_t i = 0; i < size; i++) {
        if (idna_kinds[kind_of(label[i])].status != STATUS_VALID || label[i] == '.')
            return false;
        if ((label[i] == ZWNJ || label[i] == ZWJ) && !joiner_allowed(label, size, i))
            return false;
    }
    return true;
}

#define BIT(class) (1u << (class))

/* RFC 5893 section 2. */
static bool label_bidi(const uint32_t *label, size_t size)
{
    const unsigned neutral = BIT(BIDI_ES) | BIT(BIDI_CS) | BIT(BIDI_ET) | BIT(BIDI_ON) |
                             BIT(BIDI_BN) | BIT(BIDI_NSM) | BIT(BIDI_EN);
    unsigned seen = 0;
    unsigned first;
    unsigned last = 0;
    bool rtl;

    if (size == 0)
        return true;
    first = BIT(idna_kinds[kind_of(label[0])].bidi);
    rtl = (first & (BIT(BIDI_R) | BIT(BIDI_AL))) != 0;
    if (!rtl && first != BIT(BIDI_L))
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned class = BIT(idna_kinds[kind_of(label[i])].bidi);

        seen |= class;
        if (class != BIT(BIDI_NSM))
            last = class;
    }
    if (!rtl)
        return (seen & ~(neutral | BIT(BIDI_L))) == 0 && (last & (BIT(BIDI_L) | BIT(BIDI_EN))) != 0;
    return (seen & ~(neutral | BIT(BIDI_R) | BIT(BIDI_AL) | BIT(BIDI_AN))) == 0 &&
           (last & (BIT(BIDI_R) | BIT(BIDI_AL) | BIT(BIDI_EN) | BIT(BIDI_AN))) != 0 &&
           (seen & (BIT(BIDI_EN) | BIT(BIDI_AN))) != (BIT(BIDI_EN) | BIT(BIDI_AN));
}

static bool is_ascii(const uint32_t *label, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (label[i] >= 128)
            return false;
    return true;
}

/* What an xn-- label stands for: it must be Punycode, not of ASCII alone, and in NFC. */
static bool decode_label(const uint32_t *label, size_t size, struct text *to)
{
    DX_UNINITIALIZED uint32_t storage[SPLIT_MAX * DX_IDNA_MAX];
    struct text again = { storage, 0, COUNT(storage) };

    return is_ascii(label, size) && punycode_decode(label + 4, size - 4, to) &&
           !is_ascii(to->cp, to->size) && to_nfc(&again, to->cp, to->size) &&
           again.size == to->size && memcmp(again.cp, to->cp, to->size * sizeof *to->cp) == 0;
}

/* Appends one label. *rtl_seen: it holds R, AL or AN, so the name is a Bidi domain name;
 * *bidi_ok: it keeps the Bidi rule, which matters only if some label sets the former. */
static bool put_label(const uint32_t *label, size_t size, struct sink *out, bool *rtl_seen,
                      bool *bidi_ok)
{
    DX_UNINITIALIZED uint32_t storage[DX_IDNA_MAX];
    struct text decoded = { storage, 0, COUNT(storage) };
    const uint32_t *shown = label;
    size_t shown_size = size;
    bool ascii = is_ascii(label, size);

    if (has_ace_prefix(label, size)) {
        if (!decode_label(label, size, &decoded))
            return false;
        shown = decoded.cp;
        shown_size = decoded.size;
    }
    if (!label_valid(shown, shown_size))
        return false;
    for (size_t i = 0; i < shown_size; i++) {
        unsigned class = BIT(idna_kinds[kind_of(shown[i])].bidi);

        *rtl_seen |= (class & (BIT(BIDI_R) | BIT(BIDI_AL) | BIT(BIDI_AN))) != 0;
    }
    *bidi_ok &= label_bidi(shown, shown_size);
    if (!ascii)
        return put(out, 'x') && put(out, 'n') && put(out, '-') && put(out, '-') &&
               punycode_encode(label, size, out);
    for (size_t i = 0; i < size; i++)
        if (!put(out, label[i]))
            return false;
    return true;
}

int dx_idna_to_ascii(struct dx_span utf8, uint8_t *out, size_t room, size_t *size,
                     enum dx_reject *why)
{
    DX_UNINITIALIZED uint32_t mapped_storage[DX_IDNA_MAX];
    DX_UNINITIALIZED uint32_t name_storage[SPLIT_MAX * DX_IDNA_MAX];
    struct text mapped = { mapped_storage, 0, COUNT(mapped_storage) };
    struct text name = { name_storage, 0, COUNT(name_storage) };
    struct sink sink = { out, 0, room };
    struct dx_bytes in = dx_bytes_of(utf8);
    bool rtl_seen = false;
    bool bidi_ok = true;
    size_t begin = 0;

    while (dx_bytes_left(&in) > 0) {
        int32_t cp = decode_utf8(&in);

        *why = cp < 0 ? DX_REJECT_UTF8_INVALID : DX_REJECT_TOO_LONG;
        if (cp < 0 || !map_one(&mapped, (uint32_t)cp))
            return 0;
    }
    *why = DX_REJECT_HOST_INVALID;
    if (!to_nfc(&name, mapped.cp, mapped.size) || name.size > DX_IDNA_MAX)
        return 0;
    for (size_t i = 0; i <= name.size; i++) {
        if (i < name.size && name.cp[i] != '.')
            continue;
        if (!put_label(name.cp + begin, i - begin, &sink, &rtl_seen, &bidi_ok) ||
            (i < name.size && !put(&sink, '.')))
            return 0;
        begin = i + 1;
    }
    if (rtl_seen && !bidi_ok)
        return 0;
    *size = sink.size;
    *why = DX_REJECT_NONE;
    return 1;
}

static bool put_utf8(struct sink *s, uint32_t cp)
{
    uint8_t bytes[DX_UTF8_MAX];
    size_t n = dx_utf8_write(bytes, cp);

    for (size_t i = 0; i < n; i++)
        if (!put(s, bytes[i]))
            return false;
    return true;
}

/* An A-label as what it stands for, another label as it is. */
static bool show_label(struct dx_span label, struct sink *out)
{
    DX_UNINITIALIZED uint32_t text[DX_IDNA_MAX];
    DX_UNINITIALIZED uint32_t storage[DX_IDNA_MAX];
    struct text decoded = { storage, 0, COUNT(storage) };

    if (label.size > DX_IDNA_MAX)
        return false;
    for (size_t i = 0; i < label.size; i++)
        text[i] = label.data[i];
    if (!has_ace_prefix(text, label.size))
        decoded = (struct text){ text, label.size, label.size };
    else if (!decode_label(text, label.size, &decoded))
        return false;
    for (size_t i = 0; i < decoded.size; i++)
        if (!put_utf8(out, decoded.cp[i]))
            return false;
    return true;
}

static bool has_a_label(struct dx_span name)
{
    if (name.size == 0 || memchr(name.data, '-', name.size) == NULL)
        return false; /* as of most names, at a fifteenth of the price */
    for (size_t i = 0; i + 4 <= name.size; i++)
        if ((i == 0 || name.data[i - 1] == '.') && memcmp(name.data + i, "xn--", 4) == 0)
            return true;
    return false;
}

int dx_idna_to_unicode(struct dx_span name, uint8_t *out, size_t room, size_t *size)
{
    DX_UNINITIALIZED uint8_t again[DX_IDNA_MAX];
    struct sink sink = { out, 0, room };
    enum dx_reject why;
    size_t again_size;
    size_t begin = 0;

    if (!has_a_label(name))
        return 0;
    for (size_t i = 0; i <= name.size; i++) {
        if (i < name.size && name.data[i] != '.')
            continue;
        if (!show_label(dx_span_of(name.data + begin, i - begin), &sink) ||
            (i < name.size && !put(&sink, '.')))
            return 0;
        begin = i + 1;
    }
    *size = sink.size;
    return dx_idna_to_ascii(dx_span_of(out, sink.size), again, sizeof again, &again_size, &why) !=
               0 &&
           dx_span_equal(dx_span_of(again, again_size), name);
}
