/** Runs the released server for development, as a process of its own with its data in the project's folder. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { holderOf, isPortFree } from "@perdure/process-kit/port-holder";
import type { Context } from "../../context.js";
import { CliError, FAILED } from "../../errors.js";
import { QUIET_KAFKA } from "../../programs.js";
import { ChildProgram, exitText } from "./child.js";
import { lockedError } from "./holder.js";
import { SERVER_READY_MS_MAX } from "./limits.js";
import { entryOf, textOf } from "./server-log.js";

export interface ServerPorts {
  readonly ingress: number;
  readonly admin: number;
}

export interface DevServer {
  readonly child: ChildProgram;
  readonly ingressUrl: string;
  readonly adminUrl: string;
}

/** Beside the bundle of the command line; the npm package has all programs in one folder. */
const PROGRAM = ["./server.mjs", "../../standalone/dist/main.mjs"]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find(existsSync);

/** Variables of the command line; the server would refuse them as unknown settings. */
const OURS =
  /^(?:PERDURE|RESTATE)_(?:ENVIRONMENT|ACCOUNT|API_KEY|API_URL|AUTH_TOKEN|ADMIN_URL|INGRESS_URL|HOST|HOST_SCHEME|CONFIG_HOME|CLI_.*|NODE|NODE_OPTIONS)$/;

/** The programs of the project use the other processors; the variable itself overrides this. */
const ONE_THREAD = { PERDURE_WORKER__THREADS: "1" };

/** Ends the command when a port is taken, with the program that uses it and what to do. */
export async function requirePorts(context: Context, { ingress, admin }: ServerPorts): Promise<void> {
  for (const [port, listener, flag] of [
    [ingress, "the ingress", "--ingress-port"],
    [admin, "management", "--admin-port"],
  ] as const) {
    if (port === 0 || (await isPortFree(port))) continue;
    const holder = holderOf(port);
    const who = holder === undefined ? "another program" : `process ${holder.pid} (${holder.command})`;
    const stop = holder === undefined ? "Stop it" : `Stop it (kill ${holder.pid})`;
    context.fail(
      FAILED,
      `Port ${port} for ${listener} is taken by ${who}`,
      `${stop}, or take another port: perdure dev ${flag} ${port + 1}`,
    );
  }
}

/**
 * Resolves when both ports respond; rejects when the server ends instead, after printing the lines with the reason, or with the process
 * that has locked the data.
 */
export async function startServer(
  context: Context,
  { ports, data, bind }: { readonly ports: ServerPorts; readonly data: string; readonly bind: string },
  onProblem: (line: string) => void,
): Promise<DevServer> {
  if (PROGRAM === undefined) context.fail(FAILED, "The server is not built", "Run: make build");
  makeDataFolder(data);
  const readyUrls = Promise.withResolvers<{ ingress: string; admin: string }>();
  /** Output of a server that cannot start; not printed at once, because it names flags that `perdure dev` does not have. */
  const startErrors: string[] = [];
  let isStarting = true;
  const child = await ChildProgram.start({
    command: process.execPath,
    args: [QUIET_KAFKA, PROGRAM, "server", "--base-dir", data],
    cwd: process.cwd(),
    env: { ...ONE_THREAD, ...serverEnvironment(process.env), ...settingsOf(ports, bind) },
    clock: context.clock,
    onLine: (line) => {
      const entry = entryOf(line);
      if (entry?.msg === "ready" && entry.ingress !== undefined && entry.admin !== undefined)
        readyUrls.resolve({ ingress: entry.ingress, admin: entry.admin });
      else if (entry === undefined && isStarting) startErrors.push(line);
      else if (entry === undefined || entry.level === "error" || entry.level === "warn") onProblem(textOf(line, entry));
    },
  });
  const timeout = Promise.withResolvers<"late">();
  const timer = context.clock.setTimer(SERVER_READY_MS_MAX, () => timeout.resolve("late"));
  const outcome = await Promise.race([readyUrls.promise, child.exited, timeout.promise, aborted(context.signal)]);
  timer.cancel();
  isStarting = false;
  if (outcome === "aborted") {
    await child.stop();
    throw context.signal.reason;
  }
  if (outcome === "late" || "code" in outcome) {
    await child.stop();
    if (startErrors.some((line) => line.includes("RT0005"))) throw lockedError(data);
    for (const line of startErrors) onProblem(line);
    const why = outcome === "late" ? "was not ready in time" : `ended with ${exitText(outcome)}`;
    throw new CliError(FAILED, `The server ${why}`, "Its messages are above. Its data: see --data.");
  }
  return { child, ingressUrl: outcome.ingress.replace(/\/$/, ""), adminUrl: outcome.admin.replace(/\/$/, "") };
}

function aborted(signal: AbortSignal): Promise<"aborted"> {
  if (signal.aborted) return Promise.resolve("aborted");
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve("aborted"), { once: true }));
}

/** The folder contains a file that excludes it from version control. */
function makeDataFolder(data: string): void {
  mkdirSync(data, { recursive: true });
  const ignore = join(data, ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
}

function serverEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !OURS.test(name)));
}

function settingsOf({ ingress, admin }: ServerPorts, bind: string): Record<string, string> {
  return {
    PERDURE_LOG_FORMAT: "json",
    PERDURE_INGRESS__BIND_PORT: String(ingress),
    PERDURE_INGRESS__BIND_ADDRESS: bind,
    PERDURE_ADMIN__BIND_PORT: String(admin),
    PERDURE_ADMIN__BIND_ADDRESS: bind,
  };
}
