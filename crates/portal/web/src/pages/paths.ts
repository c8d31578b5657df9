// The addresses of the portal's own pages.

const part = encodeURIComponent;

export const studies = () => "/";
export const board = (code: string) => `/studies/${part(code)}`;
export const patients = (code: string) => `${board(code)}/patients`;
export const patient = (code: string, uuid: string) => `${patients(code)}/${part(uuid)}`;
export const record = (code: string, uuid: string) => `${patient(code, uuid)}/record`;
export const vouchers = (code: string) => `${board(code)}/vouchers`;
export const compliance = (code: string) => `${board(code)}/compliance`;
export const exports = (code: string) => `${board(code)}/exports`;
export const studySettings = (code: string) => `${board(code)}/settings`;
export const bracelets = () => "/bracelets";
export const audit = () => "/audit";
export const settings = () => "/settings";
