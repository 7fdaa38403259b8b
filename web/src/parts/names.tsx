// SPDX-License-Identifier: Apache-2.0
// names.tsx - names that come from the web, isolated from the direction of what stands around them.
import { unicode } from "../text/idn";
import { useLinks } from "./version";

// A host as the index writes it, with its Unicode form behind it.
export function Host({ name }: { name: string }) {
  const shown = unicode(name);
  return <><bdi>{name}</bdi>{shown && <> <bdi class="soft">{shown}</bdi></>}</>;
}

export function SiteLink({ domain }: { domain: string }) {
  const { to } = useLinks();
  return <a href={to("site", domain)}><Host name={domain} /></a>;
}

export function DatasetLink({ id, name }: { id: number; name: string }) {
  const { to } = useLinks();
  return <a href={to("dataset", id)}><bdi>{name}</bdi></a>;
}

// Text, not a link: a click must not lead to a hostile site.
export function UrlText({ url }: { url: string }) {
  const { to } = useLinks();
  return <a class="url" href={to("url", url)}><bdi>{url}</bdi></a>;
}
