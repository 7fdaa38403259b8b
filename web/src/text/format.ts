// SPDX-License-Identifier: Apache-2.0
// format.ts - numbers, shares, dates and versions as the reader writes them.
import { language, t } from "./language";

const numbers = new Intl.NumberFormat(language);
const shares = new Intl.NumberFormat(language, { style: "percent", maximumSignificantDigits: 3 });
const short = new Intl.NumberFormat(language, { notation: "compact", maximumSignificantDigits: 3 });
const moments = new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });
const days = new Intl.DateTimeFormat(language, { dateStyle: "long", timeZone: "UTC" });

export const number = (value: number | null): string => (value === null ? "–" : numbers.format(value));
// URLs of an item, or the pages of a dataset of counts.
export const size = (r: { url_count: number | null; page_count?: number }): number => r.url_count ?? r.page_count ?? 0;
export const sizeText = (r: { url_count: number | null; page_count?: number }): string => (r.url_count === null && r.page_count !== undefined ? t.pageCount(number(r.page_count)) : number(r.url_count));
export const share = (value: number): string => shares.format(value);
export const compact = (value: number): string => short.format(value);
export const day = (ts: string | null | undefined): string => (ts ? ts.slice(0, 10) : "–");
export const moment = (ts: string): string => `${moments.format(new Date(ts))} UTC`;
export const today = (): string => days.format(new Date());
export const span = (first: string | null, last: string | null): string => (first && last ? (day(first) === day(last) ? day(first) : `${day(first)} – ${day(last)}`) : t.undated);

// 000002-20261125T174913Z: number 2, published then.
export function published(version: string): string {
  const [, y, mo, d, h, mi] = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)\d\dZ$/.exec(version) ?? [];
  const ts = `${y}-${mo}-${d}T${h}:${mi}:00Z`;
  return y && !Number.isNaN(Date.parse(ts)) ? moment(ts) : version; // an address says what it likes: 25 hours, too
}
