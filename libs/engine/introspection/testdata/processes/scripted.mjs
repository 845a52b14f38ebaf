// A process that implements the protocol and runs the command in the text of a statement.
import { Socket } from "node:net";
import { deserialize } from "node:v8";

const stream = new Socket({ fd: 3, readable: true, writable: true });
const waiting = new Map();
let requests = 0;

function frame(content) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(content.length);
  stream.write(Buffer.concat([length, content]));
}
const post = (message) => frame(Buffer.concat([Buffer.of(0), Buffer.from(JSON.stringify(message))]));
function chunk(query, text) {
  const header = Buffer.of(1, 0, 0, 0, 0);
  header.writeUInt32LE(query, 1);
  frame(Buffer.concat([header, Buffer.from(text)]));
}
function answer(query, text) {
  post({ kind: "answer", query, contentType: "text/plain" });
  chunk(query, text);
  post({ kind: "end", query });
}

function receive(message) {
  if (message.kind === "rows" || message.kind === "requestFailed") return waiting.get(message.requestId)?.(message);
  if (message.kind === "cancel" && running.get(message.query) === "hang")
    return post({
      kind: "refused",
      query: message.query,
      refusal: { kind: "refused", reason: "unavailable", message: "cancelled" },
    });
  if (message.kind !== "query") return undefined;
  const { query, text } = message;
  const [word, argument] = text.split(" ");
  running.set(query, word);
  switch (word) {
    case "echo":
      return answer(query, argument);
    case "position":
      return answer(query, `${message.changesAt}`);
    case "refuse":
      return post({ kind: "refused", query, refusal: { kind: "refused", reason: "invalid", message: argument } });
    case "throw":
      throw new Error("thrown in the process");
    case "exit":
      return process.exit(3);
    case "nonsense":
      return frame(Buffer.from("\x00not JSON"));
    case "long":
      return stream.write(Buffer.from("ffffffff", "hex"));
    case "half":
      post({ kind: "answer", query, contentType: "text/plain" });
      chunk(query, "half");
      return setTimeout(() => process.exit(3), 20);
    case "open":
      return post({ kind: "answer", query, contentType: "text/plain" });
    case "fill": {
      const kept = [];
      for (;;) kept.push(new Array(10_000).fill(kept));
    }
    case "take": {
      const kept = [];
      return setInterval(() => kept.push(Buffer.alloc(64 * 1024 * 1024, 1)), 5);
    }
    case "environment":
      return answer(query, Object.keys(process.env).join(" "));
    case "pid":
      return answer(query, String(process.pid));
    case "request": {
      const requestId = ++requests;
      const rows = [];
      waiting.set(requestId, (page) => {
        if (page.kind === "rows") rows.push(...page.rows);
        if (page.kind === "rows" && !page.isLast) return post({ kind: "requestMore", requestId });
        return answer(query, page.kind === "rows" ? String(rows.length) : page.message);
      });
      return post({ kind: "requestRows", requestId, method: argument, args: [undefined] });
    }
    case "deaf": // Only a kill ends it.
      for (;;);
    case "report": // Reports its start to the server with a request, and continues with the statement in the argument.
      post({ kind: "requestRows", requestId: ++requests, method: "rules", args: [] });
      return receive({ ...message, text: argument });
  }
  return undefined; // "hang": until it is cancelled.
}
const running = new Map();

let bytes = Buffer.alloc(0);
stream.on("data", (piece) => {
  bytes = Buffer.concat([bytes, piece]);
  while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32LE(0)) {
    const end = 4 + bytes.readUInt32LE(0);
    const message = deserialize(bytes.subarray(4, end));
    bytes = bytes.subarray(end);
    receive(message);
  }
});
stream.on("close", () => process.exit(0));
