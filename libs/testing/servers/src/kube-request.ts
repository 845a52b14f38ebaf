/** Requests to an API server that check its readiness and its objects without the client that is being tested. */
import { request } from "node:https";
import { API_ANSWER_MS_MAX } from "./limits.js";

export interface KubernetesEndpoint {
  readonly port: number;
  /** PEM of the authority that signed the server's certificate. */
  readonly ca: string;
  readonly token: string;
}

export interface KubernetesQuestion {
  /** GET when absent. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with its query. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly text?: string;
  /** `application/json` when absent; of a PATCH `application/merge-patch+json`. */
  readonly contentType?: string;
}

export interface KubernetesAnswer {
  readonly status: number;
  readonly text: string;
}

/** Rejects when the server does not answer. */
export function requestKubernetes(
  { port, ca, token }: KubernetesEndpoint,
  question: KubernetesQuestion,
): Promise<KubernetesAnswer> {
  const { method = "GET", path, body, contentType, text = body === undefined ? undefined : JSON.stringify(body) } = question;
  const type = contentType ?? (method === "PATCH" ? "application/merge-patch+json" : "application/json");
  const headers = { authorization: `Bearer ${token}`, accept: "application/json", "content-type": type };
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, method, ca, headers, timeout: API_ANSWER_MS_MAX, agent: false } as const;
    const clientRequest = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).once("error", reject);
      response.once("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    clientRequest
      .once("error", reject)
      .once("timeout", () => clientRequest.destroy(new Error(`${method} ${path}: no answer in time`)));
    clientRequest.end(text);
  });
}
