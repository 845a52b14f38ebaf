/** All shortcuts: those of the page, those of every page, and the letters of pages. */
import { useSyncExternalStore } from "react";
import type { NavGroup } from "./frame.js";
import { pageKeys, subscribeToPageKeys } from "./page-keys.js";
import "./keyboard.css";

const GENERAL = [
  ["Go to a page, or to an invocation by its id", ["Ctrl", "K"]],
  ["These keys", ["?"]],
  ["Close dialog or menu", ["Esc"]],
  ["Run or send, in an editor", ["Ctrl", "Enter"]],
] as const;

export default function ShortcutList({ groups }: { readonly groups: readonly NavGroup[] }) {
  const links = groups.flatMap((group) => group.links);
  const ofPage = useSyncExternalStore(subscribeToPageKeys, pageKeys);
  return (
    <div className="keys">
      {ofPage.length > 0 && (
        <dl className="keys__list" aria-label="On this page">
          {ofPage.map(([what, keys]) => (
            <Entry key={what} what={what} keys={keys} />
          ))}
        </dl>
      )}
      <dl className="keys__list">
        {GENERAL.map(([what, keys]) => (
          <Entry key={what} what={what} keys={keys} />
        ))}
      </dl>
      <dl className="keys__list">
        {links.map(({ href, label, letter }) =>
          letter === undefined ? null : <Entry key={href} what={label} keys={["g", letter]} />,
        )}
      </dl>
    </div>
  );
}

function Entry({ what, keys }: { readonly what: string; readonly keys: readonly string[] }) {
  return (
    <div className="keys__entry">
      <dt>{what}</dt>
      <dd className="nowrap">
        {keys.map((key) => (
          <kbd key={key} className="key">
            {key}
          </kbd>
        ))}
      </dd>
    </div>
  );
}
