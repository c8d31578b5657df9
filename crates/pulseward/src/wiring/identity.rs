//! Databases and objects that belong together. A node whose objects are others than the other nodes' would serve patients
//! without their sealed days, and seal days that the others do not find.

use std::time::Duration;

use platform::{PlatformError, hex};
use store::{HealthDb, Objects, STORE_ID, StoreError, StoreId, UsersDb};

use super::expected::Expected;
use super::keys::unless_damaged;
use crate::failure::Failure;

/// Time that a process that is making the store may take to name its objects.
const LONGEST_MAKING: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Sealed files of which one at least has to be there when a store of an earlier version gets its identity.
const SAMPLE: usize = 100;

/// What was opened.
pub(super) struct Stores<'opened> {
    pub users: &'opened UsersDb,
    pub health: &'opened HealthDb,
    pub objects: &'opened Objects,
}

/// Refuses databases and objects of different stores; gives a new store, or one of an earlier version, its identity.
pub(super) async fn belong_together(
    stores: &Stores<'_>,
    expected: Expected,
    fill_random: fn(&mut [u8]),
) -> Result<(), Failure> {
    let of_health = async || unless_damaged(stores.health.store_id().await.map_err(PlatformError::from));
    let id = match unless_damaged(stores.users.store_identity().await.map_err(PlatformError::from))? {
        Some(Some(identity)) if identity.is_bound => {
            // One that is damaged is no other one: the objects are still compared, and a service that does not start
            // takes no samples.
            if let Some(of_health) = of_health().await? {
                compare_databases(&identity.id, of_health)?;
            }
            identity.id
        }
        // What only looks at a store, or works on its databases, may not know where its objects are.
        Some(_) if !expected.makes_store() => return Ok(()),
        Some(begun) => {
            let begun = begun.map(|identity| identity.id);
            make(stores, begun, expected, random_id(fill_random)).await?
        }
        // Of three places that have it, two are to agree.
        None => of_health().await?.flatten().ok_or_else(identity_is_lost)?,
    };
    if !expected.needs_objects() {
        return Ok(());
    }
    match stores.objects.identity().await {
        Ok(Some(found)) if found == id => stores.objects.require_identity(),
        Ok(None) if expected == Expected::RestoredStore => {
            stores.objects.set_identity(&id).await?;
            stores.objects.require_identity();
        }
        Ok(found) => return Err(other_objects(&id, found.as_ref())),
        // A node starts while the bucket is away; `readyz` says so until it is back.
        Err(StoreError::Unavailable(error)) if stores.objects.as_folder().is_none() => {
            tracing::warn!(error, "whose objects these are cannot be found out now");
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Returns whether the store has been made as a whole. A damaged identity was written once.
pub(super) async fn is_made(users: &UsersDb) -> Result<bool, Failure> {
    let identity = unless_damaged(users.store_identity().await.map_err(PlatformError::from))?;
    Ok(identity.is_none_or(|identity| identity.is_some_and(|identity| identity.is_bound)))
}

/// Gives databases and objects their identity, which none of them has or only the users database.
async fn make(
    stores: &Stores<'_>,
    begun: Option<StoreId>,
    expected: Expected,
    random: StoreId,
) -> Result<StoreId, Failure> {
    let Stores { users, health, objects } = stores;
    let (of_health, of_objects) = (health.store_id().await?, objects.identity().await?);
    let id = match begun {
        Some(id) => id,
        None if expected == Expected::RestoredStore => of_objects.clone().unwrap_or(random),
        // Of a users database that is new, the others cannot be part.
        None => {
            compare_databases(&random, of_health.clone().or(Some(random.clone())))?;
            random
        }
    };
    if let Some(found) = of_objects.filter(|found| *found != id) {
        return Err(other_objects(&id, Some(&found)));
    }
    refuse_lost_objects(health, objects).await?;
    users.begin_store(&id).await?;
    // Another process may have been first.
    let id = users.store_identity().await?.map_or(id, |identity| identity.id);
    health.set_store_id(&id).await?;
    compare_databases(&id, health.store_id().await?)?;
    if users.bind_store().await? {
        objects.set_identity(&id).await?;
        return Ok(id);
    }
    // Of nodes that start at the same time, the one that has bound the store names its objects; another one's are to be
    // the same.
    let named = async {
        while objects.identity().await?.is_none() {
            runtime::sleep(LOOK_EVERY).await;
        }
        Ok::<(), StoreError>(())
    };
    if let Ok(named) = runtime::timeout(LONGEST_MAKING, named).await {
        named?;
    }
    Ok(id)
}

fn random_id(fill_random: fn(&mut [u8])) -> StoreId {
    let mut bytes = [0; 16];
    fill_random(&mut bytes);
    StoreId::new(hex(&bytes))
}

fn identity_is_lost() -> Failure {
    Failure::Other(
        "store_identity is damaged in both databases, so that nobody knows whether they and the objects belong together: \
         restore a backup; nothing was changed"
            .to_owned(),
    )
}

fn compare_databases(id: &StoreId, of_health: Option<StoreId>) -> Result<(), Failure> {
    if of_health.as_ref() == Some(id) {
        return Ok(());
    }
    let found = of_health.map_or_else(|| "none".to_owned(), |found| found.to_string());
    Err(Failure::Usage(format!(
        "the users database and the health database belong to different stores ({id} and {found}): name the two of one \
         store with --users-db and --health-db, or its folder with --data"
    )))
}

fn other_objects(id: &StoreId, found: Option<&StoreId>) -> Failure {
    let what_to_do = "name the same --objects on every node, and mount their disk before the service starts";
    Failure::Usage(match found {
        Some(found) => {
            format!("the objects are those of another store ({found}) than the databases ({id}): {what_to_do}")
        }
        None => format!(
            "there is no {STORE_ID} among the objects, so they are not those of the databases: {what_to_do}. If only \
             {STORE_ID} was lost, write {id} into it"
        ),
    })
}

/// Refuses to make objects part of a store of an earlier version when they hold nothing of what its catalog names.
async fn refuse_lost_objects(health: &HealthDb, objects: &Objects) -> Result<(), Failure> {
    let sealed = health.segments_by_path("").await?;
    for row in sealed.iter().take(SAMPLE) {
        if objects.size(&row.object.path).await?.is_some() {
            return Ok(());
        }
    }
    if sealed.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(
        "none of the store's sealed files is among the objects: name the right ones with --objects, and mount their disk \
         before the service starts"
            .to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use store::Address;

    use super::*;
    use crate::wiring::random_bytes::fill_random;

    async fn opened(folder: &Path, objects: &str) -> (UsersDb, HealthDb, Objects) {
        let objects = Objects::folder(&folder.join(objects)).unwrap();
        let users = UsersDb::open(Address::File(folder.join("users.db"))).await.unwrap();
        let health = HealthDb::open(Address::File(folder.join("health.db")), objects.clone()).await.unwrap();
        (users, health, objects)
    }

    async fn checked(
        (users, health, objects): &(UsersDb, HealthDb, Objects),
        expected: Expected,
    ) -> Result<(), String> {
        let stores = Stores { users, health, objects };
        belong_together(&stores, expected, fill_random).await.map_err(|refused| refused.to_string())
    }

    #[tokio::test]
    async fn store_keeps_the_identity_that_it_was_made_with() {
        let folder = tempfile::tempdir().unwrap();
        let stores = opened(folder.path(), "objects").await;
        checked(&stores, Expected::StoreOrNothing).await.unwrap();
        let id = stores.0.store_identity().await.unwrap().unwrap().id;
        assert_eq!((id.as_str().len(), stores.2.identity().await.unwrap()), (32, Some(id.clone())));
        checked(&opened(folder.path(), "objects").await, Expected::Store).await.unwrap();
        assert_eq!(stores.0.store_identity().await.unwrap().unwrap().id, id);
    }

    #[tokio::test]
    async fn other_objects_are_refused_with_a_word_on_how_to_name_them() {
        let folder = tempfile::tempdir().unwrap();
        checked(&opened(folder.path(), "objects").await, Expected::StoreOrNothing).await.unwrap();
        let empty = opened(folder.path(), "empty").await;
        let refused = checked(&empty, Expected::Store).await.unwrap_err();
        assert!(refused.contains("--objects") && refused.contains(STORE_ID), "{refused}");
        assert_eq!(empty.2.identity().await.unwrap(), None, "nothing is written into them");
        checked(&empty, Expected::Databases).await.unwrap();
        // A restore says itself where the objects are.
        checked(&empty, Expected::RestoredStore).await.unwrap();
        checked(&empty, Expected::Store).await.unwrap();

        let foreign = opened(folder.path(), "foreign").await;
        foreign.2.set_identity(&StoreId::new("another")).await.unwrap();
        for expected in [Expected::Store, Expected::RestoredStore] {
            assert!(checked(&foreign, expected).await.unwrap_err().contains("another"));
        }
    }

    #[tokio::test]
    async fn databases_of_two_stores_are_refused() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (users, _, objects) = opened(first.path(), "objects").await;
        let other = opened(second.path(), "objects").await;
        checked(&other, Expected::StoreOrNothing).await.unwrap();
        // The users database is new, the other is not.
        let mixed = (users, other.1, objects);
        let refused = checked(&mixed, Expected::StoreOrNothing).await.unwrap_err();
        assert!(refused.contains("--users-db") && refused.contains("--health-db"), "{refused}");
        assert_eq!(mixed.0.store_identity().await.unwrap(), None);
    }

    #[tokio::test]
    async fn making_that_was_broken_off_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let stores = opened(folder.path(), "objects").await;
        stores.0.begin_store(&StoreId::new("begun")).await.unwrap();
        checked(&stores, Expected::Store).await.unwrap();
        assert_eq!(stores.2.identity().await.unwrap(), None, "a command that only looks makes nothing");
        checked(&stores, Expected::StoreOrNothing).await.unwrap();
        assert_eq!(stores.2.identity().await.unwrap(), Some(StoreId::new("begun")));
    }
}
