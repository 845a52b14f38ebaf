import { strictEqual } from "node:assert";
import { test } from "node:test";
import { suite } from "./environment.mjs";

suite(test, strictEqual);
