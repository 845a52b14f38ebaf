package dev.perdure.patterns;

import dev.restate.sdk.DurableFuture;
import dev.restate.sdk.Select;
import dev.restate.sdk.SharedWorkflowContext;
import dev.restate.sdk.WorkflowContext;
import dev.restate.sdk.annotation.Shared;
import dev.restate.sdk.annotation.Workflow;
import dev.restate.sdk.common.DurablePromiseKey;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** Human approval with reminders. See ../src/approval/services.ts of the folder above for the explanation. */
@Workflow
public class ExpenseApproval {
  private static final DurablePromiseKey<Boolean> DECISION = DurablePromiseKey.of("decision", Boolean.class);
  private static final int REMINDERS_MAX = 10;

  public record Expense(String employee, String approver, int cents, long remindAfterMs) {}

  /** Returns {@code paid}, {@code rejected} or {@code expired}. The key of the workflow is the number of the expense. */
  @Workflow
  public String run(WorkflowContext ctx, Expense expense) {
    sendMail(ctx, "question", expense.approver(), "please decide");
    for (int reminder = 1; reminder <= REMINDERS_MAX; reminder++) {
      DurableFuture<Boolean> decision = ctx.promise(DECISION).future();
      Optional<Boolean> isApproved =
          Select.<Optional<Boolean>>select()
              .when(decision, Optional::of)
              .when(ctx.timer(Duration.ofMillis(expense.remindAfterMs())), ignored -> Optional.empty())
              .await();
      if (isApproved.isPresent()) {
        if (!isApproved.get()) return "rejected";
        Outside.call(ctx, "pay", "payroll/pay", ctx.key(), expense);
        return "paid";
      }
      sendMail(ctx, "reminder-" + reminder, expense.approver(), "still waiting");
    }
    return "expired";
  }

  /** Called by the link in the mail. The first decision counts. */
  @Shared
  public void decide(SharedWorkflowContext ctx, boolean isApproved) {
    ctx.promiseHandle(DECISION).resolve(isApproved);
  }

  private static void sendMail(WorkflowContext ctx, String name, String to, String text) {
    Outside.call(ctx, name, "mail/send", ctx.key() + "/" + name, Map.of("to", to, "text", text));
  }
}
