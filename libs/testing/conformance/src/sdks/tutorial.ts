/** Plays the tutorial of a language: its project is built as its pages say, and their commands are run against it. */
import { join } from "node:path";
import { Server } from "../server.js";
import { TUTORIAL_SCENARIOS, type TutorialScenario } from "../tutorials/scenarios.js";
import { build } from "./build.js";
import { SdkProgram } from "./endpoint.js";
import type { SdkLanguage } from "./language.js";
import type { SdkReport } from "./report.js";

/** All of them when a part of any title is requested: each one needs those before it. */
export function selectedTutorial(filters: readonly string[]): readonly TutorialScenario[] {
  const isSelected = TUTORIAL_SCENARIOS.some(({ title }) => filters.every((filter) => title.includes(filter)));
  return isSelected ? TUTORIAL_SCENARIOS : [];
}

export async function playTutorial(
  { name, tutorial }: SdkLanguage,
  scenarios: readonly TutorialScenario[],
  report: SdkReport,
): Promise<void> {
  if (tutorial === undefined || scenarios.length === 0) return;
  let startedAt = performance.now();
  let title = `${name}: the tutorial is built and starts`;
  try {
    const { output } = await build({ ...tutorial, name: `tutorial-${name}` });
    await using server = await Server.start();
    const effectsFile = join(server.baseDir, "effects.log");
    await using endpoint = await SdkProgram.start(tutorial.start(output), { EFFECTS_FILE: effectsFile });
    const stage = {
      ports: { "8080": new URL(server.ingressUrl).port, "9070": new URL(server.adminUrl).port, "9080": String(endpoint.port) },
      effectsFile,
      crashService: () => endpoint.crashAndComeBack(),
      crashServer: async () => {
        await server.kill();
        await server.startAgain();
      },
    };
    report.heading(`  ${name}: tutorial`);
    for (const scenario of scenarios) {
      title = scenario.title;
      startedAt = performance.now();
      await scenario.play(stage);
      report.add(title, { kind: "passed", ms: performance.now() - startedAt });
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    report.add(title, { kind: "failed", ms: performance.now() - startedAt, reason });
  }
}
