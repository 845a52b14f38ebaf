import { expect, test } from "@jest/globals";
import { awakeableId, parseInvocationId } from "@perdure/base";
import { awakeableIdOf, isAwakeableId } from "./awakeable-id.js";

test.each([
  ["inv_16PkDjf08BeJ39PCAj5KdoEJUas0Q7MrO9", 17],
  ["inv_18DGxZTfZG8d1JaPzWd9BWWJ6v4bqJTa5b", 18],
  ["inv_1hy8ZBjpNJA31KXXUxVXwCclnGs6C2dzsR", 4_294_967_295],
])("the id of %s, signal %d, is that of the server", (text, index) => {
  const parsed = parseInvocationId(text);
  if (!parsed.ok) throw new Error(parsed.problem);
  const id = awakeableIdOf(text, index);
  expect(id).toBe(awakeableId(parsed.value, index));
  expect(isAwakeableId(id)).toBe(true);
});

test("what is not an id is refused", () => {
  expect(() => awakeableIdOf("inv_1short", 17)).toThrow(TypeError);
  expect(isAwakeableId("inv_16PkDjf08BeJ39PCAj5KdoEJUas0Q7MrO9")).toBe(false);
  expect(isAwakeableId("sign_1../../x")).toBe(false);
});
