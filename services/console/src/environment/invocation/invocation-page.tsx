/** The page of one invocation: facts, explanation of its status, timeline, journal and actions. */
import type { ExplanationView } from "@perdure/admin-client";
import { useState } from "react";
import { Link, useParams, useSearchParams } from "wouter";
import { Breakable, Empty, InvocationBadge, Loading, Page, ProblemNote, Section } from "../../kit/index.js";
import { useBundleDownload } from "../bundle/use-bundle-download.js";
import { CompareButton, LastGoodSection, useComparing } from "../compare/last-good-section.js";
import { useEnvironment } from "../environment.js";
import { useForkPlace } from "../fork/fork-address.js";
import { ForkDialog } from "../fork/fork-dialog.js";
import { ForkSection } from "../fork/fork-section.js";
import { whyNotFork } from "./action-rules.js";
import { ActionBar, useInvocationActions } from "./actions.js";
import { CrashButton, CrashNote } from "./crash-button.js";
import type { Crash } from "./crash-status.js";
import { ExplanationPanel } from "./explanation-panel.js";
import { Failures } from "./failures.js";
import { HeadFacts } from "./head.js";
import { InputOutput } from "./input-output.js";
import { isGone, useExplanation, useInvocation, useTimeline } from "./invocation-data.js";
import type { InvocationSummary } from "./invocation-facts.js";
import { Journal } from "./journal.js";
import { StepDetails } from "./step-details.js";
import { Timeline } from "./timeline.js";
import "./invocation.css";

export default function InvocationPage() {
  const { invocation = "" } = useParams();
  return <OneInvocation key={invocation} id={invocation} />;
}

function OneInvocation({ id }: { readonly id: string }) {
  const query = useInvocation(id);
  const again = () => void query.refetch();
  if (query.data === null || isGone(query.error)) return <Gone id={id} />;
  if (query.data === undefined) {
    return (
      <Page title="Invocation">
        {query.isError ? <ProblemNote cause={query.error} onRetry={again} /> : <Loading what="The invocation" />}
      </Page>
    );
  }
  return (
    <LoadedInvocation
      facts={query.data}
      problem={query.isError ? <ProblemNote cause={query.error} title="This page is out of date." onRetry={again} /> : undefined}
    />
  );
}

function LoadedInvocation({ facts, problem }: { readonly facts: InvocationSummary; readonly problem: React.ReactNode }) {
  const { id, target, status, result, completionFailure, isWorkflow, journalSize } = facts;
  const { forbidden } = useEnvironment();
  const fork = useForkPlace();
  const notForked = forbidden ?? whyNotFork(journalSize);
  const [crash, setCrash] = useState<Crash>();
  const { actions, dialogs } = useInvocationActions({ id, target, facts: { status, isWorkflow, journalSize } });
  const download = useBundleDownload(id);
  const explanation = useExplanation(id);
  const isDone = status === "completed";
  const comparing = useComparing(facts);
  return (
    <Page
      title={target}
      heading={
        <span className="inv-heading">
          <span>
            <Breakable text={target} />
          </span>{" "}
          <InvocationBadge status={status} result={result} failure={completionFailure} />
        </span>
      }
      actions={
        <>
          {!isDone && <CrashButton id={id} onCrashed={setCrash} />}
          <ActionBar
            actions={actions}
            isDone={isDone}
            more={[
              { label: "Fork …", icon: "fork", forbidden: notForked, onSelect: () => fork.open(0) },
              {
                label: "Compare with the last good run",
                icon: "columns",
                forbidden: comparing.forbidden,
                onSelect: comparing.open,
              },
              download,
            ]}
          />
        </>
      }
    >
      {problem}
      <CrashNote id={id} crash={crash} />
      {!isDone && explanation.data !== undefined && <ExplanationPanel id={id} explanation={explanation.data} actions={actions} />}
      {!isDone && explanation.data === undefined && explanation.isError && (
        <ProblemNote
          cause={explanation.error}
          title="The explanation of its status could not be read."
          onRetry={() => void explanation.refetch()}
        />
      )}
      <HeadFacts facts={facts} afterFailure={<CompareButton comparing={comparing} />} />
      <LastGoodSection facts={facts} />
      <TimelineSection facts={facts} crash={crash} actions={actions} explanation={isDone ? undefined : explanation.data} />
      {dialogs}
      {fork.at !== undefined && notForked === undefined && (
        <ForkDialog id={id} target={target} isWorkflow={isWorkflow} at={fork.at} onClose={fork.close} />
      )}
    </Page>
  );
}

interface TimelineSectionProps {
  readonly facts: InvocationSummary;
  readonly crash: Crash | undefined;
  readonly actions: ReturnType<typeof useInvocationActions>["actions"];
  readonly explanation: ExplanationView | undefined;
}

function TimelineSection({ facts, crash, actions, explanation }: TimelineSectionProps) {
  const { id, restartedFrom, status } = facts;
  const [search, setSearch] = useSearchParams();
  const { data: timeline } = useTimeline(id);
  const chosen = search.get("step");
  const index = chosen === null ? undefined : Number(chosen);
  const step = timeline?.steps.find((each) => each.index === index);
  const choose = (next: number | undefined) =>
    setSearch((now) => {
      const search = new URLSearchParams(now);
      if (next === undefined) search.delete("step");
      else search.set("step", String(next));
      return search;
    });
  return (
    <>
      <Section title="Timeline">
        <Timeline id={id} step={step?.index} onStep={choose} crash={crash} explanation={explanation} />
        {timeline !== undefined && step !== undefined && (
          <StepDetails key={step.index} timeline={timeline} step={step} actions={actions} onClose={() => choose(undefined)} />
        )}
      </Section>
      {timeline !== undefined && (
        <>
          <InputOutput timeline={timeline} />
          {restartedFrom !== undefined && (
            <ForkSection id={id} source={restartedFrom} fork={timeline.fork} isDone={status === "completed"} />
          )}
          <Failures timeline={timeline} />
          <Journal timeline={timeline} actions={actions} />
        </>
      )}
    </>
  );
}

function Gone({ id }: { readonly id: string }) {
  return (
    <Page title="Invocation">
      <Empty title="Invocation not found">
        <p>
          <code className="inv-id">{id}</code>
        </p>
        <p>
          Completed invocations are deleted when their retention has passed or when they are purged; invocations that are
          cancelled before they start leave no record. Or the id is incomplete or belongs to another environment.
        </p>
        <p>
          <Link href="/invocations">All invocations</Link>
        </p>
      </Empty>
    </Page>
  );
}
