/** The journal of an invocation as tests compare it. */
import { fromUtf8, type InvocationId, partitionOf } from "@perdure/base";
import { type JournalStep, readJournal } from "@perdure/diagnostics";
import type { PartitionStore } from "@perdure/storage";
import { JOURNAL_ENTRIES_MAX, PARTITION_COUNT } from "../limits.js";
import { stepLabel } from "./step-label.js";

export interface Step {
  /** The name of a run, "sleep 3d", "call Service/handler", "set key", … */
  readonly label: string;
  /** Entry type: Run, Sleep, Call, … */
  readonly type: string;
  readonly startedAt: Date;
  /** Undefined while the step is not completed. */
  readonly endedAt: Date | undefined;
  readonly status: "pending" | "success" | "failure";
  /** The result of a run or call, parsed when it is JSON; undefined when there is none. */
  readonly result: unknown;
  /** Why the step failed. */
  readonly failure: { readonly code: number; readonly message: string } | undefined;
}

export interface Journal {
  readonly invocationId: string;
  readonly target: string;
  readonly status: "scheduled" | "inboxed" | "ready" | "invoked" | "suspended" | "paused" | "completed";
  /** Without input, output and reads of state. */
  readonly steps: readonly Step[];
}

/** Undefined when the invocation is not stored, or no longer. @internal */
export async function journalOf(store: PartitionStore, id: InvocationId): Promise<Journal | undefined> {
  const partition = partitionOf(id, PARTITION_COUNT);
  const invocation = store.reads.invocation(partition, id);
  if (invocation === undefined) return undefined;
  const { steps } = readJournal(await store.readJournal(partition, id, JOURNAL_ENTRIES_MAX));
  const { service, key, handler } = invocation.facts.target;
  return {
    invocationId: id,
    target: key === undefined ? `${service}/${handler}` : `${service}/${key}/${handler}`,
    status: invocation.status,
    steps: steps.flatMap((step) => shownStep(step) ?? []),
  };
}

function shownStep(step: JournalStep): Step | undefined {
  const { command, type, startedAtMs, endedAtMs, result } = step;
  const label = command === undefined ? `${type.toLowerCase()} ${step.subject}`.trim() : stepLabel(command, startedAtMs);
  if (label === undefined) return undefined;
  return {
    label,
    type,
    startedAt: new Date(startedAtMs),
    endedAt: endedAtMs === undefined ? undefined : new Date(endedAtMs),
    status: result.kind,
    result: step.resultPayload === undefined ? undefined : parsed(step.resultPayload),
    failure: result.kind === "failure" ? { code: result.code, message: result.message } : undefined,
  };
}

function parsed(bytes: Uint8Array): unknown {
  const text = fromUtf8(bytes);
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}
