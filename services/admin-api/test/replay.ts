/**
 * Replays recorded exchanges of the reference system against our server. Ports and ids differ from run to run, so both are translated:
 * ports by a given map, ids as answers with the same meaning reveal them.
 */
import { readFileSync } from "node:fs";
import type { TestResponse, TestServer } from "../src/testing/index.js";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Exchange {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
  };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly json?: Json;
    readonly text?: string;
  };
  readonly volatile?: readonly string[];
}

export function loadExchanges(file: string): readonly Exchange[] {
  return JSON.parse(readFileSync(new URL(`../testdata/${file}.json`, import.meta.url), "utf8")) as Exchange[];
}

export class Replay {
  readonly #server: TestServer;
  /** Recorded text → our text. */
  readonly #translations = new Map<string, string>();

  constructor(server: TestServer) {
    this.#server = server;
  }

  translate(recorded: string, ours: string): void {
    this.#translations.set(recorded, ours);
  }

  /** Sends the request with translated values; resolves with the recorded answer, translated as well. */
  async run(exchange: Exchange): Promise<{ readonly ours: TestResponse; readonly recorded: Json | undefined }> {
    const { method, path, headers, body } = exchange.request;
    const sent = body === null || body === "" ? undefined : this.ours(body);
    const ours = await this.#server.send(method, this.ours(path), sent, { ...headers });
    this.#learn(exchange.response.json, ours);
    const { json } = exchange.response;
    return { ours, recorded: json === undefined ? undefined : (JSON.parse(this.ours(JSON.stringify(json))) as Json) };
  }

  /** A recorded text with translated values. */
  ours(text: string): string {
    let result = text;
    for (const [recorded, ours] of this.#translations) result = result.replaceAll(recorded, ours);
    return result;
  }

  #learn(recorded: Json | undefined, ours: TestResponse): void {
    const [theirId, ourId] = [idOf(recorded), ours.text.startsWith("{") ? idOf(ours.json<Json>()) : undefined];
    if (theirId !== undefined && ourId !== undefined) this.#translations.set(theirId, ourId);
  }
}

/** Returns the value without parts that change from run to run, and with unordered lists sorted. */
export function comparable(value: Json | undefined, volatile: readonly string[] = []): Json | undefined {
  if (value === undefined) return undefined;
  const copy = structuredClone(value);
  for (const path of [...volatile, "/created_at", "/deployments[]/created_at", "/clusters[]/created_at"])
    drop(copy, path.split("/").slice(1));
  return sorted(copy);
}

function idOf(value: Json | undefined): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return typeof value["id"] === "string" ? value["id"] : undefined;
}

/** `name` selects a field, `name[]` every element of a list, `[]` every element of the list itself. */
function drop(value: Json | undefined, [head, ...rest]: readonly string[]): void {
  if (typeof value !== "object" || value === null || head === undefined) return;
  if (head === "[]") {
    if (Array.isArray(value)) for (const element of value) drop(element, rest);
  } else if (Array.isArray(value)) return;
  else if (head.endsWith("[]")) drop(value[head.slice(0, -2)], ["[]", ...rest]);
  else if (rest.length === 0) delete value[head];
  else drop(value[head], rest);
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) {
    const elements = value.map(sorted);
    const isOfObjects = elements.every((element) => typeof element === "object" && element !== null);
    return isOfObjects ? elements.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : elements;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
