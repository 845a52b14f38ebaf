/** Exchanges whose body is read, or whose answer gets its body, long after the headers. */
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { expect, test } from "@jest/globals";
import type { HttpExchange } from "./exchange.js";
import { host, open } from "./testing/port.js";

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** Reads the body only after it has arrived, and answers with its length. */
async function answerLater(exchange: HttpExchange): Promise<void> {
  await turns();
  let size = 0;
  exchange.startBody({
    data: (chunk) => {
      size += chunk.length;
    },
    end: () => exchange.send(200, [], `${size} bytes`),
  });
}

test.each(["", "four"])("a body of HTTP/2 (%p) that had ended before it was read is received", async (body) => {
  await using listener = await open({ exchange: (exchange) => void answerLater(exchange) });
  const session = connectHttp2(`http://${host}:${listener.port}`);
  const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
  stream.end(body);
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  session.destroy();
  expect(text).toBe(`${body.length} bytes`);
});

test.each(["0\r\n\r\n", "4\r\nfour\r\n0\r\n\r\n"])("a chunked body of HTTP/1.1 (%p) too", async (body) => {
  await using listener = await open({ exchange: (exchange) => void answerLater(exchange) });
  const socket = connect(listener.port, host);
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${body}`);
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  expect(text).toContain(`\r\n\r\n${body.startsWith("4") ? 4 : 0} bytes`);
});

test("headers of an answer are sent before its body when they are flushed", async () => {
  const begun = Promise.withResolvers<HttpExchange>();
  await using listener = await open({
    exchange(exchange) {
      exchange.start(200, ["x-early", "yes"]);
      exchange.flush();
      begun.resolve(exchange);
    },
  });
  const socket = connect(listener.port, host);
  socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  let text = "";
  while (!text.includes("\r\n\r\n")) text += String(await new Promise((resolve) => socket.once("data", resolve)));
  expect(text).toContain("x-early: yes");
  (await begun.promise).end();
  for await (const _chunk of socket);
});
