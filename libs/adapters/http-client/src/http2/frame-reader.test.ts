import { describe, expect, test } from "@jest/globals";
import { SeededRandom } from "@perdure/testkit";
import { Http2FrameReader } from "./frame-reader.js";
import { FrameWriter } from "./frame-writer.js";
import { Flag, FrameType } from "./protocol.js";

const LENGTH_MAX = 16_384;

/** What a reader passes on, with the pieces of one DATA frame put together. */
class Recorder {
  readonly events: string[] = [];
  #data = "";
  #windowBytes = 0;

  data(streamId: number, piece: Buffer, windowBytes: number, isEnd: boolean): void {
    this.#data += piece.toString("latin1");
    this.#windowBytes += windowBytes;
    const text = `data ${streamId} ${this.#windowBytes} ${isEnd} ${this.#data}`;
    if (this.events.at(-1)?.startsWith(`data ${streamId} `)) this.events.pop();
    this.events.push(text);
  }
  frame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.#data = "";
    this.#windowBytes = 0;
    this.events.push(`frame ${type} ${flags} ${streamId} ${payload.toString("latin1")}`);
  }
}

function read(chunks: readonly Buffer[]): string[] {
  const recorder = new Recorder();
  const reader = new Http2FrameReader(recorder, LENGTH_MAX);
  for (const chunk of chunks) reader.push(chunk);
  return recorder.events;
}

function written(write: (writer: FrameWriter) => void): Buffer {
  const writer = new FrameWriter();
  write(writer);
  return Buffer.concat(writer.take());
}

function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  return written((writer) => {
    writer.head(type, flags, streamId, payload.length);
    writer.bytes(payload);
  });
}

const latin = (text: string) => Buffer.from(text, "latin1");

describe("frames", () => {
  const all = Buffer.concat([
    frame(FrameType.settings, 0, 0, Buffer.alloc(0)),
    frame(FrameType.headers, Flag.endHeaders, 1, latin("block")),
    frame(FrameType.data, 0, 1, latin("hello")),
    frame(FrameType.ping, Flag.ack, 0, latin("12345678")),
    frame(FrameType.data, Flag.endStream | Flag.padded, 3, latin("\x03abc\0\0\0")),
    frame(FrameType.ping, 0, 0, latin("abcdefgh")),
    frame(FrameType.data, Flag.padded, 5, latin("\x02\0\0")),
    frame(FrameType.rstStream, 0, 5, latin("\0\0\0\x08")),
    frame(FrameType.data, Flag.endStream, 7, Buffer.alloc(0)),
    frame(0xee, 0xff, 2 ** 31 - 1, Buffer.alloc(300, "x")),
  ]);
  const expected = [
    "frame 4 0 0 ",
    "frame 1 4 1 block",
    "data 1 5 false hello",
    "frame 6 1 0 12345678",
    "data 3 7 true abc",
    "frame 6 0 0 abcdefgh",
    "data 5 3 false ",
    "frame 3 0 5 \0\0\0\x08",
    "data 7 0 true ",
    `frame 238 255 2147483647 ${"x".repeat(300)}`,
  ];

  test("are the same however their bytes arrive", () => {
    expect(read([all])).toEqual(expected);
    expect(read([...all].map((byte) => Buffer.of(byte)))).toEqual(expected);
    const random = new SeededRandom(1);
    for (let n = 0; n < 500; n++) {
      const chunks: Buffer[] = [];
      for (let from = 0; from < all.length; ) {
        const end = from + random.below(40);
        chunks.push(all.subarray(from, end));
        from = end;
      }
      expect(read(chunks)).toEqual(expected);
    }
  });

  test("that are longer than allowed are refused by their head", () => {
    const head = written((writer) => writer.head(FrameType.headers, 0, 1, LENGTH_MAX + 1));
    expect(() => read([head])).toThrow(expect.objectContaining({ errorCode: 6 }));
  });

  test.each([
    ["as long as the frame", "\x05abcd"],
    ["without a length", ""],
  ])("of DATA with padding %s are refused", (_what, payload) => {
    expect(() => read([frame(FrameType.data, Flag.padded, 1, latin(payload))])).toThrow(
      expect.objectContaining({ errorCode: 1 }),
    );
  });

  test("are passed on no more once the reader was stopped, in the middle of a chunk", () => {
    const events: number[] = [];
    const reader: Http2FrameReader = new Http2FrameReader(
      {
        data: () => {},
        frame: (type) => {
          events.push(type);
          reader.stop();
        },
      },
      LENGTH_MAX,
    );
    reader.push(all);
    expect(events).toEqual([FrameType.settings]);
  });
});

test("the writer copies what is short, keeps what is long, and never writes a byte of a piece again", () => {
  const writer = new FrameWriter();
  const long = Buffer.alloc(5_000, "l");
  const pieces: Uint8Array[] = [];
  let text = "";
  for (let n = 0; n < 2_000; n++) {
    const body = n % 100 === 7 ? long : latin(`body ${n}`);
    writer.head(FrameType.data, 0, 1, body.length);
    writer.uint32(n);
    writer.bytes(body);
    text += `${body.length}:${n}:${body.toString("latin1")};`;
    if (n % 33 === 0) pieces.push(...writer.take());
  }
  pieces.push(...writer.take());
  expect(writer.length).toBe(0);
  expect(pieces.includes(long)).toBe(true);
  const all = Buffer.concat(pieces);
  let read = "";
  for (let at = 0; at < all.length; ) {
    const length = all.readUIntBE(at, 3);
    read += `${length}:${all.readUInt32BE(at + 9)}:${all.toString("latin1", at + 13, at + 13 + length)};`;
    at += 13 + length;
  }
  expect(read).toBe(text);
});
