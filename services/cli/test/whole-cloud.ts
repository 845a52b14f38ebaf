/** The whole platform on this machine, every program a process: what `make cloud` runs, on free ports and without its demo. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  apiUrlOf,
  cloudGatewaySettings,
  type LocalCloud,
  tenancySettings,
  tunnelRelaySettings,
} from "@perdure/cluster-kit/local-cloud";
import { programBundle, ServiceProgram } from "@perdure/conformance";
import { freePortRange, freePorts, startDatabase } from "@perdure/servers";

export class WholeCloud implements AsyncDisposable {
  readonly apiUrl: string;
  readonly relay: ServiceProgram;
  readonly #close: AsyncDisposableStack;

  private constructor(apiUrl: string, relay: ServiceProgram, close: AsyncDisposableStack) {
    this.apiUrl = apiUrl;
    this.relay = relay;
    this.#close = close;
  }

  static async start(): Promise<WholeCloud> {
    await using close = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), "perdure-whole-cloud-"));
    close.defer(() => rmSync(directory, { recursive: true, force: true }));
    const database = close.use(await startDatabase());
    const ports = (await freePorts(6)) as [number, number, number, number, number, number];
    const [apiPort, tenancyPort, tunnelPort, tunnelProxyPort, ingress, admin] = ports;
    const keyFile = join(directory, "keys");
    writeFileSync(keyFile, `1 ${Buffer.alloc(32, 7).toString("base64")}\n`, { mode: 0o600 });
    const cloud: LocalCloud = {
      postgresUrl: database.url,
      apiPort,
      tenancyPort,
      tunnelPort,
      tunnelProxyPort,
      firstEnvironmentPort: (await freePortRange(20)).first,
      runtimePorts: await freePortRange(20),
      directory: join(directory, "environments"),
      keyFile,
      serverProgram: await programBundle("services/standalone"),
    };
    const launch = async (
      service: string,
      settings: Parameters<typeof ServiceProgram.launch>[0]["settings"],
    ): Promise<ServiceProgram> => {
      const program = close.use(await ServiceProgram.launch({ service, settings }));
      // Stopped with a signal rather than killed: tenancy ends the runtimes that it started.
      close.defer(async () => void (await program.stop()));
      return program;
    };
    const tenancy = await launch("tenancy", tenancySettings(cloud, { probes: 0 }));
    const gateway = await launch("cloud-gateway", cloudGatewaySettings(cloud, { ingress, admin, probes: 0 }));
    const relay = await launch("tunnel-relay", tunnelRelaySettings(cloud, { probes: 0 }));
    await Promise.all([tenancy.ready(), gateway.ready(), relay.ready()]);
    return new WholeCloud(apiUrlOf(cloud), relay, close.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close.disposeAsync();
  }
}
