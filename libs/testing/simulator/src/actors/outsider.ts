/** An external client that received the id of an awakeable and completes it in the end, however often it must be tried. */
import { parseAwakeableId, utf8 } from "@perdure/base";
import type { Outside } from "../endpoint/session.js";
import type { Leaders } from "../reach.js";
import type { SimulatedWorld } from "../world.js";

const TRY_AGAIN_MS = 400;

export class Outsider implements Outside {
  readonly #world: SimulatedWorld;
  readonly #cluster: () => Leaders;
  #executed = 0;
  readonly #left = new Set<string>();
  #waiting = 0;

  constructor(world: SimulatedWorld, cluster: () => Leaders) {
    this.#world = world;
    this.#cluster = cluster;
  }

  get busy(): boolean {
    return this.#waiting > 0;
  }

  executed(): number {
    return ++this.#executed;
  }

  leave(awakeable: string): void {
    if (this.#left.has(awakeable)) return;
    this.#left.add(awakeable);
    this.#waiting++;
    const { scheduler } = this.#world;
    scheduler.after(scheduler.random.pick([0, 30, 3_000]) * scheduler.random.float(), () =>
      this.#complete(awakeable, this.#left.size),
    );
  }

  #complete(awakeable: string, number: number): void {
    const parsed = parseAwakeableId(awakeable);
    if (!parsed.ok || parsed.value.kind !== "signal") {
      this.#world.findings.report("an awakeable's id can be read", awakeable);
      return;
    }
    const { invocationId, signalIndex } = parsed.value;
    const { scheduler } = this.#world;
    const again = (): void => {
      scheduler.after(TRY_AGAIN_MS * (0.5 + scheduler.random.float()), () => this.#complete(awakeable, number));
    };
    const leader = this.#cluster().leaderFor(invocationId);
    if (leader?.partitions === undefined) return again();
    let over = false;
    const disconnect = leader.connect(() => {
      over = true;
      again();
    });
    const result = { kind: "value", value: utf8(`outside ${number}`) } as const;
    leader.partitions
      .submit({ kind: "signal", id: invocationId, signal: { kind: "signalIndex", index: signalIndex }, result })
      .then(
        () => {
          disconnect();
          if (!over) this.#waiting--;
          over = true;
        },
        () => {
          disconnect();
          if (!over) again();
          over = true;
        },
      );
  }
}
