/**
 * Stores schedules: their specs from users, and their progress from the engine. Separate from the registry's own state, because a
 * schedule changes with every firing and deployments hardly ever do.
 *
 *     change ▸ decide over what is in memory ▸ write with expected versions ▸ show
 *                  ▲──── another process was faster: read all again ────┘
 */
import {
  type Clock,
  invariant,
  type Logger,
  newScheduleId,
  type OperationId,
  PerdureError,
  present,
  type Random,
  type ScheduleId,
} from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import { type DocumentWrite, type MetadataStore, RegistryRefusal, type RestoreOutcome } from "@perdure/metadata";
import type { Timetable } from "@perdure/recurrence";
import {
  ALL_PAYLOADS_BYTES_MAX,
  applyEvent,
  freshState,
  LISTENERS_MAX,
  type RecordedEvents,
  SCHEDULES_MAX,
  type Schedule,
  type ScheduleBook,
  type ScheduleManager,
  type ScheduleRecord,
  type ScheduleSpec,
  type ScheduleState,
  timetableOfSpec,
} from "@perdure/schedules";
import { markRestored, restoreOnce } from "./deletions.js";
import { CONFLICTS_MAX, WAITING_CHANGES_MAX } from "./limits.js";
import { stateAfter } from "./schedule-change.js";
import { checkSpec } from "./schedules-check.js";
import {
  copyOfSchedule,
  deleteSchedule,
  freeName,
  keepCopy,
  putRecord,
  putState,
  readDocuments,
  SCHEDULES_PREFIX,
  takeName,
} from "./schedules-stored.js";

interface ScheduleBookPorts {
  readonly metadata: MetadataStore;
  readonly registry: RegistryView;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface ScheduleBookOptions {
  /** Whether targets may name scopes. */
  readonly scopesEnabled: boolean;
}

export interface ManagedScheduleBook extends ScheduleBook, ScheduleManager {
  /**
   * Reads everything again and publishes what another process changed. Rejects as `createScheduleBook` does; the previous state is
   * kept.
   */
  reload(): Promise<void>;
}

/** Loads the stored schedules. Rejects with META0005 when they are damaged, with the store's error when they cannot be read. */
export async function createScheduleBook(ports: ScheduleBookPorts, options: ScheduleBookOptions): Promise<ManagedScheduleBook> {
  const manager = new MetadataScheduleBook(ports, options);
  await manager.load();
  return manager;
}

interface ScheduleEntry {
  readonly schedule: Schedule;
  /** Versions of the documents. */
  readonly recordVersion: number;
  readonly stateVersion: number;
}

/** Outcome of a decision: documents to write, the memory once they are durable, and the result. */
interface ScheduleChange<T> {
  readonly writes: readonly DocumentWrite[];
  readonly show: (version: number) => void;
  readonly answer: T;
}

class MetadataScheduleBook implements ManagedScheduleBook {
  readonly #ports: ScheduleBookPorts;
  readonly #options: ScheduleBookOptions;
  #entries = new Map<ScheduleId, ScheduleEntry>();
  #names = new Map<string, ScheduleId>();
  /** Created when first needed, dropped by every change. */
  #listed: readonly Schedule[] | undefined;
  #payloadChars = 0;
  readonly #listeners = new Set<(id: ScheduleId) => void>();
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(ports: ScheduleBookPorts, options: ScheduleBookOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  get(id: ScheduleId): Schedule | undefined {
    return this.#entries.get(id)?.schedule;
  }

  list(): readonly Schedule[] {
    this.#listed ??= [...this.#entries.values()]
      .map(({ schedule }) => schedule)
      .sort(({ record: a }, { record: b }) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
    return this.#listed;
  }

  onChange(listener: (id: ScheduleId) => void): () => void {
    invariant(this.#listeners.size < LISTENERS_MAX, "listeners for schedules stop listening when they are done");
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // ── management ─────────────────────────────────────────────────────────────────────────────────

  async create(spec: ScheduleSpec, isPaused: boolean): Promise<Schedule> {
    const { clock, random, logger } = this.#ports;
    const schedule = await this.#change(() => {
      const nowMs = clock.nowMs();
      const times = this.#check(spec, nowMs, undefined);
      this.#checkCount();
      const id = newScheduleId(nowMs, random);
      const record: ScheduleRecord = { ...spec, id, version: 1, createdAtMs: nowMs, modifiedAtMs: nowMs };
      const state = { ...freshState(nowMs), isPaused };
      const made: Schedule = { record, state, times };
      return {
        writes: [putRecord(record, 0), putState(id, state, 0), takeName(record.name, id)],
        show: (version) => this.#put({ schedule: made, recordVersion: version, stateVersion: version }),
        answer: made,
      };
    });
    logger.info({ scheduleId: schedule.record.id, name: spec.name }, "schedule created");
    this.#notify(schedule.record.id);
    return schedule;
  }

  async replace(id: ScheduleId, spec: ScheduleSpec, expectedVersion: number | undefined): Promise<Schedule> {
    const { clock, logger } = this.#ports;
    const schedule = await this.#change(() => {
      const entry = this.#require(id, expectedVersion);
      const { record: old, state: oldState } = entry.schedule;
      const nowMs = clock.nowMs();
      const times = this.#check(spec, nowMs, entry);
      const record: ScheduleRecord = { ...spec, id, version: old.version + 1, createdAtMs: old.createdAtMs, modifiedAtMs: nowMs };
      const state = stateAfter(entry.schedule, record, nowMs);
      const made: Schedule = { record, state, times };
      return {
        writes: [
          putRecord(record, entry.recordVersion),
          ...(state === oldState ? [] : [putState(id, state, entry.stateVersion)]),
          ...(old.name === record.name ? [] : [freeName(old.name), takeName(record.name, id)]),
        ],
        show: (version) =>
          this.#put({ schedule: made, recordVersion: version, stateVersion: state === oldState ? entry.stateVersion : version }),
        answer: made,
      };
    });
    logger.info({ scheduleId: id, version: schedule.record.version }, "schedule changed");
    this.#notify(id);
    return schedule;
  }

  async remove(id: ScheduleId, expectedVersion: number | undefined, undo?: OperationId): Promise<void> {
    await this.#change(() => {
      const { schedule, recordVersion } = this.#require(id, expectedVersion);
      const copies = undo === undefined ? [] : [keepCopy(undo, schedule)];
      const writes = [...deleteSchedule(schedule.record, recordVersion), ...copies];
      return { writes, show: () => this.#drop(id), answer: undefined };
    });
    this.#ports.logger.info({ scheduleId: id }, "schedule removed");
    this.#notify(id);
  }

  restore(operation: OperationId): Promise<RestoreOutcome> {
    return restoreOnce(this.#ports.metadata, operation, copyOfSchedule, async ({ record, state: kept }, document) => {
      await this.#change(() => {
        const nowMs = this.#ports.clock.nowMs();
        const times = this.#check(record, nowMs, undefined);
        this.#checkCount();
        const state = { ...kept, decidedThroughMs: Math.max(kept.decidedThroughMs, nowMs) };
        return {
          writes: [putRecord(record, 0), putState(record.id, state, 0), takeName(record.name, record.id), markRestored(document)],
          show: (version) => this.#put({ schedule: { record, state, times }, recordVersion: version, stateVersion: version }),
          answer: undefined,
        };
      });
      this.#ports.logger.info({ scheduleId: record.id }, "deleted schedule restored");
      this.#notify(record.id);
    });
  }

  pause(id: ScheduleId): Promise<Schedule> {
    return this.#setPaused(id, true);
  }

  resume(id: ScheduleId): Promise<Schedule> {
    return this.#setPaused(id, false);
  }

  async #setPaused(id: ScheduleId, isPaused: boolean): Promise<Schedule> {
    const schedule = await this.#change(() => {
      const entry = this.#require(id, undefined);
      const { state: old } = entry.schedule;
      // Written unchanged: only the write proves that no other process has changed it since.
      if (old.isPaused === isPaused) return this.#stateChange(entry, old);
      // Firings during a pause are skipped on purpose.
      const decidedThroughMs = isPaused ? old.decidedThroughMs : Math.max(old.decidedThroughMs, this.#ports.clock.nowMs());
      return this.#stateChange(entry, { ...old, isPaused, decidedThroughMs });
    });
    this.#ports.logger.info({ scheduleId: id, isPaused }, "schedule paused or resumed");
    this.#notify(id);
    return schedule;
  }

  // ── the engine ─────────────────────────────────────────────────────────────────────────────────

  record(changes: readonly RecordedEvents[]): Promise<void> {
    return this.#change(() => {
      const states = new Map<ScheduleId, ScheduleState>();
      for (const { id, events } of changes) {
        const schedule = this.get(id);
        if (schedule === undefined) continue;
        let state = states.get(id) ?? schedule.state;
        for (const event of events) state = applyEvent(schedule.record, state, event);
        states.set(id, state);
      }
      const each = [...states].map(([id, state]) => this.#stateChange(present(this.#entries.get(id)), state));
      return {
        writes: each.flatMap(({ writes }) => writes),
        show: (version) => {
          for (const { show } of each) show(version);
        },
        answer: undefined,
      };
    });
  }

  // ── documents and memory ───────────────────────────────────────────────────────────────────────

  reload(): Promise<void> {
    return this.#inTurn(() => this.#catchUp());
  }

  async load(): Promise<void> {
    const { records, states } = readDocuments(await this.#ports.metadata.list(SCHEDULES_PREFIX));
    const entries = [...records].map(([id, { version: recordVersion, value: record }]): ScheduleEntry => {
      const state = states.get(id);
      const times = timetableOfSpec(record);
      if (state === undefined) throw new PerdureError("META0005", `the schedule '${id}' has lost its state`);
      if (!times.ok) throw new PerdureError("META0005", `the schedule '${id}' has an invalid ${times.field}: ${times.reason}`);
      return { schedule: { record, state: state.value, times: times.value }, recordVersion, stateVersion: state.version };
    });
    this.#entries = new Map();
    this.#names = new Map();
    this.#listed = undefined;
    this.#payloadChars = 0;
    for (const entry of entries) this.#put(entry);
  }

  #put(entry: ScheduleEntry): void {
    const { record } = entry.schedule;
    this.#drop(record.id);
    this.#entries.set(record.id, entry);
    this.#names.set(record.name, record.id);
    this.#payloadChars += record.payload.base64.length;
  }

  #drop(id: ScheduleId): void {
    this.#listed = undefined;
    const existing = this.#entries.get(id);
    if (existing === undefined) return;
    const { record } = existing.schedule;
    this.#entries.delete(id);
    if (this.#names.get(record.name) === id) this.#names.delete(record.name);
    this.#payloadChars -= record.payload.base64.length;
  }

  #stateChange(entry: ScheduleEntry, state: ScheduleState): ScheduleChange<Schedule> {
    const { record, times } = entry.schedule;
    const schedule: Schedule = { record, state, times };
    return {
      writes: [putState(record.id, state, entry.stateVersion)],
      show: (version) => {
        this.#listed = undefined;
        this.#entries.set(record.id, { schedule, recordVersion: entry.recordVersion, stateVersion: version });
      },
      answer: schedule,
    };
  }

  #check(spec: ScheduleSpec, nowMs: number, entry: ScheduleEntry | undefined): Timetable {
    const times = checkSpec(spec, {
      snapshot: this.#ports.registry.current(),
      scopesEnabled: this.#options.scopesEnabled,
      nowMs,
    });
    const owner = this.#names.get(spec.name);
    if (owner !== undefined && owner !== entry?.schedule.record.id) {
      throw new RegistryRefusal(409, undefined, `there is already a schedule named '${spec.name}': ${owner}`);
    }
    const chars = this.#payloadChars - (entry?.schedule.record.payload.base64.length ?? 0) + spec.payload.base64.length;
    if ((chars / 4) * 3 > ALL_PAYLOADS_BYTES_MAX) {
      throw new RegistryRefusal(409, undefined, `the payloads of all schedules would exceed ${ALL_PAYLOADS_BYTES_MAX} bytes`);
    }
    return times;
  }

  #checkCount(): void {
    if (this.#entries.size < SCHEDULES_MAX) return;
    throw new RegistryRefusal(409, undefined, `there are already ${SCHEDULES_MAX} schedules`);
  }

  #require(id: ScheduleId, expectedVersion: number | undefined): ScheduleEntry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new RegistryRefusal(404, undefined, `The requested schedule '${id}' does not exist`);
    const { version } = entry.schedule.record;
    if (expectedVersion !== undefined && expectedVersion !== version) {
      throw new RegistryRefusal(409, undefined, `the schedule '${id}' has version ${version}, not ${expectedVersion}`);
    }
    return entry;
  }

  /** Runs each change in its turn; a failed change does not affect the next. */
  #change<T>(decide: () => ScheduleChange<T>): Promise<T> {
    return this.#inTurn(() => this.#changeNow(decide));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    invariant(this.#waiting < WAITING_CHANGES_MAX, "waiting changes of schedules are bounded by the APIs in front");
    this.#waiting++;
    const turn = this.#tail.then(work).finally(() => this.#waiting--);
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  async #changeNow<T>(decide: () => ScheduleChange<T>): Promise<T> {
    for (let attempt = 1; attempt <= CONFLICTS_MAX; attempt++) {
      const { writes, show, answer } = await this.#decideNow(decide);
      if (writes.length === 0) return answer;
      const outcome = await this.#ports.metadata.write(writes);
      if (outcome.kind === "written") {
        show(outcome.version);
        return answer;
      }
      await this.#catchUp();
    }
    throw new PerdureError("STO0001", `${CONFLICTS_MAX} other changes came first, one after the other; try again`);
  }

  /** A name may be missing or taken here because another process changed it and the change event has not arrived yet. */
  async #decideNow<T>(decide: () => ScheduleChange<T>): Promise<ScheduleChange<T>> {
    try {
      return decide();
    } catch (refusal) {
      if (!(refusal instanceof RegistryRefusal) || refusal.status === 400) throw refusal;
      await this.#catchUp();
      return decide();
    }
  }

  async #catchUp(): Promise<void> {
    const before = this.#entries;
    await this.load();
    this.#notifyChanges(before);
  }

  /** Names that were added, removed, or have other documents than before. */
  #notifyChanges(before: ReadonlyMap<ScheduleId, ScheduleEntry>): void {
    for (const [id, { recordVersion, stateVersion }] of this.#entries) {
      const old = before.get(id);
      if (old?.recordVersion !== recordVersion || old.stateVersion !== stateVersion) this.#notify(id);
    }
    for (const id of before.keys()) if (!this.#entries.has(id)) this.#notify(id);
  }

  #notify(id: ScheduleId): void {
    for (const listener of this.#listeners) {
      try {
        listener(id);
      } catch (cause) {
        this.#ports.logger.error({ cause }, "a listener for schedules failed");
      }
    }
  }
}
