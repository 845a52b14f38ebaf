/** An operator that pauses queues and always resumes them some time later. */
import { type VqueueId, vqueueId } from "@perdure/base";
import { queueOfLock, routeOfQueue } from "@perdure/state-machine";
import type { Leaders } from "../reach.js";
import type { SimulatedWorld } from "../world.js";

const AGAIN_MS = 200;
const PAUSE_MS = 20_000;
/** A leader that crashes never responds. */
const ANSWER_TIMEOUT_MS = 5_000;

export class Pauser {
  readonly #world: SimulatedWorld;
  readonly #cluster: Leaders;
  /** Queues that are paused, or being paused or resumed. */
  readonly paused = new Set<VqueueId>();

  constructor(world: SimulatedWorld, cluster: Leaders) {
    this.#world = world;
    this.#cluster = cluster;
  }

  /** Pauses a queue of a scope or an object, and resumes it later. */
  act(): void {
    const { scheduler, settings, ledger } = this.#world;
    const { random } = scheduler;
    const { flow } = settings;
    if (flow === undefined) return;
    const limitKey = random.pick(flow.limitKeys);
    const queue = random.chance(0.7)
      ? vqueueId({ service: "S", scope: random.pick(flow.scopes), limitKey, lockKey: undefined })
      : queueOfLock("O", `k${random.below(settings.objects)}`);
    if (this.paused.has(queue)) return;
    this.paused.add(queue);
    ledger.flow.queuePaused();
    this.#repeat("pauseQueue", queue, () =>
      scheduler.after(PAUSE_MS * random.float(), () => this.#repeat("resumeQueue", queue, () => this.paused.delete(queue))),
    );
  }

  /** Repeats the command until it is durable. */
  #repeat(kind: "pauseQueue" | "resumeQueue", queue: VqueueId, done: () => void): void {
    const id = routeOfQueue(queue);
    const { scheduler } = this.#world;
    let isOver = false;
    const again = (): void => {
      if (isOver) return;
      isOver = true;
      scheduler.after(AGAIN_MS, () => this.#repeat(kind, queue, done));
    };
    const partitions = this.#cluster.leaderFor(id)?.partitions;
    if (partitions === undefined) return again();
    this.#world.trace.note("verb", () => `${kind} ${queue}`);
    scheduler.after(ANSWER_TIMEOUT_MS, again);
    partitions.submit({ kind, id, queue }).then((answer) => {
      if (isOver) return;
      isOver = true;
      this.#world.findings.require(answer.kind === "done", "queues can be paused and resumed", () => answer.kind);
      done();
    }, again);
  }
}
