/**
 * The agent reads the weather and books a table; the endpoint is killed when the table is booked and the result is not stored yet. The
 * model is a fake, because a real one needs an account: it answers by fixed rules, through the same requests.
 */
import { z } from "zod";
import type { Reply } from "#kit/outside-world";
import type { Pattern } from "#kit/pattern";
import { agent as agentObject } from "#patterns/agent/services";

const Conversation = z.object({ messages: z.array(z.object({ role: z.string(), text: z.string() })) });

/** Calls the tools that the last question needs, then answers from what the conversation has. */
function model(body: unknown): Reply {
  const { messages } = Conversation.parse(body);
  const texts = messages.map(({ text }) => text);
  const last = messages.at(-1);
  if (last?.role === "user" && last.text.startsWith("Where")) {
    const booked = texts.find((text) => text.startsWith("book_table"));
    return { body: { kind: "text", text: booked === undefined ? "Nowhere yet." : "At Da Mario." } };
  }
  if (!texts.some((text) => text.startsWith("weather"))) return { body: { kind: "tool", tool: "weather", input: "Turin" } };
  if (!texts.some((text) => text.startsWith("book_table")))
    return { body: { kind: "tool", tool: "book_table", input: "Da Mario" } };
  return { body: { kind: "text", text: "It is sunny, so I booked a table outside." } };
}

export const agent: Pattern = {
  name: "agent",
  summary: "an AI agent with tools and memory; no completion is paid for twice",
  isInEveryLanguage: true,
  services: [agentObject],
  demo: async (stage) => {
    const { outside } = stage;
    outside.on("model/complete", model);
    outside.on("weather/now", () => ({ body: { result: "sunny" } }));
    outside.on("tables/book", () => ({ body: { result: "booked" } }));
    const booking = outside.hold("tables/book");
    const ada = stage.ingress.objectClient(agentObject, "ada");
    const answer = ada.chat("Book a table outside if the weather is good.");
    await booking.performed;
    stage.say("the model chose its tools; the table is booked, the result is not stored yet");
    await stage.crash("endpoint");
    booking.release();

    stage.say(`the agent answers: ${await answer}`);
    stage.check("the table was booked once", outside.performed("tables/book").length === 1);
    stage.check(
      "the model was called three times, none of them again after the crash",
      outside.requestCount("model/complete") === 3,
    );
    stage.check("the agent remembers", (await ada.chat("Where do we eat?")) === "At Da Mario.");
  },
};
