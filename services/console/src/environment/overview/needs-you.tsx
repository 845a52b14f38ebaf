/** Invocations that fail, are paused or have failed: similar ones in one row, each with its last failure and a link. */
import { type InvocationFilter, sqlText } from "@perdure/admin-client";
import { lazy, Suspense, useState } from "react";
import { Link } from "wouter";
import {
  Breakable,
  Button,
  ErrorCode,
  InvocationBadge,
  Moment,
  Section,
  ShortId,
  Table,
  type TableColumn,
  useNow,
} from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { invocationsHref } from "../invocations-link.js";
import { useRequest } from "../request.js";
import { useShared } from "../shared.js";
import { actionsColumn, type CauseBatch } from "./cause-actions.js";
import { type Cause, causesOf } from "./causes.js";
import { type DeploymentIssues, deploymentIssues, type InvocationIssue, reasonsOf, withoutReason } from "./figures.js";
import type { LongWait } from "./long-waits.js";
import { type Mark, type MarkedCause, marksOf, reviewed, withMark, withoutMark } from "./marks.js";
import type { ServiceSlotWait, SlotHolder } from "./slot-waits.js";
import { WaitingForLong } from "./waiting-for-long.js";
import { WaitingForSlots } from "./waiting-for-slots.js";

const HOUR_MS = 3_600_000;
const CauseBatchDialog = lazy(() => import("./cause-batch.js"));

interface NeedsYouProps {
  readonly issues: readonly InvocationIssue[];
  readonly slotWaits: readonly ServiceSlotWait[];
  readonly slotHolders: readonly SlotHolder[];
  readonly longWaits: readonly LongWait[];
}

export function NeedsYou({ issues, slotWaits, slotHolders, longWaits }: NeedsYouProps) {
  const reasons = useReasons(withoutReason(issues));
  const { forbidden } = useEnvironment();
  const { value: marks, change: changeMarks, isShared, forbidden: markForbidden } = useShared("attention", marksOf);
  const [batch, setBatch] = useState<CauseBatch>();
  const nowMs = useNow();
  const { open, marked } = reviewed(causesOf(issues), marks, nowMs);
  const worse = new Set(open.filter(({ isWorse }) => isWorse).map(({ cause }) => cause));
  const mark = (cause: Cause, muteMs?: number) => changeMarks((all) => withMark(all, cause, Date.now(), muteMs));
  const columns = [...causeColumns(reasons, worse), actionsColumn({ mark, begin: setBatch, markForbidden, forbidden })];
  const deployments = deploymentIssues(issues);
  return (
    <>
      {slotWaits.length > 0 && <WaitingForSlots waits={slotWaits} holders={slotHolders} />}
      {longWaits.length > 0 && <WaitingForLong waits={longWaits} />}
      <Table
        label="Needs attention"
        rows={open.map(({ cause }) => cause)}
        columns={columns}
        keyOf={rowKeyOf}
        empty={
          <p className="quiet">
            {marked.length > 0
              ? "No other invocation is failing or paused, and none has failed within the last hour."
              : slotWaits.length + longWaits.length > 0
                ? "No invocation is failing or paused, and none has failed within the last hour."
                : "All good: no invocation is failing, paused or waiting for a slot, and none has failed within the last hour."}
          </p>
        }
      />
      {marked.length > 0 && (
        <Marked
          marked={marked}
          reasons={reasons}
          isShared={isShared}
          forbidden={markForbidden}
          onRemove={(cause) => changeMarks((all) => withoutMark(all, cause))}
        />
      )}
      {batch !== undefined && (
        <Suspense fallback={null}>
          <CauseBatchDialog verb={batch.verb} filter={filterOf(batch.cause)} onClose={() => setBatch(undefined)} />
        </Suspense>
      )}
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

const rowKeyOf = ({ service, handler, status, code, deployment }: Cause): string =>
  JSON.stringify([service, handler, status, code, deployment]);

/** `worse`: those that were acknowledged and have got worse. */
function causeColumns(reasons: ReadonlyMap<string, string>, worse: ReadonlySet<Cause>): readonly TableColumn<Cause>[] {
  return [
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
      cell: (issue) => <Link href={invocationsHref(filterOf(issue))}>{issue.count.toLocaleString()}</Link>,
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
      cell: (cause) => (
        <>
          <Link href={`/invocations/${encodeURIComponent(cause.invocationId)}`}>
            {cause.failure ?? reasons.get(cause.invocationId) ?? "the most recent"}
          </Link>
          {cause.callers.length > 0 && (
            <div className="small quiet">
              also failed: {cause.callers.map(({ handler, count }) => `${handler} (${count})`).join(", ")}
            </div>
          )}
          {worse.has(cause) && <div className="small quiet">more since it was acknowledged</div>}
        </>
      ),
    },
    { name: "Last seen", cell: ({ at }) => <Moment at={at} /> },
  ];
}

interface MarkedProps {
  readonly marked: readonly MarkedCause[];
  readonly reasons: ReadonlyMap<string, string>;
  readonly isShared: boolean;
  readonly forbidden: string | undefined;
  readonly onRemove: (cause: Cause) => void;
}

function Marked({ marked, reasons, isShared, forbidden, onRemove }: MarkedProps) {
  const markOf = new Map(marked.map(({ cause, mark }) => [cause, mark]));
  const columns: readonly TableColumn<Cause>[] = [
    ...causeColumns(reasons, new Set()),
    { name: "State", cell: (cause) => <MarkText mark={markOf.get(cause)} /> },
    {
      name: "Actions",
      isNameHidden: true,
      cell: (cause) => (
        <Button
          isSmall
          appearance="bare"
          forbidden={forbidden}
          aria-label={`Show again: ${cause.service}/${cause.handler} ${cause.status}`}
          onClick={() => onRemove(cause)}
        >
          Show again
        </Button>
      ),
    },
  ];
  return (
    <details className="overview__marked">
      <summary>{marked.length} acknowledged or muted</summary>
      <p className="small quiet">
        {isShared ? "For all users of this environment." : "Kept in this browser."} Acknowledged failures return when more
        invocations have them, muted ones when the time is over.
      </p>
      <Table label="Acknowledged or muted" rows={marked.map(({ cause }) => cause)} columns={columns} keyOf={rowKeyOf} />
    </details>
  );
}

function MarkText({ mark }: { readonly mark: Mark | undefined }) {
  if (mark === undefined) return null;
  if (mark.untilMs === undefined) return <>acknowledged</>;
  return (
    <>
      muted, ends <Moment at={new Date(mark.untilMs).toISOString()} />
    </>
  );
}

const DEPLOYMENT_COLUMNS: readonly TableColumn<DeploymentIssues>[] = [
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

function filterOf({ service, handler, status, code }: InvocationIssue): InvocationFilter {
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
  const idList = ids.map(sqlText).join(", ");
  const statement = `SELECT id, event_json FROM sys_journal_events WHERE id IN (${idList}) ORDER BY appended_at`;
  const { data } = useRequest(["overview", "reasons", idList], ({ admin }, signal) => admin.sql.query(statement, { signal }), {
    isOff: ids.length === 0,
  });
  return reasonsOf(data ?? []);
}
