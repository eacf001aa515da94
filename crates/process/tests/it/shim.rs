//! Commands under a shim, run for real.

mod ending;
mod failure;
mod flood;
mod given_up;
mod input;
mod kept;
mod life;
mod namespace;
mod place;
mod reuse;
mod speed;
mod stop;
mod terminal;
