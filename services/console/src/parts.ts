/** Finds the part of the console that shows an address, so that it can be loaded before the navigation. */
import type { AroundNavHandler } from "wouter";
import type { Boot } from "./boot.js";
import { environmentPart } from "./environment/pages.js";
import { type LazyPart, partOf } from "./shell/part.js";

export const CloudConsole = partOf(() => import("./cloud/cloud-console.js"));

/** Time after which a page shows that it is loading. */
const LOADING_DELAY_MS = 600;

/** Resolves when the part for the page's own address is loaded, or would take long. */
export async function firstParts(boot: Boot, base: string, pathname: string): Promise<void> {
  const part = partAt(pathname.slice(base.length));
  await patiently([part, boot.kind === "cloud" ? CloudConsole : undefined]);
}

/** The page stays until the next one is loaded. A navigation meanwhile replaces it. */
export function beforeLeaving(base: string): AroundNavHandler {
  let last = 0;
  return (navigate, to, options) => {
    const turn = ++last;
    const { pathname } = new URL(to, location.origin);
    const part = pathname === location.pathname ? undefined : partAt(pathname.slice(base.length));
    if (part === undefined || part.isHere()) return navigate(to, options);
    void patiently([part]).then(() => {
      if (turn === last) navigate(to, options);
    });
  };
}

function partAt(path: string): LazyPart | undefined {
  const below = path.replace(/^\/accounts\/[^/]+\/environments\/[^/]+/, "");
  return environmentPart(below === "" ? "/" : below);
}

async function patiently(parts: readonly (LazyPart | undefined)[]): Promise<void> {
  const missing = parts.filter((part) => part !== undefined && !part.isHere());
  if (missing.length === 0) return;
  const enough = new Promise<void>((resolve) => setTimeout(resolve, LOADING_DELAY_MS));
  await Promise.race([Promise.all(missing.map((part) => part?.preload())), enough]);
}
