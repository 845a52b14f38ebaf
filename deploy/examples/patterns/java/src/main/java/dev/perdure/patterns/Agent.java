package dev.perdure.patterns;

import com.fasterxml.jackson.databind.JsonNode;
import dev.restate.sdk.ObjectContext;
import dev.restate.sdk.RestateRandom;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.VirtualObject;
import dev.restate.sdk.common.StateKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** AI agent with tools and memory. See ../src/agent/services.ts of the folder above for the explanation. */
@VirtualObject
public class Agent {
  private static final StateKey<Memory> MEMORY = StateKey.of("messages", Memory.class);
  private static final int ROUNDS_MAX = 8;
  private static final int MEMORY_MESSAGES_MAX = 100;

  /** Tools by name: the system outside that performs each, and the name of its input. */
  private static final Map<String, Tool> TOOLS =
      Map.of("weather", new Tool("weather/now", "city"), "book_table", new Tool("tables/book", "restaurant"));

  private record Tool(String action, String input) {}

  public record Message(String role, String text) {}

  public record Memory(List<Message> messages) {}

  /** Answers a message of the user who is the key of the object. */
  @Handler
  public String chat(ObjectContext ctx, String text) {
    List<Message> messages = new ArrayList<>(ctx.get(MEMORY).map(Memory::messages).orElse(List.of()));
    messages.add(new Message("user", text));
    RestateRandom random = ctx.random(); // Once: each call begins the same sequence again.
    for (int round = 1; round <= ROUNDS_MAX; round++) {
      String key = random.nextUUID().toString();
      Map<String, Object> request = Map.of("messages", List.copyOf(messages));
      JsonNode completion = Outside.call(ctx, "model " + round, "model/complete", key, request);
      if (completion.get("kind").asText().equals("text")) {
        String answer = completion.get("text").asText();
        messages.add(new Message("assistant", answer));
        ctx.set(MEMORY, new Memory(messages.subList(Math.max(0, messages.size() - MEMORY_MESSAGES_MAX), messages.size())));
        return answer;
      }
      String tool = completion.get("tool").asText();
      messages.add(new Message("tool", tool + ": " + use(ctx, tool, key, completion.get("input").asText())));
    }
    return "I could not finish this. Please try a smaller request.";
  }

  private static String use(ObjectContext ctx, String name, String key, String input) {
    Tool tool = TOOLS.get(name);
    if (tool == null) return "there is no tool called " + name;
    return Outside.call(ctx, "tool " + name, tool.action(), key, Map.of(tool.input(), input)).get("result").asText();
  }

  /** Deletes the conversation. */
  @Handler
  public void clear(ObjectContext ctx) {
    ctx.clear(MEMORY);
  }
}
