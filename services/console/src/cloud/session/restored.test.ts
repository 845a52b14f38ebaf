import { expect, test } from "@jest/globals";
import { onRestored } from "./restored.js";

const pageShow = (persisted: boolean): Event => Object.assign(new Event("pageshow"), { persisted });

test("a page that is shown again after Back calls back, one that is loaded does not", () => {
  const page = new EventTarget();
  let times = 0;
  const stop = onRestored(page, () => times++);
  page.dispatchEvent(pageShow(false));
  expect(times).toBe(0);
  page.dispatchEvent(pageShow(true));
  expect(times).toBe(1);
  stop();
  page.dispatchEvent(pageShow(true));
  expect(times).toBe(1);
});
