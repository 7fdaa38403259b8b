// SPDX-License-Identifier: Apache-2.0
// rows_export.tsx - all rows of a listing as a file: the server's own formats, which it streams and the browser saves.
import { path, type Params } from "../api/path";
import { Command } from "../parts/command";
import { Download } from "../parts/download";
import { t } from "../text/language";

const FORMATS = [["CSV", "csv"], ["NDJSON", "ndjson"], ["Parquet", "parquet"], ["Arrow", "arrow"]] as const;

export function Export({ domain, base, params }: { domain: string; base: string; params: Params }) {
  const targets = FORMATS.map(([words, format]) => ({ words, name: `${domain}.${format}`, target: path(base, { ...params, format }) }));
  return (
    <section>
      <h2>{t.exportTitle}</h2>
      <p class="tools">
        {targets.map(({ words, name, target }) => <Download key={words} name={name} text={words} target={target} />)}
        <span class="soft">{t.exportHint}</span>
      </p>
      <Command paths={targets.map(({ target }) => target)} options="-OJ " />
    </section>
  );
}
