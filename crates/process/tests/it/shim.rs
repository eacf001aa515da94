//! Commands under a shim, run for real.

mod ending;
mod failure;
mod flood;
mod given_up;
mod input;
mod kept;
mod life;
mod place;
mod speed;
mod stop;
mod terminal;
