/** What fails, stands still or has failed: alike ones together, each with its last failure and a way to it. */
import { type InvocationFilter, sqlText } from "@perdure/admin-client";
import { Link } from "wouter";
import { Breakable, type Column, ErrorCode, InvocationBadge, Moment, Section, ShortId, Table } from "../../kit/index.js";
import { useAsk } from "../ask.js";
import { invocationsHref } from "../invocations-link.js";
import { type Cause, causesOf } from "./causes.js";
import { type DeploymentTrouble, deploymentTroubles, reasonsOf, type Trouble, withoutReason } from "./figures.js";
import type { LongWait } from "./long-waits.js";
import type { SlotHolder, SlotWait } from "./slot-waits.js";
import { WaitingForLong } from "./waiting-for-long.js";
import { WaitingForSlots } from "./waiting-for-slots.js";

const HOUR_MS = 3_600_000;

export interface NeedsYouProps {
  readonly troubles: readonly Trouble[];
  readonly slotWaits: readonly SlotWait[];
  readonly slotHolders: readonly SlotHolder[];
  readonly longWaits: readonly LongWait[];
}

export function NeedsYou({ troubles, slotWaits, slotHolders, longWaits }: NeedsYouProps) {
  const reasons = useReasons(withoutReason(troubles));
  const columns: readonly Column<Cause>[] = [
    { name: "Status", cell: ({ status }) => <InvocationBadge status={status} /> },
    {
      name: "Handler",
      cell: ({ service, handler }) => (
        <code>
          <Breakable text={`${service}/${handler}`} />
        </code>
      ),
    },
    {
      name: "Count",
      isNumber: true,
      cell: (trouble) => <Link href={invocationsHref(filterOf(trouble))}>{trouble.count.toLocaleString()}</Link>,
    },
    {
      name: "Code",
      cell: ({ code }) =>
        code === undefined ? (
          <span className="quiet">–</span>
        ) : (
          <span className="nowrap">
            <ErrorCode code={code} />
          </span>
        ),
    },
    {
      name: "Last failure",
      isText: true,
      cell: ({ failure, invocationId, callers }) => (
        <>
          <Link href={`/invocations/${encodeURIComponent(invocationId)}`}>
            {failure ?? reasons.get(invocationId) ?? "the most recent"}
          </Link>
          {callers.length > 0 && (
            <div className="small quiet">
              also failed: {callers.map(({ handler, count }) => `${handler} (${count})`).join(", ")}
            </div>
          )}
        </>
      ),
    },
    { name: "Last seen", cell: ({ at }) => <Moment at={at} /> },
  ];
  const deployments = deploymentTroubles(troubles);
  return (
    <>
      {slotWaits.length > 0 && <WaitingForSlots waits={slotWaits} holders={slotHolders} />}
      {longWaits.length > 0 && <WaitingForLong waits={longWaits} />}
      <Table
        label="Needs attention"
        rows={causesOf(troubles)}
        columns={columns}
        keyOf={({ service, handler, status, code, deployment }) => JSON.stringify([service, handler, status, code, deployment])}
        empty={
          <p className="quiet">
            {slotWaits.length + longWaits.length > 0
              ? "No invocation is failing or paused, and none has failed within the last hour."
              : "All good: no invocation is failing, paused or waiting for a slot, and none has failed within the last hour."}
          </p>
        }
      />
      {deployments.length > 0 && (
        <Section title="Failing deployments">
          <Table
            label="Failing deployments"
            rows={deployments}
            columns={DEPLOYMENT_COLUMNS}
            keyOf={({ deployment }) => deployment}
          />
        </Section>
      )}
    </>
  );
}

const DEPLOYMENT_COLUMNS: readonly Column<DeploymentTrouble>[] = [
  {
    name: "Deployment",
    cell: ({ deployment }) => (
      <Link href={`/deployments/${encodeURIComponent(deployment)}`}>
        <ShortId id={deployment} />
      </Link>
    ),
  },
  { name: "Invocations", isNumber: true, cell: ({ count }) => count.toLocaleString() },
  { name: "Failures", isText: true, cell: ({ failure }) => failure ?? <span className="quiet">paused</span> },
];

function filterOf({ service, handler, status, code }: Trouble): InvocationFilter {
  const of = { services: [service], handlers: [handler] };
  if (status !== "failed") {
    const where = code === undefined ? {} : { where: `last_failure_error_code = ${sqlText(code)}` };
    return { ...of, statuses: [status], ...where };
  }
  const where = code === undefined ? {} : { where: `completion_failure LIKE ${sqlText(`[${code}%`)}` };
  return { ...of, orEndedWith: ["failure"], modifiedWithinMs: HOUR_MS, ...where };
}

/** Paused invocations have their failure in their journal only. */
function useReasons(ids: readonly string[]): ReadonlyMap<string, string> {
  const wanted = ids.map(sqlText).join(", ");
  const statement = `SELECT id, event_json FROM sys_journal_events WHERE id IN (${wanted}) ORDER BY appended_at`;
  const { data } = useAsk(["overview", "reasons", wanted], ({ admin }, signal) => admin.sql.query(statement, { signal }), {
    isOff: ids.length === 0,
  });
  return reasonsOf(data ?? []);
}
