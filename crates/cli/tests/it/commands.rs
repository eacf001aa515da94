//! Commands and tasks of agents: run, followed, written to, stopped, and adopted by the next host.

mod cleaning;
mod environment;
mod family;
mod faults;
mod fifty;
mod interactive;
mod limits;
mod runs;
mod stopping;
mod survivor;
