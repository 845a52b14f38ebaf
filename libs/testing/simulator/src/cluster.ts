/** The leaders of a world: starts them, crashes and deposes them, and knows at every moment which of them is the rightful one. */
import type { InvocationId } from "@perdure/base";
import { Claims, Leader } from "./leader.js";
import type { Leaders, Surroundings } from "./reach.js";
import { partitionFor, type SimulatedWorld } from "./world.js";

/** Time until a crashed leader is detected and replaced. */
const TAKE_OVER_MS = 300;
/** Time that a deposed leader may continue before it is notified. */
const UNAWARE_MS = 3_000;

interface PartitionGroup {
  readonly name: string;
  readonly partitions: readonly number[];
  /** The leader started last: requests are routed to it once it leads. */
  leader: Leader;
  leaderCount: number;
}

export class Cluster implements Leaders {
  readonly #world: SimulatedWorld;
  readonly #surroundings: Surroundings;
  readonly #claims: Claims;
  readonly #groups: PartitionGroup[] = [];
  /** Leaders that have not ended. */
  readonly #leaders = new Set<Leader>();

  constructor(surroundings: Surroundings) {
    this.#world = surroundings.world;
    this.#surroundings = surroundings;
    this.#claims = new Claims(surroundings.world);
  }

  start(): void {
    for (const [n, partitions] of this.#world.settings.groups.entries()) {
      const name = `g${n}`;
      this.#groups.push({ name, partitions, leader: this.#newLeader(`${name}#1`, partitions), leaderCount: 1 });
    }
    for (const group of this.#groups) this.#run(group.leader);
    this.#startWeather();
  }

  /** Does nothing, because the weather belongs to the world. */
  calm(): void {}

  check(): void {
    for (const leader of this.#leaders) leader.check();
  }

  /** Names of leaders that have begun to close and have not finished. */
  get closing(): readonly string[] {
    return [...this.#leaders].filter((leader) => leader.stopping).map((leader) => leader.name);
  }

  /** The leader that a caller reaches for an id now; undefined while there is none. */
  leaderFor(id: InvocationId): Leader | undefined {
    return this.#leaderOf(partitionFor(this.#world, id));
  }

  #leaderOf(partition: number): Leader | undefined {
    const leader = this.#groups.find((group) => group.partitions.includes(partition))?.leader;
    return leader?.partitions === undefined ? undefined : leader;
  }

  #newLeader(name: string, partitions: readonly number[]): Leader {
    const leader = new Leader(name, partitions, {
      ...this.#surroundings,
      route: (partition) => this.#leaderOf(partition),
      claims: this.#claims,
      gone: (each) => {
        this.#leaders.delete(each);
        this.#replace(each);
      },
    });
    this.#leaders.add(leader);
    return leader;
  }

  #run(leader: Leader): void {
    leader.start().catch((cause: unknown) => {
      // A leader that is stopping because its storage failed has reported that; it is right that it does not start.
      const isOver = !leader.alive || leader.stopping || this.#groups.every((group) => group.leader !== leader);
      if (!isOver)
        this.#world.findings.report(
          "no process reports an internal error",
          `${leader.name} cannot start: ${cause instanceof Error ? cause.stack : String(cause)}`,
        );
    });
  }

  /** Starts a successor of a leader that is gone, unless one has been started already. */
  #replace(gone: Leader): void {
    const group = this.#groups.find((each) => each.leader === gone);
    if (group === undefined) return;
    const { scheduler } = this.#world;
    scheduler.after(TAKE_OVER_MS * scheduler.random.float(), () => {
      if (group.leader === gone) this.#succeed(group);
    });
  }

  /** A new leader claims the group. The former one, if it runs, is not notified. */
  #succeed(group: PartitionGroup): void {
    group.leader = this.#newLeader(`${group.name}#${++group.leaderCount}`, group.partitions);
    this.#run(group.leader);
  }

  // ── weather ────────────────────────────────────────────────────────────────────────────────────

  #startWeather(): void {
    this.#every("crashEveryMs", (group) => group.leader.crash("by itself"));
    this.#every("takeOverEveryMs", (group) => {
      const deposed = group.leader;
      this.#world.trace.note("depose", () => deposed.name);
      this.#succeed(group);
      const { scheduler } = this.#world;
      scheduler.after(UNAWARE_MS * scheduler.random.float(), () => deposed.loseLease());
    });
    this.#every("clockJumpEveryMs", ({ leader }) => {
      const skewMs = leader.clock.jump();
      this.#world.trace.note("clock", () => `${leader.name} is off by ${skewMs} ms`);
    });
  }

  /** Happens to a random group again and again, as the weather of the world requires. */
  #every(kind: "crashEveryMs" | "takeOverEveryMs" | "clockJumpEveryMs", happen: (group: PartitionGroup) => void): void {
    const { scheduler } = this.#world;
    const meanMs = this.#world.weather[kind];
    if (meanMs === undefined) return;
    scheduler.after(-Math.log(1 - scheduler.random.float()) * meanMs, () => {
      if (this.#world.weather[kind] === undefined) return;
      happen(scheduler.random.pick(this.#groups));
      this.#every(kind, happen);
    });
  }
}
