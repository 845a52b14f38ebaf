/** A name server for a network namespace: answers SRV and A queries from a fixed zone (RFC 1035, RFC 2782). */
import { createSocket } from "node:dgram";

export interface Zone {
  /** Name → port and target of its service. */
  readonly srv: Readonly<Record<string, { readonly port: number; readonly target: string }>>;
  /** Name → IPv4 address. */
  readonly a: Readonly<Record<string, string>>;
}

const A = 1;
const SRV = 33;
const HEADER_BYTES = 12;

/** Port 53 of loopback. */
export async function serveNames(zone: Zone): Promise<AsyncDisposable> {
  const socket = createSocket("udp4");
  socket.on("message", (question, from) => socket.send(answerTo(question, zone), from.port, from.address));
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(53, "127.0.0.1", resolve);
  });
  return {
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => socket.close(() => resolve()));
    },
  };
}

function answerTo(question: Buffer, { srv, a }: Zone): Buffer {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  while (question[at] !== 0 && at < question.length) {
    const length = question[at] as number;
    labels.push(question.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  const type = question.readUInt16BE(at + 1);
  const name = labels.join(".").toLowerCase();
  const data = type === SRV ? srvData(srv[name]) : type === A ? addressData(a[name]) : undefined;
  const head = Buffer.alloc(HEADER_BYTES);
  question.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8580, 2); // An answer, with authority, recursion desired and available.
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data === undefined ? 0 : 1, 6);
  const questionBytes = question.subarray(HEADER_BYTES, at + 5);
  if (data === undefined) return Buffer.concat([head, questionBytes]);
  const record = Buffer.alloc(HEADER_BYTES);
  record.writeUInt16BE(0xc000 | HEADER_BYTES, 0); // The name is the question's.
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(30, 6);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, questionBytes, record, data]);
}

function srvData(service: { readonly port: number; readonly target: string } | undefined): Buffer | undefined {
  if (service === undefined) return undefined;
  const fixed = Buffer.alloc(6); // Priority and weight are zero.
  fixed.writeUInt16BE(service.port, 4);
  return Buffer.concat([fixed, encodeName(service.target)]);
}

function addressData(address: string | undefined): Buffer | undefined {
  return address === undefined ? undefined : Buffer.from(address.split(".").map(Number));
}

function encodeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, "latin1")]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}
