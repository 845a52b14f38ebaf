/** Messages about completed actions, over the page. Read out by screen readers. */
import { Toast } from "@base-ui/react/toast";
import { type ReactNode, useEffect } from "react";
import { Icon } from "./icon.js";
import { messageOf } from "./problem.js";
import "./toast.css";

const OFFER = "offer";
/** Offers that stay side by side, each for its own change: more would cover the page. An older one is closed. */
const OFFERS_MAX = 3;
/** Other messages, which disappear by themselves. Beyond both bounds, the oldest messages cannot be pressed. */
const OTHERS_MAX = 4;

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider limit={OFFERS_MAX + OTHERS_MAX} timeout={6_000}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <Toasts />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function Toasts() {
  const { toasts, close } = Toast.useToastManager();
  // The newest is first.
  const surplus = toasts.filter(({ type, transitionStatus }) => type === OFFER && transitionStatus !== "ending")[OFFERS_MAX]?.id;
  useEffect(() => {
    if (surplus !== undefined) close(surplus);
  }, [surplus, close]);
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={`toast toast--${toast.type ?? "done"}`} swipeDirection={[]}>
      <div>
        {/* No heading: it is not part of the page, and appears and disappears. */}
        <Toast.Title className="toast__title" render={<p />} />
        <Toast.Description className="small" render={<div />} />
      </div>
      <Toast.Close className="button button--bare button--small" aria-label="Dismiss">
        <Icon name="clear" />
      </Toast.Close>
    </Toast.Root>
  ));
}

interface Toaster {
  done(title: string, more?: string): void;
  /** Shows an error of any kind. */
  failed(title: string, cause: unknown): void;
  /** Stays until it is closed or dismissed, or `OFFERS_MAX` newer ones are there. */
  offer(title: string, content: (close: () => void) => ReactNode): void;
}

export function useToast(): Toaster {
  const { add, close } = Toast.useToastManager();
  return {
    done: (title, description) => void add({ title, description, type: "done" }),
    failed: (title, cause) => void add({ title, description: messageOf(cause), type: "failed", timeout: 15_000 }),
    offer: (title, content) => {
      const id: string = add({ title, description: content(() => close(id)), type: OFFER, timeout: 0 });
    },
  };
}
