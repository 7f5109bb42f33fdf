//! What the program can be told to do, read from its arguments.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use crate::serve::{self, Server};
use crate::signals::{self, OnTerm};

pub const USAGE: &str = "usage: testapp COMMAND
  pause                                 wait until TERM or INT
  serve [--term HOW] [PORT...]          answer HTTP (default port 80); see serve.rs for the paths
  fail [CODE] [SECONDS]                 end with CODE (default 1) after SECONDS (default 0)
  hang                                  never end by itself, ignore TERM and INT
  print [--every SECONDS] LINE...       print the lines, again and again with --every, else wait until TERM
  sleep SECONDS                         wait, then end with 0
  write FILE TEXT                       write a file and end
  exists FILE                           end with 0 if the file is there, else with 1
HOW: exit (default), ignore, or a number of seconds to linger before the end";

/// One way to behave.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    Pause,
    Serve { ports: Vec<u16>, term: OnTerm },
    Fail { code: u8, after: Duration },
    Hang,
    Print { lines: Vec<String>, every: Option<Duration> },
    Sleep(Duration),
    Write { file: String, text: String },
    Exists(String),
}

impl Command {
    /// Reads the arguments without the program's own name.
    pub fn read(args: &[String]) -> Result<Self, String> {
        let mut rest = args.iter().map(String::as_str);
        let name = rest.next().ok_or("which command?")?;
        let rest: Vec<&str> = rest.collect();
        match (name, rest.as_slice()) {
            ("pause", []) => Ok(Self::Pause),
            ("hang", []) => Ok(Self::Hang),
            ("serve", ["--term", how, ports @ ..]) => Self::serve(ports, OnTerm::read(how)?),
            ("serve", ports) => Self::serve(ports, OnTerm::Exit),
            ("fail", []) => Ok(Self::Fail { code: 1, after: Duration::ZERO }),
            ("fail", [code]) => Ok(Self::Fail { code: number(code)?, after: Duration::ZERO }),
            ("fail", [code, after]) => Ok(Self::Fail { code: number(code)?, after: seconds(after)? }),
            ("print", ["--every", every, lines @ ..]) => {
                Ok(Self::Print { lines: owned(lines), every: Some(seconds(every)?) })
            }
            ("print", lines) => Ok(Self::Print { lines: owned(lines), every: None }),
            ("sleep", [time]) => Ok(Self::Sleep(seconds(time)?)),
            ("write", [file, text]) => Ok(Self::Write { file: (*file).to_owned(), text: (*text).to_owned() }),
            ("exists", [file]) => Ok(Self::Exists((*file).to_owned())),
            _ => Err(format!("`{}` is no command of mine", args.join(" "))),
        }
    }

    fn serve(ports: &[&str], term: OnTerm) -> Result<Self, String> {
        let mut ports = ports.iter().map(|port| number(port)).collect::<Result<Vec<u16>, String>>()?;
        if ports.is_empty() {
            ports.push(80);
        }
        Ok(Self::Serve { ports, term })
    }

    /// Does it. Returns the exit code, for the commands that end.
    pub fn run(self) -> ExitCode {
        match self {
            Self::Pause => signals::wait(&OnTerm::Exit),
            Self::Hang => signals::wait(&OnTerm::Ignore),
            Self::Serve { ports, term } => match Server::open(&ports) {
                Ok(server) => {
                    println!("serving version {} on ports {ports:?}", serve::version());
                    server.start();
                    signals::wait(&term)
                }
                Err(message) => {
                    eprintln!("{message}");
                    ExitCode::FAILURE
                }
            },
            Self::Fail { code, after } => {
                println!("failing with code {code} after {after:?}");
                thread::sleep(after);
                ExitCode::from(code)
            }
            Self::Print { lines, every } => print(lines, every),
            Self::Sleep(time) => {
                signals::exit_on_term();
                thread::sleep(time);
                ExitCode::SUCCESS
            }
            Self::Write { file, text } => ended(std::fs::write(&file, text), &file),
            Self::Exists(file) => ended(std::fs::metadata(&file), &file),
        }
    }
}

fn print(lines: Vec<String>, every: Option<Duration>) -> ExitCode {
    for line in &lines {
        println!("{line}");
    }
    if let Some(every) = every {
        thread::spawn(move || {
            loop {
                thread::sleep(every);
                for line in &lines {
                    println!("{line}");
                }
            }
        });
    }
    signals::wait(&OnTerm::Exit)
}

fn ended<T>(result: std::io::Result<T>, file: &str) -> ExitCode {
    match result {
        Ok(_) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{file}: {why}");
            ExitCode::FAILURE
        }
    }
}

/// A number in its range, or a sentence about it.
pub fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number in the range that fits here"))
}

/// A length of time in whole seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    number(text).map(Duration::from_secs)
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        Command::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn every_command_is_read_with_its_defaults() {
        let two = Duration::from_secs(2);
        for (line, command) in [
            ("pause", Command::Pause),
            ("hang", Command::Hang),
            ("serve", Command::Serve { ports: vec![80], term: OnTerm::Exit }),
            (
                "serve --term ignore 8080 9090",
                Command::Serve { ports: vec![8080, 9090], term: OnTerm::Ignore },
            ),
            ("serve --term 2 80", Command::Serve { ports: vec![80], term: OnTerm::Linger(two) }),
            ("fail", Command::Fail { code: 1, after: Duration::ZERO }),
            ("fail 3 2", Command::Fail { code: 3, after: two }),
            ("print --every 2 a b", Command::Print { lines: vec!["a".into(), "b".into()], every: Some(two) }),
            ("sleep 2", Command::Sleep(two)),
        ] {
            assert_eq!(read(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_a_sentence() {
        for line in ["", "dance", "fail 300", "serve http", "sleep", "serve --term maybe"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
