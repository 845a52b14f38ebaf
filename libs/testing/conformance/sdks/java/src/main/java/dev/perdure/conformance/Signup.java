package dev.perdure.conformance;

import dev.restate.sdk.SharedWorkflowContext;
import dev.restate.sdk.WorkflowContext;
import dev.restate.sdk.annotation.Shared;
import dev.restate.sdk.annotation.Workflow;
import dev.restate.sdk.common.DurablePromiseKey;
import dev.restate.sdk.common.StateKey;
import java.time.Duration;

@Workflow
public class Signup {
  private static final StateKey<String> PHASE = StateKey.of("phase", String.class);
  private static final DurablePromiseKey<String> APPROVAL = DurablePromiseKey.of("approval", String.class);

  @Workflow
  public String run(WorkflowContext ctx, long ms) {
    ctx.set(PHASE, "asleep");
    ctx.sleep(Duration.ofMillis(ms));
    ctx.set(PHASE, "waiting");
    String by = ctx.promise(APPROVAL).future().await();
    ctx.set(PHASE, "done");
    return "approved by " + by;
  }

  @Shared
  public void approve(SharedWorkflowContext ctx, String by) {
    ctx.promiseHandle(APPROVAL).resolve(by);
  }

  @Shared
  public String phase(SharedWorkflowContext ctx) {
    return ctx.get(PHASE).orElse("");
  }
}
