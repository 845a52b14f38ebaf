/**
 * What a service needs to be registered for real: a real server, code behind the published SDK, and addresses that map names of the cluster
 * to both. Versions are distinguished by the image of their pods.
 */
import { SdkEndpoint, Server } from "@perdure/conformance";
import { type ServiceDeployment, serviceDeploymentSpec } from "@perdure/custom-resources";
import { type KubeObject, type KubernetesClient, resources } from "@perdure/kubernetes";
import * as restate from "@restatedev/restate-sdk";
import { addressesOf, type OperatorAddresses } from "../src/service-deployment/addresses.js";
import { type TunnelIdentity, templateHash, versionName } from "../src/service-deployment/names.js";
import { cell } from "./cell.js";

export const POLL_MS = 200;

export interface Code {
  readonly services: Parameters<typeof SdkEndpoint.start>[0]["services"];
}

/** A real server, and endpoints in this process that stand for versions. */
export class Runtime implements AsyncDisposable {
  readonly server: Server;
  readonly #endpoints: SdkEndpoint[] = [];
  readonly #urls = new Map<string, string>();

  private constructor(server: Server) {
    this.server = server;
  }

  static async start(): Promise<Runtime> {
    return new Runtime(await Server.start());
  }

  /** Every management API is the server's; a version that does not run has an address without a listener. */
  get addresses(): OperatorAddresses {
    const place = ({ name, namespace }: { readonly name: string; readonly namespace: string }): string =>
      this.#urls.get(`${namespace}/${name}`) ?? "http://127.0.0.1:9";
    return {
      ...addressesOf(cell),
      adminOfEnvironment: () => this.server.adminUrl,
      adminOfCloud: () => this.server.adminUrl,
      endpoint: place,
      tunnelled: (_, at) => place(at),
      inProcess: (_, at) => place(at),
    };
  }

  /** Makes that version of the service answer with this code. */
  async serve(deployment: KubeObject, services: Code["services"], tunnel?: TunnelIdentity): Promise<string> {
    const name = nameOfVersion(deployment, tunnel);
    await this.serveAt(deployment.metadata.namespace ?? "", name, services);
    return name;
  }

  /** The same, by its name. */
  async serveAt(namespace: string, name: string, services: Code["services"]): Promise<void> {
    const endpoint = await SdkEndpoint.start({ services });
    this.#endpoints.push(endpoint);
    this.#urls.set(`${namespace}/${name}`, endpoint.url);
  }

  async call(service: string, handler: string, body: unknown = {}): Promise<unknown> {
    const response = await this.#post(`/${service}/${handler}`, body);
    return JSON.parse(response);
  }

  /** The id of the invocation. */
  async send(service: string, handler: string, body: unknown = {}): Promise<string> {
    return (JSON.parse(await this.#post(`/${service}/${handler}/send`, body)) as { readonly invocationId: string }).invocationId;
  }

  async resolve(awakeable: string): Promise<void> {
    await this.#post(`/restate/awakeables/${awakeable}/resolve`, "released");
  }

  async admin(method: string, path: string): Promise<number> {
    return (await fetch(`${this.server.adminUrl}${path}`, { method })).status;
  }

  async #post(path: string, body: unknown): Promise<string> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${this.server.ingressUrl}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    for (const endpoint of this.#endpoints) await endpoint[Symbol.asyncDispose]();
  }
}

/** Returns its version, and holds an invocation until its awakeable is resolved. */
export function greeter(service: string, version: string, awakeables: string[] = []): Code["services"] {
  return [
    restate.service({
      name: service,
      handlers: {
        greet: async () => version,
        hold: async (ctx: restate.Context) => {
          await ctx.run("begin", () => version); // From here on it can continue with this code only.
          const { id, promise } = ctx.awakeable<string>();
          awakeables.push(id);
          await promise;
          return version;
        },
        linger: async (ctx: restate.Context) => {
          const { id, promise } = ctx.awakeable<string>();
          awakeables.push(id);
          return await promise;
        },
      },
    }),
  ];
}

export interface ServiceInput {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly perdure?: Readonly<Record<string, unknown>>;
  readonly container?: Readonly<Record<string, unknown>>;
}

/** Registered at the test's server, without any delay. */
export function aService(
  { name, namespace, image, spec = {}, perdure = {}, container = {} }: ServiceInput,
  admin = "",
): KubeObject {
  const labels = { app: name };
  return {
    apiVersion: "perdure.dev/v1alpha1",
    kind: "ServiceDeployment",
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "code", image, ...container }] } },
      ...spec,
      perdure: { register: { url: admin }, drainDelaySeconds: 0, ...perdure },
    },
  };
}

export function nameOfVersion(deployment: KubeObject, tunnel?: TunnelIdentity, collisionCount = 0): string {
  const spec = serviceDeploymentSpec.parse(deployment["spec"]);
  const whole = { ...deployment, spec, status: { collisionCount } } as unknown as ServiceDeployment;
  return versionName(deployment.metadata.name, templateHash(whole, tunnel));
}

export type Status = NonNullable<ServiceDeployment["status"]>;

export async function statusOf(client: KubernetesClient, { metadata }: KubeObject): Promise<Status> {
  const existing = await client.find(resources.serviceDeployments, metadata.name, metadata.namespace);
  return ((existing as unknown as ServiceDeployment | undefined)?.status ?? {}) as Status;
}

export function conditionIn(status: Status, type: string) {
  return status.conditions?.find((one) => one.type === type);
}
