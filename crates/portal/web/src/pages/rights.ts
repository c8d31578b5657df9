// What a role may do as a member of a study, so that the pages do not offer what the server will refuse. The server
// decides; this only spares people the way.

import type { Role } from "../api/types";

/** Studies, members, enrolment, profiles, exports, erasure. */
export const mayManage = (role: Role) => role !== "hcp";

/** OAuth clients. */
export const mayRunService = (role: Role) => role === "admin";
