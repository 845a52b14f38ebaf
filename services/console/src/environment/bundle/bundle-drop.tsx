/** Opens a bundle that is dropped on any page of the console. Other files have no effect. */
import { useEffect } from "react";
import { useLocation } from "wouter";
import { isBundleName, putDropped } from "./dropped.js";

export function BundleDrop() {
  const [, navigate] = useLocation();
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes("Files") === true) event.preventDefault(); // Else the browser refuses the drop.
    };
    const drop = (event: DragEvent): void => {
      const file = event.dataTransfer?.files[0];
      if (file === undefined) return;
      event.preventDefault(); // Else the browser leaves the console and shows the file.
      if (!isBundleName(file.name)) return;
      putDropped(file);
      navigate("/bundle");
    };
    window.addEventListener("dragover", over);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragover", over);
      window.removeEventListener("drop", drop);
    };
  }, [navigate]);
  return null;
}
