package dev.perdure.conformance;

import dev.restate.sdk.Awakeable;
import dev.restate.sdk.ObjectContext;
import dev.restate.sdk.Select;
import dev.restate.sdk.SharedObjectContext;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Shared;
import dev.restate.sdk.annotation.VirtualObject;
import dev.restate.sdk.common.StateKey;
import java.time.Duration;

@VirtualObject
public class Mailbox {
  private static final StateKey<String> ADDRESS = StateKey.of("address", String.class);

  @Handler
  public String receive(ObjectContext ctx, long ms) {
    Awakeable<String> letter = ctx.awakeable(String.class);
    ctx.set(ADDRESS, letter.id());
    String text =
        Select.<String>select()
            .or(letter)
            .when(ctx.timer(Duration.ofMillis(ms)), ignored -> "no message")
            .await();
    ctx.clear(ADDRESS);
    return text;
  }

  @Shared
  public String address(SharedObjectContext ctx) {
    return ctx.get(ADDRESS).orElse("");
  }
}
