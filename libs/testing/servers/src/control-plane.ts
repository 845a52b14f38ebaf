/** Suites use an API server in the same way whether it is their own or one that suites share. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type KubernetesAnswer, type KubernetesQuestion, requestKubernetes } from "./kube-request.js";

/** The user that RBAC does not restrict. */
export const ADMIN = "admin";

export interface ControlPlaneAccess {
  readonly port: number;
  /** PEM of the authority that signed the API server's certificate. */
  readonly ca: string;
  /** Tokens by user; `ADMIN` is one of the users. */
  readonly tokens: Readonly<Record<string, string>>;
  /** Files of the control plane; kubeconfig files are written there. */
  readonly directory: string;
}

export class ControlPlane {
  readonly access: ControlPlaneAccess;

  constructor(access: ControlPlaneAccess) {
    this.access = access;
  }

  get url(): string {
    return `https://127.0.0.1:${this.access.port}`;
  }

  get port(): number {
    return this.access.port;
  }

  get ca(): string {
    return this.access.ca;
  }

  get directory(): string {
    return this.access.directory;
  }

  /** A kubeconfig (JSON, which is YAML) of `user`, one of the options or `admin`. */
  kubeconfig(user: string = ADMIN): string {
    return kubeconfigOf(this.access, this.#tokenOf(user));
  }

  /** The path of a file with the kubeconfig; deleted with the server's directory. */
  async kubeconfigFile(user: string = ADMIN): Promise<string> {
    const path = join(this.directory, `kubeconfig-${user}.json`);
    await writeFile(path, this.kubeconfig(user), { mode: 0o600 });
    return path;
  }

  /** Sends a request as `user`, without a client library; as `admin` when absent. */
  request(question: KubernetesQuestion, user: string = ADMIN): Promise<KubernetesAnswer> {
    return requestKubernetes({ port: this.port, ca: this.ca, token: this.#tokenOf(user) }, question);
  }

  #tokenOf(user: string): string {
    const token = this.access.tokens[user];
    if (token === undefined) throw new Error(`the control plane was started without a user '${user}'`);
    return token;
  }
}

export function kubeconfigOf({ port, ca }: Pick<ControlPlaneAccess, "port" | "ca">, token: string): string {
  const authority = Buffer.from(ca).toString("base64");
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority-data": authority } }],
    users: [{ name: "test", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  });
}
