/** Opens the page of a login in a browser, where there is one. */
import { spawn } from "node:child_process";
import type { Variables } from "./variables.js";

/**
 * Opens the page when there is a desktop; returns whether it tried. A failure of the browser is ignored, because the link is shown as well.
 */
export function openBrowser(url: string, variables: Variables): boolean {
  const program = programFor(variables);
  if (program === undefined) return false;
  const [name, ...args] = program;
  const child = spawn(name, [...args, url], { stdio: "ignore", detached: true });
  child.once("error", () => undefined); // The terminal shows the link already.
  child.unref();
  return true;
}

function programFor(variables: Variables): readonly [string, ...string[]] | undefined {
  const given = variables.ofShell("BROWSER")?.value;
  if (given !== undefined) return given === "none" ? undefined : [given];
  if (variables.ofShell("SSH_CONNECTION", "CI") !== undefined) return undefined;
  if (process.platform === "darwin") return ["open"];
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return variables.ofShell("DISPLAY", "WAYLAND_DISPLAY") === undefined ? undefined : ["xdg-open"];
}
