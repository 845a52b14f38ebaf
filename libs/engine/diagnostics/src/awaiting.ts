/**
 * Resolves what a suspended handler awaits: the stored tree of completion ids becomes a tree of named things (this timer, this call, this
 * awakeable), so that an operator sees what would end the wait.
 */
import { awakeableId, type InvocationId, jsonFields } from "@perdure/base";
import { attachedId, type Combinator, cancelSignalIndex, type Future, firstUserSignalIndex } from "@perdure/service-protocol";
import { AWAITED_LEAVES_MAX } from "./limits.js";
import { attachText, type JournalStep, type ParsedJournal } from "./steps.js";

export interface AwaitNode {
  readonly kind: "node";
  /** `any`: the first that ends · `all`: all of them · `firstSuccess`, `allSuccess`: as promises do in JavaScript. */
  readonly mode: "any" | "all" | "firstSuccess" | "allSuccess";
  readonly children: readonly Awaited[];
  /** Number of leaves left out because of the bound. */
  readonly leftOut: number;
}

export type AwaitLeaf =
  | { readonly kind: "timer"; readonly step: number; readonly name: string; readonly firesAtMs: number }
  | { readonly kind: "call"; readonly step: number; readonly target: string; readonly id: InvocationId | undefined }
  | { readonly kind: "attach"; readonly step: number; readonly target: string; readonly id: InvocationId | undefined }
  | { readonly kind: "promise"; readonly step: number; readonly name: string }
  | { readonly kind: "run"; readonly step: number; readonly name: string }
  /** A command that the server answers itself; the answer is on its way. */
  | { readonly kind: "answer"; readonly step: number; readonly type: string }
  | { readonly kind: "awakeable"; readonly id: string }
  | { readonly kind: "signal"; readonly name: string }
  /** The request to cancel: nearly every wait can also end by it, and it is not what the handler waits for. */
  | { readonly kind: "cancellation" }
  /** The part of the journal that was read does not contain the command. */
  | { readonly kind: "unknown"; readonly completionId: number };

export type Awaited = AwaitNode | AwaitLeaf;

const MODES: Readonly<Record<Combinator, AwaitNode["mode"]>> = {
  unknown: "any",
  firstCompleted: "any",
  allCompleted: "all",
  firstSucceededOrAllFailed: "firstSuccess",
  allSucceededOrFirstFailed: "allSuccess",
};

/** The tree of named things; `id` is the invocation that waits. */
export function resolveFuture(future: Future, id: InvocationId, journal: ParsedJournal): AwaitNode {
  return resolve(future, id, journal, { left: AWAITED_LEAVES_MAX });
}

function resolve(future: Future, id: InvocationId, journal: ParsedJournal, budget: { left: number }): AwaitNode {
  const children: Awaited[] = [];
  let leftOut = 0;
  const add = (leaf: () => AwaitLeaf): void => {
    if (budget.left === 0) {
      leftOut++;
      return;
    }
    budget.left--;
    children.push(leaf());
  };
  for (const completion of future.completions) add(() => completionLeaf(completion, journal));
  for (const index of future.signalIndexes) add(() => signalLeaf(index, id));
  for (const name of future.signalNames) add(() => ({ kind: "signal", name }));
  for (const nested of future.nested) {
    const node = resolve(nested, id, journal, budget);
    if (node.children.length > 0) children.push(node);
    else leftOut += node.leftOut;
  }
  return { kind: "node", mode: MODES[future.combinator], children, leftOut };
}

function signalLeaf(index: number, id: InvocationId): AwaitLeaf {
  if (index === cancelSignalIndex) return { kind: "cancellation" };
  if (index >= firstUserSignalIndex) return { kind: "awakeable", id: awakeableId(id, index) };
  return { kind: "signal", name: `#${index}` };
}

function completionLeaf(completionId: number, journal: ParsedJournal): AwaitLeaf {
  const step = journal.byCompletion.get(completionId);
  if (step !== undefined) return leafOfStep(step);
  const callStep = journal.steps.find(
    ({ command }) =>
      command !== undefined && "invocationIdNotificationIdx" in command && command.invocationIdNotificationIdx === completionId,
  );
  return callStep === undefined
    ? { kind: "unknown", completionId }
    : { kind: "answer", step: callStep.index, type: callStep.type };
}

/** Returns the leaf that a pending step waits for. */
export function leafOfStep(step: JournalStep): AwaitLeaf {
  const { command, index } = step;
  switch (command?.kind) {
    case "sleep":
      return { kind: "timer", step: index, name: command.name, firesAtMs: command.wakeUpTimeMs };
    case "call":
      return { kind: "call", step: index, target: step.subject, id: step.callee };
    case "attachInvocation":
      return { kind: "attach", step: index, target: attachText(command.target), id: attachedId(command.target) };
    case "getPromise":
      return { kind: "promise", step: index, name: command.key };
    case "run":
      return { kind: "run", step: index, name: command.name };
    default:
      return { kind: "answer", step: index, type: step.type };
  }
}

/** Every leaf, in tree order, without the cancellation. */
export function leavesOf(awaited: Awaited): AwaitLeaf[] {
  if (awaited.kind === "cancellation") return [];
  return awaited.kind === "node" ? awaited.children.flatMap(leavesOf) : [awaited];
}

const COMBINATORS: ReadonlyMap<string, Combinator> = new Map([
  ["Unknown", "unknown"],
  ["FirstCompleted", "firstCompleted"],
  ["AllCompleted", "allCompleted"],
  ["FirstSucceededOrAllFailed", "firstSucceededOrAllFailed"],
  ["AllSucceededOrFirstFailed", "allSucceededOrFirstFailed"],
]);

/** Parses the tree that introspection writes; undefined for a text of another shape. */
export function futureFromJson(text: string): Future | undefined {
  return nodeFromJson(JSON.parse(text));
}

function nodeFromJson(value: unknown): Future | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const [entry] = Object.entries(value);
  const combinator = entry === undefined ? undefined : COMBINATORS.get(entry[0]);
  const children: unknown = entry?.[1];
  if (combinator === undefined || !Array.isArray(children)) return undefined;
  const completions: number[] = [];
  const signalIndexes: number[] = [];
  const signalNames: string[] = [];
  const nested: Future[] = [];
  for (const child of children) {
    const single = jsonFields(jsonFields(child)?.["Single"]);
    if (single === undefined) {
      const node = nodeFromJson(child);
      if (node !== undefined) nested.push(node);
    } else if (typeof single["CompletionId"] === "number") completions.push(single["CompletionId"]);
    else if (typeof single["SignalIndex"] === "number") signalIndexes.push(single["SignalIndex"]);
    else if (typeof single["SignalName"] === "string") signalNames.push(single["SignalName"]);
  }
  return { completions, signalIndexes, signalNames, nested, combinator };
}
