/** A client that wants one invocation done and never gives up: it submits again after every lost response, and waits for the outcome. */
import { type InvocationId, newInvocationId, siblingInvocationId } from "@perdure/base";
import type { Completion, Detach, Partitions } from "@perdure/control";
import { type Invocation, type Invoke, isWorkflowRun, type Throttled, type ThrottleKeysFull } from "@perdure/state-machine";
import { hasDeterministicId, outcomeText } from "../ledger/generation-record.js";
import type { Leaders } from "../reach.js";
import type { SimulatedWorld } from "../world.js";

/** Pause before a caller without a leader, or cut off from it, tries again. */
const TRY_AGAIN_MS = 150;

export class SimulatedCaller {
  command: Invoke;
  readonly name: string;
  readonly #world: SimulatedWorld;
  readonly #cluster: Leaders;
  readonly #wait: boolean;
  #state: "submitting" | "accepted" | "done" = "submitting";
  /** Rises with each try: responses to an earlier try do not count. */
  #try = 0;
  #submitted = false;
  /** The outcome that it received; it must be equal for all callers of the invocation. */
  outcome: string | undefined;
  /** The invocation that was accepted: that of its burst for a debounced request. */
  #acceptedId: InvocationId | undefined;

  constructor(world: SimulatedWorld, cluster: Leaders, name: string, command: Invoke, wait: boolean) {
    this.#world = world;
    this.#cluster = cluster;
    this.name = name;
    this.command = command;
    this.#wait = wait;
  }

  get done(): boolean {
    return this.#state === "done";
  }

  get state(): string {
    return `${this.name} for ${this.command.id} is ${this.#state}`;
  }

  get #id(): InvocationId {
    return this.#acceptedId ?? this.command.id;
  }

  go(): void {
    const number = ++this.#try;
    this.#later(() => {
      if (number !== this.#try) return;
      const leader = this.#cluster.leaderFor(this.command.id);
      const { scheduler, weather } = this.#world;
      if (leader === undefined || scheduler.random.chance(weather.messageLoss)) return this.#again(number);
      const partitions = leader.partitions as Partitions;
      let detach: Detach | undefined;
      const disconnect = leader.connect(() => {
        detach = undefined; // A crashed process need not be notified.
        this.#later(() => this.#again(number));
      });
      const deliver = (what: () => void): void => this.#later(() => number === this.#try && what());
      detach =
        this.#state === "submitting"
          ? this.#submit(partitions, deliver, disconnect)
          : this.#attach(partitions, deliver, disconnect);
      // A connection may break although both ends are up.
      if (!scheduler.random.chance(weather.messageLoss)) return;
      scheduler.after(scheduler.random.float() * 500, () => {
        disconnect();
        detach?.detach();
        this.#again(number);
      });
    });
  }

  #submit(partitions: Partitions, deliver: (what: () => void) => void, disconnect: () => void): Detach {
    const command: Invoke = this.#submitted ? { ...this.command, resubmission: true } : this.command;
    this.#submitted = true;
    this.#world.ledger.debounce.sent(command);
    this.#world.ledger.state.throttle.sent(command);
    const previously = (previous: Invocation | undefined): void => {
      this.#acceptedId = previous?.facts.id;
      if (previous !== undefined) this.#world.ledger.debounce.accepted(command, previous.facts.id);
      // The outcome of an invocation of another caller is as good, unless it is the run of a workflow: that is refused.
      if (previous !== undefined && isWorkflowRun(command.facts.target) && !this.#wait) this.#state = "done";
      else if (this.#state === "submitting") this.#state = "accepted";
      if (!this.#wait) this.#state = "done";
    };
    return partitions.invoke(command, this.#wait, {
      submitted: (previous) => deliver(() => previously(previous)),
      completed: (completion) => {
        disconnect();
        deliver(() => this.#completed(completion));
      },
      unavailable: () => {
        disconnect();
        deliver(() => this.#again(this.#try));
      },
      throttled: (refusal) => {
        disconnect();
        deliver(() => this.#throttled(command, refusal));
      },
    });
  }

  /** The request is over, or its client repeats it until a later period admits it. */
  #throttled(command: Invoke, refusal: Throttled | ThrottleKeysFull): void {
    const { ledger, scheduler } = this.#world;
    if (refusal.kind === "throttled") ledger.state.throttle.refused(command, refusal.newestId);
    if (scheduler.random.chance(0.5)) this.#state = "done";
    else this.#again(this.#try);
  }

  #attach(partitions: Partitions, deliver: (what: () => void) => void, disconnect: () => void): Detach {
    return partitions.attach(this.#id, {
      completed: (completion) => {
        disconnect();
        deliver(() => this.#completed(completion));
      },
      notFound: () => {
        disconnect();
        deliver(() => this.#notFound());
      },
      unavailable: () => {
        disconnect();
        deliver(() => this.#again(this.#try));
      },
    });
  }

  #completed({ outcome }: Completion): void {
    this.#state = "done";
    this.outcome = outcomeText(outcome);
    this.#world.trace.note("answer", () => `${this.name} ${this.command.id} ${this.outcome}`);
    const generation = this.#world.ledger.latestGeneration(this.#id);
    if (generation?.outcome === undefined || generation.number > 0 || generation.restoredCount > 0) return;
    const stored = outcomeText(generation.outcome);
    this.#world.findings.require(
      stored === this.outcome,
      "a caller gets the stored outcome",
      () => `${this.name}: ${this.outcome}, stored is ${stored}`,
    );
  }

  /** This is right only when the record was deleted after its retention, or by an operator; the id may have been used again since. */
  #notFound(): void {
    this.#state = "done";
    const generation = this.#world.ledger.latestGeneration(this.#id);
    const wasDeleted =
      generation !== undefined && (generation.isDeleted || generation.number > 0 || generation.restoredCount > 0);
    this.#world.findings.require(wasDeleted, "an accepted invocation is stored", () => `${this.name}: ${this.command.id}`);
  }

  #again(number: number): void {
    if (number !== this.#try || this.#state === "done") return;
    const { scheduler, settings } = this.#world;
    if (settings.cluster !== undefined && this.#state === "submitting" && this.#submitted) this.#submitAnew();
    const next = ++this.#try;
    scheduler.after(TRY_AGAIN_MS * (0.5 + scheduler.random.float()), () => {
      if (next === this.#try) this.go();
    });
  }

  /** Submits the request again. Its gateway may still be trying; with a random id, another gateway cannot recognise the repetition. */
  #submitAnew(): void {
    const { facts } = this.command;
    if (hasDeterministicId(facts)) return;
    const { clock, random } = this.#world.scheduler;
    const hasKey = facts.debounce !== undefined || this.command.throttle !== undefined;
    const id = hasKey
      ? siblingInvocationId(this.command.id, clock.nowMs(), random)
      : newInvocationId(facts.target, clock.nowMs(), random);
    this.command = { ...this.command, id, facts: { ...facts, id, bytes: undefined } };
    this.#submitted = false;
  }

  #later(task: () => void): void {
    const { scheduler, settings } = this.#world;
    scheduler.after(scheduler.latency(settings.networkMs), task);
  }
}
