/** The last page of a sign-in in a second window, beside a page that waits for it. */
import { useEffect } from "react";
import { Link } from "wouter";
import { Empty } from "../../kit/index.js";
import { notifySignedIn } from "./signed-in.js";

export default function SignedInPage() {
  useEffect(() => {
    document.title = "Signed in · Perdure";
    notifySignedIn();
  }, []);
  return (
    <main>
      <Empty title="Signed in">
        <p>Close this window: the page you came from continues.</p>
        <p>
          Or <Link href="/">continue here</Link>.
        </p>
      </Empty>
    </main>
  );
}
