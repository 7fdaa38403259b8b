// SPDX-License-Identifier: Apache-2.0
// version_note.tsx - says when the view is of another version than the current one.
import type { VersionsAnswer } from "../api/answers";
import { path } from "../api/path";
import { useAnswer } from "../api/use_answer";
import { changed, type Address } from "../router";
import { published } from "../text/format";
import { t } from "../text/language";
import { useVersion } from "./version";

export function VersionNote({ now }: { now: Address }) {
  const version = useVersion();
  const current = useAnswer<VersionsAnswer>(path("/v1/versions")).answer?.body?.version;
  if (!current || current === version) return null;
  return <p class="note version" role="status">{t.olderVersion(published(version))} <a href={changed(now, { v: current, c: null })}>{t.useCurrent}</a></p>;
}
