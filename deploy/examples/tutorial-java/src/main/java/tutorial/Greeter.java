package tutorial;

import static tutorial.Effects.effect;

import dev.restate.sdk.Context;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;
import java.time.Duration;

@Service
public class Greeter {
  /** {@code POST /Greeter/greet} with a name. */
  @Handler
  public String greet(Context ctx, String name) {
    ctx.run("write the card", () -> effect("write the card for " + name));
    ctx.sleep(Duration.ofSeconds(5));
    ctx.run("send the card", () -> effect("send the card to " + name));
    return "Hello " + name + "!";
  }
}
