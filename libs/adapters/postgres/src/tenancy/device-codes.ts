/** Codes of devices that request a login (RFC 8628): single use, for some minutes, stored only as hashes. */
import type { UserId } from "@perdure/cloud";
import { PURGED_AT_ONCE } from "../limits.js";
import type { SqlSession } from "./session.js";

type DeviceStatus = "pending" | "approved" | "denied" | "used";

interface DeviceCodeRecord {
  readonly deviceName: string;
  readonly remoteAddress: string | undefined;
  readonly status: DeviceStatus;
  /** The user that approved or denied it. */
  readonly userId: UserId | undefined;
  /** Minimum time between two polls. */
  readonly intervalMs: number;
  readonly polledAtMs: number | undefined;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

type NewDeviceCode = Pick<DeviceCodeRecord, "deviceName" | "remoteAddress" | "intervalMs" | "createdAtMs" | "expiresAtMs"> & {
  readonly deviceHash: Uint8Array;
  readonly userCodeHash: Uint8Array;
};

const COLUMNS = `device_name AS "deviceName", remote_address AS "remoteAddress", status, user_id AS "userId",
  interval_ms AS "intervalMs", polled_at_ms AS "polledAtMs", created_at_ms AS "createdAtMs", expires_at_ms AS "expiresAtMs"`;

export class DeviceCodesTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  /** Throws `AlreadyThere` when the user code exists. Removes some that expired a day ago. */
  async insert(code: NewDeviceCode): Promise<void> {
    const { deviceHash, userCodeHash, deviceName, remoteAddress, intervalMs, createdAtMs, expiresAtMs } = code;
    const purge = `DELETE FROM perdure_device_codes WHERE device_hash = ANY (ARRAY(
      SELECT device_hash FROM perdure_device_codes WHERE expires_at_ms < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`;
    await this.#session.write(purge, [createdAtMs - DAY_MS, PURGED_AT_ONCE]);
    const text = `INSERT INTO perdure_device_codes (device_hash, user_code_hash, device_name, remote_address, status, interval_ms,
      created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7)`;
    const values = [deviceHash, userCodeHash, deviceName, remoteAddress, intervalMs, createdAtMs, expiresAtMs];
    await this.#session.write(text, values);
  }

  /** Returns a device code that no other transaction changes until this one ends. */
  lock(deviceHash: Uint8Array): Promise<DeviceCodeRecord | undefined> {
    return this.#session.row(`SELECT ${COLUMNS} FROM perdure_device_codes WHERE device_hash = $1 FOR UPDATE`, [deviceHash]);
  }

  async polled(deviceHash: Uint8Array, nowMs: number, intervalMs: number): Promise<void> {
    const text = "UPDATE perdure_device_codes SET polled_at_ms = $2, interval_ms = $3 WHERE device_hash = $1";
    await this.#session.write(text, [deviceHash, nowMs, intervalMs]);
  }

  async used(deviceHash: Uint8Array): Promise<void> {
    await this.#session.write("UPDATE perdure_device_codes SET status = 'used' WHERE device_hash = $1", [deviceHash]);
  }

  /** A pending code, and counts the read; undefined when it is no longer pending, or was read too often already. */
  readPending(userCodeHash: Uint8Array, readsMax: number, nowMs: number): Promise<DeviceCodeRecord | undefined> {
    const text = `UPDATE perdure_device_codes SET looks = looks + 1
      WHERE user_code_hash = $1 AND status = 'pending' AND expires_at_ms > $2 AND looks < $3 RETURNING ${COLUMNS}`;
    return this.#session.row(text, [userCodeHash, nowMs, readsMax]);
  }

  /** Decides one that waits, once; undefined when it does not wait any more. */
  decide(
    userCodeHash: Uint8Array,
    status: "approved" | "denied",
    userId: UserId,
    nowMs: number,
  ): Promise<DeviceCodeRecord | undefined> {
    const text = `UPDATE perdure_device_codes SET status = $2, user_id = $3
      WHERE user_code_hash = $1 AND status = 'pending' AND expires_at_ms > $4 RETURNING ${COLUMNS}`;
    return this.#session.row(text, [userCodeHash, status, userId, nowMs]);
  }
}

const DAY_MS = 86_400_000;
