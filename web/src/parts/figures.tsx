// SPDX-License-Identifier: Apache-2.0
// figures.tsx - a row of numbers with their names.
import type { ComponentChildren } from "preact";

export function Figures({ items }: { items: ([string, ComponentChildren] | null | false)[] }) {
  return <dl class="figures">{items.map((item) => item && <div key={item[0]}><dt>{item[0]}</dt><dd>{item[1]}</dd></div>)}</dl>;
}
