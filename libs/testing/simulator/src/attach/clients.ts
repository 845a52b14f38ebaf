/** Clients outside of handlers that attach to invocations which others started, or request their outputs, until they have an answer. */
import type { InvocationId } from "@perdure/base";
import type { Completion, Detach } from "@perdure/control";
import { outcomeText } from "../ledger/generation-record.js";
import type { Leaders } from "../reach.js";
import type { SimulatedWorld } from "../world.js";
import { NOT_FOUND, PENDING } from "./model.js";
import { type AttachTargets, attachedInvocation } from "./targets.js";

/** Pause before a client without a leader, or cut off from it, tries again. */
const TRY_AGAIN_MS = 150;
/** Time after which a client may close its connection. */
const CLIENT_TIMEOUT_MS = 1_000;

export class AttachingClients {
  readonly #world: SimulatedWorld;
  readonly #cluster: Leaders;
  readonly #clients: AttachingClient[] = [];
  #clientsToCome = 0;

  constructor(world: SimulatedWorld, cluster: Leaders) {
    this.#world = world;
    this.#cluster = cluster;
  }

  /** They come evenly over the storm. */
  come(targets: AttachTargets): void {
    const { scheduler, settings } = this.#world;
    this.#clientsToCome = settings.attach?.clients ?? 0;
    for (let n = 0; n < (settings.attach?.clients ?? 0); n++) {
      scheduler.after(settings.stormMs * scheduler.random.float(), () => {
        this.#clientsToCome--;
        const client = new AttachingClient(this.#world, this.#cluster, `client${n}`, attachedInvocation(targets.draw()));
        this.#clients.push(client);
        client.go();
      });
    }
  }

  get busy(): boolean {
    return this.#clientsToCome > 0 || this.#clients.some(({ done }) => !done);
  }

  get unfinished(): readonly string[] {
    return this.#clients.filter(({ done }) => !done).map(({ text }) => text);
  }
}

class AttachingClient {
  readonly #world: SimulatedWorld;
  readonly #cluster: Leaders;
  readonly #name: string;
  readonly #id: InvocationId;
  readonly #waits: boolean;
  /** Rises with each try: responses to an earlier try do not count. */
  #try = 0;
  done = false;

  constructor(world: SimulatedWorld, cluster: Leaders, name: string, id: InvocationId) {
    this.#world = world;
    this.#cluster = cluster;
    this.#name = name;
    this.#id = id;
    this.#waits = world.scheduler.random.chance(0.7);
    world.trace.note("attach", () => this.text);
  }

  get text(): string {
    return `${this.#name} ${this.#waits ? "attaches to" : "requests the output of"} ${this.#id}`;
  }

  go(): void {
    const number = ++this.#try;
    const { scheduler, weather, ledger } = this.#world;
    const leader = this.#cluster.leaderFor(this.#id);
    if (leader?.partitions === undefined || scheduler.random.chance(weather.messageLoss)) return this.#again(number);
    const { partitions } = leader;
    const since = ledger.commits;
    let detach: Detach | undefined;
    const disconnect = leader.connect(() => {
      detach = undefined; // A crashed process need not be notified.
      this.#again(number);
    });
    const answered = (answer: string): void => {
      disconnect();
      this.#later(number, () => this.#answered(answer, since));
    };
    const unavailable = (): void => {
      disconnect();
      this.#again(number);
    };
    const completed = ({ outcome }: Completion): void => answered(outcomeText(outcome));
    if (this.#waits) detach = partitions.attach(this.#id, { completed, notFound: () => answered(NOT_FOUND), unavailable });
    else
      partitions.output(this.#id).then((output) => {
        if (output.kind === "completed") completed(output.completion);
        else answered(output.kind === "notFound" ? NOT_FOUND : PENDING);
      }, unavailable);
    if (!scheduler.random.chance(0.2)) return;
    scheduler.after(CLIENT_TIMEOUT_MS * scheduler.random.float(), () => {
      if (number !== this.#try || this.done) return;
      disconnect();
      detach?.detach();
      if (scheduler.random.chance(0.5)) this.done = true;
      else this.#again(number);
    });
  }

  #answered(answer: string, since: number): void {
    this.done = true;
    this.#world.trace.note("answer", () => `${this.text}: ${answer}`);
    this.#world.ledger.attachments.clientAnswered(this.#name, this.#id, answer, since);
  }

  #again(number: number): void {
    if (number !== this.#try || this.done) return;
    const { scheduler } = this.#world;
    const next = ++this.#try;
    scheduler.after(TRY_AGAIN_MS * (0.5 + scheduler.random.float()), () => {
      if (next === this.#try) this.go();
    });
  }

  #later(number: number, task: () => void): void {
    const { scheduler, settings } = this.#world;
    scheduler.after(scheduler.latency(settings.networkMs), () => {
      if (number === this.#try && !this.done) task();
    });
  }
}
