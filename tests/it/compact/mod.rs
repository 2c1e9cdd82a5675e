//! `harn compact` on the demo agent, which has each hazard on demand: nothing is answered, sent or lost, and "confirmed" is
//! said only of what the agent's own record holds.

mod asked;
mod desk;
mod hazard;
mod rule;
mod seen;
mod socket;
