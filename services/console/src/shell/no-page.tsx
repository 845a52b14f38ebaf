/** Why: an address that leads nowhere should still lead somewhere. */
import { Link } from "wouter";
import { Page } from "../kit/page.js";

export function NoPage() {
  return (
    <Page title="There is no such page" lead="The address is wrong, or the page has moved.">
      <p>
        <Link href="/" className="button button--quiet">
          To the overview
        </Link>
      </p>
    </Page>
  );
}
