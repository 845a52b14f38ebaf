/** Submits firings to the partitions: a firing is submitted until a response says that it is stored, or the timeout ends. */
import type { Clock, InvocationId } from "@perdure/base";
import type { Detach, Partitions } from "@perdure/control";
import type { Invoke } from "@perdure/state-machine";
import { SUBMIT_TIMEOUT_MS } from "./limits.js";

type Submission =
  /** Durable. */
  | { readonly kind: "stored" }
  /** An invocation that this schedule did not create has this id. */
  | { readonly kind: "taken" }
  /** The command may or may not be stored; it may be submitted again. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** Receives the end of the run, once. `lost`: no report will come; watch the run again. */
interface RunObserver {
  ended(): void;
  lost(): void;
}

interface SubmissionPorts {
  readonly partitions: Partitions;
  readonly clock: Clock;
}

/** Submits a command. With an observer the run is watched after it was stored; `detach` of the result ends that. */
export function submit(
  { partitions, clock }: SubmissionPorts,
  command: Invoke,
  observer: RunObserver | undefined,
): Promise<{ readonly submission: Submission; readonly watch: Detach }> {
  return new Promise((resolve) => {
    let isFinished = false;
    let watch: Detach | undefined;
    const finish = (submission: Submission) => {
      if (isFinished) return;
      isFinished = true;
      timeout.cancel();
      const detach = () => watch?.detach();
      if (submission.kind !== "stored") queueDetach(detach);
      resolve({ submission, watch: { detach } });
    };
    const timeout = clock.setTimer(SUBMIT_TIMEOUT_MS, () => finish({ kind: "unavailable", reason: "no answer in time" }));
    watch = partitions.invoke(command, observer !== undefined, {
      submitted(previous) {
        // An id made of our own mark is ours whichever process submitted it; the id of a workflow may come from any caller.
        const isOurs = previous === undefined || command.facts.idempotencyKey !== undefined;
        finish(isOurs ? { kind: "stored" } : { kind: "taken" });
      },
      completed: () => observer?.ended(),
      unavailable(reason) {
        if (isFinished) observer?.lost();
        else finish({ kind: "unavailable", reason });
      },
    });
  });
}

/** The observer may be called before `invoke` has returned the function that detaches it. */
function queueDetach(detach: () => void): void {
  Promise.resolve().then(detach);
}

/** Watches a run that was submitted before; a run whose record no longer exists has ended. */
export function watchRun(partitions: Partitions, id: InvocationId, observer: RunObserver): Detach {
  return partitions.attach(id, {
    completed: () => observer.ended(),
    notFound: () => observer.ended(),
    unavailable: () => observer.lost(),
  });
}
