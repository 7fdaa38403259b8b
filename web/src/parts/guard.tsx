// SPDX-License-Identifier: Apache-2.0
// guard.tsx - keeps the page alive when an answer has not the form that a view relies on (a damaged reply of some proxy).
import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { ProblemBox } from "./problem";

const UNREADABLE = { status: 0, body: null, problem: null, retry_s: 0 };

export function Guard({ children }: { children: ComponentChildren }) {
  const [failure] = useErrorBoundary();
  return <>{failure ? <ProblemBox answer={UNREADABLE} again={() => location.reload()} name="guard" top /> : children}</>;
}
