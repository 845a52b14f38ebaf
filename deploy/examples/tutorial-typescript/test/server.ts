/** A server for tests: free ports, data in a temporary folder, both gone afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export async function startServer(): Promise<TestServer> {
  const data = await mkdtemp(join(tmpdir(), "order-test-"));
  const flags = ["--base-dir", data, "--ingress.bind-port", "0", "--admin.bind-port", "0", "--log-format", "json"];
  const child = spawn(process.env["PERDURE"] ?? "perdure", ["server", ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    // The server logs its addresses when it is ready.
    const ready = /"ingress":"([^"]+)".*"admin":"([^"]+)"/.exec(line);
    if (ready?.[1] !== undefined && ready[2] !== undefined) {
      child.stdout.resume();
      return new TestServer(child, data, ready[1], ready[2]);
    }
  }
  throw new Error(`the server did not start:\n${lines.join("\n")}`);
}

export class TestServer {
  readonly #child: ChildProcess;
  readonly #data: string;
  readonly #ingress: string;
  readonly #admin: string;

  constructor(child: ChildProcess, data: string, ingress: string, admin: string) {
    this.#child = child;
    this.#data = data;
    this.#ingress = ingress;
    this.#admin = admin;
  }

  register(uri: string): Promise<Record<string, unknown>> {
    return answerOf(new URL("/deployments", this.#admin), { uri });
  }

  call(path: string, body: unknown): Promise<Record<string, unknown>> {
    return answerOf(new URL(path, this.#ingress), body);
  }

  send(path: string, body: unknown): Promise<Record<string, unknown>> {
    return this.call(`${path}/send`, body);
  }

  async result(path: string): Promise<unknown> {
    const response = await fetch(new URL(path, this.#ingress));
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await exited;
    await rm(this.#data, { recursive: true });
  }
}

async function answerOf(url: URL, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url.pathname}: ${response.status} ${text}`);
  return text === "" ? {} : JSON.parse(text);
}
