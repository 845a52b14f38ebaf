import fc from "fast-check";

/**
 * Text of any code points except surrogates. Not fast-check's unit `binary`, because it first builds a table of all 1.1 million of them,
 * which takes half a second of processor time in every suite.
 */
export function anyText(length: { readonly minLength?: number; readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  const codePoint = fc.oneof(
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 0x7f }) },
    { weight: 2, arbitrary: fc.integer({ min: 0x80, max: 0xd7ff }) },
    { weight: 1, arbitrary: fc.integer({ min: 0xe000, max: 0xffff }) },
    { weight: 2, arbitrary: fc.integer({ min: 0x1_0000, max: 0x10_ffff }) },
  );
  return fc.string({ ...length, unit: codePoint.map((code) => String.fromCodePoint(code)) });
}
