package dev.perdure.conformance;

import dev.restate.sdk.ObjectContext;
import dev.restate.sdk.SharedObjectContext;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Shared;
import dev.restate.sdk.annotation.VirtualObject;
import dev.restate.sdk.common.StateKey;
import dev.restate.sdk.common.TerminalException;
import java.time.Duration;

@VirtualObject
public class Napper {
  private static final StateKey<String> PHASE = StateKey.of("phase", String.class);

  @Handler
  public String nap(ObjectContext ctx, long ms) {
    ctx.set(PHASE, "napping");
    try {
      ctx.sleep(Duration.ofMillis(ms));
    } catch (TerminalException woken) {
      ctx.set(PHASE, "woken with " + woken.getCode());
      throw woken;
    }
    ctx.set(PHASE, "rested");
    return "rested";
  }

  @Shared
  public String phase(SharedObjectContext ctx) {
    return ctx.get(PHASE).orElse("");
  }
}
