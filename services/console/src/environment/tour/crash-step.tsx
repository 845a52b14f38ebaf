/** Demonstrates durability: an attempt is cut off in the middle, and the next one continues after the completed steps. */
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { Button, ChoiceField, Loaded, ProblemNote, TextField } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { crashStatusOf } from "../invocation/crash-status.js";
import { type InvocationTimeline, readTimeline } from "../invocation/invocation-timeline.js";
import { useChange, useRequest } from "../request.js";
import { addressOf, type Callable, chosenOf } from "./handlers.js";
import { LiveSteps } from "./live-steps.js";
import type { TourProgress } from "./progress.js";
import type { TourState } from "./use-progress.js";

/** Steps take a second or so, so the page polls often enough to show each as it ends. */
const WATCH_MS = 400;

interface CrashStepProps extends Pick<TourState, "progress" | "note"> {
  readonly callables: readonly Callable[];
}

type RunningCrash = NonNullable<TourProgress["crash"]>;

export function CrashStep({ callables, progress, note }: CrashStepProps) {
  const { canCrash, needsKey } = useEnvironment();
  if (!canCrash) {
    return (
      <p>
        {needsKey
          ? "Only a local server lets you abort attempts on purpose. Recovery is the same here: when a process dies in the middle of its work, the next attempt resumes where it stopped. To see it, run the tour on your machine with “perdure dev”, or stop the process of your service while a slow handler runs."
          : "This server does not allow aborting attempts on purpose (“admin.disable-crash-attempt”). Stop the process of your service while a slow handler runs, and start it again: the invocation resumes where it stopped."}
      </p>
    );
  }
  return (
    <>
      <p>
        An attempt is one run of your handler. When its connection breaks, because the process or the machine died, another
        attempt starts and replays the completed steps. Choose a handler that takes some seconds, start it, and crash it.
      </p>
      {progress.crash === undefined ? (
        <Start callables={callables} note={note} />
      ) : (
        <Watch key={progress.crash.id} running={progress.crash} note={note} />
      )}
    </>
  );
}

function Start({ callables, note }: Pick<CrashStepProps, "callables" | "note">) {
  const { forbidden } = useEnvironment();
  const [chosen, setChosen] = useState<string>();
  const [key, setKey] = useState("ada");
  const callable = chosenOf(callables, [chosen, "Greeter/party", "Orders/assemble"]);
  const [body, setBody] = useState<string>();
  const start = useChange(
    ({ ingress }, { what, text }: { what: Callable; text: string }) =>
      ingress.send(addressOf(what, key), text === "" ? {} : { body: text }),
    { onDone: ({ invocationId }) => note({ crash: { id: invocationId, isSurvived: false } }) },
  );
  if (callable === undefined) return <p className="quiet">No registered service is public.</p>;
  const text = body ?? callable.example;
  const choose = (value: string) => {
    setChosen(value);
    setBody(undefined);
  };
  return (
    <>
      <div className="tour__line">
        <ChoiceField
          label="A handler that takes some seconds"
          value={callable.value}
          choices={callables.map(({ value }) => ({ value, label: value }))}
          onChange={choose}
        />
        {callable.needsKey && <TextField label="Key" value={key} onChange={setKey} />}
        <TextField label="Argument, as JSON" value={text} onChange={setBody} isCode spellCheck={false} />
        <Button
          appearance="primary"
          isBusy={start.isPending}
          forbidden={forbidden}
          onClick={() => start.mutate({ what: callable, text })}
        >
          Start
        </Button>
      </div>
      {start.isError && <ProblemNote cause={start.error} title="The invocation was not started." />}
    </>
  );
}

function Watch({ running, note }: { readonly running: RunningCrash; readonly note: TourState["note"] }) {
  const [isDone, setDone] = useState(running.isSurvived);
  const query = useRequest(
    ["tour", running.id],
    async ({ admin }, signal) => {
      const timeline = await admin.invocations.timeline(running.id, { signal });
      return readTimeline([timeline], timeline);
    },
    { everyMs: isDone ? false : WATCH_MS },
  );
  const isOver = query.data?.isDone === true;
  const { cut } = running;
  useEffect(() => {
    if (!isOver) return;
    setDone(true);
    if (cut !== undefined && !running.isSurvived) note({ crash: { ...running, isSurvived: true } });
  }, [isOver, cut, running, note]);
  return (
    <Loaded query={query}>
      {(timeline) => (
        <>
          <LiveSteps timeline={timeline} cut={cut} />
          <Act timeline={timeline} running={running} note={note} />
          <p className="small">
            <Link href={`/invocations/${encodeURIComponent(running.id)}`}>Full timeline</Link>
          </p>
        </>
      )}
    </Loaded>
  );
}

function Act({
  timeline,
  running,
  note,
}: {
  readonly timeline: InvocationTimeline;
  readonly running: RunningCrash;
  readonly note: TourState["note"];
}) {
  const { forbidden } = useEnvironment();
  const crash = useChange(({ admin }) => admin.invocations.crashAttempt(running.id), {
    onDone: ({ attempt, journal_length }) =>
      note({ crash: { ...running, cut: { journalLength: journal_length, attemptsBefore: attempt } } }),
  });
  const again = (
    <Button onClick={() => note({ crash: undefined })}>
      {running.cut === undefined ? "Start another one" : "Crash another one"}
    </Button>
  );
  if (running.cut !== undefined) {
    const { sentence } = crashStatusOf(running.cut, timeline);
    return (
      <>
        <p role="status" className={`tour__story${timeline.isDone ? " tour__story--done" : ""}`}>
          {sentence}
        </p>
        {timeline.isDone && <div className="row">{again}</div>}
      </>
    );
  }
  if (timeline.isDone) {
    return (
      <>
        <p role="status">The invocation completed before the crash. Try a handler that takes longer.</p>
        <div className="row">{again}</div>
      </>
    );
  }
  return (
    <>
      <div className="row">
        <Button
          appearance="danger"
          isBusy={crash.isPending}
          forbidden={forbidden ?? whyNot(timeline)}
          onClick={() => crash.mutate()}
        >
          Crash it
        </Button>
        <span className="quiet small">Breaks the connection to your code, as if its process had died.</span>
      </div>
      {crash.isError && <ProblemNote cause={crash.error} title="The attempt was not aborted." />}
    </>
  );
}

/** Why the attempt cannot be cut off yet; undefined when it can. */
function whyNot(timeline: InvocationTimeline): string | undefined {
  const isSomethingDone = timeline.steps.some(({ view, result }) => view.type !== "Input" && result === "success");
  return isSomethingDone ? undefined : "Wait until the first step is done";
}
