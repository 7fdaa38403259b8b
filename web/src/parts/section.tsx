// SPDX-License-Identifier: Apache-2.0
// section.tsx - a part of a view that is made of one answer: its heading, its states, the command for its data.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "../api/use_answer";
import { t } from "../text/language";
import { Command } from "./command";
import { ProblemBox } from "./problem";

const SLOW_MS = 8000;

export function Waiting() {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, []);
  return <p class="waiting" role="status">{slow ? t.slow : t.loading}</p>;
}

type Props<T> = { path: string; title?: string; aside?: ComponentChildren; quiet?: number[]; children: (body: T) => ComponentChildren; below?: (body: T) => ComponentChildren };

// below: further sections, which need the answer. quiet: statuses with which the section is left out, because another one has said it.
export function Section<T>({ path, title, aside, quiet, children, below }: Props<T>) {
  const { answer, again } = useAnswer<T>(path);
  if (answer && quiet?.includes(answer.status)) return null;
  return (
    <>
      <section aria-busy={answer === null}>
        {(title || aside) && <div class="heading">{title && <h2>{title}</h2>}{aside}</div>}
        {answer === null ? <Waiting /> : answer.body !== null ? children(answer.body) : <ProblemBox answer={answer} again={again} name={title ?? ""} top={!title} />}
        {answer?.status !== 401 && <Command paths={[path]} />}
      </section>
      {answer?.body && below?.(answer.body)}
    </>
  );
}
