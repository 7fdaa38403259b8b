// SPDX-License-Identifier: Apache-2.0
// bar.tsx - small charts of one row of a table. The numbers stand beside them, so screen readers skip them.

export function Bar({ part }: { part: number }) {
  return <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="10" /><rect class="fill" width={Math.max(0.6, part * 100)} height="10" /></svg>;
}

// The time between first and last within that of all rows; all three in milliseconds.
export function Period({ first, last, all }: { first: number; last: number; all: [number, number] }) {
  const width = Math.max(1, all[1] - all[0]);
  const x = ((first - all[0]) / width) * 98;
  return <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="10" /><rect class="fill" x={x} width={Math.max(2, ((last - first) / width) * 100)} height="10" /></svg>;
}
