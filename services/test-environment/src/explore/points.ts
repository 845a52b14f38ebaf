/** Names the points of a run so that another run of the same scenario reaches them again under the same names. */
import type { ReachedPoint } from "../transport/attempt-steps.js";

/** Numbers invocations by target, and executions of a step within its invocation, in the order in which they are reached. */
export class PointNames {
  /** Place of an invocation among those of its target. */
  readonly #invocations = new Map<string, string>();
  readonly #invocationCounts = new Map<string, number>();
  readonly #stepCounts = new Map<string, number>();

  /** Returns for example `Payments/pay#1 charge@1 before-ack`. */
  nameOf(point: ReachedPoint): string {
    const { step, side } = point;
    const where = `${this.invocationOf(point)} ${step}`;
    const count = next(this.#stepCounts, `${where} ${side}`);
    return `${where}@${count} ${side}`;
  }

  invocationOf({ service, handler, key, invocationId }: ReachedPoint): string {
    const existing = this.#invocations.get(invocationId);
    if (existing !== undefined) return existing;
    const target = key === "" ? `${service}/${handler}` : `${service}/${key}/${handler}`;
    const name = `${target}#${next(this.#invocationCounts, target)}`;
    this.#invocations.set(invocationId, name);
    return name;
  }
}

function next(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  return count;
}
