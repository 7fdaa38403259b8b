// SPDX-License-Identifier: Apache-2.0
// heat_map.tsx - shares of pairs as a table whose cells are shaded; the numbers stand in them. Five shades, so that each has enough contrast.
import { share } from "../text/format";

export type Cell = number | null; // from 0 to 1; null: not there yet

const shade = (value: Cell): string => (value === null ? "" : `heat h${value >= 0.5 ? 5 : value >= 0.2 ? 4 : value >= 0.1 ? 3 : value >= 0.03 ? 2 : value > 0 ? 1 : 0}`);

export function HeatMap({ names, cells, caption }: { names: string[]; cells: Cell[][]; caption: string }) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={caption}>
      <table class="heatmap">
        <caption class="unseen">{caption}</caption>
        <thead><tr><td />{names.map((name, i) => <th key={i} scope="col"><bdi>{name}</bdi></th>)}</tr></thead>
        <tbody>
          {names.map((name, i) => (
            <tr key={i}>
              <th scope="row"><bdi>{name}</bdi></th>
              {names.map((_, k) => <td key={k} class={shade(cells[i]?.[k] ?? null)}>{i === k ? "·" : cells[i]?.[k] == null ? "…" : share(cells[i]![k]!)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
