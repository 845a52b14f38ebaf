package tutorial;

import static tutorial.Effects.effect;

import dev.restate.sdk.Select;
import dev.restate.sdk.SharedWorkflowContext;
import dev.restate.sdk.WorkflowContext;
import dev.restate.sdk.annotation.Shared;
import dev.restate.sdk.annotation.Workflow;
import dev.restate.sdk.common.DurablePromiseKey;
import dev.restate.sdk.common.StateKey;
import java.time.Duration;
import java.util.Optional;

@Workflow
public class Order {
  public record Request(String item, int amount, int remindAfterSeconds) {}

  private static final StateKey<String> STATUS = StateKey.of("status", String.class);
  private static final DurablePromiseKey<Boolean> DECISION = DurablePromiseKey.of("decision", Boolean.class);

  /** {@code POST /Order/{id}/run}: runs once for each id. */
  @Workflow
  public String run(WorkflowContext ctx, Request request) {
    String id = ctx.key();
    ctx.run("charge the card", () -> effect("charge " + id + " " + request.amount()));
    ctx.set(STATUS, "waiting for approval");

    String status;
    if (isApproved(ctx, request)) {
      ctx.run("ship", () -> effect("ship " + id + " " + request.item()));
      status = "shipped";
    } else {
      ctx.run("refund", () -> effect("refund " + id + " " + request.amount()));
      status = "refunded";
    }
    ctx.set(STATUS, status);
    return id + ": " + status;
  }

  /** Waits for the decision as long as it takes, and reminds once. */
  private boolean isApproved(WorkflowContext ctx, Request request) {
    Optional<Boolean> decision =
        Select.<Optional<Boolean>>select()
            .when(ctx.promise(DECISION).future(), Optional::of)
            .when(ctx.timer(Duration.ofSeconds(request.remindAfterSeconds())), ignored -> Optional.empty())
            .await();
    if (decision.isPresent()) return decision.get();
    ctx.run("remind", () -> effect("remind " + ctx.key()));
    return ctx.promise(DECISION).future().await();
  }

  /** {@code POST /Order/{id}/decide} with true or false: what the human says. */
  @Shared
  public void decide(SharedWorkflowContext ctx, boolean approved) {
    ctx.promiseHandle(DECISION).resolve(approved);
  }

  /** {@code POST /Order/{id}/status} */
  @Shared
  public String status(SharedWorkflowContext ctx) {
    return ctx.get(STATUS).orElse("unknown");
  }
}
