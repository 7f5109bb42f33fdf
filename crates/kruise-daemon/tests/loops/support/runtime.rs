//! A container runtime in memory: pods, containers, images, and everything that can go wrong with them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kruise_cri::image_service_server::{ImageService, ImageServiceServer};
use kruise_cri::runtime_service_server::{RuntimeService, RuntimeServiceServer};
use kruise_cri::{
    Container, ContainerState, ContainerStatus, ContainerStatusRequest, ContainerStatusResponse,
    ExecSyncRequest, ExecSyncResponse, Image, ImageFsInfoRequest, ImageFsInfoResponse, ImageSpec,
    ImageStatusRequest, ImageStatusResponse, ListContainersRequest, ListContainersResponse,
    PodSandboxNetworkStatus, PodSandboxStatus, PodSandboxStatusRequest, PodSandboxStatusResponse,
    PullImageRequest, PullImageResponse, StopContainerRequest, StopContainerResponse, VersionRequest,
    VersionResponse,
};
use tokio::net::UnixListener;
use tonic::{Request, Response, Status};

/// How a call misbehaves.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// It never answers.
    Hang,
    Fail(String),
    Slow(Duration),
}

#[derive(Debug, Clone, Default)]
pub struct World {
    pub containers: Vec<Container>,
    /// Environment by container id.
    pub environments: BTreeMap<String, Vec<String>>,
    /// Verbose status says nothing, as with some runtimes.
    pub is_taciturn: bool,
    pub images: BTreeSet<String>,
    /// Repositories that need this user and password.
    pub private: BTreeMap<String, (String, String)>,
    pub faults: HashMap<&'static str, Fault>,
    /// Every call with what it was about.
    pub calls: Vec<(&'static str, String)>,
    pub pulls: Vec<PullImageRequest>,
    pub pulling: usize,
    pub most_pulling: usize,
    /// Answers of commands: exit code and output.
    pub commands: BTreeMap<String, (i32, String)>,
    /// A stopped container is started again, as a kubelet does.
    pub restarts: bool,
    next: u32,
}

#[derive(Clone, Default)]
pub struct Runtime(pub Arc<Mutex<World>>);

impl World {
    /// Starts a container of a pod with uid `u`; its id.
    pub fn start(&mut self, name: &str, restart_count: i32, environment: &[&str]) -> String {
        self.next += 1;
        let id = format!("{name}-{}", self.next);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        self.containers.push(Container {
            id: id.clone(),
            pod_sandbox_id: "sandbox".to_owned(),
            state: ContainerState::ContainerRunning as i32,
            created_at: i64::from(self.next),
            labels: [
                pair("io.kubernetes.pod.name", "p"),
                pair("io.kubernetes.pod.namespace", "n"),
                pair("io.kubernetes.pod.uid", "u"),
                pair("io.kubernetes.container.name", name),
            ]
            .into(),
            annotations: [
                pair("io.kubernetes.container.hash", "19fd1e3c"),
                pair("io.kubernetes.container.restartCount", &restart_count.to_string()),
                pair("io.kubernetes.pod.terminationGracePeriod", "1"),
            ]
            .into(),
            ..Container::default()
        });
        self.environments.insert(id.clone(), environment.iter().map(|one| (*one).to_owned()).collect());
        id
    }

    pub fn count(&self, call: &str) -> usize {
        self.calls.iter().filter(|(name, _)| *name == call).count()
    }

    pub fn running(&self, name: &str) -> Option<&Container> {
        let is_it = |one: &&Container| {
            one.labels["io.kubernetes.container.name"] == name
                && one.state == ContainerState::ContainerRunning as i32
        };
        self.containers.iter().rev().find(is_it)
    }
}

impl Runtime {
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    /// Serves until the handle is aborted; the socket stays, as that of a killed runtime does.
    pub fn serve(&self, path: &Path) -> tokio::task::JoinHandle<()> {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // A runtime that starts removes the socket of the one before.
        let _absent = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).unwrap();
        let incoming = futures::stream::unfold(listener, async |open| {
            let accepted = open.accept().await.map(|(stream, _)| stream);
            Some((accepted, open))
        });
        let router = tonic::transport::Server::builder()
            .add_service(RuntimeServiceServer::new(self.clone()))
            .add_service(ImageServiceServer::new(self.clone()));
        tokio::spawn(async move { router.serve_with_incoming(incoming).await.unwrap() })
    }

    async fn called(&self, call: &'static str, about: &str) -> Result<(), Status> {
        let fault = self.with(|world| {
            world.calls.push((call, about.to_owned()));
            world.faults.get(call).cloned()
        });
        match fault {
            None => Ok(()),
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::Fail(message)) => Err(Status::unknown(message)),
            Some(Fault::Slow(time)) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
        }
    }
}

#[tonic::async_trait]
impl RuntimeService for Runtime {
    async fn version(&self, _: Request<VersionRequest>) -> Result<Response<VersionResponse>, Status> {
        self.called("Version", "").await?;
        Ok(Response::new(VersionResponse {
            version: "0.1.0".to_owned(),
            runtime_name: "containerd".to_owned(),
            runtime_version: "2".to_owned(),
            runtime_api_version: "v1".to_owned(),
        }))
    }

    async fn list_containers(
        &self,
        request: Request<ListContainersRequest>,
    ) -> Result<Response<ListContainersResponse>, Status> {
        self.called("ListContainers", "").await?;
        let filter = request.into_inner().filter.unwrap_or_default();
        let fits = |one: &&Container| {
            (filter.id.is_empty() || one.id == filter.id)
                && filter.label_selector.iter().all(|(key, value)| one.labels.get(key) == Some(value))
        };
        let containers = self.with(|world| world.containers.iter().filter(fits).cloned().collect());
        Ok(Response::new(ListContainersResponse { containers }))
    }

    async fn container_status(
        &self,
        request: Request<ContainerStatusRequest>,
    ) -> Result<Response<ContainerStatusResponse>, Status> {
        let request = request.into_inner();
        self.called("ContainerStatus", &request.container_id).await?;
        self.with(|world| {
            let found = world.containers.iter().find(|one| one.id == request.container_id);
            let found = found.ok_or_else(|| Status::not_found("no such container"))?;
            let status = ContainerStatus {
                id: found.id.clone(),
                state: found.state,
                created_at: found.created_at,
                started_at: 1_000_000_000,
                labels: found.labels.clone(),
                annotations: found.annotations.clone(),
                ..ContainerStatus::default()
            };
            let mut info = HashMap::new();
            if request.verbose && !world.is_taciturn {
                let spec =
                    serde_json::json!({"runtimeSpec": {"process": {"env": world.environments[&found.id]}}});
                info.insert("info".to_owned(), spec.to_string());
            }
            Ok(Response::new(ContainerStatusResponse { status: Some(status), info }))
        })
    }

    async fn pod_sandbox_status(
        &self,
        _: Request<PodSandboxStatusRequest>,
    ) -> Result<Response<PodSandboxStatusResponse>, Status> {
        self.called("PodSandboxStatus", "").await?;
        let network = Some(PodSandboxNetworkStatus { ip: "127.0.0.1".to_owned() });
        let status = PodSandboxStatus { id: "sandbox".to_owned(), network };
        Ok(Response::new(PodSandboxStatusResponse { status: Some(status) }))
    }

    async fn exec_sync(
        &self,
        request: Request<ExecSyncRequest>,
    ) -> Result<Response<ExecSyncResponse>, Status> {
        let request = request.into_inner();
        let command = request.cmd.join(" ");
        self.called("ExecSync", &command).await?;
        let (exit_code, text) = self.with(|world| {
            if command == "cat /proc/self/environ" {
                return (0, world.environments[&request.container_id].join("\0"));
            }
            world.commands.get(&command).cloned().unwrap_or((127, "no such command".to_owned()))
        });
        Ok(Response::new(ExecSyncResponse {
            exit_code,
            stdout: text.clone().into_bytes(),
            stderr: text.into_bytes(),
        }))
    }

    async fn stop_container(
        &self,
        request: Request<StopContainerRequest>,
    ) -> Result<Response<StopContainerResponse>, Status> {
        let request = request.into_inner();
        self.called("StopContainer", &request.container_id).await?;
        self.with(|world| {
            let found = world.containers.iter_mut().find(|one| one.id == request.container_id);
            let found = found.ok_or_else(|| Status::not_found("no such container"))?;
            found.state = ContainerState::ContainerExited as i32;
            let name = found.labels["io.kubernetes.container.name"].clone();
            let count = found.annotations["io.kubernetes.container.restartCount"].parse::<i32>().unwrap();
            if world.restarts {
                world.start(&name, count + 1, &[]);
            }
            Ok(Response::new(StopContainerResponse {}))
        })
    }
}

#[tonic::async_trait]
impl ImageService for Runtime {
    async fn image_status(
        &self,
        request: Request<ImageStatusRequest>,
    ) -> Result<Response<ImageStatusResponse>, Status> {
        let name = request.into_inner().image.map(|image| image.image).unwrap_or_default();
        self.called("ImageStatus", &name).await?;
        let image = self.with(|world| world.images.contains(&name)).then(|| Image {
            id: "sha256:abc".to_owned(),
            repo_tags: vec![name],
            repo_digests: Vec::new(),
        });
        Ok(Response::new(ImageStatusResponse { image }))
    }

    async fn pull_image(
        &self,
        request: Request<PullImageRequest>,
    ) -> Result<Response<PullImageResponse>, Status> {
        let request = request.into_inner();
        let ImageSpec { image: name, .. } = request.image.clone().unwrap_or_default();
        self.with(|world| {
            world.pulls.push(request.clone());
            world.pulling += 1;
            world.most_pulling = world.most_pulling.max(world.pulling);
        });
        let called = self.called("PullImage", &name).await;
        self.with(|world| world.pulling -= 1);
        called?;
        self.with(|world| {
            let repository = name.rsplit_once([':', '@']).map_or(name.as_str(), |(before, _)| before);
            if let Some(needed) = world.private.get(repository.trim_end_matches("@sha256")) {
                let given = request.auth.map(|auth| (auth.username, auth.password));
                if given.as_ref() != Some(needed) {
                    let who = given.map_or_else(|| "anonymous".to_owned(), |(user, _)| user);
                    return Err(Status::unknown(format!("401 unauthorized for {who}")));
                }
            }
            world.images.insert(name);
            Ok(Response::new(PullImageResponse::default()))
        })
    }

    async fn image_fs_info(
        &self,
        _: Request<ImageFsInfoRequest>,
    ) -> Result<Response<ImageFsInfoResponse>, Status> {
        self.called("ImageFsInfo", "").await?;
        Ok(Response::new(ImageFsInfoResponse {}))
    }
}
