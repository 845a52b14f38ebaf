/** An operator that kills, purges, pauses, resumes and edits state by operations that can be undone, and undoes most of them later, in any order. */
import { type InvocationId, newInvocationId, newOperationId, type OperationId, utf8 } from "@perdure/base";
import {
  type CommandAnswer,
  type Invocation,
  type MutateState,
  type PartitionCommand,
  stateVersion,
  type UndoMark,
} from "@perdure/state-machine";
import type { Leaders } from "../reach.js";
import type { SimulatedWorld } from "../world.js";
import type { UndoSettings } from "./settings.js";

/** Pause before an operator without a leader, or without a response, tries again. */
const TRY_AGAIN_MS = 200;

type Verb = "kill" | "purge" | "pause" | "resume";
const VERBS: readonly Verb[] = ["kill", "kill", "kill", "kill", "kill", "purge", "purge", "pause", "pause", "resume"];

/** Whether the verb may change an invocation with this status. */
function isChanged(verb: Verb, status: Invocation["status"]): boolean {
  if (verb === "purge") return status === "completed";
  if (verb === "resume") return status === "paused";
  return verb === "pause" ? status === "invoked" || status === "ready" : status !== "completed";
}

export class SimulatedUndoer {
  readonly #world: SimulatedWorld;
  readonly #cluster: Leaders;
  /** Changes and undos without a response. */
  #openCount = 0;

  constructor(world: SimulatedWorld, cluster: Leaders) {
    this.#world = world;
    this.#cluster = cluster;
  }

  get busy(): boolean {
    return this.#openCount > 0;
  }

  /** Begins a change, and perhaps its undo. */
  act(settings: UndoSettings): void {
    const { random } = this.#world.scheduler;
    if (settings.editShare > 0 && random.chance(settings.editShare)) this.#editState(settings);
    else this.#changeInvocations(settings);
  }

  #editState({ undoneWithinMs, windowMs }: UndoSettings): void {
    const { ledger, scheduler } = this.#world;
    const { random, clock } = scheduler;
    const objects = [...ledger.state.objects.keys()].filter((object) => object.startsWith("O/"));
    if (objects.length === 0) return;
    const key = random.pick(objects).slice(2);
    const undo: UndoMark = { operation: newOperationId(clock.nowMs(), random), untilMs: clock.nowMs() + windowMs };
    const id = newInvocationId({ service: "O", key, handler: "" }, clock.nowMs(), random);
    this.#submit(this.#editOf(key, id, undo), () => {
      if (random.chance(0.1)) return;
      this.#openCount++;
      scheduler.after(undoneWithinMs * random.float(), () => {
        this.#openCount--;
        this.#undo(id, undo.operation);
        if (random.chance(0.2)) this.#undo(id, undo.operation);
      });
    });
  }

  /** Changes entries that are no counters, which programs only ever raise by one. */
  #editOf(key: string, id: InvocationId, undo: UndoMark): MutateState {
    const { random } = this.#world.scheduler;
    const present = this.#world.ledger.state.of("O", key);
    const next = new Map(present);
    if (random.chance(0.3)) next.delete("a");
    else next.set("a", utf8(`by ${undo.operation}`));
    if (random.chance(0.3)) next.set("b", utf8("by an edit"));
    const entries = [...next].map(([name, value]) => ({ key: name, value }));
    const expectedVersion = stateVersion(present);
    return { kind: "mutateState", id, service: "O", key, exclusive: true, expectedVersion, entries, undo };
  }

  #changeInvocations({ reachedMax, undoneWithinMs, windowMs }: UndoSettings): void {
    const { ledger, scheduler } = this.#world;
    const { random, clock } = scheduler;
    const verb = VERBS[random.below(VERBS.length)] ?? "kill";
    const generations = [...ledger.generations()].filter(
      ({ isDeleted, invocation }) => !isDeleted && isChanged(verb, invocation.status),
    );
    if (generations.length === 0) return;
    const operation = newOperationId(clock.nowMs(), random);
    const undo = { operation, untilMs: clock.nowMs() + windowMs };
    const reached = new Set(Array.from({ length: 1 + random.below(reachedMax) }, () => random.pick(generations)));
    const ids = [...reached].map(({ id }) => id);
    let unanswered = reached.size;
    const answered = (): void => {
      if (--unanswered > 0 || random.chance(0.1)) return; // Some stay as they are.
      this.#openCount++;
      scheduler.after(undoneWithinMs * random.float(), () => {
        this.#openCount--;
        for (const id of ids) this.#undo(id, operation);
        if (random.chance(0.2)) for (const id of ids) this.#undo(id, operation);
      });
    };
    for (const generation of reached) {
      const { id } = generation;
      if (verb === "kill" || verb === "purge") generation.removalRequested = true;
      this.#submit(verb === "resume" ? { kind: verb, id, moveTo: undefined, undo } : { kind: verb, id, undo }, answered);
    }
  }

  #undo(id: InvocationId, operation: OperationId): void {
    this.#submit({ kind: "undo", id, operation, sink: undefined }, () => undefined);
  }

  /** Repeats the command until it has an answer. */
  #submit(command: Exclude<PartitionCommand, { kind: "invoke" }>, answered: () => void): void {
    this.#openCount++;
    this.#try(command, (answer) => {
      this.#openCount--;
      answered();
      this.#world.trace.note("answer", () => `${command.kind} ${command.id}: ${answerText(answer)}`);
    });
  }

  #try(command: Exclude<PartitionCommand, { kind: "invoke" }>, answered: (answer: CommandAnswer) => void): void {
    const { scheduler } = this.#world;
    const again = (): void => {
      scheduler.after(TRY_AGAIN_MS * (0.5 + scheduler.random.float()), () => this.#try(command, answered));
    };
    const leader = this.#cluster.leaderFor(command.id);
    if (leader?.partitions === undefined) return again();
    let isOver = false;
    const once = (then: () => void) => (): void => {
      if (isOver) return;
      isOver = true;
      then();
    };
    const disconnect = leader.connect(once(again));
    leader.partitions.submit(command).then(
      (answer) => {
        disconnect();
        once(() => answered(answer))();
      },
      () => {
        disconnect();
        once(again)();
      },
    );
  }
}

function answerText(answer: CommandAnswer): string {
  return answer.kind === "undo" ? answer.result : answer.kind;
}
