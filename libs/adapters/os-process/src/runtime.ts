/**
 * One environment's runtime: brings its process to the requested launch, and again whenever it ends.
 *
 *     requested ─▸ adopt or start ─▸ answers: ready ─▸ ended ─▸ pause, start again ─▸ … ─▸ too often: failed, until the request changes
 *                                                   ├▸ other settings: stop, start
 *                                                   └▸ hangs, or takes too much memory: ended, then as above
 */
import {
  backoffMs,
  type Clock,
  causeMessage,
  type Logger,
  NO_COMMIT,
  pause,
  type Random,
  type Secret,
  type TimerHandle,
} from "@perdure/base";
import { type EnvironmentId, RUNTIME_SECRET_HEADER, type RuntimeState, type Upstream } from "@perdure/cloud";
import type { EnvironmentFiles, RuntimeLaunch } from "./files.js";
import {
  CRASHES_MAX,
  HEALTH_EVERY_MS,
  HEALTH_TIMEOUT_MS,
  LOG_CHECK_EVERY_MS,
  RESTART_FIRST_MS,
  RESTART_LONGEST_MS,
  STABLE_MS,
  START_MS_MAX,
} from "./limits.js";
import { memoryMibOf } from "./memory.js";
import { LOOPBACK } from "./ports.js";
import { adoptProcess, type RunningProcess, startProcess } from "./running-process.js";
import { appendToLog, boundLog } from "./runtime-log.js";
import type { Shares } from "./shares.js";
import { untilUnhealthy } from "./watchdog.js";

interface RuntimePorts {
  readonly id: EnvironmentId;
  readonly files: EnvironmentFiles;
  /** The program: a bundle of `perdure server`. */
  readonly program: string;
  readonly secret: Secret;
  readonly shares: Shares;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onState: (state: RuntimeState) => void;
}

type RuntimeEnding =
  | { readonly kind: "changed" }
  | { readonly kind: "ended"; readonly reason: string; readonly wasStable: boolean };

const CHANGED = { kind: "changed" } as const;

export class Runtime {
  readonly #ports: RuntimePorts;
  #launch: RuntimeLaunch;
  #state: RuntimeState;
  /** Aborted when the requested state of the process changes. */
  #change = new AbortController();
  #isEnding = false;
  #isLeaving = false;
  #process: RunningProcess | undefined;
  readonly #running: Promise<void>;
  #logTimer: TimerHandle | undefined;

  constructor(ports: RuntimePorts, launch: RuntimeLaunch) {
    this.#ports = ports;
    this.#launch = launch;
    this.#state = { phase: "starting", generation: launch.generation };
    ports.onState(this.#state);
    this.#running = this.#run();
    this.#watchLog();
  }

  get launch(): RuntimeLaunch {
    return this.#launch;
  }

  get state(): RuntimeState {
    return this.#state;
  }

  /** A running process with the right settings continues undisturbed. */
  apply(launch: RuntimeLaunch): void {
    const needsStart = launch.fingerprint !== this.#launch.fingerprint || this.#state.phase === "failed";
    this.#launch = launch;
    if (needsStart) {
      this.#become({ phase: "starting", generation: launch.generation });
      this.#change.abort();
    } else {
      this.#become({ ...this.#state, generation: launch.generation });
    }
  }

  /** Resolves when no process is left. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#logTimer?.cancel();
    this.#change.abort();
    await this.#running;
    this.#ports.shares.release(this.#ports.id);
  }

  /** Leaves the process running; the next provisioner adopts it. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    this.#isEnding = true;
    this.#logTimer?.cancel();
    this.#change.abort();
    await this.#running;
    this.#process?.leave();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    let crashes = 0;
    while (!this.#isEnding) {
      this.#change = new AbortController();
      const ending = await this.#try(this.#launch, this.#change.signal);
      if (ending.kind === "changed" || this.#change.signal.aborted) {
        crashes = 0;
        continue;
      }
      crashes = ending.wasStable ? 1 : crashes + 1;
      const { reason } = ending;
      this.#ports.logger.warn({ environmentId: this.#ports.id, reason, crashes }, "a runtime has ended");
      this.#logForOwner(reason, crashes);
      const { generation } = this.#launch;
      if (crashes >= CRASHES_MAX) {
        this.#become({ phase: "failed", generation, reason: `${reason}, the last of ${crashes} times` });
        await pause(this.#ports.clock, Number.MAX_SAFE_INTEGER, this.#change.signal);
        crashes = 0;
      } else {
        this.#become({ phase: "starting", generation });
        const pauseMs = backoffMs(crashes - 1, { firstMs: RESTART_FIRST_MS, longestMs: RESTART_LONGEST_MS }, this.#ports.random);
        await pause(this.#ports.clock, pauseMs, this.#change.signal);
      }
    }
    if (!this.#isLeaving) await this.#stop();
  }

  async #try(launch: RuntimeLaunch, changed: AbortSignal): Promise<RuntimeEnding> {
    try {
      const { id, files, clock } = this.#ports;
      this.#process ??= adoptProcess(files, clock);
      if (this.#process !== undefined && this.#process.fingerprint !== launch.fingerprint) await this.#stop();
      if (this.#isEnding) return CHANGED;
      this.#process ??= startProcess(launch, this.#ports, id);
      return await this.#watch(this.#process, launch, changed);
    } catch (cause) {
      const reason = causeMessage(cause);
      return { kind: "ended", reason: `it could not be started: ${reason}`, wasStable: false };
    }
  }

  async #watch(running: RunningProcess, launch: RuntimeLaunch, changed: AbortSignal): Promise<RuntimeEnding> {
    const { clock } = this.#ports;
    const startedAtMs = clock.monotonicMs();
    let reason: string | undefined;
    const ended = running.ended.then((why) => {
      reason = why;
    });
    let answeredAtMs: number | undefined;
    while (reason === undefined && !changed.aborted && answeredAtMs === undefined) {
      if (await this.#answers(launch)) answeredAtMs = clock.monotonicMs();
      else if (clock.monotonicMs() - startedAtMs > START_MS_MAX) {
        await this.#stop({ atOnce: true });
        return { kind: "ended", reason: `it did not answer within ${START_MS_MAX / 1_000} s`, wasStable: false };
      } else await Promise.race([ended, pause(this.#ports.clock, HEALTH_EVERY_MS, changed)]);
    }
    if (answeredAtMs !== undefined && reason === undefined && !changed.aborted) {
      this.#become({ phase: "ready", generation: this.#launch.generation, upstream: this.#upstream(launch) });
      // The reason for ending it explains more than its exit code.
      reason = (await this.#endWhenUnhealthy(running, launch, changed)) ?? reason;
    }
    if (reason === undefined) return CHANGED;
    this.#process = undefined;
    this.#ports.files.process = undefined;
    return { kind: "ended", reason, wasStable: answeredAtMs !== undefined && clock.monotonicMs() - answeredAtMs > STABLE_MS };
  }

  /** Resolves with the reason when the process was ended; with undefined when it ended by itself or the requested state changed. */
  async #endWhenUnhealthy(running: RunningProcess, launch: RuntimeLaunch, changed: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#ports;
    const { pid } = running;
    const memoryMib = (): number | undefined => (pid === undefined ? undefined : memoryMibOf(pid));
    // A runtime that is not ready may become ready soon; one that commits nothing is of no use, although it answers.
    const answers = (): Promise<boolean> =>
      this.#probe(launch).then((answer) => answer !== undefined && !(answer.status === 503 && answer.text.includes(NO_COMMIT)));
    // A process that has ended does not answer either: its end is noticed first, and stops the watch.
    const over = AbortSignal.any([changed, endOf(running)]);
    const problem = await untilUnhealthy({ answers, memoryMib, memoryMibMax: launch.memoryMib, clock }, over);
    if (problem === undefined) return undefined;
    this.#become({ phase: "starting", generation: this.#launch.generation });
    await running.stop({ atOnce: problem.atOnce });
    return problem.reason;
  }

  /** Written to the log that the owner of the environment may read. */
  #logForOwner(reason: string, crashes: number): void {
    const { files, clock, logger, id } = this.#ports;
    try {
      appendToLog(files, clock.nowMs(), "the runtime has ended and is started again", { reason, crashes });
    } catch (cause) {
      logger.warn({ environmentId: id, error: cause }, "the log of a runtime cannot be written");
    }
  }

  async #stop(options?: { readonly atOnce: boolean }): Promise<void> {
    await this.#process?.stop(options);
    this.#process = undefined;
    this.#ports.files.process = undefined;
  }

  /** Whether the runtime accepts work: its management port reports that it is ready, and its ingress port answers. */
  async #answers(launch: RuntimeLaunch): Promise<boolean> {
    const status = (await this.#probe(launch))?.status ?? 0;
    if (status < 200 || status >= 300) return false;
    return (await this.#probe(launch, `${this.#upstream(launch).ingress}/restate/health`)) !== undefined;
  }

  /** The runtime's answer; undefined without an answer. */
  async #probe(
    launch: RuntimeLaunch,
    url = `${this.#upstream(launch).admin}/readyz`,
  ): Promise<{ readonly status: number; readonly text: string } | undefined> {
    const headers = { [RUNTIME_SECRET_HEADER]: this.#ports.secret.reveal() };
    try {
      const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS);
      const response = await fetch(url, { headers, signal });
      return { status: response.status, text: await response.text() };
    } catch {
      return undefined; // The process does not listen yet, or it has ended, which the watch of the process notices.
    }
  }

  #upstream({ ingressPort, adminPort }: RuntimeLaunch): Upstream {
    const { secret } = this.#ports;
    return { ingress: `http://${LOOPBACK}:${ingressPort}`, admin: `http://${LOOPBACK}:${adminPort}`, secret };
  }

  #become(state: RuntimeState): void {
    this.#state = state;
    if (!this.#isEnding) this.#ports.onState(state);
  }

  #watchLog(): void {
    if (this.#isEnding) return;
    const { files, clock, logger, id } = this.#ports;
    try {
      boundLog(files);
    } catch (cause) {
      logger.warn({ environmentId: id, error: cause }, "the log of a runtime cannot be bounded");
    }
    this.#logTimer = clock.setTimer(LOG_CHECK_EVERY_MS, () => this.#watchLog());
  }
}

/** Aborts when the process has ended. */
function endOf({ ended }: RunningProcess): AbortSignal {
  const controller = new AbortController();
  ended.then(() => controller.abort());
  return controller.signal;
}
