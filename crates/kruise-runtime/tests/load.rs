//! Whoever reaches the ports of the manager cannot keep it from answering: silent and slow clients, thousands of connections, huge
//! bodies, small values by the million and deep nesting, all at once and over loopback, while an honest caller asks on.
//!
//! The server is a process of its own, so that its memory is its own: and so are the attackers: this program starts itself again.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test without the test harness")]

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use kruise_core::admission::Answer;
use kruise_runtime::cache::Caches;
use kruise_runtime::health::{Life, Readiness, serve_health};
use kruise_runtime::metrics::Metrics;
use kruise_runtime::webhook::{Route, Serving, Webhooks, serve};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Says that this process is the server.
const SERVE: &str = "KRUISE_LOAD_TEST_CERTIFICATE";

/// Port, number of connections and certificate.
const ATTACK: &str = "KRUISE_LOAD_TEST_ATTACK";

const CONNECTIONS: usize = 10_000;
const QUIET_SECONDS: u64 = 2;
const ATTACK_SECONDS: u64 = 10;
/// What the limits on connections, bodies and trees add up to, with room for the allocator. What was measured is printed and is in
/// `docs/security.md`.
const MEMORY_KIB_MAX: u64 = 96 << 10;
/// The attackers take the same two processors as the server, so how fast it answers is a fact about the machine; whether it answers
/// is one about the server. Without its limits honest callers are not answered at all.
const P99_MAX: Duration = Duration::from_secs(1);
const PROBE_MAX: Duration = Duration::from_secs(2);

/// An API server has an address of its own.
const HONEST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const ATTACKER: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// What an attacker says for each connection.
const OPENED: &str = "opened";

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Fallible<()> {
    // What a test harness would be asked; there is one test here.
    if std::env::args().any(|argument| argument == "--list") {
        println!("load: test");
        return Ok(());
    }
    if let Ok(at) = std::env::var(ATTACK) {
        return tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(attack(&at));
    }
    match std::env::var(SERVE) {
        Ok(certificate) => {
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(server(&certificate))
        }
        Err(_) => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?
            .block_on(test()),
    }
}

/// As the manager: one thread, webhooks over TLS, health beside them. It ends with its standard input.
async fn server(certificate: &str) -> Fallible<()> {
    let (cert, key) = certificate.split_once(' ').ok_or("certificate and key")?;
    let cert = CertificateDer::from(STANDARD.decode(cert)?);
    let key = PrivateKeyDer::try_from(STANDARD.decode(key)?)?;
    let key = rustls::crypto::ring::sign::any_supported_type(&key)?;
    let serving = Serving::default();
    serving.install(Arc::new(rustls::sign::CertifiedKey::new(vec![cert], key)));

    let handler = Arc::new(|_| async { Answer::default() }.boxed());
    let route = Route { path: "/validate".to_owned(), resources: vec!["things"], handler };
    let webhooks = Webhooks::new(Arc::new(Metrics::default()));
    let router = webhooks.admission(route).conversion("/convert", |object, _| Ok(object)).into_router();
    let (_life, life) = watch::channel(Life::Running);
    let readiness = Readiness {
        caches: Arc::new(Caches::default()),
        state: None,
        own: None,
        life,
        remarks: Vec::new(),
        metrics: Arc::default(),
    };
    let (webhook, health) =
        (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
    println!("{} {}", webhook.local_addr()?.port(), health.local_addr()?.port());
    std::thread::spawn(end_with_input);
    tokio::try_join!(serve(webhook, router, serving), serve_health(health, readiness))?;
    Ok(())
}

/// What an attacker does, in a process that leaves the processor to others: a machine without any is not what is tested.
async fn attack(at: &str) -> Fallible<()> {
    rustix::process::nice(5)?;
    std::thread::spawn(end_with_input);
    let mut words = at.split(' ');
    let [webhook, connections, certificate] = [(); 3].map(|()| words.next().unwrap_or_default());
    let target = Target::new(webhook.parse()?, 0, certificate)?;
    let mut all = JoinSet::new();
    all.spawn(open_many(target.clone(), connections.parse()?));
    for body in [small_values(7 << 20), small_objects(7 << 20), deep(60 << 10), "x".repeat(8 << 20)] {
        all.spawn(send_for_ever(target.clone(), "/validate", Arc::from(body)));
    }
    all.spawn(send_for_ever(target.clone(), "/convert", Arc::from(conversion(7 << 20))));
    for _ in 0..20 {
        all.spawn(drip_for_ever(target.clone()));
    }
    while all.join_next().await.is_some() {}
    Ok(())
}

/// Nothing outlives the test.
fn end_with_input() {
    std::io::stdin().read_to_end(&mut Vec::new()).ok();
    std::process::exit(0);
}

/// Where the server is and how to trust it.
#[derive(Clone)]
struct Target {
    webhook: u16,
    health: u16,
    /// What it serves with.
    certificate: String,
    tls: TlsConnector,
}

async fn test() -> Fallible<()> {
    let connections = CONNECTIONS.min(usize::try_from(raise_limit())?.saturating_sub(500));
    let (mut child, target) = start()?;
    let quiet = ask_for(&target, Duration::from_secs(QUIET_SECONDS)).await?;
    let mut attackers = Command::new(std::env::current_exe()?)
        .env(ATTACK, format!("{} {connections} {}", target.webhook, target.certificate))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = attackers.stdout.take().ok_or("no output")?;
    let told =
        std::thread::spawn(|| BufReader::new(output).lines().map_while(Result::ok).collect::<Vec<_>>());
    let probing = tokio::spawn(probe_for(target.clone(), Duration::from_secs(ATTACK_SECONDS)));
    let busy = ask_for(&target, Duration::from_secs(ATTACK_SECONDS)).await?;
    let slowest_probe = probing.await??;
    attackers.kill()?;
    attackers.wait()?;
    let told = told.join().map_err(|_| "the attackers were not heard")?;
    let opened = told.iter().filter(|line| *line == OPENED).count();
    let bodies = told.len() - opened;
    let memory = peak_kib(&child)?;
    child.kill()?;
    child.wait()?;

    println!(
        "without an attack: {quiet}\nunder attack: {busy}, slowest probe {slowest_probe:?}, {memory} KiB, {opened} connections, {bodies} bodies"
    );
    assert!(opened > 200 && bodies > 0, "this was no attack");
    assert!(busy.p99 <= P99_MAX, "honest reviews took {:?} (p99)", busy.p99);
    assert!(slowest_probe <= PROBE_MAX, "a probe took {slowest_probe:?}");
    assert!(memory <= MEMORY_KIB_MAX, "{memory} KiB");
    assert!(busy.count > 50 && busy.reconnected < busy.count / 10, "{busy}");
    Ok(())
}

/// As many descriptors as this user may have; the server gets the same.
fn raise_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, current } = getrlimit(Resource::Nofile);
    if setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() { maximum } else { current }
        .unwrap_or(1 << 20)
}

fn start() -> Fallible<(Child, Target)> {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let cert = issued.cert.der().clone();
    let certificate =
        format!("{} {}", STANDARD.encode(&cert), STANDARD.encode(issued.signing_key.serialize_der()));
    let mut child = Command::new(std::env::current_exe()?)
        .env(SERVE, certificate)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let (webhook, health) = line.trim().split_once(' ').ok_or("two ports")?;
    let target = Target::new(webhook.parse()?, health.parse()?, &STANDARD.encode(&cert))?;
    Ok((child, target))
}

fn peak_kib(child: &Child) -> Fallible<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

impl Target {
    fn new(webhook: u16, health: u16, certificate: &str) -> Fallible<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(STANDARD.decode(certificate)?))?;
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            webhook,
            health,
            certificate: certificate.to_owned(),
            tls: TlsConnector::from(Arc::new(config)),
        })
    }

    async fn connect(&self) -> Fallible<TlsStream<TcpStream>> {
        self.connect_from(ATTACKER).await
    }

    async fn connect_from(&self, source: Ipv4Addr) -> Fallible<TlsStream<TcpStream>> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((source, 0).into())?;
        let stream = socket.connect((Ipv4Addr::LOCALHOST, self.webhook).into()).await?;
        stream.set_nodelay(true)?;
        Ok(self.tls.connect(ServerName::try_from("localhost")?, stream).await?)
    }
}

fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// How the questions of an honest caller went.
struct Course {
    count: usize,
    reconnected: usize,
    p50: Duration,
    p99: Duration,
}

impl std::fmt::Display for Course {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { count, reconnected, p50, p99 } = self;
        write!(out, "{count} reviews, p50 {p50:?}, p99 {p99:?}, {reconnected} connections lost")
    }
}

/// As the API server: reviews of a usual size, one after the other on a connection that is kept.
async fn ask_for(target: &Target, time: Duration) -> Fallible<Course> {
    let (end, body) = (Instant::now() + time, review(&format!(r#"{{"x":"{}"}}"#, "y".repeat(6 << 10))));
    let question = head("/validate", body.len()) + &body;
    let (mut times, mut reconnected, mut connection) = (Vec::new(), 0, None);
    while Instant::now() < end {
        let mut stream = if let Some(stream) = connection.take() {
            stream
        } else if let Ok(stream) = target.connect_from(HONEST).await {
            stream
        } else {
            reconnected += 1;
            continue;
        };
        let asked = Instant::now();
        if ask(&mut stream, question.as_bytes()).await.is_ok() {
            times.push(asked.elapsed());
            connection = Some(stream);
        } else {
            reconnected += 1;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    times.sort_unstable();
    let at = |percent: usize| {
        times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or(Duration::MAX)
    };
    Ok(Course { count: times.len(), reconnected, p50: at(50), p99: at(99) })
}

async fn ask(stream: &mut TlsStream<TcpStream>, question: &[u8]) -> Fallible<()> {
    stream.write_all(question).await?;
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains("\"allowed\":true") {
        let read = stream.read_buf(&mut answer).await?;
        if read == 0 {
            return Err("closed".into());
        }
    }
    Ok(())
}

/// The slowest answer to a probe.
async fn probe_for(target: Target, time: Duration) -> Fallible<Duration> {
    let (end, mut slowest) = (Instant::now() + time, Duration::ZERO);
    while Instant::now() < end {
        let asked = Instant::now();
        let mut stream = TcpStream::connect(("127.0.0.1", target.health)).await?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        slowest = slowest.max(asked.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(slowest)
}

/// Opens connections and keeps them: one of four shakes hands and begins a request that it never ends, the others say nothing.
async fn open_many(target: Target, count: usize) -> Fallible<()> {
    let (mut opened, mut kept) = (JoinSet::new(), (Vec::new(), Vec::new()));
    for number in 0..count {
        let target = target.clone();
        opened.spawn(async move {
            if number % 4 == 0 {
                let mut stream = target.connect().await?;
                stream.write_all(b"POST /validate HTTP/1.1\r\nhost: ").await?;
                return Ok((Some(stream), None));
            }
            Fallible::Ok((None, Some(TcpStream::connect(("127.0.0.1", target.webhook)).await?)))
        });
        if opened.len() >= 200
            && let Some(Ok(Ok((shaken, silent)))) = opened.join_next().await
        {
            println!("{OPENED}");
            kept.0.extend(shaken);
            kept.1.extend(silent);
        }
    }
    std::future::pending().await
}

async fn send_for_ever(target: Target, path: &'static str, body: Arc<str>) -> Fallible<()> {
    loop {
        let sent = async {
            let mut stream = target.connect().await?;
            stream.write_all(head(path, body.len()).as_bytes()).await?;
            stream.write_all(body.as_bytes()).await?;
            let _some = stream.read(&mut [0; 4_096]).await?;
            println!("{path} {}", body.len());
            Fallible::Ok(())
        };
        drop(sent.await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Announces a large body and sends it byte by byte.
async fn drip_for_ever(target: Target) -> Fallible<()> {
    loop {
        let sent = async {
            let mut stream = target.connect().await?;
            stream.write_all(head("/validate", 7 << 20).as_bytes()).await?;
            loop {
                stream.write_all(b" ").await?;
                stream.flush().await?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let _closed: Fallible<()> = sent.await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn review(object: &str) -> String {
    let mut text = String::new();
    write!(
        text,
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE","kind":{{"group":"g","version":"v1","kind":"Thing"}},"resource":{{"resource":"things"}},"object":{object}}}}}"#
    )
    .unwrap();
    text
}

fn small_values(bytes: usize) -> String {
    review(&format!("[{}0]", "0,".repeat(bytes / 2 - 1_000)))
}

fn small_objects(bytes: usize) -> String {
    review(&format!("[{}0]", r#"{"a":0},"#.repeat(bytes / 8 - 1_000)))
}

fn deep(bytes: usize) -> String {
    review(&("[".repeat(bytes / 2) + &"]".repeat(bytes / 2)))
}

fn conversion(bytes: usize) -> String {
    let object =
        format!(r#"{{"kind":"Thing","metadata":{{"name":"x"}},"spec":{{"x":"{}"}}}}"#, "y".repeat(10_000));
    let objects = vec![object; bytes / 10_100].join(",");
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"u","desiredAPIVersion":"g/v2","objects":[{objects}]}}}}"#
    )
}
