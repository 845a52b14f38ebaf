/** Calls the Cloud API of a tenancy of its own, for suites of the Cloud API. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { json } from "node:stream/consumers";
import type { AccountId, EnvironmentId } from "@perdure/cloud";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { openTestTenancy, type TestTenancy, type TestUser } from "../src/testing/index.js";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { [field: string]: unknown };
}

/** The part of an answer that is the same for repeated requests. */
export const same = ({ status, body: { request_id: _, ...rest } }: Answer) => ({ status, rest });

export class CloudWorld implements AsyncDisposable {
  readonly cloud: TestTenancy;
  readonly #database: EmptyDatabase;

  private constructor(cloud: TestTenancy, database: EmptyDatabase) {
    this.cloud = cloud;
    this.#database = database;
  }

  static async open(): Promise<CloudWorld> {
    const database = await startDatabase();
    return new CloudWorld(await openTestTenancy(database.url), database);
  }

  async call(path: string, token: string | undefined, body = "{}"): Promise<Answer> {
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
    const response = await fetch(`${this.cloud.origin}${path}`, { method: "POST", headers, body });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: JSON.parse(text) as Answer["body"] };
  }

  /** Posts an empty body without any header about it. */
  async callBare(path: string, token: string): Promise<Pick<Answer, "status" | "body">> {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const outgoing = request(`${this.cloud.origin}${path}`, { method: "POST", headers, agent: false });
    for (const name of ["content-length", "transfer-encoding"]) outgoing.removeHeader(name);
    outgoing.end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, body: (await json(response)) as Answer["body"] };
  }

  async environmentOf(user: TestUser, account: AccountId, name = "dev"): Promise<EnvironmentId> {
    return (await user.client.account(account, "CreateEnvironment", { name, region: "us" })).environmentId;
  }

  /** Activates the environment as if its runtime had started. */
  async activate(id: EnvironmentId): Promise<void> {
    const { tables } = this.cloud.ports.database;
    await tables.environments.take(id, { event: "provisioned", nowMs: this.cloud.clock.nowMs() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cloud[Symbol.asyncDispose]();
    await this.#database[Symbol.asyncDispose]();
  }
}
