//! The command lines of etcd and the control plane, and how one knows that each is ready.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::TestbedError;
use crate::certs::{Authority, Pair, Subject};
use crate::components::Binaries;
use crate::keeper::Start;
use crate::kubeconfig;

/// Where the parts listen. All on loopback, but the API server also on `bind` when real nodes must reach it.
#[derive(Debug, Clone)]
pub struct Addresses {
    pub etcd: u16,
    pub etcd_peer: u16,
    pub api_server: u16,
    pub controller_manager: u16,
    pub scheduler: u16,
    /// What the API server binds to and tells pods.
    pub bind: Ipv4Addr,
    pub advertise: Ipv4Addr,
    pub services: Services,
}

/// The addresses that Services get.
#[derive(Debug, Clone)]
pub struct Services {
    pub range: String,
    /// The first of them: where pods find the API server.
    pub first: Ipv4Addr,
}

impl Default for Services {
    fn default() -> Self {
        Self { range: "10.96.0.0/16".into(), first: Ipv4Addr::new(10, 96, 0, 1) }
    }
}

/// Everything on disk that the command lines refer to.
pub struct Files {
    pub authority: Authority,
    pub admin_kubeconfig: PathBuf,
    dir: PathBuf,
    api_server: Pair,
    etcd: Pair,
    admin: Pair,
    controller_manager: (Pair, PathBuf),
    scheduler: (Pair, PathBuf),
}

impl Addresses {
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.api_server)
    }

    pub fn url(port: u16, path: &str) -> String {
        format!("https://127.0.0.1:{port}{path}")
    }
}

impl Files {
    /// Makes certificates and kubeconfigs below `dir`.
    pub fn write(dir: &Path, at: &Addresses) -> Result<Self, TestbedError> {
        let authority = Authority::create(&dir.join("pki"))?;
        let loopback = || vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut api_names = loopback();
        api_names.extend(
            [
                "kubernetes",
                "kubernetes.default",
                "kubernetes.default.svc",
                "kubernetes.default.svc.cluster.local",
            ]
            .map(str::to_owned),
        );
        api_names.extend([at.services.first.to_string(), at.advertise.to_string()]);
        let api_server = authority.issue(
            "apiserver",
            &Subject { common_name: "kube-apiserver", names: api_names, ..Subject::default() },
        )?;
        let etcd = authority
            .issue("etcd", &Subject { common_name: "etcd", names: loopback(), ..Subject::default() })?;
        let user = |file: &str, common_name: &str, organization| {
            let pair = authority.issue(file, &Subject { common_name, organization, names: loopback() })?;
            let path = dir.join(format!("{file}.kubeconfig"));
            let config = kubeconfig::write(&path, &at.server(), &authority.ca(), &pair)?;
            Ok::<_, TestbedError>((pair, config))
        };
        let (admin, admin_kubeconfig) = user("admin", "kubernetes-admin", Some("system:masters"))?;
        let controller_manager = user("controller-manager", "system:kube-controller-manager", None)?;
        let scheduler = user("scheduler", "system:kube-scheduler", None)?;
        let dir = dir.to_owned();
        Ok(Self { authority, admin_kubeconfig, dir, api_server, etcd, admin, controller_manager, scheduler })
    }

    fn start(&self, name: &str, program: PathBuf, flags: Vec<(&str, String)>) -> Start {
        let args = flags.into_iter().map(|(flag, value)| format!("--{flag}={value}")).collect();
        Start { name: name.to_owned(), program, args, log: self.log(name), ..Start::default() }
    }

    pub fn log(&self, name: &str) -> PathBuf {
        self.dir.join("log").join(format!("{name}.log"))
    }

    pub fn audit_log(&self) -> PathBuf {
        self.dir.join("audit.log")
    }
}

pub fn etcd(files: &Files, at: &Addresses, binaries: &Binaries) -> Start {
    let client = Addresses::url(at.etcd, "");
    let flags = vec![
        ("data-dir", show(&files.dir.join("etcd"))),
        ("listen-client-urls", client.clone()),
        ("advertise-client-urls", client),
        ("listen-peer-urls", format!("http://127.0.0.1:{}", at.etcd_peer)),
        ("cert-file", show(&files.etcd.certificate)),
        ("key-file", show(&files.etcd.key)),
        ("trusted-ca-file", show(&files.authority.ca())),
        ("client-cert-auth", "true".into()),
        // A test cluster's data does not outlive the machine.
        ("unsafe-no-fsync", "true".into()),
        ("quota-backend-bytes", "8589934592".into()),
        ("log-level", "warn".into()),
    ];
    files.start("etcd", binaries.path("etcd"), flags)
}

pub fn api_server(files: &Files, at: &Addresses, binaries: &Binaries) -> Start {
    let flags = vec![
        ("etcd-servers", Addresses::url(at.etcd, "")),
        ("etcd-cafile", show(&files.authority.ca())),
        ("etcd-certfile", show(&files.etcd.certificate)),
        ("etcd-keyfile", show(&files.etcd.key)),
        ("secure-port", at.api_server.to_string()),
        ("bind-address", at.bind.to_string()),
        ("advertise-address", at.advertise.to_string()),
        ("tls-cert-file", show(&files.api_server.certificate)),
        ("tls-private-key-file", show(&files.api_server.key)),
        ("client-ca-file", show(&files.authority.ca())),
        ("service-account-key-file", show(&files.authority.file("sa.pub"))),
        ("service-account-signing-key-file", show(&files.authority.file("sa.key"))),
        ("service-account-issuer", "https://kubernetes.default.svc".into()),
        ("service-cluster-ip-range", at.services.range.clone()),
        ("authorization-mode", "Node,RBAC".into()),
        ("enable-admission-plugins", "NodeRestriction".into()),
        ("allow-privileged", "true".into()),
        // Tests and benchmarks are one client with many requests; the defaults would queue them.
        ("max-requests-inflight", "3000".into()),
        ("max-mutating-requests-inflight", "1000".into()),
        ("profiling", "false".into()),
        ("kubelet-preferred-address-types", "InternalIP".into()),
        ("kubelet-client-certificate", show(&files.admin.certificate)),
        ("kubelet-client-key", show(&files.admin.key)),
    ];
    files.start("kube-apiserver", binaries.path("kube-apiserver"), flags)
}

pub fn controller_manager(files: &Files, at: &Addresses, binaries: &Binaries) -> Start {
    let (pair, kubeconfig) = &files.controller_manager;
    let mut flags = vec![
        ("service-account-private-key-file", show(&files.authority.file("sa.key"))),
        ("root-ca-file", show(&files.authority.ca())),
        ("cluster-signing-cert-file", show(&files.authority.ca())),
        ("cluster-signing-key-file", show(&files.authority.file("ca.key"))),
        ("use-service-account-credentials", "true".into()),
        // An autoscaler looks at its workload after this time, not after 15 s.
        ("horizontal-pod-autoscaler-sync-period", "2s".into()),
    ];
    flags.extend(controller(kubeconfig, pair, at.controller_manager));
    files.start("kube-controller-manager", binaries.path("kube-controller-manager"), flags)
}

pub fn scheduler(files: &Files, at: &Addresses, binaries: &Binaries) -> Start {
    let (pair, kubeconfig) = &files.scheduler;
    files.start("kube-scheduler", binaries.path("kube-scheduler"), controller(kubeconfig, pair, at.scheduler))
}

/// Adds an audit log of all writes: the benchmark counts them by user agent. Of the manager's account also what it reads:
/// that is compared with its roles.
pub fn audit(files: &Files, start: &mut Start) -> Result<(), TestbedError> {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "users": [crate::manager::USER]},
            {"level": "None", "verbs": ["get", "list", "watch"]},
            {"level": "Metadata"},
        ],
    });
    let path = files.dir.join("audit-policy.json");
    std::fs::write(&path, policy.to_string())
        .map_err(TestbedError::io(format!("writing {}", path.display())))?;
    start.args.push(format!("--audit-policy-file={}", path.display()));
    start.args.push(format!("--audit-log-path={}", files.audit_log().display()));
    // In MiB. At 100 it would begin a new file, and the benchmark would miss what is in the old one.
    start.args.push("--audit-log-maxsize=10000".to_owned());
    Ok(())
}

/// Flags of both controllers. No client-side limit may slow down what is measured here.
fn controller(kubeconfig: &Path, serving: &Pair, port: u16) -> Vec<(&'static str, String)> {
    vec![
        ("kubeconfig", show(kubeconfig)),
        ("leader-elect", "false".into()),
        ("kube-api-qps", "1000".into()),
        ("kube-api-burst", "2000".into()),
        ("bind-address", "127.0.0.1".into()),
        ("secure-port", port.to_string()),
        ("tls-cert-file", show(&serving.certificate)),
        ("tls-private-key-file", show(&serving.key)),
    ]
}

fn show(path: &Path) -> String {
    path.display().to_string()
}
