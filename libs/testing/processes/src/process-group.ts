/**
 * Starts and stops programs that depend on each other as one group. A program that ends by itself is started again; at the end listeners
 * close first, then workers stop, then the servers that both depend on.
 */
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { RESTARTS_MAX, WATCH_MS } from "./limits.js";
import type { ProcessStage, Record } from "./record.js";

export type { ProcessStage } from "./record.js";

/** Any kind of process that can be watched. */
export interface WatchedProcess {
  readonly pid: number;
  readonly isRunning: boolean;
  stop(): Promise<void>;
}

export interface GroupMember {
  readonly name: string;
  readonly process: WatchedProcess;
  startAgain(): Promise<void>;
}

const STOP_ORDER: readonly ProcessStage[] = ["door", "work", "server"];

export class ProcessGroup {
  readonly #record: Record;
  readonly #members: { readonly stage: ProcessStage; readonly member: GroupMember }[] = [];

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
  keep(stage: ProcessStage, member: GroupMember): void {
    this.#members.push({ stage, member });
    this.#record.add(member.name, member.process.pid, stage);
  }

  /** Restarts programs that end by themselves, until the signal fires. Rejects when that happens too often. */
  async watch(signal: AbortSignal, report: (what: string) => void): Promise<void> {
    for (let restarts = 0; !signal.aborted; await pause(WATCH_MS, signal)) {
      for (const { stage, member } of this.#members) {
        if (member.process.isRunning || signal.aborted) continue;
        if (++restarts > RESTARTS_MAX)
          throw new Error(`${member.name} ended again; programs have ended ${restarts} times by now`);
        report(`${member.name} ended by itself; starting it again`);
        try {
          await member.startAgain();
          this.#record.add(member.name, member.process.pid, stage);
        } catch (cause) {
          // A program that it depends on may have ended too and come later in this round; the next round tries again.
          report(`${member.name} did not start: ${cause instanceof Error ? cause.message : String(cause)}`);
        }
      }
    }
  }

  /** The list is empty afterwards. */
  async stop(): Promise<void> {
    for (const stage of STOP_ORDER) {
      const running = this.#members.filter((one) => one.stage === stage && one.member.process.isRunning);
      await Promise.all(running.map(({ member }) => member.process.stop()));
    }
    this.#record.clear();
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
