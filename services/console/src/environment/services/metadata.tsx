/** Names and values that tenants wrote: texts, and links only where they lead to web pages. */
import { Facts } from "../../kit/index.js";
import { webAddress } from "./service-text.js";

export function Metadata({ metadata }: { readonly metadata: Readonly<Record<string, string>> }) {
  return (
    <Facts
      facts={Object.entries(metadata).map(([name, value]) => {
        const address = webAddress(value);
        if (address === undefined) return [name, value] as const;
        return [
          name,
          <a key={name} href={address} target="_blank" rel="noreferrer noopener">
            {value}
          </a>,
        ] as const;
      })}
    />
  );
}
