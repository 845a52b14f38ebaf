/**
 * An operator that cancels, kills, pauses, resumes, purges and restarts invocations at random, and checks the status after each
 * response.
 */
import { siblingInvocationId, utf8 } from "@perdure/base";
import { notificationIdOf } from "@perdure/service-protocol";
import type { CommandAnswer, PartitionCommand, RestartAsNew } from "@perdure/state-machine";
import { drawEdits } from "../fork/draw-edits.js";
import type { GenerationRecord } from "../ledger/generation-record.js";
import type { Leaders } from "../reach.js";
import type { SimulatedWorld } from "../world.js";

type OperatorVerb = "cancel" | "kill" | "pause" | "resume" | "purge" | "purgeJournal" | "restartAsNew" | "mutateState";
const VERBS: readonly OperatorVerb[] = [
  "cancel",
  "cancel",
  "kill",
  "pause",
  "pause",
  "resume",
  "purge",
  "purgeJournal",
  "restartAsNew",
  "mutateState",
];

export class SimulatedOperator {
  readonly #world: SimulatedWorld;
  readonly #cluster: Leaders;

  constructor(world: SimulatedWorld, cluster: Leaders) {
    this.#world = world;
    this.#cluster = cluster;
  }

  /** Performs a random operation on a random invocation. */
  act(): void {
    const { ledger, scheduler } = this.#world;
    const { random } = scheduler;
    const kept = [...ledger.generations()].filter((generation) => !generation.isDeleted);
    const unfinished = kept.filter((generation) => generation.invocation.status !== "completed");
    const generations = unfinished.length > 0 && random.chance(0.7) ? unfinished : kept;
    if (generations.length > 0) this.do(random.pick(VERBS), random.pick(generations));
  }

  /** Performs one operation on one invocation; does nothing when its partition has no leader. */
  do(verb: OperatorVerb, generation: GenerationRecord): void {
    const partitions = this.#cluster.leaderFor(generation.id)?.partitions;
    if (partitions === undefined) return;
    const command = this.#command(verb, generation);
    if (command === undefined) return;
    this.#world.trace.note("verb", () => `${verb} ${generation.id} (${generation.invocation.status})`);
    if (verb === "cancel" || verb === "kill" || verb === "purge") generation.removalRequested = true;
    partitions.submit(command).then(
      (answer) => {
        this.#world.trace.note("answer", () => `${verb} ${generation.id}: ${answer.kind}`);
        this.#check(verb, generation, answer);
      },
      () => this.#world.trace.note("answer", () => `${verb} ${generation.id}: unavailable`),
    );
  }

  #command(verb: OperatorVerb, generation: GenerationRecord): Exclude<PartitionCommand, { kind: "invoke" }> | undefined {
    const { id, facts } = generation;
    const { scheduler } = this.#world;
    const { random, clock } = scheduler;
    switch (verb) {
      case "cancel":
      case "kill":
      case "pause":
      case "purge":
      case "purgeJournal":
        return { kind: verb, id };
      case "resume":
        return { kind: "resume", id, moveTo: undefined };
      case "restartAsNew": {
        // A copied read of a counter would be written back as if it were new, so objects restart from the beginning.
        const from = facts.target.serviceType === "service" ? random.below(4) : 0;
        const newId = siblingInvocationId(id, clock.nowMs(), random);
        const keepDeployment = random.chance(0.5);
        // Half of them are forks, which also copy invocations in flight.
        const isFork = keepDeployment && facts.target.serviceType === "service";
        const fork = isFork ? drawEdits(clock.nowMs(), generation.entries, from) : undefined;
        const command: RestartAsNew = { kind: "restartAsNew", id, newId, from, moveTo: undefined, keepDeployment, fork };
        this.#world.ledger.forks.requested(generation, command);
        return command;
      }
      case "mutateState": {
        const { service, key, serviceType } = facts.target;
        if (serviceType !== "virtualObject" || key === undefined) return undefined;
        const entries = random.chance(0.5) ? [] : [{ key: "a", value: utf8("by the operator") }];
        const expectedVersion = random.chance(0.2) ? "not this one" : undefined;
        return { kind: "mutateState", id, service, key, exclusive: true, expectedVersion, entries };
      }
    }
  }

  /** Checks the conditions at the moment of the response, because responses wait until their batch is durable. */
  #check(verb: OperatorVerb, generation: GenerationRecord, answer: CommandAnswer): void {
    const { findings, ledger } = this.#world;
    // Another generation by now, or restored.
    if (ledger.latestGeneration(generation.id) !== generation || generation.restoredCount > 0) return;
    const { status } = generation.invocation;
    const over = generation.isDeleted || status === "completed";
    switch (verb) {
      case "kill":
        return findings.require(
          answer.kind !== "done" || over,
          "a killed invocation has ended",
          () => `${generation.id} is ${status}`,
        );
      case "cancel": {
        const wasRequested = over || generation.entries.some(({ type, body }) => type === 0xfbff && isCancel(type, body));
        findings.require(
          answer.kind !== "done" || generation.isDeleted,
          "an invocation cancelled before its start is deleted",
          () => `${generation.id} is ${status}`,
        );
        return findings.require(answer.kind !== "pending" || wasRequested, "a request to cancel is stored", () => generation.id);
      }
      case "purge":
        return findings.require(
          answer.kind !== "done" || generation.isDeleted,
          "a purged invocation is deleted",
          () => generation.id,
        );
      case "purgeJournal":
        return findings.require(
          answer.kind !== "done" || generation.isDeleted || generation.entries.length === 0,
          "a purged journal is deleted",
          () => generation.id,
        );
      case "pause":
      case "resume":
      case "restartAsNew":
      case "mutateState":
        return;
    }
  }
}

function isCancel(type: number, body: Uint8Array): boolean {
  const id = notificationIdOf(type, body);
  return id.kind === "signalIndex" && id.index === 1;
}
