// SPDX-License-Identifier: Apache-2.0
// frame.tsx - what charts share: a drawing as wide as its place, with axes. Scales and their ticks are d3-scale's.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export const MARGIN = { left: 64, right: 16, top: 24, bottom: 28 };
export type Tick = { at: number; text: string };
type Props = { label: string; height: number; children: (width: number) => { x: Tick[]; y: Tick[]; marks: ComponentChildren; xName?: string; yName?: string } };

export function Frame({ label, height, children }: Props) {
  const place = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(720);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(260, Math.floor(entry!.contentRect.width))));
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, []);
  const { x, y, marks, xName, yName } = children(width);
  const bottom = height - MARGIN.bottom;
  return (
    <figure class="chart" ref={place}>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
        {y.map((tick) => <g key={tick.at}><line class="grid" x1={MARGIN.left} x2={width - MARGIN.right} y1={tick.at} y2={tick.at} /><text x={MARGIN.left - 8} y={tick.at} dy="0.32em" text-anchor="end">{tick.text}</text></g>)}
        <line class="axis" x1={MARGIN.left} x2={width - MARGIN.right} y1={bottom} y2={bottom} />
        {x.map((tick) => <g key={tick.at}><line class="axis" x1={tick.at} x2={tick.at} y1={bottom} y2={bottom + 5} /><text x={tick.at} y={bottom + 19} text-anchor="middle">{tick.text}</text></g>)}
        {marks}
        {yName && <text class="name" x={MARGIN.left} y={12}>{yName}</text>}
        {xName && <text class="name" x={width - MARGIN.right} y={bottom - 8} text-anchor="end">{xName}</text>}
      </svg>
    </figure>
  );
}
