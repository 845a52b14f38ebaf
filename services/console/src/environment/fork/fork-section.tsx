/** On the page of a fork or of another copy: where it came from, and where its steps differ from those of its source. */
import { useState } from "react";
import { Link } from "wouter";
import { Button, Section, ShortId } from "../../kit/index.js";
import type { InvocationTimeline } from "../invocation/invocation-timeline.js";
import { Comparison } from "./comparison-view.js";
import "./fork.css";

interface ForkSectionProps {
  readonly id: string;
  readonly source: string;
  readonly fork: InvocationTimeline["fork"];
  readonly isDone: boolean;
}

export function ForkSection({ id, source, fork, isDone }: ForkSectionProps) {
  const [isCompared, setCompared] = useState(false);
  return (
    <Section title={fork === undefined ? "Source" : "Fork"}>
      <div className="stack stack--tight">
        <p>
          {fork === undefined ? "Restarted from " : "Fork of "}
          <Link href={`/invocations/${encodeURIComponent(source)}`}>
            <ShortId id={source} />
          </Link>
          {fork !== undefined && `, with its journal up to entry ${fork.forked_at_entry}${editsText(fork.edited_steps)}`}.
        </p>
        {isCompared ? (
          // A fork that has ended has further steps.
          <Comparison key={String(isDone)} left={source} right={id} />
        ) : (
          <div>
            <Button isSmall onClick={() => setCompared(true)}>
              Compare with its source
            </Button>
          </div>
        )}
      </div>
    </Section>
  );
}

function editsText(steps: readonly number[]): string {
  if (steps.length === 0) return "";
  return ` and ${steps.length === 1 ? "an edited result of entry" : "edited results of entries"} ${steps.join(", ")}`;
}
