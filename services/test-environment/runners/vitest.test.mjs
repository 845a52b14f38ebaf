import { expect, test } from "vitest";
import { suite } from "./environment.mjs";

suite(test, (actual, expected) => expect(actual).toBe(expected));
