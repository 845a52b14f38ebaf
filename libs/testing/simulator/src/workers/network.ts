/**
 * The network between processes, as gRPC shows it to the real links and exchanges: streams whose bytes keep their order, come late, and
 * break with what is under way. Between streams there is no order. A cut holds bytes back; when it lasts, each end closes the stream
 * independently of the other. A process that does not listen, or has ended, refuses connections.
 */
import { type Channel, partitionsDefinition, partitionsHandlers, type ServedPartitions } from "@perdure/grpc";
import { Pipe } from "../scheduler.js";
import type { SimulatedWorld } from "../world.js";
import type { SimulatedProcess } from "./body.js";

/** A silent connection is probed and closed after this time, as by the real settings. */
const KEEPALIVE_MS = 4_000;

type StreamEventListener = (item?: unknown) => void;

/** One end of a gRPC stream for its users: events, and a way to write. */
class StreamEnd {
  readonly #listeners = new Map<string, StreamEventListener>();
  readonly #write: (message: unknown) => boolean;
  readonly cancel: () => void;
  readonly pause: () => void;
  readonly resume: () => void;

  constructor(write: (message: unknown) => boolean, cancel: () => void, pause: () => void, resume: () => void) {
    this.#write = write;
    this.cancel = cancel;
    this.pause = pause;
    this.resume = resume;
  }

  on(event: string, listener: StreamEventListener): this {
    this.#listeners.set(event, listener);
    return this;
  }
  write(message: unknown): boolean {
    return this.#write(message);
  }
  end(): void {}

  emit(event: string, item?: unknown): void {
    this.#listeners.get(event)?.(item);
  }
}

interface NetworkHost {
  readonly body: SimulatedProcess;
  readonly exchange: (call: unknown) => void;
}

export class SimulatedNetwork {
  readonly #world: SimulatedWorld;
  readonly #hosts = new Map<string, NetworkHost>();
  readonly #connections = new Set<NetworkConnection>();
  /** `from>to` by the hosts of processes, which outlive the processes. */
  readonly #cuts = new Set<string>();

  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  /** Accepts connections at this address while the process runs. */
  listen(address: string, body: SimulatedProcess, served: ServedPartitions): void {
    const exchange = partitionsHandlers(served)["exchange"] as unknown as (call: unknown) => void;
    const host: NetworkHost = { body, exchange };
    this.#hosts.set(address, host);
    body.onEnd(() => {
      if (this.#hosts.get(address) === host) this.#hosts.delete(address);
    });
  }

  /** A channel without a socket, with only the methods that a link uses. */
  channel(from: SimulatedProcess, address: string): Channel {
    const channel = {
      makeBidiStreamRequest: (): StreamEnd => this.#connect(from, address).client,
      close: (): void => undefined,
    };
    return channel as unknown as Channel;
  }

  /** Holds back what is sent from one host to the other until the cut is healed. */
  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
    for (const connection of this.#connections) connection.weatherChanged();
  }

  heal(from: string, to: string): void {
    this.#cuts.delete(`${from}>${to}`);
    for (const connection of this.#connections) connection.weatherChanged();
  }

  healAll(): void {
    this.#cuts.clear();
    for (const connection of this.#connections) connection.weatherChanged();
  }

  isCut(from: string, to: string): boolean {
    return this.#cuts.size > 0 && this.#cuts.has(`${from}>${to}`);
  }

  #connect(from: SimulatedProcess, address: string): NetworkConnection {
    const host = this.#hosts.get(address);
    const connection = new NetworkConnection(this.#world, from, placeOf(address), host, {
      isCut: (a, b) => this.isCut(a, b),
      over: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
    return connection;
  }
}

/** `w0.test:9071` is the address of host `w0`, whichever process runs there. */
function placeOf(address: string): string {
  return address.slice(0, address.indexOf("."));
}

/** `w0#3` runs on host `w0`. */
function placeOfProcess(name: string): string {
  return name.slice(0, name.indexOf("#"));
}

interface ConnectionEvents {
  isCut(from: string, to: string): boolean;
  over(): void;
}

const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } = partitionsDefinition.exchange;

/** End of the client's stream. */
const GOODBYE = new Uint8Array();

/** One stream. Each of its ends may have closed when the other has not yet. */
class NetworkConnection {
  readonly client: StreamEnd;
  readonly #world: SimulatedWorld;
  readonly #from: SimulatedProcess;
  readonly #fromPlace: string;
  readonly #toPlace: string;
  readonly #host: NetworkHost | undefined;
  readonly #events: ConnectionEvents;
  readonly #server: StreamEnd;
  readonly #there: Pipe<Uint8Array>;
  readonly #back: Pipe<Uint8Array>;
  #clientOpen = true;
  #serverOpen = true;
  /** Time since which the connection has been silent; undefined while both directions work. */
  #silentSinceMs: number | undefined;
  readonly #unlisten: (() => void)[] = [];

  constructor(
    world: SimulatedWorld,
    from: SimulatedProcess,
    toPlace: string,
    host: NetworkHost | undefined,
    events: ConnectionEvents,
  ) {
    this.#world = world;
    this.#from = from;
    this.#fromPlace = placeOfProcess(from.name);
    this.#toPlace = toPlace;
    this.#host = host;
    this.#events = events;
    const { scheduler, settings } = world;
    this.#there = new Pipe<Uint8Array>(scheduler, settings.networkMs, (bytes) => this.#atServer(bytes));
    this.#back = new Pipe<Uint8Array>(scheduler, settings.networkMs, (bytes) => this.#atClient(bytes));
    this.client = new StreamEnd(
      (message) => this.#push(this.#there, requestSerialize(message as never), this.#from, () => this.client),
      () => this.#clientGivesUp(),
      () => undefined,
      () => undefined,
    );
    this.#server = new StreamEnd(
      (message) =>
        this.#serverOpen && host !== undefined
          ? this.#push(this.#back, responseSerialize(message as never), host.body, () => this.#server)
          : true,
      () => undefined,
      () => undefined,
      () => undefined,
    );
    this.#unlisten.push(from.onEnd(() => this.#clientDied()));
    if (host === undefined || !host.body.alive) {
      scheduler.after(scheduler.latency(settings.networkMs), () => this.#breakClient("connection refused"));
      return;
    }
    this.#unlisten.push(host.body.onEnd(() => this.#serverDied()));
    host.body.enter(() => host.exchange(this.#server));
    this.weatherChanged();
  }

  /** A cut began or was healed. */
  weatherChanged(): void {
    const isCutThere = this.#events.isCut(this.#fromPlace, this.#toPlace);
    const isCutBack = this.#events.isCut(this.#toPlace, this.#fromPlace);
    if (isCutThere) this.#there.pause();
    else this.#there.resume();
    if (isCutBack) this.#back.pause();
    else this.#back.resume();
    if (!isCutThere && !isCutBack) {
      this.#silentSinceMs = undefined;
      return;
    }
    if (this.#silentSinceMs !== undefined) return;
    const sinceMs = this.#world.scheduler.clock.monotonicMs();
    this.#silentSinceMs = sinceMs;
    this.#world.scheduler.after(KEEPALIVE_MS * (0.5 + this.#world.scheduler.random.float()), () => {
      if (this.#silentSinceMs === sinceMs) this.#silentForTooLong();
    });
  }

  /** Serializes at once, as a stream does. Sometimes the other end reads slowly. */
  #push(pipe: Pipe<Uint8Array>, bytes: Uint8Array, writer: SimulatedProcess, end: () => StreamEnd): boolean {
    const { scheduler, settings } = this.#world;
    pipe.push(new Uint8Array(bytes));
    if (!scheduler.random.chance(0.02)) return true;
    scheduler.after(scheduler.latency(settings.networkMs), () => writer.enter(() => end().emit("drain")));
    return false;
  }

  #atServer(bytes: Uint8Array): void {
    if (bytes === GOODBYE) return this.#breakServer();
    const { scheduler, weather } = this.#world;
    if (scheduler.random.chance(weather.messageLoss)) return this.#bothGiveUp("connection reset");
    // The data in its buffers are read, also when the other end has closed meanwhile.
    this.#host?.body.enter(() => {
      if (this.#serverOpen) this.#server.emit("data", requestDeserialize(Buffer.from(bytes)));
    });
    this.#watchPause();
  }

  #atClient(bytes: Uint8Array): void {
    const { scheduler, weather } = this.#world;
    if (scheduler.random.chance(weather.messageLoss)) return this.#bothGiveUp("connection reset");
    this.#from.enter(() => {
      if (this.#clientOpen) this.client.emit("data", responseDeserialize(Buffer.from(bytes)));
    });
  }

  /** A stopped process responds to no probe. */
  #watchPause(): void {
    const body = this.#host?.body;
    if (body?.paused !== true || !this.#clientOpen) return;
    this.#world.scheduler.after(KEEPALIVE_MS, () => {
      if (!body.paused) return;
      this.#breakClient("keepalive watchdog");
      this.#there.push(GOODBYE);
    });
  }

  /** Each end closes its socket; the kernel still sends what is in its buffers, which may arrive when the cut is healed. */
  #silentForTooLong(): void {
    if (this.#world.scheduler.random.chance(0.5)) return this.#bothGiveUp("keepalive watchdog");
    this.#breakClient("keepalive watchdog");
    this.#there.push(GOODBYE);
  }

  #bothGiveUp(why: string): void {
    this.#there.break();
    this.#back.break();
    this.#breakClient(why);
    this.#breakServer();
  }

  /** Ends the client's side: the bytes that it wrote arrive, and the bytes that it was to read do not. */
  #clientGivesUp(): void {
    if (!this.#clientOpen) return;
    this.#clientOpen = false;
    this.#back.break();
    this.#there.push(GOODBYE);
  }

  #breakClient(why: string): void {
    this.#from.enter(() => {
      if (!this.#clientOpen) return;
      this.#clientOpen = false;
      this.#back.break();
      this.client.emit("error", Object.assign(new Error(why), { code: 14, details: why }));
    });
  }

  #breakServer(): void {
    const body = this.#host?.body;
    if (body?.alive === true)
      body.enter(() => {
        if (!this.#serverOpen) return;
        this.#serverOpen = false;
        this.#there.break();
        this.#server.emit("cancelled");
        this.#over();
      });
    else this.#over();
  }

  #clientDied(): void {
    this.#clientOpen = false;
    this.#back.break();
    this.#there.push(GOODBYE);
  }

  /** The kernel closes connections of a killed process; those of a failed machine stay open. */
  #serverDied(): void {
    const { scheduler, settings } = this.#world;
    this.#serverOpen = false;
    this.#there.break();
    const afterMs = scheduler.random.chance(0.8) ? scheduler.latency(settings.networkMs) : KEEPALIVE_MS;
    scheduler.after(afterMs, () => this.#breakClient("socket closed"));
  }

  #over(): void {
    for (const unlisten of this.#unlisten) unlisten();
    if (!this.#clientOpen) this.#events.over();
  }
}
