/** The element that holds the page. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { basePath, readBoot } from "./boot.js";
import { firstParts } from "./parts.js";
import { isMissingPart } from "./shell/catcher.js";
import { applyStoredDensity } from "./shell/density.js";
import { applyStoredTheme } from "./shell/theme.js";
import "./kit/tokens.css";
import "./kit/base.css";

applyStoredTheme();
applyStoredDensity();
const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root element");
const boot = readBoot(document);
const base = basePath(document);
const page = createRoot(root, {
  // The error boundary shows it; a part that did not load is not a bug.
  onCaughtError: (cause) => {
    if (!isMissingPart(cause)) console.error(cause);
  },
});
await firstParts(boot, base, location.pathname);
page.render(
  <StrictMode>
    <App boot={boot} base={base} nonce={nonceOf(document)} />
  </StrictMode>,
);

/** Nonce for libraries that write style elements. */
function nonceOf(document: Document): string {
  return document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
}
