//! The keeper process. Single-minded and synchronous: the thread that starts children lives as long as they do,
//! because the kernel sends the parent-death signal when that very thread ends.

use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::instance::Instance;
use super::protocol::{Reply, Request, Start};

/// How often ended children are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Serves one cluster until standard input closes.
pub fn serve(root: &Path) -> io::Result<()> {
    let Some(mut instance) = Instance::reserve(root)? else {
        let message = "all test clusters that fit on this machine are in use, or their ports are: end some, or the programs \
                       that listen on 127.0.0.1 above port 21000"
            .into();
        return say(&Reply::Failed { message });
    };
    say(&Reply::Hello { instance: instance.number, dir: instance.dir.clone() })?;
    let mut children = Children::default();
    // A reply that nobody reads any more ends the keeper like the end of input does.
    let outcome = answer(&requests(), &mut instance, &mut children);
    children.kill_all();
    instance.clear();
    outcome.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

/// Runs in the child between fork and exec: ties its life to the keeper's, then becomes the program.
pub fn exec_child(keeper: u32, program: &Path, args: &[String]) -> io::Error {
    if let Err(errno) = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)) {
        return errno.into();
    }
    // The keeper may have ended before the line above.
    if rustix::process::getppid().map(Pid::as_raw_nonzero).map(std::num::NonZero::get)
        != i32::try_from(keeper).ok()
    {
        return io::Error::other("the keeper is gone");
    }
    Command::new(program).args(args).exec()
}

fn answer(requests: &Receiver<Request>, instance: &mut Instance, children: &mut Children) -> io::Result<()> {
    loop {
        let reply = match requests.recv_timeout(LOOK_EVERY) {
            Ok(Request::Start(start)) => children.start(&start).map(|pid| Reply::Started { pid }),
            Ok(Request::Stop { name }) => children.stop(&name).map(|()| Reply::Done),
            Ok(Request::Cleanup(cleanup)) => instance.note(cleanup).map(|()| Reply::Done),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                for (name, status) in children.ended() {
                    say(&Reply::Exited { name, status })?;
                }
                continue;
            }
        };
        say(&reply.unwrap_or_else(|error| Reply::Failed { message: error.to_string() }))?;
    }
}

/// Reads requests on a thread of their own, so that the main thread can look after children meanwhile.
fn requests() -> Receiver<Request> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(request) => {
                    if sender.send(request).is_err() {
                        return;
                    }
                }
                Err(error) => eprintln!("[testbed] keeper: not a request: {error}"),
            }
        }
    });
    receiver
}

fn say(reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

#[derive(Debug, Default)]
struct Children(Vec<(String, Child)>);

impl Children {
    fn start(&mut self, start: &Start) -> io::Result<u32> {
        let log = OpenOptions::new().create(true).append(true).open(&start.log)?;
        let own: PathBuf = std::env::current_exe()?;
        let child = Command::new(own)
            .args(["exec", &std::process::id().to_string()])
            .arg(&start.program)
            .arg("--")
            .args(&start.args)
            .envs(&start.env)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let pid = child.id();
        self.0.push((start.name.clone(), child));
        Ok(pid)
    }

    fn stop(&mut self, name: &str) -> io::Result<()> {
        let position = self.0.iter().position(|(candidate, _)| candidate == name);
        let Some(position) = position else {
            return Err(io::Error::other(format!("{name} is not running")));
        };
        let (_, mut child) = self.0.remove(position);
        end(&mut child);
        Ok(())
    }

    fn ended(&mut self) -> Vec<(String, String)> {
        let mut ended = Vec::new();
        self.0.retain_mut(|(name, child)| match child.try_wait() {
            Ok(Some(status)) => {
                ended.push((name.clone(), status.to_string()));
                false
            }
            Ok(None) | Err(_) => true,
        });
        ended
    }

    /// Newest first: nobody's server goes before its clients.
    fn kill_all(&mut self) {
        for (_, mut child) in self.0.drain(..).rev() {
            end(&mut child);
        }
    }
}

/// Kills and waits. No graceful end: data of a test cluster is thrown away, and it must be gone when we are.
fn end(child: &mut Child) {
    if let Err(error) = child.kill().and_then(|()| child.wait().map(drop)) {
        eprintln!("[testbed] process {} was not ended: {error}", child.id());
    }
}
