/**
 * The fixture of a suite: one server, the endpoints registered with it, clients of ingress and management API, and a check at the end that
 * no process, listener or socket was left open.
 */
import { runningPrograms } from "@perdure/processes";
import { type RegistrationRequest, TestAdminClient } from "./admin-client.js";
import { TestIngressClient } from "./ingress-client.js";
import { type OpenHandles, openHandles, untilClosed } from "./leaks.js";
import { SdkEndpoint, type SdkEndpointOptions } from "./sdk-endpoint.js";
import { Server, type ServerOptions, type TestServer } from "./server.js";

export interface Deployed {
  readonly endpoint: SdkEndpoint;
  readonly id: string;
}

type StartServer = (options: ServerOptions) => Promise<TestServer>;

const startOneProcess: StartServer = (options) => Server.start(options);
let startServer = startOneProcess;

/**
 * Replaces the server of later worlds in this process (undefined: by one process). A suite that needs databases calls it, so that a world
 * itself does not depend on them.
 */
export function useServers(start: StartServer | undefined): void {
  startServer = start ?? startOneProcess;
}

/** Output lines of a crashed server in an error. */
const LAST_LINES_MAX = 30;

export class TestWorld implements AsyncDisposable {
  readonly server: TestServer;
  readonly ingress: TestIngressClient;
  readonly admin: TestAdminClient;
  readonly #before: OpenHandles;
  /** Children of this process before this world began: another world may be around it. */
  readonly #othersBefore: ReadonlySet<number>;
  readonly #owned: AsyncDisposable[] = [];

  private constructor(server: TestServer, before: OpenHandles, othersBefore: ReadonlySet<number>) {
    this.server = server;
    this.#before = before;
    this.#othersBefore = othersBefore;
    this.ingress = new TestIngressClient(server.ingressUrl);
    this.admin = new TestAdminClient(server.adminUrl);
  }

  static async start(options: ServerOptions = {}): Promise<TestWorld> {
    const before = openHandles();
    const othersBefore = runningPrograms();
    return new TestWorld(await startServer(options), before, othersBefore);
  }

  /** Serves the services and registers them; the endpoint is closed with the world. */
  async deploy(options: SdkEndpointOptions, registration: Partial<RegistrationRequest> = {}): Promise<Deployed> {
    const endpoint = this.own(await SdkEndpoint.start(options));
    return { endpoint, id: await this.register(endpoint, registration) };
  }

  register(endpoint: SdkEndpoint, registration: Partial<RegistrationRequest> = {}): Promise<string> {
    return this.admin.register({ uri: endpoint.url, use_http_11: endpoint.usesHttp11, ...registration });
  }

  /** Closes the resource with the world, in reverse order of creation. */
  own<T extends AsyncDisposable>(resource: T): T {
    this.#owned.push(resource);
    return resource;
  }

  /** Rejects when something that this world or its test opened is still open afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.ingress[Symbol.dispose]();
    this.admin[Symbol.dispose]();
    const died = this.server.isRunning
      ? undefined
      : `the server has died:\n${this.server.lines.slice(-LAST_LINES_MAX).join("\n")}`;
    await this.server[Symbol.asyncDispose]();
    for (const resource of this.#owned.reverse()) await resource[Symbol.asyncDispose]();
    await untilClosed(this.#before);
    if (died !== undefined) throw new Error(died);
    const left = [...runningPrograms()].filter((pid) => !this.#othersBefore.has(pid));
    if (left.length > 0) throw new Error(`left running: processes ${left.join(", ")}`);
  }
}
