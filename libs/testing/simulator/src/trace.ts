/** The trace of a world. A failing seed is run again with its trace recorded; all other runs only compute a fingerprint. */
import type { PartitionBatch } from "@perdure/storage";
import { TRACE_LINES_MAX } from "./limits.js";

export class Trace {
  readonly #nowMs: () => number;
  readonly #startMs: number;
  readonly #lines: string[] | undefined;
  #dropped = 0;
  /** FNV-1a over the kinds and times of all events: equal for equal runs. */
  #fingerprint = 0x811c_9dc5;

  constructor(keepLines: boolean, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
    this.#lines = keepLines ? [] : undefined;
  }

  /** `text` is called only when lines are kept. */
  note(kind: string, text: () => string): void {
    const nowMs = this.#nowMs();
    this.#mix(kind.length + (kind.charCodeAt(0) << 8));
    this.#mix(Math.trunc((nowMs - this.#startMs) * 1_000));
    if (this.#lines === undefined) return;
    if (this.#lines.length >= TRACE_LINES_MAX) {
      this.#lines.splice(0, TRACE_LINES_MAX / 2);
      this.#dropped += TRACE_LINES_MAX / 2;
    }
    this.#lines.push(`${(nowMs - this.#startMs).toFixed(3).padStart(12)} ${kind.padEnd(9)} ${text()}`);
  }

  get fingerprint(): string {
    return (this.#fingerprint >>> 0).toString(16).padStart(8, "0");
  }

  get lines(): readonly string[] {
    const lines = this.#lines ?? [];
    return this.#dropped === 0 ? lines : [`… ${this.#dropped} earlier lines left out`, ...lines];
  }

  #mix(value: number): void {
    this.#fingerprint = Math.imul(this.#fingerprint ^ (value & 0xffff), 0x0100_0193);
    this.#fingerprint = Math.imul(this.#fingerprint ^ (value >>> 16), 0x0100_0193);
  }
}

/** A mutation of a batch, for traces. */
export function mutationText(mutation: PartitionBatch["mutations"][number]): string {
  switch (mutation.kind) {
    case "putInvocation":
      return `${mutation.invocation.facts.id} ${mutation.invocation.status} run ${mutation.invocation.run} journal ${mutation.invocation.journal.length}`;
    case "appendEntry":
      return `${mutation.id}[${mutation.index}] 0x${mutation.entry.type.toString(16)}`;
    case "putOutbox":
      return `outbox ${mutation.message.seq} ${mutation.message.command.kind} ${mutation.message.command.id}`;
    case "putLock":
      return `lock ${mutation.key} ${mutation.lock.holder} [${mutation.lock.head},${mutation.lock.tail})`;
    case "putState":
      return `state ${mutation.key} ${mutation.stateKey}=${Buffer.from(mutation.value)}`;
    default:
      return `${mutation.kind} ${"id" in mutation ? mutation.id : "timer" in mutation ? `${mutation.timer.kind} ${mutation.timer.id} ${mutation.timer.sequence}` : "key" in mutation ? mutation.key : "seq" in mutation ? mutation.seq : ""}`;
  }
}
