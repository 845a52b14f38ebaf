// A process that speaks the protocol and does what the text of a statement says.
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
  if (message.kind === "rows" || message.kind === "askFailed") return waiting.get(message.ask)?.(message);
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
    case "ask": {
      const ask = ++requests;
      const seen = [];
      waiting.set(ask, (page) => {
        if (page.kind === "rows") seen.push(...page.rows);
        if (page.kind === "rows" && !page.isLast) return post({ kind: "askMore", ask });
        return answer(query, page.kind === "rows" ? String(seen.length) : page.message);
      });
      return post({ kind: "ask", ask, method: argument, args: [undefined] });
    }
    case "deaf": // Nothing ends it but its death.
      for (;;);
    case "report": // It has begun, as its server learns by a request, and goes on as the argument says.
      post({ kind: "ask", ask: ++requests, method: "rules", args: [] });
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
