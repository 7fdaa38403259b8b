// SPDX-License-Identifier: Apache-2.0
// idn.ts - A-labels to Unicode (RFC 3492), to show beside them, never in their place: look-alikes must stay visible.

const BASE = 36, T_MIN = 1, T_MAX = 26;

function adapt(delta: number, points: number, isFirst: boolean): number {
  let d = isFirst ? Math.floor(delta / 700) : delta >> 1, k = 0;
  for (d += Math.floor(d / points); d > ((BASE - T_MIN) * T_MAX) >> 1; k += BASE) d = Math.floor(d / (BASE - T_MIN));
  return k + Math.floor(((BASE - T_MIN + 1) * d) / (d + 38));
}

const digitOf = (c: number): number => (c >= 48 && c < 58 ? c - 22 : c >= 97 && c < 123 ? c - 97 : BASE);

// null: these are no letters of a code point in this form.
function decodeLabel(text: string): string | null {
  const cut = text.lastIndexOf("-");
  const out = cut > 0 ? [...text.slice(0, cut)].map((c) => c.codePointAt(0)!) : [];
  let n = 128, i = 0, bias = 72, at = cut > 0 ? cut + 1 : 0;
  while (at < text.length) {
    const before = i;
    for (let w = 1, k = BASE; ; k += BASE) {
      const digit = at < text.length ? digitOf(text.charCodeAt(at++)) : BASE;
      if (digit >= BASE) return null;
      i += digit * w;
      const limit = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
      if (digit < limit) break;
      w *= BASE - limit;
      if (i > 2 ** 31 || w > 2 ** 31) return null;
    }
    bias = adapt(i - before, out.length + 1, before === 0);
    n += Math.floor(i / (out.length + 1));
    i %= out.length + 1;
    if (n > 0x10ffff || (n >= 0xd800 && n < 0xe000)) return null;
    out.splice(i++, 0, n);
  }
  return String.fromCodePoint(...out);
}

// Letters, marks, digits and symbols such as emoji; controls and formats (of direction, of nothing) leave the A-label as it is.
const SHOWN = /^[\p{L}\p{M}\p{N}\p{S}\-.·・]+$/u;

// The Unicode form of a host, or null where it has none of its own.
export function unicode(host: string): string | null {
  if (!/(^|\.)xn--/.test(host)) return null;
  const labels = host.split(".").map((label) => (label.startsWith("xn--") ? (decodeLabel(label.slice(4)) ?? label) : label));
  const text = labels.map((label, i) => (SHOWN.test(label) ? label : host.split(".")[i])).join(".");
  return text === host ? null : text;
}
