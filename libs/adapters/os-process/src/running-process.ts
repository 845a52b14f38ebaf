/** A runtime has the same interface whether this process started it or found it running; only how its end is noticed differs. */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { Clock, TimerHandle } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import type { EnvironmentFiles, ProcessRecord, RuntimeLaunch } from "./files.js";
import { HEAP_SHARE, OPEN_FILES_MAX, STOP_MS_MAX, WATCH_EVERY_MS } from "./limits.js";
import { identityOf, isAlive, signal } from "./process-identity.js";
import type { Shares } from "./shares.js";
import { becoming } from "./users.js";

export interface RunningProcess {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined;
  readonly fingerprint: string;
  /** Resolves once with the way in which the process ended, as text for operators. */
  readonly ended: Promise<string>;
  /** Requests the process to end, then kills it; `atOnce` kills it without a request. Resolves when it is gone. */
  stop(options?: { readonly atOnce: boolean }): Promise<void>;
  /** Stops watching for the end of the process, which continues. */
  leave(): void;
}

interface StartPorts {
  readonly program: string;
  readonly files: EnvironmentFiles;
  readonly clock: Clock;
  readonly shares: Shares;
}

/** Large buffers go back to the system as soon as they are freed, as in the script `perdure`, which explains it. */
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: "1048576", MALLOC_TRIM_THRESHOLD_: "8388608" };

/** The Kafka client computes a pause that may be negative, for which Node prints a warning into the log. */
const QUIET_KAFKA = "--disable-warning=TimeoutNegativeWarning";

/** Runs the program of a launch. It does not end with us, so that our crash is not the crash of all environments. */
export function startProcess(
  launch: RuntimeLaunch,
  { program, files, clock, shares }: StartPorts,
  id: EnvironmentId,
): RunningProcess {
  const log = openSync(files.log, "a", 0o600);
  try {
    const node = [process.execPath, `--max-old-space-size=${launch.heapMib}`, QUIET_KAFKA, program, ...launch.args];
    const { script: enter, prefix } = shares.prepare(id, launch.memoryMib ?? launch.heapMib / HEAP_SHARE);
    // No core dump is written: its memory holds keys.
    const script = `${enter}ulimit -c 0; ulimit -n ${OPEN_FILES_MAX} 2>/dev/null; exec "$@"`;
    const user = launch.uid === undefined ? [] : becoming(launch.uid);
    if (launch.uid !== undefined) files.handOverData(launch.uid);
    const child = spawn("/bin/sh", ["-c", script, "sh", ...prefix, ...user, ...node], {
      cwd: files.data,
      env: { PATH: process.env["PATH"], HOME: files.data, ...ALLOCATOR },
      detached: true, // A signal to our group is not for it.
      stdio: ["ignore", log, log],
    });
    const ended = new Promise<string>((resolve) => {
      child.once("error", (cause) => resolve(`it could not be started: ${cause.message}`));
      child.once("exit", (code, name) => resolve(endingOf(code, name)));
    });
    child.unref(); // The process may outlive this one.
    const { pid } = child;
    const identity = pid === undefined ? undefined : identityOf(pid);
    if (pid === undefined || identity === undefined)
      return { pid: undefined, fingerprint: launch.fingerprint, ended, stop: () => ended.then(NOTHING), leave: NOTHING };
    const record: ProcessRecord = { pid, identity, fingerprint: launch.fingerprint };
    try {
      files.process = record;
    } catch (cause) {
      signal(pid, identity, "SIGKILL"); // Without a record nothing would end it, and the next one would find its ports and data taken.
      throw cause;
    }
    return {
      pid,
      fingerprint: launch.fingerprint,
      ended,
      stop: (options) => stop(record, ended, clock, options),
      leave: NOTHING,
    };
  } finally {
    closeSync(log);
  }
}

/** The process that an earlier provisioner left; undefined when it has ended. */
export function adoptProcess(files: EnvironmentFiles, clock: Clock): RunningProcess | undefined {
  const record = files.process;
  if (record === undefined || !isAlive(record.pid, record.identity)) return undefined;
  let next: TimerHandle | undefined;
  const ended = new Promise<string>((resolve) => {
    const check = (): void => {
      if (isAlive(record.pid, record.identity)) next = clock.setTimer(WATCH_EVERY_MS, check);
      else resolve("it ended");
    };
    check();
  });
  const { pid, fingerprint } = record;
  return { pid, fingerprint, ended, stop: (options) => stop(record, ended, clock, options), leave: () => next?.cancel() };
}

function endingOf(code: number | null, name: NodeJS.Signals | null): string {
  if (name === null) return `it ended with exit code ${code}`;
  // Node exits this way when JavaScript exceeds its memory, after it has logged the reason.
  return name === "SIGABRT" ? "it ended itself (SIGABRT), most likely for want of memory" : `it was ended by ${name}`;
}

async function stop(
  { pid, identity }: ProcessRecord,
  ended: Promise<string>,
  clock: Clock,
  { atOnce } = { atOnce: false },
): Promise<void> {
  signal(pid, identity, atOnce ? "SIGKILL" : "SIGTERM");
  const killTimer = clock.setTimer(STOP_MS_MAX, () => signal(pid, identity, "SIGKILL"));
  await ended;
  killTimer.cancel();
}

const NOTHING = (): void => undefined;
