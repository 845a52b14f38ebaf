/** One process leading a group of partitions: a real processor and a real invoker in a simulated process that can crash at any moment. */
import { type InvocationId, type Logger, PartitionSubset, partitionOf } from "@perdure/base";
import { type Courier, type Partitions, stateTtlOf } from "@perdure/control";
import { createInvoker, Slots } from "@perdure/invoker";
import { LocalPartitions, LoopbackPeers, Processor, SubsetPeers } from "@perdure/partition-processor";
import { withRepeatedCommands } from "./crowd/repeated-commands.js";
import { SimulatedTransport, type StreamOwner } from "./endpoint/transport.js";
import { LeaderClock } from "./leader-clock.js";
import { LeaderStore, type StoreUser } from "./leader-store.js";
import { type Receiver, SimulatedPeers } from "./peers.js";
import type { Surroundings } from "./reach.js";
import { SlotWatch } from "./slot-watch.js";
import type { SimulatedWorld } from "./world.js";

export interface LeaderPorts extends Surroundings {
  /** The other threads of its process; undefined: leaders are processes of their own. */
  readonly remote?: Courier;
  /** The present leader of a partition. */
  readonly route: (partition: number) => Receiver | undefined;
  readonly claims: Claims;
  /** Called with a leader that will not come back: another process has to lead. */
  readonly gone: (leader: Leader) => void;
}

/** The leader that claimed each partition last. */
export class Claims {
  readonly #world: SimulatedWorld;
  readonly #latest = new Map<number, Leader>();

  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  note(partition: number, by: Leader): void {
    this.#latest.set(partition, by);
    this.#world.ledger.flow.leaderChanged();
  }

  isLatest(partition: number, leader: Leader): boolean {
    return this.#latest.get(partition) === leader;
  }
}

/** Typical time between two turns of a leader's event loop. */
const TURN_MS = 0.05;

export class Leader implements StoreUser, StreamOwner, Receiver {
  readonly name: string;
  readonly clock: LeaderClock;
  alive = true;
  /** The leader is closing in an orderly way, and must finish. */
  stopping = false;
  readonly #ports: LeaderPorts;
  readonly #group: readonly number[];
  readonly #transport: SimulatedTransport;
  #slotWatch: SlotWatch | undefined;
  #processor: Processor | undefined;
  #partitions: Partitions | undefined;
  /** Callbacks of connections to this process, called when it is gone. */
  readonly #connected = new Set<() => void>();

  constructor(name: string, group: readonly number[], ports: LeaderPorts) {
    this.name = name;
    this.#group = group;
    this.#ports = ports;
    this.clock = new LeaderClock(ports.world.scheduler, (fire) => {
      if (this.alive) fire();
    });
    this.#transport = new SimulatedTransport(ports.world, this, ports.outside);
  }

  /** Undefined until it has taken over. */
  get partitions(): Partitions | undefined {
    return this.alive ? this.#partitions : undefined;
  }

  leads(id: InvocationId): boolean {
    const partition = partitionOf(id, this.#ports.world.settings.partitionCount);
    return this.alive && this.#ports.claims.isLatest(partition, this);
  }

  async start(): Promise<void> {
    const { world, store, registry } = this.#ports;
    const { scheduler, settings } = world;
    const shared = this.#group.length > 1;
    const ownPeers = this.#ownPeers();
    const peers = ownPeers ?? new SimulatedPeers(world, () => this.alive, this.#ports.route);
    const leaderStore = new LeaderStore(store, world, this, shared, {
      claimed: (partition) => this.#ports.claims.note(partition, this),
      applied: (batches) => this.#ports.applied(batches),
    });
    const logger = this.#logger();
    const { concurrentInvocationsMax } = settings;
    const slots = new Slots(concurrentInvocationsMax, this.clock, logger);
    this.#slotWatch = new SlotWatch(world, this.name, slots, this.#transport);
    const processor = await Processor.start(
      {
        store: leaderStore,
        clock: this.clock,
        logger,
        soon: (task) => void this.clock.setTimer(TURN_MS * scheduler.random.float(), task),
        invoker: (host) => {
          const repeatingHost = withRepeatedCommands(host, world, (task) => {
            if (this.alive) task();
          });
          const deps = {
            host: repeatingHost,
            registry,
            transports: { http: this.#transport },
            clock: this.clock,
            random: scheduler.random,
            logger,
            slots,
          };
          const { protocolVersionMax, eagerStateBytesMax } = settings;
          return createInvoker(deps, { protocolVersionMax, eagerStateBytesMax });
        },
        rules: { rules: () => registry.current().rules, onChange: (listener) => registry.onChange(listener) },
        events: { subscriptions: () => registry.current().events, onChange: (listener) => registry.onChange(listener) },
        stateTtls: (service) => stateTtlOf(registry.current(), service),
        peers,
        onFenced: () => this.#stop("fenced"),
        onFatal: () => this.#stop("storage failed"),
      },
      {
        partitions: this.#group,
        partitionCount: settings.partitionCount,
        cleanupIntervalMs: settings.cleanupIntervalMs,
        undoBytesMax: settings.undo?.bytesMax,
        throttleKeysMax: settings.throttle?.keysMax,
      },
    );
    if (!this.alive) return;
    this.#processor = processor;
    ownPeers?.connect(processor);
    this.#partitions = new LocalPartitions(processor);
    world.trace.note("leads", () => `${this.name} leads ${this.#group.join()}`);
  }

  /** Peers that deliver to this process itself; undefined where other processes are reached over the simulated network. */
  #ownPeers(): LoopbackPeers | SubsetPeers | undefined {
    const { world, remote } = this.#ports;
    const { partitionCount, groups } = world.settings;
    if (remote !== undefined) return new SubsetPeers(new PartitionSubset(this.#group, partitionCount), remote, this.clock);
    return groups.length === 1 ? new LoopbackPeers() : undefined;
  }

  /** Checks rules that hold at every moment. */
  check(): void {
    if (this.alive && !this.stopping) this.#slotWatch?.check();
  }

  deliver(...[command, ...message]: Parameters<Receiver["deliver"]>): boolean {
    if (!this.alive || this.#processor === undefined) return false;
    return this.#processor.deliver(command, ...message);
  }

  /** `lost` is called once when the process is gone, unless the returned function was called before. */
  connect(lost: () => void): () => void {
    this.#connected.add(lost);
    return () => this.#connected.delete(lost);
  }

  /** The process crashes at once: nothing it had in memory takes effect any more. */
  crash(why: string): void {
    if (!this.alive) return;
    this.#ports.world.trace.note("crash", () => `${this.name} ${why}`);
    this.alive = false;
    this.#transport.crashed();
    const connected = [...this.#connected];
    this.#connected.clear();
    for (const lost of connected) lost();
    this.#ports.gone(this);
  }

  /** The leader detects that its lease is over. */
  loseLease(): void {
    this.#stop("lost its lease");
  }

  /** The role closes what is left of a processor that has stopped, or that must stop. Its callers must have been notified by then. */
  #stop(why: string): void {
    if (this.stopping || !this.alive) return;
    this.stopping = true;
    const { world } = this.#ports;
    world.trace.note("stopping", () => `${this.name} ${why}`);
    const close = async (): Promise<void> => {
      await this.#processor?.[Symbol.asyncDispose]();
      this.#connected.clear(); // No connection is cut: an orderly process responds before it exits.
      this.crash("has closed");
    };
    world.scheduler.after(world.scheduler.latency(5), () => {
      if (this.alive) void close();
    });
  }

  /** An error that a leader logs is a fault of ours, unless another leads by now and rows changed during its reads. */
  #logger(): Logger {
    const { world } = this.#ports;
    const note = (level: string, fields: object, message: string): void => {
      world.trace.note(level, () => `${this.name} ${message} ${JSON.stringify(fields)}`);
    };
    const logger: Logger = {
      debug: () => undefined,
      info: (fields, message) => note("info", fields, message),
      warn: (fields, message) => note("warn", fields, message),
      error: (fields, message) => {
        note("error", fields, message);
        const deposed = this.#group.some((partition) => !this.#ports.claims.isLatest(partition, this));
        const expected = message.startsWith("storage failed") || message.startsWith("journal or state could not be read");
        if (!deposed && !expected)
          world.findings.report("no process reports an internal error", `${this.name}: ${message} ${JSON.stringify(fields)}`);
      },
      child: () => logger,
    };
    return logger;
  }
}
