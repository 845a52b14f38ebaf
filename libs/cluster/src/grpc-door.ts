/**
 * Why: roles answer each other over gRPC on a door of their own. It is open before there is anything to ask, says by the standard
 * health service that nothing is served yet, and then what is; so probes can tell "starting" from "dead".
 */
import { Server, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { type OperationObserver, PerdureError } from "@perdure/base";
import { type MutualTls, observedHandlers, SERVER_OPTIONS, serverCredentials } from "@perdure/driver-grpc";
import type { Part } from "@perdure/role";
import { type DoorSettings, listenOn } from "@perdure/role/http";
import { HealthImplementation } from "grpc-health-check";

export type GrpcDoorSettings = DoorSettings;

export interface GrpcDoor extends Part {
  readonly port: number;
  /** From now on the service is answered and reported healthy. `name`: its full name, `perdure.control.v1.Registry`. */
  serve(name: string, definition: ServiceDefinition, handlers: UntypedServiceImplementation): void;
}

/** Name under which the process as a whole is asked for. */
const PROCESS = "";

/** `observer`: told of questions with one answer. Rejects with RT0004 when the address cannot be bound. Draining lets calls that are under way finish; streams are cut at the end. */
export async function openGrpcDoor(
  settings: GrpcDoorSettings,
  tls: MutualTls | undefined,
  observer?: OperationObserver,
): Promise<GrpcDoor> {
  const server = new Server(SERVER_OPTIONS);
  const health = new HealthImplementation({ [PROCESS]: "NOT_SERVING" });
  health.addToServer(server);
  const port = await bind(server, settings, tls);
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

function bind(server: Server, settings: GrpcDoorSettings, tls: MutualTls | undefined): Promise<number> {
  const { host = "[::]", port } = listenOn(settings);
  const address = `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, serverCredentials(tls), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(new PerdureError("RT0004", `cannot listen on ${address}: ${error.message}`, { cause: error }));
    });
  });
}
