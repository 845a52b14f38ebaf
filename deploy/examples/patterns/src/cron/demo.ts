/** The server is killed between two times of a schedule. */
import type { Pattern } from "#kit/pattern";
import { dailyReport } from "#patterns/cron/services";

export const cron: Pattern = {
  name: "cron",
  summary: "a handler at the times of a schedule, once per time",
  services: [dailyReport],
  demo: async (stage) => {
    const { outside } = stage;
    await stage.admin("POST", "/schedules", {
      name: "every-second",
      cron: "every 1s",
      target: { service: "DailyReport", handler: "send" },
      payload: { to: "ada@example.com" },
      max_firings: 3,
    });
    stage.say("a schedule with three times, a second apart");
    await stage.until("the first report is sent", () => sent().length >= 1);
    await stage.crash("server");
    await stage.until("the third report is sent", () => sent().length >= 3);
    const times = sent().map((report) => JSON.stringify(report));
    stage.check("three reports were sent", times.length === 3);
    stage.check("each for a time of its own", new Set(times).size === 3);

    function sent(): readonly unknown[] {
      return outside.performed("reports/send");
    }
  },
};
