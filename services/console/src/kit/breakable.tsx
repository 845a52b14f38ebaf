/** Names, keys and addresses are longer than their columns: they break where their parts end, and never in a word. */
import { Fragment } from "react";
import { partsOf } from "./id-text.js";

/** `Orders/my-key/place`, with a place to break the line after each `/ . _ : @ -`. */
export function Breakable({ text }: { readonly text: string }) {
  return partsOf(text).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
