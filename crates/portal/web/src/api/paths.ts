// The addresses of the API, so that a page and its copy-as-curl button cannot name different ones.

const part = encodeURIComponent;

/** Below this the public integration API answers. */
export const API = "/integration/v1";
/** Below this the portal's own routes answer. */
export const PORTAL = "/portal/api";

/** The same address, asked for by the clock: it does not keep the session from being locked. */
export const peeking = (path: string) => `${path}${path.includes("?") ? "&" : "?"}peek=1`;

export const groups = () => `${API}/groups`;
export const group = (code: string) => `${API}/groups/${part(code)}`;
export const groupSettings = (code: string) => `${group(code)}/settings`;
export const hcps = (code: string) => `${group(code)}/hcps`;
export const hcp = (code: string, uuid: string) => `${hcps(code)}/${part(uuid)}`;
export const patients = (code: string) => `${group(code)}/patients`;
/** The patients of a study with what the list of vouchers shows. */
export function vouchers(code: string): string {
  const fields = ["code", "state", "external_patient_id", "voucher_created_at", "voucher_expires_at"];
  return `${patients(code)}?${new URLSearchParams(fields.map((field) => ["fields[]", field]))}`;
}
export const patientOfGroup = (code: string, uuid: string) => `${patients(code)}/${part(uuid)}`;

export const patient = (uuid: string) => `${API}/patients/${part(uuid)}`;
export const unusedVoucher = (uuid: string) => `${patient(uuid)}?state=pre_created`;
export const profile = (uuid: string) => `${patient(uuid)}/profile`;
export const alarms = (uuid: string) => `${patient(uuid)}/alarms`;
export const newsSettings = (uuid: string) => `${patient(uuid)}/news-settings`;
export const latestNews = (uuid: string) => `${patient(uuid)}/latest-news-score`;
export const resetPassword = (uuid: string) => `${patient(uuid)}/reset-password`;
export const bracelets = () => `${API}/bracelets`;
export const bracelet = (serial: string) => `${bracelets()}/${part(serial)}`;
export const braceletOfPatient = (uuid: string, serial: string) => `${patient(uuid)}/bracelets/${part(serial)}`;
export const summary = (uuid: string, date: string) => `${patient(uuid)}/summary/${part(date)}?include_slots=1`;

/** Several at once, as curl takes them: `{a,b}` represents one address each. */
export const anyOf = (parts: string[]) => (parts.length === 1 ? part(parts[0]!) : `{${parts.map(part).join(",")}}`);
export const summaries = (uuid: string, dates: string[]) => `${patient(uuid)}/summary/${anyOf(dates)}?include_slots=1`;
export const dayCompliance = (uuids: string[], dates: string[]) =>
  `${API}/patients/${anyOf(uuids)}/compliance/${anyOf(dates)}`;

export const createExport = (uuid: string) => `${API}/create-export/${part(uuid)}`;
export const exports = (code: string) => `${API}/exports?group=${part(code)}`;
export const exportStatus = (id: string) => `${API}/export/${part(id)}`;
export const afRecords = (uuid: string) => `${API}/create-afib-export/${part(uuid)}`;

export function auditLog(from: number, to: number, action = ""): string {
  const query = new URLSearchParams({ from: String(from), to: String(to) });
  if (action !== "") query.set("action_type", action);
  return `${API}/patients/audit/logs?${query}`;
}

export const session = () => "/portal/session";
/** Answers nothing where there is no session: a browser reports a 401 as an error of the page. */
export const sessionIfAny = () => `${session()}?optional=1`;
export const account = () => `${PORTAL}/account`;
export const password = () => `${PORTAL}/account/password`;
export const keys = () => `${PORTAL}/keys`;
export const key = (id: string) => `${keys()}/${part(id)}`;
export const clients = () => `${PORTAL}/clients`;
export const client = (id: string) => `${clients()}/${part(id)}`;
export const sessions = () => `${PORTAL}/sessions`;
export const sessionById = (id: string) => `${sessions()}/${part(id)}`;
export const totp = () => `${PORTAL}/totp`;
export const recoveryCodes = () => `${totp()}/recovery-codes`;
