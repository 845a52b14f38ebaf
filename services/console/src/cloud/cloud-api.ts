/** The Cloud API as this page calls it: through its session, typed by the schemas that the server validates with. */
import {
  type AccountOperations,
  accountOperations,
  CloudApiError,
  errorShape,
  type exportAuditEventsRequest,
  type RequestOf,
  type ResponseOf,
  type UserOperations,
  userOperations,
} from "@perdure/cloud-client";
import { z } from "zod";
import type { SessionClient } from "./session/session-client.js";

export type CloudResponse<N extends keyof AccountOperations> = ResponseOf<AccountOperations[N]>;
export type EnvironmentDescription = CloudResponse<"DescribeEnvironment">;
export type AccountFacts = CloudResponse<"DescribeAccount">;
export type ApiKeyFacts = CloudResponse<"ListApiKeys">["apiKeys"][number];
export type AccountSummary = ResponseOf<UserOperations["ListAccounts"]>["accounts"][number];

const sessionsShape = z.object({
  sessions: z.array(
    z.object({
      sessionId: z.string(),
      kind: z.string(),
      label: z.string().nullish(),
      remoteAddress: z.string().nullish(),
      createdAt: z.number(),
      expiresAt: z.number(),
      isCurrent: z.boolean(),
    }),
  ),
});
export type SignedIn = z.infer<typeof sessionsShape>["sessions"][number];

/** All methods reject with `CloudApiError`. */
export class CloudApi {
  readonly client: SessionClient;

  constructor(client: SessionClient) {
    this.client = client;
  }

  async user<N extends keyof UserOperations>(
    name: N,
    body: RequestOf<UserOperations[N]>,
    signal?: AbortSignal,
  ): Promise<ResponseOf<UserOperations[N]>> {
    const response = await this.#post(`/console/cloud/${name}`, body, signal);
    return answered(userOperations[name], response);
  }

  async account<N extends keyof AccountOperations>(
    accountId: string,
    name: N,
    body: RequestOf<AccountOperations[N]>,
    signal?: AbortSignal,
  ): Promise<CloudResponse<N>> {
    const response = await this.#post(`/console/cloud/${encodeURIComponent(accountId)}/${name}`, body, signal);
    return answered(accountOperations[name], response);
  }

  /** The whole file; the server bounds its length. */
  async exportAuditEvents(accountId: string, body: z.input<typeof exportAuditEventsRequest>): Promise<Blob> {
    return await (await this.#post(`/console/cloud/${encodeURIComponent(accountId)}/ExportAuditEvents`, body)).blob();
  }

  async sessions(signal?: AbortSignal): Promise<readonly SignedIn[]> {
    const response = await this.#request("GET", "/console/sessions", undefined, signal);
    return (await parsed(sessionsShape, response)).sessions;
  }

  async endSession(sessionId: string): Promise<void> {
    await this.#post("/console/sessions/end", { sessionId });
  }

  /** Shows that it is them. */
  async confirm(password: string): Promise<void> {
    await this.#post("/console/confirm", { password });
    await this.client.refresh();
  }

  async signOut(): Promise<void> {
    await this.#post("/console/logout", {});
  }

  #post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
    return this.#request("POST", path, JSON.stringify(body), signal);
  }

  async #request(method: string, path: string, body: string | undefined, signal: AbortSignal | undefined): Promise<Response> {
    const headers: Record<string, string> = { accept: "application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    let response: Response;
    try {
      response = await this.client.fetch(path, { method, headers, body: body ?? null, signal: signal ?? null });
    } catch (cause) {
      if (signal?.aborted === true) throw cause;
      throw new CloudApiError(
        0,
        "The console's server cannot be reached. Check the network connection.",
        undefined,
        undefined,
        cause,
      );
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  }
}

/** Bytes of a foreign answer that are kept: enough to recognise a proxy. */
const SHOWN_CHARS_MAX = 300;

async function errorOf(response: Response): Promise<CloudApiError> {
  const text = await response.text();
  const parsed = errorShape.safeParse(jsonOf(text));
  if (parsed.success) {
    const { message, restate_code, request_id } = parsed.data;
    return new CloudApiError(response.status, message, restate_code, request_id);
  }
  const shown = text.slice(0, SHOWN_CHARS_MAX) || `answered ${response.status}`;
  return new CloudApiError(response.status, shown, undefined, undefined, parsed.error);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

function answered<O extends { readonly response: z.ZodType }>(operation: O, response: Response): Promise<ResponseOf<O>> {
  const shape: O["response"] = operation.response;
  return parsed(shape, response);
}

async function parsed<S extends z.ZodType>(shape: S, response: Response): Promise<z.output<S>> {
  const result = shape.safeParse(jsonOf(await response.text()));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") ?? "";
  throw new CloudApiError(
    response.status,
    `the answer has an unexpected shape: ${where}: ${issue?.message}`,
    undefined,
    undefined,
    result.error,
  );
}
