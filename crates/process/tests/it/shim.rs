//! Tests of real commands under a shim.

mod ahead;
mod ending;
mod failure;
mod flood;
mod full;
mod given_up;
mod hostile;
mod input;
mod kept;
mod life;
mod namespace;
mod orphans;
mod place;
mod preview;
mod rank;
mod reuse;
mod silent;
mod speed;
mod stand_in;
mod stop;
mod suspended;
mod terminal;
