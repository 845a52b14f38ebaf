/** Messages about completed actions, over the page. Read out by screen readers. */
import { Toast } from "@base-ui/react/toast";
import type { ReactNode } from "react";
import { Icon } from "./icon.js";
import { messageOf } from "./problem.js";
import "./toast.css";

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider limit={4} timeout={6_000}>
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
  const { toasts } = Toast.useToastManager();
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
  /** Stays until it is closed, dismissed or replaced by the next one. */
  offer(title: string, content: (close: () => void) => ReactNode): void;
}

/** One at a time: several would cover the page. */
const OFFER = "offer";

export function useToast(): Toaster {
  const { add, close } = Toast.useToastManager();
  return {
    done: (title, description) => void add({ title, description, type: "done" }),
    failed: (title, cause) => void add({ title, description: messageOf(cause), type: "failed", timeout: 15_000 }),
    offer: (title, content) => void add({ id: OFFER, title, description: content(() => close(OFFER)), type: "done", timeout: 0 }),
  };
}
