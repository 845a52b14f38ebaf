/**
 * The gRPC listener of a role, for other roles. It opens before the role can serve anything, and reports by the standard health service
 * first that nothing is served yet, then which services are; so probes can distinguish a starting process from a failed one.
 */
import { Server, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { type OperationObserver, PerdureError } from "@perdure/base";
import { observedHandlers, type PeerCredentials, serverCredentials, serverOptions } from "@perdure/grpc";
import type { ProcessPart } from "@perdure/process-kit";
import { isBeyondLoopback, type ListenerSettings, listenOn } from "@perdure/process-kit/http";
import { HealthImplementation } from "grpc-health-check";

export interface GrpcListenerSettings extends ListenerSettings {
  /** Whether other machines may reach the listener although no client is authenticated. */
  readonly allowCleartext?: boolean;
}

export interface GrpcListener extends ProcessPart {
  readonly port: number;
  /** Serves a service and reports it as healthy. `name`: its full name, `perdure.control.v1.Registry`. */
  serve(name: string, definition: ServiceDefinition, handlers: UntypedServiceImplementation): void;
}

/** Tenancy returns the secrets of runtimes there, and workers execute commands without further checks. */
const OPEN_TO_OTHERS =
  "'grpc.bind-address' lets other machines reach gRPC without authentication: set certificates (tls.authority-file, tls.certificate-file, tls.private-key-file) or a shared token (tls.token-file), listen on 127.0.0.1, or set grpc.allow-cleartext where network policies keep others out";

/** Name of the process as a whole in the health service. */
const PROCESS = "";

/**
 * `observer` is notified of unary calls. Rejects with RT0004 when the address cannot be bound, with OPS0001 when other machines could reach
 * it without authentication. Draining lets calls that are under way finish; streams are cut at the end.
 */
export async function openGrpcListener(
  settings: GrpcListenerSettings,
  peers: PeerCredentials | undefined,
  observer?: OperationObserver,
): Promise<GrpcListener> {
  if (peers === undefined && settings.allowCleartext !== true && isBeyondLoopback(settings)) {
    throw new PerdureError("OPS0001", OPEN_TO_OTHERS);
  }
  const server = new Server(serverOptions(peers));
  const health = new HealthImplementation({ [PROCESS]: "NOT_SERVING" });
  health.addToServer(server);
  const port = await bind(server, settings, peers);
  const served = new Set<string>([PROCESS]);
  const stopServing = (): void => {
    for (const name of served) health.setStatus(name, "NOT_SERVING");
  };
  return {
    port,
    serve(name, definition, handlers) {
      server.addService(definition, observer === undefined ? handlers : observedHandlers(definition, handlers, observer));
      served.add(name);
      health.setStatus(name, "SERVING");
      health.setStatus(PROCESS, "SERVING");
    },
    drain: async () => stopServing(),
    async [Symbol.asyncDispose]() {
      stopServing();
      server.forceShutdown();
    },
  };
}

function bind(server: Server, settings: GrpcListenerSettings, peers: PeerCredentials | undefined): Promise<number> {
  const { host = "[::]", port } = listenOn(settings);
  const address = `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, serverCredentials(peers), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(new PerdureError("RT0004", `cannot listen on ${address}: ${error.message}`, { cause: error }));
    });
  });
}
