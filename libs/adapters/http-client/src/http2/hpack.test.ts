/** Header blocks: the examples of RFC 7541, and encoder and decoder against each other. Node's server is the other end in `test/`. */
import { describe, expect, test } from "@jest/globals";
import { SeededRandom } from "@perdure/testkit";
import { HpackDecoder } from "./hpack-decoder.js";
import { HpackEncoder } from "./hpack-encoder.js";
import { HUFFMAN_BITS } from "./hpack-tables.js";
import { huffmanText } from "./huffman.js";

const LIST_BYTES_MAX = 64 * 1024;

function bytes(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(" ", ""), "hex");
}

function pairs(decoder: HpackDecoder, block: Buffer): string[] {
  return decoder.decode(block).fields.map(({ name, value }) => `${name}: ${value}`);
}

describe("the decoder", () => {
  test("reads the requests of appendix C.4, which share a table", () => {
    const decoder = new HpackDecoder(LIST_BYTES_MAX);
    const first = ":method: GET, :scheme: http, :path: /, :authority: www.example.com".split(", ");
    expect(pairs(decoder, bytes("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff"))).toEqual(first);
    expect(pairs(decoder, bytes("8286 84be 5886 a8eb 1064 9cbf"))).toEqual([...first, "cache-control: no-cache"]);
    expect(pairs(decoder, bytes("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"))).toEqual([
      ":method: GET",
      ":scheme: https",
      ":path: /index.html",
      ":authority: www.example.com",
      "custom-key: custom-value",
    ]);
  });

  test("reads the responses of appendix C.6, whose table of 256 bytes evicts", () => {
    const decoder = new HpackDecoder(LIST_BYTES_MAX);
    const size = "3fe1 01"; // The RFC sets it by SETTINGS.
    const first = ["cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT", "location: https://www.example.com"] as const;
    const block =
      "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3";
    expect(pairs(decoder, bytes(size + block))).toEqual([":status: 302", ...first]);
    expect(pairs(decoder, bytes("4883 640e ffc1 c0bf"))).toEqual([":status: 307", ...first]);
    const last =
      "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07";
    expect(pairs(decoder, bytes(last))).toEqual([
      ":status: 200",
      "cache-control: private",
      "date: Mon, 21 Oct 2013 20:13:22 GMT",
      "location: https://www.example.com",
      "content-encoding: gzip",
      "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    ]);
  });

  test("returns the same fields for a block that only refers to the table, and reads it anew after the table has changed", () => {
    const decoder = new HpackDecoder(LIST_BYTES_MAX);
    const literal = (value: string) =>
      Buffer.concat([Uint8Array.of(0x40, 1), Buffer.from(`a${String.fromCharCode(value.length)}${value}`)]);
    expect(pairs(decoder, literal("1"))).toEqual(["a: 1"]);
    const newest = Uint8Array.of(0xbe);
    const before = decoder.decode(Buffer.from(newest));
    expect(decoder.decode(Buffer.from(newest))).toBe(before);
    expect(pairs(decoder, literal("2"))).toEqual(["a: 2"]);
    expect(pairs(decoder, Buffer.from(newest))).toEqual(["a: 2"]);
  });

  test.each([
    ["an index of zero", "80"],
    ["an entry that is not in the table", "be"],
    ["an index of five bytes", "ff ffff ffff 0f"],
    ["a number without an end", "ff ff"],
    ["a name that is longer than its block", "40 05 61"],
    ["a value that is longer than its block", "40 0161 05 61"],
    ["a field without a value", "40 0161"],
    ["a table larger than allowed", "3f e2 3f"],
    ["a size of the table after a field", "82 20"],
    ["Huffman code with padding of zeros", "40 0161 81 00"],
    ["Huffman code with EOS", "40 0161 84 ffff ffff"],
    ["Huffman code with a byte of padding", "40 0161 82 1f ff"],
  ])("refuses %s", (_what, hex) => {
    expect(() => new HpackDecoder(LIST_BYTES_MAX).decode(bytes(hex))).toThrow(expect.objectContaining({ errorCode: 9 }));
  });

  test("says when the fields are too long, keeps few of them, and its table stays right", () => {
    const decoder = new HpackDecoder(100);
    const field = Buffer.concat([bytes("40 0161 28"), Buffer.alloc(40, "x")]);
    const decoded = decoder.decode(Buffer.concat([field, field, field]));
    expect([decoded.isTooLong, decoded.fields.length]).toEqual([true, 1]);
    expect(pairs(decoder, bytes("c0"))).toEqual([`a: ${"x".repeat(40)}`]);
  });

  test("throws nothing but protocol errors over random bytes", () => {
    const random = new SeededRandom(7541);
    let refused = 0;
    for (let n = 0; n < 20_000; n++) {
      const block = Buffer.alloc(random.below(40));
      random.bytes(block);
      try {
        new HpackDecoder(LIST_BYTES_MAX).decode(block);
      } catch (cause) {
        expect(cause).toMatchObject({ name: "Http2ProtocolError", errorCode: 9 });
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(1_000);
  });
});

test("the Huffman code of every byte is read back", () => {
  // The codes by the rule of the table's comment, as a text of ones and zeros.
  const codes: string[] = [];
  let code = 0;
  for (let bits = 1; bits <= 30; bits++, code *= 2)
    for (const [symbol, length] of HUFFMAN_BITS.entries())
      if (length === bits) codes[symbol] = (code++).toString(2).padStart(bits, "0");
  const text = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  let coded = [...text].map((byte) => codes[byte]).join("");
  coded = coded.padEnd(Math.ceil(coded.length / 8) * 8, "1");
  const encoded = Buffer.from(coded.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
  expect(Buffer.from(huffmanText(encoded, 0, encoded.length)!, "latin1")).toEqual(text);
});

describe("the encoder", () => {
  const request = [":method", "POST", ":path", "/invoke/Svc/run", "content-type", "application/vnd.restate.invocation.v6"];

  test("sends a field that is repeated as one byte from its third time on", () => {
    const encoder = new HpackEncoder();
    const lengths = [1, 2, 3, 4].map(() => encoder.encode(request).length);
    expect(lengths.slice(2)).toEqual([3, 3]);
  });

  test("keeps ids and credentials out of the table, and credentials out of all tables", () => {
    const encoder = new HpackEncoder();
    for (let n = 0; n < 300; n++) encoder.encode(["x-id", `inv_${n}`]);
    encoder.encode(request);
    encoder.encode(request);
    for (let n = 0; n < 300; n++) encoder.encode(["x-id", `inv_${1_000 + n}`]);
    expect(encoder.encode(request).length).toBe(3);
    for (let n = 0; n < 3; n++) {
      const [first, ...rest] = encoder.encode(["authorization", "Bearer secret"]);
      expect(first! >> 4).toBe(1); // Never indexed.
      expect(rest.length).toBeGreaterThan("Bearer secret".length);
    }
  });

  test("and the decoder agree, whatever is sent, repeated, evicted and resized", () => {
    const random = new SeededRandom(9113);
    for (let world = 0; world < 60; world++) {
      const encoder = new HpackEncoder();
      const decoder = new HpackDecoder(1024 * 1024);
      for (let n = 0; n < 120; n++) {
        if (random.chance(0.03)) encoder.limitTable(random.below(6_000));
        if (random.chance(0.01)) encoder.limitTable(0);
        const fields: string[] = [];
        for (let count = random.below(8); count >= 0; count--) {
          const name = random.chance(0.5) ? "content-type" : `x-${random.below(12)}`;
          fields.push(name, "v".repeat(random.below(random.chance(0.05) ? 3_000 : 60)) + random.below(6));
        }
        const decoded = decoder.decode(Buffer.from(encoder.encode(fields)));
        expect(decoded.fields.flatMap(({ name, value }) => [name, value])).toEqual(fields);
      }
    }
  });
});
