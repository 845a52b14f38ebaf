/**
 * Starts and stops programs that depend on each other as one group. A program that ends by itself is started again; at the end listeners
 * close first, then workers stop, then the servers that both depend on.
 */
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { RESTARTS_MAX, STOP_MS_MAX, WATCH_MS } from "./limits.js";
import type { ProcessStage, Record } from "./record.js";

/** Any kind of program that can be watched. */
export interface GroupMember {
  readonly pid: number;
  readonly isRunning: boolean;
  /** Signal for an orderly end of the program, when that is not SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
  stop(options: { readonly withinMs: number }): Promise<unknown>;
  /** Starts the program again after it has ended. */
  startAgain(): Promise<void>;
}

interface NamedMember {
  readonly name: string;
  readonly stage: ProcessStage;
  readonly member: GroupMember;
}

const STOP_ORDER: readonly ProcessStage[] = ["listener", "work", "server"];

export class ProcessGroup {
  readonly #record: Record;
  readonly #members: NamedMember[] = [];

  constructor(record: Record) {
    this.#record = record;
  }

  /** Rejects, with advice, when one of the ports is in use. */
  static async checkPorts(ports: Iterable<readonly [name: string, port: number, advice: string]>): Promise<void> {
    for (const [name, port, advice] of ports) {
      if (!(await isPortInUse(port))) continue;
      throw new Error(
        `port ${port} (${name}) is in use by another program. Stop that program, or choose another port: ${advice}`,
      );
    }
  }

  /** Adds the program: it is watched, stopped with the group, and listed. */
  keep(name: string, stage: ProcessStage, member: GroupMember): void {
    const named = { name, stage, member };
    this.#members.push(named);
    this.#list(named);
  }

  /** Starts a member that has ended again, and lists its new process. */
  async startAgain(member: GroupMember): Promise<void> {
    const named = this.#members.find((one) => one.member === member);
    if (named === undefined) throw new Error("the program is not a member of the group");
    await member.startAgain();
    this.#list(named);
  }

  /** Restarts programs that end by themselves, until the signal fires. Rejects when that happens too often. */
  async watch(signal: AbortSignal, report: (what: string) => void): Promise<void> {
    for (let restarts = 0; !signal.aborted; await pause(WATCH_MS, signal)) {
      for (const { name, member } of this.#members) {
        if (member.isRunning || signal.aborted) continue;
        if (++restarts > RESTARTS_MAX) throw new Error(`${name} ended again; programs have ended ${restarts} times by now`);
        report(`${name} ended by itself; starting it again`);
        try {
          await this.startAgain(member);
        } catch (cause) {
          // A program that it depends on may have ended too and come later in this round; the next round tries again.
          report(`${name} did not start: ${cause instanceof Error ? cause.message : String(cause)}`);
        }
      }
    }
  }

  /** The list is empty afterwards. */
  async stop(): Promise<void> {
    for (const stage of STOP_ORDER) {
      const members = this.#members.filter((one) => one.stage === stage && one.member.isRunning);
      await Promise.all(members.map(({ member }) => member.stop({ withinMs: STOP_MS_MAX })));
    }
    this.#record.clear();
  }

  #list({ name, stage, member: { pid, stopSignal } }: NamedMember): void {
    this.#record.add(name, pid, stage, stopSignal);
  }
}

function isPortInUse(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect({ port, host: "localhost" });
    socket.on("error", () => answer(false));
    socket.once("connect", () => {
      socket.destroy();
      answer(true);
    });
  });
}

/** Ends early, and well, when the signal fires. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch((cause: Error) => {
    if (cause.name !== "AbortError") throw cause;
  });
}
