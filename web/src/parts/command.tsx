// SPDX-License-Identifier: Apache-2.0
// command.tsx - the command that gives the data of a section, with a button that copies it.
import { useState } from "preact/hooks";
import { curl } from "../api/path";
import { t } from "../text/language";

export function Copy({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  if (!navigator.clipboard) return null; // not on a page without TLS of another host
  return <button type="button" class="quiet" onClick={() => navigator.clipboard.writeText(text).then(() => setDone(true), () => {})}>{done ? t.copied : t.copy}</button>;
}

export function Command({ paths, options }: { paths: string[]; options?: string }) {
  const text = paths.map((target) => curl(target, options)).join("\n");
  return (
    <details class="command">
      <summary>{t.getData}</summary>
      <pre tabIndex={0}>{text}</pre>
      <Copy text={text} />
    </details>
  );
}
