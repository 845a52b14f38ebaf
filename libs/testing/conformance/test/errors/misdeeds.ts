/** Endpoints that break the rules, and the code that each of them earns. */
import { utf8 } from "@perdure/base";
import { MessageType, type OneWayCallCommand } from "@perdure/service-protocol";
import type { AttemptScript, RawAttempt } from "../../src/index.js";

/** Script of a broken endpoint, with its name and the code of the error that it must cause. */
export interface Misdeed {
  readonly code: string;
  readonly what: string;
  readonly script: AttemptScript;
}

/** Opens the response, does the thing and lets the server find it. */
const open = (then: (attempt: RawAttempt) => void): AttemptScript => {
  return (attempt) => {
    then(attempt.open());
    attempt.end();
  };
};

const answer = (status: number, headers: Readonly<Record<string, string | undefined>> = {}): AttemptScript => {
  return (attempt) => {
    attempt.open(status, headers).end();
  };
};

const error = (code: number): AttemptScript =>
  open((attempt) =>
    attempt.control({
      kind: "error",
      code,
      message: "said the handler",
      stacktrace: "",
      relatedCommandIndex: undefined,
      relatedCommandName: undefined,
      relatedCommandType: undefined,
      nextRetryDelayMs: undefined,
      behavior: "retry",
    }),
  );

const oneWayCall = (over: Partial<OneWayCallCommand>): AttemptScript =>
  open((attempt) =>
    attempt.command({
      kind: "oneWayCall",
      serviceName: "EchoHealthy",
      handlerName: "echo",
      key: "",
      parameter: utf8("1"),
      headers: [],
      idempotencyKey: undefined,
      scope: undefined,
      limitKey: undefined,
      invocationIdNotificationIdx: 1,
      invokeTimeMs: 0,
      name: "",
      ...over,
    }),
  );

/**
 * A suspension on a future in a future, and so on. Field 4, of bytes, both of Suspension and of a future, so that the levels
 * nest by themselves; written from the inside out.
 */
function suspensionOfDepth(levels: number): Uint8Array {
  const reversed = [1, 1, 0x0a]; // waiting_completions: [1]
  for (let level = 0; level < levels; level++) {
    const { length } = reversed;
    if (length < 128) reversed.push(length);
    else reversed.push(length >> 7, (length & 127) | 128);
    reversed.push((4 << 3) | 2);
  }
  return Uint8Array.from(reversed.reverse());
}

/** Largest message that this server accepts; the suite sets it. */
export const MESSAGE_BYTES_MAX = 1024 * 1024;

/** A frame's header that announces a body of this many bytes. */
function headerOf(type: number, length: number): Uint8Array {
  const header = new Uint8Array(8);
  const view = new DataView(header.buffer);
  view.setUint16(0, type);
  view.setUint32(4, length);
  return header;
}

export const MISDEEDS: Readonly<Record<string, Misdeed>> = {
  EndWithoutOutput: {
    code: "RT0012",
    what: "an end without an output",
    script: open((attempt) => attempt.control({ kind: "end" })),
  },
  UnknownType: { code: "RT0012", what: "a message of unknown type", script: open((attempt) => attempt.frame(0x1234)) },
  CustomType: { code: "RT0012", what: "a message of custom type", script: open((attempt) => attempt.frame(0xfc01, utf8("x"))) },
  Notification: {
    code: "RT0012",
    what: "a notification",
    script: open((attempt) => attempt.frame(MessageType.SleepCompletion, Uint8Array.of(8, 1))),
  },
  SecondStart: { code: "RT0012", what: "a start message", script: open((attempt) => attempt.frame(MessageType.Start)) },
  OwnInput: { code: "RT0012", what: "an input", script: open((attempt) => attempt.frame(MessageType.Input)) },
  Garbage: {
    code: "RT0012",
    what: "a body that is not a message",
    script: open((attempt) => attempt.frame(MessageType.Sleep, Uint8Array.of(255, 255, 255))),
  },
  WaitsForNothing: {
    code: "RT0012",
    what: "a suspension that waits for nothing",
    script: open((attempt) => attempt.frame(MessageType.Suspension)),
  },
  NoResult: {
    code: "RT0012",
    what: "a step without a result",
    script: open((attempt) => attempt.frame(MessageType.ProposeRunCompletion, Uint8Array.of(8, 1))),
  },
  BadSignal: {
    code: "RT0012",
    what: "a signal to an unknown id",
    script: open((attempt) =>
      attempt.command({
        kind: "sendSignal",
        targetInvocationId: "inv_nonsense",
        signal: { kind: "signalIndex", index: 1 },
        result: { kind: "void" },
        name: "",
      }),
    ),
  },
  Error571: { code: "RT0012", what: "error 571, protocol violation", script: error(571) },
  WrongType: {
    code: "RT0012",
    what: "a response of another content type",
    script: answer(200, { "content-type": "application/json" }),
  },
  NoType: { code: "RT0012", what: "a response without content type", script: answer(200, { "content-type": undefined }) },
  Status404: { code: "RT0012", what: "404", script: answer(404) },
  Status401: { code: "RT0012", what: "401", script: answer(401) },
  Status500: { code: "RT0012", what: "500", script: answer(500) },

  Error500: { code: "RT0007", what: "an ordinary error", script: error(500) },
  StopsShort: { code: "RT0007", what: "a stream that stops without a last message", script: open(() => {}) },
  Error570: { code: "RT0016", what: "error 570, journal mismatch", script: error(570) },

  Announced: {
    code: "RT0003",
    what: "the announcement of a message of 2 GB",
    script: open((attempt) => attempt.bytes(headerOf(MessageType.Output, 2 ** 31))),
  },
  TooLarge: {
    code: "RT0003",
    what: "a message above the limit",
    script: open((attempt) => attempt.frame(MessageType.Output, new Uint8Array(MESSAGE_BYTES_MAX + 512 * 1024))),
  },

  Reset: { code: "RT0010", what: "a reset stream", script: (attempt) => attempt.open().reset() },
  Dropped: { code: "RT0010", what: "a broken connection", script: (attempt) => attempt.stream.session?.destroy() },
  Status502: { code: "RT0010", what: "502", script: answer(502) },
  Status504: { code: "RT0010", what: "504", script: answer(504) },
  Status415: { code: "RT0015", what: "415", script: answer(415) },
  Status413: { code: "RT0019", what: "413", script: answer(413) },
  Status429: { code: "RT0023", what: "429", script: answer(429) },

  PromiseOfService: {
    code: "RT0017",
    what: "a workflow promise of a plain service",
    script: open((attempt) => attempt.command({ kind: "getPromise", key: "p", resultCompletionId: 1, name: "" })),
  },
  StateOfService: {
    code: "RT0017",
    what: "state of a plain service",
    script: open((attempt) => attempt.command({ kind: "setState", stateKey: utf8("k"), value: utf8("v"), name: "" })),
  },
  KeyForService: { code: "RT0017", what: "a call of a plain service with a key", script: oneWayCall({ key: "k" }) },
  EmptyIdempotencyKey: {
    code: "RT0017",
    what: "a call with an empty idempotency key",
    script: oneWayCall({ idempotencyKey: "" }),
  },
  NoSuchService: {
    code: "RT0018",
    what: "a call of an unknown service",
    script: oneWayCall({ serviceName: "Nowhere" }),
  },
  NoSuchHandler: {
    code: "RT0018",
    what: "a call of a handler that its service lacks",
    script: oneWayCall({ handlerName: "noSuchHandler" }),
  },
  BadScope: { code: "RT0024", what: "a scope that is not one", script: oneWayCall({ scope: "s/t" }) },
  LimitWithoutScope: { code: "RT0024", what: "a limit key without a scope", script: oneWayCall({ limitKey: "a" }) },

  Silent: { code: "RT0001", what: "no answer at all", script: () => {} },
  SilentAfterHeaders: { code: "RT0001", what: "headers and nothing more", script: (attempt) => void attempt.open() },
  NeverReads: {
    code: "RT0001",
    what: "a reader that does not read",
    script: (attempt) => {
      attempt.stream.pause();
      attempt.open();
    },
  },
  HalfAMessage: {
    code: "RT0001",
    what: "half a message and silence",
    script: (attempt) => void attempt.open().bytes(headerOf(MessageType.Output, 100)),
  },
};

const DEEP = suspensionOfDepth(1_100);

export const TOO_DEEP: Misdeed = {
  code: "RT0025",
  what: "a wait too deep",
  script: open((attempt) => attempt.frame(MessageType.Suspension, DEEP)),
};
