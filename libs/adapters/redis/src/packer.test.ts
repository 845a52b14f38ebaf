import { expect, test } from "@jest/globals";
import { BatchPacker } from "./packer.js";

/** MessagePack as `cmsgpack` reads it, as far as the packer writes it. */
function unpack(bytes: Buffer): unknown {
  let at = 0;
  const take = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const next = (): unknown => {
    const head = bytes[at++] as number;
    if (head < 0x80) return head;
    if (head < 0xa0) return Array.from({ length: head & 0x0f }, next);
    if (head < 0xc0) return take(head & 0x1f).toString("latin1");
    switch (head) {
      case 0xce:
        return take(4).readUInt32BE();
      case 0xd9:
        return take(take(1)[0] as number).toString("latin1");
      case 0xdb:
        return take(take(4).readUInt32BE()).toString("latin1");
      case 0xdd:
        return Array.from({ length: take(4).readUInt32BE() }, next);
      default:
        throw new Error(`unexpected ${head.toString(16)}`);
    }
  };
  const value = next();
  if (at !== bytes.length) throw new Error("something is left");
  return value;
}

test("what is packed is unpacked as it was, at every length where the form changes", () => {
  const packer = new BatchPacker();
  for (const length of [0, 1, 15, 16, 31, 32, 33, 63, 64, 65, 255, 256, 65_535, 65_536, 200_000]) {
    const text = "x".repeat(length);
    const wide = "ü".repeat(length);
    const wideAtLast = `${text}ü`;
    const packed = packer
      .reset()
      .list(6)
      .text(text)
      .text(wide)
      .text(wideAtLast)
      .latin1(wide)
      .bytes(Buffer.from(text))
      .tagged(7, Buffer.from(text))
      .finish();
    const latin1 = (utf8: string): string => Buffer.from(utf8).toString("latin1");
    expect(unpack(packed)).toEqual([text, latin1(wide), latin1(wideAtLast), wide, text, `\x07${text}`]);
  }
});

test("lists of any length and numbers up to 2³²−1", () => {
  const packer = new BatchPacker();
  for (const length of [0, 1, 15, 16, 1_000]) {
    packer.reset().list(length);
    for (let n = 0; n < length; n++) packer.uint(n);
    expect(unpack(packer.finish())).toEqual(Array.from({ length }, (_, n) => n));
  }
  for (const n of [0, 127, 128, 65_536, 2 ** 32 - 1]) expect(unpack(packer.reset().uint(n).finish())).toBe(n);
});

test("what was finished stays as it is when the packer continues", () => {
  const packer = new BatchPacker();
  const first = packer.text("first").finish();
  packer.reset().text("other");
  expect(unpack(first)).toBe("first");
});

test("a list whose length is set at its end equals one whose length was set before, within another one too", () => {
  const packer = new BatchPacker();
  for (const length of [0, 1, 15, 16, 40_000]) {
    const open = packer.reset().openList();
    const within = packer.text("before").openList();
    for (let n = 0; n < length; n++) packer.uint(n % 128);
    packer.closeList(within, length);
    packer.closeList(open, 2);
    const later = packer.finish();
    packer.reset().list(2).text("before").list(length);
    for (let n = 0; n < length; n++) packer.uint(n % 128);
    expect(later).toEqual(packer.finish());
  }
});
