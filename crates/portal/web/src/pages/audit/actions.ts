// The action codes of the audit log, with what they mean.

export const ACTIONS: { group: string; codes: Record<string, string> }[] = [
  {
    group: "Patients",
    codes: {
      PATIENT_CREATE: "Patient enrolled",
      PATIENT_UPDATE: "Record changed",
      PATIENT_DELETE: "Patient erased",
      PATIENT_ATTACH_GROUP: "Added to a study",
      PATIENT_DETACH_GROUP: "Taken out of a study",
      PATIENT_PROFILE_UPDATE: "Profile changed",
      PATIENT_ALARM_CHANGE: "Alarms changed",
      PATIENT_PORTAL_EXPORT: "Exported in the portal",
      PATIENT_API_EXPORT: "Exported through the API",
    },
  },
  {
    group: "Studies",
    codes: {
      GROUP_CREATE: "Study made",
      GROUP_UPDATE: "Study renamed",
      GROUP_DELETE: "Study deleted",
      GROUP_SETTINGS_CHANGE: "Study settings changed",
      ADD_HCP: "Person added",
      REMOVE_HCP: "Person removed",
    },
  },
  { group: "Users", codes: { USER_REGISTERED: "Registered", USER_LOGIN: "Signed in", USER_DELETE: "User erased" } },
  {
    group: "Bracelets",
    codes: {
      BRACELET_CREATE: "Bracelet registered",
      BRACELET_UPDATE: "Bracelet changed",
      BRACELET_DELETE: "Bracelet removed",
      BRACELET_ATTACH: "Bracelet put on",
      BRACELET_DETACH: "Bracelet taken off",
    },
  },
];

const WORDS = new Map(ACTIONS.flatMap(({ codes }) => Object.entries(codes)));

/** What an action code means; the code itself when it is new to this page. */
export function actionWords(code: string): string {
  return WORDS.get(code) ?? code;
}
