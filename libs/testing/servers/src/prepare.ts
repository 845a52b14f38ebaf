/**
 * Compiles programs that tests need on this machine, once, which takes minutes; it prints progress, and no test has to wait for it. Run
 * before a tier that needs them; on a machine that has them it ends at once.
 */
import { chromiumProgram } from "./chromium.js";
import { helmProgram } from "./helm.js";
import { imageTools } from "./image-tools.js";
import { KUBERNETES_VERSION, kubernetesPrograms } from "./kube-programs.js";
import { kubectlProgram } from "./kubectl.js";
import { PROGRESS_EVERY_MS } from "./limits.js";

/** Tiers to prepare, see `libs/testing/testkit/src/tiers.ts`; all of them when none is named. */
const tiers: ReadonlySet<string> = new Set(process.argv.slice(2));
const isRequested = (...names: readonly string[]): boolean => tiers.size === 0 || names.some((name) => tiers.has(name));

if (isRequested("k8s")) {
  await prepared(`the Kubernetes ${KUBERNETES_VERSION} control plane`, kubernetesPrograms);
  await prepared("kubectl", kubectlProgram);
  await prepared("helm", helmProgram);
}
if (isRequested("browser")) await prepared("Chromium", chromiumProgram);
if (isRequested("k8s", "images")) await prepared("readers of Dockerfiles and Compose files", imageTools);

async function prepared(
  what: string,
  prepare: (onPackage: (name: string, compiled: number) => void) => Promise<unknown>,
): Promise<void> {
  const sinceMs = performance.now();
  const seconds = (): number => Math.round((performance.now() - sinceMs) / 1000);
  let printedMs: number | undefined;
  await prepare((name, compiled) => {
    if (printedMs === undefined) {
      console.log(`Compiling ${what} for the tests, once on this machine; this takes minutes …`);
    } else if (performance.now() - printedMs < PROGRESS_EVERY_MS) return;
    printedMs = performance.now();
    console.log(`  ${String(seconds()).padStart(4)} s  ${compiled} packages, now ${name}`);
  });
  if (printedMs !== undefined) console.log(`Compiled ${what} in ${seconds()} s.`);
}
