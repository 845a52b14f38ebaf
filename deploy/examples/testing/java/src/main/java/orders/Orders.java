package orders;

import dev.restate.sdk.WorkflowContext;
import dev.restate.sdk.annotation.Workflow;
import java.time.Duration;

/** Reminds a customer after three days. */
@Workflow
public class Orders {
  @Workflow
  public int run(WorkflowContext ctx, int items) {
    ctx.run("reserve", String.class, () -> "reserved");
    ctx.sleep(Duration.ofDays(3));
    ctx.run("remind", String.class, () -> "reminded");
    return items;
  }
}
