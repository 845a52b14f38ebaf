/**
 * Runs in a network namespace: starts an endpoint, replays bundles on it with the command line, and prints the outcomes as JSON. The only
 * argument is a `ReplayTask` as JSON.
 */
import { connect } from "node:net";
import { runCommand } from "@perdure/processes";
import { SdkProgram } from "../endpoint.js";
import type { BuildStep } from "../language.js";
import { REPLAY_MS } from "../limits.js";
import { requestsToOutside } from "./namespace.js";

export interface ReplayTask {
  readonly endpoint: BuildStep;
  readonly environment: Readonly<Record<string, string>>;
  /** Bundle of the command line. */
  readonly program: string;
  readonly replays: readonly { readonly file: string; readonly flags: readonly string[] }[];
  /** Home directory of the command line. */
  readonly home: string;
}

export interface ReplaysInside {
  readonly replays: readonly { readonly exitCode: number | null; readonly stdout: string; readonly stderr: string }[];
  /** Requests to outside, by the endpoint and the command line. */
  readonly requestsToOutside: number;
  /** Requests to outside that were counted when this program then made one. */
  readonly requestsOfProbe: number;
}

/** An address of a network that documentation uses (RFC 5737). */
const OUTSIDE = { host: "192.0.2.1", port: 80 };

async function replayAll({ endpoint, environment, program, replays: requested, home }: ReplayTask): Promise<ReplaysInside> {
  const replays: ReplaysInside["replays"][number][] = [];
  const before = requestsToOutside();
  {
    await using started = await SdkProgram.start(endpoint, environment);
    const env = { PATH: process.env["PATH"], HOME: home };
    for (const { file, flags } of requested) {
      const args = [program, "replay", file, "--endpoint", started.url, "--json", ...flags];
      replays.push(await runCommand(process.execPath, args, { env, timeoutMs: REPLAY_MS }));
    }
  }
  const after = requestsToOutside();
  await tryOutside();
  return { replays, requestsToOutside: after - before, requestsOfProbe: requestsToOutside() - after };
}

function tryOutside(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(OUTSIDE);
    socket.once("error", () => resolve());
    socket.once("connect", () => {
      socket.destroy();
      reject(new Error("this namespace has a network"));
    });
  });
}

const task: ReplayTask = JSON.parse(process.argv[2] ?? "");
process.stdout.write(JSON.stringify(await replayAll(task)));
