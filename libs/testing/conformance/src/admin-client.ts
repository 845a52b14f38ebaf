/** A client of the management API with the operations that the suites need. */
import type { InvocationVerb } from "@perdure/admin-contract";
import { type HttpAnswer, HttpClient } from "./http.js";

export interface RegistrationRequest {
  readonly uri: string;
  readonly use_http_11?: boolean;
  readonly force?: boolean;
  readonly breaking?: boolean;
  readonly dry_run?: boolean;
  readonly additional_headers?: Readonly<Record<string, string>>;
}

export interface AdminError {
  readonly message: string;
  readonly restate_code: string | null;
}

/** A row of introspection; null columns are absent. */
export type IntrospectionRow = Readonly<Record<string, unknown>>;

export class TestAdminClient implements Disposable {
  readonly http: HttpClient;

  constructor(base: string) {
    this.http = new HttpClient(base);
  }

  get(path: string): Promise<HttpAnswer> {
    return this.http.request("GET", path);
  }

  post(path: string, json: unknown): Promise<HttpAnswer> {
    return this.http.request("POST", path, { json });
  }

  patch(path: string, json: unknown): Promise<HttpAnswer> {
    return this.http.request("PATCH", path, { json });
  }

  delete(path: string): Promise<HttpAnswer> {
    return this.http.request("DELETE", path);
  }

  /** Resolves with the answer for any status. */
  tryRegister(registration: RegistrationRequest): Promise<HttpAnswer> {
    return this.post("/deployments", registration);
  }

  /** Resolves with the deployment's id; rejects when the registration is refused. */
  async register(registration: RegistrationRequest): Promise<string> {
    const answer = await this.tryRegister(registration);
    if (answer.status !== 201 && answer.status !== 200)
      throw new Error(`registering ${registration.uri}: ${answer.status} ${answer.text}`);
    return (answer.json as { id: string }).id;
  }

  /** `PATCH /invocations/{id}/{verb}` without a body. */
  invocation(id: string, verb: InvocationVerb, query = ""): Promise<HttpAnswer> {
    return this.http.request("PATCH", `/invocations/${id}/${verb}${query}`);
  }

  async query(sql: string): Promise<readonly IntrospectionRow[]> {
    const answer = await this.http.request("POST", "/query", { json: { query: sql }, headers: { accept: "application/json" } });
    if (answer.status !== 200) throw new Error(`${sql}: ${answer.status} ${answer.text}`);
    return (answer.json as { rows: readonly IntrospectionRow[] }).rows;
  }

  /** The introspection row of one invocation; undefined when there is none. */
  async row(id: string): Promise<IntrospectionRow | undefined> {
    return (await this.query(`SELECT * FROM sys_invocation WHERE id = '${id}'`))[0];
  }

  [Symbol.dispose](): void {
    this.http[Symbol.dispose]();
  }
}

/** The JSON body of an error response. */
export function adminErrorOf(answer: HttpAnswer): AdminError {
  if (answer.status < 400) throw new Error(`not an error: ${answer.status} ${answer.text}`);
  return answer.json as AdminError;
}
