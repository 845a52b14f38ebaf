package dev.perdure.conformance;

import dev.restate.sdk.ObjectContext;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.VirtualObject;
import dev.restate.sdk.common.StateKey;
import java.nio.file.Files;
import java.nio.file.Path;

/** Handlers with a planted bug each. OUTSIDE is a folder that stands for the world outside: prices, and flags that an operator sets. */
@VirtualObject
public class Planted {
  public record Secret(String password) {}

  public record Plan(String name) {}

  public record Profile(String apiKey, Plan plan) {}

  private static final StateKey<Profile> PROFILE = StateKey.of("profile", Profile.class);

  private static Path outside(String name) {
    return Path.of(System.getenv("OUTSIDE"), name);
  }

  @Handler
  public void fill(ObjectContext ctx, Profile profile) {
    ctx.set(PROFILE, profile);
  }

  /** Bug: a profile may be without a plan. */
  @Handler
  public String state(ObjectContext ctx, Secret request) {
    Profile profile = ctx.get(PROFILE).orElseThrow();
    return profile.plan().name().toUpperCase();
  }

  /** Bug: a price may have a decimal comma. */
  @Handler
  public int step(ObjectContext ctx, Secret request) {
    String price = ctx.run("price", String.class, () -> Files.readString(outside("price")));
    return Integer.parseInt(price);
  }

  /** Bug: a shelf may be empty. */
  @Handler
  public String call(ObjectContext ctx, Secret request) {
    return ShelfClient.fromContext(ctx).list(request).await().items().get(0);
  }

  /** Bug: the flag is read outside of a step. */
  @Handler
  public String flag(ObjectContext ctx, Secret request) {
    String step = Files.exists(outside("flag")) ? "refuse" : "reserve";
    ctx.run(step, Boolean.class, () -> true);
    throw new IllegalStateException("the warehouse is closed");
  }
}
