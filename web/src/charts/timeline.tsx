// SPDX-License-Identifier: Apache-2.0
// timeline.tsx - rows in each period as bars; one colour a series, side by side.
import { scaleLinear, scaleUtc } from "d3-scale";
import type { Period } from "../api/answers";
import { compact, number } from "../text/format";
import { Frame, MARGIN } from "./frame";

export type Series = { name: string; periods: Period[] };

// Of Date.UTC the years 0 to 99 are those of 1900.
function utc(year: number, month: number, day: number): Date {
  const at = new Date(0);
  at.setUTCFullYear(year, month, day);
  return at;
}

// "2019", "2019-07" and "2019-07-04" as the moments at which they begin and end.
function bounds(period: string): [Date, Date] {
  const [year = 0, month, day] = period.split("-").map(Number);
  const end = month === undefined ? utc(year + 1, 0, 1) : day === undefined ? utc(year, month, 1) : utc(year, month - 1, day + 1);
  return [utc(year, (month ?? 1) - 1, day ?? 1), end];
}

export function Timeline({ series, label }: { series: Series[]; label: string }) {
  const all = series.flatMap((s) => s.periods);
  if (all.length === 0) return null;
  const starts = all.map((p) => bounds(p.period));
  const domain: [Date, Date] = [new Date(Math.min(...starts.map(([a]) => +a))), new Date(Math.max(...starts.map(([, b]) => +b)))];
  const most = all.reduce((m, p) => Math.max(m, p.row_count), 1);
  return (
    <Frame label={label} height={220}>
      {(width) => {
        const x = scaleUtc(domain, [MARGIN.left, width - MARGIN.right]);
        const y = scaleLinear([0, most], [220 - MARGIN.bottom, MARGIN.top]).nice(4);
        const format = x.tickFormat();
        const marks = series.map((s, i) => (
          <g key={i} class={`series s${i}`}>
            {s.periods.map((p) => {
              const [a, b] = bounds(p.period);
              const part = Math.max(1, (x(b) - x(a)) * 0.9) / series.length;
              return <rect key={p.period} x={x(a) + i * part} width={Math.max(0.75, part)} y={y(p.row_count)} height={Math.max(0.75, y(0) - y(p.row_count))}><title>{`${p.period}: ${number(p.row_count)}`}</title></rect>;
            })}
          </g>
        ));
        return { x: x.ticks(Math.max(2, Math.floor(width / 110))).map((d) => ({ at: x(d), text: /^\d+$/.test(format(d)) ? format(d) : d.toISOString().slice(0, +d % 86400000 === 0 && d.getUTCDate() === 1 ? 7 : 10) })), y: y.ticks(4).filter(Number.isInteger).map((v) => ({ at: y(v), text: compact(v) })), marks };
      }}
    </Frame>
  );
}
