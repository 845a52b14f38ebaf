/** The head of an invocation: target, caller, deployment and retention, the facts that users need first. */

import { sqlText } from "@perdure/admin-client";
import type { ReactNode } from "react";
import { useContext } from "react";
import { Link } from "wouter";
import { Breakable, Copyable, durationText, Facts, Moment, ShortId } from "../../kit/index.js";
import { TraceUrlContext, traceLink } from "../../shell/trace-link.js";
import { useRequest } from "../request.js";
import { FailureView } from "./failure-view.js";
import { durationMs, type InvocationSummary } from "./invocation-facts.js";
import { CALLERS_MAX } from "./limits.js";

interface HeadFactsProps {
  readonly facts: InvocationSummary;
  /** Below everything, also where the invocation fails without a message. */
  readonly afterFailure?: ReactNode;
}

export function HeadFacts({ facts, afterFailure }: HeadFactsProps) {
  const list: (readonly [string, ReactNode])[] = [
    ["Id", <ShortId key="id" id={facts.id} copyLabel="the id" />],
    [
      "Service",
      <Link key="service" href={`/services/${encodeURIComponent(facts.service)}`}>
        {facts.service}
      </Link>,
    ],
    ["Invoked by", <InvokedBy key="by" facts={facts} />],
    ["Created", <Moment key="created" at={facts.createdAt} />],
  ];
  if (facts.key !== undefined && !facts.isService) {
    const href = `/state/${encodeURIComponent(facts.service)}/${encodeURIComponent(facts.key)}`;
    list.push([
      "Key",
      <Link key="key" href={href}>
        {facts.key === "" ? "(empty)" : <Breakable text={facts.key} />}
      </Link>,
    ]);
  }
  if (facts.status === "scheduled" && facts.scheduledStartAt !== undefined) {
    list.push(["Scheduled for", <Moment key="starts" at={facts.scheduledStartAt} />]);
  }
  if (facts.completedAt !== undefined) {
    list.push(["Completed", <Moment key="completed" at={facts.completedAt} />]);
    const took = Date.parse(facts.completedAt) - Date.parse(facts.createdAt ?? facts.completedAt);
    list.push(["Duration", durationText(took)]);
  }
  if (facts.attempts > 0) list.push(["Attempts", String(facts.attempts)]);
  if (facts.nextRetryAt !== undefined) list.push(["Next attempt", <Moment key="next" at={facts.nextRetryAt} />]);
  if (facts.deploymentId !== undefined) {
    list.push([
      facts.isPinned ? "Deployment" : "Last attempt's deployment",
      <Link key="deployment" href={`/deployments/${encodeURIComponent(facts.deploymentId)}`}>
        <ShortId id={facts.deploymentId} />
      </Link>,
    ]);
  }
  if (facts.sdk !== undefined) list.push(["SDK", facts.sdk]);
  list.push(["Retention", <Kept key="kept" facts={facts} />]);
  if (facts.idempotencyKey !== undefined) {
    list.push(["Idempotency key", <Copyable key="idempotency" text={facts.idempotencyKey} label="the idempotency key" />]);
  }
  if (facts.scope !== undefined) list.push(["Scope", facts.scope]);
  if (facts.limitKey !== undefined) list.push(["Limit key", facts.limitKey]);
  if (facts.traceId !== undefined) list.push(["Trace", <Trace key="trace" id={facts.traceId} />]);
  return (
    <div className="card stack">
      <Callers facts={facts} />
      <Facts facts={list} />
      {facts.status === "completed" && facts.completionFailure !== undefined && <FailureView message={facts.completionFailure} />}
      {facts.status !== "completed" && facts.lastFailure !== undefined && (
        <div className="stack stack--tight">
          <h2 className="small quiet">Last failure</h2>
          <FailureView
            message={facts.lastFailure.message}
            code={facts.lastFailure.code}
            stack={facts.lastFailure.stack}
            step={facts.lastFailure.step}
          />
        </div>
      )}
      {afterFailure}
    </div>
  );
}

function Kept({ facts }: { readonly facts: InvocationSummary }) {
  const completion = facts.completionRetention === undefined ? undefined : durationMs(facts.completionRetention);
  const journal = facts.journalRetention === undefined ? undefined : durationMs(facts.journalRetention);
  if (completion === undefined || journal === undefined) return <span className="quiet">–</span>;
  if (completion === 0) return <>none</>;
  return (
    <>
      {durationText(completion)} after its end
      {journal === completion ? "" : `, its journal ${journal === 0 ? "not" : durationText(journal)}`}
    </>
  );
}

const SOURCES: Readonly<Record<string, string>> = {
  ingress: "a request over HTTP",
  subscription: "a Kafka message",
  service: "another invocation",
  restart_as_new: "a restart",
  schedule: "a schedule",
};

function InvokedBy({ facts }: { readonly facts: InvocationSummary }) {
  if (facts.callerId !== undefined) {
    return (
      <Link href={`/invocations/${encodeURIComponent(facts.callerId)}`}>
        <Breakable text={facts.callerTarget ?? facts.callerId} />
      </Link>
    );
  }
  if (facts.restartedFrom !== undefined) {
    return (
      <>
        a restart of{" "}
        <Link href={`/invocations/${encodeURIComponent(facts.restartedFrom)}`}>
          <ShortId id={facts.restartedFrom} />
        </Link>
      </>
    );
  }
  if (facts.subscriptionId !== undefined) return <Link href="/subscriptions">a Kafka message</Link>;
  return <>{SOURCES[facts.invokedBy] ?? facts.invokedBy}</>;
}

/** The chain from the root invocation down, when it has more members than the caller. */
function Callers({ facts }: { readonly facts: InvocationSummary }) {
  const { data = [] } = useRequest(
    ["invocation", "callers", facts.id],
    async ({ admin }, signal) => {
      const callers: { readonly id: string; readonly target: string }[] = [];
      let id = facts.callerId;
      let target = facts.callerTarget;
      while (id !== undefined && callers.length < CALLERS_MAX) {
        callers.unshift({ id, target: target ?? id });
        const statement = `SELECT invoked_by_id, invoked_by_target FROM sys_invocation WHERE id = ${sqlText(id)}`;
        const above = (await admin.sql.query(statement, { signal }))[0];
        id = typeof above?.["invoked_by_id"] === "string" ? above["invoked_by_id"] : undefined;
        target = typeof above?.["invoked_by_target"] === "string" ? above["invoked_by_target"] : undefined;
      }
      return callers;
    },
    { isOff: facts.callerId === undefined },
  );
  if (data.length === 0) return null;
  return (
    <nav aria-label="Callers">
      <ol className="inv-callers">
        {data.map(({ id, target }) => (
          <li key={id}>
            <Link href={`/invocations/${encodeURIComponent(id)}`}>
              <Breakable text={target} />
            </Link>
          </li>
        ))}
        <li aria-current="page">
          <Breakable text={facts.target} />
        </li>
      </ol>
    </nav>
  );
}

function Trace({ id }: { readonly id: string }) {
  const link = traceLink(useContext(TraceUrlContext), id);
  return (
    <>
      <Copyable text={id} label="the trace id" />
      {link !== undefined && (
        <a href={link} target="_blank" rel="noreferrer">
          See the trace
        </a>
      )}
    </>
  );
}
