/**
 * Handlers that misbehave: each uses as much of the server as the protocol permits. Every script stops when its stream closes, so that
 * killing the invocation ends it.
 */
import { utf8 } from "@perdure/base";
import {
  commandTypeOf,
  encodeCommand,
  encodeControl,
  encodeFrame,
  type JournalCommand,
  MessageType,
} from "@perdure/service-protocol";
import type { AttemptScript, RawAttempt, RawManifest } from "../raw-endpoint.js";

/** Frames of one write: as many bytes as a busy socket delivers at once. */
const CHUNK_BYTES = 64 * 1024;
const SLEEPS = 10_000;
const SENDS = 1_000;
/** Invocations that the fork bomb starts in all, including the first ones. */
const FORKS_MAX = 9_000;
const FORKS_EACH = 3;
const OUTPUT_BYTES = 30 * 1024 * 1024;
const STATE_BYTES = 1024 * 1024;
const RUN_BYTES = 1024;
const FAR_AWAY_MS = 86_400_000;

export const ROGUE_MODES = [
  "zeroFrames",
  "neverReads",
  "tenThousandSleeps",
  "thousandSends",
  "endlessRuns",
  "bigState",
  "forkBomb",
  "endlessOutput",
] as const;
export type RogueMode = (typeof ROGUE_MODES)[number];

/** Frames that the endpoint has written, by mode, and invocations that the fork bomb has run. */
export interface RogueCounters {
  frames: number;
  forks: number;
}

const frameOf = (command: JournalCommand): Uint8Array => encodeFrame(commandTypeOf[command.kind], encodeCommand(command));

const joined = (frames: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(frames));

/** Writes chunks until the server closes the stream, as fast as flow control permits. */
async function pour({ stream }: RawAttempt, next: () => Uint8Array): Promise<void> {
  while (!stream.destroyed && !stream.writableEnded) {
    if (stream.write(next())) await new Promise<void>((resolve) => setImmediate(resolve));
    else {
      await new Promise<void>((resolve) => {
        const go = (): void => {
          stream.off("drain", go);
          stream.off("close", go);
          resolve();
        };
        stream.on("drain", go);
        stream.on("close", go);
      });
    }
  }
}

/** One script per mode; they increment the caller's counters. */
export function rogueScripts(counters: RogueCounters): Record<RogueMode | "rogueChild", AttemptScript> {
  const emptyRun = encodeFrame(MessageType.Run, new Uint8Array());
  const emptyRuns = joined(Array.from({ length: CHUNK_BYTES / emptyRun.length }, () => emptyRun));
  const endlessFrames = (attempt: RawAttempt) =>
    pour(attempt.open(), () => {
      counters.frames += CHUNK_BYTES / emptyRun.length;
      return emptyRuns;
    });
  const send = (serviceName: string, id: number): Uint8Array =>
    frameOf({
      kind: "oneWayCall",
      serviceName,
      handlerName: "run",
      key: "",
      parameter: new Uint8Array(),
      invokeTimeMs: 0,
      headers: [],
      idempotencyKey: undefined,
      scope: undefined,
      limitKey: undefined,
      invocationIdNotificationIdx: id,
      name: "",
    });
  const several = (count: number, make: (id: number) => Uint8Array): Uint8Array => {
    counters.frames += count;
    return joined(Array.from({ length: count }, (_, index) => make(index + 1)));
  };
  const state = frameOf({ kind: "setState", stateKey: utf8("large"), value: new Uint8Array(STATE_BYTES), name: "" });
  const result = new Uint8Array(RUN_BYTES);
  return {
    zeroFrames: endlessFrames,
    neverReads: (attempt) => {
      attempt.stream.pause();
      return endlessFrames(attempt);
    },
    tenThousandSleeps: async (attempt) => {
      const wakeUpTimeMs = Date.now() + FAR_AWAY_MS;
      attempt.open().bytes(several(SLEEPS, (id) => frameOf({ kind: "sleep", wakeUpTimeMs, resultCompletionId: id, name: "" })));
      await attempt.untilEnded();
    },
    thousandSends: (attempt) => {
      attempt.open().bytes(several(SENDS, (id) => send("rogueChild", id)));
      attempt.return("sent");
    },
    endlessRuns: async (attempt) => {
      let id = 0;
      await pour(attempt.open(), () => {
        const frames: Uint8Array[] = [];
        for (let bytes = 0; bytes < CHUNK_BYTES; bytes += RUN_BYTES) {
          frames.push(frameOf({ kind: "run", resultCompletionId: ++id, name: "" }));
          const proposal = {
            kind: "proposeRunCompletion",
            resultCompletionId: id,
            result: { kind: "value", value: result },
          } as const;
          frames.push(encodeFrame(MessageType.ProposeRunCompletion, encodeControl(proposal, attempt.version)));
        }
        counters.frames += frames.length;
        return joined(frames);
      });
    },
    bigState: (attempt) =>
      pour(attempt.open(), () => {
        counters.frames++;
        return state;
      }),
    forkBomb: (attempt) => {
      attempt.open();
      const children = Math.min(FORKS_EACH, Math.max(0, FORKS_MAX - counters.forks));
      counters.forks += children;
      if (children > 0) attempt.bytes(several(children, (id) => send("forkBomb", id)));
      attempt.return("forked");
    },
    endlessOutput: (attempt) => {
      attempt.open();
      attempt.return("x".repeat(OUTPUT_BYTES));
      counters.frames++;
    },
    rogueChild: (attempt) => {
      attempt.open().return("child");
    },
  };
}

/** The manifest of discovery: all modes are services with the handler `run`, except `bigState`, which is an object. */
export function rogueManifest(): RawManifest {
  const handler = { name: "run", input: { required: false, contentType: "*/*" }, output: { contentType: "text/plain" } };
  return {
    services: [...ROGUE_MODES, "rogueChild"].map((name) =>
      name === "bigState"
        ? { name, ty: "VIRTUAL_OBJECT", handlers: [{ ...handler, ty: "EXCLUSIVE" }] }
        : { name, ty: "SERVICE", handlers: [{ ...handler, ty: "SHARED" }] },
    ),
  };
}
