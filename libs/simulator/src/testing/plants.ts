/** Known bugs, each planted between real parts. Simulation must find every one of them: that is the test of the checkers. */
import { type InvocationId, silentLogger, type VqueueId } from "@perdure/base";
import { type BucketValue, type FlowRule, FlowScheduler, type FlowSubject, RuleBook } from "@perdure/flow";
import { type InvokerHost, Slots, type SlotUser } from "@perdure/invoker";
import type { AttemptCommand, Mutation } from "@perdure/partition";
import type { PartitionBatch, PartitionStore } from "@perdure/store";
import type { Plant } from "../plant.js";
import type { World } from "../world.js";

/** A store with some of its methods replaced. */
function altered(store: PartitionStore, changes: Partial<PartitionStore>): PartitionStore {
  return {
    capabilities: store.capabilities,
    reads: store.reads,
    claim: (partition) => store.claim(partition),
    commit: (batches) => store.commit(batches),
    readJournal: (partition, id, length) => store.readJournal(partition, id, length),
    stateOf: (partition, service, key) => store.stateOf(partition, service, key),
    promisesOf: (partition, service, key) => store.promisesOf(partition, service, key),
    timers: (partition, group, fromMs, limit) => store.timers(partition, group, fromMs, limit),
    outbox: (partition, afterSeq, limit) => store.outbox(partition, afterSeq, limit),
    takenUp: (partition) => store.takenUp(partition),
    flow: (partition) => store.flow(partition),
    unfinished: (partition, status) => store.unfinished(partition, status),
    completed: (partition) => store.completed(partition),
    events: (partition, id) => store.events(partition, id),
    scanState: (partition, service, where) => store.scanState(partition, service, where),
    scanPromises: (partition) => store.scanPromises(partition),
    scanLocks: (partition) => store.scanLocks(partition),
    scanInboxes: (partition) => store.scanInboxes(partition),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    ...changes,
  };
}

/** Mutations for which `lost` says so never reach the store. */
function losing(lost: (mutation: Mutation, world: World) => boolean): () => Plant {
  return () => ({
    store: (store, world) =>
      altered(store, {
        commit: (batches) =>
          store.commit(batches.map((batch) => ({ ...batch, mutations: batch.mutations.filter((each) => !lost(each, world)) }))),
      }),
  });
}

/** Commands of attempts pass through `change`. */
function changing(change: (command: AttemptCommand) => AttemptCommand): () => Plant {
  return () => ({ host: (host) => ({ ...bound(host), submit: (command) => host.submit(change(command)) }) });
}

function bound(host: InvokerHost): InvokerHost {
  return {
    submit: (command) => host.submit(command),
    settled: (callback) => host.settled(callback),
    readJournal: (id, length) => host.readJournal(id, length),
    readState: (id, service, key) => host.readState(id, service, key),
  };
}

/** Effects are performed before their batch is durable. */
const effectBeforeCommit = (): Plant => ({
  store: (store) =>
    altered(store, {
      commit: async (batches) => {
        void store.commit(batches);
        return { kind: "committed" };
      },
    }),
});

/** A suspension pretends to know everything that was stored meanwhile. */
const lostWakeUp = changing((command) =>
  command.kind === "suspend" ? { ...command, knownNotifications: Number.MAX_SAFE_INTEGER } : command,
);

const lockNotReleased = losing((mutation, { scheduler }) => mutation.kind === "deleteLock" && scheduler.random.chance(0.2));
const timerLost = losing(({ kind }, { scheduler }) => kind === "putTimer" && scheduler.random.chance(0.1));
const entryLost = losing(({ kind }, { scheduler }) => kind === "appendEntry" && scheduler.random.chance(0.02));
const stateNotWritten = losing(({ kind }, { scheduler }) => kind === "putState" && scheduler.random.chance(0.1));
const outboxNotStored = losing(({ kind }) => kind === "putOutbox");
const recordNotForgotten = losing(({ kind }, { scheduler }) => kind === "deleteInvocation" && scheduler.random.chance(0.2));

/** A run that was stopped goes on, and what it says counts as said by the present one. */
const staleAttemptAccepted = (): Plant => {
  const present = new Map<InvocationId, number>();
  return {
    host: (host) => ({
      ...bound(host),
      submit: (command) => host.submit({ ...command, run: present.get(command.id) ?? command.run }),
    }),
    invoker: (invoker) => ({
      startRun(effect) {
        present.set(effect.invocation.facts.id, effect.invocation.run);
        invoker.startRun(effect);
      },
      entryStored: (effect) => invoker.entryStored({ ...effect, run: present.get(effect.id) ?? effect.run }),
      stopRun(effect) {
        if (effect.reason === "ended") invoker.stopRun(effect);
      },
      requestPause: (effect) => invoker.requestPause(effect),
      retryNow: (effect) => invoker.retryNow(effect),
      status: (id) => invoker.status(id),
      statuses: () => invoker.statuses(),
      [Symbol.asyncDispose]: () => invoker[Symbol.asyncDispose](),
    }),
  };
};

/** Each delivery counts as new. */
const deliveriesNotRecognised = (): Plant => {
  let seq = 2 ** 40;
  return { deliver: (processor, command, producer, _seq, delivered) => processor.deliver(command, producer, seq++, delivered) };
};

/** A delivery is acknowledged when it has arrived, not when it is durable. */
const deliveryAcknowledgedEarly = (): Plant => ({
  deliver(processor, command, producer, seq, delivered) {
    const taken = processor.deliver(command, producer, seq, () => undefined);
    if (taken) delivered();
    return taken;
  },
});

/** Whoever writes is taken for the present leader. */
const fencingIgnored = (): Plant => {
  const epochs = new Map<number, number>();
  const restamped = (batch: PartitionBatch): PartitionBatch => ({ ...batch, epoch: epochs.get(batch.partition) ?? batch.epoch });
  return {
    store: (store) =>
      altered(store, {
        claim: async (partition) => {
          const epoch = await store.claim(partition);
          epochs.set(partition, Math.max(epoch, epochs.get(partition) ?? 0));
          return epoch;
        },
        commit: (batches) => store.commit(batches.map(restamped)),
      }),
  };
};

/** A retry begins although commands of the attempt before are not stored yet. */
const retryTooEarly = (): Plant => ({ host: (host) => ({ ...bound(host), settled: (callback) => queueMicrotask(callback) }) });

/** Handlers start from the state of the time before. */
const staleState = (): Plant => {
  const last = new Map<string, ReadonlyMap<string, Uint8Array>>();
  return {
    host: (host) => ({
      ...bound(host),
      readState: async (id, service, key) => {
        const state = await host.readState(id, service, key);
        const name = `${service}/${key}`;
        const before = last.get(name);
        last.set(name, new Map(state));
        return before ?? state;
      },
    }),
  };
};

/** Signals to other invocations get lost on the way. */
const signalLost = changing((command) =>
  command.kind === "appendCommand" && command.action.kind === "sendSignal" ? { ...command, action: { kind: "none" } } : command,
);

/** Handlers that are blocked keep their slots, whatever waits for one. */
const blockedKeepSlots = (): Plant => ({
  slots: (limit, clock) =>
    new (class extends Slots {
      readonly #busy = new Map<SlotUser, SlotUser>();

      override acquire(user: SlotUser): void {
        const busy: SlotUser = {
          service: user.service,
          queuedAtMs: user.queuedAtMs,
          isContinuation: user.isContinuation,
          get isWaitingForSlot() {
            return user.isWaitingForSlot;
          },
          slotGranted: () => user.slotGranted(),
          blockedSinceMs: () => undefined,
          suspendBlocked: () => undefined,
          endpoint: undefined,
        };
        this.#busy.set(user, busy);
        super.acquire(busy);
      }
      override withdraw(user: SlotUser): void {
        super.withdraw(this.#busy.get(user) ?? user);
      }
      override release(user: SlotUser): void {
        super.release(this.#busy.get(user) ?? user);
      }
    })(limit, clock, silentLogger),
});

// ── flow control ─────────────────────────────────────────────────────────────────────────────────

/** A scheduler in which `change` replaces something. */
const schedulerWith = (make: (book: RuleBook, world: World) => FlowScheduler) => (): Plant => ({ flowScheduler: make });

/** The slot of an invocation that was killed or ended is never given back. */
const slotLeakedAtEnd = schedulerWith(
  (book, { ledger, scheduler: { random } }) =>
    new (class extends FlowScheduler {
      override left(id: InvocationId): void {
        if (ledger.life(id)?.invocation.status === "completed" && random.chance(0.3)) return;
        super.left(id);
      }
    })(book),
);

/** An invocation keeps its slot while it is suspended. */
const slotKeptWhileSuspended = schedulerWith(
  (book, { ledger }) =>
    new (class extends FlowScheduler {
      override left(id: InvocationId): void {
        if (ledger.life(id)?.invocation.status !== "suspended") super.left(id);
      }
    })(book),
);

/** A new leader does not count who runs already. */
const runningNotCounted = schedulerWith(
  (book) =>
    new (class extends FlowScheduler {
      override started(subject: FlowSubject): void {
        if (this.entry(subject.id) !== undefined) super.started(subject);
      }
    })(book),
);

/** A new leader begins with full buckets. */
const bucketsFullAtRestart = schedulerWith(
  (book) =>
    new (class extends FlowScheduler {
      override restoreBucket({ name }: BucketValue, nowMs: number): void {
        super.restoreBucket({ name, bookedUntilMicros: 0 }, nowMs);
      }
    })(book),
);

/** Who is heavy comes first, whatever its share. */
const heavyKeyFirst = schedulerWith((book) => {
  const biased = new (class extends RuleBook {
    override ruleFor(scope: string, l1: string | undefined, l2: string | undefined): FlowRule | undefined {
      const rule = book.ruleFor(scope, l1, l2);
      if (l1 !== "a" || l2 !== undefined) return rule;
      const none = { pattern: "*/a", concurrency: undefined, rate: undefined, priority: undefined, disabled: false };
      return { ...none, ...rule, weight: 1_000_000 };
    }
  })([]);
  return new FlowScheduler(biased);
});

/** Resuming a queue goes unnoticed. */
const resumeUnheard = schedulerWith(
  (book) =>
    new (class extends FlowScheduler {
      override switchQueue(id: VqueueId, isPaused: boolean): void {
        if (isPaused) super.switchQueue(id, isPaused);
      }
    })(book),
);

/** Each call plants afresh; these need worlds of scopes. */
export const FLOW_PLANTS = {
  slotLeakedAtEnd,
  slotKeptWhileSuspended,
  runningNotCounted,
  bucketsFullAtRestart,
  heavyKeyFirst,
  resumeUnheard,
} satisfies Record<string, () => Plant>;

/** Each call plants afresh. */
export const PLANTS = {
  effectBeforeCommit,
  lostWakeUp,
  lockNotReleased,
  timerLost,
  entryLost,
  stateNotWritten,
  outboxNotStored,
  recordNotForgotten,
  staleAttemptAccepted,
  deliveriesNotRecognised,
  deliveryAcknowledgedEarly,
  fencingIgnored,
  retryTooEarly,
  staleState,
  signalLost,
  blockedKeepSlots,
} satisfies Record<string, () => Plant>;
