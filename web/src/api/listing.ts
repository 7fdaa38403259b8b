// SPDX-License-Identifier: Apache-2.0
// listing.ts - long work in the background of a view: pages of a listing one after the other, and files for the user.
import { getPatiently, type Answer } from "./client";

// Pages until `next` gives no further path. Stops with an answer that is not 200, and returns it; null: all pages came.
export async function eachPage<T>(first: string, signal: AbortSignal, next: (body: T) => string | null, take: (body: T) => void): Promise<Answer<T> | null> {
  for (let target: string | null = first; target !== null; ) {
    const answer: Answer<T> = await getPatiently<T>(target, signal);
    if (answer.body === null) return answer;
    take(answer.body);
    target = next(answer.body);
  }
  return null;
}

export function save(name: string, parts: BlobPart[], type: string): void {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name.replace(/[^\w.-]+/g, "_");
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// RFC 4180.
export const csvLine = (cells: (string | number | null | undefined)[]): string =>
  cells.map((cell) => { const text = String(cell ?? ""); return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text; }).join(",") + "\r\n";
