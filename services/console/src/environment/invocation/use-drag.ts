/** Draws a range with a mouse. */
import { type PointerEvent, useRef, useState } from "react";

export interface DrawnBox {
  readonly left: number;
  readonly width: number;
}

/**
 * A mouse draws a range over the lanes; fingers scroll. `onRange` gets both ends as parts of the scale, and returns whether the range was
 * accepted.
 */
export function useDrag(scale: { readonly current: HTMLElement | null }, onRange: (from: number, to: number) => boolean) {
  const [range, setRange] = useState<DrawnBox>();
  const start = useRef<number>(undefined);
  const justDrawn = useRef(false);
  const partOf = (event: PointerEvent): number | undefined => {
    const box = scale.current?.getBoundingClientRect();
    return box === undefined || box.width === 0 ? undefined : (event.clientX - box.left) / box.width;
  };
  return {
    range,
    hasJustDrawn: () => justDrawn.current,
    handlers: {
      onPointerDown: (event: PointerEvent) => {
        justDrawn.current = false;
        const at = partOf(event);
        if (event.pointerType === "touch" || event.button !== 0 || at === undefined || at < 0 || at > 1) return;
        start.current = at;
      },
      onPointerMove: (event: PointerEvent<HTMLElement>) => {
        const at = partOf(event);
        if (start.current === undefined || at === undefined) return;
        if (Math.abs(at - start.current) > 0.005) event.currentTarget.setPointerCapture(event.pointerId);
        const from = withinScale(Math.min(start.current, at));
        setRange({ left: from, width: withinScale(Math.max(start.current, at)) - from });
      },
      onPointerUp: (event: PointerEvent) => {
        const at = partOf(event);
        if (start.current !== undefined && at !== undefined) justDrawn.current = onRange(start.current, at);
        start.current = undefined;
        setRange(undefined);
      },
      onPointerCancel: () => {
        start.current = undefined;
        setRange(undefined);
      },
    },
  };
}

const withinScale = (part: number): number => Math.min(1, Math.max(0, part));
