// A thread that speaks the protocol and does what the text of a statement says.
import { parentPort } from "node:worker_threads";

const waiting = new Map();
let asked = 0;
parentPort.on("message", (message) => {
  if (message.kind === "close") return parentPort.close();
  if (message.kind === "rows" || message.kind === "askFailed") {
    const next = waiting.get(message.ask)(message);
    if (next !== undefined) parentPort.postMessage(next);
    return;
  }
  if (message.kind !== "query") return;
  const { query, text } = message;
  const send = (kind, rest) => parentPort.postMessage({ kind, query, ...rest });
  const [word, argument] = text.split(" ");
  switch (word) {
    case "echo":
      send("answer", { contentType: "text/plain" });
      send("chunk", { bytes: new TextEncoder().encode(argument) });
      send("end", {});
      return;
    case "refuse":
      send("refused", { refusal: { kind: "refused", reason: "invalid", message: argument, retryAfterSeconds: undefined } });
      return;
    case "throw":
      throw new Error("thrown in the thread");
    case "exit":
      process.exit(3);
    case "half":
      send("answer", { contentType: "text/plain" });
      send("chunk", { bytes: new TextEncoder().encode("half") });
      setTimeout(() => process.exit(3), 20);
      return;
    case "fill": {
      const kept = [];
      for (;;) kept.push(new Array(10_000).fill(kept));
    }
    case "ask": {
      const ask = ++asked;
      const seen = [];
      waiting.set(ask, (page) => {
        if (page.kind === "rows") seen.push(...page.rows);
        if (page.kind === "rows" && !page.isLast) return { kind: "askMore", ask };
        send("answer", { contentType: "text/plain" });
        const told = page.kind === "rows" ? String(seen.length) : page.message;
        send("chunk", { bytes: new TextEncoder().encode(told) });
        send("end", {});
        return undefined;
      });
      parentPort.postMessage({ kind: "ask", ask, method: argument, args: [undefined] });
      return;
    }
  }
  // "hang": nothing.
});
