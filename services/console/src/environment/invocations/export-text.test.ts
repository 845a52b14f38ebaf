import { expect, test } from "@jest/globals";
import { headOf, lineOfRow } from "./export-text.js";

const COLUMNS = ["id", "target_service_key", "retry_count", "last_failure"];

test("CSV quotes what must be quoted, and makes no formulas", () => {
  expect(headOf("csv", COLUMNS)).toBe("id,target_service_key,retry_count,last_failure\r\n");
  const row = { id: "inv_1", target_service_key: '=HYPERLINK("x")', retry_count: -3, last_failure: "a\nb, c" };
  expect(lineOfRow("csv", COLUMNS, row)).toBe('inv_1,"\'=HYPERLINK(""x"")",-3,"a\nb, c"\r\n');
  expect(lineOfRow("csv", COLUMNS, { id: "inv_1" })).toBe("inv_1,,,\r\n");
  expect(lineOfRow("csv", ["a"], { a: [1, 2] })).toBe('"[1,2]"\r\n');
});

test("JSON has one row a line, whatever it contains", () => {
  expect(headOf("jsonl", COLUMNS)).toBe("");
  expect(lineOfRow("jsonl", COLUMNS, { id: "a\nb", retry_count: 1 })).toBe('{"id":"a\\nb","retry_count":1}\n');
});
