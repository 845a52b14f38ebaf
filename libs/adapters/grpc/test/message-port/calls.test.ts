/** Calls behave alike over gRPC and over a message port: handlers and clients do not see which of the two carries them. */
import {
  Metadata,
  type MethodDefinition,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceError,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import type { Channel } from "../../src/channel.js";
import { answeredError, statusOf } from "../../src/status.js";
import { CARRIERS, type Carrier, TestServer } from "../../src/testing/index.js";

type TextMethod = MethodDefinition<string, string>;

const method = (name: string, requestStream: boolean, responseStream: boolean): TextMethod => ({
  path: `/test.Texts/${name}`,
  requestStream,
  responseStream,
  requestSerialize: (text) => Buffer.from(text),
  requestDeserialize: readText,
  responseSerialize: (text) => Buffer.from(text),
  responseDeserialize: readText,
});

function readText(bytes: Buffer): string {
  const text = bytes.toString();
  if (text === "unreadable") throw new Error("this text cannot be read");
  return text;
}

const TEXTS = { one: method("One", false, false), many: method("Many", false, true), talk: method("Talk", true, true) };
const NOT_SERVED = method("Other", false, false);

const opened: (() => void)[] = [];
let carrier: Carrier = "gRPC";
afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

async function serve(handlers: UntypedServiceImplementation): Promise<Channel> {
  const server = await TestServer.start(TEXTS, handlers, { carrier });
  opened.push(() => server.stop());
  return server.connect();
}

interface UnaryOutcome {
  readonly error: ServiceError | null;
  readonly answer: string | undefined;
}

function callOne(channel: Channel, request: string, deadline?: number, called: TextMethod = TEXTS.one) {
  const outcome = Promise.withResolvers<UnaryOutcome>();
  const call = channel.makeUnaryRequest(
    called.path,
    called.requestSerialize,
    called.responseDeserialize,
    request,
    new Metadata(),
    deadline === undefined ? {} : { deadline },
    (error, answer) => outcome.resolve({ error, answer }),
  );
  return { call, outcome: outcome.promise };
}

const callMany = (channel: Channel, request: string) =>
  channel.makeServerStreamRequest(TEXTS.many.path, TEXTS.many.requestSerialize, TEXTS.many.responseDeserialize, request);
const talk = (channel: Channel) =>
  channel.makeBidiStreamRequest(TEXTS.talk.path, TEXTS.talk.requestSerialize, TEXTS.talk.responseDeserialize);

/** What a stream emits until its end or its error. */
function eventsOf(stream: ReturnType<typeof callMany>): Promise<readonly string[]>;
function eventsOf(stream: ReturnType<typeof talk>): Promise<readonly string[]>;
function eventsOf(stream: Pick<ReturnType<typeof talk>, "on">): Promise<readonly string[]> {
  const events: string[] = [];
  return new Promise((resolve) => {
    stream.on("data", (text: string) => events.push(text));
    stream.on("end", () => resolve([...events, "end"]));
    stream.on("error", (error: Error & Partial<ServiceError>) => resolve([...events, `${error.code} ${error.details}`]));
  });
}

describe.each(CARRIERS)("over %s", (over) => {
  beforeEach(() => {
    carrier = over;
  });

  test("a unary call gets its answer, or the error of the handler with its details", async () => {
    const channel = await serve({
      one(call: ServerUnaryCall<string, string>, answer: sendUnaryData<string>) {
        if (call.request === "refused") return answer(statusOf(new PerdureError("STO0002", "too much waits")));
        if (call.request === "without a code") return answer({ details: "no code" });
        answer(null, `${call.getPath()} ${call.request}`);
      },
    });
    expect(await callOne(channel, "hello").outcome).toEqual({ error: null, answer: "/test.Texts/One hello" });
    const { error } = await callOne(channel, "refused").outcome;
    expect(error).toMatchObject({ code: status.ABORTED, details: "too much waits" });
    expect(answeredError(error as ServiceError)).toMatchObject({ code: "STO0002", detail: "too much waits" });
    expect((await callOne(channel, "without a code").outcome).error).toMatchObject({ code: status.UNKNOWN });
  });

  test("a method that no service has is UNIMPLEMENTED", async () => {
    const channel = await serve({ one: (_call: unknown, answer: sendUnaryData<string>) => answer(null, "") });
    const { error } = await callOne(channel, "", undefined, NOT_SERVED).outcome;
    expect(error).toMatchObject({
      code: status.UNIMPLEMENTED,
      message: expect.stringContaining("UNIMPLEMENTED"),
      details: expect.stringContaining("The server does not implement the method"),
    });
  });

  test("a handler that throws, and an answer that cannot be read, fail their call alone", async () => {
    const channel = await serve({
      one(call: ServerUnaryCall<string, string>, answer: sendUnaryData<string>) {
        if (call.request === "throw") throw new Error("a secret of the server");
        answer(null, call.request === "answer" ? "unreadable" : "fine");
      },
    });
    const thrown = (await callOne(channel, "throw").outcome).error;
    expect(thrown).toMatchObject({ code: status.UNKNOWN });
    expect(thrown?.message).not.toContain("secret");
    expect((await callOne(channel, "answer").outcome).error).toMatchObject({ code: status.INTERNAL });
    expect((await callOne(channel, "again").outcome).answer).toBe("fine");
  });

  test("the handler notices that its caller cancels, or that its deadline is over", async () => {
    const cancelled: string[] = [];
    const noticed = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const channel = await serve({
      one(call: ServerUnaryCall<string, string>) {
        begun.resolve();
        call.on("cancelled", () => {
          cancelled.push(`${call.request} ${call.cancelled}`);
          if (cancelled.length === 2) noticed.resolve();
        });
      },
    });
    const { call, outcome } = callOne(channel, "cancel");
    await begun.promise;
    call.cancel();
    expect((await outcome).error).toMatchObject({ code: status.CANCELLED });
    call.cancel(); // Nothing is left of it.
    const overdue = await callOne(channel, "deadline", Date.now() + 50).outcome;
    expect(overdue.error).toMatchObject({ code: status.DEADLINE_EXCEEDED });
    await noticed.promise;
    expect(cancelled).toEqual(["cancel true", "deadline true"]);
  });

  test("a server's stream has its messages in order, then its end or the error of the handler", async () => {
    const channel = await serve({
      many(call: ServerWritableStream<string, string>): void {
        for (let number = 0; number < 100; number++) call.write(`${number}`);
        if (call.request === "all") return void call.end();
        const broke = Object.assign(new Error("broke"), { code: status.INTERNAL, details: "it broke" });
        call.write("last", () => call.emit("error", broke));
      },
    });
    const numbers = Array.from({ length: 100 }, (_, number) => `${number}`);
    expect(await eventsOf(callMany(channel, "all"))).toEqual([...numbers, "end"]);
    const failed = await eventsOf(callMany(channel, "fail"));
    expect(failed).toEqual([...numbers, "last", "13 it broke"]);
    const iterated: string[] = [];
    for await (const text of callMany(channel, "all")) iterated.push(text);
    expect(iterated).toEqual(numbers);
  });

  test("a reader that stops cancels the stream for its server", async () => {
    const stopped = Promise.withResolvers<boolean>();
    const channel = await serve({
      many(call: ServerWritableStream<string, string>) {
        const more = setInterval(() => call.write("more"), 1);
        call.on("close", () => {
          clearInterval(more);
          stopped.resolve(call.cancelled);
        });
      },
    });
    const stream = callMany(channel, "all");
    stream.on("error", () => undefined);
    await new Promise((resolve) => stream.once("data", resolve));
    stream.cancel();
    expect(await stopped.promise).toBe(true);
  });

  test("a dialogue continues until the client has sent all and the server ends it", async () => {
    const channel = await serve({
      talk(call: ServerDuplexStream<string, string>) {
        call.on("data", (text: string) => call.write(`re: ${text}`));
        call.on("end", () => {
          call.write("bye");
          call.end();
        });
      },
    });
    const stream = talk(channel);
    const events = eventsOf(stream);
    for (const text of ["a", "b"]) stream.write(text);
    stream.end();
    expect(await events).toEqual(["re: a", "re: b", "bye", "end"]);
  });

  test("a dialogue that is cancelled ends for both", async () => {
    const ended: string[] = [];
    const closed = Promise.withResolvers<void>();
    const channel = await serve({
      talk(call: ServerDuplexStream<string, string>) {
        call.on("data", (text: string) => call.write(text));
        call.on("end", () => ended.push("end"));
        call.on("cancelled", () => ended.push("cancelled"));
        call.on("close", () => closed.resolve());
      },
    });
    const stream = talk(channel);
    const events = eventsOf(stream);
    stream.write("a");
    await new Promise((resolve) => stream.on("data", resolve));
    stream.cancel();
    stream.write("too late");
    expect(await events).toEqual(["a", "1 Cancelled on client"]);
    await closed.promise;
    expect(ended).toContain("cancelled");
  });

  test("the error that a handler emits ends a dialogue", async () => {
    const channel = await serve({
      talk(call: ServerDuplexStream<string, string>) {
        call.emit("error", Object.assign(new Error("no"), { code: status.FAILED_PRECONDITION, details: "not now" }));
      },
    });
    expect(await eventsOf(talk(channel))).toEqual(["9 not now"]);
  });
});
