/** Copies ids, URLs and commands to the clipboard. */
import { useEffect, useState } from "react";
import { Button } from "./button.js";
import { Icon } from "./icon.js";
import "./copy.css";

const SHOWN_MS = 1_500;

export function CopyButton({ text, what = "Copy" }: { readonly text: string; readonly what?: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => setCopied(await copied(text));
  return (
    <Button isSmall appearance="bare" onClick={() => void copy()} aria-label={isCopied ? "Copied" : what} title={what}>
      <Icon name={isCopied ? "copied" : "copy"} />
      <span aria-live="polite" className="visually-hidden">
        {isCopied ? "Copied" : "Copy"}
      </span>
    </Button>
  );
}

/** Whether it is in the clipboard now. On pages over plain http from another machine a selection is the only access to the clipboard. */
async function copied(text: string): Promise<boolean> {
  if (window.isSecureContext) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false, // The user denied access to the clipboard.
    );
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  return isDone;
}

/** A short text with a button that copies it. */
export function Copyable({ text, label }: { readonly text: string; readonly label?: string }) {
  return (
    <span className="copyable">
      <code>{text}</code>
      <CopyButton text={text} what={`Copy ${label ?? text}`} />
    </span>
  );
}

/** A command or a snippet. */
export function Snippet({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <figure className="snippet" aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} what={`Copy ${label}`} />
    </figure>
  );
}
