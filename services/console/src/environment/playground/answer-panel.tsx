/** The answer, and a link to the invocation. */
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import { Badge, CodeEditor, CopyButton, Duration, Moment, ProblemNote, Section } from "../../kit/index.js";
import { invocationsHref } from "../invocations-link.js";
import { type CallResponse, failureTitle } from "./answer.js";
import type { CallState } from "./use-call.js";

interface AnswerPanelProps {
  readonly state: CallState;
  readonly service: string;
  readonly handler: string;
}

export function AnswerPanel({ state, service, handler }: AnswerPanelProps) {
  const container = useRef<HTMLDivElement>(null);
  const isDone = state.kind === "done";
  // On narrow windows it is above a form that may be long.
  useEffect(() => {
    if (isDone) container.current?.scrollIntoView({ block: "nearest" });
  }, [isDone]);
  return (
    <div className="stack" ref={container} aria-live="polite" aria-busy={state.kind === "waiting"}>
      {state.kind !== "waiting" && state.kind !== "done" && <p className="quiet playground__idle">The response appears here.</p>}
      {state.kind === "waiting" && (
        <p className="quiet">
          Waiting for the response{state.invocationId === undefined ? "" : " of "}
          {state.invocationId !== undefined && <InvocationLink id={state.invocationId} />} …
        </p>
      )}
      {state.kind === "done" && (
        <Section title="Response">
          <Shown answer={state.answer} service={service} handler={handler} />
        </Section>
      )}
    </div>
  );
}

function Shown({
  answer,
  service,
  handler,
}: {
  readonly answer: CallResponse;
  readonly service: string;
  readonly handler: string;
}) {
  const { invocationId, tookMs } = answer;
  const facts = (
    <div className="row">
      <ResponseBadge answer={answer} />
      <span>
        <span className="quiet">after</span> <Duration ms={tookMs} />
      </span>
      {invocationId !== undefined && <InvocationLink id={invocationId} />}
    </div>
  );
  switch (answer.kind) {
    case "answered":
      return (
        <div className="card stack stack--tight">
          {facts}
          {answer.body.bytes === 0 ? (
            <p className="quiet">Empty response: the handler has no result.</p>
          ) : (
            <>
              <CodeEditor
                label="Response body"
                language={answer.body.language}
                value={answer.body.text}
                isReadOnly
                linesMin={1}
                linesMax={30}
              />
              <div className="row">
                <CopyButton text={answer.body.text} what="Copy response" />
                {answer.body.isCut && (
                  <span className="quiet small">Truncated: the response is {answer.body.bytes} bytes long.</span>
                )}
              </div>
            </>
          )}
        </div>
      );
    case "sent":
      return (
        <div className="card stack stack--tight">
          {facts}
          {answer.sent.status === "PreviouslyAccepted" ? (
            <p>Already accepted under the same idempotency key or workflow key: no new invocation.</p>
          ) : (
            <p>
              Accepted: the invocation is stored durably and will run.
              {answer.sent.executionTime !== undefined && (
                <>
                  {" "}
                  It starts <Moment at={answer.sent.executionTime} />.
                </>
              )}
            </p>
          )}
        </div>
      );
    case "failed":
      return (
        <div className="stack stack--tight">
          {facts}
          <ProblemNote cause={answer.cause} title={failureTitle(answer.cause)} />
        </div>
      );
    case "left":
      return (
        <div className="card stack stack--tight">
          {facts}
          <p>
            The playground no longer waits. The invocation itself continues; see{" "}
            {invocationId === undefined ? (
              <Link href={invocationsHref({ services: [service], handlers: [handler] })}>
                the latest invocations of this handler
              </Link>
            ) : (
              <InvocationLink id={invocationId} />
            )}
            to cancel it.
          </p>
        </div>
      );
    default:
      return facts;
  }
}

function ResponseBadge({ answer }: { readonly answer: CallResponse }) {
  switch (answer.kind) {
    case "answered":
      return <Badge tone="good">{answer.status}</Badge>;
    case "sent":
      return <Badge tone="info">accepted</Badge>;
    case "failed":
      return <Badge tone="bad">failed</Badge>;
    default:
      return <Badge>detached</Badge>;
  }
}

function InvocationLink({ id }: { readonly id: string }) {
  return (
    <Link href={`/invocations/${encodeURIComponent(id)}`} className="code">
      {id}
    </Link>
  );
}
