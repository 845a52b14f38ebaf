/**
 * Owners of services at the usual ports. A service that another project left running must not become part of this one without a prompt; a
 * service of this project that ignores `--port` is reported.
 */
import { holderOf, type PortHolder } from "@perdure/process-kit/port-holder";
import type { Context } from "../../context.js";
import { findEndpoints, type ProbedUrl } from "./endpoint.js";
import { isForeign } from "./project-owner.js";
import type { DevReport } from "./report.js";

/** Ports among `ports` whose services must not be registered; reports each with the way to use it anyway. */
export async function foreignPorts(
  context: Context,
  report: DevReport,
  folder: string,
  ports: readonly number[],
): Promise<readonly number[]> {
  const foreign: number[] = [];
  for (const { url, probed } of await findEndpoints(ports)) {
    const port = Number(new URL(url).port);
    const holder = holderOf(port);
    if (!isForeign(holder, folder)) continue;
    const what = `${servicesOf(probed)} at ${url} belongs to ${ownerText(holder)}`;
    if (
      context.prompts.isInteractive &&
      !context.yes &&
      (await context.prompts.confirm(`${what}. Use it here?`, `--port ${port}`))
    ) {
      continue;
    }
    foreign.push(port);
    report.say("foreign", `${what}: not used. To use it: perdure dev --port ${port}`, { url, pid: holder?.pid });
  }
  return foreign;
}

/** Reports a service of this folder that listens at one of `ports` instead of at `port`; resolves with whether there is one. */
export async function reportElsewhere(
  report: DevReport,
  folder: string,
  port: number,
  ports: readonly number[],
): Promise<boolean> {
  for (const { url } of await findEndpoints(ports.filter((other) => other !== port))) {
    const at = Number(new URL(url).port);
    const holder = holderOf(at);
    if (holder === undefined || isForeign(holder, folder)) continue;
    report.bad(
      "elsewhere",
      `Your service listens at ${url}, not at port ${port} (--port)`,
      `Its code does not use the variable PORT, which --port sets. Use it there, or run: perdure dev --port ${at}`,
      { url, port },
    );
    return true;
  }
  return false;
}

function servicesOf(probed: ProbedUrl["probed"]): string {
  return probed.kind === "found" && probed.services.length > 0 ? probed.services.join(", ") : "A service";
}

function ownerText(holder: PortHolder | undefined): string {
  if (holder === undefined) return "another program";
  const where = holder.folder === undefined ? "" : ` in ${holder.folder}`;
  return `process ${holder.pid}${where} (${holder.command})`;
}
