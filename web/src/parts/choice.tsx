// SPDX-License-Identifier: Apache-2.0
// choice.tsx - a select field with its label.
export function Choice({ label, value, options, onChoose }: { label: string; value: string; options: [string, string][]; onChoose: (value: string) => void }) {
  return (
    <label class="choice">
      {label}{" "}
      <select value={value} onChange={(e) => onChoose(e.currentTarget.value)}>{options.map(([key, text]) => <option key={key} value={key} selected={key === value}>{text}</option>)}</select>
    </label>
  );
}
