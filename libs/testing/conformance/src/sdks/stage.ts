/** The operations of scenarios: call the endpoint's services, inspect invocations, and crash processes. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { IntrospectionRow, TestAdminClient } from "../admin-client.js";
import { eventually } from "../eventually.js";
import type { HttpAnswer } from "../http.js";
import { errorOf, type Path, type TestIngressClient } from "../ingress-client.js";
import type { Server } from "../server.js";
import type { SdkProgram } from "./endpoint.js";
import { RETRY_PAUSE_MS, SOON_MS } from "./limits.js";

export interface StageParts {
  readonly server: Server;
  readonly endpoint: SdkProgram;
  readonly ingress: TestIngressClient;
  readonly admin: TestAdminClient;
  /** The service protocol that invocations must be pinned to. */
  readonly protocol: number;
}

let keys = 0;

export class SdkStage {
  readonly server: Server;
  readonly endpoint: SdkProgram;
  readonly ingress: TestIngressClient;
  readonly admin: TestAdminClient;
  readonly protocol: number;

  constructor({ server, endpoint, ingress, admin, protocol }: StageParts) {
    this.server = server;
    this.endpoint = endpoint;
    this.ingress = ingress;
    this.admin = admin;
    this.protocol = protocol;
  }

  /** A key that was not used before in this process. */
  key(): string {
    return `k${++keys}`;
  }

  /** Asserts that the handler returns exactly this. */
  async gives(expected: unknown, path: Path, argument?: unknown): Promise<void> {
    assert.deepEqual(await this.ingress.result(path, argument), expected, path.join("/"));
  }

  /** Polls until the handler returns exactly this. */
  async soonGives(expected: unknown, path: Path): Promise<void> {
    await soon(`${path.join("/")} gives ${JSON.stringify(expected)}`, () => this.gives(expected, path).then(() => true));
  }

  /** Polls until the handler returns a value that is not empty, and returns it. */
  soonSays(path: Path): Promise<string> {
    return soon(`${path.join("/")} returns a value`, async () => (await this.ingress.result<string>(path)) || undefined);
  }

  /** Id of an invocation that was sent off. */
  async send(path: Path, argument?: unknown): Promise<string> {
    return (await this.ingress.send(path, argument)).invocationId;
  }

  /** Asserts that the invocation ends with exactly this. */
  async ends(id: string, expected: unknown): Promise<void> {
    assert.deepEqual(await this.ingress.outcome(id, SOON_MS), expected);
  }

  /** Polls introspection until the row matches, and returns it. */
  soonShows(id: string, what: string, matches: (row: IntrospectionRow) => boolean): Promise<IntrospectionRow> {
    return soon(`${id} ${what}`, async () => {
      const row = await this.admin.row(id);
      return row !== undefined && matches(row) ? row : undefined;
    });
  }
}

/** Polls with pauses: every poll is an invocation, and some SDKs take tens of milliseconds of processor time to begin one. */
function soon<T>(what: string, check: () => Promise<T | undefined>): Promise<T> {
  const poll = (): Promise<T | undefined> => delay(RETRY_PAUSE_MS).then(check);
  return eventually(what, poll, SOON_MS);
}

/** Asserts that the answer is a failure of the handler with this status and a message that contains this text. */
export function assertFailed(answer: HttpAnswer, status: number, message: string): void {
  assert.equal(answer.status, status, answer.text);
  const error = errorOf(answer);
  assert.equal(error.code, status);
  assert.equal(error.source, "invocation");
  assert.ok(error.message.includes(message), `'${error.message}' does not contain '${message}'`);
}
