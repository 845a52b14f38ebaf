/** A server for tests and for a local cluster: a child process that can be killed, stopped, frozen and started again on its port and data. */
import { ChildProgram, type ChildProgramOptions, type ProgramExit, type StopOptions } from "@perdure/processes";
import { freePorts } from "./free-port.js";
import { PORT_ATTEMPTS_MAX } from "./limits.js";

export type ServerLaunch = Pick<ChildProgramOptions, "command" | "args" | "cwd"> & {
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
};

type ReadyCheck = () => Promise<boolean>;

/** Resolves when the server is ready; rejects with its log, and without the server, when it ends before. */
export async function launchServer({ env, ...launch }: ServerLaunch, isReady: ReadyCheck): Promise<ChildProgram> {
  // In our process group: killing the group of a local cluster kills its servers too.
  const child = await ChildProgram.start({ ...launch, env: { ...process.env, ...env }, group: "shared" });
  try {
    await child.ready(isReady);
    return child;
  } catch (cause) {
    await child.kill();
    throw cause;
  }
}

/**
 * Starts a server on `port`, or on a free one when absent: another process may take that before the server binds it, then it is started
 * with another. `portInUse` matches the server's error for that.
 */
export async function launchOnPort(
  port: number | undefined,
  portInUse: RegExp,
  launch: (port: number) => Promise<ChildProgram>,
): Promise<{ readonly child: ChildProgram; readonly port: number }> {
  for (let attempt = 1; ; attempt++) {
    const chosen = port ?? ((await freePorts(1))[0] as number);
    try {
      return { child: await launch(chosen), port: chosen };
    } catch (cause) {
      const isPortInUse = cause instanceof Error && portInUse.test(cause.message);
      if (port !== undefined || !isPortInUse || attempt >= PORT_ATTEMPTS_MAX) throw cause;
    }
  }
}

export class ServerProgram {
  readonly #child: ChildProgram;
  readonly #isReady: ReadyCheck;
  /** Requests an orderly end. */
  readonly stopSignal: NodeJS.Signals = "SIGTERM";

  constructor(child: ChildProgram, isReady: ReadyCheck) {
    this.#child = child;
    this.#isReady = isReady;
  }

  get pid(): number {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#child.isRunning;
  }

  /** The last lines of its output. */
  log(): string {
    return this.#child.lines.join("\n");
  }

  /** kill -9: acknowledged writes must survive it. */
  kill(): Promise<ProgramExit> {
    return this.#child.kill();
  }

  /** Ends it in order; port and data stay. */
  stop(options: StopOptions = {}): Promise<ProgramExit> {
    return this.#child.stop({ signal: this.stopSignal, ...options });
  }

  /** Frozen: connections stay open and no request is answered. */
  freeze(): void {
    this.#child.signal("SIGSTOP");
  }

  thaw(): void {
    this.#child.signal("SIGCONT");
  }

  /** Starts it again on the same port and data after `kill` or `stop`; resolves when it is ready. */
  async startAgain(): Promise<void> {
    await this.#child.startAgain();
    await this.#child.ready(this.#isReady);
  }
}
