/**
 * The stored marks of conditions. A mark with an event that is still to be delivered is written before the delivery, so a crash in between
 * repeats the same event, with the same id, and no other process raises it again.
 */
import { hashString, PerdureError } from "@perdure/base";
import type { DocumentWrite, MetadataStore } from "@perdure/metadata";
import { ENVIRONMENT_EVENT_TYPES } from "@perdure/state-machine";
import { z } from "zod";
import { CONDITION_KINDS, type ConditionKind } from "./condition.js";
import { Measured } from "./measured.js";

const PREFIX = "environment-events/";
const MARK = `${PREFIX}mark/`;
const BASELINE = `${PREFIX}baseline`;

const Event = z.object({
  id: z.string(),
  type: z.enum(ENVIRONMENT_EVENT_TYPES),
  atMs: z.number().int(),
  data: z.record(z.string(), z.unknown()),
});

const ConditionMark = z.object({
  kind: z.enum(CONDITION_KINDS),
  subject: z.string(),
  about: z.object({
    services: z.array(z.string()),
    handler: z.string().optional(),
    scope: z.string().optional(),
  }),
  sinceMs: z.number().int(),
  positions: z.record(z.string(), z.number()).optional(),
  /** The event that is still to be delivered. */
  pending: Event.optional(),
  /** The condition is over; the mark is deleted after the delivery. */
  isOver: z.boolean(),
});

/** Written after each check; what cannot be read is measured anew. */
const MEASURED = `${PREFIX}measured`;

/** Deployments that existed when the first subscription began, and were not counted since: those that are drained then cause no event. */
const Baseline = z.object({ uncounted: z.array(z.string()) });

export type PendingEvent = z.output<typeof Event>;
export type ConditionMark = z.output<typeof ConditionMark>;

interface Stored<T> {
  readonly version: number;
  readonly value: T;
}

/** Another process has written the mark: what is in memory is old. */
class MarksChanged extends Error {
  constructor(key: string) {
    super(`another process has changed '${key}'`);
  }
}

export class Marks {
  readonly #store: MetadataStore;
  readonly #marks = new Map<string, Stored<ConditionMark>>();
  #baseline: Stored<readonly string[]> | undefined;
  #measured: Stored<Measured | undefined> | undefined;

  private constructor(store: MetadataStore) {
    this.#store = store;
  }

  /** Rejects with META0005 when a mark is damaged. */
  static async load(store: MetadataStore): Promise<Marks> {
    const marks = new Marks(store);
    for (const { key, version, value } of await store.list(PREFIX)) {
      if (key === MEASURED) marks.#measured = { version, value: Measured.safeParse(value).data };
      else if (key === BASELINE) marks.#baseline = { version, value: parsed(key, Baseline, value).uncounted };
      else if (key.startsWith(MARK)) marks.#marks.set(key, { version, value: parsed(key, ConditionMark, value) });
    }
    return marks;
  }

  get size(): number {
    return this.#marks.size;
  }

  all(): readonly ConditionMark[] {
    return [...this.#marks.values()].map(({ value }) => value);
  }

  of(kind: ConditionKind): readonly ConditionMark[] {
    return this.all().filter((mark) => mark.kind === kind);
  }

  /** Undefined before `setBaseline`. */
  get uncounted(): readonly string[] | undefined {
    return this.#baseline?.value;
  }

  /** Resolves when the mark is durable; throws `MarksChanged`. */
  async put(mark: ConditionMark): Promise<void> {
    const key = keyOf(mark);
    const version = await this.#write({ kind: "put", key, value: mark, expectedVersion: this.#marks.get(key)?.version ?? 0 });
    this.#marks.set(key, { version, value: mark });
  }

  async delete(mark: Pick<ConditionMark, "kind" | "subject">): Promise<void> {
    const key = keyOf(mark);
    const stored = this.#marks.get(key);
    if (stored === undefined) return;
    await this.#write({ kind: "delete", key, expectedVersion: stored.version });
    this.#marks.delete(key);
  }

  async setBaseline(uncounted: readonly string[]): Promise<void> {
    const expectedVersion = this.#baseline?.version ?? 0;
    const version = await this.#write({ kind: "put", key: BASELINE, value: { uncounted }, expectedVersion });
    this.#baseline = { version, value: uncounted };
  }

  async deleteBaseline(): Promise<void> {
    if (this.#baseline === undefined) return;
    await this.#write({ kind: "delete", key: BASELINE, expectedVersion: this.#baseline.version });
    this.#baseline = undefined;
  }

  get measured(): Measured | undefined {
    return this.#measured?.value;
  }

  /** Undefined deletes it. */
  async setMeasured(value: Measured | undefined): Promise<void> {
    if (value === undefined && this.#measured === undefined) return;
    const expectedVersion = this.#measured?.version ?? 0;
    const kept = { key: MEASURED, expectedVersion };
    const version = await this.#write(value === undefined ? { kind: "delete", ...kept } : { kind: "put", ...kept, value });
    this.#measured = value === undefined ? undefined : { version, value };
  }

  async #write(write: DocumentWrite): Promise<number> {
    const outcome = await this.#store.write([write]);
    if (outcome.kind === "conflict") throw new MarksChanged(outcome.key);
    return outcome.version;
  }
}

/** Subjects have names that users choose, so the key has their hash. */
function keyOf({ kind, subject }: Pick<ConditionMark, "kind" | "subject">): string {
  return `${MARK}${kind}/${hashString(subject).toString(36)}`;
}

function parsed<T>(key: string, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new PerdureError("META0005", `the metadata document '${key}' is damaged: ${result.error.message}`);
}
