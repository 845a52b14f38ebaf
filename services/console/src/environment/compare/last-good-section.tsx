/** On the page of an invocation that fails: its steps beside those of the newest run of its handler that succeeded. */
import { compareSteps, type StepView, type TimelineView } from "@perdure/admin-client";
import { useEffect, useMemo, useRef } from "react";
import { Link } from "wouter";
import { Button, Loaded, Loading, Moment, Section, ShortId, useNow } from "../../kit/index.js";
import { useAddress } from "../address.js";
import { type ComparedSides, ComparedSteps } from "../fork/comparison-view.js";
import { whyNotCompare } from "../invocation/action-rules.js";
import { useInvocation, usePayloads } from "../invocation/invocation-data.js";
import type { InvocationSummary } from "../invocation/invocation-facts.js";
import { useRequest } from "../request.js";
import { comparedFacts, deploymentText, differenceTexts, firstDifferences, lastGoodStatement, leftOutText } from "./last-good.js";
import "../fork/fork.css";
import "./compare.css";

const SIDES: ComparedSides = {
  left: "Last good run",
  right: "This run",
  theLeft: "the last good run",
  theRight: "this run",
  areRuns: true,
};

/** Parameter of the address: the id of the good run, or this until it is found. */
const PARAMETER = "compare";
const LAST_GOOD = "last-good";

export interface Comparing {
  /** Why there is nothing to compare. */
  readonly forbidden: string | undefined;
  readonly isOpen: boolean;
  readonly open: () => void;
}

export function useComparing({ status, result, lastFailure }: InvocationSummary): Comparing {
  const [parameters, change] = useAddress();
  return {
    forbidden: whyNotCompare({
      status,
      isGood: status === "completed" && result === "success",
      hasFailed: lastFailure !== undefined,
    }),
    isOpen: parameters.has(PARAMETER),
    open: () => change({ [PARAMETER]: LAST_GOOD }),
  };
}

/** Below a failure, where users need it; the menu of the page has the same. */
export function CompareButton({ comparing }: { readonly comparing: Comparing }) {
  if (comparing.forbidden !== undefined || comparing.isOpen) return null;
  return (
    <div>
      <Button isSmall onClick={comparing.open}>
        Compare with the last good run
      </Button>
    </div>
  );
}

/** Shown when the address has the parameter. */
export function LastGoodSection({ facts }: { readonly facts: InvocationSummary }) {
  const [parameters, change] = useAddress();
  const chosen = parameters.get(PARAMETER);
  return chosen === null ? null : (
    <OpenSection
      facts={facts}
      chosen={chosen === LAST_GOOD ? undefined : chosen}
      onMatch={(id) => change({ [PARAMETER]: id }, false)}
      onClose={() => change({ [PARAMETER]: undefined })}
    />
  );
}

interface OpenSectionProps {
  readonly facts: InvocationSummary;
  readonly chosen: string | undefined;
  readonly onMatch: (id: string) => void;
  readonly onClose: () => void;
}

function OpenSection({ facts, chosen, onMatch, onClose }: OpenSectionProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.focus({ preventScroll: true });
    place.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <div ref={place} tabIndex={-1} className="compare">
      <Section
        title="Compared with the last good run"
        actions={
          <Button isSmall appearance="bare" aria-label="Close the comparison" onClick={onClose}>
            Close
          </Button>
        }
      >
        {chosen === undefined ? <Search facts={facts} onMatch={onMatch} /> : <Chosen key={chosen} id={chosen} facts={facts} />}
      </Section>
    </div>
  );
}

/** The id of the found run replaces the parameter: a shared link shows the same comparison later. */
function Search({ facts, onMatch }: Pick<OpenSectionProps, "facts" | "onMatch">) {
  const query = useRequest(["compare", "last-good", facts.id], async ({ admin }, signal) => {
    const id = (await admin.sql.query(lastGoodStatement(facts), { signal }))[0]?.["id"];
    return typeof id === "string" ? id : null;
  });
  const match = query.data ?? undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each run that is found
  useEffect(() => {
    if (match !== undefined) onMatch(match);
  }, [match]);
  return (
    <Loaded query={query}>
      {(id) =>
        id === null ? (
          <p>
            No other invocation of{" "}
            <code>
              {facts.service}/{facts.handler}
            </code>{" "}
            has succeeded whose journal is still kept.
          </p>
        ) : (
          <Loading what="The last good run" />
        )
      }
    </Loaded>
  );
}

function Chosen({ id, facts }: { readonly id: string; readonly facts: InvocationSummary }) {
  const run = useInvocation(id);
  return (
    <Loaded query={run}>
      {(good) =>
        good === null ? (
          <p>
            The invocation <ShortId id={id} copyLabel="the id" /> of this comparison is no longer there: its retention has passed,
            or it was purged.
          </p>
        ) : (
          <LoadedRuns good={good} now={facts} />
        )
      }
    </Loaded>
  );
}

function LoadedRuns({ good, now }: Pick<RunsProps, "good" | "now">) {
  const one = usePayloads(good.id, 0, "comparison");
  // Requested again when the run has made progress.
  const other = usePayloads(now.id, 0, `comparison ${now.status} ${now.journalSize} ${now.attempts}`);
  return (
    <Loaded query={one}>
      {(left) => <Loaded query={other}>{(right) => <Runs good={good} now={now} one={left} other={right} />}</Loaded>}
    </Loaded>
  );
}

interface RunsProps {
  readonly good: InvocationSummary;
  readonly now: InvocationSummary;
  readonly one: TimelineView;
  readonly other: TimelineView;
}

function Runs({ good, now, one, other }: RunsProps) {
  const compared = useCompared(one.steps, other.steps);
  const first = firstDifferences(compared);
  const leftOut = leftOutText(one.next_step !== null, other.next_step !== null);
  return (
    <div className="card stack">
      <p>
        <Link href={`/invocations/${encodeURIComponent(good.id)}`}>
          <ShortId id={good.id} />
        </Link>
        , which succeeded <Moment at={good.completedAt} />. {deploymentText(good, now)}
      </p>
      <FactsTable good={good} now={now} />
      {differenceTexts(first, now.status === "completed").map((text) => (
        <p key={text} className="compare__text">
          {text}
        </p>
      ))}
      {leftOut !== undefined && <p className="quiet">{leftOut}</p>}
      <ComparedSteps compared={compared} sides={SIDES} marked={first.outcome} />
    </div>
  );
}

function useCompared(left: readonly StepView[], right: readonly StepView[]) {
  return useMemo(() => compareSteps(left, right, { areKeysIgnored: true }), [left, right]);
}

function FactsTable({ good, now }: Pick<RunsProps, "good" | "now">) {
  const nowMs = useNow();
  return (
    <table className="compare__facts">
      <thead>
        <tr>
          <td />
          <th scope="col">{SIDES.left}</th>
          <th scope="col">{SIDES.right}</th>
        </tr>
      </thead>
      <tbody>
        {comparedFacts(good, now, nowMs).map(({ name, good: one, now: other, isOther }) => (
          <tr key={name} className={isOther ? "compare__other" : undefined}>
            <th scope="row">{name}</th>
            <td>{one}</td>
            <td>{other}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
