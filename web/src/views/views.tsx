// SPDX-License-Identifier: Apache-2.0
// views.tsx - which view an address is of.
import type { VNode } from "preact";
import { address, type Address } from "../router";
import { t } from "../text/language";
import { Changes } from "./changes";
import { Compare } from "./compare";
import { Dataset } from "./dataset";
import { Datasets } from "./datasets";
import { Home } from "./home";
import { Lists } from "./lists";
import { OneUrl } from "./one_url";
import { Report } from "./report";
import { Rows } from "./rows";
import { Site } from "./site";
import { Status } from "./status";

const WITH_NAME: Record<string, (now: Address) => VNode> = {
  site: (now) => <Site now={now} />,
  urls: (now) => <Rows now={now} />,
  url: (now) => <OneUrl now={now} />,
  report: (now) => <Report now={now} />,
  dataset: (now) => <Dataset now={now} />,
};
const WITHOUT: Record<string, (now: Address) => VNode> = {
  "": () => <Home />,
  datasets: (now) => <Datasets now={now} />,
  compare: (now) => <Compare now={now} />,
  lists: () => <Lists />,
  status: () => <Status />,
  changes: (now) => <Changes now={now} />,
};

export function viewOf(now: Address): VNode {
  const make = now.what ? WITH_NAME[now.view] : WITHOUT[now.view];
  return make ? make(now) : <div class="problem absent" role="alert" data-status="404"><h1>{t.noView}</h1><p><a href={address("", "")}>{t.toStart}</a></p></div>;
}
