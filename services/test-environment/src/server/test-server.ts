/** The command `test-server`: an environment in a process of its own, for tests in any language. */
import { fstatSync } from "node:fs";
import { parseArgs } from "node:util";
import { causeMessage } from "@perdure/base";
import { type SkipTime, TestEnvironment } from "../environment.js";
import { PARENT_CHECK_MS } from "../limits.js";
import { testingRoutes } from "./testing-routes.js";

const HELP = `Start a test server: Perdure in memory, with a clock and faults that tests control at /testing.

Usage: perdure test-server [--skip-time auto|manual|off] [--always-replay] [--start-at TIME]

  --skip-time MODE   auto (default): time jumps to the next sleep or retry when nothing is in flight
                     manual: time stands still until POST /testing/clock
                     off: real time
  --always-replay    suspend handlers at every await
  --start-at TIME    time at which the server's clock begins, e.g. 2030-01-01T00:00:00Z

Prints one line of JSON when it is ready: {"ingress_url": …, "admin_url": …, "ingress_port": …, "admin_port": …}.
The server ends with its parent process, with its standard input, and at SIGINT and SIGTERM. It must not be used for anything but tests:
it keeps nothing.
`;

const OK = 0;
const MISUSED = 2;
const MODES: ReadonlyMap<string, SkipTime> = new Map<string, SkipTime>([
  ["auto", "auto"],
  ["manual", "manual"],
  ["off", false],
]);

interface Options {
  readonly skipTime: SkipTime;
  readonly alwaysReplay: boolean;
  readonly startAt: Date | undefined;
}

/** Resolves with the exit code when the server has ended. */
export async function runTestServer(args: readonly string[]): Promise<number> {
  if (args.some((arg) => arg === "--help" || arg === "-h")) {
    process.stdout.write(HELP);
    return OK;
  }
  // Read before the ready line, after which the parent may end at any moment.
  const parent = process.ppid;
  const options = optionsOf(args);
  if (typeof options === "string") {
    process.stderr.write(`perdure test-server: ${options} Try 'perdure test-server --help'.\n`);
    return MISUSED;
  }
  await using environment = await TestEnvironment.startExtended({ ...options, extendAdmin: testingRoutes });
  const { ingressUrl, adminUrl } = environment;
  const ports = { ingress_port: Number(new URL(ingressUrl).port), admin_port: Number(new URL(adminUrl).port) };
  process.stdout.write(`${JSON.stringify({ ingress_url: ingressUrl, admin_url: adminUrl, ...ports })}\n`);
  await untilEnd(parent);
  return OK;
}

/** Returns what is wrong as a sentence. */
function optionsOf(args: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        "skip-time": { type: "string", default: "auto" },
        "always-replay": { type: "boolean", default: false },
        "start-at": { type: "string" },
      },
    });
    const skipTime = MODES.get(values["skip-time"]);
    if (skipTime === undefined) return `--skip-time is auto, manual or off, not '${values["skip-time"]}'.`;
    const startAt = values["start-at"] === undefined ? undefined : new Date(values["start-at"]);
    if (startAt !== undefined && Number.isNaN(startAt.getTime())) return `--start-at '${values["start-at"]}' is not a time.`;
    return { skipTime, alwaysReplay: values["always-replay"], startAt };
  } catch (cause) {
    return `${causeMessage(cause)}.`;
  }
}

/** A test that crashes must not leave its server behind. */
function untilEnd(parent: number): Promise<void> {
  return new Promise((resolve) => {
    const check = setInterval(() => process.ppid !== parent && end(), PARENT_CHECK_MS);
    const end = (): void => {
      clearInterval(check);
      resolve();
    };
    // A signal to the process group may arrive a second time, forwarded by the parent.
    process.on("SIGINT", end).on("SIGTERM", end);
    const input = fstatSync(0, { throwIfNoEntry: false });
    if (input?.isFIFO() !== true && input?.isSocket() !== true) return;
    process.stdin.once("end", end).once("error", end).resume();
  });
}
