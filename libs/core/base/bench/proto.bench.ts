/**
 * Each frame to and from an SDK and each stored record passes through the protobuf writer and reader. The bench compares them with the
 * library's.
 */
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { ProtoReader, ProtoWriter } from "../src/index.js";
import { measure } from "./measure.js";

const payload = new TextEncoder().encode(JSON.stringify({ name: "Ada", amount: 12, tags: ["a", "b"] }));
const large = new Uint8Array(64 * 1024).fill(7);
const latin = "Grüße aus München";
const long = "abcdefghij".repeat(50);
const id = "inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx";
const writer = new ProtoWriter();

/** The shape of a journal command: strings, an id, a small payload, a nested header. */
function write(): Uint8Array {
  writer.reset().string(1, "Counter").string(2, "add").bytes(3, payload).string(5, id);
  writer.fork(4).string(1, "content-type").string(2, "application/json").join();
  return writer.uint64(6, 1_795_246_690_990).uint32(10, 3).uint32(11, 4).finish();
}

function writeWithLibrary(): Uint8Array {
  const w = new BinaryWriter();
  w.tag(1, 2).string("Counter").tag(2, 2).string("add").tag(3, 2).bytes(payload).tag(5, 2).string(id);
  w.tag(4, 2).fork().tag(1, 2).string("content-type").tag(2, 2).string("application/json").join();
  return w.tag(6, 0).uint64(1_795_246_690_990).tag(10, 0).uint32(3).tag(11, 0).uint32(4).finish();
}

const message = write();
if (Buffer.compare(message, writeWithLibrary()) !== 0) throw new Error("the two writers disagree");

function read(): number {
  const r = new ProtoReader(message);
  let checksum = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
      case 2:
      case 5:
        checksum += r.string().length;
        break;
      case 3:
        checksum += r.bytes().length;
        break;
      case 6:
        checksum += r.uint64Number();
        break;
      case 10:
      case 11:
        checksum += r.uint32();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  return checksum;
}

function readWithLibrary(): number {
  const r = new BinaryReader(message);
  let checksum = 0;
  while (r.pos < r.len) {
    const [field, wire] = r.tag();
    switch (field) {
      case 1:
      case 2:
      case 5:
        checksum += r.string().length;
        break;
      case 3:
        checksum += r.bytes().length;
        break;
      case 6:
        checksum += Number(r.uint64());
        break;
      case 10:
      case 11:
        checksum += r.uint32();
        break;
      default:
        r.skip(wire);
    }
  }
  return checksum;
}

function strings(text: string): () => number {
  return () => {
    writer.reset();
    for (let i = 0; i < 10; i++) writer.string(1, text);
    return writer.size;
  };
}

function stringRead(text: string): () => number {
  const bytes = new ProtoWriter().string(1, text).finish();
  return () => {
    const r = new ProtoReader(bytes);
    r.tag();
    return r.string().length;
  };
}

measure("write a journal command", write);
measure("  the same with @bufbuild/protobuf", writeWithLibrary);
measure("read a journal command", read);
measure("  the same with @bufbuild/protobuf", readWithLibrary);
measure("write 10 short strings (7)", strings("Counter"));
measure("write 10 ids (38)", strings(id));
measure("write 10 strings of 64", strings("x".repeat(64)));
measure("write 10 strings of 100", strings("x".repeat(100)));
measure("write 10 non-ASCII strings (17)", strings(latin));
measure("write 10 long strings (500)", strings(long));
measure("read a string of 7", stringRead("Counter"));
measure("read a string of 16", stringRead("application/json"));
measure("read a string of 24", stringRead("x".repeat(24)));
measure("read an id (38)", stringRead(id));
measure("read a string of 64", stringRead("x".repeat(64)));
measure("read a non-ASCII string (17)", stringRead(latin));
measure("read a long string (500)", stringRead(long));
measure("write 64 KiB of bytes", () => writer.reset().bytes(1, large).size);
measure("write 10 uint64 of 41 bits", () => {
  writer.reset();
  for (let i = 0; i < 10; i++) writer.uint64(1, 1_795_246_690_990 + i);
  return writer.size;
});
measure("write a submessage over 128 bytes", () => writer.reset().fork(1).string(1, long).join().size);
