import { DEFAULT_API } from "../../cloud/session.js";

/** What a user can do after a login that did not succeed. `problem`: from the client; `apiOrigin`: where the login was tried. */
export function adviceOn(problem: string, apiOrigin: string): string {
  if (problem === "unreachable" || problem === "unexpected") {
    if (apiOrigin === DEFAULT_API) return "There is no public cloud yet. Set PERDURE_API_URL to the address of yours.";
    return "Is the address right? PERDURE_API_URL names another cloud.";
  }
  return "Try again: perdure login";
}
