/** Batch operations run in the background; this page shows their progress and failures, and can cancel them. */
import type { BatchResultView, BatchView } from "@perdure/admin-client";
import { useState } from "react";
import { Link } from "wouter";
import {
  Badge,
  Button,
  CheckField,
  Confirmation,
  Empty,
  Facts,
  Loaded,
  Moment,
  Page,
  Section,
  ShortId,
  Table,
  type Tone,
} from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { BatchUndo } from "../operations/batch-undo.js";
import { LIVE_MS, useChange, useRequest } from "../request.js";
import { nextResults } from "./batch-results.js";
import { starterOf } from "./verbs.js";

const FAST_MS = 500;
const TONES: Readonly<Record<string, Tone>> = { running: "info", finished: "good", cancelled: "warn" };

export function BatchesPage({ id }: { readonly id: string }) {
  return id === "" ? <AllBatches /> : <OneBatch key={id} id={id} />;
}

const BACK = (
  <Link href="/invocations" className="button button--quiet">
    Back to invocations
  </Link>
);

function AllBatches() {
  const batches = useRequest(["batches"], ({ admin }, signal) => admin.batches.list({ signal }), { everyMs: LIVE_MS });
  return (
    <Page title="Batches" lead="Bulk operations on invocations, kept for a day." actions={BACK}>
      <Loaded query={batches}>
        {(all) => (
          <Table
            label="Batches"
            rows={all}
            keyOf={(batch) => batch.id}
            columns={[
              {
                name: "Operation",
                cell: (batch) => <Link href={`/invocations?batches=${encodeURIComponent(batch.id)}`}>{batch.operation}</Link>,
              },
              { name: "State", cell: (batch) => <Badge tone={toneOf(batch)}>{batch.state}</Badge> },
              { name: "Invocations", isNumber: true, cell: (batch) => batch.matched.toLocaleString("en") },
              { name: "Remaining", isNumber: true, cell: (batch) => batch.remaining.toLocaleString("en") },
              { name: "Failed", isNumber: true, cell: (batch) => batch.failed.toLocaleString("en") },
              { name: "Started", cell: (batch) => <Moment at={batch.started_at} /> },
              { name: "Started by", cell: (batch) => starterOf(batch.started_by) },
              { name: "Reason", cell: (batch) => batch.reason ?? "–" },
            ]}
            empty={
              <Empty title="No batches">
                <p>
                  Select invocations in <Link href="/invocations">the list</Link> and cancel, pause or restart them; progress and
                  results are shown here for a day.
                </p>
              </Empty>
            }
          />
        )}
      </Loaded>
    </Page>
  );
}

function toneOf({ state, failed }: BatchView): Tone {
  return state === "finished" && failed > 0 ? "warn" : (TONES[state] ?? "info");
}

function OneBatch({ id }: { readonly id: string }) {
  const [isOver, setOver] = useState(false);
  const batch = useRequest(
    ["batches", id],
    async ({ admin }, signal) => {
      const answer = await admin.batches.get(id, { signal });
      setOver(answer.state !== "running");
      return answer;
    },
    { everyMs: isOver ? false : FAST_MS },
  );
  const title = batch.data === undefined ? "Batch" : `Batch: ${batch.data.operation}`;
  return (
    <Page
      title={title}
      actions={
        <>
          {batch.data?.state === "running" && <EndButton id={id} />}
          <Link href="/invocations?batches" className="button button--quiet">
            All batches
          </Link>
          {BACK}
        </>
      }
    >
      <Loaded query={batch}>
        {(data) => (
          <>
            <Progress batch={data} />
            <BatchUndo batch={data} />
            <Results id={id} isOver={data.state !== "running"} hasFailures={data.failed > 0} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Progress({ batch }: { readonly batch: BatchView }) {
  const { matched, done, succeeded, failed, remaining } = batch;
  const summary = `${done.toLocaleString("en")} of ${matched.toLocaleString("en")} done, ${failed.toLocaleString("en")} failed`;
  return (
    <section className="card stack">
      <div className="row">
        <Badge tone={toneOf(batch)}>{batch.state}</Badge>
        <span role="status">{summary}</span>
      </div>
      <progress className="runs-progress" aria-label="Done" value={done} max={Math.max(1, matched)} />
      <Facts
        facts={[
          ["Succeeded", succeeded.toLocaleString("en")],
          ["Failed", failed.toLocaleString("en")],
          ["Remaining", remaining.toLocaleString("en")],
          ["Started", <Moment key="started" at={batch.started_at} />],
          ["Finished", <Moment key="finished" at={batch.finished_at} />],
          ["Started by", starterOf(batch.started_by)],
          ["Reason", batch.reason ?? "–"],
          ["Selection", batch.filter === null ? "list of ids" : <code key="filter">{batch.filter}</code>],
        ]}
      />
      {batch.more_matched && (
        <p className="small">
          More invocations matched than a batch can take. Start another batch for the rest when this one has finished.
        </p>
      )}
    </section>
  );
}

function EndButton({ id }: { readonly id: string }) {
  const { forbidden } = useEnvironment();
  const [isConfirming, setConfirming] = useState(false);
  const end = useChange(({ admin }) => admin.batches.cancel(id), {
    done: () => "The batch is stopped",
    failed: "The batch was not stopped",
    onDone: () => setConfirming(false),
  });
  return (
    <>
      <Button appearance="danger" forbidden={forbidden} onClick={() => setConfirming(true)}>
        Stop
      </Button>
      <Confirmation
        title="Stop batch"
        isOpen={isConfirming}
        onClose={() => setConfirming(false)}
        verb="Stop"
        isBusy={end.isPending}
        onConfirm={() => end.mutate()}
      >
        <p>Processed invocations stay processed; the remaining ones are left unchanged.</p>
      </Confirmation>
    </>
  );
}

function Results({ id, isOver, hasFailures }: { readonly id: string; readonly isOver: boolean; readonly hasFailures: boolean }) {
  const [isFailuresOnly, setFailuresOnly] = useState(false);
  /** Starts of the pages before this one. */
  const [before, setBefore] = useState<readonly (string | undefined)[]>([]);
  const cursor = before.at(-1);
  const results = useRequest(
    // Results that were requested before the end are incomplete, and no later request follows, so the end is part of the key.
    ["batches", id, "results", cursor, isFailuresOnly, isOver],
    ({ admin }, signal) => nextResults((from) => admin.batches.results(id, from, { signal }), cursor, isFailuresOnly),
    { everyMs: isOver ? false : LIVE_MS },
  );
  return (
    <Section
      title="Results"
      actions={
        <CheckField
          label="Failures only"
          isOn={isFailuresOnly}
          onChange={(isOn) => {
            setFailuresOnly(isOn);
            setBefore([]);
          }}
        />
      }
    >
      <Loaded query={results}>
        {({ rows, next }) => (
          <>
            <Table
              label="Results"
              rows={rows}
              keyOf={(result) => result.invocation_id}
              columns={[
                {
                  name: "Invocation",
                  cell: ({ invocation_id: each }) => (
                    <Link href={`/invocations/${encodeURIComponent(each)}`}>
                      <ShortId id={each} />
                    </Link>
                  ),
                },
                { name: "Result", cell: (result) => <Outcome result={result} /> },
                { name: "Message", cell: (result) => result.error ?? result.note ?? "" },
              ]}
              empty={
                <p className="quiet">
                  {isFailuresOnly ? (hasFailures ? "No failures among these." : "Nothing has failed.") : "No results yet."}
                </p>
              }
            />
            <div className="row">
              <Button
                isSmall
                forbidden={before.length === 0 ? "This is the first page" : undefined}
                onClick={() => setBefore(before.slice(0, -1))}
              >
                Previous
              </Button>
              <Button
                isSmall
                forbidden={next === undefined ? "This is the last page" : undefined}
                onClick={() => setBefore([...before, next])}
              >
                Next
              </Button>
            </div>
          </>
        )}
      </Loaded>
    </Section>
  );
}

function Outcome({ result }: { readonly result: BatchResultView }) {
  if (result.result === "failed") return <Badge tone="bad">{`failed (${result.status})`}</Badge>;
  const copy = result.new_invocation_id;
  if (copy === undefined) return <Badge tone="good">{result.status === 202 ? "accepted" : "done"}</Badge>;
  return (
    <span className="row">
      <Badge tone="good">done</Badge>
      <Link href={`/invocations/${encodeURIComponent(copy)}`}>the new invocation</Link>
    </span>
  );
}
