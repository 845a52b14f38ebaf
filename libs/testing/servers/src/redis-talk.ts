/** Starting Redis takes a few commands to it, and no client: one connection, one command, one reply. */
import { connect } from "node:net";
import { REQUEST_MS_MAX } from "./limits.js";

export type RedisReply = string | number | null | readonly RedisReply[];

/** Sends one command and resolves with its reply; error replies and lost connections reject. */
export function requestRedis(port: number, command: readonly string[], password?: string): Promise<RedisReply> {
  const commands = password === undefined ? [command] : [["AUTH", password], command];
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let received = Buffer.alloc(0);
    const finish = (complete: () => void): void => {
      socket.destroy();
      complete();
    };
    socket.setTimeout(REQUEST_MS_MAX, () => finish(() => reject(new Error(`Redis on port ${port} does not answer`))));
    socket.once("error", (cause) => finish(() => reject(cause)));
    socket.once("close", () => reject(new Error(`Redis on port ${port} closed the connection`)));
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      let at = 0;
      let last: RedisReply = null;
      for (const _ of commands) {
        const parsed = parse(received, at);
        if (parsed === undefined) return; // The reply is incomplete.
        if (parsed.value instanceof Error) return finish(() => reject(parsed.value));
        last = parsed.value;
        at = parsed.end;
      }
      finish(() => resolve(last));
    });
    socket.write(commands.map(encode).join(""));
  });
}

function encode(command: readonly string[]): string {
  return `*${command.length}\r\n${command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join("")}`;
}

interface ParsedReply {
  readonly value: RedisReply | Error;
  readonly end: number;
}

function parse(bytes: Buffer, at: number): ParsedReply | undefined {
  const lineEnd = bytes.indexOf("\r\n", at);
  if (lineEnd < 0) return undefined;
  const line = bytes.toString("utf8", at + 1, lineEnd);
  const end = lineEnd + 2;
  switch (bytes[at]) {
    case 0x2d: // -
      return { value: new Error(line), end };
    case 0x3a: // :
      return { value: Number(line), end };
    case 0x24: {
      const length = Number(line);
      if (length < 0) return { value: null, end };
      return bytes.length < end + length + 2
        ? undefined
        : { value: bytes.toString("utf8", end, end + length), end: end + length + 2 };
    }
    case 0x2a: {
      const items: RedisReply[] = [];
      let next = end;
      for (let left = Number(line); left > 0; left--) {
        const item = parse(bytes, next);
        if (item === undefined || item.value instanceof Error) return item;
        items.push(item.value);
        next = item.end;
      }
      return { value: items, end: next };
    }
    default:
      return { value: line, end };
  }
}
