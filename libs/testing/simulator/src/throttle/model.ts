/**
 * Rules about throttled requests: a period has no more invocations than its limit, each invocation is in the period that counts it, a
 * refusal names an invocation of its key, and no row is left when periods are over. Made of what became durable, and of the requests.
 */
import type { InvocationId } from "@perdure/base";
import { decodeThrottlePeriod, type Invocation, type Invoke, type ThrottlePeriod, throttleRowId } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";

interface Period {
  readonly row: ThrottlePeriod;
  readonly count: number;
}

export class ThrottleModel {
  readonly #findings: SimulationFindings;
  /** Time on all clocks; undefined in worlds with wrong clocks. */
  readonly #wallMs: (() => number) | undefined;
  /** Request ids of the throttled requests that were sent. */
  readonly #requests = new Set<number>();
  /** Key of the row that has counted an invocation, and the id of the invocation. */
  readonly #counted = new Set<string>();
  readonly #limits = new Map<InvocationId, number>();
  /** The last period of each key, also when its row is deleted. */
  readonly #periods = new Map<InvocationId, Period>();
  readonly #rows = new Set<InvocationId>();
  /** Of the present batch: rows in their order, and throttled invocations that it creates. */
  #changes: { readonly rowId: InvocationId; readonly row: ThrottlePeriod | undefined }[] = [];
  readonly #born = new Set<InvocationId>();

  constructor(findings: SimulationFindings, wallMs: (() => number) | undefined) {
    this.#findings = findings;
    this.#wallMs = wallMs;
  }

  /** A caller is about to send the request, perhaps again. */
  sent({ facts, throttle }: Invoke): void {
    if (throttle === undefined) return;
    this.#requests.add(facts.requestId);
    this.#limits.set(throttleRowId(facts.target, throttle.key), throttle.limit);
  }

  /** A batch creates an invocation. */
  born({ facts: { id, requestId } }: Invocation): void {
    if (this.#requests.has(requestId)) this.#born.add(id);
  }

  /** Returns true: the row is that of a partition, and no handler requires it. */
  put(rowId: InvocationId, value: Uint8Array): boolean {
    this.#changes.push({ rowId, row: decodeThrottlePeriod(value) });
    return true;
  }

  deleted(rowId: InvocationId): boolean {
    this.#changes.push({ rowId, row: undefined });
    return true;
  }

  endOfBatch(): void {
    for (const { rowId, row } of this.#changes) {
      if (row === undefined) this.#rows.delete(rowId);
      else this.#counts(rowId, row);
    }
    this.#changes = [];
    const [id] = this.#born;
    this.#findings.require(id === undefined, "a throttle counts each invocation with its creation", () => `${id} is not counted`);
    this.#born.clear();
  }

  #counts(rowId: InvocationId, row: ThrottlePeriod): void {
    const before = this.#periods.get(rowId);
    const isSame = before !== undefined && this.#rows.has(rowId) && before.row.beganAtMs === row.beganAtMs;
    if (!isSame) this.#begins(before?.row, row);
    const count = isSame ? before.count + 1 : 1;
    this.#periods.set(rowId, { row, count });
    this.#rows.add(rowId);
    this.#counted.add(`${rowId} ${row.newestId}`);
    this.#findings.require(
      this.#born.delete(row.newestId),
      "a throttle counts each invocation with its creation",
      () => `${row.newestId} is counted again`,
    );
    this.#findings.require(
      count <= (this.#limits.get(rowId) ?? 0),
      "a throttle admits no more than its limit",
      () => `${rowId} has admitted ${count}`,
    );
  }

  /** A period begins when the last one is over. A clock that was wrong may have ended it early. */
  #begins(before: ThrottlePeriod | undefined, row: ThrottlePeriod): void {
    if (before === undefined || this.#wallMs === undefined) return;
    this.#findings.require(
      row.beganAtMs >= before.endsAtMs,
      "a throttle admits no more than its limit",
      () => `a period begins at ${row.beganAtMs}, before the end of the last one at ${before.endsAtMs}`,
    );
  }

  /** A caller is refused. */
  refused({ facts, throttle }: Invoke, newestId: InvocationId): void {
    const rowId = throttleRowId(facts.target, throttle?.key ?? "");
    const isOfKey = this.#counted.has(`${rowId} ${newestId}`);
    this.#findings.require(isOfKey, "a refusal names an invocation of its key", () => `${newestId} for ${rowId}`);
  }

  /** All periods are over. */
  allIsOver(): void {
    this.#findings.require(this.#rows.size === 0, "expired rows are deleted", () => `throttle keys ${[...this.#rows].join()}`);
  }
}
