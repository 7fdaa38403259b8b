// SPDX-License-Identifier: Apache-2.0
// rank_size.tsx - how many URLs the domain of each rank has, on two log axes.
import { scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { compact, number } from "../text/format";
import { t } from "../text/language";
import { Frame, MARGIN } from "./frame";

export type Point = { position: number; url_count: number };

const decades = (most: number): number[] => Array.from({ length: Math.floor(Math.log10(Math.max(1, most))) + 1 }, (_, i) => 10 ** i);

export function RankSize({ points, label }: { points: Point[]; label: string }) {
  const last = points[points.length - 1];
  if (!last) return null;
  const most = points.reduce((m, p) => Math.max(m, p.url_count), 1);
  return (
    <Frame label={label} height={280}>
      {(width) => {
        const x = scaleLog([1, Math.max(10, last.position)], [MARGIN.left, width - MARGIN.right]);
        const y = scaleLog([1, Math.max(10, most)], [280 - MARGIN.bottom, MARGIN.top]);
        const shape = line<Point>((p) => x(p.position), (p) => y(Math.max(1, p.url_count)));
        const marks = (
          <g class="series s0">
            <path d={shape(points) ?? ""} />
            {points.filter((p, i) => i < 10 || p.position >= 1000 || i % 10 === 0).map((p) => <circle key={p.position} cx={x(p.position)} cy={y(Math.max(1, p.url_count))} r="2.5"><title>{`${number(p.position)}: ${number(p.url_count)}`}</title></circle>)}
          </g>
        );
        return { x: decades(last.position).map((v) => ({ at: x(v), text: compact(v) })), y: decades(most).map((v) => ({ at: y(v), text: compact(v) })), marks, xName: t.position, yName: t.urls };
      }}
    </Frame>
  );
}
