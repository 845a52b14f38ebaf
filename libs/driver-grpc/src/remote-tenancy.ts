/** Tenancy in another process: each question goes to the process that is listened to, and to the next when it does not answer. */
import { create } from "@bufbuild/protobuf";
import type { Client, ClientReadableStream } from "@grpc/grpc-js";
import { Backoff, type Clock, type Logger, PerdureError, type Random, type TimerHandle } from "@perdure/base";
import type {
  Authentication,
  BareEnvironmentId,
  EnvironmentFacts,
  EnvironmentId,
  GatewayReport,
  RateShares,
  Tenancy,
  TenancyNews,
  TunnelsReport,
  UsageReport,
} from "@perdure/cloud";
import { fromJson, toJson } from "./codec/json.js";
import { decodeFacts, type TenancyMethod, type TravellingFacts } from "./codec/tenancy.js";
import { tenancyDefinition } from "./definitions.js";
import { type TenancyNewsMessage, TenancyQuestionSchema, WatchTenancyRequestSchema } from "./gen/v1/tenancy_pb.js";
import { RECONNECT_BOUNDS, TENANCY_ASK_DEADLINE_MS } from "./limits.js";
import { askUnary } from "./unary.js";

export interface RemoteTenancyPorts {
  /** Channels to the tenancy processes there are; at least one. They stay the caller's to close. */
  readonly channels: readonly Client[];
  readonly clock: Clock;
  /** For the pauses between tries to connect. */
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

export class RemoteTenancy implements Tenancy {
  readonly #ports: RemoteTenancyPorts;
  /** Place of the channel that answered last. */
  #turn = 0;

  constructor(ports: RemoteTenancyPorts) {
    this.#ports = ports;
  }

  async environment(bare: BareEnvironmentId): Promise<EnvironmentFacts | undefined> {
    const facts = (await this.#ask("environment", [bare])) as TravellingFacts | null;
    return facts === null ? undefined : decodeFacts(facts);
  }

  async environments(): Promise<readonly EnvironmentFacts[]> {
    return ((await this.#ask("environments", [])) as readonly TravellingFacts[]).map(decodeFacts);
  }

  async authenticate(credential: string, environmentId: EnvironmentId): Promise<Authentication> {
    return (await this.#ask("authenticate", [credential, environmentId])) as Authentication;
  }

  async report(reports: readonly UsageReport[]): Promise<void> {
    await this.#ask("report", [reports]);
  }

  async reportTunnels(report: TunnelsReport): Promise<void> {
    await this.#ask("reportTunnels", [report]);
  }

  async shareRates(report: GatewayReport): Promise<RateShares> {
    return (await this.#ask("shareRates", [report])) as RateShares;
  }

  async runtimeOf(token: string): Promise<EnvironmentId | undefined> {
    return ((await this.#ask("runtimeOf", [token])) as EnvironmentId | null) ?? undefined;
  }

  watch(listener: (news: TenancyNews) => void, { signal }: { readonly signal: AbortSignal }): void {
    if (!signal.aborted) new Watch(this.#ports, listener, signal);
  }

  /** All questions may be asked twice: reports are totals. */
  async #ask(method: TenancyMethod, values: readonly unknown[]): Promise<unknown> {
    const { channels } = this.#ports;
    const question = create(TenancyQuestionSchema, { method, arguments: toJson(values) });
    const options = { deadlineMs: TENANCY_ASK_DEADLINE_MS, whom: "tenancy" };
    let last: unknown;
    for (let tries = 0; tries < channels.length; tries++) {
      const turn = this.#turn;
      try {
        const client = channels[turn % channels.length] as Client;
        return fromJson((await askUnary(client, tenancyDefinition.ask, question, options)).result);
      } catch (cause) {
        last = cause;
        if (this.#turn === turn) this.#turn++; // Others who failed as well may have moved on already.
      }
    }
    const { detail } = PerdureError.from(last);
    throw new PerdureError("TEN0001", detail, { cause: last });
  }
}

class Watch {
  readonly #ports: RemoteTenancyPorts;
  readonly #backoff: Backoff;
  readonly #listener: (news: TenancyNews) => void;
  #stream: ClientReadableStream<TenancyNewsMessage> | undefined;
  #pause: TimerHandle | undefined;
  #turn = 0;
  #isStopped = false;

  constructor(ports: RemoteTenancyPorts, listener: (news: TenancyNews) => void, signal: AbortSignal) {
    this.#ports = ports;
    this.#backoff = new Backoff(RECONNECT_BOUNDS, ports.random);
    this.#listener = listener;
    signal.addEventListener("abort", () => this.#stop(), { once: true });
    this.#listen();
  }

  #listen(): void {
    const { channels } = this.#ports;
    const client = channels[this.#turn++ % channels.length] as Client;
    const { path, requestSerialize, responseDeserialize } = tenancyDefinition.watch;
    const request = create(WatchTenancyRequestSchema);
    const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
    this.#stream = stream;
    stream.on("data", ({ news }: TenancyNewsMessage) => {
      if (this.#stream !== stream) return;
      this.#backoff.reset();
      this.#listener(fromJson(news) as TenancyNews);
    });
    stream.on("end", () => this.#lost(stream, "it closed the stream"));
    stream.on("error", (error: Error) => this.#lost(stream, error.message));
  }

  #lost(stream: ClientReadableStream<TenancyNewsMessage>, reason: string): void {
    if (this.#isStopped || this.#stream !== stream) return;
    this.#hangUp();
    const { clock, logger } = this.#ports;
    const pauseMs = this.#backoff.next();
    logger.debug({ reason, pauseMs }, "lost the tenancy that told the news; asking the next");
    this.#pause = clock.setTimer(pauseMs, () => this.#listen());
  }

  #stop(): void {
    this.#isStopped = true;
    this.#pause?.cancel();
    this.#hangUp();
  }

  #hangUp(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.on("error", () => undefined); // Cancelling reports itself as an error, which is what we asked for.
    stream?.cancel();
  }
}
