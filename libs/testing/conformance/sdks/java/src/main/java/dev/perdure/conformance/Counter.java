package dev.perdure.conformance;

import dev.restate.sdk.ObjectContext;
import dev.restate.sdk.SharedObjectContext;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Shared;
import dev.restate.sdk.annotation.VirtualObject;
import dev.restate.sdk.common.StateKey;
import java.util.List;

@VirtualObject
public class Counter {
  private static final StateKey<Long> COUNT = StateKey.of("count", Long.class);
  private static final StateKey<String> LABEL = StateKey.of("label", String.class);

  @Handler
  public long add(ObjectContext ctx, long n) {
    long sum = ctx.get(COUNT).orElse(0L) + n;
    ctx.set(COUNT, sum);
    return sum;
  }

  @Handler
  public void label(ObjectContext ctx, String text) {
    ctx.set(LABEL, text);
  }

  @Handler
  public void reset(ObjectContext ctx) {
    ctx.clear(COUNT);
  }

  @Handler
  public void wipe(ObjectContext ctx) {
    ctx.clearAll();
  }

  @Shared
  public long get(SharedObjectContext ctx) {
    return ctx.get(COUNT).orElse(0L);
  }

  @Shared
  public List<String> keys(SharedObjectContext ctx) {
    return List.copyOf(ctx.stateKeys());
  }
}
