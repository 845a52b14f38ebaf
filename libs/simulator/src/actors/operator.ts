/** Somebody who cancels, kills, pauses, resumes, purges and restarts invocations at random, and checks what the answers promise. */
import { siblingInvocationId, utf8 } from "@perdure/base";
import type { Answer, PartitionCommand } from "@perdure/partition";
import { notificationIdOf } from "@perdure/service-protocol";
import type { Life } from "../ledger/life.js";
import type { Leaders } from "../reach.js";
import type { World } from "../world.js";

type Verb = "cancel" | "kill" | "pause" | "resume" | "purge" | "purgeJournal" | "restartAsNew" | "mutateState";
const VERBS: readonly Verb[] = [
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

export class Operator {
  readonly #world: World;
  readonly #cluster: Leaders;

  constructor(world: World, cluster: Leaders) {
    this.#world = world;
    this.#cluster = cluster;
  }

  /** Something to somebody. */
  act(): void {
    const { ledger, scheduler } = this.#world;
    const { random } = scheduler;
    const kept = [...ledger.lives()].filter((life) => !life.forgotten);
    const unfinished = kept.filter((life) => life.invocation.status !== "completed");
    const lives = unfinished.length > 0 && random.chance(0.7) ? unfinished : kept;
    if (lives.length > 0) this.do(random.pick(VERBS), random.pick(lives));
  }

  /** One verb on one invocation; nothing happens when nobody leads. */
  do(verb: Verb, life: Life): void {
    const partitions = this.#cluster.leaderFor(life.id)?.partitions;
    if (partitions === undefined) return;
    const command = this.#command(verb, life);
    if (command === undefined) return;
    this.#world.trace.note("verb", () => `${verb} ${life.id} (${life.invocation.status})`);
    if (verb === "cancel" || verb === "kill" || verb === "purge") life.removalAsked = true;
    partitions.submit(command).then(
      (answer) => {
        this.#world.trace.note("answer", () => `${verb} ${life.id}: ${answer.kind}`);
        this.#check(verb, life, answer);
      },
      () => this.#world.trace.note("answer", () => `${verb} ${life.id}: unavailable`),
    );
  }

  #command(verb: Verb, life: Life): Exclude<PartitionCommand, { kind: "invoke" }> | undefined {
    const { id, facts } = life;
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
        // A copied read of a counter would be written back as if it were new, so objects start from the beginning.
        const from = facts.target.serviceType === "service" ? random.below(4) : 0;
        return {
          kind: "restartAsNew",
          id,
          newId: siblingInvocationId(id, clock.nowMs(), random),
          from,
          moveTo: undefined,
          keepDeployment: random.chance(0.5),
        };
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

  /** What is true the moment an answer is given, because answers wait until their batch is durable. */
  #check(verb: Verb, life: Life, answer: Answer): void {
    const { findings, ledger } = this.#world;
    if (ledger.lastLife(life.id) !== life) return; // Another life by now.
    const { status } = life.invocation;
    const over = life.forgotten || status === "completed";
    switch (verb) {
      case "kill":
        return findings.require(answer.kind !== "done" || over, "who is killed is dead", () => `${life.id} is ${status}`);
      case "cancel": {
        const asked = over || life.entries.some(({ type, body }) => type === 0xfbff && isCancel(type, body));
        findings.require(
          answer.kind !== "done" || life.forgotten,
          "who is cancelled before the start is gone",
          () => `${life.id} is ${status}`,
        );
        return findings.require(answer.kind !== "pending" || asked, "a request to cancel is stored", () => life.id);
      }
      case "purge":
        return findings.require(answer.kind !== "done" || life.forgotten, "what is purged is forgotten", () => life.id);
      case "purgeJournal":
        return findings.require(
          answer.kind !== "done" || life.forgotten || life.entries.length === 0,
          "a purged journal is gone",
          () => life.id,
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
