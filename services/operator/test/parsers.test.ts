/** Texts in specs are parsed by us and by other programs; our parsers must accept what theirs do, and nothing else. */
import { expect, test } from "@jest/globals";
import { bareIdOf, objectNameOf, secondsOf } from "@perdure/custom-resources";
import { parseRecurrence } from "@perdure/recurrence";
import fc from "fast-check";
import { quantityOf } from "../src/desired/sizes.js";

const UNITS = { "": 1, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
const unit = fc.constantFrom(...(Object.keys(UNITS) as (keyof typeof UNITS)[]));
const whole = fc.integer({ min: 0, max: 100_000 });

test("a quantity is its number in its unit, whatever they are; units keep their order", () => {
  fc.assert(fc.property(whole, unit, (number, of) => expect(quantityOf(`${number}${of}`)).toBe(number * UNITS[of])));
  fc.assert(
    fc.property(whole, unit, unit, (number, one, other) => {
      if (UNITS[one] > UNITS[other])
        expect(quantityOf(`${number}${one}`)).toBeGreaterThanOrEqual(quantityOf(`${number}${other}`));
    }),
  );
});

test("what is not a quantity is refused, never read as another one", () => {
  const strange = fc
    .string()
    .filter((text) => !/^\d+(\.\d*)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$|^\.\d+(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/.test(text));
  fc.assert(fc.property(strange, (text) => expect(() => quantityOf(text)).toThrow(RangeError)));
});

test("a duration is its number in its unit, and another unit is none", () => {
  const seconds = { s: 1, m: 60, h: 3_600, d: 86_400 };
  const of = fc.constantFrom(...(Object.keys(seconds) as (keyof typeof seconds)[]));
  fc.assert(fc.property(whole, of, (number, by) => expect(secondsOf(`${number}${by}`)).toBe(number * seconds[by])));
  const none = fc.string({ minLength: 1, maxLength: 1 }).filter((text) => !/[smhd]/.test(text));
  fc.assert(fc.property(whole, none, (number, by) => expect(() => secondsOf(`${number}${by}`)).toThrow(RangeError)));
});

test("an environment's name is its id as objects and hosts may have it, and no two ids share one", () => {
  const id = fc.stringMatching(/^env_[a-z0-9]{8,40}$/);
  fc.assert(
    fc.property(id, id, (one, other) => {
      expect(objectNameOf(one)).toMatch(/^env-[a-z0-9]{8,40}$/);
      expect(objectNameOf(one).length).toBeLessThanOrEqual(63);
      expect(`env_${bareIdOf(one)}`).toBe(one);
      expect(objectNameOf(one) === objectNameOf(other)).toBe(one === other);
    }),
  );
});

test("five fields of cron within their bounds are a recurrence, and one beyond is none", () => {
  const field = (min: number, max: number) =>
    fc.oneof(
      fc.constant("*"),
      fc.integer({ min, max }).map(String),
      fc.integer({ min: 1, max: 5 }).map((step) => `*/${step}`),
    );
  const good = fc.tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6));
  fc.assert(fc.property(good, (fields) => expect(parseRecurrence(fields.join(" "))).toMatchObject({ ok: true })));
  const beyond = fc.constantFrom(["60", 0], ["24", 1], ["32", 2], ["13", 3], ["8", 4]) as fc.Arbitrary<[string, number]>;
  fc.assert(
    fc.property(good, beyond, (fields, [value, at]) => {
      const bad = fields.map((one, n) => (n === at ? value : one)).join(" ");
      expect(parseRecurrence(bad)).toMatchObject({ ok: false });
    }),
  );
});
