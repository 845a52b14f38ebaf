import { expect, test } from "bun:test";
import { suite } from "./environment.mjs";

suite(test, (actual, expected) => expect(actual).toBe(expected));
