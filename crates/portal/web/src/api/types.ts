// The shapes of the API's answers that the pages read, with the names of the specification. Times named `timestamp` are
// Unix epoch milliseconds; those that end in `_at` are ISO 8601 in UTC.

export type Role = "researcher" | "hcp" | "admin";

export interface Account {
  uuid: string;
  email: string;
  role: Role;
  first_name?: string | null;
  last_name?: string | null;
  has_subscription: boolean;
  subscription_until?: string | null;
}

export interface Session {
  csrf_token: string;
  account: Account;
  /** Seconds without activity after which the session locks; null for a wall display. */
  idle_s: number | null;
  ends_at: string;
  must_change_password: boolean;
  /** Whether the account has a second factor. */
  totp: boolean;
  /** View only, and exempt from the idle lock. */
  wall_display: boolean;
}

/** A study; `Group` in the API. */
export interface Group {
  name: string;
  description: string;
  code: string;
  hcpCode: string;
  id: string;
  timestamp: number;
}

export interface GroupSettings {
  activity_goal_steps: number;
  max_heart_rate_rule: "fox" | "tanaka";
  /** Days by data type; a type that is not named is kept for good. */
  retention: Record<string, number>;
}

export interface Hcp {
  uuid: string;
  email: string;
  role: Role;
}

export interface Device {
  device_type?: string | null;
  serial_number: string;
  firmware_version?: string | null;
  battery_level?: number | null;
  updated_at: string;
}

export interface LatestValues {
  heart_rate?: number;
  heart_rate_timestamp?: number;
  respiration_rate?: number;
  respiration_rate_timestamp?: number;
  spo2?: number;
  spo2_timestamp?: number;
  temperature?: number;
  temperature_timestamp?: number;
  nibp_systolic?: number;
  nibp_systolic_timestamp?: number;
  nibp_diastolic?: number;
  nibp_diastolic_timestamp?: number;
  news_score?: number;
  news_score_timestamp?: number;
}

export interface Patient {
  uuid: string;
  /** Voucher code, while `pre_created`. */
  code?: string;
  first_name?: string;
  last_name?: string;
  email?: string;
  birthday?: string;
  gender?: string;
  country?: string;
  height?: number;
  weight?: number;
  skin_color?: number;
  hair_density?: number;
  customer_tag?: string;
  external_patient_id?: string;
  state?: "pre_created" | "confirmed";
  /** Of a voucher that is not used yet, when asked for. */
  voucher_created_at?: string;
  voucher_expires_at?: string;
  device?: Device | null;
  latest_values?: LatestValues | null;
}

export interface Voucher {
  uuid: string;
  code: string;
  state: string;
  _id: string;
}

/** A bracelet of the inventory, or one that syncs have named. */
export interface Bracelet {
  /** Of one whose record one may change. */
  id?: string;
  serial_number: string;
  registered: boolean;
  device_type?: string;
  firmware_version?: string | null;
  created_at?: string;
  /** Who wears it. */
  patient_uuid?: string | null;
  /** Whose sync last named it. */
  seen_on?: string;
  updated_at?: string;
  battery_level?: number;
}

export interface Alarm {
  vital: string;
  below?: number | null;
  above?: number | null;
  for_s: number;
}

export interface NewsSettings {
  oxygen: boolean;
  spo2_scale: 1 | 2;
  consciousness: "A" | "C" | "V" | "P" | "U";
  /** Which of these nobody has set. */
  assumed: string[];
}

export interface Export {
  id: string;
  status: "in_progress" | "done" | "failed";
  downloadUrl?: string;
  error?: string;
}

/** An export in the list of one's own. */
export interface ListedExport {
  id: string;
  status: "in_progress" | "done" | "failed";
  patient: string;
  created_at: string;
  types: string[];
  client_date_from: string;
  client_date_to: string;
  format: "csv" | "parquet";
  bytes?: number;
  error?: string;
}

export interface AuditEntry {
  id: string;
  timestamp: number;
  action_type: string;
  user_id: string;
  user_role: string;
  primary_entity_id: string;
  primary_entity_type: string;
  secondary_entity_id?: string | null;
  secondary_entity_type?: string | null;
  details?: Record<string, unknown> | null;
}

/** What is left of an erased patient. */
export interface Receipt {
  uuid: string;
  erased_at: string;
  counts: Record<string, number>;
}

export interface ApiKey {
  id: string;
  /** Keys of the command line can be without. */
  name: string | null;
  prefix: string;
  /** Whether it acts on the studies in `groups` only. */
  is_scoped: boolean;
  /** Codes of the studies that it is confined to; empty for all of the account's where it is not scoped. */
  groups?: string[] | null;
  expires_at?: string | null;
  last_used_at?: string | null;
  created_at: string;
  revoked_at?: string | null;
  /** The key itself, only in the answer that creates it. */
  key?: string;
}

export interface OAuthClient {
  client_id: string;
  name: string;
  redirect_uris: string[];
  privacy_policy_url: string;
  /** Whether it cannot keep a secret. */
  public: boolean;
  created_at: string;
  removed_at?: string | null;
  /** Only in the answer that creates it. */
  client_secret?: string | null;
}

export interface PortalSession {
  id: string;
  created_at: string;
  last_seen_at: string;
  address: string;
  user_agent: string;
  current: boolean;
  wall_display: boolean;
}

/** Shown once: each signs in once in the place of a code of the app. */
export interface RecoveryCodes {
  recovery_codes: string[];
}
