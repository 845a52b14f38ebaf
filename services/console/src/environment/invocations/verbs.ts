/** Actions on many invocations: which invocations each applies to, its effect, and its confirmation. Pure. */
import { sqlOneOf } from "@perdure/admin-client";
import type { InvocationVerb } from "@perdure/admin-contract";
import { BATCH_IDS_MAX, CONDITION_IDS_MAX, MANY } from "./limits.js";
import type { ListSelection } from "./selection.js";

export interface BulkVerb {
  readonly verb: InvocationVerb;
  /** Label of the button. */
  readonly label: string;
  /** Participle in texts such as `12 were …` and `cannot be …`. */
  readonly done: string;
  readonly effect: string;
  /** Condition of the invocations to which it applies; others stay as they are. */
  readonly condition: string;
  /** The condition as text. */
  readonly which: string;
  /** Cannot be undone. */
  readonly isDanger: boolean;
  /** The user chooses a deployment to continue on. */
  readonly isMoving: boolean;
}

const UNFINISHED = { condition: "status != 'completed'", which: "invocations that are not completed" };
const COMPLETED = { condition: "status = 'completed'", which: "completed invocations" };

export const BULK_VERBS: readonly BulkVerb[] = [
  {
    verb: "cancel",
    label: "Cancel",
    done: "cancelled",
    effect:
      "Each handler gets a cancellation: what it waits for fails, and it can clean up. Invocations that they called are cancelled, too.",
    ...UNFINISHED,
    isDanger: true,
    isMoving: false,
  },
  {
    verb: "kill",
    label: "Kill",
    done: "killed",
    effect: "Each invocation ends at once. Handlers cannot clean up: work done halfway stays so.",
    ...UNFINISHED,
    isDanger: true,
    isMoving: false,
  },
  {
    verb: "pause",
    label: "Pause",
    done: "paused",
    effect: "Each invocation stops where it is until it is resumed.",
    condition: "status IN ('running', 'ready', 'backing-off')",
    which: "running, ready and backing-off invocations",
    isDanger: false,
    isMoving: false,
  },
  {
    verb: "resume",
    label: "Resume",
    done: "resumed",
    effect: "Each invocation resumes now, without waiting for its next attempt.",
    condition: "status IN ('paused', 'backing-off')",
    which: "paused and backing-off invocations",
    isDanger: false,
    isMoving: true,
  },
  {
    verb: "restart-as-new",
    label: "Restart as new",
    done: "restarted",
    effect: "For each, a new invocation starts with the same input under a new id.",
    ...COMPLETED,
    isDanger: false,
    isMoving: true,
  },
  {
    verb: "purge",
    label: "Purge",
    done: "purged",
    effect: "Each invocation is deleted with its journal and result: it can no longer be viewed, restarted or attached to.",
    ...COMPLETED,
    isDanger: true,
    isMoving: false,
  },
];

/** Target of a batch: exactly one of the two. */
interface BatchTarget {
  readonly filter?: string;
  readonly ids?: readonly string[];
}

/** `condition`: that of the list, parts joined by AND; undefined when it has none. Of more ids than a condition holds the server refuses those that do not fit. */
export function targetOfBatch(selection: ListSelection, condition: string | undefined, verb: BulkVerb): BatchTarget {
  if (selection.kind === "matching") {
    return { filter: condition === undefined ? verb.condition : `${condition} AND ${verb.condition}` };
  }
  const ids = [...selection.ids];
  return ids.length > CONDITION_IDS_MAX ? { ids } : { filter: `${sqlOneOf("id", ids)} AND ${verb.condition}` };
}

/** Why the action is not possible for so many; undefined when it is. */
export function tooManyFor(selection: ListSelection): string | undefined {
  if (selection.kind === "matching" || selection.ids.size <= BATCH_IDS_MAX) return undefined;
  return `A batch takes ${BATCH_IDS_MAX.toLocaleString("en")} selected invocations; select all matching instead`;
}

/** Text that the user must type before the action on so many; undefined when none is needed. */
export function typedFor({ verb, isDanger }: BulkVerb, count: number): string | undefined {
  return isDanger && count >= MANY ? `${verb} ${count}` : undefined;
}

/** Origin of a batch, from the server's record: the name of a user, or the program that requested it. */
export function starterOf(startedBy: string | null): string {
  if (startedBy === null) return "–";
  return startedBy.startsWith("Mozilla/") ? "a browser" : startedBy;
}
