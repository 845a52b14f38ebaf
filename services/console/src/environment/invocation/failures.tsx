/** Shows for each failed attempt of an invocation why it failed. */
import { useState } from "react";
import { Link } from "wouter";
import { Button, durationText, Loaded, Moment, Section } from "../../kit/index.js";
import { eventAt } from "./failure-text.js";
import { FailureView } from "./failure-view.js";
import { useEvents } from "./invocation-data.js";
import {
  attemptText,
  type DrawnAttempt,
  entryOfCommand,
  type InvocationTimeline,
  lengthOf,
  stepKind,
} from "./invocation-timeline.js";
import { FAILURES_SHOWN_MAX } from "./limits.js";

export function Failures({ timeline }: { readonly timeline: InvocationTimeline }) {
  const failed = timeline.attempts.filter(({ failure }) => failure !== null);
  const query = useEvents(timeline.id, `${failed.length} ${timeline.attempts.length}`);
  const [isWhole, setWhole] = useState(false);
  if (failed.length === 0) return null;
  // The newest reports the current failure.
  const newestFirst = [...failed].reverse();
  const shown = isWhole ? newestFirst : newestFirst.slice(0, FAILURES_SHOWN_MAX);
  return (
    <Section title={failed.length === 1 ? "Failed attempt" : `${failed.length} failed attempts`}>
      <Loaded query={query}>
        {(events) => (
          <>
            <ol className="inv-failures" aria-label="Failed attempts">
              {shown.map((attempt) => (
                <li key={attempt.number} className="card stack stack--tight">
                  <p className="row small">
                    <strong>Attempt {attempt.number}</strong>
                    <span className="quiet">
                      ended <Moment at={attempt.toMs} />
                      {attempt.isStartUnknown ? "" : ` after ${durationText(lengthOf(attempt))}`}
                    </span>
                    {attempt.deploymentId !== undefined && (
                      <Link href={`/deployments/${encodeURIComponent(attempt.deploymentId)}`}>{attempt.deploymentId}</Link>
                    )}
                  </p>
                  <FailureView
                    message={attempt.failure?.message ?? attemptText(attempt)}
                    code={attempt.failure?.restate_code ?? undefined}
                    stack={eventAt(events, attempt.toMs)?.stack ?? []}
                    {...placeOf(timeline, attempt.failure?.command ?? undefined)}
                  />
                </li>
              ))}
            </ol>
            {shown.length < failed.length && (
              <div className="row">
                <Button isSmall onClick={() => setWhole(true)}>
                  {failed.length - shown.length} earlier
                </Button>
              </div>
            )}
          </>
        )}
      </Loaded>
    </Section>
  );
}

type FailedCommand = NonNullable<NonNullable<DrawnAttempt["failure"]>["command"]>;

function placeOf(timeline: InvocationTimeline, command: FailedCommand | undefined) {
  if (command === undefined) return {};
  const { type, name, index } = command;
  const entry = index === null ? undefined : entryOfCommand(timeline, index);
  const parts = [
    type === null ? undefined : stepKind(type),
    name === null || name === "" ? undefined : `'${name}'`,
    entry === undefined ? undefined : `(entry ${entry})`,
  ].filter((part) => part !== undefined);
  if (parts.length === 0) return {};
  const stepHref = entry === undefined ? undefined : `/invocations/${encodeURIComponent(timeline.id)}?step=${entry}`;
  return { step: parts.join(" "), stepHref };
}
