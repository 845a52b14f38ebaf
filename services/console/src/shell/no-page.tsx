/** The page for an unknown address, with links. */
import { Link } from "wouter";
import { Page } from "../kit/page.js";

export function NoPage() {
  return (
    <Page title="Page not found" lead="The address is wrong, or the page has moved.">
      <p>
        <Link href="/" className="button button--quiet">
          Go to overview
        </Link>
      </p>
    </Page>
  );
}
