/** The server is killed while the workflow waits for the approver. */
import type { Pattern } from "#kit/pattern";
import { expenseApproval } from "#patterns/approval/services";

export const approval: Pattern = {
  name: "approval",
  summary: "wait for a person, with reminders, as long as it takes",
  isInEveryLanguage: true,
  services: [expenseApproval],
  demo: async (stage) => {
    const { outside } = stage;
    const workflow = stage.ingress.workflowClient(expenseApproval, "expense-17");
    await workflow.workflowSubmit({ employee: "Ada", approver: "grace@example.com", cents: 12_900, remindAfterMs: 300 });
    await stage.until("the first reminder is sent", () => mails().length >= 2);
    stage.say(`${mails().length} mails so far: the question and a reminder`);
    await stage.crash("server");

    const before = mails().length;
    await stage.until("the next reminder is sent", () => mails().length > before);
    stage.say("reminders continue after the crash");
    await workflow.decide(true);
    const outcome = await workflow.workflowAttach();
    stage.check("the approved expense is paid", outcome === "paid");
    stage.check("it is paid once", outside.performed("payroll/pay").length === 1);

    function mails(): readonly unknown[] {
      return outside.performed("mail/send");
    }
  },
};
