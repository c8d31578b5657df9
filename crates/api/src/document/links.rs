//! Links: what can be asked next with what an answer names.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

/// Place at which an answer names something: the operation, the status, a parameter and its place in the body.
struct Named {
    by: &'static str,
    status: &'static str,
    parameter: &'static str,
    pointer: &'static str,
    /// Operations that take the parameter.
    used_by: &'static [&'static str],
}

const GROUP_READS: &[&str] = &[
    "integration_get_groups_group_code_patients",
    "integration_get_groups_group_code_settings",
    "integration_get_groups_group_code_hcps",
    "integration_get_groups_group_code_lake",
    "integration_patch_groups_group_code",
    "integration_post_groups_group_code_patients",
];
const PATIENT_READS: &[&str] = &[
    "integration_get_patients_uuid_news_settings",
    "integration_get_patients_uuid_alarms",
    "integration_get_patients_uuid_health_token",
    "integration_patch_patients_uuid",
    "integration_put_patients_uuid_profile",
];

const NAMED: &[Named] = &[
    Named {
        by: "integration_post_groups",
        status: "200",
        parameter: "group_code",
        pointer: "/code",
        used_by: GROUP_READS,
    },
    Named {
        by: "integration_get_groups",
        status: "200",
        parameter: "group_code",
        pointer: "/0/code",
        used_by: GROUP_READS,
    },
    Named {
        by: "integration_post_groups_group_code_patients",
        status: "200",
        parameter: "uuid",
        pointer: "/uuid",
        used_by: PATIENT_READS,
    },
    Named {
        by: "integration_post_groups_group_code_patients",
        status: "200",
        parameter: "voucher_code",
        pointer: "/code",
        used_by: &["integration_get_check_voucher_code_voucher_code"],
    },
    Named {
        by: "integration_get_groups_group_code_patients",
        status: "200",
        parameter: "uuid",
        pointer: "/0/uuid",
        used_by: PATIENT_READS,
    },
    Named {
        by: "integration_post_bracelets",
        status: "200",
        parameter: "serial",
        pointer: "/serial_number",
        used_by: &["integration_patch_bracelets_serial", "integration_delete_bracelets_serial"],
    },
    Named {
        by: "integration_post_create_export_uuid",
        status: "200",
        parameter: "export_id",
        pointer: "/id",
        used_by: &["integration_get_export_export_id"],
    },
    Named {
        by: "integration_post_create_export_uuid_data_type",
        status: "200",
        parameter: "export_id",
        pointer: "/id",
        used_by: &["integration_get_export_export_id"],
    },
    Named {
        by: "portal_post_api_clients",
        status: "201",
        parameter: "client_id",
        pointer: "/client_id",
        used_by: &["portal_delete_api_clients_client_id"],
    },
    Named {
        by: "portal_post_api_keys",
        status: "201",
        parameter: "id",
        pointer: "/id",
        used_by: &["portal_delete_api_keys_id"],
    },
];

/// Adds the links to a document.
pub(super) fn add(document: &mut Value) {
    for operation in document["paths"].as_object_mut().into_iter().flatten().flat_map(|(_, item)| operations(item)) {
        let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
        for named in NAMED.iter().filter(|named| named.by == id) {
            let Some(response) = operation["responses"].get_mut(named.status) else { continue };
            for next in named.used_by {
                let value = format!("$response.body#{}", named.pointer);
                response["links"][*next] = json!({"operationId": next, "parameters": {named.parameter: value}});
            }
        }
    }
}

fn operations(item: &mut Value) -> impl Iterator<Item = &mut Value> {
    item.as_object_mut().into_iter().flat_map(Map::values_mut)
}
