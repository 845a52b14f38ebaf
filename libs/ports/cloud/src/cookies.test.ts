import { expect, test } from "@jest/globals";
import { foreignCookies } from "./cookies.js";

test.each([
  ["a=b", "a=b"],
  ["a=b;c=d; e", "a=b;c=d; e"],
  ["perdure_session=x", undefined],
  ["__Host-perdure_session=x; __Host-perdure_form=y", undefined],
  ["a=b; perdure_session=x; c=perdure_session", "a=b; c=perdure_session"],
  ["PERDURE_session=x;a=b", "a=b"],
  ["my_perdure_session=x", "my_perdure_session=x"],
])("of the cookies %j handlers get %j", (header, foreign) => {
  expect(foreignCookies(header)).toBe(foreign);
});
