//! Calls to one runtime. Every call has a deadline (CRI-6), is counted and timed.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use kruise_cri::image_service_client::ImageServiceClient;
use kruise_cri::runtime_service_client::RuntimeServiceClient;
use kruise_cri::{
    AuthConfig, ContainerFilter, ContainerState, ContainerStatusRequest, ContainerStatusResponse,
    ExecSyncRequest, ExecSyncResponse, ImageFsInfoRequest, ImageSpec, ImageStatusRequest,
    ListContainersRequest, PodSandboxConfig, PodSandboxStatusRequest, PullImageRequest, StopContainerRequest,
    VersionRequest,
};
use tokio::net::UnixStream;
use tokio::time::Instant;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};

use crate::images::Credential;
use crate::kill::{CONTAINER_NAME, POD_UID};
use crate::metrics::Metrics;

/// Of unary calls to the runtime, and what a call with a limit of its own gets on top (CRI-6).
const WITHIN: Duration = Duration::from_secs(5);
/// Of the first question to a runtime (CRI-4).
const PROBE_WITHIN: Duration = Duration::from_secs(10);
/// A command without a limit ends some day: the caller gives it up before.
const EXEC_MAX: Duration = Duration::from_hours(24);
const MESSAGE_MAX: usize = 16 << 20;

const HASH: &str = "io.kubernetes.container.hash";
const RESTARTS: &str = "io.kubernetes.container.restartCount";

/// Why a call failed.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum CriError {
    #[error("{call}: the runtime did not answer within {} s", .within.as_secs())]
    TimedOut { call: &'static str, within: Duration },
    /// The runtime is restarting, or gone.
    #[error("{call}: the runtime cannot be reached: {message}")]
    Unreachable { call: &'static str, message: String },
    #[error("{message}")]
    NotFound { message: String },
    /// The runtime's own deadline, such as that of a command.
    #[error("{message}")]
    DeadlineExceeded { message: String },
    #[error("{message}")]
    Failed { message: String },
}

/// A container as the runtime lists it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Container {
    pub id: String,
    pub sandbox: String,
    pub state: i32,
    pub created_at: i64,
    pub labels: HashMap<String, String>,
    pub annotations: HashMap<String, String>,
}

/// How much of a container's status is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Plain,
    /// With what the runtime knows besides: some keep the process there.
    Verbose,
}

/// What only status tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    pub started_at: Option<Timestamp>,
    pub image: Option<String>,
    /// Verbose information, if it was asked for.
    pub info: HashMap<String, String>,
}

/// One runtime.
pub struct Cri {
    /// From its version: the scheme of container ids (CRI-7).
    pub name: String,
    pub path: PathBuf,
    runtime: RuntimeServiceClient<Channel>,
    images: ImageServiceClient<Channel>,
    metrics: Arc<Metrics>,
}

impl Container {
    pub fn is_running(&self) -> bool {
        self.state == ContainerState::ContainerRunning as i32
    }

    pub fn has_exited(&self) -> bool {
        self.state == ContainerState::ContainerExited as i32
    }

    pub fn name(&self) -> &str {
        self.labels.get(CONTAINER_NAME).map_or("", String::as_str)
    }

    pub fn pod_uid(&self) -> &str {
        self.labels.get(POD_UID).map_or("", String::as_str)
    }

    pub fn restart_count(&self) -> i32 {
        self.annotations.get(RESTARTS).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// The kubelet's hash, written as a hexadecimal number.
    pub fn plain_hash(&self) -> u64 {
        self.annotations.get(HASH).and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0)
    }
}

impl Cri {
    /// CRI-4: a runtime that answers all of it can be used.
    pub async fn connect(path: &Path, metrics: Arc<Metrics>) -> Result<Self, CriError> {
        let channel = channel(path)?;
        let mut cri = Self {
            name: String::new(),
            path: path.to_owned(),
            runtime: RuntimeServiceClient::new(channel.clone()).max_decoding_message_size(MESSAGE_MAX),
            images: ImageServiceClient::new(channel).max_decoding_message_size(MESSAGE_MAX),
            metrics,
        };
        let mut images = cri.images.clone();
        let request = ImageFsInfoRequest {};
        cri.call("ImageFsInfo", PROBE_WITHIN, async move { images.image_fs_info(request).await }).await?;
        cri.name = cri.version().await?;
        Ok(cri)
    }

    /// The runtime's name; also the question whether it is alive.
    pub async fn version(&self) -> Result<String, CriError> {
        let mut client = self.runtime.clone();
        let request = VersionRequest { version: "0.1.0".to_owned() };
        let version = self.call("Version", WITHIN, async move { client.version(request).await }).await?;
        let all =
            [&version.version, &version.runtime_name, &version.runtime_api_version, &version.runtime_version];
        if all.iter().any(|text| text.is_empty()) {
            return Err(CriError::Failed {
                message: format!("the runtime's version is incomplete: {version:?}"),
            });
        }
        Ok(version.runtime_name)
    }

    /// Containers of a pod, the newest first (CRI-9).
    pub async fn of_pod(&self, uid: &str) -> Result<Vec<Container>, CriError> {
        let labels = [(POD_UID.to_owned(), uid.to_owned())].into();
        self.list(ContainerFilter { label_selector: labels, ..ContainerFilter::default() }).await
    }

    /// All containers that run, the newest first.
    pub async fn all(&self) -> Result<Vec<Container>, CriError> {
        self.list(ContainerFilter::default()).await
    }

    pub async fn container(&self, id: &str) -> Result<Option<Container>, CriError> {
        let filter = ContainerFilter { id: id.to_owned(), ..ContainerFilter::default() };
        Ok(self.list(filter).await?.into_iter().next())
    }

    async fn list(&self, filter: ContainerFilter) -> Result<Vec<Container>, CriError> {
        let mut client = self.runtime.clone();
        let request = ListContainersRequest { filter: Some(filter) };
        let list =
            self.call("ListContainers", WITHIN, async move { client.list_containers(request).await }).await?;
        let mut all: Vec<Container> = list.containers.into_iter().map(slim).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.created_at));
        Ok(all)
    }

    pub async fn details(&self, id: &str, detail: Detail) -> Result<Details, CriError> {
        let mut client = self.runtime.clone();
        let verbose = detail == Detail::Verbose;
        let request = ContainerStatusRequest { container_id: id.to_owned(), verbose };
        let call = async move { client.container_status(request).await };
        let ContainerStatusResponse { status, info } = self.call("ContainerStatus", WITHIN, call).await?;
        let status = status.unwrap_or_default();
        let has_started = status.state != ContainerState::ContainerCreated as i32 && status.started_at > 0;
        let started_at =
            has_started.then(|| Timestamp::from_nanosecond(status.started_at.into()).ok()).flatten();
        let image = status.image.map(|image| image.user_specified_image).filter(|image| !image.is_empty());
        Ok(Details { started_at, image, info })
    }

    /// The address of the pod that a container is in.
    pub async fn pod_ip(&self, id: &str) -> Result<String, CriError> {
        let Some(container) = self.container(id).await? else { return Ok(String::new()) };
        let mut client = self.runtime.clone();
        let request = PodSandboxStatusRequest { pod_sandbox_id: container.sandbox, verbose: false };
        let call = async move { client.pod_sandbox_status(request).await };
        let answer = self.call("PodSandboxStatus", WITHIN, call).await?;
        Ok(answer.status.and_then(|status| status.network).map(|network| network.ip).unwrap_or_default())
    }

    /// Runs a command; no limit if it is zero.
    pub async fn exec(
        &self,
        id: &str,
        command: &[String],
        limit: Duration,
    ) -> Result<ExecSyncResponse, CriError> {
        let mut client = self.runtime.clone();
        let timeout = i64::try_from(limit.as_secs()).unwrap_or(i64::MAX);
        let request = ExecSyncRequest { container_id: id.to_owned(), cmd: command.to_vec(), timeout };
        let within = if limit.is_zero() { EXEC_MAX } else { limit + WITHIN };
        self.call("ExecSync", within, async move { client.exec_sync(request).await }).await
    }

    pub async fn stop(&self, id: &str, grace: i64) -> Result<(), CriError> {
        let mut client = self.runtime.clone();
        let request = StopContainerRequest { container_id: id.to_owned(), timeout: grace };
        let within = Duration::from_secs(u64::try_from(grace).unwrap_or(0)) + WITHIN;
        self.call("StopContainer", within, async move { client.stop_container(request).await })
            .await
            .map(drop)
    }

    /// The id of an image that is there.
    pub async fn image(&self, reference: &str) -> Result<Option<String>, CriError> {
        let mut client = self.images.clone();
        let request = ImageStatusRequest { image: Some(image(reference)), verbose: false };
        let call = async move { client.image_status(request).await };
        match self.call("ImageStatus", PROBE_WITHIN, call).await {
            Ok(answer) => Ok(answer.image.map(|image| image.id).filter(|id| !id.is_empty())),
            Err(CriError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn pull(
        &self,
        reference: &str,
        credential: Option<&Credential>,
        sandbox: PodSandboxConfig,
        within: Duration,
    ) -> Result<(), CriError> {
        let mut client = self.images.clone();
        let auth = credential
            .map(|one| AuthConfig { username: one.username.clone(), password: one.password.clone() });
        let request = PullImageRequest { image: Some(image(reference)), auth, sandbox_config: Some(sandbox) };
        self.call("PullImage", within, async move { client.pull_image(request).await }).await.map(drop)
    }

    async fn call<T>(
        &self,
        call: &'static str,
        within: Duration,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, CriError> {
        let began = Instant::now();
        let result = match tokio::time::timeout(within, answer).await {
            Err(_) => Err(CriError::TimedOut { call, within }),
            Ok(Err(status)) => Err(error(call, &status)),
            Ok(Ok(response)) => Ok(response.into_inner()),
        };
        self.metrics.called(call, began.elapsed(), result.as_ref().err());
        result
    }
}

fn image(reference: &str) -> ImageSpec {
    ImageSpec { image: reference.to_owned(), ..ImageSpec::default() }
}

fn slim(container: kruise_cri::Container) -> Container {
    Container {
        id: container.id,
        sandbox: container.pod_sandbox_id,
        state: container.state,
        created_at: container.created_at,
        labels: container.labels,
        annotations: container.annotations,
    }
}

fn error(call: &'static str, status: &Status) -> CriError {
    let message = status.message().to_owned();
    match status.code() {
        Code::Unavailable => CriError::Unreachable { call, message },
        Code::NotFound => CriError::NotFound { message },
        Code::DeadlineExceeded => CriError::DeadlineExceeded { message },
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::InvalidArgument
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Internal
        | Code::DataLoss
        | Code::Unauthenticated => CriError::Failed { message },
    }
}

/// Connects when it is first used, and again whenever the runtime has been restarted.
fn channel(path: &Path) -> Result<Channel, CriError> {
    let path = path.to_owned();
    let connector = tower::service_fn(move |_: http::Uri| {
        let path = path.clone();
        async move { UnixStream::connect(path).await.map(TokioIo::new) }
    });
    let endpoint = Endpoint::try_from("http://localhost")
        .map_err(|error| CriError::Failed { message: error.to_string() })?
        .connect_timeout(WITHIN);
    Ok(endpoint.connect_with_connector_lazy(connector))
}
