/** Why: an invocation that needed several attempts says of each why it failed. */
import { useState } from "react";
import { Link } from "wouter";
import { Button, durationText, Loaded, Moment, Section } from "../../kit/index.js";
import { eventAt } from "./failure-text.js";
import { FailureView } from "./failure-view.js";
import { useEvents } from "./invocation-data.js";
import { type AttemptSpan, attemptText, entryOfCommand, type Life, lengthOf, stepKind } from "./life.js";
import { FAILURES_SHOWN_MAX } from "./limits.js";

export function Failures({ life }: { readonly life: Life }) {
  const failed = life.attempts.filter(({ failure }) => failure !== null);
  const query = useEvents(life.id, `${failed.length} ${life.attempts.length}`);
  const [isWhole, setWhole] = useState(false);
  if (failed.length === 0) return null;
  // The newest says what is wrong now.
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
                    {...placeOf(life, attempt.failure?.command ?? undefined)}
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

type Command = NonNullable<NonNullable<AttemptSpan["failure"]>["command"]>;

function placeOf(life: Life, command: Command | undefined) {
  if (command === undefined) return {};
  const { type, name, index } = command;
  const entry = index === null ? undefined : entryOfCommand(life, index);
  const words = [
    type === null ? undefined : stepKind(type),
    name === null || name === "" ? undefined : `'${name}'`,
    entry === undefined ? undefined : `(entry ${entry})`,
  ].filter((word) => word !== undefined);
  if (words.length === 0) return {};
  const stepHref = entry === undefined ? undefined : `/invocations/${encodeURIComponent(life.id)}?step=${entry}`;
  return { step: words.join(" "), stepHref };
}
