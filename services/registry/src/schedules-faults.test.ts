/**
 * Crashes, lost responses, a failing disk and slow runs, in any order. Each time of the timetable ends in exactly one of: fired once,
 * skipped, missed, waiting; and policies that allow one run at a time never have two.
 */
import { expect, test } from "@jest/globals";
import { silentLogger, systemRandom } from "@perdure/base";
import { createMemoryMetadataStore, emptyMemoryMetadata, type MetadataStore } from "@perdure/metadata";
import { createScheduleEngine, type OverlapPolicy, type ScheduleEngine, type ScheduleSpec } from "@perdure/schedules";
import { aRegistry, aSpec, FakePartitions, type InjectedFault } from "@perdure/schedules/testing";
import { VirtualClock } from "@perdure/testkit";
import fc from "fast-check";
import { createScheduleBook, type ManagedScheduleBook } from "./index.js";

const START = Date.parse("2026-11-21T12:00:00Z");
const MINUTE = 60_000;
const registry = aRegistry({ Greeter: ["service", "greet"] });

type Step =
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "crash"; readonly downMs: number }
  | { readonly kind: "trouble"; readonly with: InjectedFault; readonly times: number }
  | { readonly kind: "disk"; readonly works: boolean }
  | { readonly kind: "end" };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 3 * MINUTE }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("crash" as const), downMs: fc.integer({ min: 0, max: 10 * MINUTE }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("trouble" as const),
      with: fc.constantFrom<InjectedFault>("refuse", "lose", "hang"),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("disk" as const), works: fc.boolean() }) },
  { weight: 3, arbitrary: fc.constant({ kind: "end" as const }) },
);

/** A process on data that outlives it, and the partitions beside it. */
class Scene {
  readonly clock = new VirtualClock(START);
  readonly partitions = new FakePartitions();
  readonly #memory = emptyMemoryMetadata();
  #diskWorks = true;
  #faultsLeft = 0;
  #fault: InjectedFault = "none";
  /** The most runs that were there at once. */
  mostRunning = 0;
  manager!: ManagedScheduleBook;
  engine!: ScheduleEngine;

  async boot(): Promise<void> {
    const inner = createMemoryMetadataStore(this.#memory);
    const metadata: MetadataStore = {
      get: (key) => inner.get(key),
      list: (prefix) => inner.list(prefix),
      write: (writes) => (this.#diskWorks ? inner.write(writes) : Promise.reject(new Error("disk error by the test"))),
      [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
    };
    this.partitions.fault = () => {
      if (this.#faultsLeft === 0) return "none";
      this.#faultsLeft--;
      return this.#fault;
    };
    const ports = { metadata, registry, clock: this.clock, random: systemRandom, logger: silentLogger };
    this.manager = await createScheduleBook(ports, { scopesEnabled: false });
    this.engine = createScheduleEngine({ ...ports, book: this.manager, partitions: this.partitions });
  }

  async flush(): Promise<void> {
    for (let i = 0; i < 6; i++) await new Promise((resolve) => setImmediate(resolve));
    this.mostRunning = Math.max(this.mostRunning, this.partitions.running.length);
  }

  async pass(ms: number): Promise<void> {
    const end = this.clock.nowMs() + ms;
    while (this.clock.nowMs() < end) {
      this.clock.advanceTo(Math.min(end, this.clock.nowMs() + 20_000));
      await this.flush();
    }
  }

  /** Hanging requests stop the process for good, so time passes before the end. */
  async stop(): Promise<void> {
    let isStopped = false;
    const stopped = this.engine[Symbol.asyncDispose]().then(() => {
      isStopped = true;
    });
    await this.flush();
    while (!isStopped) {
      this.clock.advanceBy(1000);
      await this.flush();
    }
    await stopped;
    this.partitions.dropWaiters();
  }

  async take(one: Step): Promise<void> {
    switch (one.kind) {
      case "pass":
        return this.pass(one.ms);
      case "crash":
        await this.stop();
        this.clock.advanceBy(one.downMs);
        await this.boot();
        return this.flush();
      case "trouble":
        this.#fault = one.with;
        this.#faultsLeft = one.times;
        return;
      case "disk":
        this.#diskWorks = one.works;
        return;
      case "end": {
        const [oldest] = this.partitions.running;
        if (oldest !== undefined) this.partitions.end(oldest);
        return this.flush();
      }
    }
  }

  heal(): Promise<void> {
    this.#diskWorks = true;
    this.#faultsLeft = 0;
    return this.pass(MINUTE);
  }
}

async function play(spec: ScheduleSpec, steps: readonly Step[]): Promise<Scene> {
  const scene = new Scene();
  await scene.boot();
  await scene.manager.create(spec, false);
  await scene.flush();
  for (const one of steps) await scene.take(one);
  await scene.heal();
  await scene.stop();
  return scene;
}

const minutes = (scene: Scene): number => Math.floor((scene.clock.nowMs() - START) / MINUTE);

test("under allow, with everything caught up, every time fires exactly once", async () => {
  const spec = aSpec({ overlap: { kind: "allow" }, catchUp: { kind: "all", max: 1000, windowMs: 366 * 86_400_000 } });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const scene = await play(spec, steps);
      const expected = Array.from({ length: minutes(scene) }, (_, i) => START + (i + 1) * MINUTE);
      expect(scene.partitions.times.map((time) => Date.parse(time)).sort()).toEqual(expected);
      expect(scene.manager.list()[0]?.state).toMatchObject({ firedCount: expected.length, missedCount: 0, failedCount: 0 });
    }),
    { numRuns: 40 },
  );
});

test.each<[OverlapPolicy, ScheduleSpec["catchUp"]]>([
  [{ kind: "skip" }, { kind: "none" }],
  [{ kind: "skip" }, { kind: "last" }],
  [
    { kind: "queue", max: 2 },
    { kind: "all", max: 5, windowMs: 3_600_000 },
  ],
  [{ kind: "cancelPrevious" }, { kind: "last" }],
])("under %j and %j, runs never overlap and every time is accounted for", async (overlap, catchUp) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const scene = await play(aSpec({ overlap, catchUp }), steps);
      expect(scene.mostRunning).toBeLessThanOrEqual(1);
      const { firedCount, skippedCount, missedCount, failedCount, queue } = scene.manager.list()[0]!.state;
      expect(firedCount + skippedCount + missedCount + failedCount + queue.length).toBe(minutes(scene));
      expect([firedCount, failedCount]).toEqual([scene.partitions.runs.size, 0]);
      expect(new Set(scene.partitions.times).size).toBe(scene.partitions.runs.size);
    }),
    { numRuns: 40 },
  );
});
