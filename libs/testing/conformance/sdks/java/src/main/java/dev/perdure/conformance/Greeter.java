package dev.perdure.conformance;

import dev.restate.sdk.Context;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;

@Service
public class Greeter {
  @Handler
  public String greet(Context ctx, String name) {
    String salutation = ctx.run("salutation", String.class, () -> "Hello");
    String mark = ctx.run("mark", String.class, () -> "!");
    return salutation + " " + name + mark;
  }
}
