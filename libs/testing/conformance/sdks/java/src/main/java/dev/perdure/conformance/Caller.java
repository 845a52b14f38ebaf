package dev.perdure.conformance;

import dev.restate.sdk.Context;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;
import java.time.Duration;
import java.util.List;

@Service
public class Caller {
  public record Tally(String key, List<Long> numbers) {}

  public record Later(String key, long n, long delayMs) {}

  public record Nap(String key, long ms) {}

  @Handler
  public String greet(Context ctx, String name) {
    return GreeterClient.fromContext(ctx).greet(name).await();
  }

  @Handler
  public long tally(Context ctx, Tally tally) {
    for (long n : tally.numbers()) CounterClient.fromContext(ctx, tally.key()).send().add(n);
    return CounterClient.fromContext(ctx, tally.key()).add(0L).await();
  }

  @Handler
  public String later(Context ctx, Later later) {
    Duration delay = Duration.ofMillis(later.delayMs());
    return CounterClient.fromContext(ctx, later.key()).send().add(later.n(), delay).invocationId();
  }

  @Handler
  public String nap(Context ctx, Nap nap) {
    return NapperClient.fromContext(ctx, nap.key()).nap(nap.ms()).await();
  }

  @Handler
  public void cancel(Context ctx, String id) {
    ctx.invocationHandle(id).cancel();
  }

  @Handler
  public String join(Context ctx, String id) {
    return ctx.invocationHandle(id, String.class).attach().await();
  }
}
