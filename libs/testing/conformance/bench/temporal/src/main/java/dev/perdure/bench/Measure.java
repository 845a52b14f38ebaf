package dev.perdure.bench;

import io.temporal.activity.ActivityInterface;
import io.temporal.activity.ActivityOptions;
import io.temporal.client.WorkflowOptions;
import io.temporal.testing.TestWorkflowEnvironment;
import io.temporal.workflow.Workflow;
import io.temporal.workflow.WorkflowInterface;
import io.temporal.workflow.WorkflowMethod;
import java.time.Duration;

/** The workloads of `test-environments.ts` on Temporal's test environment. Prints one line of JSON. */
public final class Measure {
  @ActivityInterface
  public interface Reminder {
    void remind();
  }

  public static final class NoReminder implements Reminder {
    @Override
    public void remind() {}
  }

  @WorkflowInterface
  public interface Month {
    @WorkflowMethod
    int run(int days);
  }

  public static final class MonthWorkflow implements Month {
    private final Reminder reminder =
        Workflow.newActivityStub(
            Reminder.class,
            ActivityOptions.newBuilder().setStartToCloseTimeout(Duration.ofMinutes(1)).build());

    @Override
    public int run(int days) {
      for (int day = 0; day < days; day++) {
        reminder.remind();
        Workflow.sleep(Duration.ofDays(1));
      }
      return days;
    }
  }

  private Measure() {}

  /** One test: an environment of its own, one workflow, and the end of the environment. */
  private static void test(int days) {
    try (TestWorkflowEnvironment environment = TestWorkflowEnvironment.newInstance()) {
      var worker = environment.newWorker("tests");
      worker.registerWorkflowImplementationTypes(MonthWorkflow.class);
      worker.registerActivitiesImplementations(new NoReminder());
      environment.start();
      var options = WorkflowOptions.newBuilder().setTaskQueue("tests").build();
      int done = environment.getWorkflowClient().newWorkflowStub(Month.class, options).run(days);
      if (done != days) throw new IllegalStateException("the workflow returned " + done);
    }
  }

  /** Arguments: when the process was started (ms since epoch), number of tests. */
  public static void main(String[] arguments) {
    long startedMs = Long.parseLong(arguments[0]);
    int tests = Integer.parseInt(arguments[1]);
    test(0);
    long firstMs = System.currentTimeMillis() - startedMs;
    long began = System.nanoTime();
    for (int n = 0; n < tests; n++) test(0);
    double allMs = (System.nanoTime() - began) / 1e6;
    began = System.nanoTime();
    test(30);
    double monthMs = (System.nanoTime() - began) / 1e6;
    System.out.printf("{\"firstMs\":%d,\"allMs\":%.1f,\"monthMs\":%.1f}%n", firstMs, allMs, monthMs);
    System.exit(0);
  }
}
