//! OAuth clients as administrators handle them on the portal.

use boxed_futures::boxed_futures;
use store::{ClientId, Role};

use super::caller::PortalCaller;
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::oauth::{NewOauthClient, OauthClientView};

#[boxed_futures]
impl Identity {
    /// Returns all OAuth clients, oldest first, also the removed ones. Forbidden but for administrators.
    pub async fn portal_clients(&self, caller: &PortalCaller) -> Result<Vec<OauthClientView>> {
        require_admin(caller)?;
        self.oauth_clients().await
    }

    /// Creates a client; answers it and its secret, which cannot be read again. Forbidden but for administrators.
    pub async fn create_portal_client(
        &self,
        caller: &PortalCaller,
        new: NewOauthClient,
    ) -> Result<(OauthClientView, Option<String>)> {
        require_admin(caller)?;
        let redirect_uris = new.redirect_uris.clone();
        let (client, secret) = self.create_oauth_client(new).await?;
        Ok((OauthClientView { client, redirect_uris }, secret))
    }

    /// Removes a client. Forbidden but for administrators.
    pub async fn remove_portal_client(&self, caller: &PortalCaller, id: &ClientId) -> Result<()> {
        require_admin(caller)?;
        self.remove_oauth_client(id).await.map(drop)
    }
}

fn require_admin(caller: &PortalCaller) -> Result<()> {
    match caller.researcher()?.role {
        Role::Admin => Ok(()),
        Role::Researcher | Role::Hcp => Err(PlatformError::Forbidden("only an administrator may do this")),
    }
}
