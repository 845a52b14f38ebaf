/** Which thread writes a row of the database: that of its partition, and the main thread the rows that belong to none. */
import { partitionOfRow } from "@perdure/storage";

export function isRowOfThread(thread: number, threads: number): (key: string) => boolean {
  return (key) => (partitionOfRow(key) ?? 0) % threads === thread;
}
