package dev.perdure.conformance;

import dev.restate.sdk.Context;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;
import dev.restate.sdk.common.RetryPolicy;
import dev.restate.sdk.common.TerminalException;
import java.time.Duration;

@Service
public class Failing {
  public record Failure(int code, String message) {}

  public record Flaky(String id, int failures) {}

  private static int succeedAfter(Flaky flaky) {
    int attempt = Runs.ran(flaky.id());
    if (attempt <= flaky.failures()) throw new IllegalStateException("the attempt fails on purpose");
    return attempt;
  }

  private static RetryPolicy soon() {
    return RetryPolicy.exponential(Duration.ofMillis(10), 1);
  }

  @Handler
  public String terminal(Context ctx, Failure failure) {
    throw new TerminalException(failure.code(), failure.message());
  }

  @Handler
  public int flaky(Context ctx, Flaky flaky) {
    return succeedAfter(flaky);
  }

  @Handler
  public int flakyStep(Context ctx, Flaky flaky) {
    return ctx.run("flaky", Integer.class, soon(), () -> succeedAfter(flaky));
  }

  /** The step gives up after two attempts; what comes of it is caught here. */
  @Handler
  public String givesUp(Context ctx, String id) {
    Flaky hopeless = new Flaky(id, 1_000);
    try {
      int attempt = ctx.run("hopeless", Integer.class, soon().setMaxAttempts(2), () -> succeedAfter(hopeless));
      return "succeeded at attempt " + attempt;
    } catch (TerminalException expected) {
      return "gave up";
    }
  }
}
