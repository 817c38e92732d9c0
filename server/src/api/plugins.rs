//! Publishing plugins.

use std::sync::Arc;

use actix_web::HttpRequest;
use serde::Serialize;
use utoipa::ToSchema;
use whycrash_plugin_host::{LeftOut, PluginInfo};

use super::access::Admin;
use super::prelude::*;
use super::symbols;
use crate::pipeline::renewal::Renewed;
use crate::plugins::{PublishError, Published, PublishedVersion};
use crate::public_text::without_paths;

/// The plugins.
#[derive(Debug, Serialize, ToSchema)]
pub struct Plugins {
    /// By name.
    pub plugins: Vec<ListedPlugin>,
    /// What is wrong with pages of causes that are left out: what they would say is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A plugin, and what was published under its name.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedPlugin {
    /// What it is.
    #[serde(flatten)]
    plugin: PluginInfo,
    /// Its versions, oldest first; of one that was not published here there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    versions: Vec<PublishedVersion>,
}

/// A plugin that was published, disabled or enabled.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangedPlugin {
    /// What it is.
    #[serde(flatten)]
    plugin: PluginInfo,
    /// What follows for the reports that are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnosed_anew: Option<Renewed>,
}

/// A plugin or a page that is gone.
#[derive(Debug, Serialize, ToSchema)]
pub struct Removed {
    /// Its name.
    pub name: String,
    /// What follows for the reports that are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosed_anew: Option<Renewed>,
}

/// The plugins that every report is given to: name, version, causes they can name, evidence they need, and the versions
/// that were published.
#[utoipa::path(get, path = "/api/v1/plugins", tag = "plugins",
    responses((status = 200, body = Plugins), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn list(_: Allowed<Read>, services: Data<Services>) -> ApiResult<Json<Plugins>> {
    let mut disabled = services.published.disabled()?;
    let mut plugins: Vec<_> = services.diagnoser.plugins().into_iter().map(public).collect();
    // One that is enabled, or disabled, at this moment may be in both.
    disabled.retain(|name| !plugins.iter().any(|plugin| plugin.name == *name));
    plugins.extend(disabled.into_iter().map(|name| PluginInfo {
        notice: Some(format!(
            "it is disabled; `whycrash plugin enable {name}` lets it take part again"
        )),
        name,
        ..PluginInfo::default()
    }));
    let listed = plugins.into_iter().map(|plugin| {
        let versions = services.published.versions(&plugin.name)?;
        Ok(ListedPlugin { plugin, versions })
    });
    Ok(Json(Plugins {
        plugins: listed.collect::<std::io::Result<_>>()?,
        left_out: services.diagnoser.left_out(),
    }))
}

/// Publishes a plugin: a package, or a component alone. It takes the place of the one of its name that was published
/// before, and every report is given to it: those that come from then on, and those that are stored, one after the
/// other behind them. Needs the scope `admin`: what it says is shown to everybody.
#[utoipa::path(post, path = "/api/v1/plugins", tag = "plugins",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = ChangedPlugin), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn publish(
    _: Allowed<Admin>,
    services: Data<Services>,
    request: HttpRequest,
    body: actix_web::web::Payload,
) -> ApiResult<Json<ChangedPlugin>> {
    let limit = (services.published.package_bytes(), "the size of a plugin");
    let staged = symbols::receive(&services, &request, body.into_inner(), limit).await?;
    let work = async move {
        let _turn = services.published.turn_to_look().await.ok_or_else(too_many)?;
        let publisher = Arc::clone(&services);
        let plugin = blocking(move || publisher.published.publish(std::fs::read(&staged)?)).await?;
        Ok(ChangedPlugin {
            plugin: public(plugin),
            diagnosed_anew: services.renew().await,
        })
    };
    Ok(Json(to_its_end(work).await?))
}

/// What everybody may know of a plugin: its file's name, and not where that lies.
fn public(plugin: PluginInfo) -> PluginInfo {
    let file = std::path::Path::new(&plugin.source).file_name().unwrap_or_default();
    PluginInfo {
        source: file.to_string_lossy().into_owned(),
        problem: plugin.problem.as_deref().map(without_paths),
        ..plugin
    }
}

/// Removes a plugin that was published. Reports are diagnosed anew without it.
#[utoipa::path(delete, path = "/api/v1/plugins/{name}", tag = "plugins", params(("name" = String, Path)),
    responses((status = 200, body = Removed), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn remove(_: Allowed<Admin>, services: Data<Services>, path: Path<String>) -> ApiResult<Json<Removed>> {
    let name = path.into_inner();
    let removed = name.clone();
    let ((), diagnosed_anew) = change(services, move |published| published.remove(&removed)).await?;
    Ok(Json(Removed { name, diagnosed_anew }))
}

/// Puts the version of a plugin that was published before the present one in its place. Reports are diagnosed anew with
/// it.
#[utoipa::path(post, path = "/api/v1/plugins/{name}/rollback", tag = "plugins", params(("name" = String, Path)),
    responses((status = 200, body = ChangedPlugin), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn roll_back(
    _: Allowed<Admin>,
    services: Data<Services>,
    path: Path<String>,
) -> ApiResult<Json<ChangedPlugin>> {
    let name = path.into_inner();
    let before = change(services, move |published| published.step_back(&name)).await?;
    Ok(Json(ChangedPlugin::of(before)))
}

/// Keeps a published plugin from taking part, until it is enabled. Reports are diagnosed anew without it.
#[utoipa::path(post, path = "/api/v1/plugins/{name}/disable", tag = "plugins", params(("name" = String, Path)),
    responses((status = 200, body = ChangedPlugin), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn disable(
    _: Allowed<Admin>,
    services: Data<Services>,
    path: Path<String>,
) -> ApiResult<Json<ChangedPlugin>> {
    let name = path.into_inner();
    let plugin = PluginInfo {
        name: name.clone(),
        ..PluginInfo::default()
    };
    let ((), diagnosed_anew) = change(services, move |published| published.disable(&name)).await?;
    Ok(Json(ChangedPlugin { plugin, diagnosed_anew }))
}

/// Lets a plugin take part again that was disabled, or set aside because it kept failing. Reports are diagnosed anew with
/// it.
#[utoipa::path(post, path = "/api/v1/plugins/{name}/enable", tag = "plugins", params(("name" = String, Path)),
    responses((status = 200, body = ChangedPlugin), (status = "default", response = super::problem::ProblemDocument)))]
pub async fn enable(_: Allowed<Admin>, services: Data<Services>, path: Path<String>) -> ApiResult<Json<ChangedPlugin>> {
    let name = path.into_inner();
    let enabled = change(services, move |published| published.enable(&name)).await?;
    Ok(Json(ChangedPlugin::of(enabled)))
}

impl ChangedPlugin {
    fn of((plugin, diagnosed_anew): (PluginInfo, Option<Renewed>)) -> Self {
        Self {
            plugin: public(plugin),
            diagnosed_anew,
        }
    }
}

/// Changes what is published; what came of it, and what follows for the reports that are stored.
pub async fn change<T: Send + 'static>(
    services: Data<Services>,
    work: impl FnOnce(&Published) -> Result<T, PublishError> + Send + 'static,
) -> ApiResult<(T, Option<Renewed>)> {
    to_its_end(async move {
        let _turn = services.published.turn_to_change().await.ok_or_else(too_many)?;
        let publisher = Arc::clone(&services);
        let changed = blocking(move || work(&publisher.published)).await?;
        Ok((changed, services.renew().await))
    })
    .await
}

/// The answer to whoever would wait too long.
pub fn too_many() -> ApiError {
    ApiError::new(Code::Busy, "plugins that came before this one are still being compiled")
}

/// What was begun goes on when the client leaves.
async fn to_its_end<T: Send + 'static>(work: impl Future<Output = ApiResult<T>> + Send + 'static) -> ApiResult<T> {
    let done = tokio::spawn(work).await;
    done.map_err(|error| ApiError::new(Code::Internal, error))?
}

/// Compiling takes as long as it takes; no other request waits for it.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, PublishError> + Send + 'static) -> ApiResult<T> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| ApiError::new(Code::Internal, error))?;
    done.map_err(|error| match error {
        PublishError::Refused(reason) => ApiError::new(Code::PluginRefused, reason),
        PublishError::Unknown(..) | PublishError::First(_) => ApiError::new(Code::NoPlugin, error),
        PublishError::UnknownPage(..) => ApiError::new(Code::NoPage, error),
        PublishError::Taken { .. } => ApiError::new(Code::VersionTaken, error),
        PublishError::Overtaken(_) => ApiError::new(Code::PluginChanged, error),
        PublishError::Io(error) => error.into(),
    })
}
