/** A container as a process that is restarted when it ends, probed, and stopped with a grace period. */
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { ChildProgram, type ProgramExit } from "@perdure/processes";
import { LAST_OUTPUT_CHARS_MAX, PROBE_HASTE, PROBE_MS_MIN, RESTART_FIRST_MS, RESTART_LONGEST_MS } from "./limits.js";
import type { Action, ContainerSpec, Probe } from "./pod-spec.js";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export class Container {
  readonly spec: ContainerSpec;
  readonly #command: Command;
  readonly #address: string;
  readonly #onChange: () => void;
  readonly #stop = new AbortController();
  #child: ChildProgram | undefined;
  #startedAt: string | undefined;
  #isStarted = false;
  #isReady = false;
  #restarts = 0;
  #lastExit: ProgramExit | undefined;
  #earlierOutput = "";

  constructor(spec: ContainerSpec, command: Command, address: string, onChange: () => void) {
    this.spec = spec;
    this.#command = command;
    this.#address = address;
    this.#onChange = onChange;
  }

  get pid(): number | undefined {
    return this.#child?.isRunning === true ? this.#child.pid : undefined;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Returns the last output of the container, also from before a restart. */
  lastOutput(): string {
    return `${this.#earlierOutput}${this.#child?.lines.join("\n") ?? ""}`.slice(-LAST_OUTPUT_CHARS_MAX);
  }

  /** The container's entry in the status of the pod. */
  status(): object {
    const { name, image } = this.spec;
    const isRunning = this.pid !== undefined;
    const exitCode = this.#lastExit?.code ?? 137;
    const last = this.#lastExit === undefined ? {} : { lastState: { terminated: { exitCode, reason: "Error" } } };
    const state = isRunning ? { running: { startedAt: this.#startedAt } } : { waiting: { reason: this.#waitingFor() } };
    const common = { name, image, imageID: "", restartCount: this.#restarts, started: this.#isStarted, ready: this.#isReady };
    return { ...common, state, ...last };
  }

  #waitingFor(): string {
    return this.#restarts > 1 ? "CrashLoopBackOff" : "ContainerCreating";
  }

  /** Resolves when it was stopped and has ended. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    for (let pauseMs = RESTART_FIRST_MS; ; pauseMs = Math.min(RESTART_LONGEST_MS, pauseMs * 2)) {
      const child = await ChildProgram.start({ ...this.#command, group: "shared" });
      this.#child = child;
      this.#startedAt = new Date().toISOString().replace(/\.\d+Z$/, "Z");
      this.#onChange();
      const ended = new AbortController();
      const probing = this.#probe(child, AbortSignal.any([ended.signal, signal]));
      this.#lastExit = await child.exited;
      ended.abort();
      await probing;
      this.#isStarted = false;
      this.#isReady = false;
      if (signal.aborted) return;
      this.#earlierOutput = `${this.lastOutput()}\n-- ended with ${JSON.stringify(this.#lastExit)} --\n`;
      this.#restarts += 1;
      this.#onChange();
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined); // Stopped meanwhile.
      if (signal.aborted) return;
    }
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. */
  async end(graceMs: number): Promise<void> {
    this.#stop.abort();
    const child = this.#child;
    if (child === undefined || !child.isRunning) return;
    const insist = setTimeout(() => child.signal("SIGKILL"), graceMs);
    await this.#preStop();
    child.signal("SIGTERM");
    await child.exited;
    clearTimeout(insist);
  }

  async kill(): Promise<void> {
    this.#stop.abort();
    await this.#child?.kill();
  }

  async #preStop(): Promise<void> {
    const { preStop } = this.spec.lifecycle ?? {};
    if (preStop === undefined) return;
    if (preStop.sleep !== undefined) await sleep(preStop.sleep.seconds * 1_000);
    else await this.#does(preStop, 60);
  }

  // ── probes ─────────────────────────────────────────────────────────────────────────────────────

  async #probe(child: ChildProgram, signal: AbortSignal): Promise<void> {
    const { startupProbe, livenessProbe, readinessProbe } = this.spec;
    const ends = (): void => child.signal("SIGKILL");
    if (startupProbe !== undefined && !(await this.#untilGood(startupProbe, signal))) {
      if (!signal.aborted) ends();
      return;
    }
    if (signal.aborted) return;
    this.#isStarted = true;
    this.#isReady = readinessProbe === undefined;
    this.#onChange();
    await Promise.all([
      livenessProbe === undefined ? undefined : this.#watch(livenessProbe, signal, (isGood) => isGood || ends()),
      readinessProbe === undefined ? undefined : this.#watch(readinessProbe, signal, (isGood) => this.#setReady(isGood)),
    ]);
  }

  #setReady(isReady: boolean): void {
    if (this.#isReady === isReady) return;
    this.#isReady = isReady;
    this.#onChange();
  }

  /** False when it has failed too often. */
  async #untilGood(probe: Probe, signal: AbortSignal): Promise<boolean> {
    let isGood: boolean | undefined;
    const ended = new AbortController();
    await this.#watch(probe, AbortSignal.any([signal, ended.signal]), (good) => {
      isGood = good;
      ended.abort();
    });
    return isGood === true;
  }

  /** Reports each success, and a failure after as many in a row as the probe configures. */
  async #watch(probe: Probe, signal: AbortSignal, onResult: (isGood: boolean) => void): Promise<void> {
    const { periodSeconds = 10, failureThreshold = 3, timeoutSeconds = 1 } = probe;
    const periodMs = Math.max(PROBE_MS_MIN, (periodSeconds * 1_000) / PROBE_HASTE);
    for (let failures = 0; ; ) {
      await sleep(periodMs, undefined, { signal }).catch(() => undefined); // Its end.
      if (signal.aborted) return;
      const isGood = await this.#does(probe, timeoutSeconds);
      if (signal.aborted) return;
      failures = isGood ? 0 : failures + 1;
      if (isGood || failures >= failureThreshold) onResult(isGood);
    }
  }

  async #does({ httpGet, exec }: Action, timeoutSeconds: number): Promise<boolean> {
    if (httpGet !== undefined) return this.#gets(httpGet, timeoutSeconds * 1_000);
    if (exec !== undefined) return this.#executes(exec.command, timeoutSeconds * 1_000);
    throw new Error(`the container ${this.spec.name} has a probe of a kind that this kubelet does not know`);
  }

  async #gets({ path, port }: { readonly path: string; readonly port: string | number }, timeoutMs: number): Promise<boolean> {
    const number = typeof port === "number" ? port : this.spec.ports?.find(({ name }) => name === port)?.containerPort;
    if (number === undefined) throw new Error(`the container ${this.spec.name} has no port ${port}`);
    try {
      const response = await fetch(`http://${this.#address}:${number}${path}`, { signal: AbortSignal.timeout(timeoutMs) });
      await response.body?.cancel();
      return response.status >= 200 && response.status < 400;
    } catch {
      return false; // The connection was refused.
    }
  }

  #executes([file = "", ...args]: readonly string[], timeout: number): Promise<boolean> {
    const { cwd, env } = this.#command;
    return new Promise((resolve) => {
      execFile(file, args, { cwd, env: { ...env }, timeout }, (error) => resolve(error === null));
    });
  }
}
