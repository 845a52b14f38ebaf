/**
 * Random programs that end by themselves. Two rules keep them from waiting for each other in circles: a handler that holds an object's
 * lock waits only for objects with a higher number, and a handler that several callers may share (idempotent calls, workflows) takes no
 * lock and calls no shared handler itself.
 */
import type { SeededRandom } from "@perdure/testkit";
import { PROGRAM_DEPTH_MAX, PROGRAM_OPERATIONS_MAX } from "../limits.js";
import type { CalledHandler, HandlerProgram, ProgramOperation } from "./program.js";

/** Objects are numbered: `k0`, `k1`, … */
const objectKey = (object: number): string => `k${object}`;
const STATE_KEYS = ["a", "b", "longer-key"] as const;
const COUNTERS = ["n", "m"] as const;
const PROMISES = ["p", "q"] as const;

/** The operations that a program may contain, by its place. */
interface Setting {
  readonly depth: number;
  /** Number of objects. */
  readonly objects: number;
  /** Lowest object whose lock it may wait for; undefined: none. */
  readonly lockFrom: number | undefined;
  readonly state: "none" | "read" | "write";
  readonly promises: boolean;
  readonly operationsLeft: { count: number };
  /** Whether it may call handlers that other programs call as well. */
  readonly shares: boolean;
  /** Whether it begins by notifying its caller. */
  readonly answersCaller: boolean;
}

/** A top-level request: its target and its program. */
export function drawRequest(
  random: SeededRandom,
  objects: number,
  nextKey: () => string,
): { to: CalledHandler; program: HandlerProgram } {
  const base = { depth: 0, objects, operationsLeft: { count: PROGRAM_OPERATIONS_MAX }, shares: true, answersCaller: false };
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
    case 3: {
      return exclusive(random, random.below(objects), base);
    }
    case 4:
      return {
        to: shared(random, objects),
        program: drawProgram(random, { ...base, lockFrom: 0, state: "read", promises: false }),
      };
    case 5:
    case 6:
      return { to: { service: "W", handler: "run", key: nextKey() }, program: workflowRun(random, base) };
    default:
      return { to: PLAIN, program: drawProgram(random, { ...base, lockFrom: 0, state: "none", promises: false }) };
  }
}

/** The shared handler of the caller's own object, which may run beside it. */
const OWN_READER: CalledHandler = { service: "O", handler: "r", key: "=" };
const PLAIN: CalledHandler = { service: "S", handler: "h", key: "" };
type Base = Pick<Setting, "depth" | "objects" | "operationsLeft" | "shares" | "answersCaller">;

function exclusive(random: SeededRandom, object: number, base: Base): { to: CalledHandler; program: HandlerProgram } {
  const to: CalledHandler = { service: "O", handler: "h", key: objectKey(object) };
  return { to, program: drawProgram(random, { ...base, lockFrom: object + 1, state: "write", promises: false }) };
}

function shared(random: SeededRandom, objects: number): CalledHandler {
  return { service: "O", handler: "r", key: objectKey(random.below(objects)) };
}

function workflowRun(random: SeededRandom, base: Base): HandlerProgram {
  return drawProgram(random, { ...base, lockFrom: undefined, shares: false, state: "write", promises: true });
}

function drawProgram(random: SeededRandom, setting: Setting): HandlerProgram {
  const operations: ProgramOperation[] = setting.answersCaller ? [{ op: "tellCaller" }] : [];
  const count = 1 + random.below(setting.depth === 0 ? 8 : 4);
  for (let n = 0; n < count && setting.operationsLeft.count > 0; n++) {
    setting.operationsLeft.count--;
    operations.push(drawOperation(random, setting));
  }
  if (random.chance(0.05) && !setting.answersCaller) operations.push({ op: "fail" });
  return { operations };
}

function drawOperation(random: SeededRandom, setting: Setting): ProgramOperation {
  const later = random.chance(0.35);
  if (setting.state === "write" && !setting.promises && setting.depth < PROGRAM_DEPTH_MAX && random.chance(0.08)) {
    const program: HandlerProgram = { operations: [{ op: "get", key: "n" }] };
    return { op: "call", to: OWN_READER, program, idempotencyKey: undefined, later: true };
  }
  if (setting.state !== "none" && random.chance(0.5)) return drawStateOperation(random, setting.state === "write");
  if (setting.promises && random.chance(0.35)) return drawPromiseOperation(random, later);
  switch (random.below(14)) {
    case 0:
    case 1:
    case 2:
      return { op: "run", ms: random.pick([0, 5, 400]), fails: random.chance(0.1), later };
    case 3:
    case 4:
      return { op: "sleep", ms: random.pick([0, 3, 50, 2_000, 70_000]), later };
    case 5:
    case 6:
    case 7:
      return setting.depth < PROGRAM_DEPTH_MAX ? drawCall(random, setting, later) : { op: "run", ms: 1, fails: false, later };
    case 8:
      return setting.depth < PROGRAM_DEPTH_MAX ? drawSend(random, setting) : { op: "sleep", ms: 1, later };
    case 9:
      return { op: "awakeable", by: "outside", later };
    case 10:
      return setting.depth < PROGRAM_DEPTH_MAX
        ? random.chance(0.5)
          ? { op: "awakeable", by: "callee", later }
          : { op: "namedSignal", name: random.pick(["x", "ÿ"]), later }
        : { op: "awakeable", by: "outside", later };
    case 11:
      return random.pick<ProgramOperation>([
        { op: "output", child: random.below(4) },
        { op: "cancelChild", child: random.below(4) },
        { op: "attach", child: random.below(4), later },
      ]);
    default:
      return { op: "join", how: random.pick(["all", "first", "settled", "anySuccess", "unknown"] as const) };
  }
}

function drawStateOperation(random: SeededRandom, writes: boolean): ProgramOperation {
  const key = random.pick(STATE_KEYS);
  if (!writes) return random.chance(0.7) ? { op: "get", key: random.pick([...STATE_KEYS, ...COUNTERS]) } : { op: "keys" };
  switch (random.below(10)) {
    case 0:
      return { op: "get", key };
    case 1:
      return { op: "set", key };
    case 2:
      return { op: "clear", key };
    case 3:
      return { op: "keys" };
    case 4:
      return { op: "clearAll" };
    default:
      return { op: "count", counter: random.pick(COUNTERS) };
  }
}

function drawPromiseOperation(random: SeededRandom, later: boolean): ProgramOperation {
  const name = random.pick(PROMISES);
  switch (random.below(3)) {
    case 0:
      return { op: "getPromise", name, helped: true, later };
    case 1:
      return { op: "peekPromise", name };
    default:
      return { op: "completePromise", name };
  }
}

function drawCall(random: SeededRandom, setting: Setting, later: boolean): ProgramOperation {
  const { objects, operationsLeft, shares } = setting;
  const base = { depth: setting.depth + 1, objects, operationsLeft, shares, answersCaller: false };
  const lock = setting.lockFrom === undefined || setting.lockFrom >= objects ? undefined : setting.lockFrom;
  if (lock !== undefined && random.chance(0.5)) {
    const callee = exclusive(random, lock + random.below(objects - lock), base);
    return { op: "call", ...callee, idempotencyKey: undefined, later };
  }
  switch (setting.shares ? random.below(5) : 2 + random.below(3)) {
    case 0: {
      const program = drawProgram(random, { ...base, lockFrom: undefined, shares: false, state: "none", promises: false });
      return { op: "call", to: PLAIN, program, idempotencyKey: random.pick(["i1", "i2", "i3"]), later };
    }
    case 1:
      return {
        op: "call",
        to: { service: "W", handler: "run", key: random.pick(["w1", "w2"]) },
        program: workflowRun(random, base),
        idempotencyKey: undefined,
        later,
      };
    case 2: {
      const program = drawProgram(random, { ...base, lockFrom: setting.lockFrom, state: "read", promises: false });
      const to = setting.state === "write" && !setting.promises && random.chance(0.7) ? OWN_READER : shared(random, objects);
      return { op: "call", to, program, idempotencyKey: undefined, later };
    }
    case 3: {
      const to: CalledHandler = { service: "W", handler: "h", key: random.pick(["w1", "w2"]) };
      const program: HandlerProgram = { operations: PROMISES.map((name) => ({ op: "completePromise", name })) };
      return { op: "call", to, program, idempotencyKey: undefined, later };
    }
    default: {
      const program = drawProgram(random, { ...base, lockFrom: setting.lockFrom, state: "none", promises: false });
      return { op: "call", to: PLAIN, program, idempotencyKey: undefined, later };
    }
  }
}

/** Draws a send. No handler waits for it, so it may take any lock; but `attach` may wait for it, so it obeys the caller's rule as well. */
function drawSend(random: SeededRandom, setting: Setting): ProgramOperation {
  const call = drawCall(random, setting, false);
  if (call.op !== "call") return call;
  return { op: "send", to: call.to, program: call.program, delayMs: random.pick([0, 0, 20, 5_000, 60_000]) };
}

/** The program of a callee that only notifies its caller. */
export const ANSWER_CALLER: HandlerProgram = { operations: [{ op: "tellCaller" }] };
