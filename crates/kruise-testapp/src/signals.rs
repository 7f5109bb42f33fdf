//! Signals: each one is logged; what TERM and INT do besides is the caller's choice.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use signal_hook::low_level::signal_name;

use crate::command::seconds;

/// What TERM, INT and QUIT do after they were logged.
#[derive(Debug, PartialEq, Eq)]
pub enum OnTerm {
    Exit,
    Ignore,
    Linger(Duration),
}

impl OnTerm {
    /// Reads `exit`, `ignore` or a number of seconds.
    pub fn read(how: &str) -> Result<Self, String> {
        match how {
            "exit" => Ok(Self::Exit),
            "ignore" => Ok(Self::Ignore),
            time => seconds(time).map(Self::Linger),
        }
    }
}

/// Logs signals until one of them ends the program.
pub fn wait(term: &OnTerm) -> ExitCode {
    let mut signals = match Signals::new([SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2]) {
        Ok(signals) => signals,
        Err(why) => {
            eprintln!("cannot listen to signals: {why}");
            return ExitCode::FAILURE;
        }
    };
    for signal in signals.forever() {
        println!("signal {}", signal_name(signal).unwrap_or("unknown"));
        if !matches!(signal, SIGTERM | SIGINT | SIGQUIT) {
            continue;
        }
        match term {
            OnTerm::Exit => return ExitCode::SUCCESS,
            OnTerm::Ignore => {}
            OnTerm::Linger(time) => {
                thread::sleep(*time);
                return ExitCode::SUCCESS;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Lets the first TERM end the program from another thread.
pub fn exit_on_term() {
    thread::spawn(|| {
        // The code of this thread's caller is lost with the process; 0 is what a stopped program reports.
        wait(&OnTerm::Exit);
        std::process::exit(0);
    });
}
