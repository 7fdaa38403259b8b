// SPDX-License-Identifier: Apache-2.0
// presence_matrix.ts - what is known of a list of names: rows as they came, and files made of them.
import type { Presence } from "../api/answers";
import { csvLine } from "../api/listing";
import { size } from "../text/format";

export const MOST_PAIRS = 10_000_000;
const PER_BLOB = 2000; // rows

export class PresenceMatrix {
  readonly rows: Presence[] = [];
  readonly hits = new Map<number, number>(); // names of each dataset
  readonly counts = { found: 0, absent: 0, withheld: 0, rejected: 0 };
  pairs = 0;

  add(part: Presence[]): void {
    for (const row of part) {
      this.rows.push(row);
      this.counts[kindOf(row)]++;
      for (const d of row.datasets ?? []) this.hits.set(d.dataset_id, (this.hits.get(d.dataset_id) ?? 0) + 1);
      this.pairs += row.datasets?.length ?? 0;
    }
  }

  // Datasets with at least one of the names, those with the most first.
  columns(): number[] {
    return [...this.hits].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([id]) => id);
  }

  // A row a name and a column a dataset. In pieces, so that a large file never is one string.
  async matrix(names: Map<number, string>): Promise<Blob[]> {
    const columns = this.columns();
    const at = new Map(columns.map((id, i) => [id, i]));
    const header = csvLine(["asked", "domain", "reason", ...columns.map((id) => names.get(id) ?? id)]);
    return this.file(header, (row) => {
      const cells: (number | "")[] = columns.map(() => "");
      for (const d of row.datasets ?? []) cells[at.get(d.dataset_id)!] = size(d);
      return csvLine([row.asked, row.domain, row.reason, ...cells]);
    });
  }

  // A row a name and dataset.
  async list(names: Map<number, string>): Promise<Blob[]> {
    const header = csvLine(["asked", "domain", "reason", "dataset_id", "dataset", "url_count", "row_count"]);
    return this.file(header, (row) => (row.datasets ?? []).map((d) => csvLine([row.asked, row.domain, "", d.dataset_id, names.get(d.dataset_id), d.url_count, d.row_count])).join("") || csvLine([row.asked, row.domain, row.reason, "", "", "", ""]));
  }

  private async file(header: string, lineOf: (row: Presence) => string): Promise<Blob[]> {
    const blobs = [new Blob([header])];
    for (let at = 0; at < this.rows.length; at += PER_BLOB) {
      blobs.push(new Blob([this.rows.slice(at, at + PER_BLOB).map(lineOf).join("")]));
      await new Promise((done) => setTimeout(done)); // the page stays alive
    }
    return blobs;
  }
}

export type Kind = "found" | "absent" | "withheld" | "rejected";
export const kindOf = (row: Presence): Kind => (row.found ? "found" : row.reason === "absent" || row.reason === "withheld" ? row.reason : "rejected");
