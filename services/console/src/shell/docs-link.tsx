/** Opens the documentation of the server's version in a tab of its own. */
import { createContext, useContext } from "react";
import { Icon } from "../kit/icon.js";

/** Address of the documentation. */
export const DocsUrlContext = createContext("");

export function DocsLink() {
  return (
    <a
      className="button button--bare button--small frame__keys"
      href={useContext(DocsUrlContext)}
      target="_blank"
      rel="noreferrer"
    >
      <Icon name="docs" /> Documentation
    </a>
  );
}
