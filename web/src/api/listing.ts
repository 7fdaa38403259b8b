// SPDX-License-Identifier: Apache-2.0
// listing.ts - files for the user.
export function save(name: string, parts: BlobPart[], type = ""): void {
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
