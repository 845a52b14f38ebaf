import { expect, test } from "@jest/globals";
import { promiseLine, promisesStatement } from "./promises.js";

test("the user's text stays inside its literal", () => {
  expect(promisesStatement({ service: "Sign'up", part: "a", state: "pending" })).toContain(
    "WHERE service_name = 'Sign''up' AND contains(service_key, 'a') AND completed = false ORDER BY",
  );
  expect(promisesStatement({ service: "", part: "", state: "" })).toContain("FROM sys_promise ORDER BY");
});

test("a promise is pending, resolved or rejected", () => {
  const row = { service_name: "Signup", service_key: "ada", key: "confirmed" };
  expect(promiseLine({ ...row, completed: false })).toMatchObject({ state: "pending", outcome: undefined });
  expect(promiseLine({ ...row, completed: true, completion_success_value_utf8: '"x"' })).toMatchObject({
    state: "resolved",
    outcome: '"x"',
  });
  expect(promiseLine({ ...row, completed: true, completion_failure: "no" })).toMatchObject({ state: "rejected", outcome: "no" });
});
