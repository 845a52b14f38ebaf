/** Compares the steps of two invocations, such as of a source and its fork, entry by entry. Pure. */
import type { PayloadView, StepView } from "./views.js";

/** `changed`: the same step with another argument or result. `left`, `right`: only one of the two has the step. */
export type StepDifference = "same" | "changed" | "left" | "right";

export interface ComparedStep {
  readonly difference: StepDifference;
  readonly left: StepView | undefined;
  readonly right: StepView | undefined;
}

/** Steps of one side that are aligned; the time for it grows with the product of both sides. Longer journals are cut. */
export const COMPARED_STEPS_MAX = 1_000;

interface CompareOptions {
  /**
   * Calls of one handler are paired whatever the key of its object is, and steps about an id whatever that is: two runs that are not copies of
   * each other have other inputs and ids.
   */
  readonly areKeysIgnored?: boolean | undefined;
}

/**
 * Aligns both lists so that as many steps as possible are paired, in their order. Payloads are compared as far as the timelines show them,
 * and by their sizes.
 */
export function compareSteps(
  left: readonly StepView[],
  right: readonly StepView[],
  { areKeysIgnored = false }: CompareOptions = {},
): readonly ComparedStep[] {
  const [a, b] = [left.slice(0, COMPARED_STEPS_MAX), right.slice(0, COMPARED_STEPS_MAX)];
  const keyOf = areKeysIgnored ? keyWithoutIds : exactKey;
  const pairs = longestPairs(a.map(keyOf), b.map(keyOf));
  const compared: ComparedStep[] = [];
  let [i, j] = [0, 0];
  for (const [toLeft, toRight] of [...pairs, [a.length, b.length] as const]) {
    for (; i < toLeft; i++) compared.push({ difference: "left", left: a[i], right: undefined });
    for (; j < toRight; j++) compared.push({ difference: "right", left: undefined, right: b[j] });
    const [one, other] = [a[i++], b[j++]];
    if (one === undefined || other === undefined) break;
    compared.push({ difference: isSame(one, other) ? "same" : "changed", left: one, right: other });
  }
  return compared;
}

function exactKey({ type, name, subject }: StepView): string {
  // The subject of a signal is its index, which both sides number alike.
  return `${type}\n${name}\n${subject}`;
}

const CALLS: ReadonlySet<string> = new Set(["Call", "OneWayCall"]);
const ABOUT_IDS: ReadonlySet<string> = new Set(["AttachInvocation", "GetInvocationOutput", "CompleteAwakeable", "SendSignal"]);

function keyWithoutIds(step: StepView): string {
  if (ABOUT_IDS.has(step.type)) return exactKey({ ...step, subject: "" });
  // `Stock/sofa/take`: the key may contain slashes.
  return CALLS.has(step.type) ? exactKey({ ...step, subject: step.subject.replace(/\/.*\//s, "/*/") }) : exactKey(step);
}

function isSame(left: StepView, right: StepView): boolean {
  return (
    left.subject === right.subject &&
    left.result === right.result &&
    left.failure?.code === right.failure?.code &&
    left.failure?.message === right.failure?.message &&
    left.bytes === right.bytes &&
    left.result_bytes === right.result_bytes &&
    textOf(left.payload) === textOf(right.payload) &&
    textOf(left.result_payload) === textOf(right.result_payload)
  );
}

function textOf(payload: PayloadView | null | undefined): string | undefined {
  if (payload === null || payload === undefined) return undefined;
  return String("text" in payload ? payload.text : payload["base64"]);
}

/** A longest common subsequence, as pairs of indexes. */
function longestPairs(a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] {
  const width = b.length + 1;
  // Cell (i, j): number of pairs in a[i…] and b[j…].
  const counts = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => counts[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      counts[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}
