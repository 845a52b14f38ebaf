/** What every pattern consists of: services to copy, and a demo that shows a crash. */
import type { serve } from "@restatedev/restate-sdk";
import type { Stage } from "#kit/stage";

type BindableService = NonNullable<Parameters<typeof serve>[0]["services"]>[number];

export interface Pattern {
  /** Name of the folder, and of `make example NAME=…`. */
  readonly name: string;
  /** One line: the problem that the pattern solves. */
  readonly summary: string;
  /** A program that the demo needs beside Perdure; `stage.kafkaBrokers` is set then. */
  readonly needs?: "kafka";
  /** The folders python, go and java have its services too. */
  readonly isInEveryLanguage?: true;
  readonly services: readonly BindableService[];
  /** Runs the scenario. Reports what it expects with `stage.check`; rejects when the scenario could not be run. */
  readonly demo: (stage: Stage) => Promise<void>;
}
