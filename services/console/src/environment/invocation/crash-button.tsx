/** Shows that nothing is lost when a process crashes. One button cuts off the running attempt, and a note explains what happens then. */
import type { CrashedView } from "@perdure/admin-client";
import { Badge, Button, Hint } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { useChange } from "../request.js";
import { type Crash, crashStatusOf } from "./crash-status.js";
import { useTimeline } from "./invocation-data.js";

export type { Crash } from "./crash-status.js";

interface CrashButtonProps {
  readonly id: string;
  readonly onCrashed: (crash: Crash) => void;
}

/** Shows nothing where attempts cannot be cut off. */
export function CrashButton({ id, onCrashed }: CrashButtonProps) {
  const { canCrash, forbidden } = useEnvironment();
  const { data: timeline } = useTimeline(id);
  const crash = useChange<void, CrashedView>(({ admin }) => admin.invocations.crashAttempt(id), {
    failed: "The attempt was not aborted",
    // The server counts attempts since the last resume, the timeline all of them.
    onDone: ({ attempt, journal_length }) =>
      onCrashed({ journalLength: journal_length, attemptsBefore: Math.max(attempt, timeline?.attempts.at(-1)?.number ?? 0) }),
  });
  if (!canCrash) return null;
  const isRunning = timeline?.attempts.at(-1)?.isRunning === true;
  const why =
    forbidden ??
    (timeline?.isDone === true ? "The invocation is already completed." : isRunning ? undefined : "No attempt is running.");
  const button = (
    <Button isBusy={crash.isPending} forbidden={why} onClick={() => crash.mutate()}>
      Crash it
    </Button>
  );
  return why === undefined ? (
    <Hint text="Breaks the connection to your code in the middle of this attempt, as if the process had died. The server retries and replays what is stored.">
      {button}
    </Hint>
  ) : (
    button
  );
}

/** The current phase of the crash. Empty until the button is pressed. */
export function CrashNote({ id, crash }: { readonly id: string; readonly crash: Crash | undefined }) {
  const { data: timeline } = useTimeline(id);
  if (crash === undefined || timeline === undefined) return null;
  const { stage, sentence } = crashStatusOf(crash, timeline);
  return (
    <p className="card row" role="status">
      <Badge tone={stage === "goingOn" || stage === "done" ? "good" : "warn"}>{STAGES[stage]}</Badge> {sentence}
    </p>
  );
}

const STAGES = { cut: "aborting", waiting: "aborted", goingOn: "retrying", done: "done" } as const;
