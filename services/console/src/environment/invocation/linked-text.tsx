/** Why: sentences of the server name invocations; whoever reads them wants to go there. */
import { Fragment } from "react";
import { Link } from "wouter";

const ID = /(inv_[0-9A-Za-z]{10,})/;

export function LinkedText({ text, except }: { readonly text: string; readonly except: string }) {
  return text.split(ID).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
    <Fragment key={index}>
      {index % 2 === 1 && part !== except ? <Link href={`/invocations/${part}`}>{part}</Link> : part}
    </Fragment>
  ));
}
