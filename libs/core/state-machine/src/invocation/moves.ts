/**
 * Records when an invocation stopped and when it continued, so that its timeline can be shown exactly. The moves are kept in their stored
 * form, six bytes each, so that a row is read and written without decoding them; an invocation that never stops has none.
 */
import { present } from "@perdure/base";
import type { Milestones } from "../invocation.js";

/** State after a move. `slot`: the invocation could continue, and waits for a slot in its scope or of its worker. */
export type MoveState = "running" | "suspended" | "slot" | "paused";

export interface Move {
  readonly state: MoveState;
  readonly atMs: number;
}

/** Number of newest moves that are kept: eight suspensions with their ends. Rows of long-lived loops must not grow. */
export const MOVES_KEPT_MAX = 16;

/** A move is stored as `atMs * 4 + state`, most significant byte first. The order of states is part of the stored form. */
const STATES: readonly MoveState[] = ["running", "suspended", "slot", "paused"];
const MOVE_BYTES = 6;
const HIGH = 2 ** 24;

/** Returns the milestones with one more move. When the clock goes back, the move gets the time of the previous one. */
export function withMove(milestones: Milestones, state: MoveState, atMs: number): Milestones {
  const { scheduledAtMs, inboxedAtMs, runningAtMs, completedAtMs, moves, restoredAtMs } = milestones;
  const size = moves?.length ?? 0;
  const isFull = size >= MOVES_KEPT_MAX * MOVE_BYTES;
  const kept = new Uint8Array(isFull ? size : size + MOVE_BYTES);
  let at = atMs;
  if (moves !== undefined) {
    kept.set(isFull ? moves.subarray(MOVE_BYTES) : moves);
    at = Math.max(at, Math.floor(read(moves, size - MOVE_BYTES) / STATES.length));
  }
  write(kept, kept.length - MOVE_BYTES, at * STATES.length + STATES.indexOf(state));
  return { scheduledAtMs, inboxedAtMs, runningAtMs, completedAtMs, moves: kept, restoredAtMs };
}

/** Returns the moves that are kept, oldest first. */
export function movesOf({ moves }: Milestones): readonly Move[] {
  const result: Move[] = [];
  for (let at = 0; moves !== undefined && at + MOVE_BYTES <= moves.length; at += MOVE_BYTES) {
    const move = read(moves, at);
    result.push({ state: present(STATES[move % STATES.length]), atMs: Math.floor(move / STATES.length) });
  }
  return result;
}

/** Returns when the invocation began to run, or continued last; undefined when it never did. */
export function runningSinceMs({ runningAtMs, moves }: Milestones): number | undefined {
  if (moves === undefined || moves.length < MOVE_BYTES) return runningAtMs;
  const last = read(moves, moves.length - MOVE_BYTES);
  return STATES[last % STATES.length] === "running" ? Math.floor(last / STATES.length) : runningAtMs;
}

/** Returns how often the invocation continued after a suspension or a pause; waiting for a slot of its worker is not such a stop. */
export function resumptionsIn(moves: readonly Move[]): number {
  let count = 0;
  for (const [at, { state }] of moves.entries()) {
    if (state !== "running") continue;
    const isWorkerSlot = moves[at - 1]?.state === "slot" && (moves[at - 2]?.state ?? "running") === "running";
    if (!isWorkerSlot) count++;
  }
  return count;
}

function read(bytes: Uint8Array, at: number): number {
  return half(bytes, at) * HIGH + half(bytes, at + 3);
}

function half(bytes: Uint8Array, at: number): number {
  return (present(bytes[at]) << 16) | (present(bytes[at + 1]) << 8) | present(bytes[at + 2]);
}

function write(bytes: Uint8Array, at: number, value: number): void {
  const high = Math.floor(value / HIGH);
  const low = value % HIGH;
  bytes[at] = high >>> 16;
  bytes[at + 1] = high >>> 8;
  bytes[at + 2] = high;
  bytes[at + 3] = low >>> 16;
  bytes[at + 4] = low >>> 8;
  bytes[at + 5] = low;
}
