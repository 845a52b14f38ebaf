/**
 * What a suspended handler waits for (§2.5 Future, §9.1): a tree whose leaves are completions and signals. v5 and v6 send
 * flat lists, which are the one-level tree "any of these" without a combinator. The wire format of v7 is also how the
 * tree is stored: it is compact, and a stored tree stays readable by anything that reads the protocol.
 */
import { ProtoReader, ProtoWriter } from "@perdure/base";
import { enter, leave, lengthTag, varintTag, writeNumber } from "./codec/nested.js";
import { futureDepthMax } from "./limits.js";

/** Rule by which a node counts as resolved; see `evaluateFuture`. "unknown" resolves with its first child, whatever its outcome. */
export type Combinator =
  | "unknown"
  | "firstCompleted"
  | "allCompleted"
  | "firstSucceededOrAllFailed"
  | "allSucceededOrFirstFailed";

export interface Future {
  readonly completions: readonly number[];
  readonly signalIndexes: readonly number[];
  readonly signalNames: readonly string[];
  readonly nested: readonly Future[];
  readonly combinator: Combinator;
}

/** Combinators in the order of their numbers on the wire. */
const combinators: readonly Combinator[] = [
  "unknown",
  "firstCompleted",
  "allCompleted",
  "firstSucceededOrAllFailed",
  "allSucceededOrFirstFailed",
];

/** The tree of a v5 or v6 suspension: any one of the listed ids. */
export function futureFromLists(
  completions: readonly number[],
  signalIndexes: readonly number[] = [],
  signalNames: readonly string[] = [],
): Future {
  return { completions, signalIndexes, signalNames, nested: [], combinator: "unknown" };
}

/** Whether the future has no leaf: such a wait would never end, so a suspension on it is RT0012. */
export function isEmptyFuture(future: Future): boolean {
  return (
    future.completions.length === 0 &&
    future.signalIndexes.length === 0 &&
    future.signalNames.length === 0 &&
    future.nested.every(isEmptyFuture)
  );
}

/** Whether the tree has more than `futureDepthMax` levels; stops at the first level too many. */
export function isTooDeep(future: Future, levelsLeft: number = futureDepthMax): boolean {
  return levelsLeft === 0 || future.nested.some((child) => isTooDeep(child, levelsLeft - 1));
}

/** Every completion id in the tree, in tree order, duplicates kept. */
export function waitingCompletions(future: Future): number[] {
  const ids: number[] = [];
  collect(future, (node) => node.completions, ids);
  return ids;
}

/** Every signal index in the tree, in tree order, duplicates kept. */
export function waitingSignals(future: Future): number[] {
  const indexes: number[] = [];
  collect(future, (node) => node.signalIndexes, indexes);
  return indexes;
}

/** Every signal name in the tree, in tree order, duplicates kept. */
export function waitingNamedSignals(future: Future): string[] {
  const names: string[] = [];
  collect(future, (node) => node.signalNames, names);
  return names;
}

function collect<T>(future: Future, leaves: (node: Future) => readonly T[], into: T[]): void {
  for (const leaf of leaves(future)) into.push(leaf);
  for (const child of future.nested) collect(child, leaves, into);
}

/** The tree has more levels than `futureDepthMax`: RT0025. Thrown while reading, turned into a fault by the decoders. */
export class FutureTooDeep extends Error {
  override readonly name = "FutureTooDeep";
}

/** Reads the `Future` submessage the reader stands before. Throws `FutureTooDeep` or `ProtoError`. */
export function readFuture(r: ProtoReader, levelsLeft: number = futureDepthMax): Future {
  const outerEnd = enter(r);
  const future = readFutureFields(r, levelsLeft);
  leave(r, outerEnd);
  return future;
}

function readFutureFields(r: ProtoReader, levelsLeft: number): Future {
  if (levelsLeft === 0) throw new FutureTooDeep(`awaited future has more than ${futureDepthMax} levels`);
  const completions: number[] = [];
  const signalIndexes: number[] = [];
  const signalNames: string[] = [];
  const nested: Future[] = [];
  let combinator: Combinator = "unknown";
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) r.packedUint32(completions);
    else if (tag === varintTag(1)) completions.push(r.uint32());
    else if (tag === lengthTag(2)) r.packedUint32(signalIndexes);
    else if (tag === varintTag(2)) signalIndexes.push(r.uint32());
    else if (tag === lengthTag(3)) signalNames.push(r.string());
    else if (tag === lengthTag(4)) nested.push(readFuture(r, levelsLeft - 1));
    else if (tag === varintTag(5)) combinator = combinators[r.uint32()] ?? "unknown";
    else r.skip(tag & 7);
  }
  return { completions, signalIndexes, signalNames, nested, combinator };
}

/** Reads what `encodeFuture` wrote. Throws `FutureTooDeep` or `ProtoError` on bytes it did not write. */
export function decodeFuture(bytes: Uint8Array): Future {
  return readFutureFields(new ProtoReader(bytes), futureDepthMax);
}

const writer = new ProtoWriter();

/** A node ready to be written: its own lists, and the bytes it takes with everything below. */
interface MeasuredNode {
  readonly lists: Uint8Array;
  readonly children: readonly MeasuredNode[];
  readonly combinator: number;
  readonly size: number;
}

/**
 * The tree as the protocol's `Future` message. Measures first and writes then, each byte copied a fixed number of times
 * however deep it lies: trees come from outside, and the deepest may carry megabytes.
 */
export function encodeFuture(future: Future): Uint8Array {
  const root = measure(future);
  const w = writer.reset();
  writeMeasured(w, root);
  return w.finish();
}

function measure(future: Future): MeasuredNode {
  const w = writer.reset();
  w.packedUint32(1, future.completions);
  w.packedUint32(2, future.signalIndexes);
  for (const name of future.signalNames) w.string(3, name);
  const lists = w.finish();
  const children = future.nested.map(measure);
  const combinator = combinators.indexOf(future.combinator);
  let size = lists.length + (combinator === 0 ? 0 : 2);
  for (const child of children) size += nestedPrefix(child.size).length + child.size;
  return { lists, children, combinator, size };
}

function writeMeasured(w: ProtoWriter, node: MeasuredNode): void {
  w.raw(node.lists);
  for (const child of node.children) {
    w.raw(nestedPrefix(child.size));
    writeMeasured(w, child);
  }
  writeNumber(w, 5, node.combinator);
}

/** Tag of `nested_futures` and the length that follows it. */
function nestedPrefix(size: number): Uint8Array {
  const prefix = [lengthTag(4)];
  let rest = size;
  for (; rest > 127; rest >>>= 7) prefix.push((rest & 127) | 128);
  prefix.push(rest);
  return Uint8Array.from(prefix);
}
