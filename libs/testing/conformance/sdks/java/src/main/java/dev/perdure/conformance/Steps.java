package dev.perdure.conformance;

import dev.restate.sdk.Context;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

@Service
public class Steps {
  public record Walk(String id, int count, long pauseMs) {}

  @Handler
  public List<Integer> walk(Context ctx, Walk walk) {
    List<Integer> seen = new ArrayList<>();
    for (int i = 0; i < walk.count(); i++) {
      seen.add(ctx.run("step", Integer.class, () -> Runs.ran(walk.id())));
      ctx.sleep(Duration.ofMillis(walk.pauseMs()));
    }
    return seen;
  }

  @Handler
  public String nap(Context ctx, long ms) {
    ctx.sleep(Duration.ofMillis(ms));
    return "rested";
  }
}
