import { expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { VERSION } from "@perdure/telemetry/version";
import { explain } from "./explain.js";

test("a failed start is explained: the code, what happened, what to do, where to read on", () => {
  expect(explain(new PerdureError("RT0004", "cannot listen on *:8080: address already in use"), "perdure server", {})).toBe(
    [
      "RT0004: address cannot be bound",
      "",
      "  cannot listen on *:8080: address already in use",
      "",
      "What to do: Stop the program that uses the address, or set another port. Ports below 1024 may need more rights.",
      `More: perdure errors RT0004, or https://perdure.dev/docs/v${VERSION}/errors/RT0004`,
    ].join("\n"),
  );
});

test("several lines stay a block of their own", () => {
  expect(explain(new PerdureError("RT0002", "2 settings are wrong:\n  - a\n  - b"), "perdure server", {})).toContain(
    "\n  2 settings are wrong:\n    - a\n    - b\n",
  );
});

test("without advice there is still the page to read", () => {
  const text = explain(new PerdureError("RT0012", "odd"), "perdure server", { PERDURE_DOCS_URL: "https://docs.acme.example" });
  expect(text).not.toContain("What to do");
  expect(text).toMatch(/^RT0012: .+\n\n {2}odd\nMore: perdure errors RT0012, or https:\/\/docs\.acme\.example\/errors\/RT0012$/);
});

test("a program's own advice replaces the general advice", () => {
  const error = new PerdureError("RT0004", "taken");
  expect(explain(error, "perdure server", {}, { RT0004: "Choose --ingress.bind-port." })).toContain(
    "What to do: Choose --ingress.bind-port.",
  );
});
