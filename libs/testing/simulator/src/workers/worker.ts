/**
 * A worker process of a simulated cluster: the real leadership, processors, invokers, links and exchanges, in a process that can be
 * killed or stopped at any moment.
 */
import type { InvocationId, Logger } from "@perdure/base";
import { type RegistryView, stateTtlOf } from "@perdure/control";
import type { EndpointTransport, StreamListener } from "@perdure/endpoint-transport";
import { directoryUpdateOf, LeaderDirectory, RemotePartitions, type ServedPartitions, WorkerLink } from "@perdure/grpc";
import { createInvoker, type Invoker, type InvokerHost, Slots } from "@perdure/invoker";
import { LeadingWorker } from "@perdure/partition-processor";
import type { Outside } from "../endpoint/session.js";
import { SimulatedTransport, type StreamOwner } from "../endpoint/transport.js";
import type { SimulatedWorld } from "../world.js";
import { SimulatedProcess } from "./body.js";
import type { Medium } from "./medium.js";
import type { SimulatedNetwork } from "./network.js";
import type { LeasePace } from "./settings.js";
import { WayToMedium } from "./way-to-medium.js";

export interface WorkerPorts {
  readonly world: SimulatedWorld;
  readonly pace: LeasePace;
  readonly medium: Medium;
  readonly network: SimulatedNetwork;
  readonly registry: RegistryView;
  readonly outside: Outside;
  /** The partition is about to be claimed for this term. */
  readonly claiming: (term: Term) => void;
  /** Whether no other worker has claimed the partition since. */
  readonly isLatest: (partition: number, term: Term) => boolean;
  /** A message that arrived may arrive once more, at whichever worker leads its partition by then. */
  readonly arrived: (again: (worker: SimulatedWorker) => void, id: InvocationId) => void;
}

const TURN_MS = 0.05;

/** One worker leading one partition, from its claim until the next. */
export class Term implements StreamOwner {
  readonly name: string;
  readonly #body: SimulatedProcess;
  readonly #isLatest: () => boolean;

  constructor(name: string, body: SimulatedProcess, isLatest: (term: Term) => boolean) {
    this.name = name;
    this.#body = body;
    this.#isLatest = () => isLatest(this);
  }

  get alive(): boolean {
    return this.#body.alive;
  }
  leads(_id: InvocationId): boolean {
    return this.#body.alive && this.#isLatest();
  }
}

export class SimulatedWorker {
  readonly body: SimulatedProcess;
  readonly address: string;
  readonly directory = new LeaderDirectory();
  readonly way: WayToMedium;
  readonly served: ServedPartitions;
  /** The worker is draining and must end. */
  isLeaving = false;
  readonly #ports: WorkerPorts;
  readonly #links = new Map<string, WorkerLink>();
  readonly #remote: RemotePartitions;
  readonly #core: LeadingWorker;
  readonly #terms = new Map<number, Term>();

  constructor(place: string, number: number, ports: WorkerPorts) {
    const { world, pace, medium, network } = ports;
    this.#ports = ports;
    this.body = new SimulatedProcess(`${place}#${number}`, world);
    this.address = `${place}.test:9071`;
    this.way = new WayToMedium(world, this.body, medium, pace);
    const { clock } = this.body;
    this.#remote = new RemotePartitions({ directory: this.directory, link: (address) => this.#link(address), clock });
    this.#core = this.#createCore();
    const { leaderPartitions } = this.#core;
    this.served = {
      partitions: leaderPartitions,
      leads: (id) => leaderPartitions.leads(id),
      epochOf: (id) => leaderPartitions.epochOf(id),
      deliver: (command, producer, seq, delivered, after, undelivered) => {
        ports.arrived((worker) => {
          const nothing = (): void => undefined;
          worker.served.deliver(command, producer, seq, nothing, after, nothing);
        }, command.id);
        return leaderPartitions.deliver(command, producer, seq, delivered, after, undelivered);
      },
      directory: this.directory,
      soon: world.scheduler.soon,
      logger: this.#logger({}),
    };
    network.listen(this.address, this.body, this.served);
  }

  get leading(): readonly number[] {
    return this.body.alive ? this.#core.leadership.leading : [];
  }

  start(): Promise<void> {
    return this.#core.leadership.start();
  }

  /** Drains the worker and ends it. */
  async leave(): Promise<void> {
    if (this.isLeaving || !this.body.alive) return;
    this.isLeaving = true;
    this.#ports.world.trace.note("leave", () => this.body.name);
    await this.#core.leadership.drain();
    await this.#core.leadership[Symbol.asyncDispose]();
    this.#remote.close();
    for (const link of this.#links.values()) link.close();
    this.body.end("has left");
  }

  #createCore(): LeadingWorker {
    const { world, pace, registry } = this.#ports;
    const { scheduler, settings } = world;
    const { clock, name } = this.body;
    const { protocolVersionMax, concurrentInvocationsMax, eagerStateBytesMax } = settings;
    const slots = new Slots(concurrentInvocationsMax, clock, this.#logger({}));
    const store = this.way.store();
    return new LeadingWorker(
      {
        store: {
          ...store,
          claim: (partition) => {
            this.#ports.claiming(this.#terms.get(partition) as Term);
            return store.claim(partition);
          },
        },
        leases: this.way.leases(),
        membership: this.way.membership(),
        invoker: (partition, host) =>
          this.#invoker(partition, host, { slots, protocolVersionMax, concurrentInvocationsMax, eagerStateBytesMax }),
        rules: { rules: () => registry.current().rules, onChange: (listener) => registry.onChange(listener) },
        events: { subscriptions: () => registry.current().events, onChange: (listener) => registry.onChange(listener) },
        stateTtls: (service) => stateTtlOf(registry.current(), service),
        remote: {
          deliver: (delivery, delivered, undelivered) => {
            world.ledger.messageSent(delivery.producer, delivery.seq, delivery.command);
            this.#remote.deliver(delivery, delivered, undelivered);
          },
        },
        publish: (members, holders) => this.directory.learn(directoryUpdateOf(settings.partitionCount, members, holders)),
        clock,
        logger: this.#logger({}),
        soon: (task) => void clock.setTimer(TURN_MS * scheduler.random.float(), task),
      },
      {
        id: name,
        address: this.address,
        partitionCount: settings.partitionCount,
        cleanupIntervalMs: settings.cleanupIntervalMs,
        undoBytesMax: settings.undo?.bytesMax,
        throttleKeysMax: settings.throttle?.keysMax,
        get pollMs() {
          return pace.pollMs; // Polls are slower when nothing happens any more.
        },
      },
    );
  }

  #invoker(
    partition: number,
    host: InvokerHost,
    options: {
      readonly slots: Slots;
      readonly protocolVersionMax: SimulatedWorld["settings"]["protocolVersionMax"];
      readonly concurrentInvocationsMax: number;
      readonly eagerStateBytesMax: number;
    },
  ): Invoker {
    const { world, registry, outside } = this.#ports;
    const { clock, name } = this.body;
    const term = new Term(`${name} p${partition}`, this.body, (each) => this.#ports.isLatest(partition, each));
    this.#terms.set(partition, term);
    const transport = this.#reaching(partition, new SimulatedTransport(world, term, outside));
    const logger = this.#logger({ partition });
    const { slots, ...rest } = options;
    return createInvoker(
      { host, registry, transports: { http: transport }, clock, random: world.scheduler.random, logger, slots },
      rest,
    );
  }

  /** Endpoints as this process reaches them: responses wait while it is stopped, and only the holder of the lease may call them. */
  #reaching(partition: number, transport: SimulatedTransport): EndpointTransport {
    const { world, medium } = this.#ports;
    const { body } = this;
    body.onEnd(() => transport.crashed());
    return {
      open: (request, listener) => {
        world.findings.require(
          body.isDrowsy || medium.isHeldBy(body.name, partition),
          "only the holder of the lease leads",
          () => `${body.name} opened a stream for p${partition}`,
        );
        const awake: StreamListener = {
          response: (status, headers) => body.enter(() => listener.response(status, headers)),
          data: (bytes) => body.enter(() => listener.data(bytes)),
          drain: () => body.enter(() => listener.drain()),
          end: () => body.enter(() => listener.end()),
          failed: (failure) => body.enter(() => listener.failed(failure)),
          waiting: (isWaiting) => body.enter(() => listener.waiting?.(isWaiting)),
        };
        return transport.open(request, awake);
      },
      async [Symbol.asyncDispose]() {},
    };
  }

  #link(address: string): WorkerLink {
    const existing = this.#links.get(address);
    if (existing !== undefined) return existing;
    const { network, world } = this.#ports;
    const link = new WorkerLink(address, network.channel(this.body, address), world.scheduler.soon);
    this.#links.set(address, link);
    return link;
  }

  /** A logged error is a fault of ours, unless another worker leads by now and rows changed during its reads. */
  #logger(fields: object): Logger {
    const { world, isLatest } = this.#ports;
    const partition = "partition" in fields ? (fields.partition as number) : undefined;
    const note = (level: string, more: object, message: string): void => {
      world.trace.note(level, () => `${this.body.name} ${message} ${JSON.stringify({ ...fields, ...more })}`);
    };
    return {
      debug: () => undefined,
      info: (more, message) => note("info", more, message),
      warn: (more, message) => note("warn", more, message),
      error: (more, message) => {
        note("error", more, message);
        const term = partition === undefined ? undefined : this.#terms.get(partition);
        const isDeposed = partition !== undefined && (term === undefined || !isLatest(partition, term));
        const isExpected = message.startsWith("storage failed") || message.startsWith("journal or state could not be read");
        if (!isDeposed && !isExpected)
          world.findings.report("no process reports an internal error", `${this.body.name}: ${message} ${JSON.stringify(more)}`);
      },
      child: (more) => this.#logger({ ...fields, ...more }),
    };
  }
}
