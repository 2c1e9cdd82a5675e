//! The Messages API as far as its clients ask for it, scripted.
//!
//! A script says what is reported and what fails; directives in the newest human prompt steer single replies. Requests
//! are read here and answered in memory; the HTTP is [`Server`](super::Server)'s.

mod protocol;
mod reply;
mod request;
mod script;

pub use super::directive::Reply;
pub use protocol::Messages;
pub use request::{human_prompts, last_user_text, texts};
pub use script::{Script, Summary};
