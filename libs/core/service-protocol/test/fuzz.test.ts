import { describe, expect, test } from "@jest/globals";
import { ProtoError } from "@perdure/base";
import fc from "fast-check";
import {
  commandTypeOf,
  decodeCommand,
  decodeControl,
  decodeFuture,
  decodeNotification,
  decodeStart,
  encodeCommand,
  encodeControl,
  encodeFrame,
  encodeNotification,
  encodeStart,
  type Frame,
  FrameDecoder,
  FutureTooDeep,
  invocationIdCompletionIdOf,
  isFault,
  MessageType,
  notificationIdOf,
  notificationOutcomeOf,
  outputResultOf,
  type ProtocolFault,
  resultCompletionIdOf,
} from "../src/index.js";
import { awaitings, commands, errors, notificationIds, notificationResults, runProposals, starts } from "./arbitraries.js";

/** Fixed, so that a failed run stays reproducible; change it to search elsewhere. */
const seed = 20_260_101;
const types = Object.values(MessageType);

/** Bodies that are nearly right: a valid message of some type, then cut, damaged or followed by noise. */
const damagedBodies = fc
  .tuple(
    fc.oneof(
      commands.map(encodeCommand),
      fc.tuple(notificationIds, notificationResults).map(([id, result]) => encodeNotification(id, result)),
      fc.oneof(errors, runProposals, awaitings).map((message) => encodeControl(message, 7)),
      starts.map((start) => encodeStart(start, 7)),
    ),
    fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }),
    fc.nat(),
    fc.uint8Array({ maxLength: 4 }),
  )
  .map(([valid, damages, cut, noise]) => {
    const kept = cut % 3 === 0 ? valid.subarray(0, cut % (valid.length + 1)) : valid;
    const body = new Uint8Array(kept.length + noise.length);
    body.set(kept);
    body.set(noise, kept.length);
    for (const [at, value] of damages) if (body.length > 0) body[at % body.length] = value;
    return body;
  });

const bodies = fc.oneof(damagedBodies, fc.uint8Array({ maxLength: 64 }));

describe("untrusted bytes", () => {
  test("every decoder answers 20 000 bodies with a message or a fault", () => {
    let faults = 0;
    let messages = 0;
    const codes = new Set<string>();
    fc.assert(
      fc.property(
        fc.constantFrom(...types),
        bodies,
        fc.constantFrom(5 as const, 6 as const, 7 as const),
        (type, body, version) => {
          const answers: { readonly kind: string }[] = [
            decodeCommand(type, body),
            decodeNotification(type, body),
            decodeControl(type, body, version),
            decodeStart(body),
          ];
          for (const answer of answers) {
            if (isFault(answer)) {
              faults++;
              codes.add(answer.code);
            } else messages++;
          }
        },
      ),
      { seed, numRuns: 20_000 },
    );
    expect([...codes]).toEqual(["RT0012"]);
    expect(Math.min(faults, messages)).toBeGreaterThan(1000);
  });

  test("peeks and stored futures throw nothing but ProtoError or FutureTooDeep", () => {
    fc.assert(
      fc.property(fc.constantFrom(...types), bodies, (type, body) => {
        const peeks: (() => unknown)[] = [
          () => resultCompletionIdOf(type, body),
          () => invocationIdCompletionIdOf(type, body),
          () => notificationIdOf(type, body),
          () => notificationOutcomeOf(body),
          () => outputResultOf(body),
          () => decodeFuture(body),
        ];
        for (const peek of peeks) {
          try {
            peek();
          } catch (cause) {
            if (!(cause instanceof ProtoError || cause instanceof FutureTooDeep)) throw cause;
          }
        }
      }),
      { seed, numRuns: 20_000 },
    );
  });

  test("a decoded command encodes to bytes that decode to it again, whatever was in the body", () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(commandTypeOf)), bodies, (type, body) => {
        const command = decodeCommand(type, body);
        if (!isFault(command)) expect(decodeCommand(type, encodeCommand(command))).toEqual(command);
      }),
      { seed, numRuns: 5_000 },
    );
  });

  test("a stream of noise ends in a fault or waits for more, the same for any chunking", () => {
    const noise = fc.tuple(fc.constantFrom(...types), fc.uint8Array({ maxLength: 80 })).map(([type, rest]) => {
      const start = encodeFrame(type, rest.subarray(0, 20));
      return Uint8Array.from([...start, ...rest.subarray(20)]);
    });
    fc.assert(
      fc.property(noise, fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 }), (stream, cuts) => {
        expect(drain(stream, cuts)).toEqual(drain(stream, []));
      }),
      { seed, numRuns: 5_000 },
    );
  });
});

describe("a stream of frames", () => {
  const frames = fc.array(
    fc.record({
      type: fc.constantFrom(...types),
      flags: fc.constantFrom(0, 0x8000),
      body: fc.oneof(fc.uint8Array({ maxLength: 30 }), fc.uint8Array({ minLength: 200, maxLength: 400 })),
    }),
    { maxLength: 8 },
  );

  test("comes out as it went in, however it was cut into chunks", () => {
    fc.assert(
      fc.property(frames, fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 60 }), fc.boolean(), (sent, cuts, eager) => {
        const stream = Uint8Array.from(sent.flatMap(({ type, flags, body }) => [...encodeFrame(type, body, flags)]));
        expect(drain(stream, cuts, eager)).toEqual({ frames: sent, fault: undefined, truncated: false });
      }),
      { numRuns: 500 },
    );
  });

  test("cut short anywhere reports whether it ended inside a frame", () => {
    fc.assert(
      fc.property(frames, fc.nat(), (sent, at) => {
        const encoded = sent.map(({ type, flags, body }) => encodeFrame(type, body, flags));
        const stream = Uint8Array.from(encoded.flatMap((frame) => [...frame]));
        const cut = at % (stream.length + 1);
        let whole = 0;
        let end = 0;
        while (whole < encoded.length && end + encoded[whole]!.length <= cut) end += encoded[whole++]!.length;
        expect(drain(stream.subarray(0, cut), [])).toEqual({
          frames: sent.slice(0, whole),
          fault: undefined,
          truncated: cut > end,
        });
      }),
      { numRuns: 500 },
    );
  });
});

interface Drained {
  readonly frames: Frame[];
  readonly fault: ProtocolFault | undefined;
  readonly truncated: boolean;
}

/** Pushes `stream` in chunks of the given sizes, the rest at once; `eager` takes frames after every chunk, not at the end. */
function drain(stream: Uint8Array, chunkSizes: readonly number[], eager = true): Drained {
  const decoder = new FrameDecoder();
  const frames: Frame[] = [];
  const take = () => {
    for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) frames.push(frame);
  };
  let at = 0;
  for (const size of chunkSizes) {
    decoder.push(stream.slice(at, at + size));
    at += size;
    if (eager) take();
  }
  decoder.push(stream.slice(at));
  take();
  return { frames, fault: decoder.fault, truncated: decoder.end() };
}
